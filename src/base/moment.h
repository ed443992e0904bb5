#pragma once
/*
 * Points in time as people write them, the same in every command and operation that takes one.
 * Pure: the caller says what time it is and how far local time is from UTC.
 */
#include "base/ov.h"

/* Which one is meant where the words fit two: "2h" is two hours ago or from now. */
enum moment_side { MOMENT_PAST, MOMENT_FUTURE };

struct moment_clock {
	ov_time now;
	ov_time (*utc_offset)(ov_time at); /* of local time, at that moment */
};

/*
 * "2h", "2h ago", "in 2h", "now", "today", "yesterday", "tomorrow", "22:30", "yesterday 22:30",
 * "2026-11-15", "2026-11-15 22:30", RFC 3339. A day alone is its beginning. A time of the day alone
 * is the last one that was, or the next one.
 */
bool moment_parse(str s, enum moment_side side, const struct moment_clock *clock, ov_time *ret);

/* How it is said in help and in errors; of the past, and of the future. */
#define MOMENT_FORMS \
	"2h ago, 7d, yesterday, 22:30, \"yesterday 22:30\", 2026-11-15 or 2026-11-15T08:30:00Z"
#define MOMENT_FORMS_FUTURE \
	"4h, tomorrow, 08:30, \"tomorrow 08:30\", 2026-11-15 or 2026-11-15T08:30:00Z"
