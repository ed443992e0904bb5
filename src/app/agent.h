#pragma once
/*
 * From a configured agent to a command: argv, environment and input of one run. The environment is
 * an allowlist; what is not named in the configuration does not reach the agent. Everything lives
 * in the arena.
 */
#include "base/ov.h"
#include "core/config.h"
#include "core/model.h"

struct agent_launch {
	const char *const *argv;
	const char *const *env;
	const char *cwd;
	str input; /* of stdin: the prompt, or nothing; absent: it stays open for what is sent later */
};

/*
 * prompt: the instruction, as it was recorded. Also writes it to a file in the run's folder: what was
 * asked stays to be seen.
 */
int agent_prepare(struct arena *a, const struct config *c, const struct assignment *as, str prompt,
		const char *run_dir, const char *worktree, struct agent_launch *ret,
		struct ov_err *err);
