/*
 * A move of the target that did not come about, although git has written the user's checkout: it
 * writes that first, and moves the branch then. A commit of the user's in between leaves our files
 * there. What is still as we wrote it becomes as it was; if anything else was changed, nothing is.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/map.h"
#include "drive/accept/git_target_steps.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/worktree/git_tree_steps.h"
#include "sys/file/file.h"

#define INDEX "index.overseer"

/*
 * Does the list have a path that was to change? c->changes: of each, a line about it and its name.
 */
static bool has_changed(struct git_call *c, str list)
{
	str rest = c->changes, about, path;
	struct map to_change;
	bool found = false;

	map_init(&to_change, 0);
	while (str_split(&rest, '\0', &about) && about.n && str_split(&rest, '\0', &path))
		map_put(&to_change, path, c);
	while (!found && str_split(&list, '\0', &path) && path.n)
		found = map_get(&to_change, path) != NULL;
	map_done(&to_change);
	return found;
}

static int compare_index(struct git_call *c, str commit)
{
	c->ok = false;
	git_run(c, AT_REPO, GIT_READS, "diff-index", "--cached", "-r", "-z", "--name-only",
			"--no-renames", "--no-ext-diff", commit.p, "--", NULL);
	return git_at_holder(c);
}

static int compare_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	c->ok = o->code == 0 && !has_changed(c, o->out);
	return GIT_NEXT;
}

/* Mostly the index is as the commit wants it: the user seems to have staged our files. */

static int written_build(struct git_call *c, struct ov_err *err _unused_)
{
	return c->holder && !c->staged_alike ? compare_index(c, c->commit) : GIT_LEAVE;
}

static int staged_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->ok)
		return GIT_SKIP;
	git_run(c, AT_REPO, GIT_WHOLE, "read-tree", "-m", "-u", c->commit.p, "HEAD", NULL);
	return git_at_holder(c);
}

/* Where git refuses, somebody has changed them meanwhile. */
static int staged_judge(struct git_call *c _unused_, const struct git_out *o _unused_,
		struct ov_err *err _unused_)
{
	return GIT_LEAVE;
}

/*
 * But `git commit FILE` reads the index before it locks it, and may put it back to what it was
 * before we wrote: then our files seem to be changes and new files of the user's. None of them was
 * there before (git_overlap.c), so those that are to the byte what the commit brings are ours.
 */

static int unstaged_build(struct git_call *c, struct ov_err *err _unused_)
{
	return compare_index(c, c->target_oid);
}

static int copy_build(struct git_call *c, struct ov_err *err _unused_)
{
	_cleanup_(fd_closep) int fd = -1;

	if (!c->ok)
		return GIT_LEAVE;
	git_temp_index(c, c->res.admin.p, INDEX);
	fd = file_open(path_join(&c->arena, c->res.admin.p, "index"), O_RDONLY, 0);
	if (fd < 0 || git_copy_index(fd, c->index, NULL) < 0)
		return GIT_LEAVE;
	git_run(c, AT_REPO, GIT_TEMP_INDEX, "read-tree", "-i", "-m", c->target_oid.p, c->commit.p,
			NULL);
	return git_at_holder(c);
}

static int undo_give_up(struct git_call *c)
{
	unlink(c->index);
	return GIT_LEAVE;
}

static int copy_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	return o->code == 0 ? GIT_NEXT : undo_give_up(c);
}

static int refresh_build(struct git_call *c, struct ov_err *err _unused_)
{
	git_run(c, AT_REPO, GIT_TEMP_INDEX, "update-index", "-q", "--refresh", NULL);
	return git_at_holder(c);
}

/* Its status says whether anything is changed, of other files too. */
static int refresh_judge(struct git_call *c _unused_, const struct git_out *o _unused_,
		struct ov_err *err _unused_)
{
	return GIT_NEXT;
}

static int files_build(struct git_call *c, struct ov_err *err _unused_)
{
	git_run(c, AT_REPO, GIT_READS | GIT_TEMP_INDEX, "diff-files", "-z", "--name-only",
			"--no-ext-diff", NULL);
	return git_at_holder(c);
}

static int files_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	return o->code == 0 && !has_changed(c, o->out) ? GIT_NEXT : undo_give_up(c);
}

static int back_build(struct git_call *c, struct ov_err *err _unused_)
{
	git_run(c, AT_REPO, GIT_WHOLE | GIT_TEMP_INDEX, "read-tree", "-m", "-u", c->commit.p,
			c->target_oid.p, NULL);
	return git_at_holder(c);
}

static int back_judge(struct git_call *c, const struct git_out *o _unused_,
		struct ov_err *err _unused_)
{
	return undo_give_up(c);
}

const struct git_step git_undo_steps[] = {
	STEP_RUN("see whether the checkout was written", written_build, compare_judge),
	STEP_RUN("take back what was staged there", staged_build, staged_judge),
	STEP_RUN("see whether its files were written", unstaged_build, compare_judge),
	STEP_RUN("see what they are", copy_build, copy_judge),
	STEP_RUN("see what they are", refresh_build, refresh_judge),
	STEP_RUN("see what they are", files_build, files_judge),
	STEP_RUN("take back what was written there", back_build, back_judge),
	STEP_END,
};
