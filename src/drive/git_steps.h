#pragma once
/*
 * Inside drive/git*.c only: the parts that sequences are put together from. What is named *_steps
 * is a table for STEP_SUB; what it finds out is in the call (drive/git_call.h).
 */
#include "drive/git_call.h"

extern const struct git_step git_identity_steps[]; /* who commits, where nobody is configured */

/* git_child.c */
int git_child_start(const char *const *argv, const char *const *env, const char *cwd,
		struct git_child *ret, struct ov_err *err);
/* After its end: reaps it and reads its output (at most GIT_FILE_MAX of each) into the arena. */
int git_child_collect(struct git_child *ch, struct arena *a, struct git_out *ret,
		struct ov_err *err);
/* The same with another bound. */
int git_child_collect_some(struct git_child *ch, struct arena *a, size_t max, struct git_out *ret,
		struct ov_err *err);
int git_child_wait(struct git_child *ch, int timeout_ms, struct ov_err *err);
void git_child_done(struct git_child *ch); /* lets go of it; it runs on */
/* Is a git child of an earlier daemon still at work for this path? */
bool git_orphan_alive(const char *path);
#define GIT_MARK "OVERSEER_GIT_PATH"

/* git_find.c: looking at folders and files, without a child */
/* Finds c->admin and c->folder. */
int git_find(struct git_call *c, struct ov_err *err);
/* A step: as above, for a worktree that has to exist and is not the user's checkout. */
int git_find_required(struct git_call *c, struct ov_err *err);
/* A step: as above, for any registered one, where somebody may be at work: no lock is dropped. */
int git_find_any(struct git_call *c, struct ov_err *err);
bool git_is_checkout(const struct git_call *c); /* is c->path the user's checkout? */
bool git_admin_has(struct git_call *c, const char *name);
/* One-line file in the admin folder; empty when absent. */
str git_admin_line(struct git_call *c, const char *name);
/* The commits named by a file in the admin folder (MERGE_HEAD), added to c->rescue.extra. */
void git_admin_commits(struct git_call *c, const char *name);
void git_drop_locks(struct git_call *c);
void git_drop_ref_lock(struct git_call *c, str ref); /* of a ref that is ours alone */
/*
 * If git was not permitted something in our worktree, makes its folders writable and its files
 * readable, once: true when the command is worth another try.
 */
bool git_loosen(struct git_call *c, const struct git_out *o);
/* Renames `what` to a free name beside c->path; nothing is removed. */
int git_move_aside(struct git_call *c, const char *what, struct ov_err *err);
/* What is done to the branch in any worktree: "rebased", "bisected"; NULL: nothing. */
const char *git_branch_busy(struct git_call *c, str branch);
void git_holder_admin(struct git_call *c); /* c->res.checkout and .admin, of c->holder */

/* Which branch and target the worktree was made for; kept in its admin folder. */
int git_note_write(struct git_call *c, struct ov_err *err);
void git_note_read(struct git_call *c, str *ret_branch, str *ret_target);

/* git_mend.c: what git needs in a worktree of ours, made anew where it is damaged */
bool git_link_is_right(struct git_call *c, const char *link); /* the .git file names c->admin */
void git_mend_head(struct git_call *c);
/* If a command failed since the index cannot be read: puts it aside, once; then it is to be read anew. */
bool git_index_aside(struct git_call *c, const struct git_out *o);

/* git_look.c: steps that only look */
extern const struct git_step git_refs_steps[]; /* HEAD, branch, target, rescue ref: the oids in c */
extern const struct git_step
		git_target_steps[]; /* the target branch has a commit, or the call fails */
extern const struct git_step git_status_steps[]; /* c->dirty, changed, unmerged, nested */
int git_holder_build(struct git_call *c, struct ov_err *err);
/* Sets c->holder to the folder that has refs/heads/BRANCH checked out, if it exists. */
void git_holder_parse(struct git_call *c, str list, str branch);

/* git_rescue.c */
extern const struct git_step git_rescue_steps[];
/* Names what has to be kept; the table then keeps it under `ref`, or finds nothing to keep. */
void git_rescue_prepare(struct git_call *c, str ref, str message);
int git_rescue_ref_check(str ref, struct ov_err *err);
void git_rescue_extra(struct git_call *c, str oid);
void git_rescue_done(struct git_rescue_state *rs);
void git_exclude_nested(struct git_call *c); /* pathspecs that leave c->nested out */

/* git_strays.c: adds to what is rescued the commits that only the log of HEAD still knows */
extern const struct git_step git_strays_steps[];

/* git_unfinished.c: rebases, merges and the like that somebody began and did not end */
bool git_unfinished(struct git_call *c);
/* The git command that is unfinished in this git directory; NULL: none. */
const char *git_unfinished_at(struct git_call *c, const char *admin);
extern const struct git_step git_abort_steps[]; /* takes them back; c->unmerged must be known */
extern const struct git_step git_quit_steps[];  /* forgets them where they are */

/* git_target.c: the target branch */
str git_target_ref(struct git_call *c);
int git_find_ours(struct git_call *c,
		struct ov_err *err); /* a step: the worktree, if it is there */
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
extern const struct git_step git_written_steps[]; /* c->ok: its index is what c->commit wants */

/* git_remote.c */
int git_remote_check(str remote, struct ov_err *err);
void git_ask_nobody(struct git_call *c); /* the environment of a command that talks to a remote */
/* Fast-forwards the target from c->remote, if there is one; c->forwarded says that it moved. */
extern const struct git_step git_fetch_steps[];
extern const struct git_step git_push_steps[]; /* c->commit as the target; a failure is .detail */

/* git_submodule.c */
extern const struct git_step git_submodule_steps[];      /* they follow the worktree */
extern const struct git_step git_submodule_hold_steps[]; /* c->ok: they hold nothing of their own */
/* Their repositories are moved to a free name beside c->path. */
int git_submodule_aside(struct git_call *c, struct ov_err *err);

/* git_predict.c */
void git_predict_done(struct git_call *c); /* after it has left the list of calls */

/* git_message.c: pure */
#define GIT_ACCEPT "Overseer-Accept"
#define GIT_REVERT "Overseer-Revert"
str git_message_squash(struct arena *a, str message, str fallback, const char *trailer, str key);
