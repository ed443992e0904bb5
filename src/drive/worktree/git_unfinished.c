/*
 * Operations that stop halfway (rebase, merge, cherry-pick): which of them is open in a worktree.
 * They are not git's to take back, since what it would do is written in files of the agent's:
 * harvest keeps what is there, and goes on from the branch.
 */
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/worktree/git_tree_steps.h"
#include "sys/file/file.h"

static const struct {
	const char *file; /* in the git directory while it is open */
	const char *cmd;
	bool detached;   /* HEAD is elsewhere meanwhile, and the branch is as before */
	bool resolvable; /* with no conflict left, an ordinary commit concludes it */
} ops[] = {
	{ "rebase-apply/applying", "am", false, false },
	{ "rebase-merge", "rebase", true, false },
	{ "rebase-apply", "rebase", true, false },
	{ "MERGE_HEAD", "merge", false, true },
	{ "REVERT_HEAD", "revert", false, true },
	{ "CHERRY_PICK_HEAD", "cherry-pick", false, true },
	{ "sequencer", "cherry-pick", false, false },
	{ "BISECT_LOG", "bisect", true, false },
};

const char *git_unfinished_at(struct git_call *c, const char *admin)
{
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		if (file_exists(path_join(&c->arena, admin, ops[i].file)))
			return ops[i].cmd;
	return NULL;
}

enum git_open_op git_unfinished(struct git_call *c)
{
	enum git_open_op found = GIT_OP_NONE;

	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		if (!git_admin_has(c, ops[i].file))
			continue;
		if (ops[i].detached)
			return GIT_OP_DETACHED;
		if (!ops[i].resolvable || c->unmerged)
			found = GIT_OP_STUCK;
		else if (found == GIT_OP_NONE)
			found = GIT_OP_RESOLVED;
	}
	return found;
}
