#include "base/arena.h"
#include "base/str.h"
#include "core/capacity/budget.h"
#include "core/inbox/inbox.h"
#include "core/tick/reconcile_impl.h"

static bool is_open(const struct goal *g)
{
	return g->status == GOAL_ACTIVE || g->status == GOAL_PAUSED;
}

/* What runs use of a budget that several goals have together is used of each of them. */
static void share_spending(struct tick *t)
{
	const struct state *s = t->w->state;
	struct budget_live all = { 0 };

	for (size_t i = 0; i < s->goals.n; i++) {
		all.runs += s->goals.p[i]->automatic ? t->spending[i].live.runs : 0;
		for (int r = 0; s->goals.p[i]->automatic && r < RESOURCE_COUNT; r++)
			all.used[r] += t->spending[i].live.used[r];
	}
	for (size_t i = 0; i < s->goals.n; i++)
		if (s->goals.p[i]->automatic)
			t->spending[i].live = all;
}

void reconcile_spending(struct tick *t)
{
	const struct state *s = t->w->state;

	t->spending = arena_array(t->a, struct spending, s->goals.n + 1);
	list_each (it, &s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);
		const struct observation *o = tick_observation(t, as->run);

		vec_push(&t->seen, o);
		reconcile_task(t, as);
		slots_add(&t->slots, as);
		if (!as->run || !as->node || as->run->status == RUN_ENDED)
			continue;
		budget_add_live(&t->spending[as->node->goal->order].live, as->run, o, t->now);
		if (o && o->same_calls >= LOOP_CALLS_LEAST)
			vec_push(&t->looping, as);
	}
	share_spending(t);
	for (size_t i = 0; i < s->goals.n; i++) {
		t->spending[i].stops = t->spending[i].live.runs && is_open(s->goals.p[i]) &&
				budget_stops(t->w->policy, s->goals.p[i], &t->spending[i].live,
						t->now);
		t->stops |= t->spending[i].stops;
	}
}

static void look_at(struct tick *t, const struct goal *g)
{
	const struct budget_live *live = &t->spending[g->order].live;
	struct budget_verdict v = budget_judge(t->w->policy, g, live, t->now);
	struct decision d = { .goal = g };

	tick_wake(t, budget_wake_at(t->w->policy, g, live, t->now));
	if (v.level == BUDGET_SPENT && budget_room_at(t->w->policy, g, t->now))
		tick_wake(t, budget_room_at(t->w->policy, g, t->now));
	/* The entry may have been about another goal that shares the budget, and has ended. */
	if (v.level != g->budget_level ||
			(v.level == BUDGET_SPENT && g->automatic &&
					!budget_entry(t->w->state, g))) {
		d.kind = DEC_BUDGET;
		d.level = v.level;
		d.resource = v.resource;
		d.used = v.used;
		d.limit = v.limit;
		d.why = budget_spent_text(t->a, t->w->policy, g, &v, t->now);
		tick_add(t, d);
	}
	if (g->status == GOAL_ACTIVE && v.level == g->budget_level &&
			g->health != goal_health_due(g)) {
		d.kind = DEC_HEALTH;
		d.why = g->health < goal_health_due(g) ? STR("oversight found something")
						       : STR("what was found is over");
		tick_add(t, d);
	}
	if (g->status == GOAL_ACTIVE && g->leaves && !g->reopened && !goal_stands(g) &&
			g->leaves_done + g->leaves_cancelled == g->leaves) {
		d.kind = DEC_GOAL_END;
		d.why = STR("all of its nodes are finished");
		tick_add(t, d);
	}
}

/*
 * Oversight stopped it, and asks whether it may go on: that was said, or is another question now.
 */
static str held(const struct goal *g, const struct escalation *x)
{
	bool aborted = g->health == HEALTH_ABORTED, paused = g->status == GOAL_PAUSED;

	if (x->ask == ASK_PAUSED && (!paused || aborted))
		return !is_open(g)       ? STR("the goal has ended")
				: paused ? STR("the goal was aborted")
					 : STR("the goal goes on");
	if (x->ask == ASK_ABORTED && (!paused || !aborted))
		return is_open(g) ? STR("the goal was reopened") : STR("the goal has ended");
	return STR("");
}

/*
 * At the edge of the 24 hours of auto mode's budget there is room for a few runs every hour: that
 * is one matter, and one entry, until the level is fine again, or somebody raised it or gave up
 * the goal.
 */
static str budget_settled(struct tick *t, const struct goal *g)
{
	const struct state *s = t->w->state;
	const struct policy *p = t->w->policy;
	const struct goal *last = g->automatic ? budget_newest(s) : g;
	enum budget_level level =
			budget_judge(p, last, &t->spending[last->order].live, t->now).level;

	if (g->automatic ? g->status == GOAL_CANCELLED : !is_open(g))
		return STR("the goal has ended");
	if (level == BUDGET_FINE || (level != BUDGET_SPENT && budget_was_raised(p, s, g)) ||
			(level != BUDGET_SPENT && !g->automatic))
		return STR("there is budget again");
	if (g->automatic)
		tick_wake(t, MAX(budget_fine_at(p, last, t->now), t->now + OV_SECOND));
	return STR("");
}

/* Questions about a goal that ask for something to be done, which was done. */
static str settled(struct tick *t, const struct goal *g, const struct escalation *x)
{
	str kind = x->kind;

	if (str_is(kind, "budget"))
		return budget_settled(t, g);
	if (str_is(kind, "reopened") && (!is_open(g) || !g->reopened))
		return is_open(g) ? STR("there is work again") : STR("the goal has ended");
	/* Asked for, where there is none; one that is only meant to be looked at stays. */
	if (str_is(kind, "planner") && x->options.n == 0 && (!is_open(g) || g->plan_version))
		return is_open(g) ? STR("it has a plan") : STR("the goal has ended");
	return held(g, x);
}

static void stop_spending(struct tick *t)
{
	if (!t->stops)
		return;
	list_each (it, &t->w->state->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (tick_stops(t, as) && !tick_task_over(t, as))
			tick_add(t,
					(struct decision){ .kind = DEC_BUDGET_STOP,
							.goal = as->node->goal,
							.node = as->node,
							.assignment = as,
							.why = STR("its goal's budget is spent") });
	}
}

void reconcile_goals(struct tick *t)
{
	const struct state *s = t->w->state;

	for (size_t i = 0; i < s->goals.n; i++)
		if (is_open(s->goals.p[i]))
			look_at(t, s->goals.p[i]);
	stop_spending(t);
	for (size_t i = 0; i < s->escalations.n; i++) {
		const struct escalation *x = s->escalations.p[i];
		const struct goal *g = x->status == ESC_OPEN && !x->node_id.n && x->goal_id.n
				? state_goal(s, x->goal_id)
				: NULL;
		str why = g ? settled(t, g, x) : STR("");

		if (why.n)
			tick_add(t,
					(struct decision){ .kind = DEC_SETTLED,
							.goal = g,
							.escalation = x,
							.why = why });
	}
}
