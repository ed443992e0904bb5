#pragma once
/*
 * Puts a run into its agent's sandbox: finds what agent/sandbox.h has to be told, makes the folders
 * that it needs, and puts its words before the command. The agent's home and temporary folder are
 * its assignment's, below home/ in the store's folder, so that a session can be gone on with; when
 * they go is said in app/homes.h.
 */
#include "agent/launch.h"
#include "app/driver.h"

/* *argv and the environment's HOME are those of the run; *argv is replaced. */
int sandbox_enter(struct arena *a, const struct driver_ask *ask, const struct launch_ask *how,
		const char *const *env, const char *const **argv, struct ov_err *err);
