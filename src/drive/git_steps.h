#pragma once
/*
 * Inside drive/git*.c only: the parts that sequences are put together from. What is named *_steps
 * is a table for STEP_SUB; what it finds out is in the call (drive/git_call.h).
 */
#include "drive/git_call.h"

extern const struct git_step git_identity_steps[]; /* who commits, where nobody is configured */

#define GIT_OURS "refs/heads/overseer/" /* branches of workers */

/* git_find.c: looking at folders and files, without a child */
/* Finds the worktree and its git folders; c->own is NULL for the user's checkout. */
int git_find(struct git_call *c, struct ov_err *err);
int git_find_ours(struct git_call *c, struct ov_err *err);     /* a step: not the user's checkout */
int git_find_required(struct git_call *c, struct ov_err *err); /* a step: the folder is there */
int git_find_any(struct git_call *c, struct ov_err *err);      /* a step: something is there */
bool git_is_checkout(const struct git_call *c);                /* is c->path the user's checkout? */
void git_drop_locks(struct git_call *c);
/* c->index is NAME in FOLDER, which is not there yet, and not locked by a git that was killed. */
void git_temp_index(struct git_call *c, const char *folder, const char *name);
void git_drop_ref_lock(struct git_call *c, str ref); /* of a ref that is ours alone */
/* A ref that is ours alone, and that git could not find a commit by: it holds nothing. */
void git_drop_damaged_ref(struct git_call *c, str ref);
/*
 * If git was not permitted something in our worktree, makes its folders writable and its files
 * readable, once: true when the command is worth another try.
 */
bool git_loosen(struct git_call *c, const struct git_out *o);
/* What is done to the branch in any worktree: "rebased", "bisected"; NULL: nothing. */
const char *git_branch_busy(struct git_call *c, str branch);
str git_admin_of(struct git_call *c, const char *folder); /* the git directory of a checkout */
void git_holder_admin(struct git_call *c); /* c->res.checkout and .admin, of c->holder */

/* git_room.c: the two git folders of a worktree, and what the agent's says, as text */
const char *git_room_path(struct git_call *c);
int git_room_open_tree(struct git_call *c, struct ov_err *err); /* c->folder, c->tree_fd */
int git_room_note_tree(struct git_call *c,
		struct ov_err *err);     /* this is the folder, from now on */
void git_room_head(struct git_call *c);  /* c->head_name, c->head_ref */
void git_room_names(struct git_call *c); /* c->named, c->refs */
str git_room_branch(struct git_call *c); /* the agent's own value of c->branch; empty: none */
bool git_admin_has(struct git_call *c, const char *name);
int git_room_parent(struct git_call *c, struct ov_err *err); /* may a worktree be made there? */
bool git_admin_locked(struct git_call *c); /* what a killed git left would stop the agent's next */
str git_admin_line(struct git_call *c,
		const char *name); /* of a one-line file; empty when absent */
/* The commits named by a file there (MERGE_HEAD) that exist, added to c->rescue.extra. */
void git_admin_commits(struct git_call *c, const char *name);
int git_own_note(struct git_call *c, const char *name, str text, struct ov_err *err);
str git_own_line(struct git_call *c, const char *name); /* empty when absent */
int git_write_plain(struct arena *a, const char *path, str text, struct ov_err *err);

#define GIT_PLACE "place"           /* a note: which folder the worktree is */
#define GIT_MAKING "making"         /* a note: the folder is being made, nobody has worked in it */
#define GIT_AGENT_REFS "agent-refs" /* a note: the packed-refs that we gave the agent */
/* In the room: the agent's. Claude Code reads git without asking only below a folder of this name. */
#define GIT_AGENT_DIR ".git"
#define GIT_LINKED_DIR "worktrees" /* in it: entries of worktrees that the agent added */

/* git_settings.c: of a whole `git config --list -z --show-scope`, for the agent's configuration */
int git_settings_record(struct git_call *c, str list, struct ov_err *err);
void git_settings_add(struct git_call *c, struct buf *b);

/* git_own.c */
void git_config_add(struct buf *b, str name,
		str value);                         /* "filter.x.clean" is [filter "x"] clean */
extern const struct git_step git_own_steps[];       /* the folder of ours, and its configuration */
extern const struct git_step git_own_index_steps[]; /* our index stands for c->head */
str git_own_text(struct git_call *c, const char *note); /* the whole of it; empty when absent */
int git_own_attributes(struct git_call *c, bool raw, struct ov_err *err);
void git_own_index_is(struct git_call *c, str commit); /* it holds this one's tree; empty: none */

/* git_programs.c: which files have filters or merge drivers, by what is on the target */
extern const struct git_step git_programs_steps[];
extern const struct git_step git_rules_steps[]; /* for git-lfs: by what is in the worktree */
#define GIT_FILTERS "filters"                   /* a note: the user's, without git-lfs */
#define GIT_ATTRIBUTES "attributes"             /* a note: what info/attributes begins with */
#define GIT_ATTRIBUTES_LFS "attributes-lfs"     /* and ends with */

/* git_sparse.c: of c->absent, what the agent did not remove, but does not have checked out */
extern const struct git_step git_sparse_steps[];
#define GIT_SPARSE "sparse" /* a note: our index says so; it is for one call, and then rebuilt */

/* git_staged.c: c->agent_tree, c->unmerged; c->dirty where something is staged */
extern const struct git_step git_staged_steps[];
enum { GIT_INDEX_MAX = 1 << 30 };
int git_copy_index(int in, const char *to, struct ov_err *err);
void git_staged_is_ours(struct git_call *c); /* the agent's index is a copy of ours */
void git_staged_is_settled(
		struct git_call *c); /* nothing is staged in the one that was looked at */

extern const struct git_step git_take_steps[]; /* git_take.c: c->wanted becomes the repository's */
extern const struct git_step git_publish_steps[]; /* git_publish.c */
void git_publish_done(struct git_call *c);        /* the call is over */
/* Puts an agent's git folder aside that names more than is taken over; and one that a call replaced. */
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
void git_rescue_extra(struct git_call *c, str oid);
void git_rescue_done(struct git_rescue_state *rs);
void git_exclude_nested(struct git_call *c); /* pathspecs that leave c->nested out */

/* git_ignored.c: after c->start was checked out, keeps what had been ignored, and would be removed */
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

/* git_target.c: the target branch */
str git_target_ref(struct git_call *c);
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

/* git_names.c: what `git diff-tree --raw -z` tells of a path; false: there is no more */
struct git_change {
	str path;
	bool gone;
	bool new_link; /* it becomes a link to another repository, and was none */
};
bool git_change_next(str *rest, struct git_change *ret);
/* The end of a reason for which work is refused: what its agent shall do about it. */
#define GIT_REMOVE_PATHS ". Remove these paths (git rm -r --cached PATH) and commit"
str git_names_reason(struct git_call *c,
		str raw);                    /* why these changes may not get there; or empty */
str git_shown(struct git_call *c, str path); /* a name, as one line for people and agents */
extern const struct git_step
		git_names_move_steps[]; /* the target to c->commit, or ends with GIT_REFUSED */

/* git_remote.c */
int git_remote_check(str remote, struct ov_err *err);
void git_ask_nobody(struct git_call *c); /* the environment of a command that talks to a remote */
/* Fast-forwards the target from c->remote, if there is one; c->forwarded says that it moved. */
extern const struct git_step git_fetch_steps[];
extern const struct git_step git_push_steps[]; /* c->commit as the target; a failure is .detail */

/* git_submodule.c */
/* What c->head says of other repositories: added to c->nested; those that moved are in c->links. */
extern const struct git_step git_links_steps[];
int git_links_build(struct git_call *c); /* a command: c->links go into our index */
/* Those that stand elsewhere than c->links_of says are moved aside. */
extern const struct git_step git_submodule_steps[];

/* git_predict.c */
void git_predict_done(struct git_call *c); /* after it has left the list of calls */

/* git_message.c: pure */
#define GIT_ACCEPT "Overseer-Accept"
#define GIT_REVERT "Overseer-Revert"
str git_message_squash(struct arena *a, str message, str fallback, const char *trailer, str key);
