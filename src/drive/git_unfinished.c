/*
 * Operations that stop halfway (rebase, merge, cherry-pick): which of them is open in a worktree,
 * how it is taken back (the branch as before), how it is forgotten (everything as it is now).
 */
#include "drive/git_call.h"
#include "drive/git_steps.h"
#include "sys/file.h"

static const struct {
	const char *file; /* in the worktree's git directory while it is open */
	const char *cmd, *abort, *quit;
	bool resolvable; /* with no conflict left, an ordinary commit concludes it */
} ops[] = {
	{ "rebase-apply/applying", "am", "--abort", "--quit", false },
	{ "rebase-merge", "rebase", "--abort", "--quit", false },
	{ "rebase-apply", "rebase", "--abort", "--quit", false },
	{ "MERGE_HEAD", "merge", "--abort", "--quit", true },
	{ "REVERT_HEAD", "revert", "--abort", "--quit", true },
	{ "CHERRY_PICK_HEAD", "cherry-pick", "--abort", "--quit", true },
	{ "sequencer", "cherry-pick", "--abort", "--quit", false },
	{ "BISECT_LOG", "bisect", "reset", "reset", false },
};

const char *git_unfinished_at(struct git_call *c, const char *admin)
{
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		if (file_exists(path_join(&c->arena, admin, ops[i].file)))
			return ops[i].cmd;
	return NULL;
}

bool git_unfinished(struct git_call *c)
{
	return git_unfinished_at(c, c->admin) != NULL;
}

/*
 * Each row of the table is tried twice at most: the second try forgets what could not be taken back
 * (a git that was killed leaves halves of its own state). unfinished_at counts the tries.
 */
static int next_op(struct git_call *c, bool quit, struct ov_err *err)
{
	if (!c->admin || !c->folder)
		return GIT_SKIP;
	for (size_t i = c->unfinished_at / 2; i < ARRAY_LEN(ops); i++) {
		bool second = c->unfinished_at == 2 * i + 1;

		if (!git_admin_has(c, ops[i].file) || (!quit && ops[i].resolvable && !c->unmerged))
			continue;
		if (c->unfinished_at > 2 * i + 1)
			return ov_fail(err, OV_ESTATE,
					"an unfinished git %s in %s can be neither aborted nor "
					"quit",
					ops[i].cmd, c->path);
		c->unfinished_at = 2 * i + (second || quit ? 2 : 1);
		git_run(c, AT_TREE, 0, ops[i].cmd, second || quit ? ops[i].quit : ops[i].abort,
				NULL);
		if (strcmp(ops[i].cmd, "bisect") == 0 && (quit || second))
			git_args(c, "HEAD", NULL);
		return GIT_NEXT;
	}
	return GIT_SKIP;
}

static int abort_build(struct git_call *c, struct ov_err *err)
{
	return next_op(c, false, err);
}

static int quit_build(struct git_call *c, struct ov_err *err)
{
	return next_op(c, true, err);
}

/* Whether it helped is seen by looking, not by the exit status. */
static int op_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	size_t i = (c->unfinished_at - 1) / 2;

	if (git_admin_has(c, ops[i].file) && c->unfinished_at == 2 * i + 2)
		return git_fail(c, o, err);
	return GIT_AGAIN;
}

const struct git_step git_abort_steps[] = {
	STEP_RUN("take back what was left unfinished", abort_build, op_judge),
	STEP_END,
};

const struct git_step git_quit_steps[] = {
	STEP_RUN("forget what was left unfinished", quit_build, op_judge),
	STEP_END,
};
