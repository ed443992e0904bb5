#pragma once
/*
 * The environment of an agent's process, put together from what is handed on, what its format
 * needs, what is configured for it, and our own names. What is said last counts: our own names are
 * the agent's to read, not to choose. Text in, text out, in the caller's arena.
 */
#include "agent/launch/launch.h"

struct env_pair {
	str name, value;
};

struct environment_ask {
	const str *pass; /* names that are handed on, if there is a value */
	size_t pass_n;
	char *(*get)(const char *name); /* their values: getenv */
	const struct launch *launch;    /* NULL: none */
	const struct env_pair *configured;
	size_t configured_n;
	const struct env_pair *own;
	size_t own_n;
};

/* "NAME=VALUE", each name once; ends with NULL. */
const char *const *environment_build(struct arena *a, const struct environment_ask *ask);
