/* Auto mode: when the pool is asked for the next task, and for whom. */
#include "base/arena.h"
#include "base/str.h"
#include "core/budget.h"
#include "core/reconcile_impl.h"
#include "core/recover.h"
#include "core/standing.h"

/* What of auto mode is under way. */
struct load {
	int64_t tasks;   /* to be done or being done; those that wait for a person hold no worker */
	int64_t waiting; /* of them, not given to an agent yet */
	int64_t unusable; /* workers that a person has to look at first */
	int64_t of_agent; /* assignments at work with the agent of auto mode, whoever they are for */
};

static void count_tasks(struct load *l, const struct goal *g)
{
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = g->nodes.p[i];

		if (!node_is_leaf(n) || node_is_final(n) || n->status == NODE_BLOCKED)
			continue;
		l->tasks++;
		l->waiting += !n->assignment;
	}
}

static struct load count(const struct tick *t)
{
	const struct state *s = t->w->state;
	struct load l = { 0 };

	for (size_t i = 0; i < s->goals.n; i++)
		if (str_is(s->goals.p[i]->standing, STANDING_AUTO) &&
				s->goals.p[i]->status == GOAL_ACTIVE)
			count_tasks(&l, s->goals.p[i]);
	for (size_t i = 0; i < s->workers.n; i++)
		l.unusable += s->workers.p[i]->kind == WORKER_AUTO &&
				(s->workers.p[i]->status == WORKER_ERROR ||
						s->workers.p[i]->wanted.n);
	list_each (it, &s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		l.of_agent += as->stage != STAGE_NONE &&
				str_eq(as->agent, t->w->policy->auto_agent);
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

/* A task that nobody could begin is better left in the pool. */
static bool somebody_is_free(const struct tick *t, const struct policy_agent *agent)
{
	struct load l = count(t);

	return l.tasks < t->w->state->automatic.concurrency - l.unusable &&
			l.of_agent + l.waiting < agent->concurrency;
}

/* Whether the wait after the last answer is over; if not, says until when it lasts. */
static bool may_ask_now(struct tick *t)
{
	ov_time at = t->w->state->automatic.ask_at;

	/* One that is longer than any was set by a clock that was wrong: it is over. */
	if (at <= t->now || at - t->now > t->w->policy->pool_wait_max)
		return true;
	tick_wake(t, at);
	return false;
}

void reconcile_auto(struct tick *t)
{
	const struct state *s = t->w->state;
	const struct policy *p = t->w->policy;
	const struct policy_agent *agent = policy_agent(p, p->auto_agent);
	const struct goal *g = state_standing(s, STANDING_AUTO);

	if (!p->auto_mode || !s->automatic.on || s->pool || !agent ||
			!agent_allowed(p, agent->name))
		return;
	if (!may_ask_now(t) || (g && tick_goal_held(t, g).n) || lane_waits(t, agent->name) ||
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
