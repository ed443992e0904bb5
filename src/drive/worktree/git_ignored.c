/*
 * Files that were ignored until the worktree was moved, and are not any more: the task before had
 * ignored them by a rule of its own. A clean would take them away, and no rescue has them. They are
 * rescued now; where they are too much for that (what a build made, packages), they are moved
 * aside. So are those that a file of what comes would overwrite.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/map.h"
#include "drive/git/git_aside.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/gitrules/git_settings.h"
#include "drive/worktree/git_add.h"
#include "drive/worktree/git_embedded.h"
#include "drive/worktree/git_tree_steps.h"

enum { FOLDERS_BYTES = 64 << 10 };

/*
 * Before the move: which files come that an ignored one has the name of, and are there other rules?
 * Only those make other files ignored.
 */
static int ahead_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->tree = c->rescue.added ? c->rescue.tree : c->head_tree;
	c->other_rules = false;
	if (!c->folder || c->making || !c->tree.n || (!c->dirty && str_eq(c->head, c->start)))
		return GIT_LEAVE;
	return git_run(c, AT_REPO, GIT_READS, "diff-tree", "-r", "-z", "--no-renames",
			"--name-status", c->tree.p, c->start.p, "--", NULL);
}

/* "A\0NAME\0" each. */
static int ahead_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	_cleanup_(buf_done) struct buf names = BUF_INIT;
	_cleanup_(buf_done) struct buf folders = BUF_INIT;
	str rest = o->out, status, name;

	while (str_split(&rest, '\0', &status) && str_split(&rest, '\0', &name)) {
		struct buf *to;
		struct stat st;

		c->other_rules |= str_is(name, ".gitignore") || str_ends(name, STR("/.gitignore"));
		if (str_is(status, "D") ||
				fstatat(c->tree_fd, arena_cstr(&c->arena, name), &st,
						AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		to = S_ISDIR(st.st_mode) ? &folders : &names;
		if (to == &names && !str_is(status, "A"))
			continue;
		buf_adds(to, name);
		buf_addc(to, '\0');
	}
	c->changes = arena_str(&c->arena, buf_str(&names));
	c->folders = arena_str(&c->arena, buf_str(&folders));
	return GIT_NEXT;
}

static int move_out(struct git_call *c, str names, const char *what, struct ov_err *err)
{
	const char *to = NULL;
	str name;
	int r = names.n ? git_aside_make(c, &to, err) : 0;

	if (!names.n)
		return 0;
	while (r == 0 && str_split(&names, '\0', &name))
		if (name.n)
			r = git_aside_put(c, to, name, err);
	if (r == 0)
		git_say(c, arena_printf(&c->arena, "%s were moved to %s", what, to));
	return r;
}

/*
 * Git would remove the folder, with all that is ignored in it. Of too many for a command, all
 * is listed.
 */
static int way_build(struct git_call *c, struct ov_err *err _unused_)
{
	str rest = c->folders, name;

	if (!c->folders.n)
		return GIT_SKIP;
	git_run(c, AT_TREE, GIT_READS, "ls-files", "-z", "--others", "--ignored",
			"--exclude-standard", "--", NULL);
	git_env_add(c, "GIT_LITERAL_PATHSPECS", "1");
	while (c->folders.n <= FOLDERS_BYTES && str_split(&rest, '\0', &name))
		if (name.n)
			git_args(c, arena_cstr(&c->arena, name), NULL);
	return GIT_NEXT;
}

static bool is_below(const struct map *folders, str name)
{
	for (size_t i = 1; i < name.n; i++)
		if (name.p[i] == '/' && map_get(folders, str_sub(name, 0, i)))
			return true;
	return false;
}

static int way_take(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf names = BUF_INIT;
	struct map folders;
	str rest = c->folders, name;
	int r;

	map_init(&folders, 0);
	while (str_split(&rest, '\0', &name))
		if (name.n)
			map_put(&folders, name, c);
	rest = o->out;
	while (str_split(&rest, '\0', &name))
		if (is_below(&folders, name)) {
			buf_adds(&names, name);
			buf_addc(&names, '\0');
		}
	map_done(&folders);
	r = move_out(c, arena_str(&c->arena, buf_str(&names)),
			"ignored files in folders where files come", err);
	return r < 0 ? r : GIT_NEXT;
}

static int way_files(struct git_call *c, struct ov_err *err _unused_)
{
	return c->changes.n ? GIT_NEXT : GIT_SKIP;
}

/* After it. */
static int rules_build(struct git_call *c, struct ov_err *err _unused_)
{
	return c->other_rules ? GIT_SKIP : GIT_LEAVE;
}

static int list_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->tree = c->rescue.added ? c->rescue.tree : c->head_tree;
	git_own_index_is(c, c->start);
	return git_run(c, AT_TREE, GIT_READS, "ls-files", "-z", "--others", "--exclude-standard",
			NULL);
}

/* What git lists with a slash at its end is another repository, and stays. */
static int list_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	_cleanup_(buf_done) struct buf names = BUF_INIT;
	str rest = o->out, name;
	int64_t bytes = 0;

	while (str_split(&rest, '\0', &name)) {
		struct stat st;

		if (!name.n || name.p[name.n - 1] == '/' ||
				fstatat(c->tree_fd, arena_cstr(&c->arena, name), &st,
						AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		bytes += st.st_size;
		buf_adds(&names, name);
		buf_addc(&names, '\0');
	}
	c->ok = bytes <= GIT_RESCUED_MAX;
	c->changes = arena_str(&c->arena, buf_str(&names));
	return c->changes.n ? GIT_NEXT : GIT_LEAVE;
}

/* What is rescued already, and these with it. */

static int index_build(struct git_call *c, struct ov_err *err _unused_)
{
	git_own_index_is(c, STR(""));
	return git_run(c, AT_ADMIN, 0, "read-tree", c->tree.p, NULL);
}

static int add_build(struct git_call *c, struct ov_err *err _unused_)
{
	git_run(c, AT_TREE, 0, "update-index", "-z", "--add", "--replace", "--stdin", NULL);
	c->input = c->changes;
	return GIT_NEXT;
}

static int tree_build(struct git_call *c, struct ov_err *err _unused_)
{
	return git_run(c, AT_ADMIN, 0, "write-tree", NULL);
}

static int tree_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	str tree = git_line(c, o);

	if (str_eq(tree, c->tree))
		return GIT_LEAVE; /* they had not been ignored */
	c->tree = tree;
	return GIT_NEXT;
}

static int commit_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->rescue.commit.n)
		c->rescue.old = c->rescue_oid;
	git_run(c, AT_REPO, 0, "commit-tree", c->tree.p, "-p",
			c->rescue.commit.n ? c->rescue.commit.p : c->start.p, NULL);
	if (!c->rescue.commit.n && c->rescue.old.n)
		git_args(c, "-p", c->rescue.old.p, NULL);
	c->input = arena_printf(&c->arena, "With the files in %s that were ignored\n", c->path);
	return GIT_NEXT;
}

static int commit_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	if (c->rescue.commit.n)
		c->rescue.old = c->rescue.commit;
	c->rescue.commit = git_line(c, o);
	return GIT_NEXT;
}

static int keep_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->res.rescue_ref = c->rescue_ref;
	c->res.commit = c->rescue.commit;
	c->rescue.tree = c->tree; /* there may be more */
	c->rescue.added = true;
	return git_run(c, AT_REPO, GIT_WHOLE, "update-ref", "--no-deref", "-m", "overseer: rescue",
			c->rescue_ref.p, c->rescue.commit.p, c->rescue.old.n ? c->rescue.old.p : "",
			NULL);
}

const struct git_step git_add_ignored_steps[] = {
	STEP_SUB("read who commits", NULL, git_identity_steps),
	STEP_RUN("add what was ignored", index_build, NULL),
	STEP_SUB("remove copies of large files", NULL, git_lfs_clear_steps),
	STEP_RUN("add what was ignored", add_build, NULL),
	STEP_SUB("take over large files", NULL, git_lfs_own_steps),
	STEP_TAKE("write it as a tree", tree_build, tree_take),
	STEP_TAKE("commit what is rescued", commit_build, commit_take),
	STEP_RUN("set the rescue ref", keep_build, NULL),
	STEP_END,
};

static int rescue_only(struct git_call *c, struct ov_err *err _unused_)
{
	return c->ok ? GIT_NEXT : GIT_SKIP;
}

static int folders_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (c->ok)
		return GIT_LEAVE;
	return git_run(c, AT_TREE, GIT_READS, "ls-files", "-z", "--others", "--directory",
			"--no-empty-directory", "--exclude-standard", NULL);
}

static int folders_take(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	int r = move_out(c, o->out, "files that were ignored before", err);

	return r < 0 ? r : GIT_NEXT;
}

/* A part of what is ignored: the smallest files first, so that most of them are kept. */

struct ignored {
	const char *name;
	int64_t bytes;
};

static int smaller(const void *x, const void *y)
{
	const struct ignored *a = x, *b = y;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int some_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->folder || !c->dirty || !c->keep_ignored || c->keep_ignored == INT64_MAX)
		return GIT_LEAVE;
	return git_run(c, AT_TREE, GIT_READS, "ls-files", "-z", "--others", "--ignored",
			"--exclude-standard", NULL);
}

static int some_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	_cleanup_(buf_done) struct buf names = BUF_INIT;
	VEC(struct ignored) files = { 0 };
	str rest = o->out, name;
	int64_t bytes = 0;
	size_t n = 0;
	struct stat st;

	/* What git lists with a slash at its end is another repository. */
	while (str_split(&rest, '\0', &name)) {
		struct ignored one = { .name = arena_cstr(&c->arena, name) };

		if (!name.n || name.p[name.n - 1] == '/' ||
				fstatat(c->tree_fd, one.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		one.bytes = st.st_size;
		vec_push(&files, one);
	}
	if (files.n)
		qsort(files.p, files.n, sizeof(files.p[0]), smaller);
	for (; n < files.n && files.p[n].bytes <= c->keep_ignored - bytes; n++) {
		bytes += files.p[n].bytes;
		buf_adds(&names, str_from(files.p[n].name));
		buf_addc(&names, '\0');
	}
	if (n < files.n)
		git_say(c,
				arena_printf(&c->arena,
						"%zu of %zu ignored files were not rescued, since "
						"they are more than rescue.ignored allows",
						files.n - n, files.n));
	vec_done(&files);
	c->changes = arena_str(&c->arena, buf_str(&names));
	return c->changes.n ? GIT_NEXT : GIT_LEAVE;
}

static int some_add(struct git_call *c, struct ov_err *err _unused_)
{
	git_run(c, AT_TREE, 0, "add", "--force", "--pathspec-from-file=-", "--pathspec-file-nul",
			NULL);
	if (c->partly)
		git_args(c, "--ignore-errors", NULL);
	git_env_add(c, "GIT_LITERAL_PATHSPECS", "1");
	c->input = c->changes;
	return GIT_NEXT;
}

const struct git_step git_ignored_some_steps[] = {
	STEP_TAKE("see what is ignored", some_build, some_take),
	STEP_RUN("add some of what is ignored", some_add, git_add_judge),
	STEP_END,
};

const struct git_step git_ignored_steps[] = {
	STEP_RUN("see whether other files are ignored now", rules_build, NULL),
	STEP_TAKE("find what was ignored", list_build, list_take),
	STEP_SUB("rescue what was ignored", rescue_only, git_add_ignored_steps),
	STEP_TAKE("move what was ignored aside", folders_build, folders_take),
	STEP_END,
};

const struct git_step git_ahead_steps[] = {
	STEP_TAKE("see what comes", ahead_build, ahead_take),
	STEP_TAKE("move what is in the way aside", way_build, way_take),
	STEP_SUB("rescue what is in the way", way_files, git_add_ignored_steps),
	STEP_END,
};
