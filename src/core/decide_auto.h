#pragma once
/* Auto mode as the other decide_*.c files see it. Private to core. */
#include "core/decide_daemon.h"

/* The tick asks for the next task. */
void tick_pool(struct decide_ctx *cx, const struct decision *d);
/* An effect of kind pool has ended: what it gave becomes a task. */
void pool_ended(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o);

/*
 * Auto mode, if it is on, cannot go on, and with it the daemon that was started for it: it is over,
 * once, and a person is told. What the failure is called is set here.
 */
void auto_fail(struct decide_ctx *cx, struct hard_failure f);

decide_fn decide_auto_start, decide_auto_stop;
