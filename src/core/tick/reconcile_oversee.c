/*
 * Judged runs wait for their iterations: each is reviewed before anything is begun in its goal. A
 * run that goes on is looked at when it makes the same call again and again.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/list.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/oversight/repetition.h"
#include "core/tick/reconcile_impl.h"

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
	d.why = r->cause != CAUSE_NONE      ? arena_printf(t->a, "its work failed: %s",
							      status_name(&causes, (int)r->cause))
			: run_ended_well(r) ? STR("its work was judged good")
					    : STR("it could not finish, and continues");
	tick_add(t, d);
	if (t->out.n > before)
		t->reviewed[n->goal->order] = true;
}

static void review_judged(struct tick *t)
{
	const struct state *s = t->w->state;
	const struct run **runs;
	size_t n = 0;

	list_each (it, &s->judged)
		n++;
	runs = arena_array(t->a, const struct run *, n);
	n = 0;
	list_each (it, &s->judged)
		runs[n++] = list_entry(it, struct run, judged);
	qsort(runs, n, sizeof(*runs), judged_order);
	for (size_t i = 0; i < n && !tick_full(t); i++)
		review(t, runs[i]);
}

/* Nothing else is being done about it, nor would its goal let it go on anyway. */
static bool may_be_told(const struct tick *t, const struct assignment *as)
{
	const struct run *r = as->run;

	return as->stage == STAGE_RUNNING && r->status == RUN_RUNNING && !r->frozen &&
			!as->effect && !as->stopping &&
			(as->status == AS_ACTIVE || as->status == AS_DISPATCHED) &&
			as->node->goal->status == GOAL_ACTIVE && !tick_stops(t, as) &&
			!tick_task_over(t, as);
}

/* Output alone proves little: a tree that is known, and does not change, has to say the same. */
static bool output_repeats(struct tick *t, const struct assignment *as, const struct observation *o)
{
	enum repetition_look what = repetition_output(t->w->policy, as, o);

	if (what == REPETITION_LOOK)
		vec_push(&t->looks, as->run);
	return what == REPETITION_JUDGE && !o->tree_unknown;
}

static void look_for_loop(struct tick *t, const struct assignment *as)
{
	const struct observation *o = tick_observation(t, as->run);
	struct decision d = { .kind = DEC_LOOP,
		.goal = as->node->goal,
		.node = as->node,
		.assignment = as,
		.run = as->run,
		.calls = o->same_calls,
		.call = o->same_call,
		.output = o->same_output };
	size_t before = t->out.n;
	struct repetition c;

	if (!may_be_told(t, as))
		return;
	if (o->same_output ? !output_repeats(t, as, o)
			   : !repetition_calls(t->w->policy, as, o, t->now))
		return;
	if (!repetition_judge(t->w->policy, as,
			    &(struct repeated){ o->same_calls, o->same_call, o->same_output }, &c))
		return;
	d.why = arena_printf(t->a, "its last %lld %s were the same: " STR_FMT,
			(long long)o->same_calls, o->same_output ? "blocks of output" : "calls",
			STR_ARG(utf8_clean(t->a, o->same_call)));
	tick_add(t, d);
	if (t->out.n > before)
		t->reviewed[d.goal->order] = true;
}

void reconcile_oversight(struct tick *t)
{
	if (list_empty(&t->w->state->judged) && !t->looping.n)
		return;
	t->reviewed = arena_array(t->a, bool, t->w->state->goals.n + 1);
	review_judged(t);
	for (size_t i = 0; i < t->looping.n && !tick_full(t); i++)
		look_for_loop(t, t->looping.p[i]);
}
