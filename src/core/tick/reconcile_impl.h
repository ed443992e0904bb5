#pragma once
/* What the reconcile_*.c files share: one tick under way. Private to core. */
#include "base/vec.h"
#include "core/capacity/budget.h"
#include "core/capacity/slots.h"
#include "core/tick/reconcile.h"

/* Of one goal. */
struct spending {
	struct budget_live live; /* what runs under way have used */
	bool stops;              /* and must therefore be stopped */
};

struct task_over {
	const struct assignment *as;
	struct budget_verdict verdict;
};

/* Of one kind; with what this tick makes and takes. */
struct tick_workers {
	size_t n;
	size_t busy;         /* slots in use, those that are kept for whose wait is over included */
	size_t starts;       /* of these, kept for them; taken in their order */
	size_t waiting, all; /* assignments that wait, and all that have a worktree */
	bool wanted;         /* a task could begin if one that waits gave its worker back */
	size_t last;         /* the number that was given last */
};

/* Of one configured agent: assignments with a run or a step under way, or about to begin one. */
struct tick_agent {
	int64_t busy, starts;
	bool probed; /* a run of it was let through its limit by this tick */
	bool given;  /* nobody gives way to another task any more, see trial_gives_way */
};

struct tick {
	struct arena *a;
	const struct world *w;
	const struct telemetry *t;
	ov_time now;
	VEC(struct decision) out;
	VEC(const struct run *) looks;
	ov_time wake_at;
	struct slots slots;
	struct tick_workers workers[WORKER_KIND_COUNT];
	struct tick_agent *agents; /* by their place in the policy; NULL: not counted yet */
	/* By whom a worker is looked for: ordinary goals, the auto mode's. */
	size_t next_idle[2];           /* index into state->workers from which to look */
	bool no_worker[2];             /* there is none left */
	bool out_of_turn;              /* a certain one was looked for: some may be taken already */
	const struct assignment *turn; /* whose step in the accept queue may be taken */
	struct spending *spending;     /* of goals by their order */
	bool stops;                    /* some goal's runs must be stopped */
	VEC(const struct observation *) seen; /* of live assignments, in their order; NULL: none */
	size_t auto_begun;                    /* runs of tasks of the pool that this tick begins */
	VEC(const struct assignment *) looping; /* their runs make the same call again and again */
	VEC(struct task_over) over;             /* tasks that have used up their own budget */
	bool *reviewed; /* by their order: nothing else is decided about these; NULL: none */
};

/* Beyond this many decisions the rest waits for the next tick. */
enum { TICK_DECISIONS = 2000 };

/* The answer can change at this moment. */
static inline void tick_wake(struct tick *t, ov_time at)
{
	t->wake_at = MIN(t->wake_at, at);
}

static inline bool tick_held(const struct tick *t, const struct decision *d)
{
	return t->t->held && map_get(t->t->held, decision_key(t->a, d));
}

/* What oversight finds may stop the whole goal: first that, the rest in the next round. */
static inline bool tick_awaits_review(const struct tick *t, const struct decision *d)
{
	const struct goal *g = d->goal;

	if (!t->reviewed || d->kind == DEC_REVIEW)
		return false;
	if (!g && d->escalation)
		g = state_goal(t->w->state, d->escalation->goal_id);
	return g && t->reviewed[g->order];
}

static inline void tick_add(struct tick *t, struct decision d)
{
	if (!tick_awaits_review(t, &d) && !tick_held(t, &d))
		vec_push(&t->out, d);
}

/* True when this tick has decided enough: the rest is the next one's. */
static inline bool tick_full(struct tick *t)
{
	if (t->out.n < TICK_DECISIONS)
		return false;
	tick_wake(t, t->now);
	return true;
}

static inline const struct observation *tick_observation(const struct tick *t, const struct run *r)
{
	return t->t->observations && r ? map_get(t->t->observations, r->id) : NULL;
}

/* What runs under way have used, with those that this tick begins: they have used nothing yet. */
static inline struct budget_live tick_live(const struct tick *t, const struct goal *g)
{
	struct budget_live live = t->spending[g->order].live;

	live.runs += g->automatic ? t->auto_begun : 0;
	return live;
}

/* As goal_held, with what this tick knows of the runs under way. */
static inline str tick_goal_held(const struct tick *t, const struct goal *g)
{
	struct budget_live live = tick_live(t, g);

	return goal_held(t->w->policy, g, &live, t->now);
}

/* Its task is given up, since it has used up what it may: nothing else is decided about it. */
static inline bool tick_task_over(const struct tick *t, const struct assignment *as)
{
	for (size_t i = 0; i < t->over.n; i++)
		if (t->over.p[i].as == as)
			return true;
	return false;
}

/* It uses up what is not there: it is stopped, and nothing else is decided about it. */
static inline bool tick_stops(const struct tick *t, const struct assignment *as)
{
	return t->stops && as->node && t->spending[as->node->goal->order].stops &&
			as->stage == STAGE_RUNNING && !as->effect && !as->stopping && as->run &&
			as->run->status == RUN_RUNNING && !assignment_is_final(as) &&
			as->status != AS_BLOCKED;
}

/*
 * Runs that were judged and of which no iteration was made yet, and runs that go in circles; before
 * anything else is decided.
 */
void reconcile_oversight(struct tick *t);
/* By another node of this tick. */
bool worker_is_taken(const struct tick *t, str name);
/* What the runs under way have used, and which repeat themselves; before anything is decided. */
void reconcile_spending(struct tick *t);
void tick_count_workers(struct tick *t);
/* How much each agent has to do, counted once per tick. */
struct tick_agent *tick_agent(struct tick *t, str name);
/* Whoever could begin a run takes a slot for it; false: none is left, or none of its agent. */
bool tick_take_slot(struct tick *t, const struct assignment *as);
/* The same, where its agent may run one more; otherwise the place of one that gives way. */
bool tick_take_place(struct tick *t, struct decision *d, const struct policy_agent *agent);
/* Too many wait: no other task may start with such a worker. Remembers that one could have. */
bool tick_crowded(struct tick *t, enum worker_kind kind);
/* Workers that are to be reset or removed. */
void reconcile_workers(struct tick *t);
/* One that waits for its agent or an answer gives its worker back where another could use it. */
void reconcile_yields(struct tick *t);
/* Runs under way: signs of life, stalls, and the ladder of recovery. */
void reconcile_runs(struct tick *t);
/* Time passes for those who wait: blocked nodes, people who were asked. */
void reconcile_waits(struct tick *t);
/* Goals as wholes: finished ones, their budgets, and questions that settled themselves. */
void reconcile_goals(struct tick *t);
/* Has the task of the assignment used up its own budget? */
void reconcile_task(struct tick *t, const struct assignment *as);
/* The pool of tasks is asked when a worker of auto mode has nothing to do. */
void reconcile_auto(struct tick *t);
/* People outside are told. */
void reconcile_notices(struct tick *t);
/* It failed so often in a row, on several tasks, that it is to be given no more work. */
bool agent_is_failing(const struct tick *t, const struct streak *k);
/* Out of quota or logged out: nothing new is given to this agent until that is over. */
bool lane_waits(struct tick *t, str agent);
/* But for the one run that finds out whether a long limit is still there. */
bool lane_holds(struct tick *t, str agent);
/* Another task finds out first whether the agent's limit is over. */
bool trial_is_anothers(struct tick *t, str agent, const struct node *n);
/*
 * Who said that the agent is limited, and lets this task have its place; NULL: nobody. How many are
 * about to start: its agent may have room for none of them but one, and all of them wait for that.
 */
const struct assignment *trial_gives_way(struct tick *t, str agent, const struct node *n,
		int64_t *ret_claimants);
/* Of those that have not begun, who said that the agent is limited goes last. */
void trial_sort_nodes(struct tick *t, const struct node **nodes, size_t n);
