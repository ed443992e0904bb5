#pragma once
/*
 * The user's home as a fence shows it: each entry to be read, except for what agent/launch/home.h
 * says about the agent and about caches. Looks at the home as it is when the run starts, makes the
 * folders that stand in for others (below the assignment's folder, and below cache/ in the store),
 * and a copy of the files that agents replace. Nothing of the home is changed, except that folders
 * are made which the agent would make itself.
 */
#include "agent/launch/sandbox.h"

struct home_folder;

struct sandbox_home_ask {
	const char *home;       /* real path of an existing folder */
	str format;             /* of the agent; "raw": a command, of which nothing is known */
	const char *const *env; /* of what is to be run */
	const char *store;
	const char *own; /* the assignment's folder */
	const char *worktree;
	/* as agents know the worktree's repository; NULL: it is in none of ours */
	const char *repo;
};

int sandbox_home(struct arena *a, const struct sandbox_home_ask *ask,
		const struct sandbox_mount **ret, size_t *ret_n, struct ov_err *err);
/*
 * Where a folder of the table is for a command with this environment, without links before its last
 * part; NULL: nowhere.
 */
const char *sandbox_home_place(struct arena *a, const char *home, const char *const *env,
		const struct home_folder *f);
/* The folder that is shown in its place; own: the assignment's folder. */
const char *sandbox_home_stand_in(struct arena *a, const char *store, const char *own,
		const struct home_folder *f);
/* The value of a variable; NULL: there is none. */
const char *env_value(const char *const *env, const char *name);
/* Whether a path lies below a folder, by its name. */
bool path_below(const char *path, const char *dir);
