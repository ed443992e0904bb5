#pragma once
/*
 * What follows a failure: the spiral rule, pure. The first failure is always mended; one that comes
 * again after that, before the daemon was healthy for the cool-down, is a spiral and a person's.
 * How long it was healthy counts up to its last healthy moment, not up to when it was noticed. A
 * stall is only started again. Never more than max_restarts starts after failures within 24 hours.
 * Times are of a clock that only runs forward (ms since boot); a history of an earlier boot
 * is forgotten.
 */
#include "data/message/vital.h"

enum watch_verdict {
	VERDICT_START,
	VERDICT_MEND,
	VERDICT_SPIRAL,   /* a person is needed: it failed again after it was mended */
	VERDICT_TOO_MANY, /* a person is needed: max_restarts */
};

enum { JUDGE_RESTARTS = 1000 }; /* as many as watch.max_restarts allows */

struct judge {
	int64_t cooldown_ms;
	size_t max_restarts; /* 1 .. JUDGE_RESTARTS */
	/* somebody is configured; otherwise the first failure is only started again */
	bool can_mend;
	/* Kept in watch.json, so that a restart of the watchdog forgets nothing. */
	bool mended; /* since the last time that it was healthy for long enough */
	int64_t restarts[JUDGE_RESTARTS]; /* when, oldest first */
	size_t restarts_n;
};

/*
 * healthy_ms: from the daemon's registration to its last healthy moment, 0 when it never
 * registered. A verdict to start or to mend counts as a restart.
 */
enum watch_verdict judge_failure(struct judge *j, enum failure f, int64_t healthy_ms,
		int64_t now_ms);
/* Restarts of the last 24 hours; forgets older ones. */
size_t judge_restarts(struct judge *j, int64_t now_ms);
