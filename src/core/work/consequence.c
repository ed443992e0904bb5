/*
 * What follows from a person's word about a task, told in the answer to it: who no longer waits for
 * it, which work of it stays unmerged, and whether somebody still has to do something about it.
 */
#include "base/arena.h"
#include "base/str.h"
#include "core/decide/emit.h"
#include "core/work/work.h"

enum { RELEASED_TOLD = 20 };

/* Is it finished, or will it be once this task is? */
static bool final_after(const struct node *d, const struct node *done)
{
	if (d == done || node_is_final(d))
		return true;
	for (size_t i = 0; i < d->children.n; i++)
		if (!final_after(d->children.p[i], done))
			return false;
	return d->children.n > 0;
}

static bool ready_after(const struct state *s, const struct node *n, const struct node *done)
{
	for (const struct node *at = n; at; at = at->parent) {
		if (at->before && !final_after(at->before, done))
			return false;
		for (size_t i = 0; i < at->def.deps.n; i++) {
			const struct node *d = state_node(s, n->goal->id, at->def.deps.p[i]);

			if (d && !final_after(d, done))
				return false;
		}
	}
	return true;
}

/* The tasks that could not begin, and can once this one is cancelled. */
static void put_released(struct decide_ctx *cx, const struct node *n, value *ret)
{
	value *list = value_array(cx->arena);
	size_t count = 0;

	for (size_t i = 0; i < n->goal->nodes.n; i++) {
		const struct node *m = n->goal->nodes.p[i];

		if (m == n || m->status != NODE_TODO || !node_is_leaf(m) || m->def.removed_in ||
				node_is_ready(cx->state, m) || !ready_after(cx->state, m, n))
			continue;
		if (count++ < RELEASED_TOLD)
			value_push(cx->arena, list,
					value_str(cx->arena, arena_str(cx->arena, m->id)));
	}
	value_put(cx->arena, ret, "released", list);
	value_put(cx->arena, ret, "released_count", value_int(cx->arena, (int64_t)count));
	value_put(cx->arena, ret, "goal_active",
			value_bool(cx->arena, n->goal->status == GOAL_ACTIVE));
}

/* Where the commits are that nobody merged; nothing where there are none, or they are merged. */
static void put_unmerged(struct decide_ctx *cx, const struct node *n, value *ret)
{
	const struct assignment *as = newest_assignment(cx->state, n);
	bool live = as && as->run && as->run->status != RUN_ENDED;
	value *v;

	if (!as || !as->branch.n || n->work.commit.n)
		return;
	if (!live && (!as->head.n || str_eq(as->head, as->base)))
		return;
	v = value_object(cx->arena);
	value_put(cx->arena, v, "branch", value_str(cx->arena, arena_str(cx->arena, as->branch)));
	value_put(cx->arena, v, "commit",
			as->head.n ? value_str(cx->arena, arena_str(cx->arena, as->head))
				   : value_null(cx->arena));
	value_put(cx->arena, v, "run_stops", value_bool(cx->arena, live));
	value_put(cx->arena, ret, "unmerged", v);
}

void work_consequences(struct decide_ctx *cx, const struct node *n, enum node_status to, value *ret)
{
	if (to == NODE_CANCELLED)
		put_released(cx, n, ret);
	if (to == NODE_DONE || to == NODE_CANCELLED)
		put_unmerged(cx, n, ret);
}

void work_left_blocked(struct decide_ctx *cx, const struct node *n, value *ret)
{
	if (n->status != NODE_BLOCKED || !node_is_leaf(n))
		return;
	value_put(cx->arena, ret, "left_blocked",
			value_str(cx->arena, arena_str(cx->arena, n->key)));
	value_put(cx->arena, ret, "reason",
			value_str(cx->arena, arena_str(cx->arena, n->status_reason)));
}
