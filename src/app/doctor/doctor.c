#include "app/doctor/doctor_impl.h"

#include <stdlib.h>
#include <unistd.h>

#include "app/store/backup.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/host/rand.h"
#include "sys/loop/job.h"
#include "sys/loop/loop.h"

enum { PROGRAM_MS = 60 * 1000 };

static const char *const level_names[] = {
	[DOCTOR_OK] = "ok",
	[DOCTOR_WARNING] = "warning",
	[DOCTOR_PROBLEM] = "problem",
};

void doctor_say(struct doctor *d, enum doctor_level level, const char *fmt, ...)
{
	va_list ap;

	d->level = MAX(d->level, level);
	if (d->text.n)
		buf_adds(&d->text, STR("; "));
	va_start(ap, fmt);
	buf_vaddf(&d->text, fmt, ap);
	va_end(ap);
}

void doctor_next(struct doctor *d, const char *fmt, ...)
{
	va_list ap;

	if (d->next.n)
		return;
	va_start(ap, fmt);
	buf_vaddf(&d->next, fmt, ap);
	va_end(ap);
}

struct asked {
	struct doctor *d;
	bool done;
	int status;
	str out;
};

static void answered(void *user, const struct job_result *r)
{
	struct asked *q = user;

	q->done = true;
	q->status = r->exit.code >= 0 ? r->exit.code : 128 + r->exit.signal;
	q->out = arena_str(q->d->a, r->out);
}

int doctor_ask(struct doctor *d, const char *const *argv, str *ret_out, struct ov_err *err)
{
	struct job_spec spec = { .proc = PROC_SPEC_INIT, .timeout_ms = PROGRAM_MS };
	struct asked q = { .d = d };
	struct loop *loop;
	struct job *job;
	int r = loop_new(&loop, err);

	if (r < 0)
		return r;
	spec.proc.argv = argv;
	r = job_start(loop, &spec, answered, &q, &job, err);
	while (r == 0 && !q.done)
		(void)loop_step(loop, -1);
	loop_free(loop);
	if (r < 0)
		return r;
	*ret_out = q.out;
	return q.status;
}

/* Nothing is wrong with that, but who goes to bed should know it. */
static void check_unchecked(struct doctor *d)
{
	bool automatic = d->cx->config->task_pool_command.n > 0;

	if (!policy_waits_unchecked(&d->cx->config->policy, automatic))
		return;
	doctor_say(d, DOCTOR_WARNING, UNCHECKED_NOTE);
	doctor_next(d, UNCHECKED_NEXT);
}

static void check_default_agent(struct doctor *d)
{
	str nobody = policy_no_default(d->a, &d->cx->config->policy);

	if (!nobody.n)
		return;
	doctor_say(d, DOCTOR_WARNING, STR_FMT, STR_ARG(nobody));
	doctor_next(d, NO_AGENT_NEXT);
}

static void check_config(struct doctor *d)
{
	if (d->cx->daemon->config_problem) {
		doctor_say(d, DOCTOR_PROBLEM, "%s", d->cx->daemon->config_problem);
		doctor_next(d, "overseer config check");
	} else {
		doctor_say(d, DOCTOR_OK, "config.toml is valid");
		check_default_agent(d);
		check_unchecked(d);
	}
	for (size_t i = 0; i < d->cx->config->obsolete_n; i++)
		doctor_say(d, DOCTOR_WARNING, "config.toml: " STR_FMT,
				STR_ARG(d->cx->config->obsolete[i]));
}

static void check_git(struct doctor *d)
{
	const char *const argv[] = { "git", "--version", NULL };
	struct ov_err err = { 0 };
	uint64_t major = 0, minor = 0;
	str out = STR(""), rest, part;
	int r = doctor_ask(d, argv, &out, &err);

	if (r != 0) {
		doctor_say(d, DOCTOR_PROBLEM, "git does not run: %s",
				r < 0 ? err.msg : "it failed");
		doctor_next(d, "install git 2.38 or newer");
		return;
	}
	rest = str_trim(out);
	rest = str_starts(rest, STR("git version ")) ? str_sub(rest, 12, rest.n) : rest;
	(void)(str_split(&rest, '.', &part) && str_to_u64(part, &major) &&
			str_split(&rest, '.', &part) && str_to_u64(part, &minor));
	if (major < 2 || (major == 2 && minor < 38)) {
		doctor_say(d, DOCTOR_PROBLEM, STR_FMT " is too old", STR_ARG(str_trim(out)));
		doctor_next(d, "install git 2.38 or newer");
	} else {
		doctor_say(d, DOCTOR_OK, STR_FMT, STR_ARG(str_trim(out)));
	}
}

static void check_shim(struct doctor *d)
{
	const char *shim = d->cx->daemon->shim;

	if (shim && access(shim, X_OK) == 0) {
		doctor_say(d, DOCTOR_OK, "%s", shim);
		return;
	}
	doctor_say(d, DOCTOR_PROBLEM,
			"overseer-run is not beside overseerd: no run can be started");
	doctor_next(d, "install Overseer again");
}

/* A name relative to the worktree is known only when there is one. */
static void check_agents(struct doctor *d)
{
	const struct config *c = d->cx->config;
	size_t missing = 0;

	for (size_t i = 0; i < c->agents_n; i++) {
		const struct config_agent *agent = &c->agents[i];
		str path = config_agent_path(agent, str_from(getenv("PATH")));
		const char *name = arena_cstr(d->a, agent->command[0]);

		if ((strchr(name, '/') && name[0] != '/') ||
				file_program(d->a, arena_cstr(d->a, path), name))
			continue;
		missing++;
		doctor_say(d, DOCTOR_WARNING, STR_FMT,
				STR_ARG(config_program_missing(d->a, agent)));
		doctor_next(d, STR_FMT, STR_ARG(config_program_next(d->a, agent)));
	}
	if (!missing)
		doctor_say(d, DOCTOR_OK, "%zu configured", c->agents_n);
}

/* In this order: the store first, since the others are judged by what it says. */
static const struct doctor_check checks[] = {
	{ "integrity", "the database file, by SQLite's own check", doctor_integrity, NULL, false },
	{ "chain", "the hash chain over the whole log", doctor_chain, NULL, false },
	{ "snapshot", "the snapshot against the fold of the log", doctor_snapshot,
			doctor_fix_snapshot, true },
	{ "lease", "daemon.json, the socket and the lock", doctor_lease, doctor_fix_lease, true },
	{ "copies", "backups, and copies of damaged stores", doctor_copies, NULL, false },
	{ "runs", "run folders against the log", doctor_runs, NULL, false },
	{ "worktrees", "the folder of worktrees against the state", doctor_worktrees, NULL, false },
	{ "git_folders", "the git folder of each worktree", doctor_git_folders, NULL, false },
	{ "rescue", "what is kept under refs/overseer/", doctor_rescue, NULL, false },
	{ "temporary", "files that an interrupted write left", doctor_temporary,
			doctor_fix_temporary, false },
	{ "space", "room on the disk", doctor_space, NULL, false },
	{ "permissions", "who may read the store", doctor_permissions, doctor_fix_permissions,
			false },
	{ "config", "the configuration", check_config, NULL, false },
	{ "agents", "the programs of the agents", check_agents, NULL, false },
	{ "git", "the version of git", check_git, NULL, false },
	{ "shim", "the program that runs agents", check_shim, NULL, false },
	{ "sandbox", "whether agents can be put into a sandbox", doctor_sandbox, NULL, false },
	{ "containment", "what holds the processes of a run together", doctor_containment, NULL,
			false },
};

static void open_store(struct doctor *d)
{
	int fd = -1, r;

	if (safe_store_path(d->a, d->cx->daemon->store_url, &d->store_path, NULL) < 0)
		d->store_path = NULL;
	r = store_hold(str_from(d->cx->daemon->store_url), &fd, NULL);
	d->held = r == OV_ECONFLICT;
	if (fd >= 0)
		close(fd);
	d->opened = safe_store_open(d->cx->daemon->store_url, rand_u64(), &d->s, &d->open_err);
}

static void run_check(struct doctor *d, const struct doctor_check *c)
{
	buf_clear(&d->text);
	buf_clear(&d->next);
	d->level = DOCTOR_OK;
	c->run(d);
}

static value *found(struct doctor *d, const struct doctor_check *c)
{
	value *v = value_object(d->a);
	bool bad = d->level != DOCTOR_OK;

	value_put(d->a, v, "name", value_cstr(d->a, c->name));
	value_put(d->a, v, "what", value_cstr(d->a, c->what));
	value_put(d->a, v, "level", value_cstr(d->a, level_names[d->level]));
	value_put(d->a, v, "text", value_str(d->a, arena_str(d->a, buf_str(&d->text))));
	value_put(d->a, v, "next", value_str(d->a, arena_str(d->a, buf_str(&d->next))));
	value_put(d->a, v, "fixable", value_bool(d->a, bad && c->fix));
	return v;
}

/* Looks again after the repair, so that what is told is what is. */
static value *fix(struct doctor *d, const struct doctor_check *c, value *before)
{
	struct ov_err err = { 0 };
	value *v;
	int r;

	if (c->offline && d->held) {
		value_put(d->a, before, "fixed", value_bool(d->a, false));
		value_put(d->a, before, "next",
				value_cstr(d->a, "overseer down && overseer doctor --fix"));
		return before;
	}
	r = c->fix(d, &err);
	run_check(d, c);
	if (r < 0)
		doctor_say(d, DOCTOR_PROBLEM, "it could not be put right: %s", err.msg);
	v = found(d, c);
	value_put(d->a, v, "fixed", value_bool(d->a, r == 0 && d->level == DOCTOR_OK));
	return v;
}

/* Nothing is touched without it. No store, or one that is being kept aside, needs none. */
static int backup_first(struct doctor *d, value *out, struct ov_err *err)
{
	struct backup b;
	int r;

	if (d->opened == OV_ENOTFOUND)
		return 0;
	if (d->opened == 0 && d->s.safe.on) {
		ov_fail(err, OV_ESTATE, "the store is damaged: nothing is repaired before that is");
		return ov_next(err, "overseer down && overseer doctor --rebuild");
	}
	r = backup_make(d->cx, NULL, &b, err);
	if (r == 0)
		value_put(d->a, out, "backup", value_cstr(d->a, b.file));
	return r;
}

static int examine(struct doctor *d, bool repair, value *out, struct ov_err *err)
{
	value *list = value_array(d->a);
	size_t problems = 0, warnings = 0;
	bool saved = false;

	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		value *v;

		run_check(d, &checks[i]);
		v = found(d, &checks[i]);
		if (repair && value_bool_at(v, "fixable")) {
			int r = saved ? 0 : backup_first(d, out, err);

			if (r < 0)
				return r;
			saved = true;
			v = fix(d, &checks[i], v);
		}
		problems += str_is(value_str_at(v, "level"), "problem");
		warnings += str_is(value_str_at(v, "level"), "warning");
		value_push(d->a, list, v);
	}
	value_put(d->a, out, "ok", value_bool(d->a, problems == 0));
	value_put(d->a, out, "problems", value_int(d->a, (int64_t)problems));
	value_put(d->a, out, "warnings", value_int(d->a, (int64_t)warnings));
	value_put(d->a, out, "checks", list);
	return 0;
}

int op_doctor_run(struct op_ctx *cx, const struct pr_doctor_run *p, value **ret, struct ov_err *err)
{
	struct doctor d = { .cx = cx,
		.a = cx->arena,
		.dir = cx->daemon->dir,
		.repo = cx->daemon->repo };
	value *out = value_object(cx->arena), *rebuilt = value_null(cx->arena);
	int r = 0;

	map_init(&d.known_runs, rand_u64());
	open_store(&d);
	value_put(cx->arena, out, "backup", value_null(cx->arena));
	if (p->rebuild) {
		r = doctor_rebuild(&d, &rebuilt, err);
		if (r == 0) {
			safe_store_done(&d.s);
			open_store(&d);
		}
	}
	value_put(cx->arena, out, "rebuilt", rebuilt);
	if (r == 0)
		r = examine(&d, p->fix, out, err);
	safe_store_done(&d.s);
	map_done(&d.known_runs);
	buf_done(&d.text);
	buf_done(&d.next);
	if (r == 0)
		*ret = out;
	return r;
}
