#pragma once
/*
 * Inside the rooms of git only: the parts that every sequence is put together from. What is named
 * *_steps is a table for STEP_SUB; what it finds out is in the call (drive/git/git_call.h).
 */
#include "drive/git/git_call.h"

extern const struct git_step git_identity_steps[]; /* who commits, where nobody is configured */

#define GIT_OURS "refs/heads/overseer/" /* branches of workers */

/* git_find.c: looking at folders and files, without a child */
/* Finds the worktree and its git folders; c->own is NULL for the user's checkout. */
int git_find(struct git_call *c, struct ov_err *err);
int git_find_ours(struct git_call *c, struct ov_err *err);     /* a step: not the user's checkout */
int git_find_required(struct git_call *c, struct ov_err *err); /* a step: the folder is there */
int git_find_any(struct git_call *c, struct ov_err *err);      /* a step: something is there */
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

str git_target_ref(struct git_call *c);

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
void git_rescue_extra(struct git_call *c, str oid); /* this one, unless it is HEAD */
int git_own_note(struct git_call *c, const char *name, str text, struct ov_err *err);
str git_own_line(struct git_call *c, const char *name); /* empty when absent */
enum { GIT_NOTE_MAX = 16 << 20 };
str git_own_text(struct git_call *c, const char *note); /* the whole of it; empty when absent */
int git_write_plain(struct arena *a, const char *path, str text, struct ov_err *err);

#define GIT_PLACE "place"           /* a note: which folder the worktree is */
#define GIT_MAKING "making"         /* a note: the folder is being made, nobody has worked in it */
#define GIT_AGENT_REFS "agent-refs" /* a note: the packed-refs that we gave the agent */
/*
 * In the room: the agent's. Claude Code reads git without asking only below a folder of this name.
 */
#define GIT_AGENT_DIR ".git"
#define GIT_LINKED_DIR "worktrees" /* in it: entries of worktrees that the agent added */

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
