#pragma once
/*
 * Why something is as it is, as far as the state knows: in a word, since when, what happens next
 * and when, what shows that it goes on, and what to type. The facts that led there are in the log,
 * which whoever shows this adds to it. Answers: which assignment is stalled and why; what the last
 * instruction was and whether it was taken; which backoff is active; what shows progress.
 *
 * Every answer is an object with at least id, noun, title, status, state, since, now, conclusion
 * (why and what is next, in a line each), evidence (a list of {at, text}) and next (a list of
 * commands); members are only ever added.
 */
#include "base/ov.h"
#include "core/policy/policy.h"
#include "core/state/state.h"

struct explain {
	struct arena *arena;
	const struct state *state;
	const struct policy *policy;
	const struct map *observations; /* as in struct telemetry; may be NULL */
	ov_time now;
	str no_capacity; /* as in struct telemetry */
};

/* What every answer begins with; what belongs to it is added. */
value *explain_answer(const struct explain *x, str id, const char *noun, str title,
		const char *status, ov_time since);
/*
 * The lane of the agent that the task waits for, blocked or about to start its next run;
 * NULL: none.
 */
const struct lane *explain_lane(const struct explain *x, const struct node *n);
/* Adds "overseer COMMAND ID" to what can be typed. */
void explain_command(const struct explain *x, value *next, const char *command, str id);
/* The conclusion, for people who read three lines: what it is, why, and what happens next. */
void explain_conclude(const struct explain *x, value *v, str why, str next);
/* It is stalled, and something is done about that. */
bool explain_recovering(const struct node *n);
/* Why a task is as it is, in one line, and what happens next; now: as explain_now says it. */
void explain_conclude_node(const struct explain *x, const struct node *n, str now, value *v);
void explain_conclude_goal(const struct explain *x, const struct goal *g, str now, value *v);

struct queue;
/* What a task waits for now, in the words of status and queue list; q: of the same moment. */
str explain_task_now(const struct explain *x, struct queue *q, const struct node *n);
/* Why nothing new is started for the goal; empty when it may be. */
str explain_goal_held(const struct explain *x, const struct goal *g);

value *explain_goal(const struct explain *x, const struct goal *g);
value *explain_node(const struct explain *x, const struct node *n);
/* Its node must be there. */
value *explain_assignment(const struct explain *x, const struct assignment *as);
value *explain_run(const struct explain *x, const struct run *r);
value *explain_dispatch(const struct explain *x, const struct dispatch *d);
value *explain_entry(const struct explain *x, const struct escalation *e);
value *explain_worker(const struct explain *x, const struct worker *w);
value *explain_notice(const struct explain *x, const struct notice *n);
/* It must be configured. */
value *explain_agent(const struct explain *x, const struct policy_agent *p);
/* Adds a piece of evidence; at may be 0. */
void explain_show(const struct explain *x, value *evidence, ov_time at, const char *fmt, ...)
		_printf_(4, 5);
