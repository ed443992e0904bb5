#pragma once
/*
 * A configured command that runs what an agent wrote: setup, check and pre-accept commands. It runs
 * in the agent's sandbox with the agent's environment, unless workspace.check_sandbox
 * says otherwise.
 */
#include "base/ov.h"
#include "core/config/config.h"

struct contain;

struct agent_command_ask {
	const struct config *config;
	struct contain *contain;
	str agent; /* whose work it is; one that is not configured any more has the defaults */
	str home;  /* the name of the assignment's folder, by agent_homes_name */
	const char *store, *worktree;
	const char *git_common; /* the repository's git folder */
	const char *text;       /* for sh */
	const char *shim;       /* overseer-run */
};

struct agent_command {
	const char *const *argv; /* both streams go to standard output */
	const char *const *env;  /* to which our own names are added */
	str fenced; /* for agent_command_hint: the agent whose sandbox it ran in; empty: none */
};

/*
 * What to add to the end of the output of a command that failed: empty, unless its sandbox may
 * be why.
 */
str agent_command_hint(struct arena *a, str fenced, str out);

/* Everything is in the arena. */
int agent_command(struct arena *a, const struct agent_command_ask *ask, struct agent_command *ret,
		struct ov_err *err);
