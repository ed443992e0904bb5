#pragma once
/*
 * Puts a run, or a command that runs what an agent wrote, into the agent's sandbox: finds what
 * agent/launch/sandbox.h has to be told, makes the folders that it needs, and puts its words before
 * the command. The agent's home and temporary folder are its assignment's, below home/ in the
 * store's folder, so that a session can be resumed; when they go is said in
 * app/sandbox/agent_homes.h.
 */
#include "app/sandbox/contain.h"
#include "base/ov.h"

struct sandbox_mount;

struct sandbox_room {
	const struct config_agent *agent; /* whose sandbox it is */
	struct sandbox_level level;       /* by contain_level */
	const char *store, *worktree;
	/* the repository's git folder; NULL: the worktree is in none of ours */
	const char *git_common;
	const char *run_dir;  /* NULL: a command, which has nothing of the agent's own */
	const char *overseer; /* the program; NULL: it is not needed */
	str home;             /* the name of the assignment's folder */
	const char *own;      /* the folder itself, where it is another one */
	const struct sandbox_mount *more; /* further parts of the store */
	size_t more_n;
	bool read_only; /* nothing in the worktree can be changed */
};

/* The folder of the room's assignment. */
const char *sandbox_own(struct arena *a, const struct sandbox_room *room);
/* A home that is a folder of its own; NULL: there is nothing to be treated apart. */
const char *sandbox_home_of(struct arena *a, const char *const *env);
/*
 * *argv and the environment's HOME are those of the command; *argv is replaced unless there is
 * no sandbox.
 */
int sandbox_enter(struct arena *a, const struct sandbox_room *room, const char *const *env,
		const char *const **argv, struct ov_err *err);
