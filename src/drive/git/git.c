/*
 * Opening a repository: where its git directories are, whether git is new enough, what is excluded.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "drive/git/git_call.h"
#include "sys/file/file.h"

/* git merge-tree --write-tree, which accept is built on, came with 2.38. */
enum { GIT_MAJOR = 2, GIT_MINOR = 38, OPEN_TIMEOUT_MS = 30 * 1000 };

/* One short command, waited for; its output without the last newline. */
static int git_git_ask(struct git *g, const char *cwd, const char *const *argv, str *ret,
		struct ov_err *err)
{
	struct git_child ch;
	struct git_out o;
	int r = git_child_start(argv, g->env.p, cwd, &ch, err);

	if (r < 0)
		return r;
	r = git_child_wait(&ch, OPEN_TIMEOUT_MS, err);
	if (r < 0) {
		git_child_done(&ch);
		return r;
	}
	r = git_child_collect(&ch, &g->arena, &o, err);
	if (r < 0)
		return r;
	if (o.code != 0)
		return ov_fail(err, OV_ESTATE, STR_FMT, STR_ARG(str_trim(o.err)));
	if (str_ends(o.out, STR("\n")))
		o.out.n--;
	*ret = arena_str(&g->arena, o.out);
	return 0;
}

static int check_version(struct git *g, const char *repo, struct ov_err *err)
{
	int major = 0, minor = 0, r;
	str s;

	r = git_git_ask(g, repo, (const char *const[]){ "git", "version", NULL }, &s, err);
	if (r < 0)
		return r;
	if (sscanf(s.p, "git version %d.%d", &major, &minor) != 2 || major < GIT_MAJOR ||
			(major == GIT_MAJOR && minor < GIT_MINOR))
		return ov_fail(err, OV_EUNAVAILABLE,
				"git %d.%d or newer is needed, this is \"" STR_FMT "\"", GIT_MAJOR,
				GIT_MINOR, STR_ARG(s));
	return 0;
}

static int find_dirs(struct git *g, const char *repo, struct ov_err *err)
{
	static const char *const questions[] = { "--show-toplevel", "--git-dir",
		"--git-common-dir" };
	const char **const to[] = { &g->repo, &g->git_dir, &g->common };
	int r;

	/* One question at a time: a path may hold a newline. */
	for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
		str s;

		r = git_git_ask(g, repo,
				(const char *const[]){ "git", "rev-parse", "--path-format=absolute",
						questions[i], NULL },
				&s, err);
		if (r < 0)
			return r;
		*to[i] = s.p;
	}
	return 0;
}

/*
 * Only one that is incomplete now is completed by fetching, whatever its configuration says later.
 */
static void find_partial(struct git *g, const char *repo)
{
	str s;
	const char *names = "^(extensions\\.partialclone|remote\\..*\\.promisor)$";
	const char *const argv[] = { "git", "config", "--get-regexp", names, NULL };

	g->partial = git_git_ask(g, repo, argv, &s, NULL) == 0;
}

/* What we put into the repository is not its content, in no worktree of it. */
int git_exclude(struct git *g, str line, struct ov_err *err)
{
	const char *dir = path_join(&g->arena, g->common, "info"),
		   *file = path_join(&g->arena, dir, "exclude");
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	str text = { 0 }, rest, one;
	int r = file_read(&g->arena, file, GIT_FILE_MAX, &text, err);

	if (r < 0 && r != OV_ENOTFOUND)
		return r;
	rest = text;
	while (str_split(&rest, '\n', &one))
		if (str_eq(str_trim(one), line))
			return 0;
	buf_adds(&b, text);
	if (text.n && !str_ends(text, STR("\n")))
		buf_addc(&b, '\n');
	buf_addf(&b, STR_FMT "\n", STR_ARG(line));
	r = dir_make(dir, 0755, err);
	return r < 0 ? r : file_write_atomic(file, buf_str(&b), 0644, err);
}

int git_open(struct loop *l, const char *repo, struct git **ret, struct ov_err *err)
{
	struct git *g = mem_zalloc(1, sizeof(*g));
	int r;

	g->loop = l;
	list_init(&g->calls);
	git_env_init(g);
	vec_push(&g->env, NULL);
	r = check_version(g, repo, err);
	if (r == 0)
		r = find_dirs(g, repo, err);
	if (r == 0)
		r = git_exclude(g, STR("/.overseer/"), err);
	find_partial(g, repo);
	g->no_lfs = !file_in_path(&g->arena, getenv("PATH"), "git-lfs");
	g->env.n--; /* calls add to it and end it themselves */
	if (r < 0) {
		git_close(g);
		return ov_wrap(err, r, "git repository %s", repo);
	}
	*ret = g;
	return 0;
}

void git_set_timeout(struct git *g, int64_t ms)
{
	g->timeout_ms = ms;
}

void git_keep_ignored(struct git *g, int64_t bytes)
{
	g->keep_ignored = bytes;
}

const char *git_common_dir(const struct git *g)
{
	return g->common;
}

void git_close(struct git *g)
{
	list_each (n, &g->calls)
		git_call_free(list_entry(n, struct git_call, node));
	vec_done(&g->env);
	vec_done(&g->seen);
	arena_done(&g->arena);
	mem_free(g);
}
