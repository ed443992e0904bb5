#pragma once
/* Auto mode as the other decide_*.c files see it. Private to core. */
#include "core/decide_impl.h"

/* The tick asks for the next task. */
void tick_pool(struct decide_ctx *cx, const struct decision *d);
/* An effect of kind pool has ended: what it gave becomes a task. */
void pool_ended(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o);

decide_fn decide_auto_start, decide_auto_stop;
