#pragma once
/*
 * One git command in the user's checkout, waited for: for processes of their own that answer one
 * question (`overseerd --once`), never for the daemon's loop. It gets the same environment and
 * options as every other git child of ours: no hooks, no prompts, no pager.
 */
#include "base/ov.h"

enum { GIT_ASK_MAX = 64 * 1024 * 1024 };

struct git_answer {
	int code; /* its exit status */
	str out, err;
	bool cut; /* there was more than `max` */
};

/* args ends with NULL; at most max bytes of its output are taken, into the arena. */
int git_ask(struct arena *a, const char *repo, const char *const *args, size_t max,
		struct git_answer *ret, struct ov_err *err);
