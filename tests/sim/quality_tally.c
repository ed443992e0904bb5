/* Outcomes, judged by the labels of their traces and counted. */
#include <stdlib.h>

#include "base/alloc.h"
#include "tests/sim/quality.h"

struct outcome outcome_new(void)
{
	return (struct outcome){ .detected_at = OV_TIME_MAX,
		.nudged_at = OV_TIME_MAX,
		.stopped_at = OV_TIME_MAX,
		.escalated_at = OV_TIME_MAX,
		.false_alarm_at = OV_TIME_MAX,
		.false_stop_at = OV_TIME_MAX };
}

void outcome_alarm(struct outcome *o, const struct trace *t, ov_time at)
{
	ov_time *first = at < t->sick_at ? &o->false_alarm_at : &o->detected_at;

	*first = MIN(*first, at);
}

void outcome_stop(struct outcome *o, const struct trace *t, ov_time at)
{
	o->stopped_at = MIN(o->stopped_at, at);
	if (at < t->sick_at || t->keep)
		o->false_stop_at = MIN(o->false_stop_at, at);
}

static void add_delay(struct tally *y, ov_time delay)
{
	if (y->sick == y->cap) {
		y->cap = y->cap ? y->cap * 2 : 64;
		y->delays = mem_realloc(y->delays, y->cap * sizeof(*y->delays));
	}
	y->delays[y->sick++] = delay;
}

void tally_add(struct tally *y, const struct trace *t, const struct outcome *o, ov_time horizon)
{
	bool sick = t->sick_at != OV_TIME_MAX, missed = sick && o->detected_at == OV_TIME_MAX;

	y->agents++;
	y->healthy += !sick;
	y->false_alarms += o->false_alarm_at != OV_TIME_MAX;
	y->false_stops += o->false_stop_at != OV_TIME_MAX;
	/* Once is right, where it is right at all. */
	y->duplicates += o->restarts > 1 ? o->restarts - 1 : 0;
	y->duplicates += o->questions > 1 ? o->questions - 1 : 0;
	if (!sick)
		return;
	y->missed += missed;
	y->nudged += o->nudged_at != OV_TIME_MAX;
	y->stopped += o->stopped_at != OV_TIME_MAX;
	y->asked += o->escalated_at != OV_TIME_MAX;
	add_delay(y, missed ? horizon : o->detected_at - t->sick_at);
}

void tally_done(struct tally *y)
{
	mem_free(y->delays);
	*y = (struct tally){ 0 };
}

static int by_time(const void *pa, const void *pb)
{
	ov_time a = *(const ov_time *)pa, b = *(const ov_time *)pb;

	return (a > b) - (a < b);
}

ov_time tally_delay(struct tally *y, int pct)
{
	assert(y->sick > 0);
	qsort(y->delays, y->sick, sizeof(*y->delays), by_time);
	return y->delays[(y->sick - 1) * (size_t)pct / 100];
}
