#pragma once
/*
 * Git, as the program, in asynchronous jobs: worktrees, rescue, harvest, accept. Each call starts a
 * short sequence of git commands and reports once from the loop. Calls are idempotent, so that one
 * that was cut off by a crash can simply be made again. Nothing here ever discards work: before a
 * reset or a removal everything (commits, index, untracked files) is under a rescue ref, or the
 * call fails. The user's own checkout is changed only when it is on the target branch, and then as
 * git's own fast-forward does it: what is uncommitted there stays, and stops it where it overlaps.
 * All strings passed in are copied; results are valid during the callback.
 *
 * A worktree has two git folders beside it: one that its agent writes, and one of ours. No git of
 * ours reads configuration, index or branches that an agent can write; its commits are taken over
 * as a pack that is checked. So what an agent sees of the repository's branches is as of the last
 * call that moved its worktree (ensure, rebase, a harvest that had something to commit), and
 * branches that it makes are its own.
 *
 * Calls on one worktree, and all that add, remove or list worktrees (ensure, remove, accept), are
 * carried out one after another in the order in which they were made. Ignored files (what a build
 * made) are rescued only if git_keep_ignored() says so: ensure leaves them in place, remove takes
 * them away. A folder or repository that git cannot rescue is renamed to PATH.aside-N instead of
 * being removed; .detail then says so. Repositories inside a worktree that its base does not have
 * are no part of the work: their files are rescued, and ensure and restore move them aside. Rescue
 * refs are under refs/overseer/;
 * a rescue ref that exists already becomes a parent of what is rescued to it. No hook of the user's
 * runs; where git-lfs is configured but absent, its files are taken as they are. Locks that a
 * killed git left in our worktrees are removed; in the user's checkout never.
 */
#include "base/ov.h"
#include "drive/git/git_bounds.h"
#include "drive/git/git_moved.h"

struct loop;
struct git;

/* In the environment of each git, and of the programs that it runs: the worktree. */
#define GIT_MARK "OVERSEER_GIT_PATH"

enum { GIT_LISTED = 200, GIT_LISTED_BYTES = 16 * 1024 };

enum git_outcome {
	GIT_OK,
	GIT_ALREADY,    /* accept: this key is on the target branch already */
	GIT_NO_CHANGES, /* accept: nothing to squash */
	GIT_CONFLICT,   /* accept: it conflicts with the target; nothing was changed */
	/*
	 * accept: in the checkout that has the target branch the same files are changed, staged or
	 * in the way (.files), or something of the user's is unfinished there, or another git has
	 * locked it (.detail); it was not touched. Try again later.
	 */
	GIT_DIRTY,
	GIT_MOVED, /* accept: the target branch moved meanwhile; try again */
	/* accept: it has names that may not get there (.detail); nothing was changed */
	GIT_REFUSED,
};

struct git_result {
	enum git_outcome outcome;
	/*
	 * The head of the target branch as the call found it first, and as it left it; empty where
	 * it did not look, or did not move it.
	 */
	str target_seen, target_left;
	enum git_mover mover;              /* moved: who */
	const struct git_new_commit *news; /* moved: what is new, newest first */
	size_t news_n;
	/* ensure: the commit that the worktree stands on; harvest: what it was compared with */
	str base;
	str head;   /* harvest: the branch's head after it */
	str tree;   /* harvest: its tree hash */
	str commit; /* accept: the commit on the target branch; rescue: the rescue commit */
	/*
	 * harvest, ensure, remove: the ref that keeps what was there; empty if nothing. rebase: the
	 * one that keeps the branch's commits as they were before the squash.
	 */
	str rescue_ref;
	int64_t commits, files_changed; /* harvest: between base and head */
	/* harvest: the paths, and the newest of the commits; GIT_LISTED of each at most */
	const str *files, *commit_ids;
	size_t files_n, commit_ids_n;
	/*
	 * dirty: .files are what overlaps, relative to `checkout`, GIT_LISTED at most;
	 * files_changed says how many there are. None: the detail tells what else it waits for.
	 */
	str checkout, admin; /* dirty: the folder that has the target, and its own git directory */
	str refused;         /* harvest: why the work cannot be accepted as it is; empty: it can */
	const str *touched;  /* harvest: the paths that this run changed, as many */
	size_t touched_n;
	int64_t lines_added, lines_removed; /* harvest: between base and head, binary files aside */
	bool leftovers; /* harvest: the agent left work uncommitted, it was committed for it */
	const str *leftover_files; /* harvest: the paths of that, as many */
	size_t leftover_files_n;
	str fingerprint; /* fingerprint: of the worktree, in hexadecimal */
	str detail;      /* conflict: the files, one per line; dirty: what is in the way */
};

/* r is 0 with *res, or an error. */
typedef void git_done_fn(void *user, int r, const struct git_result *res, const struct ov_err *err);

/*
 * `repo` is the root of the user's checkout. Needs git 2.38 (merge-tree). Adds /.overseer/ to the
 * common info/exclude. Waits for a few short git commands.
 */
int git_open(struct loop *l, const char *repo, struct git **ret, struct ov_err *err);
/* Adds a line to the common info/exclude, unless it is there: this is no worktree's content. */
int git_exclude(struct git *g, str line, struct ov_err *err);
/* The processes of git just now: what runs below them may be a program that an agent wrote. */
size_t git_at_work(const struct git *g, int *pids, size_t max);
/*
 * Files that git ignores are rescued with the rest from now on: up to `bytes` in all, the smallest
 * first; INT64_MAX: all; 0: none, as until this is called. .detail says how many were not.
 */
void git_keep_ignored(struct git *g, int64_t bytes);
/* How long a command may take that only reads, or reads what an agent wrote; 0: two minutes. */
void git_set_timeout(struct git *g, int64_t ms);
/* The repository's own git folder, that all of its worktrees share. Valid as long as g. */
const char *git_common_dir(const struct git *g);
/*
 * The git folder of the agent that works in this worktree of ours, which its .git file names, and
 * the folder of ours beside it. Names only: they may not exist.
 */
const char *git_agent_dir(struct arena *a, str path);
const char *git_own_dir(struct arena *a, str path);
/*
 * Abandons calls that are under way; a command that is changing the user's checkout runs to
 * its end.
 */
void git_close(struct git *g);
