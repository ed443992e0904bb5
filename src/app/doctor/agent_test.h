#pragma once
/*
 * `overseer agent test`: a few tiny runs of one agent in a scratch worktree, through the driver
 * that the daemon uses, and a verdict on each thing that we want of an agent. It knows no store and
 * no goal. What is seen is written to standard output as it is seen, a line of JSON each:
 * {"doing"}, {"check", "verdict": "ok"|"failed"|"skipped", "needed", "text"}, at the end {"ok"}.
 */
#include "base/ov.h"

struct agent_test_options {
	const char *dir; /* of the store: where config.toml is */
	const char *shim, *overseer;
	const char *agent;
	const char *scratch;  /* a folder for the runs; the caller removes it */
	const char *worktree; /* where the agent works; below a repository */
	const char *note;     /* appended to each prompt; NULL: nothing */
};

/* 0: all that is needed was seen; 1: not; else an exit status with the reason on stderr. */
int agent_test_run(const struct agent_test_options *o);
