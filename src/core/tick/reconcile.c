#include "core/tick/reconcile.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/str.h"
#include "core/capacity/accept_queue.h"
#include "core/capacity/budget.h"
#include "core/capacity/lane.h"
#include "core/tick/reconcile_impl.h"

/* Nodes in the order in which they are served: priority, then age, then place in goal and plan. */
int node_order(const void *pa, const void *pb)
{
	const struct node *a = *(const struct node *const *)pa,
			  *b = *(const struct node *const *)pb;

	if (node_priority(a) != node_priority(b))
		return node_priority(a) < node_priority(b) ? -1 : 1;
	if (a->queued_at != b->queued_at)
		return a->queued_at < b->queued_at ? -1 : 1;
	if (a->goal->order != b->goal->order)
		return a->goal->order < b->goal->order ? -1 : 1;
	return (a->position > b->position) - (a->position < b->position);
}

/* A fleet that waits for its next attempts is queued, too: with `unassigned` it is left out. */
static const struct node **sorted_nodes(struct tick *t, const struct list *head, bool unassigned,
		size_t *ret_n)
{
	const struct node **nodes;
	bool sorted = true;
	size_t n = 0;

	list_each (it, head)
		n++;
	nodes = arena_array(t->a, const struct node *, n + 1);
	n = 0;
	list_each (it, head) {
		const struct node *node = list_entry(it, struct node, link);

		if (unassigned && node->assignment)
			continue;
		nodes[n++] = node;
		sorted &= n < 2 || node_order(&nodes[n - 2], &nodes[n - 1]) <= 0;
	}
	/* Mostly they were queued in that order, and there may be 10,000 of them in every tick. */
	if (!sorted)
		qsort(nodes, n, sizeof(*nodes), node_order);
	*ret_n = n;
	return nodes;
}

static void queue_ready(struct tick *t)
{
	size_t n;
	const struct node **nodes = sorted_nodes(t, &t->w->state->ready, false, &n);

	for (size_t i = 0; i < n; i++)
		tick_add(t,
				(struct decision){ .kind = DEC_QUEUE,
						.goal = nodes[i]->goal,
						.node = nodes[i],
						.why = node_waits(nodes[i])
								? STR("its dependencies are done")
								: STR("it depends on nothing") });
}

/* NULL when the one that it wants is not configured, or not allowed. */
static const struct policy_agent *agent_for(const struct policy *p, const struct node *n)
{
	str want = node_wants(p, n);

	for (size_t i = 0; i < p->agents_n; i++)
		if (str_eq(p->agents[i].name, want))
			return agent_allowed(p, want) ? &p->agents[i] : NULL;
	return NULL;
}

static void decide_about(struct tick *t, const struct node *node, enum decision_kind kind,
		const char *why)
{
	tick_add(t,
			(struct decision){ .kind = kind,
					.goal = node->goal,
					.node = node,
					.why = str_from(why) });
}

/*
 * There is one entry about an agent that is out of service, and none about each task that it
 * failed at.
 */
static void absorb_entries(struct tick *t, str agent)
{
	const struct state *s = t->w->state;

	for (size_t i = 0; i < s->escalations.n; i++)
		if (failing_absorbs(s, agent, s->escalations.p[i]))
			tick_add(t,
					(struct decision){ .kind = DEC_AGENT_ABSORB,
							.agent = agent,
							.escalation = s->escalations.p[i],
							.why = STR("its agent is out of "
								   "service") });
}

/* Whatever it is given fails: that is no matter of one task any more. */
static void judge_agents(struct tick *t)
{
	const struct state *s = t->w->state;

	for (size_t i = 0; i < s->streaks.n; i++) {
		const struct streak *k = s->streaks.p[i];

		if (agent_is_failing(t, k))
			tick_add(t,
					(struct decision){ .kind = DEC_AGENT_FAILING,
							.agent = k->agent,
							.why = arena_printf(t->a,
									"its last %lld runs "
									"failed, "
									"on several tasks; the "
									"last "
									"one: " STR_FMT,
									(long long)k->failures,
									STR_ARG(k->detail)) });
	}
	for (size_t i = 0; i < s->lanes.n; i++)
		if (s->lanes.p[i]->kind == BLOCK_FAILING)
			absorb_entries(t, s->lanes.p[i]->agent);
}

/* What the agent is to the task, for people. */
static const char *agent_because(const struct node *n)
{
	if (n->def.suggested_agent.n)
		return "the suggested agent";
	return n->goal->automatic && !n->next.agent.n && !n->def.role.n ? "the agent of auto mode"
									: "the agent for it";
}

static void assign_queued(struct tick *t)
{
	size_t n;
	const struct node **nodes = sorted_nodes(t, &t->w->state->queued, true, &n);
	bool full = t->t->no_capacity.n > 0;

	trial_sort_nodes(t, nodes, n);
	for (size_t i = 0; i < n; i++) {
		const struct node *node = nodes[i];
		struct decision d = { .kind = DEC_ASSIGN, .goal = node->goal, .node = node };
		const struct policy_agent *agent;

		agent = agent_for(t->w->policy, node);
		if (!node_is_ready(t->w->state, node)) {
			decide_about(t, node, DEC_UNQUEUE, "a dependency was reopened");
			continue;
		}
		if (tick_goal_held(t, node->goal).n)
			continue;
		if (!agent) {
			decide_about(t, node, DEC_NO_AGENT, "no configured agent can take it");
			continue;
		}
		if (node->next.worker.n && !state_worker(t->w->state, node->next.worker)) {
			decide_about(t, node, DEC_NO_WORKER,
					"the worker that it was given to is gone");
			continue;
		}
		if (lane_holds(t, agent->name) || trial_is_anothers(t, agent->name, node))
			continue;
		/* What is held takes no worker from the others. */
		if (full || tick_held(t, &d) || !tick_take_place(t, &d, agent))
			continue;
		d.agent = agent->name;
		d.why = arena_printf(t->a, "ready; " STR_FMT " is %s; worker " STR_FMT " is free",
				STR_ARG(agent->name), agent_because(node), STR_ARG(d.worker));
		tick_add(t, d);
		tick_agent(t, agent->name)->busy++;
		tick_agent(t, agent->name)->probed |= lane_waits(t, agent->name);
	}
}

/* The effect that carries a stage out; stages that wait for something else have none. */
static const struct {
	bool has;
	enum effect_kind kind;
} stage_effect[STAGE_COUNT] = {
	[STAGE_WORKSPACE] = { true, FX_WORKSPACE },
	[STAGE_STOP] = { true, FX_RUN_STOP },
	[STAGE_HARVEST] = { true, FX_HARVEST },
	[STAGE_CHECK] = { true, FX_CHECK },
	[STAGE_REBASE] = { true, FX_REBASE },
	[STAGE_GATE] = { true, FX_GATE },
	[STAGE_ACCEPT] = { true, FX_ACCEPT },
	[STAGE_POST] = { true, FX_POST },
	[STAGE_REVERT] = { true, FX_REVERT },
};

/*
 * A person is told what in his checkout finished work waits for. Once that has changed (not_before
 * is none) it waits for its turn only: whether anything is still in its way is known when it
 * was tried.
 */
static void check_checkout(struct tick *t, const struct assignment *as)
{
	ov_time at = as->waiting_since + t->w->policy->dirty_notice;

	if (as->waiting == WAITING_NONE || as->effect || !as->node || !as->not_before)
		return;
	if (t->now < at)
		tick_wake(t, at);
	else if (!checkout_told(t->w->state, as))
		tick_add(t,
				(struct decision){ .kind = DEC_CHECKOUT,
						.goal = as->node->goal,
						.node = as->node,
						.assignment = as,
						.why = as->reason });
}

static bool is_start(const struct assignment *as)
{
	return as->stage == STAGE_WORKSPACE || as->stage == STAGE_START;
}

/* Whether a next step is due; if one only has to be waited for, says until when. */
static bool is_due(struct tick *t, const struct assignment *as)
{
	if (as->effect || as->stage == STAGE_NONE || as->stage == STAGE_RUNNING ||
			as->stage == STAGE_REVIEW || as->stage == STAGE_WAITING || !as->node)
		return false;
	/* What is under way while its goal is paused is brought to a safe end, and kept there. */
	if (stage_is_good(as->stage) && !accept_is_committed(as) &&
			as->node->goal->status != GOAL_ACTIVE)
		return false;
	if (accept_question(t->w->state, as))
		return false;
	if (is_start(as) && tick_goal_held(t, as->node->goal).n)
		return true;
	/* A wait that began in the future was set by a clock that was wrong: it is over. */
	if (as->not_before <= t->now || as->updated_at > t->now)
		return true;
	tick_wake(t, as->not_before);
	return false;
}

/*
 * Why the assignment cannot begin now, so that others may use its worker; empty when it can. What
 * has begun keeps it while its agent has to wait.
 */
static str yield_reason(struct tick *t, const struct assignment *as)
{
	str held = is_start(as) ? tick_goal_held(t, as->node->goal) : STR("");

	if (!held.n && as->stage == STAGE_START && !as->attempt && !t->t->no_capacity.n &&
			lane_holds(t, as->agent))
		held = STR("its agent has to wait");
	return held.n ? arena_printf(t->a, STR_FMT "; others may use the worker", STR_ARG(held))
		      : held;
}

static void advance(struct tick *t, const struct assignment *as)
{
	struct decision d = { .goal = as->node->goal, .node = as->node, .assignment = as };
	size_t before;

	d.why = yield_reason(t, as);
	if (d.why.n) {
		d.kind = DEC_YIELD;
		tick_add(t, d);
		return;
	}
	if (as->stage == STAGE_START &&
			(t->t->no_capacity.n || lane_holds(t, as->agent) ||
					trial_is_anothers(t, as->agent, as->node)))
		return;
	if (is_start(as) && !tick_take_slot(t, as))
		return;
	if (as->stage == STAGE_START) {
		d.kind = DEC_START;
		d.why = as->attempt ? STR("the wait before the next attempt is over")
				    : STR("the workspace is ready");
		before = t->out.n;
		tick_add(t, d);
		tick_agent(t, as->agent)->probed |= lane_waits(t, as->agent);
		t->auto_begun += as->node->goal->automatic && t->out.n > before;
		return;
	}
	assert(stage_effect[as->stage].has);
	d.kind = DEC_EFFECT;
	d.effect = stage_effect[as->stage].kind;
	/* One at a time: each must see the target branch as the last one left it. */
	if (stage_is_good(as->stage) && as != t->turn)
		return;
	d.why = arena_printf(t->a, "next step: %s", status_name(&stages, (int)as->stage));
	tick_add(t, d);
}

/* Live assignments by priority, then age; ids are time-ordered. */
int assignment_order(const void *pa, const void *pb)
{
	const struct assignment *a = *(const struct assignment *const *)pa,
				*b = *(const struct assignment *const *)pb;
	int64_t x = node_priority(a->node), y = node_priority(b->node);

	return x != y ? (x < y ? -1 : 1) : str_cmp(a->id, b->id);
}

/*
 * Of those whose next step is due: the first of those who wait for their turn, unless one has it.
 */
static const struct assignment *next_turn(struct tick *t, const struct assignment *const *due,
		size_t n)
{
	const struct policy *p = t->w->policy;
	const struct assignment *found = accept_holder(t->w->state, p);

	if (found)
		return found;
	for (size_t i = 0; i < n; i++) {
		struct decision d = { .kind = DEC_EFFECT,
			.goal = due[i]->node->goal,
			.node = due[i]->node };

		if (accept_waits(due[i]) && !tick_held(t, &d) &&
				(!found || accept_order(p, due[i], found) < 0))
			found = due[i];
	}
	return found;
}

static void advance_all(struct tick *t)
{
	VEC(const struct assignment *) due = { 0 };

	/* Only those that can do something are sorted: a quiet fleet costs one pass. */
	list_each (it, &t->w->state->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (is_due(t, as) && !tick_task_over(t, as))
			vec_push(&due, as);
		check_checkout(t, as);
	}
	if (due.n) {
		qsort(due.p, due.n, sizeof(*due.p), assignment_order);
		t->turn = next_turn(t, due.p, due.n);
	}
	for (size_t i = 0; i < due.n; i++)
		advance(t, due.p[i]);
	vec_done(&due);
}

static bool run_is_live(const struct assignment *as)
{
	return as->run && as->run->status != RUN_ENDED;
}

/* Its run was told to stop, or is about to be. */
static bool is_stopping(const struct assignment *as)
{
	return as->stage == STAGE_STOP || as->stopping || assignment_is_final(as) ||
			as->status == AS_BLOCKED;
}

size_t ending_left(const struct state *s, enum ending ending)
{
	size_t n = 0;

	list_each (it, &s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);
		bool live = run_is_live(as);

		if (ending == ENDING_STOP)
			n += live || as->stage == STAGE_STOP || as->stage == STAGE_HARVEST;
		else
			n += ending == ENDING_LEAVE && live && is_stopping(as);
	}
	return n;
}

static void halt(struct tick *t, const struct assignment *as, const char *why)
{
	if (as->stage != STAGE_RUNNING || !as->node || as->effect || is_stopping(as) || !as->run ||
			as->run->status != RUN_RUNNING)
		return;
	tick_add(t,
			(struct decision){ .kind = DEC_HALT,
					.goal = as->node->goal,
					.node = as->node,
					.assignment = as,
					.why = str_from(why) });
}

/*
 * The daemon ends: what was asked to stop is stopped, and nothing else is begun. One that cannot go
 * on, or was told to, stops all runs, with nothing held against them. What is decided about them
 * here is carried out by this daemon or, if it is killed, the next.
 */
static void reconcile_end(struct tick *t)
{
	bool failing = t->w->state->failing.n > 0, all = t->t->ending == ENDING_STOP;

	list_each (it, &t->w->state->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if ((as->stage == STAGE_STOP || (all && as->stage == STAGE_HARVEST)) &&
				is_due(t, as))
			advance(t, as);
		else if (failing || all)
			halt(t, as,
					failing ? "the daemon cannot go on; the next one goes on "
						  "with its session"
						: "the daemon was told to stop its agents; the "
						  "next one resumes this");
	}
}

static void reconcile_all(struct tick *t)
{
	reconcile_spending(t);
	tick_count_workers(t);
	reconcile_oversight(t);
	queue_ready(t);
	judge_agents(t);
	assign_queued(t);
	advance_all(t);
	reconcile_workers(t);
	reconcile_runs(t);
	reconcile_waits(t);
	reconcile_goals(t);
	reconcile_auto(t);
	reconcile_yields(t);
	reconcile_notices(t);
}

struct decisions reconcile(struct arena *a, const struct world *w, const struct telemetry *t,
		ov_time now)
{
	struct tick tick = { .a = a,
		.w = w,
		.t = t,
		.now = now,
		.wake_at = OV_TIME_MAX,
		.slots = slots_init(w->state, w->policy, now) };
	struct decisions d = { 0 };

	if (w->state->failing.n || t->ending != ENDING_NO)
		reconcile_end(&tick);
	else
		reconcile_all(&tick);
	d.n = tick.out.n;
	d.p = arena_array(a, struct decision, d.n + 1);
	if (d.n)
		memcpy(d.p, tick.out.p, d.n * sizeof(*d.p));
	vec_done(&tick.out);
	d.looks_n = tick.looks.n;
	d.looks = arena_array(a, const struct run *, d.looks_n + 1);
	if (d.looks_n)
		memcpy(d.looks, tick.looks.p, d.looks_n * sizeof(*d.looks));
	vec_done(&tick.looks);
	vec_done(&tick.seen);
	vec_done(&tick.looping);
	vec_done(&tick.over);
	d.wake_at = tick.wake_at;
	return d;
}

static const char *const names[] = {
#define NAME(sym, name, why) [sym] = name,
	DECISIONS(NAME)
#undef NAME
};

const char *decision_name(enum decision_kind kind)
{
	return names[kind];
}

str decision_key(struct arena *a, const struct decision *d)
{
	return arena_printf(a, "%s " STR_FMT "/" STR_FMT " %lld" STR_FMT, names[d->kind],
			STR_ARG(d->goal ? d->goal->id : STR("")),
			STR_ARG(d->node ? d->node->id : STR("")),
			(long long)(d->escalation ? d->escalation->number : 0),
			STR_ARG(d->kind == DEC_WORKER                                  ? d->worker
							: d->kind == DEC_AGENT_FAILING ? d->agent
							: d->notice ? d->notice->id
								    : STR("")));
}

value *decisions_view(struct arena *a, const struct decisions *d)
{
	value *v = value_object(a), *list = value_array(a);

	for (size_t i = 0; i < d->n; i++) {
		const struct decision *x = &d->p[i];
		value *o = value_object(a);

		value_put(a, o, "decision", value_cstr(a, names[x->kind]));
		if (x->goal)
			value_put(a, o, "goal", value_str(a, x->goal->id));
		if (x->node)
			value_put(a, o, "node", value_str(a, x->node->id));
		if (x->assignment)
			value_put(a, o, "assignment", value_str(a, x->assignment->id));
		if (x->agent.n)
			value_put(a, o, "agent", value_str(a, x->agent));
		if (x->worker.n)
			value_put(a, o, "worker", value_str(a, x->worker));
		if (x->kind == DEC_EFFECT)
			value_put(a, o, "effect",
					value_cstr(a, status_name(&effect_kinds, (int)x->effect)));
		if (x->kind == DEC_RUNG)
			value_put(a, o, "rung", value_cstr(a, status_name(&rungs, (int)x->rung)));
		if (x->skip)
			value_put(a, o, "skip", value_bool(a, true));
		if (x->escalation)
			value_put(a, o, "escalation", value_int(a, x->escalation->number));
		if (x->notice)
			value_put(a, o, "notice", value_str(a, x->notice->id));
		value_put(a, o, "why", value_str(a, x->why));
		value_push(a, list, o);
	}
	value_put(a, v, "decisions", list);
	value_put(a, v, "wake_at",
			d->wake_at == OV_TIME_MAX ? value_null(a) : value_time(a, d->wake_at));
	return v;
}
