#pragma once
/*
 * A job: one child run to its end with captured, bounded output, input from memory and a timeout;
 * for git, checks and hooks. The job owns the child, its pipes and buffers until `done` was called;
 * it frees itself after that. On timeout or cancel the process group gets SIGTERM, then after 2 s
 * SIGKILL. The end is reported when the child has ended and its output is read to the end; a
 * background process that keeps the pipes open is waited for only a moment, and left alone.
 */
#include "base/ov.h"
#include "sys/proc/proc.h"

struct loop;
struct job;

struct job_spec {
	struct proc_spec proc; /* in, out, err are the job's: leave them -1 */
	str input;             /* copied; written to stdin, which is then closed */
	size_t max_output;     /* bytes kept of each of stdout and stderr; 0: 1 MiB */
	bool keep_tail;        /* over the bound keep the newest bytes rather than the first */
	int64_t timeout_ms;    /* 0: none */
};

#define JOB_SPEC_INIT ((struct job_spec){ .proc = PROC_SPEC_INIT })

struct job_result {
	struct proc_exit exit;
	bool timed_out;
	str out, err; /* valid during the callback */
	bool out_cut, err_cut;
};

typedef void job_done_fn(void *user, const struct job_result *r);

/*
 * On failure nothing was started and done is never called. done comes from the loop, never from
 * here.
 */
int job_start(struct loop *l, const struct job_spec *spec, job_done_fn *done, void *user,
		struct job **ret, struct ov_err *err);
/* Its child's process, 0 once that has ended. */
int job_pid(const struct job *j);
/* Ends the child at once and forgets it without calling done: for shutting down. */
void job_abandon(struct job *j);
