/* A goal's plan as people and programs look at it: the tree as it stands. */
#include "base/arena.h"
#include "core/view/view.h"

struct tally {
	int64_t leaves, done, cancelled, blocked;
};

static void count_leaf(struct tally *t, const struct node *n)
{
	t->leaves++;
	t->done += n->status == NODE_DONE;
	t->cancelled += n->status == NODE_CANCELLED;
	t->blocked += n->status == NODE_BLOCKED;
}

/* What is cancelled counts neither as done nor as missing. */
static value *progress(struct arena *a, const struct tally *t)
{
	value *v = value_object(a);
	int64_t counted = t->leaves - t->cancelled;

	value_put(a, v, "leaves", value_int(a, t->leaves));
	value_put(a, v, "done", value_int(a, t->done));
	value_put(a, v, "cancelled", value_int(a, t->cancelled));
	value_put(a, v, "blocked", value_int(a, t->blocked));
	value_put(a, v, "done_pct", value_int(a, progress_centi(t->done, counted) / 100));
	return v;
}

/* Ready: nothing is in its way, and nobody has begun. */
static void put_ready(struct arena *a, value *v, const struct state *s, const struct node *n)
{
	bool waits = !node_is_ready(s, n),
	     begun = n->status != NODE_TODO && n->status != NODE_QUEUED;

	value_put(a, v, "waits", value_bool(a, waits));
	value_put(a, v, "ready", value_bool(a, !waits && !begun));
}

static value *tree(struct arena *a, const struct state *s, const struct node *n, struct tally *t)
{
	value *v = view_node_brief(a, n), *children = value_array(a);
	struct tally own = { 0 };

	if (node_is_leaf(n))
		count_leaf(&own, n);
	for (size_t i = 0; i < n->children.n; i++)
		value_push(a, children, tree(a, s, n->children.p[i], &own));
	if (node_is_leaf(n))
		put_ready(a, v, s, n);
	else
		value_put(a, v, "progress", progress(a, &own));
	if (n->before)
		value_put(a, v, "follows", value_str(a, n->before->id));
	if (n->def.sequential)
		value_put(a, v, "sequential", value_bool(a, true));
	value_put(a, v, "children", children);
	t->leaves += own.leaves;
	t->done += own.done;
	t->cancelled += own.cancelled;
	t->blocked += own.blocked;
	return v;
}

value *view_plan(struct arena *a, const struct state *s, const struct goal *g)
{
	value *v = view_goal_brief(a, g), *phases = value_array(a), *removed = value_array(a);
	struct tally all = { 0 };

	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = g->nodes.p[i];

		if (n->def.removed_in) {
			value *x = view_node_brief(a, n);

			value_put(a, x, "removed_in", value_int(a, n->def.removed_in));
			value_push(a, removed, x);
		} else if (!n->parent) {
			value_push(a, phases, tree(a, s, n, &all));
		}
	}
	if (g->sequential)
		value_put(a, v, "sequential", value_bool(a, true));
	value_put(a, v, "phases", phases);
	value_put(a, v, "removed", removed);
	return v;
}
