#pragma once
/*
 * Paths that a sandbox must not take as they are: what sandbox_writable names must not contain what
 * the sandbox protects, and what an earlier run left must not lead a mount elsewhere.
 */
#include "agent/launch/sandbox.h"
#include "core/config/config.h"

struct sandbox_guarded {
	const char *store;
	const char *git_common; /* may be NULL */
	const char *home;       /* real path; may be NULL */
	const char *const *env; /* names the folders of agents */
};

/*
 * The real paths of what sandbox_writable names; what does not exist is left out. OV_EINVALID names
 * the option where a run could rename or replace what is guarded.
 */
int sandbox_writable(struct arena *a, const struct config_agent *agent,
		const struct sandbox_guarded *g, const str **ret, size_t *ret_n,
		struct ov_err *err);
/*
 * Nothing on the way to a place is a link: those that a run left in a folder of the store that is
 * its own are removed, others are an error.
 */
int sandbox_clear_places(struct arena *a, const char *store, const struct sandbox_words *w,
		struct ov_err *err);
