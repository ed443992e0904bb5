/* Why a goal is as it is: who holds it up, what it has used, and what was done last. */
#include "base/arena.h"
#include "base/str.h"
#include "core/capacity/budget.h"
#include "core/explain/explain_state.h"
#include "core/view/view.h"

enum { NAMED = 12 };

enum { SHOWN_DETECTIONS = 3 }; /* the newest */

static bool is_stalled(const struct state *s _unused_, const struct node *n)
{
	return n->stall.open && n->assignment && n->assignment->status == AS_STALLED &&
			n->status != NODE_BLOCKED;
}

static bool is_blocked(const struct state *s _unused_, const struct node *n)
{
	return n->status == NODE_BLOCKED;
}

static bool is_running(const struct state *s, const struct node *n)
{
	return !is_stalled(s, n) && n->status == NODE_IN_PROGRESS;
}

static bool is_queued(const struct state *s, const struct node *n)
{
	return !is_stalled(s, n) && n->status == NODE_QUEUED;
}

static bool is_waiting(const struct state *s, const struct node *n)
{
	return !is_stalled(s, n) && n->status == NODE_TODO;
}

/* Which leaves are in which condition; each is in one. */
static const struct condition {
	const char *name;
	bool (*is)(const struct state *s, const struct node *n);
} conditions[] = {
	{ "stalled", is_stalled },
	{ "blocked", is_blocked },
	{ "running", is_running },
	{ "queued", is_queued },
	{ "waiting", is_waiting },
};

static str named(const struct explain *x, const struct goal *g, const struct condition *c,
		value *ids)
{
	str list = STR("");
	size_t n = 0;

	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *node = g->nodes.p[i];

		if (!node_is_leaf(node) || node->def.removed_in || !c->is(x->state, node))
			continue;
		value_push(x->arena, ids, value_str(x->arena, node->id));
		if (n++ < NAMED)
			list = arena_printf(x->arena, STR_FMT "%s" STR_FMT, STR_ARG(list),
					list.n ? ", " : "", STR_ARG(node->id));
	}
	return n > NAMED ? arena_printf(x->arena, STR_FMT " and %zu more", STR_ARG(list), n - NAMED)
			 : list;
}

str explain_goal_held(const struct explain *x, const struct goal *g)
{
	struct budget_live live = budget_live_of(x->state, g, x->observations, x->now);

	return goal_held_text(x->arena, x->policy, g, &live, x->now);
}

static str goal_now(const struct explain *x, const struct goal *g, value *v)
{
	value *groups = value_object(x->arena);
	str held = explain_goal_held(x, g), now;

	now = g->leaves ? arena_printf(x->arena, "%zu of %zu done", g->leaves_done, g->leaves)
			: STR("it has no plan yet");
	for (size_t i = 0; i < ARRAY_LEN(conditions); i++) {
		value *ids = value_array(x->arena);
		str names = named(x, g, &conditions[i], ids);

		value_put(x->arena, groups, conditions[i].name, ids);
		if (names.n)
			now = arena_printf(x->arena, STR_FMT "; %s: " STR_FMT, STR_ARG(now),
					conditions[i].name, STR_ARG(names));
	}
	if (held.n)
		now = arena_printf(x->arena, STR_FMT "; nothing new is started: " STR_FMT,
				STR_ARG(now), STR_ARG(held));
	value_put(x->arena, v, "nodes", groups);
	return now;
}

static value *goal_evidence(const struct explain *x, const struct goal *g)
{
	value *list = value_array(x->arena);
	const struct node *last = NULL;
	struct budget_live live = budget_live_of(x->state, g, x->observations, x->now);

	for (int r = 0; r < RESOURCE_COUNT; r++)
		if (budget_spent(g, (enum resource)r, x->now) || live.used[r])
			explain_show(x, list, 0, "used%s: " STR_FMT "%s",
					g->automatic ? " in the last 24 h" : "",
					STR_ARG(budget_text(x->arena, (enum resource)r,
							budget_spent(g, (enum resource)r, x->now) +
									live.used[r],
							budget_limit(x->policy, g,
									(enum resource)r))),
					live.used[r] ? ", with what runs" : "");
	for (size_t i = g->detections.n; i > 0 && i + SHOWN_DETECTIONS > g->detections.n; i--) {
		const struct detection *d = g->detections.p[i - 1];

		explain_show(x, list, d->at,
				"oversight found%s" STR_FMT ": " STR_FMT " (%s); %s: " STR_FMT,
				d->node_id.n ? " in " : "", STR_ARG(d->node_id),
				STR_ARG(d->message), status_name(&severities, (int)d->severity),
				status_name(&levels, (int)d->level), STR_ARG(d->did));
	}
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = g->nodes.p[i];

		if (node_is_leaf(n) && n->status == NODE_DONE &&
				(!last || n->ended_at > last->ended_at))
			last = n;
	}
	if (last)
		explain_show(x, list, last->ended_at, "done last: " STR_FMT " (" STR_FMT ")",
				STR_ARG(last->id), STR_ARG(last->status_reason));
	return list;
}

static value *goal_next(const struct explain *x, const struct goal *g)
{
	static const char *const commands[] = { "plan show", "plan history", "events --goal" };
	value *next = value_array(x->arena);

	for (size_t i = 0; i < x->state->escalations.n; i++) {
		const struct escalation *e = x->state->escalations.p[i];

		if (e->status == ESC_OPEN && str_eq(e->goal_id, g->id))
			value_push(x->arena, next,
					value_strf(x->arena, "overseer inbox show %lld",
							(long long)e->number));
	}
	if (g->status == GOAL_PAUSED)
		value_push(x->arena, next,
				value_strf(x->arena, "overseer goal %s " STR_FMT "%s",
						g->health == HEALTH_ABORTED ? "reopen" : "resume",
						STR_ARG(g->id),
						g->health == HEALTH_ABORTED ? " --reason TEXT"
									    : ""));
	if (g->detections.n)
		value_push(x->arena, next,
				value_strf(x->arena, "overseer goal detections " STR_FMT,
						STR_ARG(g->id)));
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		value_push(x->arena, next,
				value_strf(x->arena, "overseer %s " STR_FMT, commands[i],
						STR_ARG(g->id)));
	return next;
}

value *explain_goal(const struct explain *x, const struct goal *g)
{
	struct arena *a = x->arena;
	value *v = value_object(a);
	const char *status = status_name(&goal_statuses, (int)g->status);
	str now;

	value_put(a, v, "id", value_str(a, g->id));
	value_put(a, v, "noun", value_cstr(a, "goal"));
	value_put(a, v, "title", value_str(a, g->title));
	value_put(a, v, "status", value_cstr(a, status));
	value_put(a, v, "state", value_cstr(a, goal_word(g)));
	value_put(a, v, "since", value_time(a, g->ended_at ? g->ended_at : g->updated_at));
	value_put(a, v, "health", value_cstr(a, status_name(&goal_healths, (int)g->health)));
	now = goal_now(x, g, v);
	value_put(a, v, "now", value_str(a, now));
	value_put(a, v, "evidence", goal_evidence(x, g));
	value_put(a, v, "next", goal_next(x, g));
	explain_conclude_goal(x, g, now, v);
	return v;
}
