/* Asking the planner: about a goal, or about one node of it that stalled. */
#include "app/exec/executor_impl.h"

#include "app/engine/engine.h"
#include "app/plan/planning.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/state/state.h"

enum { EVIDENCE_BYTES = 4000 };

static void planned(void *user, const struct outcome *o)
{
	struct task *t = user;

	t->planning = NULL;
	outcome_set(t, o);
	task_report(t);
}

static void add_line(struct buf *b, const char *what, str s)
{
	if (s.n)
		buf_addf(b, "%s: " STR_FMT "\n", what, STR_ARG(utf8_truncate(s, 1000)));
}

/* What is known of a stall, in lines. It quotes agents: data for the model, no orders. */
static str evidence_of(struct arena *a, const struct node *n)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	const struct assignment *as = n->assignment;

	add_line(&b, "Stalled", n->stall.reason);
	add_line(&b, "State", n->status_reason);
	add_line(&b, "The agent reported", n->report.merged);
	if (as) {
		buf_addf(&b, "Attempts: %lld, by " STR_FMT "\n", (long long)as->attempt,
				STR_ARG(as->agent));
		add_line(&b, "Last step", as->reason);
		add_line(&b, "What the last attempt was told", as->feedback);
	}
	return utf8_truncate(utf8_clean(a, str_trim(buf_str(&b))), EVIDENCE_BYTES);
}

/* Everything of the ladder; what may really be done now is decided when the answer is there. */
static value *ladder_actions(struct arena *a)
{
	value *list = value_array(a);

	for (int i = 0; i < RUNG_COUNT; i++)
		value_push(a, list, value_cstr(a, status_name(&rungs, i)));
	return list;
}

static bool plan_is_over(const struct goal *g)
{
	return !g || (g->status != GOAL_ACTIVE && g->status != GOAL_PAUSED);
}

/* A plan for a goal that is over is of no use, and making it may cost money. */
void executor_plan_published(struct executor *x, const struct event *e)
{
	const struct state *s = engine_state(x->engine);

	if (e->kind != EV_GOAL_STATUS || !plan_is_over(state_goal(s, e->goal)))
		return;
	list_each (it, &x->tasks) {
		struct task *t = list_entry(it, struct task, link);
		const struct effect *fx = t->planning ? state_effect(s, t->effect_id) : NULL;

		if (!fx || !str_eq(fx->goal_id, e->goal))
			continue;
		planning_cancel(t->planning);
		t->planning = NULL;
		outcome_plain(t, ENDED_ERROR, STR("its goal is over"));
		report_later(t);
	}
}

void perform_plan(struct task *t, const struct assignment *none _unused_)
{
	struct executor *x = t->x;
	const struct state *s = engine_state(x->engine);
	const struct effect *fx = state_effect(s, t->effect_id);
	struct planning_request rq = { .config = x->o.config };
	struct ov_err err = { 0 };

	rq.goal = state_goal(s, fx->goal_id);
	rq.node = fx->node_id.n ? state_node(s, fx->goal_id, fx->node_id) : NULL;
	if (plan_is_over(rq.goal) || !planner_purpose_from(fx->purpose, &rq.purpose) ||
			(rq.purpose != PLANNER_CREATE && !rq.node)) {
		ov_fail(&err, OV_ENOTFOUND, "there is nothing to plan for " STR_FMT " any more",
				STR_ARG(fx->goal_id));
		fail_later(t, &err);
		return;
	}
	if (rq.node)
		rq.evidence = evidence_of(&t->arena, rq.node);
	rq.allowed = ladder_actions(&t->arena);
	t->planning = planning_start(x->planning, &rq, planned, t);
}
