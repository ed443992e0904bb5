#pragma once
/*
 * Who moved the target branch; the call that finds it out is in drive/accept/git_accept.h. Part of
 * drive/git/git.h.
 */
#include "base/ov.h"

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
