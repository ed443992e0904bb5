/* When detections are judged, and what is handed on of those that helped. */
#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/intervene/aftermath.h"
#include "core/prompt/handoff.h"

/* A verdict as an event. false_positive: a person says that there was nothing to find. */
static void detection_judge(struct decide_ctx *cx, const struct detection *d,
		enum effectiveness verdict, str because, bool false_positive)
{
	struct ev_detection_judged *e = emit_detection_judged(cx,
			(struct subject){ .goal = d->goal_id, .node = d->node_id });

	e->detection = d->id;
	e->effectiveness = verdict;
	e->because = because;
	e->false_positive = false_positive;
}

/* The verdict that the batch from `from` on has given; NULL: none. */
static const struct ev_detection_judged *judged_in(const struct decide_ctx *cx, size_t from,
		str detection)
{
	for (size_t i = cx->out->n; i-- > from;)
		if (cx->out->p[i]->kind == EV_DETECTION_JUDGED &&
				str_eq(as_detection_judged(cx->out->p[i])->detection, detection))
			return as_detection_judged(cx->out->p[i]);
	return NULL;
}

static bool is_worse_since(const struct goal *g, const struct detection *d)
{
	for (size_t i = g->detections.n; i-- > 0;) {
		const struct detection *x = g->detections.p[i];

		if (x == d)
			return false;
		if (x->type == d->type && x->round == d->round && x->severity > d->severity &&
				str_eq(x->node_id, d->node_id))
			return true;
	}
	return false;
}

static void judge(struct decide_ctx *cx, const struct goal *g, const struct detection *d,
		struct aftermath *m)
{
	struct verdict v;

	m->worse = is_worse_since(g, d);
	v = aftermath_judge(cx->arena, d, m);
	if (v.effectiveness != EFFECT_OPEN)
		detection_judge(cx, d, v.effectiveness, v.because, false);
}

static size_t known_iterations(const struct node *n, const struct iteration *now,
		const struct iteration *ret[LIMIT_ITERATIONS + 1])
{
	size_t count = 0;

	for (size_t i = 0; n && i < n->iterations.n; i++)
		if (!now || n->iterations.p[i]->number < now->number)
			ret[count++] = n->iterations.p[i];
	if (now)
		ret[count++] = now;
	return count;
}

void aftermath_review(struct decide_ctx *cx, const struct node *n, const struct iteration *now)
{
	const struct iteration *all[LIMIT_ITERATIONS + 1];
	const struct goal *g = n->goal;
	struct aftermath m = { all, known_iterations(n, now, all), NULL, false, false, false };
	struct oversight o;

	oversight_for(cx->policy, g, n, &o);
	m.t = &o.t;
	for (size_t i = 0; i < g->detections.n; i++) {
		const struct detection *d = g->detections.p[i];

		if (d->effectiveness == EFFECT_OPEN && str_eq(d->node_id, n->id) &&
				d->iteration < now->number && !judged_in(cx, 0, d->id))
			judge(cx, g, d, &m);
	}
}

/* What is open about the node, or about the goal as a whole when it is NULL. */
static void settle(struct decide_ctx *cx, size_t from, const struct goal *g, const struct node *n,
		bool accepted)
{
	const struct iteration *all[LIMIT_ITERATIONS + 1];
	struct aftermath m = { all, known_iterations(n, NULL, all), NULL, false, accepted, true };
	struct oversight o;

	if (n)
		oversight_for(cx->policy, g, n, &o);
	m.t = &o.t;
	for (size_t i = 0; i < g->detections.n; i++) {
		const struct detection *d = g->detections.p[i];

		if (d->effectiveness == EFFECT_OPEN && str_eq(d->node_id, n ? n->id : STR("")) &&
				!judged_in(cx, from, d->id))
			judge(cx, g, d, &m);
	}
}

static bool ends_node(const struct event *e)
{
	return e->kind == EV_NODE_STATUS &&
			(as_node_status(e)->to == NODE_CANCELLED ||
					as_node_status(e)->to == NODE_DONE);
}

static bool ends_goal(const struct event *e)
{
	return e->kind == EV_GOAL_STATUS &&
			(as_goal_status(e)->to == GOAL_COMPLETED ||
					as_goal_status(e)->to == GOAL_CANCELLED);
}

void aftermath_settle(struct decide_ctx *cx, size_t from)
{
	for (size_t i = from, end = cx->out->n; i < end; i++) {
		const struct event *e = cx->out->p[i];
		const struct goal *g = state_goal(cx->state, e->goal);
		const struct node *n = state_node(cx->state, e->goal, e->node);

		if (!g || !g->detections.n)
			continue;
		if (e->kind == EV_NODE_ACCEPTED && n)
			settle(cx, from, g, n, true);
		else if (ends_node(e) && n)
			settle(cx, from, g, n, false);
		else if (ends_goal(e))
			settle(cx, from, g, NULL, as_goal_status(e)->to == GOAL_COMPLETED);
	}
}

value *aftermath_lines(struct decide_ctx *cx, size_t from, const struct goal *g,
		const struct node *n)
{
	value *list = value_array(cx->arena);
	size_t i = g->detections.n;

	while (i-- > 0 && value_count(list) < HANDOFF_OVERSIGHT) {
		const struct detection *d = g->detections.p[i];
		const struct ev_detection_judged *e = judged_in(cx, from, d->id);
		enum effectiveness verdict = e ? e->effectiveness : d->effectiveness;
		str line;

		if (verdict != EFFECT_HELPFUL || !str_eq(d->node_id, n ? n->id : STR("")))
			continue;
		line = arena_printf(cx->arena,
				"oversight: %s (%s) at iteration %lld, answered by %s, "
				"helped: " STR_FMT,
				status_name(&detectors, (int)d->type),
				status_name(&severities, (int)d->severity), (long long)d->iteration,
				status_name(&levels, (int)d->level),
				STR_ARG(e ? e->because : d->judged_because));
		value_push(cx->arena, list,
				value_str(cx->arena, utf8_truncate(line, AFTERMATH_LINE)));
	}
	return list;
}
