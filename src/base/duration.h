#pragma once
/*
 * Durations as people write them ("15m", "1h30m", "250ms", "2d") and points in time as RFC 3339.
 * All in milliseconds; pure calendar arithmetic in UTC. A negative duration is written with "-",
 * for people to see; it does not parse.
 */
#include "base/ov.h"

/* Units d, h, m, s, ms, largest first, each at most once; "0" alone is allowed. */
bool duration_parse(str s, int64_t *ret_ms);
/* The normal form, without zero units, parses back to the same value: "1h30m", "250ms", "0s". */
str duration_format(struct arena *a, int64_t ms);
/* For people: the largest unit and the one below it, "2h14m", "17m", "3s"; the rest is cut. */
str duration_format_short(struct arena *a, int64_t ms);

/* "2026-11-15T01:42:35.123Z"; years 0001 to 9999, beyond which the nearest end is written. */
str time_format(struct arena *a, ov_time t);
/*
 * For people, in local time: "08:00" of the same day as now, "tomorrow 08:00", "2026-11-17 08:00".
 */
str time_format_near(struct arena *a, ov_time t, ov_time now, ov_time utc_offset);
/* RFC 3339 with Z or an offset and up to 9 fraction digits (cut to ms). */
bool time_parse(str s, ov_time *ret);
