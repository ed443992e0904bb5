#include "core/oversight/repetition.h"

#include "base/arena.h"
#include "base/str.h"

enum {
	CALL_SEED = 6,
	OUTPUT_SEED = 7,
	SLOW_CALL = 20 * OV_SECOND, /* each: it may wait for something by asking again and again */
};

/* There are none: it is about this run alone. */
static const struct history no_history = { .completion_centi = -1 };

struct detect_context repetition_context(const struct node *n, str call)
{
	return (struct detect_context){ .history = &no_history,
		.objective = n->def.objective.n ? n->def.objective : n->def.name,
		.call = call,
		.subject = n->key,
		.round = n->watch.round };
}

/* What is found when a run is judged comes after its end. */
static bool is_answered(const struct goal *g, const struct run *r)
{
	for (size_t i = g->detections.n; i-- > 0;)
		if (g->detections.p[i]->type == DETECT_STUCK &&
				str_eq(g->detections.p[i]->run_id, r->id))
			return true;
	return false;
}

/* A run before this one did the same, and nobody had a say since. */
static bool was_found(const struct node *n, str call, const struct found *f)
{
	const struct goal *g = n->goal;
	struct detect_context cx = repetition_context(n, call);
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str fingerprint = detection_fingerprint(&a, &cx, f);

	for (size_t i = g->detections.n; i-- > 0;)
		if (str_eq(g->detections.p[i]->fingerprint, fingerprint))
			return true;
	return false;
}

static struct found repetition_found(const struct node *n, const struct repeated *of)
{
	struct found f = { .type = DETECT_STUCK,
		.count = of->calls,
		.in_run = true,
		.output = of->output,
		.key = str_hash(of->call, of->output ? OUTPUT_SEED : CALL_SEED) };

	f.severity = was_found(n, of->call, &f) ? SEVERITY_CRITICAL : SEVERITY_HIGH;
	return f;
}

/* What a run made again and again; a loop of words has no call. */
str repetition_call(const struct run *r)
{
	return r->tool.n ? r->tool : STR("the same words");
}

bool repetition_ended(const struct oversight *o, const struct node *n, const struct run *r,
		struct found *ret)
{
	if (r->trouble != TROUBLE_LOOP || !o->t.same_call_count || is_answered(n->goal, r))
		return false;
	*ret = repetition_found(n,
			&(struct repeated){ MAX(r->tool_repeats, (int64_t)LOOP_CALLS_LEAST),
					repetition_call(r), false });
	return true;
}

bool repetition_judge(const struct policy *p, const struct assignment *as,
		const struct repeated *of, struct repetition *ret)
{
	if (of->calls < LOOP_CALLS_LEAST || is_answered(as->node->goal, as->run))
		return false;
	oversight_for(p, as->node->goal, as->node, &ret->o);
	if (!ret->o.t.same_call_count || of->calls < ret->o.t.same_call_count)
		return false;
	ret->found = repetition_found(as->node, of);
	ret->level = detection_level(&ret->o, &no_history, &ret->found);
	return ret->level != LEVEL_NONE;
}

bool repetition_calls(const struct policy *p, const struct assignment *as,
		const struct observation *o, ov_time now)
{
	ov_time lasted = now - o->same_since;
	struct oversight v;

	/* What it does has its effect, though the answer is the same. */
	if (o->tree_at > o->same_since)
		return false;
	if (lasted < o->same_calls * SLOW_CALL)
		return true;
	oversight_for(p, as->node->goal, as->node, &v);
	return lasted >= v.t.same_output_seconds * OV_SECOND;
}

/*
 * Whoever writes all the time is never looked at for its silence: so its tree is looked at when
 * this begins to look like a loop, for something to compare with, and again when it does.
 */
enum repetition_look repetition_output(const struct policy *p, const struct assignment *as,
		const struct observation *o)
{
	struct oversight v;
	/*
	 * A change that a look saw may be older than the loop: from then on it is nothing but
	 * a loop.
	 */
	ov_time since = MAX(o->same_since, o->tree_at), lasted = o->same_at - since;

	oversight_for(p, as->node->goal, as->node, &v);
	if (!v.t.same_call_count || !v.t.same_output_seconds ||
			is_answered(as->node->goal, as->run) ||
			o->same_calls < v.t.same_call_count / 4)
		return REPETITION_WAIT;
	if (o->looked_at < since)
		return REPETITION_LOOK;
	if (o->same_calls < v.t.same_call_count || lasted < v.t.same_output_seconds * OV_SECOND)
		return REPETITION_WAIT;
	return o->looked_at < since + lasted - lasted / 4 ? REPETITION_LOOK : REPETITION_JUDGE;
}
