#pragma once
/*
 * A short command of a remediation, run to its end: its output and its time are bounded, and it is
 * killed when we are asked to end. It blocks, so it is only for the remediation's own process.
 */
#include "base/ov.h"

struct quick {
	const char *const *argv;
	const char *const *env; /* whole environment; NULL: ours */
	const char *cwd;
	size_t max; /* bytes of each output that are kept: its beginning */
	int timeout_ms;
	int stop_fd; /* readable: we are to end. -1: nobody asks */
};

struct quick_end {
	int status; /* exit status, or 128 + signal */
	str out, err;
	bool cut;
};

/* OV_EUNAVAILABLE: it took too long; OV_ESTATE: we are to end. Then it was killed. */
int quick_run(struct arena *a, const struct quick *q, struct quick_end *ret, struct ov_err *err);
