#pragma once
/*
 * When a limit ends, as agents tell people: a time of the day, with or without a date, in the zone
 * that the agent runs in. Text in, a moment out; the caller says what time it was when it was said,
 * and how far local time is from UTC. Owns nothing.
 */
#include "base/ov.h"

/*
 * "try again at 2:33 AM", "try again at Nov 18th, 2026 2:33 AM", "resets 3pm (UTC)", "resets at
 * 2026-11-18 02:33". A time without a date is the next one. 0: the text names none, or one that
 * has passed.
 */
ov_time reset_time(str text, ov_time now, ov_time utc_offset);
