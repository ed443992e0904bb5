/* What a goal is: creating and changing its definition; and the daemon's own coming and going. */
#include "core/goal/goal.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/decide/check.h"
#include "core/decide/emit.h"
#include "core/model/limits.h"
#include "data/value/json.h"

static const char *const priorities[] = { "urgent", "high", "normal", "low", "background" };
#define AMOUNT_MAX ((int64_t)1000 * 1000 * 1000 * 1000 * 1000)

static int parse_priority(str text, int64_t *ret, struct ov_err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(priorities); i++)
		if (str_is(text, priorities[i])) {
			*ret = (int64_t)i + 1;
			return 0;
		}
	return ov_fail(err, OV_EINVALID,
			"priority \"" STR_FMT
			"\" is not one of urgent, high, normal, low, background",
			STR_ARG(text));
}

static int check_risks(struct decide_ctx *cx, const value *risks, struct ov_err *err)
{
	static const char *const keys[] = { "risk", "impact", "mitigation" };
	int r = 0;

	if (value_count(risks) > LIMIT_LIST)
		return ov_fail(err, OV_ELIMIT, "risks has %zu entries, at most %d are allowed",
				value_count(risks), LIMIT_LIST);
	for (size_t i = 0; r == 0 && i < value_count(risks); i++) {
		const value *risk = value_item(risks, i);
		str path = arena_printf(cx->arena, "risks[%zu]", i), text;

		if (risk->kind != V_OBJECT)
			return ov_fail(err, OV_EINVALID, STR_FMT " must be an object",
					STR_ARG(path));
		r = value_only_keys(risk, path, keys, ARRAY_LEN(keys), err);
		for (size_t k = 0; r == 0 && k < ARRAY_LEN(keys); k++) {
			if (k && !value_at(risk, keys[k]))
				continue;
			r = value_need_str(risk, path, keys[k], &text, err);
			if (r == 0)
				r = text_check(path, text, LIMIT_NOTE, err);
		}
	}
	return r;
}

/* A number, or one of the words that stand for one: "unlimited" (-1) and "default" (0). */
static int parse_amount(str path, const value *v, bool budget, int64_t *ret, struct ov_err *err)
{
	if (v->kind == V_STR && budget && str_is(v->s, "unlimited"))
		*ret = -1;
	else if (v->kind == V_STR && str_is(v->s, "default"))
		*ret = 0;
	else if (v->kind == V_INT && v->i > 0 && v->i <= AMOUNT_MAX)
		*ret = v->i;
	else if (budget && v->kind == V_INT && v->i == 0)
		return ov_fail(err, OV_EINVALID,
				STR_FMT ": 0 is not a budget; write \"unlimited\" if there is to "
					"be none",
				STR_ARG(path));
	else
		return ov_fail(err, OV_EINVALID, STR_FMT " must be a number from 1 to %lld%s",
				STR_ARG(path), (long long)AMOUNT_MAX,
				budget ? ", \"unlimited\" or \"default\"" : " or \"default\"");
	return 0;
}

static int read_amounts(struct decide_ctx *cx, const char *key, bool budget, const value **amounts,
		struct ov_err *err)
{
	value *out = value_object(cx->arena);
	int r;

	if (!*amounts)
		return 0;
	r = value_only_keys(*amounts, str_from(key), resources.names, RESOURCE_COUNT, err);
	for (size_t i = 0; r == 0 && i < value_count(*amounts); i++) {
		const struct member *m = &(*amounts)->object.members[i];
		int64_t n = 0;

		r = parse_amount(arena_printf(cx->arena, "%s." STR_FMT, key, STR_ARG(m->key)),
				m->value, budget, &n, err);
		value_set(cx->arena, out, m->key, value_int(cx->arena, n));
	}
	*amounts = out;
	return r;
}

/* With what holds for the goal already, if there is one. */
static int read_oversight(struct decide_ctx *cx, const struct goal *g, const value **oversight,
		struct ov_err *err)
{
	value *all;
	int r;

	if (!*oversight)
		return 0;
	r = oversight_join(cx->arena, g ? g->oversight : STR(""), *oversight, &all, err);
	if (r < 0)
		return ov_wrap(err, r, "oversight");
	*oversight = all;
	return 0;
}

/*
 * What the operation says of a goal, checked: its parameters go to the members of the event that
 * are of the same name and type. The others stay as they are. g: NULL, it is new.
 */
static int define(struct decide_ctx *cx, enum op_id op, const void *params, const struct goal *g,
		struct ev_goal_updated *e, struct ov_err *err)
{
	const struct shape shape = event_shape(EV_GOAL_UPDATED);
	int r = params_check(op, params, err);

	shape_copy(op_shape(op), params, &shape, e);
	if (r == 0)
		r = check_risks(cx, e->risks, err);
	if (r == 0)
		r = read_amounts(cx, "estimate", false, &e->estimate, err);
	if (r == 0)
		r = read_amounts(cx, "budget", true, &e->budget, err);
	if (r == 0)
		r = read_oversight(cx, g, &e->oversight, err);
	e->title = str_trim(e->title);
	if (r == 0 && e->has_title && !e->title.n) {
		ov_fail(err, OV_EINVALID, "a goal needs a title");
		r = ov_next(err, "overseer goal %s --title TEXT", g ? "update GOAL" : "create");
	}
	return r;
}

/* The event of a goal of which this was said. */
static int create(struct decide_ctx *cx, str id, const struct pr_goal_create *p,
		struct ev_goal_created **ret, struct ov_err *err)
{
	struct ev_goal_updated said = { .has_title = true,
		.has_priority = true,
		.priority = PRIORITY_NORMAL };
	const struct shape from = event_shape(EV_GOAL_UPDATED), to = event_shape(EV_GOAL_CREATED);
	struct ev_goal_created *e = emit_goal_created(cx, (struct subject){ .goal = id });
	int r = define(cx, OP_goal_create, p, NULL, &said, err);

	if (r == 0 && p->has_priority)
		r = parse_priority(p->priority, &said.priority, err);
	if (r == 0 && p->origin_context)
		r = text_check(STR("origin_context"), json_text(cx->arena, p->origin_context),
				LIMIT_TEXT, err);
	if (r < 0)
		return r;
	shape_copy(&from, &said, &to, e);
	e->origin_session = p->origin_session;
	e->origin_context = p->origin_context;
	*ret = e;
	return 0;
}

int decide_goal_create(struct decide_ctx *cx, const struct pr_goal_create *p, value **ret_result,
		struct ov_err *err)
{
	enum plan_begun begun = PLAN_NOBODY;
	value *warnings = value_array(cx->arena);
	struct ev_goal_created *e;
	str id;
	int r = 0;

	if (cx->state->goals.n >= LIMIT_GOALS)
		return ov_fail(err, OV_ELIMIT, "%d goals are the most that one store holds",
				LIMIT_GOALS);
	if (p->plan)
		r = plan_refuse(cx, p->plan, &warnings, err);
	if (r < 0)
		return r;
	id = make_id(cx, "goal_");
	r = create(cx, id, p, &e, err);
	if (r < 0)
		return r;
	if (p->plan)
		plan_emit_first(cx, id, p->plan, STR("given with the goal"), "file");
	else if (!p->no_plan)
		begun = plan_begin(cx, id, e);
	*ret_result = value_object(cx->arena);
	value_put(cx->arena, *ret_result, "goal", value_str(cx->arena, id));
	value_put(cx->arena, *ret_result, "plan_version",
			value_int(cx->arena, p->plan || begun == PLAN_MADE));
	value_put(cx->arena, *ret_result, "planning",
			value_bool(cx->arena, begun == PLAN_ASKED_FOR));
	value_put(cx->arena, *ret_result, "warnings", warnings);
	return 0;
}

int decide_goal_update(struct decide_ctx *cx, const struct pr_goal_update *p, value **ret_result,
		struct ov_err *err)
{
	const struct shape shape = event_shape(EV_GOAL_UPDATED);
	str reason = str_trim(p->reason);
	struct ev_goal_updated *e;
	value *changed;
	struct goal *g;
	int r = state_find_goal(cx->state, p->goal, &g, err);

	if (r < 0)
		return r;
	if (g->status == GOAL_ARCHIVED)
		return ov_fail(err, OV_ESTATE,
				"goal " STR_FMT " is archived: nothing about it changes any more",
				STR_ARG(g->id));
	e = emit_goal_updated(cx, about_goal(g));
	r = define(cx, OP_goal_update, p, g, e, err);
	e->has_priority = p->has_priority;
	if (r == 0 && p->has_priority)
		r = parse_priority(p->priority, &e->priority, err);
	if (r < 0)
		return r;
	e->reason = reason.n ? reason : STR("no reason was given");
	changed = shape_given(cx->arena, &shape, e);
	if (!value_count(changed)) {
		ov_fail(err, OV_EINVALID, "nothing was given that shall change");
		return ov_next(err, "overseer help goal update");
	}
	*ret_result = value_object(cx->arena);
	value_put(cx->arena, *ret_result, "goal",
			value_str(cx->arena, arena_str(cx->arena, g->id)));
	value_put(cx->arena, *ret_result, "changed", changed);
	return 0;
}
