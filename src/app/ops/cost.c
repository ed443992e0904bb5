/* What was used, and what it cost. */
#include "app/ops/ops.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/budget.h"
#include "core/state/usage.h"
#include "core/view/view.h"

static int by_param(str s, enum usage_by *ret, struct ov_err *err)
{
	int by = s.n ? status_parse(&usage_bys, s) : (int)USAGE_GOAL;

	if (by < 0)
		return ov_fail(err, OV_EINVALID,
				"\"" STR_FMT "\" is not one of goal, agent, model, day, node",
				STR_ARG(s));
	*ret = (enum usage_by)by;
	return 0;
}

static int query_read(struct op_ctx *cx, const struct pr_cost_get *p, struct usage_query *q,
		struct ov_err *err)
{
	ov_time since = 0;
	struct goal *g = NULL;
	int r = by_param(p->by, &q->by, err);

	if (r == 0 && p->goal.n)
		r = state_find_goal(cx->state, p->goal, &g, err);
	if (r == 0 && p->has_since)
		r = op_moment(cx, "since", p->since, &since, err);
	if (r < 0)
		return r;
	q->goal = g;
	if (p->has_since)
		q->since_day = usage_day(since + q->utc_offset);
	if (q->since_day && q->by == USAGE_NODE) {
		ov_fail(err, OV_EINVALID, "of nodes only the sums are kept, not the days");
		return ov_next(err, "overseer cost --by node");
	}
	return 0;
}

int op_cost_get(struct op_ctx *cx, const struct pr_cost_get *p, value **ret, struct ov_err *err)
{
	struct usage_query q = { .observations = cx->observations,
		.now = cx->now,
		.utc_offset = cx->config->policy.utc_offset };
	int r = query_read(cx, p, &q, err);

	if (r < 0)
		return r;
	*ret = usage_view(cx->arena, cx->state, &q);
	value_put(cx->arena, *ret, "since",
			q.since_day ? value_str(cx->arena, usage_day_text(cx->arena, q.since_day))
				    : value_null(cx->arena));
	return 0;
}

value *op_usage_today(struct op_ctx *cx)
{
	struct usage_query q = { .by = USAGE_DAY,
		.since_day = usage_day(cx->now + cx->config->policy.utc_offset),
		.observations = cx->observations,
		.now = cx->now,
		.utc_offset = cx->config->policy.utc_offset };

	return value_edit_at(usage_view(cx->arena, cx->state, &q), "total");
}

value *op_goal_usage(struct op_ctx *cx, const struct goal *g)
{
	const struct policy *p = &cx->config->policy;
	struct budget_live live = budget_live_of(cx->state, g, cx->observations, cx->now);
	value *v = value_object(cx->arena);

	for (int i = 0; i < RESOURCE_COUNT; i++) {
		int64_t limit = budget_limit(p, g, (enum resource)i);
		value *one = value_object(cx->arena);

		value_put(cx->arena, one, "used",
				value_int(cx->arena,
						budget_spent(g, (enum resource)i, cx->now) +
								live.used[i]));
		value_put(cx->arena, one, "live", value_int(cx->arena, live.used[i]));
		/*
		 * Its own, by runs that have ended; used and limit may be of all tasks of the pool.
		 */
		value_put(cx->arena, one, "spent", value_int(cx->arena, g->spent[i]));
		value_put(cx->arena, one, "shared", value_bool(cx->arena, g->automatic != NULL));
		value_put(cx->arena, one, "estimate",
				value_int(cx->arena, budget_estimate(p, g, (enum resource)i)));
		value_put(cx->arena, one, "limit",
				limit < 0 ? value_cstr(cx->arena, "unlimited")
					  : value_int(cx->arena, limit));
		value_put(cx->arena, v, status_name(&resources, i), one);
	}
	return v;
}

void op_live_usage(struct op_ctx *cx, value *row, str run)
{
	const struct observation *o = cx->observations ? map_get(cx->observations, run) : NULL;

	if (!o)
		return;
	value_put(cx->arena, row, "tokens", value_int(cx->arena, o->tokens));
	value_put(cx->arena, row, "cost_microusd", value_int(cx->arena, o->cost_microusd));
}
