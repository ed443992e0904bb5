/* Reading operations about what people outside were told. */
#include "app/ops/ops.h"
#include "base/arena.h"
#include "core/view/view.h"

int op_notice_list(struct op_ctx *cx, const struct pr_notice_list *p, value **ret,
		struct ov_err *err)
{
	struct world w = { cx->state, &cx->config->policy };
	struct goal *g = NULL;
	int r = 0;

	if (p->goal.n)
		r = state_find_goal(cx->state, p->goal, &g, err);
	if (r < 0)
		return r;
	*ret = value_object(cx->arena);
	value_put(cx->arena, *ret, "notices",
			view_notices(cx->arena, &w, g ? g->id : STR(""), p->all, cx->now));
	return 0;
}

int op_notice_show(struct op_ctx *cx, const struct pr_notice_show *p, value **ret,
		struct ov_err *err)
{
	struct world w = { cx->state, &cx->config->policy };
	struct notice *x;
	int r = state_find_notice(cx->state, p->notice, &x, err);

	if (r == 0)
		*ret = view_notice(cx->arena, &w, x, cx->now);
	return r;
}
