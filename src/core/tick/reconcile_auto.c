/* Auto mode: when the pool is asked for the next task, and for whom. */
#include "base/arena.h"
#include "base/str.h"
#include "core/capacity/auto_mode.h"
#include "core/capacity/budget.h"
#include "core/capacity/free_worker.h"
#include "core/life/ladder.h"
#include "core/plan/pool.h"
#include "core/tick/reconcile_impl.h"

/* What of auto mode is under way. */
struct load {
	int64_t tasks;    /* to be done, being done, or to be tried again after a failure */
	int64_t waiting;  /* of them, not given to an agent yet */
	int64_t to_begin; /* of them, those whose next step is a run */
	int64_t unusable; /* workers that a person has to look at first */
	/* assignments at work with the agent of auto mode, whoever they are for */
	int64_t of_agent;
};

/* Work that waits holds no slot: others may begin meanwhile. */
static bool has_slot(struct slots *sl, const struct assignment *as)
{
	return assignment_waiting(sl, as) == WAITING_NONE;
}

/*
 * It failed and waits for its next run. That holds no slot, but whatever made it fail may make the
 * next task fail too: as long as it is not settled, no other task is taken from the pool in
 * its place.
 */
static bool will_be_retried(struct slots *sl, const struct assignment *as)
{
	return assignment_starts(as) && assignment_waiting(sl, as) == WAITING_BACKOFF;
}

/* Nothing becomes of it in this tick; the wait of others may just be over. */
static bool stays_blocked(const struct slots *sl, const struct node *n)
{
	return n->status == NODE_BLOCKED && (!n->block.until || n->block.until > sl->now);
}

static bool is_settled(const struct slots *sl, const struct node *n)
{
	return node_is_final(n) || stays_blocked(sl, n);
}

/*
 * Its task is settled, but its run is yet to end, or its work to be kept: its worker is at work
 * for it.
 */
static bool winds_down(const struct slots *sl, const struct assignment *as)
{
	bool unfinished = as->stage == STAGE_RUNNING || as->stage == STAGE_STOP ||
			as->stage == STAGE_HARVEST;

	return unfinished && as->slot == WORKER_AUTO && as->node && is_settled(sl, as->node);
}

/* A run of it comes next, and does not count as one under way yet. */
static bool awaits_run(const struct assignment *as)
{
	return as->stage == STAGE_WORKSPACE || as->stage == STAGE_WAITING ||
			(as->stage == STAGE_START && (!as->run || as->run->status == RUN_ENDED));
}

static void count_tasks(struct load *l, struct slots *sl, const struct goal *g)
{
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = g->nodes.p[i];

		if (!node_is_leaf(n) || is_settled(sl, n))
			continue;
		l->tasks += !n->assignment || has_slot(sl, n->assignment) ||
				will_be_retried(sl, n->assignment);
		l->waiting += !n->assignment;
		l->to_begin += !n->assignment || awaits_run(n->assignment);
	}
}

static struct load count(struct tick *t)
{
	const struct state *s = t->w->state;
	struct load l = { 0 };

	for (size_t i = 0; i < s->goals.n; i++)
		if (str_is(s->goals.p[i]->standing, STANDING_AUTO) &&
				s->goals.p[i]->status == GOAL_ACTIVE)
			count_tasks(&l, &t->slots, s->goals.p[i]);
	for (size_t i = 0; i < s->workers.n; i++)
		l.unusable += s->workers.p[i]->kind == WORKER_AUTO &&
				(s->workers.p[i]->status == WORKER_ERROR ||
						s->workers.p[i]->wanted.n);
	list_each (it, &s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		l.of_agent += as->stage != STAGE_NONE &&
				str_eq(as->agent, t->w->policy->auto_agent) &&
				has_slot(&t->slots, as);
		l.tasks += winds_down(&t->slots, as);
	}
	return l;
}

/* An idle one, or the first name that nobody has. */
static str asker(const struct tick *t)
{
	const struct state *s = t->w->state;
	str name;

	for (size_t i = 0; i < s->workers.n; i++)
		if (s->workers.p[i]->kind == WORKER_AUTO &&
				s->workers.p[i]->status == WORKER_IDLE &&
				!worker_is_taken(t, s->workers.p[i]->name))
			return s->workers.p[i]->name;
	for (size_t i = 1;; i++) {
		name = arena_printf(t->a, "auto-%zu", i);
		if (!state_worker(s, name) && !worker_is_taken(t, name))
			return name;
	}
}

/* Runs that the budget has left for tasks that have none under way. */
static int64_t runs_free(const struct tick *t)
{
	const struct goal *g = budget_newest(t->w->state);

	/* Those that this tick begins are among the tasks that are yet to begin. */
	return g ? budget_runs_free(t->w->policy, g, &t->spending[g->order].live, t->now)
		 : INT64_MAX;
}

/* A task that nobody could begin is better left in the pool. */
static bool somebody_is_free(struct tick *t, const struct policy_agent *agent)
{
	struct load l = count(t);

	return l.tasks < t->w->state->automatic.concurrency - l.unusable &&
			l.of_agent + l.waiting < agent->concurrency && l.to_begin < runs_free(t) &&
			!tick_crowded(t, WORKER_AUTO);
}

/* Whether the wait after the last answer is over; if not, says until when it lasts. */
static bool may_ask_now(struct tick *t)
{
	ov_time at = t->w->state->automatic.ask_at;

	/* One that is longer than any was set by a clock that was wrong: it is over. */
	if (at <= t->now || at - t->now > pool_longest_wait(t->w->policy))
		return true;
	tick_wake(t, at);
	return false;
}

/*
 * This tick decides about tasks in a way that may pause it: whether it may ask is seen after that.
 */
static bool is_undecided(const struct tick *t)
{
	const struct state *s = t->w->state;

	for (size_t i = 0; t->reviewed && i < s->goals.n; i++)
		if (s->goals.p[i]->automatic && t->reviewed[i])
			return true;
	return t->over.n;
}

/* No task may be begun: the goal that it would go to is held, or the budget is spent. */
static bool is_held(struct tick *t)
{
	const struct goal *g = state_standing(t->w->state, STANDING_AUTO), *last;

	if (is_undecided(t))
		return true;
	if (g)
		return tick_goal_held(t, g).n;
	last = budget_newest(t->w->state);
	if (!last ||
			budget_judge(t->w->policy, last, &t->spending[last->order].live, t->now)
							.level != BUDGET_SPENT)
		return false;
	tick_wake(t, MAX(budget_room_at(t->w->policy, last, t->now), t->now + OV_SECOND));
	return true;
}

/* ---- what it waits for ---- */

static void absorb_entries(struct tick *t)
{
	const struct state *s = t->w->state;

	for (size_t i = 0; i < s->escalations.n; i++) {
		const struct escalation *x = s->escalations.p[i];
		const struct node *n = x->status == ESC_OPEN && x->node_id.n
				? state_node(s, x->goal_id, x->node_id)
				: NULL;

		if (n && task_was_given_up(n))
			tick_add(t,
					(struct decision){ .kind = DEC_AUTO_ABSORB,
							.goal = n->goal,
							.node = n,
							.escalation = x,
							.why = STR("auto mode is paused for the "
								   "same") });
	}
}

/* True while it waits for a person. */
static bool is_paused(struct tick *t)
{
	const struct auto_mode *m = &t->w->state->automatic;
	const struct escalation *x = m->pause_cause.n
			? state_escalation(t->w->state, m->pause_entry)
			: NULL;

	if (m->pause_cause.n && (!x || x->status != ESC_OPEN)) {
		tick_add(t,
				(struct decision){ .kind = DEC_AUTO_RESUME,
						.why = STR("what it waited for was settled") });
		return true;
	}
	if (str_is(m->pause_cause, PAUSE_FAILURES))
		absorb_entries(t);
	if (!auto_pause_due(t->w->policy, m))
		return m->pause_cause.n;
	tick_add(t,
			(struct decision){ .kind = DEC_AUTO_PAUSE,
					.why = arena_printf(t->a,
							"%lld tasks in a row were given up",
							(long long)m->failed_in_a_row) });
	return true;
}

/* ---- tasks that have used up their own budget ---- */

static bool may_be_stopped(const struct assignment *as)
{
	if (as->effect || as->stopping || assignment_is_final(as) || as->status == AS_BLOCKED ||
			as->node->status == NODE_BLOCKED)
		return false;
	return as->stage == STAGE_START || as->stage == STAGE_WORKSPACE ||
			(as->stage == STAGE_RUNNING && as->run && as->run->status == RUN_RUNNING);
}

void reconcile_task(struct tick *t, const struct assignment *as)
{
	const struct policy *p = t->w->policy;
	const struct node *n = as->node;
	struct budget_live live = { 0 };
	struct budget_verdict v;
	int64_t left;

	if (!n || !n->goal->automatic || !may_be_stopped(as))
		return;
	if (as->stage == STAGE_RUNNING)
		budget_add_live(&live, as->run, tick_observation(t, as->run), t->now);
	v = task_judge(p, n, &live);
	left = p->task_budget[RES_WALL_MS] -
			(n->spend.used[RES_WALL_MS] - n->spend.used_before[RES_WALL_MS]) -
			live.used[RES_WALL_MS];
	if (v.level == BUDGET_SPENT)
		vec_push(&t->over, ((struct task_over){ as, v }));
	else if (live.runs && p->task_budget[RES_WALL_MS] > 0)
		tick_wake(t, t->now + left);
}

static void give_up_tasks(struct tick *t)
{
	for (size_t i = 0; i < t->over.n; i++) {
		const struct budget_verdict *v = &t->over.p[i].verdict;
		const struct assignment *as = t->over.p[i].as;

		tick_add(t,
				(struct decision){ .kind = DEC_TASK_BUDGET,
						.goal = as->node->goal,
						.node = as->node,
						.assignment = as,
						.resource = v->resource,
						.used = v->used,
						.limit = v->limit,
						.why = arena_printf(t->a,
								"it has used up its "
								"budget: " STR_FMT,
								STR_ARG(budget_text(t->a,
										v->resource,
										v->used,
										v->limit))) });
	}
}

void reconcile_auto(struct tick *t)
{
	const struct state *s = t->w->state;
	const struct policy *p = t->w->policy;
	const struct policy_agent *agent = policy_agent(p, p->auto_agent);

	give_up_tasks(t);
	if (is_paused(t) || !p->auto_mode || !s->automatic.on || s->pool || !agent ||
			!agent_allowed(p, agent->name))
		return;
	if (!may_ask_now(t) || is_held(t) || lane_waits(t, agent->name) ||
			!somebody_is_free(t, agent))
		return;
	/* No event tells that there is capacity again. */
	if (t->t->no_capacity.n) {
		tick_wake(t, t->now + p->pool_wait);
		return;
	}
	tick_add(t,
			(struct decision){ .kind = DEC_POOL,
					.worker = asker(t),
					.why = STR("a worker of auto mode has nothing to do") });
}
