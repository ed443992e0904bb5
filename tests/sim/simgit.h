#pragma once
/*
 * A model of git for the simulator: one repository in memory with worktrees, refs, commits,
 * uncommitted files, conflicts, agents that work in worktrees and a user who works in the checkout.
 * The calls have the contract of drive/git/git.h, whose structs they share, but answer at once and
 * can be cut off after any of their steps, as by a crash; made again they go on. No clock, no
 * chance, no addresses: the same calls give the same answers everywhere.
 *
 * Every write makes a content of its own, which knows its author. Trees, commits and contents are
 * counted by who refers to them, so whatever ends is seen to end, by whose doing: that is the truth
 * that simgit_kept judges by. Files are flat names: no path may be a folder of another.
 * What is not modelled: ignored files, file modes, damaged links and indexes, remotes, and a user
 * who acts in the instant between our look at his checkout and git's own.
 *
 * The owner of the handle owns everything in it; results are in the arena that a call was given.
 */
#include <limits.h>

#include "base/ov.h"
#include "drive/accept/git_accept.h"
#include "drive/git/git.h"
#include "drive/worktree/worktree.h"

struct simgit;

/* More steps than any call has; SIMGIT_ALL: it is not cut off. */
enum { SIMGIT_STEPS_MAX = 16, SIMGIT_ALL = INT_MAX };

/* `repo` is the path of the user's checkout, on branch `target` with one commit of no files. */
struct simgit *simgit_new(str repo, str target);
void simgit_free(struct simgit *g);

/* A rebase and the move of the target in one, where nothing is checked in between. */
struct git_accept {
	str path, branch, target, message, key;
};

/*
 * The calls of drive/git/git.h. Of a call's steps (changes that others can see; the last one is
 * telling the outcome) the first `steps` happen; a call that is cut off by that gives
 * OV_EUNAVAILABLE.
 */
int simgit_ensure(struct simgit *g, const struct git_ensure *spec, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err);
int simgit_harvest(struct simgit *g, str path, str base, str rescue_ref, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err);
int simgit_rescue(struct simgit *g, str path, str base, str ref, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err);
int simgit_restore(struct simgit *g, str path, str rescue_ref, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err);
int simgit_accept(struct simgit *g, const struct git_accept *spec, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err);
int simgit_rebase(struct simgit *g, const struct git_rebase *spec, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err);
int simgit_advance(struct simgit *g, const struct git_advance *spec, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err);
int simgit_revert(struct simgit *g, const struct git_revert *spec, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err);
int simgit_pick(struct simgit *g, const struct git_pick *spec, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err);
int simgit_predict(struct simgit *g, str one, str other, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err);
int simgit_remove(struct simgit *g, str path, str rescue_ref, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err);
int simgit_fingerprint(struct simgit *g, str path, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err);
/* How many steps the last call took: all that it has, if it was not cut off. */
int simgit_steps(const struct simgit *g);
/*
 * Called before every step of a call, with the number of steps done: there user and agents may do
 * what they do meanwhile (how a target moves under an accept). NULL: nobody.
 */
typedef void simgit_between_fn(void *user, int step);
void simgit_between(struct simgit *g, simgit_between_fn *fn, void *user);
/* The next call fails with OV_EIO at its step `step` (from 0), as on a full disk; -1: none does. */
void simgit_fail_at(struct simgit *g, int step);

/*
 * The agent's side. `tree` is the worktree's path; OV_ENOTFOUND when there is none, OV_ESTATE when
 * git would refuse. `run` names the author. What an agent undoes is its loss, though
 * rescued as long as its log of HEAD knows it.
 */
int simgit_agent_write(struct simgit *g, str tree, str path, str run);
int simgit_agent_delete(struct simgit *g, str tree, str path);
/* As it was before: a content that the file has had. */
int simgit_agent_restore(struct simgit *g, str tree, str path, uint32_t content);
int simgit_agent_stage(struct simgit *g, str tree); /* all that is in the folder */
/* Stages all and commits, where HEAD is; nothing to commit is fine. Concludes a merge. */
int simgit_agent_commit(struct simgit *g, str tree, str run);
/* Goes to a new branch at HEAD, with what is uncommitted; an empty name: detached. */
int simgit_agent_checkout(struct simgit *g, str tree, str branch);
/* Goes to the head of a branch, detached; only from a clean worktree. */
int simgit_agent_leave(struct simgit *g, str tree, str branch);
int simgit_agent_reset(struct simgit *g, str tree); /* hard, to the commit before HEAD */
/* How a rebase or merge with conflicts is left; without conflicts it goes through. */
enum simgit_left {
	SIMGIT_UNFINISHED, /* as it stopped */
	SIMGIT_RESOLVED,   /* merge: resolved in the folder, not committed; rebase: as FINISHED */
	SIMGIT_FINISHED,   /* resolved by the run's own words for each file, and concluded */
};
/* Both commit what is uncommitted first. Histories with merges are not rebased: OV_ESTATE. */
int simgit_agent_rebase(struct simgit *g, str tree, str onto, str run, enum simgit_left left);
int simgit_agent_merge(struct simgit *g, str tree, str with, str run, enum simgit_left left);
int simgit_agent_nested(struct simgit *g, str tree, str run); /* a repository inside, one file */
int simgit_agent_lock(struct simgit *g, str tree);   /* a killed git leaves its index.lock */
int simgit_agent_vanish(struct simgit *g, str tree); /* removes the worktree's folder */

/* The user's side, in the checkout; codes as above. */
int simgit_user_write(struct simgit *g, str path);
int simgit_user_delete(struct simgit *g, str path);
int simgit_user_stage(struct simgit *g);
int simgit_user_commit(struct simgit *g); /* stages all; nothing to commit is fine */
/* A commit that writes `path`, on a branch that nobody has checked out. */
int simgit_user_commit_on(struct simgit *g, str branch, str path);
int simgit_user_branch(struct simgit *g, str branch); /* a new one at HEAD, and goes to it */
int simgit_user_switch(struct simgit *g, str branch); /* carries what is not in the way */
int simgit_user_lock(struct simgit *g);               /* an index.lock stays */
int simgit_user_rebase(struct simgit *g); /* of the current branch, stopped and unfinished */
/* Lock away, rebase aborted, everything as in HEAD, nothing untracked. */
int simgit_user_clean(struct simgit *g);
int simgit_user_rename(struct simgit *g, str from, str to);
int simgit_user_delete_branch(struct simgit *g, str branch);

/* Looking. Contents are numbers, 0: no such file; runs are empty for what the user wrote. */
bool simgit_ref(const struct simgit *g, str ref);    /* full name */
bool simgit_clean(const struct simgit *g, str tree); /* nothing uncommitted, nothing unfinished */
str simgit_head(const struct simgit *g, str tree);   /* its branch; empty: detached or none */
/*
 * The commit of the target branch; empty: it is gone. silent: it was put there where no HEAD was,
 * so that no log of HEAD tells who did it: as by an agent that moves the branch, or a person
 * who does so.
 */
str simgit_target(const struct simgit *g, struct arena *a, bool *ret_silent);
uint32_t simgit_at_ref(const struct simgit *g, str ref, str path);
uint32_t simgit_in_tree(const struct simgit *g, str tree, str path);
size_t simgit_files(const struct simgit *g, str ref); /* how many in its commit */
str simgit_author(const struct simgit *g, uint32_t content);

/*
 * Truths, cheap enough to be judged after every step. Each gives true, or false with a sentence
 * about the first breach, which stays.
 *
 * kept: what an agent wrote or committed, and did not itself overwrite, delete or undo, is in a
 * worktree or can be reached from a ref.
 */
bool simgit_kept(const struct simgit *g, struct buf *ret_why);
/*
 * user_intact: the user's files, index, HEAD and branches are as he left them, but that the target
 * went forward, and his checkout with it if it was on it and clean; files that git did not know
 * are as they were even then.
 */
bool simgit_user_intact(struct simgit *g, struct buf *ret_why);

struct simgit_change {
	str path;
	uint32_t before, after;
	str run; /* who wrote `after`; of a deletion empty */
};

struct simgit_accepted {
	size_t count;                 /* commits on the target that carry the key */
	str commit;                   /* the first of them */
	struct simgit_change *change; /* what it changed, by path */
	size_t change_n;
	/*
	 * The branch is kept as it was, and every file that it changed is in the commit as there.
	 */
	bool whole;
};
void simgit_accepted(struct simgit *g, str key, struct arena *a, struct simgit_accepted *ret);

/*
 * The gate, as a test of the whole: one tree in so many does not pass it, so that work which was
 * good by itself may fail with what came to the target meanwhile.
 */
bool simgit_gate_tree(const struct simgit *g, str tree);     /* of what is in the folder */
bool simgit_gate_commit(const struct simgit *g, str commit); /* false, too: it is not known */

/* Counts everything anew and compares; slow. For the tests of the model itself. */
bool simgit_audit(struct simgit *g, struct buf *ret_why);

/*
 * Breaking each truth on purpose, as a faulty supervisor would; false: there is nothing to break.
 */
bool simgit_sabotage_drop_ref(struct simgit *g, str ref);
bool simgit_sabotage_reset(struct simgit *g, str tree);    /* a hard reset without a rescue */
bool simgit_sabotage_overwrite_user(struct simgit *g);     /* one of his uncommitted files */
bool simgit_sabotage_index(struct simgit *g);              /* unstages what he staged */
bool simgit_sabotage_branch(struct simgit *g, str branch); /* moves it back by a commit */
/* Accepts without looking for the key, and squashes whatever the branch is. */
bool simgit_sabotage_accept(struct simgit *g, const struct git_accept *spec);
/* Accepts all but one of the files. */
bool simgit_sabotage_accept_part(struct simgit *g, const struct git_accept *spec);

/* A ref of ours, and whose work it really holds. */
struct simgit_rescued {
	str ref, commit;
	bool on_target; /* all of it is on the target branch */
	size_t changed; /* files that are not as where it parts from the target */
	str *runs;      /* that wrote these, each once */
	size_t runs_n;
};
/* All refs below refs/overseer/, by name. */
void simgit_rescued(struct simgit *g, struct arena *a, struct simgit_rescued **ret, size_t *ret_n);
