#pragma once
/*
 * Sessions: the conversations that agents keep under ids of their own. An assignment knows the one that
 * its agent was last heard of with, and its next run goes on with it where the agent can do that. What
 * a run says kept it from its work decides whether that still makes sense.
 */
#include "core/decide.h"

/* What a trouble of a run leads to; a run with one that has no row here has simply failed. */
struct trouble_rule {
	enum block_kind limit;         /* the agent's lane waits */
	bool forget;                   /* the session is not gone on with */
	int64_t most;                  /* runs that may fail by it, where that is less than usual */
	const char *people, *feedback; /* what it is called; what the next run is told */
};
extern const struct trouble_rule trouble_rules[TROUBLE_COUNT];

/* The next run of the assignment would go on with the session that is known. */
bool session_resumes(const struct policy *p, const struct assignment *as);
/*
 * What the next run is started with: the session that goes on, an id for a new one, or nothing where
 * the agent chooses that itself. An id that was given to a run is never given to another new session.
 */
str session_for_run(struct decide_ctx *cx, const struct assignment *as, bool *ret_resume);
