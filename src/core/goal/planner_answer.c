/*
 * What a planner answered, as events: the plan with where it came from, or the plan of last resort.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/decide/ask.h"
#include "core/decide/emit.h"
#include "core/decide/move.h"
#include "core/goal/goal.h"
#include "core/goal/spending.h"
#include "core/inbox/inbox.h"
#include "core/life/ladder.h"
#include "core/plan/plan_make.h"

static void emit_generated(struct decide_ctx *cx, const struct effect *fx, const struct out_plan *p)
{
	struct ev_plan_generated *e = emit_plan_generated(cx,
			(struct subject){ .goal = fx->goal_id, .node = fx->node_id });

	e->purpose = fx->purpose;
	e->model_ref = p->model_ref;
	e->template_id = p->template_id;
	e->template_hash = p->template_hash;
	e->inputs = p->inputs;
	e->raw = p->raw;
	e->attempts = p->attempts;
	if (p->has_tokens_in)
		MAYBE_SET(e, tokens_in, p->tokens_in);
	if (p->has_tokens_out)
		MAYBE_SET(e, tokens_out, p->tokens_out);
}

/* By the name with its provider, else by the model's own: "anthropic/NAME". */
static int64_t planner_cost(const struct decide_ctx *cx, str model, const struct usage *u)
{
	int64_t cost = price_of(&cx->policy->prices, model, u);
	size_t slash = str_find_byte(model, '/');

	return cost == COST_UNKNOWN && slash < model.n
			? price_of(&cx->policy->prices, str_sub(model, slash + 1, model.n), u)
			: cost;
}

static void planner_spent(struct decide_ctx *cx, const struct goal *g, const struct out_plan *p)
{
	const struct usage u = { .input = p->tokens_in, .output = p->tokens_out };
	int64_t cost = planner_cost(cx, p->model_ref, &u),
		amounts[RESOURCE_COUNT] = { [RES_TOKENS] = u.input + u.output,
			[RES_COST_MICROUSD] = MAX(cost, (int64_t)0) };
	struct ev_goal_spent *e;

	if (amounts[RES_TOKENS] <= 0)
		return;
	e = emit_spent(cx, about_goal(g), "plan", amounts);
	e->agent = STR("planner");
	e->model = p->model_ref;
	e->tokens_input = u.input;
	e->tokens_output = u.output;
	if (cost != COST_UNKNOWN)
		e->cost_source = STR("prices");
}

enum plan_begun plan_begin(struct decide_ctx *cx, str goal, const struct ev_goal_created *created)
{
	/* The state does not know it yet: what its own words are is in the event. */
	const struct goal g = {
		.id = goal,
		.title = created->title,
		.problem_statement = created->problem_statement,
		.success_criteria = { created->success_criteria.p, created->success_criteria.n },
	};

	if (cx->policy->planner) {
		struct ev_effect_intended *e = effect_intend(cx, FX_PLAN, make_id(cx, "X_"),
				about_goal(&g));

		MAYBE_SET(e, purpose, STR("create"));
		return PLAN_ASKED_FOR;
	}
	if (!cx->policy->fallback)
		return PLAN_NOBODY;
	plan_emit_first(cx, g.id, plan_fallback(cx->arena, &g),
			STR("no planner is configured: the goal is one task"), "fallback");
	return PLAN_MADE;
}

/* The goal's own words as one task, and a person is told that this is all there is. */
static void plan_last_resort(struct decide_ctx *cx, const struct goal *g, str why)
{
	static const enum say keep[] = { SAY_KEEP, SAY_TEXT };
	bool fallback = cx->policy->fallback;
	struct escalation_spec x = { .ask = ASK_PLANNER };
	struct ov_err err = { 0 };
	int r = 0;

	if (fallback)
		x.options = inbox_options(cx->arena, keep);
	if (fallback)
		r = plan_adopt(cx, g, plan_fallback(cx->arena, g), why, "fallback", &err);
	assert(r == 0);
	x.question = arena_printf(cx->arena,
			"%s: " STR_FMT ". overseer plan apply --goal " STR_FMT " FILE gives it %s.",
			fallback ? "a plan with one task is used" : "the goal has no plan",
			STR_ARG(why), STR_ARG(g->id), fallback ? "a better one" : "one");
	escalate_about(cx, about_goal(g), &x);
}

int decide_planner_health(struct decide_ctx *cx, const struct msg_planner_health *p,
		value **ret_result, struct ov_err *err)
{
	str trouble = p->trouble;
	bool told = false;

	(void)ret_result, (void)err;
	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status != ESC_OPEN || x->ask != ASK_PLANNER_KEY)
			continue;
		told = trouble.n && str_eq(x->question, trouble);
		if (!told)
			escalation_close(cx, x, ESC_ANSWERED, STR("that is over"));
	}
	if (trouble.n && !told)
		escalate_about(cx, (struct subject){ 0 },
				&(struct escalation_spec){ .ask = ASK_PLANNER_KEY,
						.question = trouble });
	return 0;
}

static void created(struct decide_ctx *cx, const struct goal *g, const struct outcome *o)
{
	struct ov_err err = { 0 };
	size_t before = cx->out->n;

	/* A person was faster. */
	if (g->plan_version)
		return;
	if (o->ok &&
			plan_adopt(cx, g, o->plan->plan,
					arena_printf(cx->arena, "planned by " STR_FMT,
							STR_ARG(o->plan->model_ref)),
					"planner", &err) == 0)
		return;
	cx->out->n = before;
	plan_last_resort(cx, g,
			arena_printf(cx->arena, "the planner gave none (" STR_FMT ")",
					STR_ARG(o->ok ? str_from(err.msg) : o->detail)));
}

static void split(struct decide_ctx *cx, const struct goal *g, const struct effect *fx,
		const struct outcome *o)
{
	const struct node *n = state_node(cx->state, fx->goal_id, fx->node_id);
	size_t before = cx->out->n;
	struct ov_err err = { 0 };

	/*
	 * Made for a plan that is no longer the goal's, or for a node that goes on by itself now.
	 */
	if (!o->ok || !n || !n->stall.open || o->plan->plan_version != g->plan_version)
		return;
	/* That ends the stall, too: the node has parts now. */
	if (plan_adopt(cx, g, o->plan->plan,
			    arena_printf(cx->arena, STR_FMT " stalled: it is split",
					    STR_ARG(n->id)),
			    "replan", &err) < 0)
		cx->out->n = before;
}

/* The first of the actions that this episode may still take, or NULL. */
static const value *advised(const struct decide_ctx *cx, const struct node *n, const value *actions)
{
	for (size_t i = 0; i < value_count(actions); i++) {
		int rung = status_parse(&rungs, value_str_at(value_item(actions, i), "type"));

		if (rung >= 0 && n->stall.rungs[rung] < rung_cap(cx->policy, (enum rung)rung))
			return value_item(actions, i);
	}
	return NULL;
}

/* The ladder takes the advised rung when, and if, its own rules let it. */
static void diagnosed(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o)
{
	const struct node *n = state_node(cx->state, fx->goal_id, fx->node_id);
	const value *action;
	struct ev_episode_advised *e;

	if (!o->ok || !n || !n->stall.open)
		return;
	action = advised(cx, n, o->plan->actions);
	if (!action)
		return;
	e = emit_episode_advised(cx, about_node(n));
	e->episode = n->stall.episode;
	e->action = value_copy(cx->arena, action);
}

void plan_ended(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o)
{
	const struct goal *g = state_goal(cx->state, fx->goal_id);

	if (!g)
		return;
	if (o->plan->template_id.n)
		emit_generated(cx, fx, o->plan);
	planner_spent(cx, g, o->plan);
	if (g->status != GOAL_ACTIVE && g->status != GOAL_PAUSED)
		return;
	if (str_is(fx->purpose, "create"))
		created(cx, g, o);
	else if (str_is(fx->purpose, "split"))
		split(cx, g, fx, o);
	else if (str_is(fx->purpose, "diagnose"))
		diagnosed(cx, fx, o);
}
