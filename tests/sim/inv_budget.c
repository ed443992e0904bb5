/* What goals use up: no more than they may, and all of it in the books. */
#include "base/str.h"
#include "tests/sim/check_impl.h"
#include "tests/sim/exec.h"

/* ---- budget ---- */

static int64_t limit_of(struct checker *c, const struct goal_book *b, int r)
{
	const struct policy *p = &c->s->config->policy;
	const struct goal *g = state_goal(c->shadow, b->id);
	int64_t leaves = g && g->leaves ? (int64_t)g->leaves : 1;

	if (b->budget[r])
		return b->budget[r];
	if (b->automatic)
		return p->auto_budget[r];
	if (p->budget[r])
		return p->budget[r];
	return 3 *
			(b->estimate[r] ? b->estimate[r]
							: r == RES_ITERATIONS ||
									(g && g->standing.n)
							? p->estimate[r] * leaves
							: p->estimate[r]);
}

/* Adds what a run under way has used, as far as the daemon can know. */
static void add_live_use(struct checker *c, const struct run_book *r, int64_t used[RESOURCE_COUNT])
{
	const struct observation *o = c->up ? map_get(exec_observations(c->up->exec), r->id) : NULL;

	used[RES_WALL_MS] += MAX(sim_now(c->s) - r->started_at, (ov_time)0);
	used[RES_TOKENS] += o ? o->tokens : 0;
	used[RES_COST_MICROUSD] += o ? o->cost_microusd : 0;
}

/*
 * What tasks of the pool used in the last 24 hours: an hour of it counts until all of it is older.
 * What was noted by a clock that is far ahead does not count.
 */
static void spent_lately(struct checker *c, int64_t used[RESOURCE_COUNT])
{
	int64_t hour = sim_now(c->s) / OV_HOUR;

	memset(used, 0, RESOURCE_COUNT * sizeof(*used));
	for (size_t i = 0; i < c->auto_spends.n; i++) {
		int64_t at = c->auto_spends.p[i].at / OV_HOUR;

		for (int r = 0; at > hour - 25 && at <= hour + 1 && r < RESOURCE_COUNT; r++)
			used[r] += c->auto_spends.p[i].amounts[r];
	}
}

/* Goals of the pool's tasks have one budget together. */
static bool shares(const struct goal_book *a, const struct goal_book *b)
{
	return a == b || (a->automatic && b->automatic);
}

/* The resource that the goal has used up, with what is under way; -1: none. */
static int used_up(struct checker *c, const struct goal_book *g, bool with_live)
{
	int64_t used[RESOURCE_COUNT];

	memcpy(used, g->spent, sizeof(used));
	if (g->automatic)
		spent_lately(c, used);
	for (size_t i = 0; with_live && i < c->live.n; i++) {
		const struct as_book *as = c->live.p[i];

		if (shares(as->node->goal, g) && as->run && as->run->status != RUN_ENDED)
			add_live_use(c, as->run, used);
	}
	for (int r = 0; r < RESOURCE_COUNT; r++) {
		int64_t limit = limit_of(c, g, r);

		/* The count of runs is no reason to stop one that is counted already. */
		if (limit >= 0 && used[r] >= limit && (!with_live || r != RES_ITERATIONS))
			return r;
	}
	return -1;
}

/* The goal whose budget counts for the pool's next task: the newest one; NULL: none yet. */
static const struct goal_book *newest_automatic(const struct checker *c)
{
	for (size_t i = c->goal_list.n; i-- > 0;)
		if (c->goal_list.p[i]->automatic)
			return c->goal_list.p[i];
	return NULL;
}

bool auto_runs_taken(struct checker *c, const struct goal_book *g, int64_t *ret_limit)
{
	int64_t used[RESOURCE_COUNT], runs;

	if (!g)
		g = newest_automatic(c);
	*ret_limit = g ? limit_of(c, g, RES_ITERATIONS)
		       : c->s->config->policy.auto_budget[RES_ITERATIONS];
	spent_lately(c, used);
	runs = used[RES_ITERATIONS];
	for (size_t i = 0; i < c->live.n; i++)
		runs += c->live.p[i]->node->goal->automatic && c->live.p[i]->run &&
				c->live.p[i]->run->status != RUN_ENDED;
	return *ret_limit >= 0 && runs >= *ret_limit;
}

/* The same of one task of the pool; as: with what its run has used so far. */
static int task_used_up(struct checker *c, const struct node_book *n, const struct as_book *as)
{
	bool live = as && as->run && as->run->status != RUN_ENDED;
	int64_t under_way[RESOURCE_COUNT] = { 0 };

	if (live)
		add_live_use(c, as->run, under_way);
	for (int r = 0; n->goal->automatic && r < RESOURCE_COUNT; r++) {
		int64_t limit = c->s->config->policy.task_budget[r],
			used = n->spent[r] - n->spent_before[r] + under_way[r];

		if (limit > 0 && used >= limit && !(live && r == RES_ITERATIONS))
			return r;
	}
	return -1;
}

bool budget_orders_stop(struct checker *c, const struct node_book *n)
{
	return used_up(c, n->goal, true) >= 0 || task_used_up(c, n, n->as) >= 0;
}

static void task_event(struct checker *c, const struct event *e)
{
	const struct node_book *n = book_node(c, e->goal, e->node);
	int r = n && e->kind == EV_RUN_CREATED ? task_used_up(c, n, NULL) : -1;

	if (r >= 0)
		sim_violated(c->s, inv_budget.name, EV_FMT ": the %s of the task are used up",
				EV_ARG(e), status_name(&resources, r));
}

static void budget_event(struct checker *c, const struct event *e)
{
	const struct goal_book *g;
	int r;

	if (e->kind != EV_RUN_CREATED && e->kind != EV_ASSIGNMENT_CREATED)
		return;
	task_event(c, e);
	g = book_goal(c, e->goal);
	r = g ? used_up(c, g, false) : -1;
	if (g && r < 0 && !is_blind(c, e))
		r = used_up(c, g, true);
	if (r >= 0)
		sim_violated(c->s, inv_budget.name,
				EV_FMT ": the %s are used up (%lld of %lld spent)", EV_ARG(e),
				status_name(&resources, r), (long long)g->spent[r],
				(long long)limit_of(c, g, r));
}

static bool budget_sabotage(struct checker *c)
{
	struct as_book *as = some_live(c, false);

	if (!as || limit_of(c, as->node->goal, RES_ITERATIONS) < 0)
		return false;
	if (as->node->goal->automatic)
		return false;
	as->node->goal->spent[RES_ITERATIONS] += limit_of(c, as->node->goal, RES_ITERATIONS);
	forge_show(c, forge(c, EV_RUN_CREATED, as->node));
	return true;
}

const struct invariant inv_budget = {
	.name = "budget",
	.sentence = "when a goal's budget is spent, by what has ended and what is under way, "
		    "nothing new is started",
	.event = budget_event,
	.sabotage = budget_sabotage,
};

/* ---- spending_stops ---- */

enum { EVERY = 16 };
#define PATIENCE (10 * OV_SECOND)

static bool goes_on(struct checker *c, const struct as_book *as)
{
	if (as->stage != STAGE_RUNNING || as->stopping || !as->run ||
			as->run->status != RUN_RUNNING || as->status == AS_BLOCKED ||
			as->status == AS_DONE || as->status == AS_CANCELLED ||
			(as->node->goal->status != GOAL_ACTIVE &&
					as->node->goal->status != GOAL_PAUSED))
		return false;
	for (size_t i = 0; i < c->open_effects.n; i++)
		if (c->open_effects.p[i]->as == as)
			return false;
	return true;
}

/* Time is foreseen: the tick wakes for it. Of other uses it may hear late. */
static void stops_look(struct checker *c, struct as_book *as)
{
	int r = c->up && !c->fresh && c->s->skew == c->skew && goes_on(c, as)
			? used_up(c, as->node->goal, true)
			: -1;

	if (r < 0)
		as->over_t = 0;
	else if (!as->over_t)
		as->over_t = c->s->t;
	else if (c->s->t - as->over_t >
			(r == RES_WALL_MS ? 0 : c->s->config->tick_every) + PATIENCE)
		sim_violated(c->s, inv_spending_stops.name,
				"run " STR_FMT " of " STR_FMT
				" goes on for %lld s, and the %s of its "
				"goal are used up",
				STR_ARG(as->run->id), STR_ARG(as->node->key),
				(long long)((c->s->t - as->over_t) / OV_SECOND),
				status_name(&resources, r));
}

static void stops_step(struct checker *c)
{
	if (c->s->stats.steps % EVERY && !c->fresh)
		return;
	for (size_t i = 0; i < c->live.n; i++)
		stops_look(c, c->live.p[i]);
}

static bool stops_sabotage(struct checker *c)
{
	struct as_book *as = some_live(c, true);

	if (!as || !c->up || c->fresh || c->s->skew != c->skew || !goes_on(c, as) ||
			as->node->goal->automatic || limit_of(c, as->node->goal, RES_TOKENS) < 0)
		return false;
	as->node->goal->spent[RES_TOKENS] += limit_of(c, as->node->goal, RES_TOKENS);
	as->over_t = 1;
	if (c->s->t <= c->s->config->tick_every + PATIENCE + 1)
		return false;
	stops_look(c, as);
	return true;
}

const struct invariant inv_spending_stops = {
	.name = "spending_stops",
	.sentence = "a run whose goal has used up its time, tokens or money is told to stop before "
		    "long, so that no more is used than between two looks",
	.step = stops_step,
	.sabotage = stops_sabotage,
};

/* ---- books_balance ---- */

/* What the runs said at their ends, by our own count; what people and programs are shown of it. */
static void balance_event(struct checker *c, const struct event *e)
{
	if (e->kind != EV_RUN_ENDED)
		return;
	c->told_tokens += value_int_at(e->data, "tokens");
	c->told_cost += value_int_at(e->data, "cost_microusd");
}

static void balance_look(struct checker *c)
{
	for (int r = 0; r < RESOURCE_COUNT; r++) {
		int64_t rows = 0, goals = 0, books = 0;

		for (size_t i = 0; i < c->shadow->usage.n; i++)
			rows += c->shadow->usage.p[i]->spent[r];
		for (size_t i = 0; i < c->shadow->goals.n; i++)
			goals += c->shadow->goals.p[i]->spent[r];
		for (size_t i = 0; i < c->goal_list.n; i++)
			books += c->goal_list.p[i]->spent[r];
		if (r == RES_COST_MICROUSD && books != c->told_cost)
			sim_violated(c->s, inv_books_balance.name,
					"runs said that they cost %lld in all, and %lld were "
					"counted",
					(long long)c->told_cost, (long long)books);
		/* A planner tells tokens, too. */
		if (r == RES_TOKENS && books < c->told_tokens)
			sim_violated(c->s, inv_books_balance.name,
					"runs told of %lld tokens, and %lld were counted",
					(long long)c->told_tokens, (long long)books);
		if (rows != goals || goals != books)
			sim_violated(c->s, inv_books_balance.name,
					"%s: %lld by rows, %lld by goals, %lld by events",
					status_name(&resources, r), (long long)rows,
					(long long)goals, (long long)books);
	}
}

static void balance_step(struct checker *c)
{
	if (c->shadow_failed || c->balanced_seq == c->seen ||
			(c->s->stats.steps % (4 * EVERY) && !c->fresh))
		return;
	c->balanced_seq = c->seen;
	balance_look(c);
}

static void balance_end(struct checker *c)
{
	if (!c->shadow_failed)
		balance_look(c);
}

static bool balance_sabotage(struct checker *c)
{
	if (!c->goal_list.n || c->shadow_failed)
		return false;
	c->goal_list.p[0]->spent[RES_WALL_MS]++;
	balance_look(c);
	return true;
}

const struct invariant inv_books_balance = {
	.name = "books_balance",
	.sentence = "what runs say that they used, what goals have spent, and the table of it by "
		    "day and agent are the same",
	.event = balance_event,
	.step = balance_step,
	.end = balance_end,
	.sabotage = balance_sabotage,
};
