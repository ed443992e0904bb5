/*
 * Submodules of a worktree, where somebody has set them up: their repositories are in the worktree's
 * own git directory, and go with it. They follow when the worktree moves, or the next harvest would
 * take what they still stand on for work; and they are not removed while they hold anything that is
 * nowhere else.
 */
#include "drive/git_call.h"
#include "drive/git_steps.h"
#include "sys/file.h"

#define MODULES "modules"

static int at_tree(struct git_call *c, unsigned flags, const char *cmd, const char *arg)
{
	/* Found from the folder: with GIT_DIR in its environment it would not look there. */
	git_run(c, AT_REPO, flags, "submodule", "--quiet", cmd, "--recursive", arg, NULL);
	c->cwd = c->path;
	return GIT_NEXT;
}

static int follow_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->admin || !c->folder || !git_admin_has(c, MODULES))
		return GIT_SKIP;
	at_tree(c, GIT_NET, "update", "--checkout");
	git_ask_nobody(c);
	return GIT_NEXT;
}

const struct git_step git_submodule_steps[] = {
	STEP_RUN("let the submodules follow", follow_build, NULL),
	STEP_END,
};

static int hold_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->ok = !c->admin || !git_admin_has(c, MODULES);
	if (c->ok || !c->folder)
		return GIT_SKIP;
	return at_tree(c, GIT_READS, "foreach",
			"git status --porcelain && git stash list && "
			"git log --oneline HEAD --branches --not --remotes --");
}

static int hold_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	c->ok = o->code == 0 && !str_trim(o->out).n;
	return GIT_NEXT;
}

const struct git_step git_submodule_hold_steps[] = {
	STEP_RUN("see what the submodules hold", hold_build, hold_judge),
	STEP_END,
};

int git_submodule_aside(struct git_call *c, struct ov_err *err)
{
	if (!c->admin || !git_admin_has(c, MODULES))
		return 0;
	return git_move_aside(c, path_join(&c->arena, c->admin, MODULES), err);
}
