/* Commands about goals and nodes that people give; and the daemon's own coming and going. */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/decide_impl.h"
#include "core/limits.h"

static const struct {
	const char *name;
	int64_t number;
} priorities[] = { { "urgent", 1 }, { "high", 2 }, { "normal", 3 }, { "low", 4 },
	{ "background", 5 } };

static int parse_priority(str text, int64_t *ret, struct ov_err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(priorities); i++)
		if (str_is(text, priorities[i].name)) {
			*ret = priorities[i].number;
			return 0;
		}
	return ov_fail(err, OV_EINVALID,
			"priority \"" STR_FMT
			"\" is not one of urgent, high, normal, low, background",
			STR_ARG(text));
}

int text_check(str what, str s, size_t max, struct ov_err *err)
{
	if (s.n > max)
		return ov_fail(err, OV_ELIMIT, STR_FMT " has %zu bytes, at most %zu are allowed",
				STR_ARG(what), s.n, max);
	if (str_find_byte(s, '\0') < s.n)
		return ov_fail(err, OV_EINVALID, STR_FMT " contains a NUL byte", STR_ARG(what));
	return 0;
}

/* Copies a bounded list of texts from the parameters into the event. */
static int copy_list(struct decide_ctx *cx, struct event *e, const value *params, const char *key,
		struct ov_err *err)
{
	const value *list = value_at(params, key);
	int r;

	if (value_count(list) > LIMIT_LIST)
		return ov_fail(err, OV_ELIMIT, "%s has %zu entries, at most %d are allowed", key,
				value_count(list), LIMIT_LIST);
	for (size_t i = 0; i < value_count(list); i++) {
		r = text_check(str_from(key), value_str_or(value_item(list, i), STR("")),
				LIMIT_NOTE, err);
		if (r < 0)
			return r;
	}
	if (value_count(list))
		value_put(cx->arena, e->data, key, value_copy(cx->arena, list));
	return 0;
}

int decide_goal_create(struct decide_ctx *cx, const value *params, value **ret_result,
		struct ov_err *err)
{
	static const char *const lists[] = { "success_criteria", "non_goals", "constraints",
		"tags" };
	str title = str_trim(value_str_at(params, "title")),
	    problem = value_str_at(params, "problem_statement");
	const value *plan = value_at(params, "plan");
	int64_t priority = 3;
	struct event *e;
	str id;
	int r;

	if (title.n == 0)
		return ov_fail(err, OV_EINVALID, "a goal needs a title");
	if (cx->state->goals.n >= LIMIT_GOALS)
		return ov_fail(err, OV_ELIMIT, "%d goals are the most that one store holds",
				LIMIT_GOALS);
	r = text_check(STR("title"), title, LIMIT_TITLE, err);
	if (r == 0)
		r = text_check(STR("problem_statement"), problem, LIMIT_TEXT, err);
	if (r == 0 && value_at(params, "priority"))
		r = parse_priority(value_str_at(params, "priority"), &priority, err);
	if (r == 0 && plan)
		r = plan_refuse(cx, plan, err);
	if (r < 0)
		return r;
	id = make_id(cx, "goal_");
	e = emit(cx, EV_GOAL_CREATED, (struct subject){ .goal = id });
	ev_str(cx, e, "title", title);
	if (problem.n)
		ev_str(cx, e, "problem_statement", problem);
	ev_int(cx, e, "priority", priority);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		r = copy_list(cx, e, params, lists[i], err);
		if (r < 0)
			return r;
	}
	if (plan)
		plan_emit_first(cx, id, plan, STR("given with the goal"), "file");
	*ret_result = value_object(cx->arena);
	value_put(cx->arena, *ret_result, "goal", value_str(cx->arena, id));
	return 0;
}

int decide_daemon_start(struct decide_ctx *cx, const value *params, value **ret_result,
		struct ov_err *err)
{
	struct event *e = emit(cx, EV_DAEMON_STARTED, (struct subject){ 0 });

	(void)ret_result, (void)err;
	ev_str(cx, e, "instance", value_str_at(params, "instance"));
	ev_str(cx, e, "version", value_str_at(params, "version"));
	return 0;
}

int decide_daemon_stop(struct decide_ctx *cx, const value *params, value **ret_result,
		struct ov_err *err)
{
	struct event *e = emit(cx, EV_DAEMON_STOPPED, (struct subject){ 0 });

	(void)ret_result, (void)err;
	ev_str(cx, e, "instance", value_str_at(params, "instance"));
	ev_str(cx, e, "reason", value_str_at(params, "reason"));
	return 0;
}
