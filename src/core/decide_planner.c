/* What a planner answered, as events: the plan with where it came from, or the plan of last resort. */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/decide_impl.h"
#include "core/plan_make.h"

static void emit_generated(struct decide_ctx *cx, const struct effect *fx, const value *data)
{
	static const char *const texts[] = { "model_ref", "template_id", "template_hash" };
	static const char *const others[] = { "inputs", "raw", "attempts", "tokens_in",
		"tokens_out" };
	struct event *e = emit(cx, EV_PLAN_GENERATED,
			(struct subject){ .goal = fx->goal_id, .node = fx->node_id });

	ev_str(cx, e, "purpose", fx->purpose);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		ev_str(cx, e, texts[i], value_str_at(data, texts[i]));
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (value_at(data, others[i]))
			value_put(cx->arena, e->data, others[i],
					value_copy(cx->arena, value_at(data, others[i])));
}

static void emit_spent(struct decide_ctx *cx, const struct goal *g, const value *data)
{
	int64_t tokens = value_int_at(data, "tokens_in") + value_int_at(data, "tokens_out");
	value *amounts = value_object(cx->arena);
	struct event *e;

	if (tokens <= 0)
		return;
	value_put(cx->arena, amounts, status_name(&resources, RES_TOKENS),
			value_int(cx->arena, tokens));
	e = emit(cx, EV_GOAL_SPENT, about_goal(g));
	value_put(cx->arena, e->data, "amounts", amounts);
	ev_cstr(cx, e, "on", "plan");
}

/* The goal's own words as one task, and a person is told that this is all there is. */
void plan_last_resort(struct decide_ctx *cx, const struct goal *g, str why)
{
	static const char *const options[] = { "keep", NULL };
	struct ov_err err = { 0 };
	int r;

	r = plan_adopt(cx, g, plan_fallback(cx->arena, g), why, "fallback", &err);
	assert(r == 0);
	escalate_about(cx, about_goal(g),
			&(struct escalation_spec){ .kind = "planner",
					.question = arena_printf(cx->arena,
							"a plan with one task is used: " STR_FMT
							". Apply a better one, or keep it.",
							STR_ARG(why)),
					.options = options });
}

static void created(struct decide_ctx *cx, const struct goal *g, const struct outcome *o)
{
	struct ov_err err = { 0 };
	size_t before = cx->out->n;

	/* A person was faster. */
	if (g->plan_version)
		return;
	if (o->ok &&
			plan_adopt(cx, g, value_at(o->data, "plan"),
					arena_printf(cx->arena, "planned by " STR_FMT,
							STR_ARG(value_str_at(o->data,
									"model_ref"))),
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

	/* Made for a plan that is no longer the goal's, or for a node that goes on by itself now. */
	if (!o->ok || !n || !n->episode_open ||
			value_int_at(o->data, "plan_version") != g->plan_version)
		return;
	/* That ends the stall, too: the node has parts now. */
	if (plan_adopt(cx, g, value_at(o->data, "plan"),
			    arena_printf(cx->arena, STR_FMT " stalled: it is split",
					    STR_ARG(n->id)),
			    "replan", &err) < 0)
		cx->out->n = before;
}

void plan_ended(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o)
{
	const struct goal *g = state_goal(cx->state, fx->goal_id);

	if (!g)
		return;
	if (value_str_at(o->data, "template_id").n)
		emit_generated(cx, fx, o->data);
	emit_spent(cx, g, o->data);
	if (g->status != GOAL_ACTIVE && g->status != GOAL_PAUSED)
		return;
	if (str_is(fx->purpose, "create"))
		created(cx, g, o);
	else if (str_is(fx->purpose, "split"))
		split(cx, g, fx, o);
}
