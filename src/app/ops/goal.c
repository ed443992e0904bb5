/* Reading operations about goals. */
#include "app/ops/ops.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/event/event.h"
#include "core/view/view.h"

static bool has_tag(const struct goal *g, str tag)
{
	for (size_t i = 0; i < g->tags.n; i++)
		if (str_eq(g->tags.p[i], tag))
			return true;
	return tag.n == 0;
}

int op_goal_list(struct op_ctx *cx, const struct pr_goal_list *p, value **ret, struct ov_err *err)
{
	value *v = value_object(cx->arena), *list = value_array(cx->arena);
	str tag = p->tag;
	int status, r = status_param(&goal_statuses, p->status, &status, err);
	int64_t put_away = 0;

	if (r < 0)
		return r;
	for (size_t i = 0; i < cx->state->goals.n; i++) {
		const struct goal *g = cx->state->goals.p[i];

		if ((status >= 0 && (int)g->status != status) || !has_tag(g, tag))
			continue;
		/* Put away: shown only to who asks for them. */
		if (status < 0 && g->status == GOAL_ARCHIVED)
			put_away++;
		else
			value_push(cx->arena, list, view_goal_brief(cx->arena, g));
	}
	value_put(cx->arena, v, "goals", list);
	value_put(cx->arena, v, "archived", value_int(cx->arena, put_away));
	*ret = v;
	return 0;
}

/* Where the plan came from, as the log has it; null when nobody was asked. */
static value *origin_view(struct op_ctx *cx, const struct goal *g)
{
	struct event e;
	value *v;

	if (!g->planned_seq || op_read_event(cx, (uint64_t)g->planned_seq, &e, NULL) < 0)
		return value_null(cx->arena);
	v = value_object(cx->arena);
	value_put(cx->arena, v, "at", value_time(cx->arena, e.at));
	for (size_t i = 0; i < e.data->object.n; i++)
		value_set(cx->arena, v, e.data->object.members[i].key,
				e.data->object.members[i].value);
	return v;
}

int op_goal_show(struct op_ctx *cx, const struct pr_goal_show *p, value **ret, struct ov_err *err)
{
	struct goal *g;
	int r = state_find_goal(cx->state, p->goal, &g, err);

	if (r < 0)
		return r;
	*ret = view_goal(cx->arena, cx->state, g);
	value_put(cx->arena, *ret, "usage", op_goal_usage(cx, g));
	value_put(cx->arena, *ret, "planner", origin_view(cx, g));
	value_put(cx->arena, *ret, "planning",
			value_bool(cx->arena, g->effect && g->effect->kind == FX_PLAN));
	return 0;
}
