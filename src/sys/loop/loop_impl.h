#pragma once
/*
 * The loop as its own files see it: loop.c runs it, with timers, descriptors and hooks;
 * loop_source.c has the other sources. Private to sys/loop.
 */
#include <sys/epoll.h>
#include <systemd/sd-event.h>

#include "base/list.h"
#include "base/vec.h"
#include "sys/loop/loop.h"

/* No signal or timer waits for more callbacks than these. */
enum { LOOP_READY_MAX = 64 };

enum source_kind { SRC_IO, SRC_TIMER, SRC_SIGNAL, SRC_PIDFD, SRC_WATCH, SRC_DEFER, SRC_AFTER };
static_assert(SRC_AFTER == (int)LOOP_CAUSES, "each kind of source is a cause");

struct timers {
	sd_event_source *src;
	struct list armed; /* loop_source.timer, earliest first */
	clockid_t clock;
};

struct loop {
	sd_event *event;
	struct timers mono, wall;
	int io_epoll;
	sd_event_source *io_src;
	struct epoll_event ready[LOOP_READY_MAX]; /* not served yet; NULL where one was freed */
	int ready_n, ready_at;
	VEC(struct loop_source *) after; /* in order; NULL where one was freed during the run */
	bool in_after;
	bool (*on_time)(void *user); /* or NULL */
	void *on_time_user;
	unsigned batch;          /* callbacks since the after-hooks ran */
	uint64_t batch_since_us; /* when the first of them ran */
	bool quit;
	int code;
	size_t n_sources;
	uint64_t callbacks[LOOP_CAUSES];
};

struct loop_source {
	struct loop *loop;
	enum source_kind kind;
	sd_event_source *src; /* NULL for io, timers and after-hooks */
	union {
		loop_fn *call;
		loop_io_fn *io;
		loop_signal_fn *signal;
		loop_watch_fn *watch;
	} fn;
	void *user;
	int fd;            /* SRC_IO */
	unsigned events;   /* SRC_IO: as asked */
	struct list timer; /* SRC_TIMER: in a timers' list while armed */
	struct timers *on; /* the clock it is armed on, or NULL */
	uint64_t due_us;
	bool at_once; /* armed for no time at all: as good as deferred */
};

struct loop_source *source_new(struct loop *l, enum source_kind kind, void *user);

/* Registering can fail only for lack of memory or by misuse (a bad fd): neither is recoverable. */
static inline void must(int r)
{
	assert(r >= 0);
}
