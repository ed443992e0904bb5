#include "watch/remedy/keep.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "sys/file/file.h"
#include "sys/host/git_env.h"
#include "watch/remedy/quick.h"

extern char **environ;

enum {
	GIT_MS = 5 * 60 * 1000,
	GIT_OUT = 4 << 20, /* of a list of files; a longer one is refused */
	WORDS_MAX = 500,
	STRINGS_MAX = 64,
};

struct keep_git {
	struct arena *a;
	const char *cwd;
	const char *index; /* NULL: its own */
	int stop_fd;
	bool failed_quietly; /* it answered, with a status of its own */
};

typedef VEC(const char *) strings;

static void git_environment(const struct keep_git *g, strings *env)
{
	static const char *const who[] = { "GIT_AUTHOR_NAME=Overseer",
		"GIT_AUTHOR_EMAIL=overseer@localhost", "GIT_COMMITTER_NAME=Overseer",
		"GIT_COMMITTER_EMAIL=overseer@localhost", "GIT_OPTIONAL_LOCKS=0" };

	for (char **e = environ; *e; e++)
		if (git_env_passes(*e) && !str_starts(str_from(*e), STR("GIT_AUTHOR_")) &&
				!str_starts(str_from(*e), STR("GIT_COMMITTER_")))
			vec_push(env, *e);
	for (size_t i = 0; i < git_env_fixed_n; i++)
		vec_push(env, git_env_fixed[i]);
	for (size_t i = 0; i < ARRAY_LEN(who); i++)
		vec_push(env, who[i]);
	if (g->index)
		vec_push(env, arena_printf(g->a, "GIT_INDEX_FILE=%s", g->index).p);
	vec_push(env, NULL);
}

static void git_words(const struct keep_git *g, const char *const *args, strings *argv)
{
	vec_push(argv, "git");
	for (size_t i = 0; i < git_options_n; i++) {
		vec_push(argv, "-c");
		vec_push(argv, git_options[i]);
	}
	for (size_t i = 0; !file_in_path(g->a, getenv("PATH"), "git-lfs") && i < git_no_lfs_n;
			i++) {
		vec_push(argv, "-c");
		vec_push(argv, git_no_lfs[i]);
	}
	for (; *args; args++)
		vec_push(argv, *args);
	vec_push(argv, NULL);
}

/* Its answer without the last line's end. A status other than 0 is OV_EIO with its words. */
static int git_list(struct keep_git *g, const char *const *args, str *ret, struct ov_err *err)
{
	strings argv = { 0 }, env = { 0 };
	struct quick_end end;
	int r;

	git_words(g, args, &argv);
	git_environment(g, &env);
	r = quick_run(g->a,
			&(struct quick){ .argv = argv.p,
					.env = env.p,
					.cwd = g->cwd,
					.max = GIT_OUT,
					.timeout_ms = GIT_MS,
					.stop_fd = g->stop_fd },
			&end, err);
	vec_done(&argv);
	vec_done(&env);
	g->failed_quietly = r == 0 && end.status != 0;
	/* A program that is not there says nothing about what is to be kept. */
	if (r == OV_ENOTFOUND)
		r = OV_EIO;
	if (r < 0)
		return r;
	if (end.status != 0)
		return ov_fail(err, OV_EIO, "git %s: " STR_FMT, args[0],
				STR_ARG(utf8_truncate(str_trim(utf8_clean(g->a, end.err)),
						WORDS_MAX)));
	if (end.cut)
		return ov_fail(err, OV_ELIMIT, "git %s: its answer is too long", args[0]);
	if (end.out.n && end.out.p[end.out.n - 1] == '\n')
		end.out.n--;
	*ret = end.out;
	return 0;
}

static int git(struct keep_git *g, str *ret, struct ov_err *err, ...) __attribute__((sentinel));
static int git(struct keep_git *g, str *ret, struct ov_err *err, ...)
{
	const char *args[STRINGS_MAX], *arg;
	size_t n = 0;
	va_list ap;

	va_start(ap, err);
	while ((arg = va_arg(ap, const char *))) {
		assert(n + 1 < STRINGS_MAX);
		args[n++] = arg;
	}
	va_end(ap);
	args[n] = NULL;
	return git_list(g, args, ret, err);
}

/* ---- where it is ---- */

int keep_find(struct arena *a, const char *path, int stop_fd, struct kept_checkout *ret,
		struct ov_err *err)
{
	struct keep_git g = { .a = a, .cwd = path, .stop_fd = stop_fd };
	str out, top = { 0 };
	int r = git(&g, &out, err, "rev-parse", "--show-toplevel", "--absolute-git-dir", NULL);

	/* Git says the same of one whose files are damaged; that is no reason to go on. */
	if (r < 0 && g.failed_quietly && !file_exists(path_join(a, path, ".git")))
		return ov_fail(err, OV_ENOTFOUND, "%s is in no checkout of git", path);
	if (r < 0)
		return r;
	(void)str_split(&out, '\n', &top);
	*ret = (struct kept_checkout){ .top = arena_cstr(a, top), .git_dir = arena_cstr(a, out) };
	return 0;
}

/* ---- what is in it ---- */

struct keep {
	const struct keep_ask *ask;
	struct keep_git g;
	str head, head_tree; /* empty: there is no commit yet */
	bool dirty;
	strings left_out; /* pathspecs */
	str index_tree, tree;
};

/* A repository inside, which is nobody's file: `add` would take its commit for one, or fail. */
static void leave_out(struct keep *k, str path)
{
	vec_push(&k->left_out,
			arena_printf(k->g.a, ":(top,exclude,literal)" STR_FMT, STR_ARG(path)).p);
}

static int find_head(struct keep *k, struct ov_err *err)
{
	int r = git(&k->g, &k->head, NULL, "rev-parse", "--verify", "-q", "HEAD^{commit}", NULL);

	if (r == 0)
		r = git(&k->g, &k->head_tree, err, "rev-parse", "--verify", "-q", "HEAD^{tree}",
				NULL);
	else if (k->g.failed_quietly)
		r = 0;
	return r;
}

static int list_changes(struct keep *k, struct ov_err *err)
{
	str top = arena_printf(k->g.a, "%s/", k->ask->at.top), out, entry,
	    ours = str_from(k->ask->leave_out);
	bool seen = false;
	int r = git(&k->g, &out, err, "status", "--porcelain=v1", "-z", "--no-renames",
			"--untracked-files=all", "--ignore-submodules=none", NULL);

	if (r < 0)
		return r;
	ours = str_starts(ours, top) ? str_sub(ours, top.n, ours.n) : STR("");
	while (str_split(&out, '\0', &entry)) {
		str path = str_sub(entry, 3, entry.n);

		if (entry.n <= 3)
			continue;
		/* Named only where git does not ignore it already: that would be an error. */
		if (ours.n && str_starts(path, ours))
			seen = true;
		else if (str_starts(entry, STR("??")) && str_ends(path, STR("/")))
			leave_out(k, str_sub(path, 0, path.n - 1));
		else
			k->dirty = true;
	}
	if (seen)
		leave_out(k, ours);
	return 0;
}

/* ---- the trees ---- */

static int index_from_head(struct keep *k, struct ov_err *err)
{
	str out;

	unlink(k->g.index);
	return git(&k->g, &out, err, "read-tree",
			k->head.n ? arena_cstr(k->g.a, k->head) : "--empty", NULL);
}

/* From here on everything is asked of an index of our own. */
static int keep_look(struct keep *k, struct ov_err *err)
{
	const char *index = path_join(k->g.a, k->ask->at.git_dir, "index");
	bool absent = !file_exists(index);
	int r;

	k->g.index = arena_printf(k->g.a, "%s/overseer-%s.index", k->ask->at.git_dir, k->ask->name)
				     .p;
	unlink(k->g.index);
	/*
	 * With the times of the original: a file that is no older than the index is read by git,
	 * since it may have been changed in the moment in which that was written.
	 */
	r = absent ? index_from_head(k, err) : file_copy(index, k->g.index, 0600, err);
	/* With conflicts in it an index has no tree; what is in the folder is kept all the same. */
	if (r == 0 && !absent && git(&k->g, &k->index_tree, NULL, "write-tree", NULL) < 0)
		k->index_tree = STR("");
	if (r == 0)
		r = list_changes(k, err);
	/* It may be damaged: once more from HEAD. */
	if (r < 0 && r != OV_ESTATE && !absent) {
		r = index_from_head(k, err);
		if (r == 0)
			r = list_changes(k, err);
	}
	return r;
}

static int add_all(struct keep *k, struct ov_err *err)
{
	strings args = { 0 };
	str out;
	int r;

	vec_push(&args, "add");
	vec_push(&args, "-A");
	vec_push(&args, "--sparse");
	vec_push(&args, "--");
	vec_push(&args, ":(top)");
	for (size_t i = 0; i < k->left_out.n; i++)
		vec_push(&args, k->left_out.p[i]);
	vec_push(&args, NULL);
	r = git_list(&k->g, args.p, &out, err);
	vec_done(&args);
	if (r == 0)
		r = git(&k->g, &k->tree, err, "write-tree", NULL);
	return r;
}

/* ---- the commit ---- */

static int commit(struct keep *k, const char *message, str tree, const char *const *parents,
		str *ret, struct ov_err *err)
{
	const char *args[16] = { "commit-tree", arena_cstr(k->g.a, tree), "-m", message };
	size_t n = 4;

	for (; *parents; parents++) {
		args[n++] = "-p";
		args[n++] = *parents;
	}
	args[n] = NULL;
	return git_list(&k->g, args, ret, err);
}

/* old: what the ref holds already, or empty. */
static int commit_all(struct keep *k, str old, str *ret, struct ov_err *err)
{
	const char *parents[4] = { NULL };
	str index;
	size_t n = 0;
	int r = 0;

	if (k->head.n)
		parents[n++] = arena_cstr(k->g.a, k->head);
	if (k->index_tree.n && !str_eq(k->index_tree, k->tree) &&
			!str_eq(k->index_tree, k->head_tree)) {
		r = commit(k, "The index, as it differed from the folder", k->index_tree, parents,
				&index, err);
		if (r == 0)
			parents[n++] = arena_cstr(k->g.a, index);
	}
	if (old.n)
		parents[n++] = arena_cstr(k->g.a, old);
	return r < 0 ? r : commit(k, k->ask->message, k->tree, parents, ret, err);
}

static int keep_copy(struct keep *k, str *ret_words, struct ov_err *err)
{
	const char *ref = arena_printf(k->g.a, KEEP_PREFIX "%s", k->ask->name).p;
	str kept, old = STR(""), out;
	int r = find_head(k, err);

	if (r == 0)
		r = keep_look(k, err);
	kept = k->head;
	if (r == 0 && !k->dirty && !k->head.n) {
		*ret_words = arena_printf(k->g.a, "%s is empty: nothing to keep", k->ask->at.top);
		return 0;
	}
	if (r == 0 && git(&k->g, &old, NULL, "rev-parse", "--verify", "-q", ref, NULL) < 0)
		old = STR("");
	if (r == 0 && k->dirty)
		r = add_all(k, err);
	if (r == 0 && k->dirty)
		r = commit_all(k, old, &kept, err);
	if (r == 0 && (k->dirty || !old.n))
		r = git(&k->g, &out, err, "update-ref", "-m", "overseer: rescue", ref,
				arena_cstr(k->g.a, kept), arena_cstr(k->g.a, old), NULL);
	if (r < 0)
		return r;
	*ret_words = arena_printf(k->g.a, "%s, kept as %s (%s)", k->ask->at.top, ref,
			k->dirty ? "with what is not committed" : "clean");
	return 0;
}

int keep_checkout(struct arena *a, const struct keep_ask *ask, str *ret_words, struct ov_err *err)
{
	struct keep k = { .ask = ask,
		.g = { .a = a, .cwd = ask->at.top, .stop_fd = ask->stop_fd } };
	int r = keep_copy(&k, ret_words, err);

	if (k.g.index)
		unlink(k.g.index);
	vec_done(&k.left_out);
	return r < 0 ? ov_wrap(err, r, "keeping %s", ask->at.top) : 0;
}
