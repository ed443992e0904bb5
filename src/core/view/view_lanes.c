/*
 * Agents that are given no work for a while, as people see them: why, since when, until when,
 * how known.
 */
#include "base/arena.h"
#include "base/str.h"
#include "core/capacity/lane.h"
#include "core/view/view.h"

value *view_lane(struct arena *a, const struct world *w, const struct lane *l, ov_time now)
{
	const struct lane_rule *rule = l ? &lane_rules[l->kind] : NULL;
	value *v = value_object(a);
	const struct escalation *entry;

	if (!l)
		return value_null(a);
	entry = lane_entry(w->state, l);
	value_put(a, v, "agent", value_str(a, l->agent));
	value_put(a, v, "kind", value_cstr(a, status_name(&block_kinds, (int)l->kind)));
	value_put(a, v, "state", value_cstr(a, rule->state ? rule->state : ""));
	value_put(a, v, "waits", value_bool(a, lane_is_shut(l, now)));
	value_put(a, v, "detail", value_str(a, l->detail));
	value_put(a, v, "since", value_time(a, l->since));
	value_put(a, v, "resets_at", value_time(a, l->resets_at));
	value_put(a, v, "until", value_time(a, l->guessed ? 0 : l->resets_at));
	value_put(a, v, "tried_again_at", value_time(a, l->guessed ? l->resets_at : l->probe_at));
	value_put(a, v, "ends_when", value_cstr(a, rule->ends ? rule->ends : ""));
	value_put(a, v, "times", value_int(a, l->times));
	value_put(a, v, "known_by", value_cstr(a, status_name(&fact_signs, (int)l->known_by)));
	value_put(a, v, "how", value_str(a, lane_how(a, l)));
	value_put(a, v, "run", l->run_id.n ? value_str(a, l->run_id) : value_null(a));
	value_put(a, v, "words", value_str(a, l->words));
	value_put(a, v, "waiting",
			value_int(a, (int64_t)lane_waiting(w->state, w->policy, l->agent)));
	value_put(a, v, "escalation", entry ? value_int(a, entry->number) : value_null(a));
	return v;
}

value *view_lanes(struct arena *a, const struct world *w, ov_time now)
{
	value *list = value_array(a);

	for (size_t i = 0; i < w->state->lanes.n; i++)
		if (lane_is_shut(w->state->lanes.p[i], now))
			value_push(a, list, view_lane(a, w, w->state->lanes.p[i], now));
	return list;
}
