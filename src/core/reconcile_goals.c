#include "base/str.h"
#include "core/budget.h"
#include "core/reconcile_impl.h"

static bool is_open(const struct goal *g)
{
	return g->status == GOAL_ACTIVE || g->status == GOAL_PAUSED;
}

static void look_at(struct tick *t, const struct goal *g)
{
	struct budget_verdict v = budget_judge(t->w->policy, g);
	struct decision d = { .goal = g };

	if (v.level != g->budget_level) {
		d.kind = DEC_BUDGET;
		d.why = budget_text(t->a, v.resource, v.used, v.limit);
		tick_add(t, d);
	}
	if (g->status == GOAL_ACTIVE && g->leaves && !g->reopened &&
			g->leaves_done + g->leaves_cancelled == g->leaves) {
		d.kind = DEC_GOAL_END;
		d.why = STR("all of its nodes are finished");
		tick_add(t, d);
	}
}

/* Questions about a goal that ask for something to be done, which was done. */
static str settled(const struct policy *p, const struct goal *g, const struct escalation *x)
{
	str kind = x->kind;

	if (str_is(kind, "budget") && (!is_open(g) || budget_judge(p, g).level != BUDGET_SPENT))
		return is_open(g) ? STR("there is budget again") : STR("the goal has ended");
	if (str_is(kind, "reopened") && (!is_open(g) || !g->reopened))
		return is_open(g) ? STR("there is work again") : STR("the goal has ended");
	/* Asked for, where there is none; one that is only meant to be looked at stays. */
	if (str_is(kind, "planner") && x->options.n == 0 && (!is_open(g) || g->plan_version))
		return is_open(g) ? STR("it has a plan") : STR("the goal has ended");
	return STR("");
}

void reconcile_goals(struct tick *t)
{
	const struct state *s = t->w->state;

	for (size_t i = 0; i < s->goals.n; i++)
		if (is_open(s->goals.p[i]))
			look_at(t, s->goals.p[i]);
	for (size_t i = 0; i < s->escalations.n; i++) {
		const struct escalation *x = s->escalations.p[i];
		const struct goal *g = x->status == ESC_OPEN && !x->node_id.n && x->goal_id.n
				? state_goal(s, x->goal_id)
				: NULL;
		str why = g ? settled(t->w->policy, g, x) : STR("");

		if (why.n)
			tick_add(t,
					(struct decision){ .kind = DEC_SETTLED,
							.goal = g,
							.escalation = x,
							.why = why });
	}
}
