#include "core/tick/work_due.h"

#include "base/list.h"
#include "base/map.h"
#include "base/str.h"

/* What an effect may take beside the commands that it runs: git, in a large repository. */
enum { EFFECT_SLACK = OV_HOUR };

/* One of the future was intended by a clock that was wrong: how old it is, nobody knows. */
static bool effect_is_late(const struct policy *p, const struct effect *fx, ov_time now)
{
	return fx->created_at <= now && now - fx->created_at > p->effect_longest + EFFECT_SLACK;
}

bool work_due(struct arena *a, const struct world *w, const struct telemetry *t, ov_time now)
{
	struct decisions d = reconcile(a, w, t, now);

	if (d.looks_n)
		return true;
	/* That a run lives is noted with the next tick, whenever that is: nobody waits for it. */
	for (size_t i = 0; i < d.n; i++)
		if (d.p[i].kind != DEC_ACTIVITY)
			return true;
	list_each (it, &w->state->effects)
		if (effect_is_late(w->policy, list_entry(it, struct effect, link), now))
			return true;
	return false;
}

static const bool is_standstill[EVENT_KIND_COUNT] = {
	[EV_DAEMON_STARTED] = true,
	[EV_DAEMON_STOPPED] = true,
	[EV_DAEMON_FAILED] = true,
	[EV_WATCH_ACTED] = true,
	[EV_CLOCK_MOVED] = true,
	[EV_MACHINE_SLEPT] = true,
	[EV_TARGET_MOVED] = true, /* whoever did that, it is no work of the daemon's */
	[EV_ESCALATION_REMINDED] = true,
	[EV_OUTAGE_SUSPECTED] = true,
};

bool event_is_movement(enum event_kind kind)
{
	return !is_standstill[kind];
}

/* Independent of the map's order: a sum of what each run's facts amount to. */
uint64_t observations_mark(const struct map *observations)
{
	uint64_t mark = 0;
	str id;
	void *found;

	for (size_t i = 0; observations && map_next(observations, &i, &id, &found);) {
		const struct observation *o = found;
		const int64_t facts[] = { o->output_at, o->looked_at, o->process_at, o->tree_at,
			o->tokens, o->cost_microusd, o->tool_since, o->retrying_since,
			o->waiting_since, o->tool_in_flight, o->compacting, o->retrying,
			(int64_t)o->waiting_for.n, o->same_calls, o->same_at };

		mark += str_hash(id, str_hash((str){ (const char *)facts, sizeof(facts) }, 0));
	}
	return mark;
}
