#pragma once
/*
 * Recovery, as events: signs of life, stalls and the rungs of the ladder; agents that are out of
 * quota, are logged out or fail again and again; and the time that passes for those who wait.
 */
#include "core/decide/emit.h"
/* Ends a run that has done its work; what it made is judged. */
void run_finish(struct decide_ctx *cx, const struct assignment *as, str reason);
/* The stall has come to its last rung: a person was asked. */
bool ladder_is_over(const struct node *n);
/* Its run used up all attempts: from here on the ladder decides. */
void ladder_begin(struct decide_ctx *cx, const struct assignment *as, str reason);
/* The run ended because the agent is out of quota or logged out; false when it did not. */
bool run_was_limited(struct decide_ctx *cx, const struct assignment *as);
/* The same of a run that is just ending, from the data of its run.ended. */
bool end_is_limit(const struct policy *p, const struct assignment *as,
		const struct ev_run_ended *ended);
/* A person says that the agent that this asked about is logged in: what waited for it goes on. */
void login_answered(struct decide_ctx *cx, const struct escalation *x);
/* A person does not believe a limit that lasts long: the agent is used again. */
void limit_lifted(struct decide_ctx *cx, const struct escalation *x);
/* The same of an agent that failed again and again: it is given work again. */
void failing_answered(struct decide_ctx *cx, const struct escalation *x);
/* The tick saw that it did: it is given no more until a person says so. */
void tick_agent_failing(struct decide_ctx *cx, const struct decision *d);
void tick_agent_absorb(struct decide_ctx *cx, const struct decision *d);
/* A person says that the silent runs really hang: each is treated as a stall of its own. */
void outage_denied(struct decide_ctx *cx);
/* Something moves: the due date moves with it, and progress ends the stall. */
void note_life(struct decide_ctx *cx, const struct assignment *as, ov_time at, enum life_sign sign);
/* The decisions of a tick about recovery and about those who wait. */
void tick_recover(struct decide_ctx *cx, const struct decision *d);
/* Adds a line about a task that failed: why, and what its agent said last. */
void show_failed_task(struct decide_ctx *cx, struct buf *b, const struct node *n);
