#pragma once
/*
 * The environment of the commands that are the user's own: of pool, post-accept, planner, hook and
 * remediation commands. Text in, text out.
 */
#include "core/config/config.h"

/*
 * What commands.env_pass lets through of `all` ("NAME=VALUE", ends with NULL), then `own`, which
 * stand in place of those with their name. Our own tokens need to be named in full. Ends with NULL;
 * entries are borrowed.
 */
const char *const *command_env(struct arena *a, const struct config *c, char *const *all,
		const char *const *own, size_t own_n);
/* The same without a list of names: `own` in place of what has their name. */
const char *const *env_with(struct arena *a, const char *const *all, const char *const *own,
		size_t own_n);
