#pragma once
/*
 * Inside the rooms of git only: looking at, keeping and replacing what is in a worktree. What is
 * named *_steps is a table for STEP_SUB; what it finds out is in the call (drive/git/git_call.h).
 */
#include "drive/git/git_call.h"

/* git_sparse.c: of c->absent, what the agent did not remove, but does not have checked out */
extern const struct git_step git_sparse_steps[];

/* git_staged.c: c->agent_tree, c->unmerged; c->dirty where something is staged */
extern const struct git_step git_staged_steps[];
enum { GIT_INDEX_MAX = 1 << 30 };
int git_copy_index(int in, const char *to, struct ov_err *err);
void git_staged_is_ours(struct git_call *c); /* the agent's index is a copy of ours */
void git_staged_is_settled(
		struct git_call *c); /* nothing is staged in the one that was looked at */

extern const struct git_step git_take_steps[]; /* git_take.c: c->wanted becomes the repository's */
extern const struct git_step git_publish_steps[]; /* git_publish.c */
/*
 * Puts an agent's git folder aside that names more than is taken over; and one that a
 * call replaced.
 */
int git_publish_keep(struct git_call *c, const char *folder, struct ov_err *err);
int git_publish_kept(struct git_call *c, struct ov_err *err);
bool git_is_published(struct git_call *c); /* what that would make is there already */
/* Between two runs: the agent's copy of the target is as the repository's. */
int git_publish_target(struct git_call *c, struct ov_err *err);
int git_link(struct git_call *c, struct ov_err *err); /* the worktree's .git file is right */
int git_rm(struct git_call *c, const char *path);     /* removes a folder with all that is in it */

/* git_look.c: steps that only look */
extern const struct git_step git_refs_steps[]; /* HEAD, branch, target, rescue ref: the oids in c */
extern const struct git_step
		git_target_steps[]; /* the target branch has a commit, or the call fails */
extern const struct git_step git_status_steps[]; /* c->dirty, changed, unmerged, nested */
int git_status_build(struct git_call *c, struct ov_err *err);
int git_status_judge(struct git_call *c, const struct git_out *o, struct ov_err *err);
int git_holder_build(struct git_call *c, struct ov_err *err);
/* Sets c->holder to the folder that has refs/heads/BRANCH checked out, if it exists. */
void git_holder_parse(struct git_call *c, str list, str branch);

/* git_rescue.c */
extern const struct git_step git_rescue_steps[];
/* Names what has to be kept; the table then keeps it under `ref`, or finds nothing to keep. */
void git_rescue_prepare(struct git_call *c, str ref, str message);
int git_rescue_ref_check(str ref, struct ov_err *err);
void git_exclude_nested(struct git_call *c); /* pathspecs that leave c->nested out */

/*
 * git_ignored.c: after c->start was checked out, keeps what had been ignored, and would be removed
 */
extern const struct git_step git_ignored_steps[];
extern const struct git_step git_ahead_steps[]; /* before that: what would be overwritten */
/* As much of what is ignored as c->keep_ignored says goes into our index. */
extern const struct git_step git_ignored_some_steps[];

/* git_strays.c: adds to what is rescued the commits that only the agent's folder knows */
extern const struct git_step git_strays_steps[];

/* git_unfinished.c: rebases, merges and the like that somebody began and did not end */
enum git_open_op {
	GIT_OP_NONE,
	GIT_OP_RESOLVED, /* an ordinary commit concludes it */
	GIT_OP_STUCK,    /* the files are in between: the last commit counts */
	GIT_OP_DETACHED, /* so is HEAD: the branch counts */
};
enum git_open_op git_unfinished(struct git_call *c); /* c->unmerged must be known */
/* The git command that is unfinished in this git directory; NULL: none. */
const char *git_unfinished_at(struct git_call *c, const char *admin);

/* git_submodule.c */
/* What c->head says of other repositories: added to c->nested; those that moved are in c->links. */
extern const struct git_step git_links_steps[];
int git_links_build(struct git_call *c); /* a command: c->links go into our index */
/* Those that stand elsewhere than c->links_of says are moved aside. */
extern const struct git_step git_submodule_steps[];

/* git_lfs_take.c */
extern const struct git_step git_lfs_agent_steps[]; /* what the agent added is the repository's */
extern const struct git_step git_lfs_clear_steps[]; /* before something is added by us */
extern const struct git_step git_lfs_own_steps[];   /* after it: so is that */
