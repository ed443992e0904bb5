#include "app/sandbox/setup.h"

#include "app/log/journal.h"
#include "app/sandbox/agent_command.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/list.h"
#include "base/str.h"
#include "core/config/command_env.h"
#include "core/text/redact.h"
#include "data/id/sha256.h"
#include "drive/git/git.h"
#include "sys/file/file.h"
#include "sys/loop/job.h"
#include "sys/loop/loop.h"
#include "sys/proc/proc.h"

#define SETUP_ENV "OVERSEER_SETUP"
#define MARK "overseer-setup"
#define SERENA_HEAD "# This worktree's own; it is not committed."

enum { TAIL_BYTES = 3000, FILE_MAX = 1024 * 1024 };

struct setup {
	struct loop *loop;
	struct git *git;
	struct arena arena;
	const char *repo;
	struct journal *journal;
	struct list queue; /* of struct setup_job; the first one is under way */
	struct loop_source *next;
};

struct setup_job {
	struct setup *s;
	struct list link;
	struct arena arena;
	struct setup_spec spec;
	struct job *job;
	setup_done_fn *done;
	void *user;
};

struct setup *setup_new(struct loop *l, struct git *g, struct journal *j, const char *repo)
{
	struct setup *s = mem_zalloc(1, sizeof(*s));

	s->loop = l;
	s->git = g;
	s->repo = arena_cstr(&s->arena, str_from(repo));
	s->journal = j;
	list_init(&s->queue);
	return s;
}

static void job_free(struct setup_job *j)
{
	list_remove(&j->link);
	arena_done(&j->arena);
	mem_free(j);
}

struct setup *setup_free(struct setup *s)
{
	if (!s)
		return NULL;
	list_each (it, &s->queue) {
		struct setup_job *j = list_entry(it, struct setup_job, link);

		if (j->job)
			job_abandon(j->job);
		job_free(j);
	}
	loop_source_free(s->next);
	arena_done(&s->arena);
	mem_free(s);
	return NULL;
}

int setup_pid(const struct setup *s)
{
	const struct setup_job *j;

	if (list_empty(&s->queue))
		return 0;
	j = list_entry(s->queue.next, struct setup_job, link);
	return j->job ? job_pid(j->job) : 0;
}

/* ---- the mark ---- */

/* What was done, and for whom: another branch is another use, another command another set-up. */
static str mark_of(struct setup_job *j)
{
	struct arena *a = &j->arena;
	str what = arena_printf(a, "%d\n" STR_FMT, j->spec.serena, STR_ARG(j->spec.command));

	return arena_printf(a, STR_FMT " " STR_FMT "\n", STR_ARG(j->spec.branch),
			STR_ARG(sha256_hex(a, what)));
}

static const char *mark_file(struct setup_job *j)
{
	return path_join(&j->arena, git_own_dir(&j->arena, j->spec.path), MARK);
}

static bool is_done(struct setup_job *j)
{
	str found;

	return file_read(&j->arena, mark_file(j), 8192, &found, NULL) == 0 &&
			str_eq(found, mark_of(j));
}

static int mark_done(struct setup_job *j, struct ov_err *err)
{
	return file_write_atomic(mark_file(j), mark_of(j), 0600, err);
}

/* ---- Serena ---- */

/* "REPOSITORY-WORKER", with nothing in it that YAML or Serena could take for something else. */
static str project_name(struct setup_job *j)
{
	str repo = str_from(j->s->repo), part, last = STR("repository");
	char *name;

	while (str_split(&repo, '/', &part))
		last = part.n ? part : last;
	name = arena_cstr(&j->arena,
			arena_printf(&j->arena, STR_FMT "-" STR_FMT, STR_ARG(last),
					STR_ARG(j->spec.worker)));
	for (char *p = name; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
				    (*p >= '0' && *p <= '9') || strchr("._-", *p)))
			*p = '-';
	return str_from(name);
}

/* The checkout's own project under this worktree's name. */
static str project_text(struct setup_job *j, str text)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	str name = project_name(j), line;

	buf_addf(&b, SERENA_HEAD "\nproject_name: \"" STR_FMT "\"\n", STR_ARG(name));
	text = str_trim(text);
	while (text.n && str_split(&text, '\n', &line))
		if (!str_starts(line, STR("project_name:")) && !str_is(line, SERENA_HEAD))
			buf_addf(&b, STR_FMT "\n", STR_ARG(line));
	return arena_str(&j->arena, buf_str(&b));
}

static int serena_write(struct setup_job *j, const char *name, str text, struct ov_err *err)
{
	struct arena *a = &j->arena;
	const char *folder = path_join(a, arena_cstr(a, j->spec.path), ".serena");
	int r = git_exclude(j->s->git, arena_printf(a, "/.serena/%s", name), err);

	if (r == 0)
		r = dir_make(folder, 0755, err);
	if (r == 0)
		r = file_write_atomic(path_join(a, folder, name), text, 0644, err);
	return r;
}

/*
 * The name goes to project.local.yml, which Serena reads over project.yml and makes no matter of
 * the repository's; where the checkout has a project.yml that git does not know, worktrees get it.
 */
static int serena_project(struct setup_job *j, struct ov_err *err)
{
	struct arena *a = &j->arena;
	const char *own = path_join(a, arena_cstr(a, j->spec.path), ".serena/project.yml");
	str text = STR(""), ours;
	int r = 0;

	if (!j->spec.serena)
		return 0;
	if (file_read(a, own, FILE_MAX, &ours, NULL) < 0 || str_starts(ours, STR(SERENA_HEAD))) {
		r = file_read(a, path_join(a, j->s->repo, ".serena/project.yml"), FILE_MAX, &text,
				err);
		if (r == 0)
			return serena_write(j, "project.yml", project_text(j, text), err);
		if (r != OV_ENOTFOUND)
			return r;
	}
	return serena_write(j, "project.local.yml", project_text(j, STR("")), err);
}

/* ---- the command ---- */

static void begin_next(void *user);

static void begin_later(struct setup *s)
{
	if (!s->next && !list_empty(&s->queue))
		s->next = loop_defer(s->loop, begin_next, s);
}

/* Its caller may ask for the next one, or end everything. */
static void job_over(struct setup_job *j, int r, const struct ov_err *err)
{
	struct setup *s = j->s;
	setup_done_fn *done = j->done;
	void *user = j->user;
	struct ov_err told = { 0 };

	if (r < 0 && err)
		told = *err;
	job_free(j);
	begin_later(s);
	done(user, r, &told);
}

static void command_done(void *user, const struct job_result *res)
{
	struct setup_job *j = user;
	struct ov_err err = { 0 };
	/* Before it is cut: what is left of a secret would not be known for one. */
	str out = redact(&j->arena, res->out), tail, how;
	size_t killed;
	int r = 0;

	j->job = NULL;
	tail = str_sub(out, out.n > TAIL_BYTES ? out.n - TAIL_BYTES : 0, TAIL_BYTES);
	if (res->timed_out)
		how = STR("it took longer than workspace.setup_timeout");
	else if (res->exit.signal)
		how = arena_printf(&j->arena, "ended by signal %d", res->exit.signal);
	else
		how = arena_printf(&j->arena, "exit status %d", res->exit.code);
	journal_write(j->s->journal, "setup", j->spec.worker, how, res->out);
	if (res->timed_out || res->exit.code != 0) {
		(void)proc_sweep_env(STR(SETUP_ENV), j->spec.effect, &killed, NULL);
		r = ov_fail(&err, OV_ESTATE,
				"workspace.setup_command failed: " STR_FMT STR_FMT "\n" STR_FMT,
				STR_ARG(how),
				STR_ARG(agent_command_hint(&j->arena, j->spec.fenced, tail)),
				STR_ARG(tail));
	} else {
		r = mark_done(j, &err);
	}
	job_over(j, r, &err);
}

static const char *const *own_env(struct setup_job *j)
{
	struct arena *a = &j->arena;
	const char *own[] = {
		arena_printf(a, SETUP_ENV "=" STR_FMT, STR_ARG(j->spec.effect)).p,
		arena_printf(a, "OVERSEER_WORKER=" STR_FMT, STR_ARG(j->spec.worker)).p,
		arena_printf(a, "OVERSEER_WORKTREE=" STR_FMT, STR_ARG(j->spec.path)).p,
		arena_printf(a, "OVERSEER_SESSION=" STR_FMT, STR_ARG(j->spec.session)).p,
		arena_printf(a, "OVERSEER_REPO=%s", j->s->repo).p,
	};

	return env_with(a, j->spec.env, own, ARRAY_LEN(own));
}

static int command_start(struct setup_job *j, struct ov_err *err)
{
	struct job_spec spec = {
		.proc = PROC_SPEC_INIT,
		.keep_tail = true,
		.max_output = JOURNAL_BYTES,
		.timeout_ms = j->spec.timeout_ms,
	};
	size_t killed;
	int r = proc_sweep_env(STR(SETUP_ENV), j->spec.effect, &killed, err);

	if (r < 0)
		return r;
	spec.proc.argv = j->spec.argv;
	spec.proc.env = own_env(j);
	spec.proc.cwd = arena_cstr(&j->arena, j->spec.path);
	return job_start(j->s->loop, &spec, command_done, j, &j->job, err);
}

static void begin_next(void *user)
{
	struct setup *s = user;
	struct setup_job *j = list_entry(s->queue.next, struct setup_job, link);
	struct ov_err err = { 0 };
	int r = 0;

	loop_source_free(s->next);
	s->next = NULL;
	if (j->job)
		return;
	if (is_done(j)) {
		job_over(j, 0, NULL);
		return;
	}
	r = serena_project(j, &err);
	if (r < 0)
		ov_wrap(&err, r, "workspace.serena");
	else if (j->spec.command.n)
		r = command_start(j, &err);
	else
		r = mark_done(j, &err);
	if (r < 0 || !j->spec.command.n)
		job_over(j, r, &err);
}

static const char *const *words_copy(struct arena *a, const char *const *words)
{
	size_t n = 0;
	const char **ret;

	while (words && words[n])
		n++;
	ret = arena_array(a, const char *, n + 1);
	for (size_t i = 0; i < n; i++)
		ret[i] = arena_cstr(a, str_from(words[i]));
	return ret;
}

void setup_run(struct setup *s, const struct setup_spec *spec, setup_done_fn *done, void *user)
{
	struct setup_job *j = mem_zalloc(1, sizeof(*j));
	struct arena *a = &j->arena;

	*j = (struct setup_job){ .s = s, .done = done, .user = user };
	j->spec = *spec;
	j->spec.effect = arena_str(a, spec->effect);
	j->spec.worker = arena_str(a, spec->worker);
	j->spec.path = arena_str(a, spec->path);
	j->spec.branch = arena_str(a, spec->branch);
	j->spec.session = arena_str(a, spec->session);
	j->spec.command = arena_str(a, spec->command);
	j->spec.fenced = arena_str(a, spec->fenced);
	j->spec.argv = words_copy(a, spec->argv);
	j->spec.env = words_copy(a, spec->env);
	list_append(&s->queue, &j->link);
	begin_later(s);
}
