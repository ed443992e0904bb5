#include "core/model/spend_window.h"

void window_add(struct spend_window *w, ov_time at, const int64_t amounts[RESOURCE_COUNT],
		bool unpriced, bool untold)
{
	int64_t hour = MAX(at / OV_HOUR, (int64_t)1);
	struct spend_hour *h = &w->hours[hour % WINDOW_HOURS];

	if (h->hour != hour)
		*h = (struct spend_hour){ .hour = hour };
	for (int i = 0; i < RESOURCE_COUNT; i++)
		if (__builtin_add_overflow(h->spent[i], amounts[i], &h->spent[i]))
			h->spent[i] = INT64_MAX;
	h->unpriced += unpriced;
	h->untold += untold;
}

void window_move(struct spend_window *w, ov_time by)
{
	struct spend_window old = *w;
	int64_t hours = (by + (by < 0 ? -OV_HOUR : OV_HOUR) / 2) / OV_HOUR;

	memset(w, 0, sizeof(*w));
	for (size_t i = 0; i < WINDOW_HOURS; i++) {
		struct spend_hour h = old.hours[i];

		if (!h.hour || h.hour + hours < 1)
			continue;
		h.hour += hours;
		w->hours[h.hour % WINDOW_HOURS] = h;
	}
}

/* When none of it is younger than 24 hours. */
static ov_time over_at(const struct spend_hour *h)
{
	return (h->hour + WINDOW_HOURS) * OV_HOUR;
}

/* What lies in the future was noted by a clock that was wrong: it would count for ever. */
static bool counts(const struct spend_hour *h, ov_time now)
{
	return h->hour && h->hour <= now / OV_HOUR + 1 && now < over_at(h);
}

static int64_t sum_at(const struct spend_window *w, enum resource resource, ov_time known,
		ov_time then)
{
	int64_t sum = 0;

	for (size_t i = 0; i < WINDOW_HOURS; i++)
		if (counts(&w->hours[i], known) && then < over_at(&w->hours[i]) &&
				__builtin_add_overflow(sum, w->hours[i].spent[resource], &sum))
			return INT64_MAX;
	return sum;
}

int64_t window_sum(const struct spend_window *w, enum resource resource, ov_time now)
{
	return sum_at(w, resource, now, now);
}

void window_unknown(const struct spend_window *w, ov_time now, int64_t *ret_unpriced,
		int64_t *ret_untold)
{
	*ret_unpriced = *ret_untold = 0;
	for (size_t i = 0; i < WINDOW_HOURS; i++)
		if (counts(&w->hours[i], now)) {
			*ret_unpriced += w->hours[i].unpriced;
			*ret_untold += w->hours[i].untold;
		}
}

ov_time window_room_at(const struct spend_window *w, enum resource resource, int64_t limit,
		ov_time now)
{
	ov_time first = OV_TIME_MAX;

	if (limit < 0 || window_sum(w, resource, now) < limit)
		return now;
	for (size_t i = 0; i < WINDOW_HOURS; i++)
		if (counts(&w->hours[i], now) &&
				sum_at(w, resource, now, over_at(&w->hours[i])) < limit)
			first = MIN(first, over_at(&w->hours[i]));
	return first;
}
