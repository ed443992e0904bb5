#pragma once
/*
 * Keeps a checkout as it is, before somebody mends in it: a commit of the folder with all untracked
 * files that are not ignored, its first parent HEAD, then one of the index where that differs,
 * under a ref of ours. It is made by an index of its own beside the real one, so that neither
 * folder nor index is touched, and a lock that somebody left on the index is no obstacle. What is
 * clean needs no commit. It blocks (watch/remedy/quick.h).
 */
#include "base/ov.h"

#define KEEP_PREFIX "refs/overseer/rescue/"

struct kept_checkout {
	const char *top, *git_dir; /* absolute */
};

/* Of the repository that holds path. OV_ENOTFOUND: it is in none, or in one without a checkout. */
int keep_find(struct arena *a, const char *path, int stop_fd, struct kept_checkout *ret,
		struct ov_err *err);

struct keep_ask {
	struct kept_checkout at;
	const char *name;      /* below KEEP_PREFIX */
	const char *message;   /* of the commit */
	const char *leave_out; /* an absolute folder that is not kept: our own */
	int stop_fd;
};

/* What was done, for people, into *ret_words. */
int keep_checkout(struct arena *a, const struct keep_ask *ask, str *ret_words, struct ov_err *err);
