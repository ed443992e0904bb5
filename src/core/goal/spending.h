#pragma once
/* What goals use up, as events, and what follows from it. Private to core. */
#include "core/decide/emit.h"

/* Something was used up: amounts by resource. The caller may say more about it in the event. */
struct ev_goal_spent *emit_spent(struct decide_ctx *cx, struct subject about, const char *on,
		const int64_t amounts[RESOURCE_COUNT]);
/* Counts a run that has ended; `ended` is the data of its end. Once per run. */
void run_spent(struct decide_ctx *cx, const struct run *r, const struct assignment *as,
		const struct ev_run_ended *ended);
/* The decisions of a tick about goals as wholes. */
void tick_budget(struct decide_ctx *cx, const struct decision *d);
void tick_budget_stop(struct decide_ctx *cx, const struct decision *d);
void tick_settled(struct decide_ctx *cx, const struct decision *d);
/* The tick saw that a task of the pool has used up its own budget. */
void tick_task_budget(struct decide_ctx *cx, const struct decision *d);
/*
 * What a person grants the goal, as `goal update` would; each may be NULL. Refused while anything
 * is spent even so; otherwise that is judged anew.
 */
int budget_grant(struct decide_ctx *cx, const struct goal *g, const value *budget,
		const value *estimate, str reason, struct ov_err *err);
/* Twice of what is spent, as such a budget. */
value *budget_twice(struct decide_ctx *cx, const struct goal *g);
