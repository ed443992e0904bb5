/*
 * What other supervisors do, in its simplest form: who wrote nothing for so long is killed and
 * started again. Nothing else is known to them. They give up after as many retries as is usual. A
 * trace goes on after a kill in its healthy time, so that its sickness is judged, too.
 */
#include "tests/sim/quality.h"

enum { KILLS_MAX = 4 };

static void play_one(const struct trace *t, ov_time silence, ov_time horizon, struct outcome *o)
{
	ov_time last = 0, end = MIN(t->ends_at, horizon);

	while (last + silence <= end && (o->restarts < KILLS_MAX || last < t->sick_at)) {
		ov_time next = trace_next_output(t, last), at = last + silence;

		if (next <= at) {
			last = next;
			continue;
		}
		outcome_alarm(o, t, at);
		outcome_stop(o, t, at);
		o->restarts += o->restarts < KILLS_MAX;
		last = at; /* the new one has as much time again */
		/* What was the run's own trouble is over with it. */
		if (at >= t->sick_at && !t->again)
			return;
	}
}

void timer_play(ov_time silence, const struct test_case *c, ov_time horizon, struct outcome *ret)
{
	for (size_t i = 0; i < c->n; i++) {
		ret[i] = outcome_new();
		play_one(&c->agents[i], silence, horizon, &ret[i]);
	}
}
