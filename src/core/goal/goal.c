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

/* The members of a goal's definition that are texts and lists of texts. */
static const struct {
	const char *key;
	size_t max;
} texts[] = { { "title", LIMIT_TITLE }, { "problem_statement", LIMIT_TEXT },
	{ "owner", LIMIT_NAME }, { "repo_context", LIMIT_TEXT } };
static const char *const lists[] = { "success_criteria", "non_goals", "constraints", "assumptions",
	"stakeholders", "tags" };

static int check_list(const value *list, const char *key, struct ov_err *err)
{
	int r = 0;

	if (value_count(list) > LIMIT_LIST)
		return ov_fail(err, OV_ELIMIT, "%s has %zu entries, at most %d are allowed", key,
				value_count(list), LIMIT_LIST);
	for (size_t i = 0; r == 0 && i < value_count(list); i++)
		if (value_item(list, i)->kind == V_STR)
			r = text_check(str_from(key), value_item(list, i)->s, LIMIT_NOTE, err);
	return r;
}

static int check_risks(struct decide_ctx *cx, const value *risks, struct ov_err *err)
{
	static const char *const keys[] = { "risk", "impact", "mitigation" };
	int r = check_list(risks, "risks", err);

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

static int copy_amounts(struct decide_ctx *cx, struct event *e, const value *params,
		const char *key, struct ov_err *err)
{
	const value *amounts = value_at(params, key);
	value *out = value_object(cx->arena);
	int r;

	if (!amounts)
		return 0;
	r = value_only_keys(amounts, str_from(key), resources.names, RESOURCE_COUNT, err);
	for (size_t i = 0; r == 0 && i < value_count(amounts); i++) {
		const struct member *m = &amounts->object.members[i];
		int64_t n = 0;

		r = parse_amount(arena_printf(cx->arena, "%s." STR_FMT, key, STR_ARG(m->key)),
				m->value, str_is(str_from(key), "budget"), &n, err);
		value_set(cx->arena, out, arena_str(cx->arena, m->key), value_int(cx->arena, n));
	}
	value_put(cx->arena, e->data, key, out);
	return r;
}

static int copy_oversight(struct decide_ctx *cx, struct event *e, const value *params,
		struct ov_err *err)
{
	const value *said = value_at(params, "oversight");
	const struct goal *g = state_goal(cx->state, e->goal);
	value *all;
	int r;

	if (!said)
		return 0;
	r = oversight_join(cx->arena, g ? g->oversight : STR(""), said, &all, err);
	if (r < 0)
		return ov_wrap(err, r, "oversight");
	value_put(cx->arena, e->data, "oversight", all);
	return 0;
}

static void copy_member(struct decide_ctx *cx, struct event *e, const value *params,
		const char *key)
{
	value_put(cx->arena, e->data, key, value_copy(cx->arena, value_at(params, key)));
}

/* Checks the members of a definition that are there, and copies them into the event. */
static int define(struct decide_ctx *cx, struct event *e, const value *params, struct ov_err *err)
{
	int64_t priority = PRIORITY_NORMAL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(texts); i++)
		if (value_at(params, texts[i].key)) {
			r = text_check(str_from(texts[i].key), value_str_at(params, texts[i].key),
					texts[i].max, err);
			copy_member(cx, e, params, texts[i].key);
		}
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(lists); i++)
		if (value_at(params, lists[i])) {
			r = check_list(value_at(params, lists[i]), lists[i], err);
			copy_member(cx, e, params, lists[i]);
		}
	if (r == 0 && value_at(params, "risks")) {
		r = check_risks(cx, value_at(params, "risks"), err);
		copy_member(cx, e, params, "risks");
	}
	if (r == 0 && value_at(params, "priority")) {
		r = parse_priority(value_str_at(params, "priority"), &priority, err);
		if (r == 0)
			ev_int(cx, e, "priority", priority);
	}
	if (r == 0)
		r = copy_amounts(cx, e, params, "estimate", err);
	if (r == 0)
		r = copy_amounts(cx, e, params, "budget", err);
	if (r == 0)
		r = copy_oversight(cx, e, params, err);
	if (r == 0 && value_at(e->data, "title")) {
		ev_str(cx, e, "title", str_trim(value_str_at(params, "title")));
		if (!value_str_at(e->data, "title").n) {
			r = ov_fail(err, OV_EINVALID, "a goal needs a title");
			ov_next(err, "overseer goal %s --title TEXT",
					e->kind == EV_GOAL_CREATED ? "create" : "update GOAL");
		}
	}
	return r;
}

/* Who asked for it, and how to reach them. */
static int set_origin(struct decide_ctx *cx, struct event *e, const value *params,
		struct ov_err *err)
{
	str session = value_str_at(params, "origin_session");
	const value *context = value_at(params, "origin_context");
	int r = text_check(STR("origin_session"), session, LIMIT_NAME, err);

	if (r == 0 && context)
		r = text_check(STR("origin_context"), json_text(cx->arena, context), LIMIT_TEXT,
				err);
	if (r == 0 && session.n)
		ev_str(cx, e, "origin_session", session);
	if (r == 0 && context)
		copy_member(cx, e, params, "origin_context");
	return r;
}

int decide_goal_create(struct decide_ctx *cx, const struct pr_goal_create *p, value **ret_result,
		struct ov_err *err)
{
	const value *params = shape_data(cx->arena, op_shape(OP_goal_create), p);
	const value *plan = value_at(params, "plan");
	enum plan_begun begun = PLAN_NOBODY;
	value *warnings = value_array(cx->arena);
	struct event *e;
	str id;
	int r = 0;

	if (cx->state->goals.n >= LIMIT_GOALS)
		return ov_fail(err, OV_ELIMIT, "%d goals are the most that one store holds",
				LIMIT_GOALS);
	if (plan)
		r = plan_refuse(cx, plan, &warnings, err);
	if (r < 0)
		return r;
	id = make_id(cx, "goal_");
	e = emit(cx, EV_GOAL_CREATED, (struct subject){ .goal = id });
	ev_str(cx, e, "title", STR(""));
	ev_int(cx, e, "priority", PRIORITY_NORMAL);
	r = define(cx, e, params, err);
	if (r == 0)
		r = set_origin(cx, e, params, err);
	if (r < 0)
		return r;
	if (plan)
		plan_emit_first(cx, id, plan, STR("given with the goal"), "file");
	else if (!value_bool_at(params, "no_plan"))
		begun = plan_begin(cx, e);
	*ret_result = value_object(cx->arena);
	value_put(cx->arena, *ret_result, "goal", value_str(cx->arena, id));
	value_put(cx->arena, *ret_result, "plan_version",
			value_int(cx->arena, plan || begun == PLAN_MADE));
	value_put(cx->arena, *ret_result, "planning",
			value_bool(cx->arena, begun == PLAN_ASKED_FOR));
	value_put(cx->arena, *ret_result, "warnings", warnings);
	return 0;
}

int decide_goal_update(struct decide_ctx *cx, const struct pr_goal_update *p, value **ret_result,
		struct ov_err *err)
{
	const value *params = shape_data(cx->arena, op_shape(OP_goal_update), p);
	str reason = str_trim(value_str_at(params, "reason"));
	value *changed = value_array(cx->arena);
	struct event *e;
	struct goal *g;
	int r = state_find_goal(cx->state, value_str_at(params, "goal"), &g, err);

	if (r == 0)
		r = text_check(STR("reason"), reason, LIMIT_NOTE, err);
	if (r < 0)
		return r;
	if (g->status == GOAL_ARCHIVED)
		return ov_fail(err, OV_ESTATE,
				"goal " STR_FMT " is archived: nothing about it changes any more",
				STR_ARG(g->id));
	e = emit(cx, EV_GOAL_UPDATED, about_goal(g));
	r = define(cx, e, params, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < e->data->object.n; i++)
		value_push(cx->arena, changed,
				value_str(cx->arena, e->data->object.members[i].key));
	if (!value_count(changed)) {
		ov_fail(err, OV_EINVALID, "nothing was given that shall change");
		return ov_next(err, "overseer help goal update");
	}
	ev_str(cx, e, "reason", reason.n ? reason : STR("no reason was given"));
	*ret_result = value_object(cx->arena);
	value_put(cx->arena, *ret_result, "goal", value_str(cx->arena, e->goal));
	value_put(cx->arena, *ret_result, "changed", changed);
	return 0;
}
