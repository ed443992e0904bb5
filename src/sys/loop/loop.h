#pragma once
/*
 * The event loop: a thin naming of sd-event. One thread; callbacks run to completion. A source is
 * owned by whoever created it and is released with loop_source_free, which is safe inside its own
 * callback. Everything that may flood shares one priority, in order of arrival; see enum loop_prio.
 *
 * What a process with a loop can rely on: SIGPIPE is ignored and SIGCHLD is blocked and not ignored
 * (children stay zombies until they are reaped by pidfd). proc_spawn resets both in the child.
 */
#include "base/ov.h"
#include "sys/host/clock.h"

struct loop;
struct loop_source;

/* sd-event priorities are strict, so only what may starve is IDLE. */
enum loop_prio { LOOP_SIGNAL = -20, LOOP_CHILD = -10, LOOP_NORMAL = 0, LOOP_IDLE = 100 };

/*
 * HANGUP is reported, not asked for, and comes together with whatever was asked for: reading then
 * gives the rest and the end, writing the error. A source that asks for nothing reports nothing.
 */
enum loop_events { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_HANGUP = 4 };

typedef void loop_fn(void *user);
typedef void loop_io_fn(void *user, int fd, unsigned events);
typedef void loop_signal_fn(void *user, int signo);
/*
 * mask as in inotify(7); IN_Q_OVERFLOW and IN_IGNORED come unasked. name: in a watched directory,
 * or NULL.
 */
typedef void loop_watch_fn(void *user, uint32_t mask, const char *name);

int loop_new(struct loop **ret, struct ov_err *err);
struct loop *loop_free(struct loop *l); /* all sources must be gone; returns NULL */
/*
 * Runs until loop_quit; returns the code given there. The after-hooks run a last time before it
 * returns.
 */
int loop_run(struct loop *l);
void loop_quit(struct loop *l, int code);
/*
 * One iteration, that is at most one callback, waiting at most timeout_us (-1: for ever); false
 * after loop_quit. For tests.
 */
bool loop_step(struct loop *l, int64_t timeout_us);

/* The wall clock, read once per iteration. */
ov_time loop_now(const struct loop *l);
/* Monotonic microseconds, read once per iteration. */
uint64_t loop_mono_us(const struct loop *l);
/*
 * How these two and the time since boot stand to each other, of the same moment (sys/host/clock.h).
 */
struct clock_offsets loop_clocks(const struct loop *l);
/*
 * Called each time that the loop has read the clocks, before it calls anybody else: nothing is done
 * by a time that was not looked at. Returns true when it did something that the after-hooks
 * are for.
 */
void loop_on_time(struct loop *l, bool (*fn)(void *user), void *user);
/* Iterations so far: the progress counter of the heartbeat. */
uint64_t loop_iterations(const struct loop *l);
/*
 * How many callbacks there were of each kind. Requests of others cause io and what it defers; all
 * the rest a process does by itself. A timer that was armed for no time at all counts as deferred.
 */
enum loop_cause {
	LOOP_IO,
	LOOP_TIMER,
	LOOP_SIGNALLED,
	LOOP_EXIT,
	LOOP_FILE,
	LOOP_DEFERRED,
	LOOP_CAUSES,
};
uint64_t loop_callbacks(const struct loop *l, enum loop_cause cause);

/*
 * Sockets, pipes and the like, non-blocking: what was reported may have been taken meanwhile. Not
 * for regular files, which epoll refuses. Does not own the fd, which stays open as long as
 * its source.
 */
struct loop_source *loop_io(struct loop *l, int fd, unsigned events, loop_io_fn *fn, void *user);
void loop_io_set(struct loop_source *s, unsigned events);
/* A timer, off until armed. Fires once per arming; timers fire in the order of their deadlines. */
struct loop_source *loop_timer(struct loop *l, loop_fn *fn, void *user);
void loop_timer_in(struct loop_source *s,
		int64_t ms); /* from now; <= 0 fires in the next iteration */
/* At a wall-clock time (CLOCK_REALTIME, so that a clock jump moves it). */
void loop_timer_at(struct loop_source *s, ov_time at);
void loop_timer_off(struct loop_source *s);
/* The signal is blocked for the process and delivered to fn. */
struct loop_source *loop_signal(struct loop *l, int signo, loop_signal_fn *fn, void *user);
/*
 * fn(user) once when the process behind pidfd ends (readable pidfd); does not reap, does not own
 * the fd.
 */
struct loop_source *loop_pidfd(struct loop *l, int pidfd, loop_fn *fn, void *user);
/* inotify on what fd has open (a file or directory; the fd may be closed afterwards). */
int loop_watch(struct loop *l, int fd, uint32_t mask, loop_watch_fn *fn, void *user,
		struct loop_source **ret, struct ov_err *err);
/* fn runs once in the next iteration. */
struct loop_source *loop_defer(struct loop *l, loop_fn *fn, void *user);
/*
 * fn runs after every batch of callbacks, before the loop sleeps: the group commit. A batch is what
 * is ready together, at most 256 callbacks or 5 ms. Several hooks run in the order of their
 * creation. What a hook itself does is no reason to run the hooks again.
 */
struct loop_source *loop_after(struct loop *l, loop_fn *fn, void *user);
struct loop_source *loop_source_free(struct loop_source *s); /* NULL allowed; returns NULL */
