/* Explaining: what the state says of a thing, and the facts of the log that led there. */
#include "app/ops/explain_impl.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/event/event.h"
#include "core/explain/explain.h"
#include "core/explain/explain_state.h"
#include "core/prompt/handoff.h"
#include "core/view/view.h"
#include "core/view/waiting.h"

/* The dispatch that it is about, or empty. */
static str dispatch_of(const struct event *e)
{
	switch (e->kind) {
	case EV_DISPATCH_INTENDED: return as_dispatch_intended(e)->dispatch;
	case EV_DISPATCH_RESULT: return as_dispatch_result(e)->dispatch;
	case EV_RUN_CREATED: return as_run_created(e)->dispatch;
	case EV_EFFECT_INTENDED: return as_effect_intended(e)->dispatch;
	default: return STR("");
	}
}

static bool wanted(const struct fact_filter *f, const struct event *e)
{
	return (!f->run.n || !e->run.n || str_eq(f->run, e->run)) &&
			(!f->assignment.n || str_eq(f->assignment, e->assignment)) &&
			(!f->dispatch.n || str_eq(f->dispatch, dispatch_of(e)));
}

/* True, but told by another fact beside it: people are spared it. */
static bool is_minor(const struct event *e)
{
	switch (e->kind) {
	case EV_EFFECT_INTENDED:
	case EV_GOAL_SPENT: return true;
	case EV_EFFECT_ENDED: return str_is(as_effect_ended(e)->outcome, "ok");
	case EV_DISPATCH_INTENDED:
		return str_is(as_dispatch_intended(e)->mode, "spawn") ||
				str_is(as_dispatch_intended(e)->mode, "resume");
	case EV_ASSIGNMENT_MOVED: return as_assignment_moved(e)->from == as_assignment_moved(e)->to;
	default: return false;
	}
}

/*
 * A step of the ordinary way, which the conclusion and the facts beside it imply: people see it
 * with --all. What is left are turns of the story: who works on it, what failed, what was
 * decided, by whom.
 */
static bool is_routine(const struct event *e)
{
	enum node_status to;

	switch (e->kind) {
	case EV_ASSIGNMENT_MOVED:
	case EV_CRYSTALLIZED:
	case EV_ITERATION_RECORDED:
	case EV_RUN_CREATED:
	case EV_RUN_SESSION:
	case EV_SILENCE_LEARNED:
	case EV_WORKSPACE_READY: return true;
	case EV_NODE_STATUS:
		to = as_node_status(e)->to;
		return to == NODE_QUEUED || to == NODE_IN_PROGRESS || to == NODE_TODO;
	case EV_RUN_HARVESTED:
		return !as_run_harvested(e)->commits && !as_run_harvested(e)->files_changed;
	case EV_DISPATCH_RESULT:
		return str_is(as_dispatch_result(e)->result, "accepted") ||
				str_is(as_dispatch_result(e)->result, "ok");
	default: return false;
	}
}

bool explain_matters(const value *fact)
{
	return !value_bool_at(fact, "minor") && !value_bool_at(fact, "routine");
}

/* Of signs of life only the newest tells anything. */
static void spare_old_signs(struct arena *a, value *facts)
{
	bool newer = false;

	for (size_t i = facts->array.n; i-- > 0;) {
		value *f = facts->array.items[i];

		if (!str_is(value_str_at(f, "type"), event_name(EV_ASSIGNMENT_ACTIVITY)))
			continue;
		if (newer)
			value_put(a, f, "minor", value_bool(a, true));
		newer = true;
	}
}

int explain_node_facts(struct op_ctx *cx, const struct node *n, const struct fact_filter *filter,
		value *v, struct ov_err *err)
{
	value *facts = value_array(cx->arena), *fact;

	for (size_t i = 0; n && i < n->history.n; i++) {
		struct event e;
		int r = op_read_event(cx, n->history.p[i], &e, err);

		if (r < 0)
			return r;
		if (!wanted(filter, &e))
			continue;
		fact = explain_fact(cx->arena, (int64_t)e.seq, e.at, event_name(e.kind),
				explain_event(cx->arena, &e), is_minor(&e));
		value_put(cx->arena, fact, "routine", value_bool(cx->arena, is_routine(&e)));
		value_push(cx->arena, facts, fact);
	}
	spare_old_signs(cx->arena, facts);
	value_put(cx->arena, v, "facts", facts);
	return 0;
}

/* The versions of its plan, then each piece of work and what it waits for. */
static int goal_facts(struct op_ctx *cx, const struct explain *x, const struct goal *g, value *v,
		struct ov_err *err)
{
	struct arena *a = cx->arena;
	struct queue *q = queue_look(a, &(struct world){ x->state, x->policy }, x->no_capacity,
			x->now);
	value *facts = value_array(a);

	for (size_t i = 0; i < g->plan_seqs.n; i++) {
		struct event e;
		int r = op_read_event(cx, g->plan_seqs.p[i], &e, err);

		if (r < 0)
			return r;
		value_push(a, facts,
				explain_fact(a, (int64_t)e.seq, e.at, event_name(e.kind),
						explain_event(a, &e), false));
	}
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = g->nodes.p[i];
		int64_t seq = n->history.n ? (int64_t)n->history.p[n->history.n - 1] : 0;

		if (!node_is_leaf(n) || n->def.removed_in)
			continue;
		value_push(a, facts,
				explain_fact(a, seq, n->updated_at, "node",
						arena_printf(a,
								STR_FMT " \"" STR_FMT
									"\" is %s: " STR_FMT,
								STR_ARG(n->id),
								STR_ARG(n->def.name),
								status_name(&node_statuses,
										(int)n->status),
								STR_ARG(explain_task_now(x, q, n))),
						node_is_final(n)));
	}
	value_put(a, v, "facts", facts);
	return 0;
}

static int explain_sent(struct op_ctx *cx, const struct explain *x, str id, value **ret,
		struct ov_err *err)
{
	struct dispatch *d;
	struct event e;
	int r = state_find_dispatch(cx->state, id, &d, err);

	if (r < 0)
		return r;
	*ret = explain_dispatch(x, d);
	r = op_read_event(cx, (uint64_t)d->seq, &e, err);
	if (r < 0)
		return r;
	value_put(cx->arena, *ret, "instruction",
			value_str(cx->arena, as_dispatch_intended(&e)->instruction));
	return explain_node_facts(cx, state_node(cx->state, d->goal_id, d->node_id),
			&(struct fact_filter){ .dispatch = d->id }, *ret, err);
}

static int explain_bound(struct op_ctx *cx, const struct explain *x, str id, value **ret,
		struct ov_err *err)
{
	struct assignment *as;
	int r = state_find_assignment(cx->state, id, &as, err);

	if (r == 0 && !as->node)
		r = ov_fail(err, OV_ENOTFOUND, "assignment " STR_FMT " has lost its node",
				STR_ARG(as->id));
	if (r < 0)
		return r;
	*ret = explain_assignment(x, as);
	r = explain_put_timeline(cx, x, as->live ? as : NULL, *ret, err);
	if (r < 0)
		return r;
	return explain_node_facts(cx, as->node, &(struct fact_filter){ .assignment = as->id }, *ret,
			err);
}

static int explain_ran(struct op_ctx *cx, const struct explain *x, str id, value **ret,
		struct ov_err *err)
{
	const struct assignment *as;
	struct run *run;
	int r = state_find_run(cx->state, id, &run, err);

	if (r < 0)
		return r;
	*ret = explain_run(x, run);
	as = state_assignment(cx->state, run->assignment_id);
	r = explain_put_timeline(cx, x, as && as->run == run ? as : NULL, *ret, err);
	if (r < 0)
		return r;
	return explain_node_facts(cx, state_node(cx->state, run->goal_id, run->node_id),
			&(struct fact_filter){ .run = run->id, .assignment = run->assignment_id },
			*ret, err);
}

static int explain_whole(struct op_ctx *cx, const struct explain *x, str id, value **ret,
		struct ov_err *err)
{
	struct goal *g;
	int r = state_find_goal(cx->state, id, &g, err);

	if (r < 0)
		return r;
	*ret = explain_goal(x, g);
	return goal_facts(cx, x, g, *ret, err);
}

/* By the prefix of an id; anything else is a node, or what is called like that. */
static int explain_find(struct op_ctx *cx, str goal, str id, value **ret, struct ov_err *err)
{
	static const struct {
		const char *prefix;
		int (*fn)(struct op_ctx *cx, const struct explain *x, str id, value **ret,
				struct ov_err *err);
	} kinds[] = { { "D_", explain_sent }, { "A_", explain_bound }, { "R_", explain_ran } };
	struct explain x = { cx->arena, cx->state, &cx->config->policy, cx->observations, cx->now,
		op_no_capacity(cx) };
	struct node *n;
	int r;

	if (str_starts(id, STR("goal_")) && str_find_byte(id, '/') == id.n)
		return explain_whole(cx, &x, id, ret, err);
	/* A node may be called like that, too: it comes first. */
	r = state_find_node_to_read(cx->state, goal, id, &n, err);
	for (size_t i = 0; r < 0 && i < ARRAY_LEN(kinds); i++)
		if (str_starts(id, str_from(kinds[i].prefix)))
			return kinds[i].fn(cx, &x, id, ret, err);
	if (r == OV_ENOTFOUND && !goal.n)
		return explain_by_kind(cx, &x, id, ret, err);
	if (r < 0)
		return r;
	*ret = explain_node(&x, n);
	r = explain_put_timeline(cx, &x, n->assignment, *ret, err);
	if (r < 0)
		return r;
	return explain_node_facts(cx, n, &(struct fact_filter){ 0 }, *ret, err);
}

int op_explain_get(struct op_ctx *cx, const struct pr_explain_get *p, value **ret,
		struct ov_err *err)
{
	str id = p->id, goal = p->goal;
	struct ov_err why = { 0 };
	int r;

	/*
	 * A node of that name is told by its goal: in trouble nobody shall have to look for words.
	 */
	if (str_is(id, "daemon") && !goal.n) {
		*ret = explain_daemon(cx);
		return 0;
	}
	r = explain_find(cx, goal, id, ret, &why);
	if (r < 0) {
		r = explain_unknown(cx, id, r, &why);
		if (err)
			*err = why;
	}
	return r;
}

/* ---- handoffs ---- */

static int no_handoff(const char *noun, str id, struct ov_err *err)
{
	ov_fail(err, OV_ENOTFOUND,
			"%s " STR_FMT
			" has no handoff yet: one is written when work on it comes to an end",
			noun, STR_ARG(id));
	return ov_next(err, "overseer explain " STR_FMT, STR_ARG(id));
}

int op_handoff_show(struct op_ctx *cx, const struct pr_handoff_show *p, value **ret,
		struct ov_err *err)
{
	str id = p->id, handover = STR("");
	const struct crystallization *c;
	struct node *n = NULL;
	struct goal *g = NULL;
	bool of_goal = str_starts(id, STR("goal_")) && str_find_byte(id, '/') == id.n;
	int r = of_goal ? state_find_goal(cx->state, id, &g, err)
			: state_find_node_to_read(cx->state, p->goal, id, &n, err);

	if (r < 0)
		return r;
	c = of_goal ? g->handoff : n->handoff;
	if (!c)
		return no_handoff(of_goal ? "goal" : "node", of_goal ? g->id : n->key, err);
	if (n)
		handover = n->next.handover;
	*ret = value_object(cx->arena);
	value_put(cx->arena, *ret, "id", value_str(cx->arena, of_goal ? g->id : n->key));
	value_put(cx->arena, *ret, "text",
			value_str(cx->arena, handoff_text(cx->arena, c, handover)));
	value_put(cx->arena, *ret, "handover", value_str(cx->arena, handover));
	value_put(cx->arena, *ret, "crystallization",
			record_to_value(cx->arena, &crystallization_record, c));
	return 0;
}
