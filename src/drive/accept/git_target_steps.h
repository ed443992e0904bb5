#pragma once
/*
 * Inside the rooms of git only: the way to the target branch. What is named *_steps
 * is a table for STEP_SUB; what it finds out is in the call (drive/git/git_call.h).
 */
#include "drive/git/git_call.h"

/* git_target.c: the target branch */
int git_key_check(str key, struct ov_err *err);
extern const struct git_step git_earlier_steps[]; /* c->key on it: GIT_ALREADY and c->commit */
/* Ends the call with GIT_DIRTY where the target cannot be moved now. */
extern const struct git_step git_holder_steps[];
/*
 * c->commit: c->side merged with the target, with c->message. Ends the call with GIT_CONFLICT; the
 * outcome is GIT_NO_CHANGES or GIT_ALREADY, and c->commit no new one, where nothing differs.
 */
extern const struct git_step git_squash_steps[];
int git_merge_judge(struct git_call *c, const struct git_out *o, struct ov_err *err);
extern const struct git_step git_move_steps[]; /* to c->commit, or the call ends */
/* Where an earlier call has moved it (GIT_ALREADY): what that may not have come to. */
extern const struct git_step git_moved_steps[];

/* git_overlap.c: needs c->holder; ends the call with GIT_DIRTY and the files where there are any */
extern const struct git_step git_overlap_steps[];
extern const struct git_step git_undo_steps[]; /* of a move that did not come about */

/* git_remote.c */
int git_remote_check(str remote, struct ov_err *err);
void git_ask_nobody(struct git_call *c); /* the environment of a command that talks to a remote */
/* Fast-forwards the target from c->remote, if there is one; c->forwarded says that it moved. */
extern const struct git_step git_fetch_steps[];
extern const struct git_step git_push_steps[]; /* c->commit as the target; a failure is .detail */

/* git_message.c: pure */
#define GIT_ACCEPT "Overseer-Accept"
#define GIT_REVERT "Overseer-Revert"
str git_message_squash(struct arena *a, str message, str fallback, const char *trailer, str key);

/* git_lfs_push.c: steps of a table that is left where the target is not to be pushed */
int git_lfs_address_build(struct git_call *c, struct ov_err *err);
int git_lfs_address_judge(struct git_call *c, const struct git_out *o, struct ov_err *err);
int git_lfs_push_build(struct git_call *c, struct ov_err *err);
int git_lfs_push_judge(struct git_call *c, const struct git_out *o, struct ov_err *err);
