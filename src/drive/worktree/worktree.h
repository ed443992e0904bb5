#pragma once
/*
 * The calls about one worktree: make it, look at it, rescue, harvest, restore and remove it. How
 * they are carried out, and what holds for all of them, is said in drive/git/git.h.
 */
#include "drive/git/git.h"

struct git_ensure {
	str path, branch, target;
	str start;      /* commit to go on from; empty: the head of target */
	str rescue_ref; /* for what an earlier user left in the worktree */
};
/*
 * Makes the worktree at `path` exist, on `branch`, clean, at the head of `target` or at `start`.
 * What an earlier user left there is rescued to `rescue_ref` first. The base is the merge base with
 * target. A worktree that already stands on `branch` is left as it is (the call is being repeated).
 * A start that is on the target already, or not in the repository any more, counts as none; .detail
 * says the latter. The branch of an earlier use is removed if it is under overseer/ and all of it
 * is on the target or in start.
 */
void git_ensure(struct git *g, const struct git_ensure *spec, git_done_fn *done, void *user);
/*
 * Keeps everything in the worktree under `ref`; touches nothing in it. Work that
 * changed nothing since `base` gets no ref; where base is empty: nothing that other refs do
 * not have.
 */
void git_rescue(struct git *g, str path, str base, str ref, str message, git_done_fn *done,
		void *user);
/*
 * Makes the worktree what its last commit says, ignored files aside; what was uncommitted, and
 * commits that HEAD left behind, are rescued to `rescue_ref` first. HEAD is on the branch of ensure
 * then, in the agent's git folder, wherever it was. Of a clean one nothing is changed and
 * rescue_ref is empty, unless a killed git left a lock there.
 */
void git_restore(struct git *g, str path, str rescue_ref, git_done_fn *done, void *user);
/*
 * Rescues to `rescue_ref` when there are leftovers, then commits them on the branch with `message`.
 * The branch is the one of ensure: if HEAD is elsewhere, the branch is moved to it, and what it was
 * is rescued. Of an unfinished rebase or conflicting merge everything is rescued; then the branch
 * counts, and new files. A base that is no ancestor of HEAD is replaced by the merge base with the
 * target. Repositories that were made inside the worktree are not committed and stay where they
 * are; .detail names them. A commit with a link to one is .refused.
 */
struct git_harvest {
	str path, branch, target;
	str base;  /* of ensure */
	str since; /* the commit that the run began with, for what it touched; unknown: the base */
	str rescue_ref, message;
};
void git_harvest(struct git *g, const struct git_harvest *spec, git_done_fn *done, void *user);

/* Takes over what an agent has committed so far, so that it can be compared; moves nothing. */
void git_take(struct git *g, str path, git_done_fn *done, void *user);
/* Rescues what no other ref keeps, then removes the worktree and its branch. Absent is fine. */
void git_remove(struct git *g, str path, str rescue_ref, git_done_fn *done, void *user);
/*
 * A hash over HEAD, and name, mode, size and time of every changed or new file; ignored files are
 * left out. Takes no lock and writes nothing: a run may be at work there.
 */
void git_fingerprint(struct git *g, str path, git_done_fn *done, void *user);
