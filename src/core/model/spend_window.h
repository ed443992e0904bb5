#pragma once
/*
 * What was spent in the last 24 hours, in sums of an hour each. Hours are those of UTC, so that no
 * change of the local time moves them; the oldest one counts whole until none of it is younger than
 * 24 hours. Pure: the fold adds, everybody else asks.
 */
#include "base/ov.h"
#include "core/model/record.h"
#include "core/model/traffic.def"
#include "core/model/transition.h"

enum { WINDOW_HOURS = 25 }; /* 24 whole ones, and the one that is not over yet */

struct spend_hour {
	SPEND_HOUR_ROWS(MEMBER);
};

struct spend_window {
	struct spend_hour hours[WINDOW_HOURS]; /* by hour % WINDOW_HOURS */
};

extern const struct record_type spend_hour_record;

/* unpriced, untold: whether it is of such a run. */
void window_add(struct spend_window *w, ov_time at, const int64_t amounts[RESOURCE_COUNT],
		bool unpriced, bool untold);
/* The clock was set by that much: hours go along, to the nearest whole one. */
void window_move(struct spend_window *w, ov_time by);
/* Runs in it of which the cost, or all, is unknown. */
void window_unknown(const struct spend_window *w, ov_time now, int64_t *ret_unpriced,
		int64_t *ret_untold);
int64_t window_sum(const struct spend_window *w, enum resource resource, ov_time now);
/* The first moment at which less than the limit is spent if nothing more is; now: it is already. */
ov_time window_room_at(const struct spend_window *w, enum resource resource, int64_t limit,
		ov_time now);
