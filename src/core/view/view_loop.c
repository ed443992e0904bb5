/*
 * Runs that make the same call again and again, or write the same: what was seen, which order
 * was given.
 */
#include "base/arena.h"
#include "base/str.h"
#include "core/view/view.h"
#include "data/value/json.h"

enum { LOOPS_SHOWN = 100 };

/* What was repeated within one run; a detector that compares runs finds other things as well. */
static bool is_of_a_run(const value *evidence)
{
	return !value_str_at(evidence, "treeHash").n &&
			(value_str_at(evidence, "repeatedToolCall").n ||
					value_str_at(evidence, "repeatedOutput").n);
}

/* Until its outcome is judged by the work that follows, or a person has had a say. */
static bool is_open(const struct state *s, const struct assignment *as, const struct detection *d)
{
	const struct run *r = state_run(s, d->run_id);

	return d->type == DETECT_STUCK && str_eq(d->node_id, as->node_id) && r &&
			str_eq(r->assignment_id, as->id) && d->round == as->node->watch.round &&
			d->effectiveness == EFFECT_OPEN && d->level != LEVEL_NONE;
}

bool loop_seen(struct arena *a, const struct state *s, const struct assignment *as,
		struct loop_seen *ret)
{
	const struct goal *g = as->node ? as->node->goal : NULL;

	for (size_t i = g ? g->detections.n : 0; i-- > 0;) {
		const struct detection *d = g->detections.p[i];
		value *evidence = NULL;
		str output;

		if (!is_open(s, as, d) || json_parse(a, d->evidence, NULL, &evidence, NULL) < 0 ||
				!is_of_a_run(evidence))
			continue;
		output = value_str_at(evidence, "repeatedOutput");
		*ret = (struct loop_seen){ .found = d,
			.repeated = output.n ? output : value_str_at(evidence, "repeatedToolCall"),
			.times = value_int_at(evidence, "occurrences"),
			.live = as->run && str_eq(as->run->id, d->run_id) &&
					as->run->status == RUN_RUNNING };
		ret->text = arena_printf(a,
				"the same %s %lld times in one run: \"" STR_FMT "\"; %s: " STR_FMT,
				output.n ? "output" : "call", (long long)ret->times,
				STR_ARG(ret->repeated), status_name(&levels, (int)d->level),
				STR_ARG(d->did));
		return true;
	}
	return false;
}

value *view_loops(struct arena *a, const struct state *s)
{
	value *list = value_array(a);

	list_each (it, &s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);
		struct loop_seen l;
		value *v;

		if (as->stage == STAGE_NONE || value_count(list) == LOOPS_SHOWN ||
				!loop_seen(a, s, as, &l))
			continue;
		v = view_node_brief(a, as->node);
		value_put(a, v, "run", value_str(a, l.found->run_id));
		value_put(a, v, "detection", value_str(a, l.found->id));
		value_put(a, v, "at", value_time(a, l.found->at));
		value_put(a, v, "repeated", value_str(a, l.repeated));
		value_put(a, v, "times", value_int(a, l.times));
		value_put(a, v, "level", value_cstr(a, status_name(&levels, (int)l.found->level)));
		value_put(a, v, "did", value_str(a, l.found->did));
		value_put(a, v, "going_on", value_bool(a, l.live));
		value_put(a, v, "text", value_str(a, l.text));
		value_push(a, list, v);
	}
	return list;
}
