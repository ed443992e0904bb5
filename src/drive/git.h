#pragma once
/*
 * Git, as the program, in asynchronous jobs: worktrees, rescue, harvest, accept. Each call starts a
 * short sequence of git commands and reports once from the loop. Calls are idempotent, so that one
 * that was cut off by a crash can simply be made again. Nothing here ever discards work: before a
 * reset or a removal everything (commits, index, untracked files) is under a rescue ref, or the
 * call fails. The user's own checkout is changed only when it is clean and on the target branch.
 * All strings passed in are copied; results are valid during the callback.
 */
#include "base/ov.h"

struct loop;
struct git;

enum git_outcome {
	GIT_OK,
	GIT_ALREADY,    /* accept: this key is on the target branch already */
	GIT_NO_CHANGES, /* accept: nothing to squash */
	GIT_CONFLICT,   /* accept: the rebase conflicts; it was aborted, the worktree is as before */
	GIT_DIRTY,      /* accept: the user's checkout is on the target branch and not clean */
	GIT_MOVED,      /* accept: the target branch moved meanwhile; try again */
};

struct git_result {
	enum git_outcome outcome;
	str base;       /* ensure: the commit that the worktree stands on */
	str head;       /* harvest: the branch's head after it */
	str tree;       /* harvest: its tree hash */
	str commit;     /* accept: the commit on the target branch; rescue: the rescue commit */
	str rescue_ref; /* harvest, ensure, remove: the ref that keeps what was there; empty if nothing */
	int64_t commits, files_changed; /* harvest: between base and head */
	bool leftovers; /* harvest: the agent left work uncommitted, it was committed for it */
	str detail;     /* conflict: the files, one per line; dirty: the status */
};

/* r is 0 with *res, or an error. */
typedef void git_done_fn(void *user, int r, const struct git_result *res, const struct ov_err *err);

/* `repo` is the root of the user's checkout. Adds .overseer/ to the common info/exclude. */
int git_open(struct loop *l, const char *repo, struct git **ret, struct ov_err *err);
void git_close(struct git *g); /* abandons calls that are under way */

/*
 * Makes the worktree at `path` exist, on `branch`, clean, at the head of `target`. What an earlier
 * user left there is rescued to `rescue_ref` first. A worktree that already stands on `branch` is
 * left as it is (the call is being repeated): its base is the merge base with target.
 */
void git_ensure(struct git *g, str path, str branch, str target, str rescue_ref, git_done_fn *done, void *user);
/* Keeps everything in the worktree under `ref` with a separate index; touches nothing in it. */
void git_rescue(struct git *g, str path, str ref, str message, git_done_fn *done, void *user);
/* Rescues to `rescue_ref` when there are leftovers, then commits them on the branch with `message`. */
void git_harvest(struct git *g, str path, str base, str rescue_ref, str message, git_done_fn *done, void *user);

struct git_accept {
	str path, branch;  /* the worktree and its branch */
	str target;        /* local branch that receives the commit */
	str message;       /* subject and body; the trailer with the key is added */
	str key;           /* "Overseer-Accept: KEY": makes acceptance happen at most once */
	str author_name, author_email; /* empty: as git's configuration says */
};
/* Rebase onto the target, squash to one commit, fast-forward the target. */
void git_accept(struct git *g, const struct git_accept *spec, git_done_fn *done, void *user);
/* Rescues, then removes the worktree and its branch. */
void git_remove(struct git *g, str path, str rescue_ref, git_done_fn *done, void *user);
