/* Reading operations about iterations, and what was found in them. */
#include "app/ops/ops.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/view/view.h"

int op_iteration_list(struct op_ctx *cx, const struct pr_iteration_list *p, value **ret,
		struct ov_err *err)
{
	struct arena *a = cx->arena;
	struct node *n;
	int r = state_find_node_to_read(cx->state, p->goal, p->node, &n, err);

	if (r < 0)
		return r;
	*ret = value_object(a);
	value_put(a, *ret, "goal", value_str(a, n->goal->id));
	value_put(a, *ret, "node", value_str(a, n->id));
	value_put(a, *ret, "count", value_int(a, n->watch.iterations_n));
	value_put(a, *ret, "round_from", value_int(a, n->watch.round_from));
	value_put(a, *ret, "iterations", view_iterations(a, n));
	return 0;
}

int op_detection_list(struct op_ctx *cx, const struct pr_detection_list *p, value **ret,
		struct ov_err *err)
{
	struct arena *a = cx->arena;
	struct goal *g;
	struct node *n = NULL;
	int r = state_find_goal(cx->state, p->goal, &g, err);

	if (r == 0 && p->node.n)
		r = state_find_node_to_read(cx->state, g->id, p->node, &n, err);
	if (r < 0)
		return r;
	*ret = value_object(a);
	value_put(a, *ret, "goal", value_str(a, g->id));
	value_put(a, *ret, "health", value_cstr(a, status_name(&goal_healths, (int)g->health)));
	value_put(a, *ret, "detections", view_detections(a, g, n));
	return 0;
}
