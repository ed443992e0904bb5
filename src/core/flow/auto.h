#pragma once
/* Auto mode as the other decide_*.c files see it. Private to core. */
#include "core/daemon/daemon.h"

/* The tick asks for the next task. */
void tick_pool(struct decide_ctx *cx, const struct decision *d);
/* An effect of kind pool has ended: what it gave becomes a task. */
void pool_ended(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o);

/*
 * Auto mode, if it is on, cannot go on, and with it the daemon that was started for it: it is over,
 * once, and a person is told. What the failure is called is set here.
 */
void auto_fail(struct decide_ctx *cx, struct msg_daemon_fail f);

/* It is off, for this reason. */
void auto_switch_off(struct decide_ctx *cx, str reason);

/*
 * core/flow/auto_pause: it waits until the entry with that number is closed. Nothing when it is off
 * or waits already.
 */
void auto_pause(struct decide_ctx *cx, const char *cause, str reason, int64_t entry);
/* The same, and the entry is opened first. */
void auto_pause_asking(struct decide_ctx *cx, const char *cause, str reason, str question);
/* The entry of the pause was closed with this answer: what was part of it is settled. */
void auto_pause_settle(struct decide_ctx *cx, const struct escalation *x, enum say say, str text);
/* A person switched auto mode on again, which answers the entry of the pause. */
void auto_pause_close(struct decide_ctx *cx, str answer);
/*
 * A person settled a task that was given up: marks the events since then, so that failures
 * count anew.
 */
void auto_recount(struct decide_ctx *cx, size_t from);
/*
 * The open entry about a task with this text that was given up, or about the pause it is part of.
 */
const struct escalation *auto_open_entry(const struct state *s, str text);
void tick_auto_pause(struct decide_ctx *cx, const struct decision *d);
void tick_auto_absorb(struct decide_ctx *cx, const struct decision *d);
void tick_auto_resume(struct decide_ctx *cx, const struct decision *d);

DECIDES_MESSAGE(auto_start);
DECIDES_MESSAGE(auto_stop);
