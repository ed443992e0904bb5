#pragma once
/* Who moved the target branch; the call that finds it out is in drive/accept/git_moved.c. Part of drive/git/git.h. */
#include "base/ov.h"

struct git;
struct git_result;

enum { GIT_NEWS = 20 };

/* Who moved the target branch, as far as it can be known. */
enum git_mover {
	GIT_MOVER_UNKNOWN,
	GIT_MOVER_PERSON,     /* in the user's checkout, or another worktree of the user's */
	GIT_MOVER_REMOTE,     /* it is where a remote branch of that name is */
	GIT_MOVER_UNRECORDED, /* the checkout keeps no log of HEAD */
};

/* A commit that came to the target branch; the keys of our trailers, as they stand there. */
struct git_new_commit {
	str commit, accept_key, revert_key, author, subject;
};

/*
 * The target branch is no longer at `from`: target_seen says where it is, mover who moved it, news what
 * is new there (GIT_NEWS at most), commits how many of its commits are gone. Only reads, waits for
 * no other call. Where it is at `from` all the same, or gone, only target_seen is set, or nothing.
 */
void git_moved(struct git *g, str target, str from,
		void (*done)(void *user, int r, const struct git_result *res,
				const struct ov_err *err),
		void *user);
