/* Judged runs wait for their iterations: each is reviewed before anything is begun in its goal. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/list.h"
#include "core/reconcile_impl.h"

static int judged_order(const void *pa, const void *pb)
{
	const struct run *a = *(const struct run *const *)pa, *b = *(const struct run *const *)pb;

	return (a->judged_seq > b->judged_seq) - (a->judged_seq < b->judged_seq);
}

/* One of a node at a time: the next one counts from it. */
static bool is_taken(const struct tick *t, const struct node *n)
{
	for (size_t i = 0; i < t->out.n; i++)
		if (t->out.p[i].node == n)
			return true;
	return false;
}

static void review(struct tick *t, const struct run *r)
{
	const struct node *n = state_node(t->w->state, r->goal_id, r->node_id);
	struct decision d = { .kind = DEC_REVIEW, .node = n, .run = r };
	size_t before = t->out.n;

	/* Its goal was put away: the log says what became of it. */
	if (!n || is_taken(t, n))
		return;
	d.goal = n->goal;
	d.why = r->cause == CAUSE_NONE ? STR("its work was judged good")
				       : arena_printf(t->a, "its work failed: %s",
							 status_name(&causes, (int)r->cause));
	tick_add(t, d);
	if (t->out.n > before)
		t->reviewed[n->goal->order] = true;
}

void reconcile_oversight(struct tick *t)
{
	const struct state *s = t->w->state;
	const struct run **runs;
	size_t n = 0;

	if (list_empty(&s->judged))
		return;
	list_each (it, &s->judged)
		n++;
	runs = arena_array(t->a, const struct run *, n);
	n = 0;
	list_each (it, &s->judged)
		runs[n++] = list_entry(it, struct run, judged);
	qsort(runs, n, sizeof(*runs), judged_order);
	t->reviewed = arena_array(t->a, bool, s->goals.n + 1);
	for (size_t i = 0; i < n && !tick_full(t); i++)
		review(t, runs[i]);
}
