/*
 * Files that were ignored until the worktree was moved, and are not any more: the task before had
 * ignored them by a rule of its own. A clean would take them away, and no rescue has them. They are
 * rescued now; where they are too much for that (what a build made, packages), they are moved aside. So
 * are those that a file of what comes would overwrite.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "drive/git_aside.h"
#include "drive/git_call.h"
#include "drive/git_steps.h"
#include "drive/git_walk.h"
#include "sys/file.h"

/*
 * Before the move: which files come that an ignored one has the name of, and are there other rules? Only
 * those make other files ignored.
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
static int ahead_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	_cleanup_(buf_done)
	struct buf names = BUF_INIT;
	str rest = o->out, status, name;

	if (o->code != 0)
		return git_fail(c, o, err);
	while (str_split(&rest, '\0', &status) && str_split(&rest, '\0', &name)) {
		struct stat st;

		c->other_rules |= str_is(name, ".gitignore") || str_ends(name, STR("/.gitignore"));
		if (!str_is(status, "A") ||
				fstatat(c->tree_fd, arena_cstr(&c->arena, name), &st,
						AT_SYMLINK_NOFOLLOW) < 0 ||
				S_ISDIR(st.st_mode))
			continue;
		buf_adds(&names, name);
		buf_addc(&names, '\0');
	}
	c->changes = arena_str(&c->arena, buf_str(&names));
	return c->changes.n ? GIT_NEXT : GIT_LEAVE;
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
static int list_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	_cleanup_(buf_done)
	struct buf names = BUF_INIT;
	str rest = o->out, name;
	int64_t bytes = 0;

	if (o->code != 0)
		return git_fail(c, o, err);
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

static int tree_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	str tree = git_line(c, o);

	if (o->code != 0)
		return git_fail(c, o, err);
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

static int commit_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code != 0)
		return git_fail(c, o, err);
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
	STEP_RUN("add what was ignored", add_build, NULL),
	STEP_RUN("write it as a tree", tree_build, tree_judge),
	STEP_RUN("commit what is rescued", commit_build, commit_judge),
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

static int folders_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	str rest = o->out, name;
	int r = 0;

	if (o->code != 0)
		return git_fail(c, o, err);
	while (r == 0 && str_split(&rest, '\0', &name))
		if (name.n)
			r = git_aside_path(c, name, err);
	return r < 0 ? r : GIT_NEXT;
}

const struct git_step git_ignored_steps[] = {
	STEP_RUN("see whether other files are ignored now", rules_build, NULL),
	STEP_RUN("find what was ignored", list_build, list_judge),
	STEP_SUB("rescue what was ignored", rescue_only, git_add_ignored_steps),
	STEP_RUN("move what was ignored aside", folders_build, folders_judge),
	STEP_END,
};

const struct git_step git_ahead_steps[] = {
	STEP_RUN("see what comes", ahead_build, ahead_judge),
	STEP_SUB("rescue what is in the way", NULL, git_add_ignored_steps),
	STEP_END,
};
