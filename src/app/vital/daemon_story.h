#pragma once
/*
 * The daemon's story out of the log: its starts and ends, what its watchdog did, and each failure
 * with its cause, what was done about it and how long it took until the daemon was healthy again.
 * Events go in, oldest first; everything lives in the arena that is given.
 */
#include "base/ov.h"
#include "base/vec.h"
#include "core/event/event.h"

struct story_failure {
	value *fact, *view;
	ov_time at, recovered_at; /* 0: not yet */
	str instance;
};

struct story {
	struct arena *arena;
	value *facts;                       /* oldest first */
	VEC(struct story_failure) failures; /* oldest first */
	size_t open;                        /* those from here on have not recovered */
	size_t settling;                    /* those from here on may still be found healthy */
	str up;                             /* the instance that was started and did not end */
	ov_time last_at;
};

void story_init(struct story *s, struct arena *a);
void story_done(struct story *s);
void story_take(struct story *s, const struct event *e);
/*
 * [{"seq", "at", "cause", "text", "done": [{"at", "text"}], "recovered_at", "recovery_ms"}], after
 * the last event. The facts of failures say it, too.
 */
value *story_failures(struct story *s);
