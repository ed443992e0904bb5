#pragma once
/*
 * Sessions: the conversations that agents keep under ids of their own. An assignment knows the one
 * that its agent was last heard of with, and its next run goes on with it where the agent can do
 * that. What a run says kept it from its work decides whether that still makes sense.
 */
#include "core/policy/policy.h"
#include "core/state/state.h"

/* Whether a run that ended in a trouble counts as a failed attempt. */
enum trouble_cost {
	COSTS_ATTEMPT,
	COSTS_UNLESS_CHANGED, /* not while each run changes its work: it only was not finished */
	/* not when a session was to be resumed: the next run begins a new one */
	COSTS_UNLESS_RESUMED,
};

/* What a trouble of a run leads to; a run with one that has no row here has simply failed. */
struct trouble_rule {
	enum block_kind limit; /* the agent's lane waits */
	bool forget;           /* the session is not gone on with */
	enum trouble_cost cost;
	int64_t most;                  /* runs that may fail by it, where that is less than usual */
	const char *people, *feedback; /* what it is called; what the next run is told */
};
extern const struct trouble_rule trouble_rules[TROUBLE_COUNT];

/* The next run of the assignment would go on with the session that is known. */
bool session_resumes(const struct policy *p, const struct assignment *as);
/* It can be told something while its run goes on, by its input or when it next stops. */
bool session_hears(const struct policy *p, const struct assignment *as);
/* Its agent says when it is ready, and how it went. */
bool session_speaks(const struct policy *p, const struct assignment *as);

/* ---- what people said ---- */

enum { SAID_MAX = 8 * 1024 }; /* of all that waits, so that an instruction has room for it */

/* What waits, as a list of {"dispatch", "run", "text"}; NULL: nothing. */
const value *said_list(struct arena *a, const struct node *n);
/* There is room for one more to wait. */
bool said_fits(const struct node *n, str text);
/* Nobody has taken these words of a person yet. */
bool said_waits(const struct node *n, str dispatch);
/* What waits to be taken, one after the other; empty: nothing. */
str said_text(struct arena *a, const struct node *n);
