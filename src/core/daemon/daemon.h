#pragma once
/* What the daemon says of itself, as the other decide_*.c files see it. Private to core. */
#include "core/decide/emit.h"

/*
 * A failure after which the daemon cannot go on. Each has a word, which must be one of the table in
 * core/daemon/daemon, and all that whoever has to mend it may want to know; texts may be empty.
 */
struct hard_failure {
	str cause, text, instance;
	int exit_status;
	str worker, command, output;
};

/* The failure becomes an event, and a person is told. From then on ticks do nothing but stop runs. */
void hard_fail(struct decide_ctx *cx, const struct hard_failure *f);
/*
 * core/daemon/clock, of the command daemon.start with {"boot", "clock_set_ms", "clock_slept_ms"}: the clock
 * was set or the machine slept while no daemon was up; and what the clocks show now goes into its event.
 */
void clock_found(struct decide_ctx *cx, const value *params);
void clock_note(struct ev_daemon_started *e, const value *params);
/* The tick stops a run, which has done nothing wrong: the next daemon goes on with its session. */
void tick_halt(struct decide_ctx *cx, const struct decision *d);
decide_fn decide_daemon_start, decide_daemon_stop, decide_daemon_fail, decide_daemon_clock,
		decide_daemon_contradicted, decide_watch_report;
/* Is the clock set by that much, or a sleep that long, worth an event? */
bool clock_jumped(int64_t by_ms) _pure_;
