#pragma once
/*
 * Sessions: the conversations that agents keep under ids of their own. An assignment knows the one that
 * its agent was last heard of with, and its next run goes on with it where the agent can do that. What
 * a run says kept it from its work decides whether that still makes sense.
 */
#include "core/decide/decide.h"

/* Whether a run that ended in a trouble counts as a failed attempt. */
enum trouble_cost {
	COSTS_ATTEMPT,
	COSTS_UNLESS_CHANGED, /* not while each run changes its work: it only was not finished */
	COSTS_UNLESS_RESUMED, /* not when a session was to be resumed: the next run begins a new one */
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
/*
 * The assignment, which this batch cancels because it has to wait, leaves its session for the next one
 * of its node.
 */
void session_keep(struct decide_ctx *cx, const struct assignment *as);
/*
 * What the next run is started with: the session that goes on, an id for a new one, or nothing where
 * the agent chooses that itself. An id that was given to a run is never given to another new session.
 */
str session_for_run(struct decide_ctx *cx, const struct assignment *as, bool *ret_resume);
/* It can be told something while its run goes on, by its input or when it next stops. */
bool session_hears(const struct policy *p, const struct assignment *as);
/* Its agent says when it is ready, and how it went. */
bool session_speaks(const struct policy *p, const struct assignment *as);
/* Ends the run so that a new one goes on with its session: told this, for this purpose. */
void session_interrupt(struct decide_ctx *cx, const struct assignment *as, const char *purpose,
		str text, str reason);

/* ---- what people said ---- */

enum { SAID_MAX = 8 * 1024 }; /* of all that waits, so that an instruction has room for it */

/* There is room for one more to wait. */
bool said_fits(const struct node *n, str text);
/* Nobody has taken these words of a person yet. */
bool said_waits(const struct node *n, str dispatch);
/* What waits to be taken, one after the other; empty: nothing. */
str said_text(struct arena *a, const struct node *n);
/* Records what is said to the assignment's agent, which its next run is given. */
str dispatch_say(struct decide_ctx *cx, const struct assignment *as, const char *purpose, str text,
		str say);
/*
 * This run has its instruction for certain, and with it all that was said before it began: that was
 * given, once.
 */
void said_given(struct decide_ctx *cx, const struct node *n, const struct run *r);
