/* Commands: the environment and the options that every git child gets, and what it answered. */
#include "base/buf.h"
#include "base/utf8.h"
#include "drive/git/git_call.h"
#include "drive/git/git_confine.h"
#include "drive/git/git_steps.h"
#include "drive/git/git_walk.h"
#include "sys/file/file.h"
#include "sys/host/git_env.h"

extern char **environ;

void git_env_init(struct git *g)
{
	for (char **e = environ; *e; e++)
		if (git_env_passes(*e) && !str_starts(str_from(*e), STR(GIT_MARK "=")))
			vec_push(&g->env, arena_cstr(&g->arena, str_from(*e)));
	for (size_t i = 0; i < git_env_fixed_n; i++)
		vec_push(&g->env, git_env_fixed[i]);
}

void git_env_add(struct git_call *c, const char *name, const char *value)
{
	vec_push(&c->env, arena_printf(&c->arena, "%s=%s", name, value).p);
}

/*
 * The user's checkout, or another one that has the target: named, so that no configuration that
 * somebody wrote there says that its files are elsewhere.
 */
static void use_checkout(struct git_call *c, const char *dir, const char *folder)
{
	size_t n = 0;

	for (size_t i = 0; i < c->env.n; i++)
		if (strncmp(c->env.p[i], "GIT_DIR=", 8) != 0 &&
				strncmp(c->env.p[i], "GIT_WORK_TREE=", 14) != 0)
			c->env.p[n++] = c->env.p[i];
	c->env.n = n;
	git_env_add(c, "GIT_DIR", dir);
	git_env_add(c, "GIT_WORK_TREE", folder);
	c->cwd = folder;
}

int git_at_holder(struct git_call *c)
{
	use_checkout(c, git_admin_of(c, c->holder).p, c->holder);
	return GIT_NEXT;
}

static void add_args(struct git_call *c, va_list ap)
{
	const char *arg;

	while ((arg = va_arg(ap, const char *)))
		vec_push(&c->argv, arg);
}

void git_args(struct git_call *c, ...)
{
	va_list ap;

	va_start(ap, c);
	add_args(c, ap);
	va_end(ap);
}

/* Only where the repository names none: git would refuse to commit, or make a name up. */
static void add_identity(struct git_call *c)
{
	if (c->no_name)
		git_args(c, "-c", "user.name=Overseer", NULL);
	if (c->no_email)
		git_args(c, "-c", "user.email=overseer@localhost", NULL);
}

/* A list divided by colons, in which a quoted entry may hold anything. */
str git_quoted(struct git_call *c, const char *path)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	buf_addc(&b, '"');
	for (; *path; path++) {
		if (*path == '"' || *path == '\\')
			buf_addc(&b, '\\');
		buf_addc(&b, *path);
	}
	buf_addc(&b, '"');
	return arena_str(&c->arena, buf_str(&b));
}

/* With our own git directory: only what was recorded in it counts as configuration. */
static void use_own(struct git_call *c, enum git_where where, unsigned flags)
{
	struct arena *a = &c->arena;

	git_env_add(c, "GIT_DIR", c->own);
	git_env_add(c, "GIT_OBJECT_DIRECTORY", path_join(a, c->g->common, "objects"));
	git_env_add(c, "GIT_CONFIG_NOSYSTEM", "1");
	git_env_add(c, "GIT_CONFIG_SYSTEM", "/dev/null");
	git_env_add(c, "GIT_CONFIG_GLOBAL", "/dev/null");
	if (flags & GIT_AGENTS && c->admin)
		git_env_add(c, "GIT_ALTERNATE_OBJECT_DIRECTORIES",
				git_quoted(c, path_join(a, c->admin, "objects")).p);
	if (where == AT_TREE) {
		git_unblock_ahead(c);
		/* By its descriptor: nothing that takes its place can be entered. */
		git_env_add(c, "GIT_WORK_TREE", ".");
		c->cwd = arena_printf(a, "/proc/self/fd/%d", c->tree_fd).p;
	}
}

static void confine(struct git_call *c, enum git_where where, unsigned flags)
{
	const char *objects = path_join(&c->arena, c->g->common, "objects");

	if (flags & GIT_PREDICTS)
		git_confined(c, false, c->objects, NULL);
	else if (where == AT_TREE)
		git_confined(c, git_runs_programs(c), c->room, objects, ".", NULL);
	else if (where == AT_ADMIN)
		git_confined(c, false, c->room, objects, NULL);
}

/*
 * In a worktree, filters may be programs that an agent wrote: no key of ours is in their
 * environment.
 */
static bool is_needed(str entry)
{
	static const char *const names[] = { "PATH=", "HOME=", "USER=", "LOGNAME=", "TMPDIR=",
		"TZ=", "LC_ALL=", "GIT_" };

	if (str_starts(entry, STR("GIT_CONFIG_")) || str_starts(entry, STR("GIT_SSH_COMMAND=")))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_starts(entry, str_from(names[i])))
			return true;
	return false;
}

int git_run(struct git_call *c, enum git_where where, unsigned flags, ...)
{
	va_list ap;

	vec_clear(&c->argv);
	vec_clear(&c->env);
	c->kept = false;
	for (size_t i = 0; i < c->g->env.n; i++)
		if (where == AT_REPO || is_needed(str_from(c->g->env.p[i])))
			vec_push(&c->env, c->g->env.p[i]);
	git_env_add(c, GIT_MARK, c->path);
	if (flags & GIT_READS)
		vec_push(&c->env, "GIT_OPTIONAL_LOCKS=0");
	if (flags & GIT_TEMP_INDEX)
		git_env_add(c, "GIT_INDEX_FILE", c->index);
	if (!(flags & GIT_NET) && !c->g->partial)
		for (size_t i = 0; i < git_env_no_fetch_n; i++)
			vec_push(&c->env, git_env_no_fetch[i]);
	c->cwd = c->g->repo;
	if (where == AT_REPO)
		use_checkout(c, c->g->git_dir, c->g->repo);
	else
		use_own(c, where, flags);
	c->flags = flags;
	confine(c, where, flags);
	vec_push(&c->argv, "git");
	for (size_t i = 0; i < git_options_n; i++)
		git_args(c, "-c", git_options[i], NULL);
	for (size_t i = 0; c->g->no_lfs && i < git_no_lfs_n; i++)
		git_args(c, "-c", git_no_lfs[i], NULL);
	if (flags & GIT_PREDICTS)
		git_args(c, "-c", "core.fsync=none", NULL); /* nothing of it stays */
	add_identity(c);
	va_start(ap, flags);
	add_args(c, ap);
	va_end(ap);
	return GIT_NEXT;
}

static bool is_quote(char x)
{
	return x == '\'' || x == '"';
}

/*
 * Names of files stand between quotes, and can be any words: of a line, what is before the first
 * and after the last counts. A few messages begin with a name without quotes; what follows it
 * is known.
 */
static void bare(str line, str *ret_head, str *ret_tail)
{
	static const char *const of_a_name[] = {
		": can only add regular files, symbolic links or git-directories",
		": failed to insert into database",
		": unsupported file type",
	};
	size_t from = 0, to = line.n;

	for (size_t i = 0; i < ARRAY_LEN(of_a_name); i++)
		if (str_ends(line, str_from(of_a_name[i])))
			line.n = to = 0;
	while (from < line.n && !is_quote(line.p[from]))
		from++;
	while (to > from && !is_quote(line.p[to - 1]))
		to--;
	*ret_head = str_sub(line, 0, from);
	*ret_tail = str_sub(line, to, line.n);
}

bool git_says(const struct git_out *o, str words)
{
	str rest = o->err, line, head, tail;

	while (str_split(&rest, '\n', &line)) {
		bare(line, &head, &tail);
		if (str_contains(head, words) || str_contains(tail, words))
			return true;
	}
	return false;
}

bool git_could_not_write(const struct git_out *o)
{
	return git_says(o, STR("No space left")) || git_says(o, STR("unable to write")) ||
			git_says(o, STR("insufficient permission for adding"));
}

/* In the words of git, or of the C library. */
bool git_lacked_memory(const struct git_out *o)
{
	return o->code != 0 &&
			(git_says(o, STR("ut of memory")) ||
					git_says(o, STR("annot allocate memory")));
}

int git_fail(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	str words = str_trim(o->err.n ? o->err : o->out), lock = STR(".lock': File exists");

	words = utf8_truncate(words, 700);
	if (str_contains(o->err, lock)) {
		ov_fail(err, OV_ESTATE, STR_FMT, STR_ARG(words));
		return ov_next(err,
				"if no git is at work there, remove the lock file that the message "
				"names");
	}
	if (git_lacked_memory(o))
		return ov_fail(err, OV_ELIMIT,
				"git needs more memory for it than it may take: " STR_FMT,
				STR_ARG(words));
	if (words.n)
		return ov_fail(err, OV_EIO, STR_FMT, STR_ARG(words));
	return ov_fail(err, OV_EIO, "git ended with status %d in %s", o->code, c->cwd);
}

str git_line(struct git_call *c, const struct git_out *o)
{
	return arena_str(&c->arena, str_sub(o->out, 0, str_find_byte(o->out, '\n')));
}

bool git_oid_valid(str s)
{
	if (s.n != 40 && s.n != 64)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
			return false;
	return true;
}

/* As git-check-ref-format(1) says, and no leading dash. */
bool git_ref_valid(str ref)
{
	str rest = ref, part;

	if (!ref.n || ref.n > 240 || ref.p[0] == '-' || ref.p[ref.n - 1] == '.' ||
			ref.p[ref.n - 1] == '/' || str_contains(ref, STR("..")) ||
			str_contains(ref, STR("@{")) || str_is(ref, "@"))
		return false;
	for (size_t i = 0; i < ref.n; i++)
		if ((unsigned char)ref.p[i] <= ' ' || ref.p[i] == 127 ||
				strchr("~^:?*[\\", ref.p[i]))
			return false;
	while (str_split(&rest, '/', &part))
		if (!part.n || part.p[0] == '.' || str_ends(part, STR(".lock")))
			return false;
	return true;
}

static int identity_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->no_name = c->no_email = false; /* or we would read our own */
	return git_run(c, AT_REPO, GIT_READS, "config", "--get-regexp", "^user\\.(name|email)$",
			NULL);
}

static int identity_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	str rest = o->out, line;

	if (o->code > 1)
		return git_fail(c, o, err);
	c->no_name = c->no_email = true;
	while (str_split(&rest, '\n', &line)) {
		if (str_starts(line, STR("user.name ")) && line.n > 10)
			c->no_name = false;
		if (str_starts(line, STR("user.email ")) && line.n > 11)
			c->no_email = false;
	}
	return GIT_NEXT;
}

const struct git_step git_identity_steps[] = {
	STEP_RUN("read who commits", identity_build, identity_judge),
	STEP_END,
};
