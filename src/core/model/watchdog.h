#pragma once
/*
 * What is remembered of watchdogs and of the daemon itself. A watchdog writes down each of its acts
 * with a number that grows; the daemon makes an event of each, once, however often the file is
 * read: an act is known by its watchdog's instance and its number. Watchdogs that were not heard of
 * for long are forgotten, but not how far they had come, so that old files are not read anew.
 */
#include "base/ov.h"
#include "core/model/record.h"
#include "core/model/traffic.def"

struct state;

enum {
	LIMIT_WATCHERS = 64,
	LIMIT_ACTS = 500,      /* of one command */
	CLOCK_JUMP_MS = 10000, /* a clock that is less wrong than this is left as it is */
};

/* One watchdog, and its newest act that was recorded. */
struct watcher {
	WATCHER_ROWS(MEMBER);
};

struct vigil {
	VIGIL_ROWS(MEMBER);
};

/*
 * The machine's clocks as the log knows them: what the wall clock is ahead of the time since boot,
 * and how much of that time the machine slept. Within one boot both change only when the clock is
 * set, and when the machine sleeps; of two boots they tell nothing.
 */
struct clock_known {
	CLOCK_KNOWN_ROWS(MEMBER);
};

extern const struct record_type watcher_record, vigil_record, clock_known_record;
