#pragma once
/* What goals use up, as events, and what follows from it. Private to core. */
#include "core/decide/emit.h"

/* Something was used up: amounts by resource. The caller may say more about it in the event. */
struct event *emit_spent(struct decide_ctx *cx, struct subject about, const char *on,
		const int64_t amounts[RESOURCE_COUNT]);
/* Counts a run that has ended; `ended` is the data of its end. Once per run. */
void run_spent(struct decide_ctx *cx, const struct run *r, const struct assignment *as,
		const value *ended);
/* The decisions of a tick about goals as wholes. */
void tick_budget(struct decide_ctx *cx, const struct decision *d);
void tick_budget_stop(struct decide_ctx *cx, const struct decision *d);
void tick_settled(struct decide_ctx *cx, const struct decision *d);
