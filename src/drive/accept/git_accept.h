#pragma once
/*
 * Git's part in what becomes of work: the way to the target branch, and back. The calls are like
 * those of drive/git/git.h, whose results they share.
 */
#include "drive/git/git.h"

/*
 * An accept in parts, since the work is checked between its rebase and the move of the target. The
 * worktree must be on the branch, without uncommitted changes: harvest comes first.
 *
 * rebase: fast-forwards the target from `remote` first, where that is given and has the branch (a
 * remote that cannot be reached or has gone another way is an error); then rebases and squashes by
 * a merge of trees into one commit on the target's head: the candidate. Until then nothing that
 * anybody can see changes. The branch's commits as they were are kept under rescue_ref, then branch
 * and worktree follow to the candidate. Lines that credit a tool are taken out of the message.
 * New files that are in the way there are rescued, too; others stay. Repeated, it finds the
 * candidate that it made. GIT_OK: commit is the candidate, base the target's head. GIT_ALREADY:
 * commit is on the target. GIT_NO_CHANGES, GIT_CONFLICT: nothing was changed. GIT_DIRTY: an advance
 * would have to wait for the user's checkout anyway. GIT_MOVED: somebody moved the
 * target just when it was brought up to date.
 */
struct git_rebase {
	str path, branch, target;
	str remote;                    /* empty: none */
	str message;                   /* subject and body; the trailer with the key is added */
	str key;                       /* "Overseer-Accept: KEY": it happens at most once */
	str author_name, author_email; /* empty: as git's configuration says */
	str rescue_ref;
};
void git_rebase(struct git *g, const struct git_rebase *spec, git_done_fn *done, void *user);
/*
 * Moves the target to the candidate, fast-forward only, and the checkout that has it, if nothing
 * there is in the way. GIT_OK, GIT_ALREADY (commit is what carries the key there), GIT_DIRTY,
 * GIT_MOVED: the target is no longer the candidate's parent, or the candidate is gone: rebase
 * again. With `push` the target is pushed to the remote; that it could not be is in .detail,
 * no failure.
 */
struct git_advance {
	str path, target, candidate, key;
	str remote;
	bool push;
};
void git_advance(struct git *g, const struct git_advance *spec, git_done_fn *done, void *user);
/*
 * Takes `commit` back by one commit on the head of the target, once per key ("Overseer-Revert:
 * KEY"). GIT_OK; GIT_ALREADY: done before, or nothing of it is left there; GIT_CONFLICT, GIT_DIRTY,
 * GIT_MOVED as above. A commit that is not on the target is an error.
 */
struct git_revert {
	str target, commit, message, key;
};
void git_revert(struct git *g, const struct git_revert *spec, git_done_fn *done, void *user);
/*
 * Puts all that is in a worktree now (commits, index, untracked files) onto the target as one
 * commit, and leaves the worktree as it is; a run may be at work there. What was picked is under
 * rescue_ref. Outcomes as of an accept; unresolved conflicts in the worktree are an error.
 */
struct git_pick {
	str path, target, message, key, rescue_ref;
};
void git_pick(struct git *g, const struct git_pick *spec, git_done_fn *done, void *user);

/*
 * Would these two commits or branches conflict? GIT_OK, or GIT_CONFLICT with the files. Waits for
 * no other call, takes no lock, and leaves nothing in the repository.
 */
void git_predict(struct git *g, str a, str b, git_done_fn *done, void *user);

/*
 * The target branch is no longer at `from`: target_seen says where it is, mover who moved it, news
 * what is new there (GIT_NEWS at most), commits how many of its commits are gone. Only reads, waits
 * for no other call. Where it is at `from` all the same, or gone, only target_seen is set,
 * or nothing.
 */
void git_moved(struct git *g, str target, str from,
		void (*done)(void *user, int r, const struct git_result *res,
				const struct ov_err *err),
		void *user);
