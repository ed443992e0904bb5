#pragma once
/*
 * From a configured agent to a command: argv, environment and input of one run. The environment is
 * an allowlist; what is not named in the configuration does not reach the agent. Everything lives
 * in the arena.
 */
#include "app/agents/driver.h"
#include "app/session/sessions.h"
#include "base/ov.h"

struct agent_launch {
	const struct agent_format *format;
	bool hooks; /* it calls `overseer hook` */
	const char *const *argv;
	const char *const *env;
	const char *cwd;
	enum sandbox sandbox;     /* that argv begins with; SANDBOX_NONE: none */
	struct sessions sessions; /* where it keeps them */
	bool trusted;             /* the user has told the agent that the repository is */
	/* of stdin: the prompt, or nothing; absent: it stays open for what is sent later */
	str input;
};

/*
 * Also writes the files that the agent reads from the run's folder, and the prompt: what was asked
 * stays to be seen.
 */
int agent_prepare(struct arena *a, const struct driver_ask *ask, struct agent_launch *ret,
		struct ov_err *err);
