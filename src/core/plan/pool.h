#pragma once
/*
 * The pool of tasks: a command that gives out one task per call. What its end and its output mean
 * is decided here, the same for whoever ran it.
 */
#include "base/ov.h"
#include "core/model/model.h"
#include "core/policy/policy.h"

struct pool_end {
	bool known;      /* it ended, and how is known */
	bool timed_out;  /* and was ended by us */
	int code;        /* exit status, or -1 */
	int signal;      /* or 0 */
	str output;      /* as far as it is read, which is more than a task may have */
	str error_lines; /* the end of its standard error */
};

/* No wait before the pool is asked again is longer. */
ov_time pool_longest_wait(const struct policy *p);

/*
 * Exit status 0 with a text is a task, or is refused when it is too long; 0 with blanks only or 4
 * is none now, everything else a failure. *ret_text is the task, or why there is none; in
 * the arena.
 */
enum effect_outcome pool_judge(struct arena *a, const struct pool_end *e, str *ret_text);
