#pragma once
/* What the daemon says of itself, as the other decide_*.c files see it. Private to core. */
#include "core/decide/emit.h"

/*
 * A failure after which the daemon cannot go on becomes an event, and a person is told. Its cause
 * must be one of the table in core/daemon/daemon; texts may be empty. From then on ticks do nothing
 * but stop runs.
 */
void hard_fail(struct decide_ctx *cx, const struct msg_daemon_fail *f);
/*
 * core/daemon/clock, of daemon.start: the clock
 * was set or the machine slept while no daemon was up; and what the clocks show now goes into
 * its event.
 */
void clock_found(struct decide_ctx *cx, const struct msg_daemon_start *p);
void clock_note(struct ev_daemon_started *e, const struct msg_daemon_start *p);
/* The tick stops a run, which has done nothing wrong: the next daemon goes on with its session. */
void tick_halt(struct decide_ctx *cx, const struct decision *d);
DECIDES_MESSAGE(daemon_start);
DECIDES_MESSAGE(daemon_stop);
DECIDES_MESSAGE(daemon_fail);
DECIDES_MESSAGE(daemon_clock);
DECIDES_MESSAGE(daemon_contradicted);
DECIDES_MESSAGE(watch_report);
/* Is the clock set by that much, or a sleep that long, worth an event? */
bool clock_jumped(int64_t by_ms) _pure_;
