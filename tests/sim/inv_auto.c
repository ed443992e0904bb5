/* The brakes of auto mode, by our own count: what stops it, and how often people hear of it. */
#include "base/str.h"
#include "tests/sim/check_impl.h"

static bool is_given_up(const struct event *e)
{
	str block = value_str_at(e->data, "block");

	return str_is(block, "failed") || str_is(block, "stalled") || str_is(block, "budget") ||
			(str_is(block, "paused") &&
					!str_starts(value_str_at(e->data, "blocked_by"),
							STR("human:")));
}

/*
 * How many tasks in a row were given up. A person who settles one of them begins the count again.
 */
static void count_task(struct checker *c, const struct event *e)
{
	struct node_book *n = book_node(c, e->goal, e->node);
	bool blocked = str_is(value_str_at(e->data, "to"), "blocked");

	if (!n || !n->goal->automatic)
		return;
	if (str_is(value_str_at(e->data, "to"), "done") ||
			(n->given_up && str_starts(e->actor, STR("human:"))))
		c->automatic.given_up = 0;
	else if (blocked && is_given_up(e) && !str_is(value_str_at(e->data, "from"), "blocked"))
		c->automatic.given_up++;
	n->given_up = blocked && is_given_up(e);
}

static void note_pause(struct checker *c, const struct event *e)
{
	struct auto_book *b = &c->automatic;

	switch (e->kind) {
	case EV_AUTO_STARTED:
		b->on = true;
		if (str_starts(e->actor, STR("human:")))
			b->given_up = 0;
		break;
	case EV_AUTO_STOPPED: b->on = false; break;
	case EV_AUTO_PAUSED:
		b->paused = true;
		b->holds = !str_is(value_str_at(e->data, "cause"), "pool");
		break;
	case EV_AUTO_RESUMED:
		b->given_up = 0;
		b->paused = b->holds = false;
		break;
	default: break;
	}
}

static bool is_due(const struct checker *c)
{
	int64_t most = c->s->config->policy.auto_failures;

	return c->automatic.on && most && c->automatic.given_up >= most;
}

/* Nothing is asked for, and nothing begun, that the brakes forbid. */
static void check_begun(struct checker *c, const struct event *e)
{
	const struct goal_book *g = e->goal.n ? book_goal(c, e->goal) : NULL;
	bool asks = e->kind == EV_EFFECT_INTENDED && str_is(value_str_at(e->data, "kind"), "pool"),
	     begins = e->kind == EV_RUN_CREATED && g && g->automatic;
	int64_t limit;

	if ((asks && c->automatic.paused) || (begins && c->automatic.holds))
		sim_violated(c->s, inv_auto_brakes.name, EV_FMT ": auto mode is paused", EV_ARG(e));
	if ((asks || begins) && is_due(c))
		sim_violated(c->s, inv_auto_brakes.name,
				EV_FMT ": %lld tasks in a row were given up", EV_ARG(e),
				(long long)c->automatic.given_up);
	if ((asks || begins) && auto_runs_taken(c, begins ? g : NULL, &limit))
		sim_violated(c->s, inv_auto_brakes.name,
				EV_FMT ": %lld runs ended in the last 24 h or are under way",
				EV_ARG(e), (long long)limit);
}

/* One entry at a time for each cause. */
static void check_entry(struct checker *c, const struct event *e)
{
	static const char *const kinds[] = { "auto_paused", "task_pool", "task_refused" };
	str kind = value_str_at(e->data, "kind");
	const struct goal_book *g = e->goal.n ? book_goal(c, e->goal) : NULL;
	bool budget = str_is(kind, "budget") && g && g->automatic, of_auto = budget;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		of_auto |= str_is(kind, kinds[i]);
	for (size_t i = 0; of_auto && i < c->escalations.n; i++) {
		const struct escalation_book *x = c->escalations.p[i];
		const struct goal_book *about = x->goal.n ? book_goal(c, x->goal) : NULL;

		if (x->open && str_eq(x->kind, kind) &&
				x->number != value_int_at(e->data, "escalation") &&
				(!budget || (about && about->automatic)))
			sim_violated(c->s, inv_auto_brakes.name,
					EV_FMT ": #%lld is open for the same cause", EV_ARG(e),
					(long long)x->number);
	}
}

/*
 * There is room for a moment at every hour: people hear of it once, until it is fine or they acted.
 */
static void note_budget(struct checker *c, const struct event *e)
{
	const struct goal_book *g = e->goal.n ? book_goal(c, e->goal) : NULL;

	if (!g || !g->automatic)
		return;
	if ((e->kind == EV_GOAL_BUDGET && str_is(value_str_at(e->data, "level"), "fine")) ||
			(e->kind == EV_GOAL_UPDATED && value_at(e->data, "budget")) ||
			(e->kind == EV_GOAL_STATUS &&
					str_is(value_str_at(e->data, "to"), "cancelled")))
		c->automatic.told = 0;
	if (e->kind != EV_ESCALATION_OPENED || !str_is(value_str_at(e->data, "kind"), "budget"))
		return;
	if (c->automatic.told)
		sim_violated(c->s, inv_auto_brakes.name,
				EV_FMT ": #%lld was about the same, and it was neither fine nor "
				       "raised since",
				EV_ARG(e), (long long)c->automatic.told);
	c->automatic.told = value_int_at(e->data, "escalation");
}

/* Its tasks have nothing to do with each other: what is found in one holds that one, never all. */
static void check_stopped(struct checker *c, const struct event *e)
{
	const struct goal_book *g = e->goal.n ? book_goal(c, e->goal) : NULL;

	if (g && g->automatic && value_bool_at(e->data, "goal_wide"))
		sim_violated(c->s, inv_auto_brakes.name,
				EV_FMT ": oversight stopped the goal of all tasks of the pool",
				EV_ARG(e));
}

static void brakes_event(struct checker *c, const struct event *e)
{
	check_begun(c, e);
	note_budget(c, e);
	if (e->kind == EV_NODE_STATUS)
		count_task(c, e);
	else if (e->kind == EV_ESCALATION_OPENED)
		check_entry(c, e);
	else if (e->kind == EV_INTERVENTION_APPLIED)
		check_stopped(c, e);
	note_pause(c, e);
}

static bool brakes_sabotage(struct checker *c)
{
	struct event *e = forge(c, EV_EFFECT_INTENDED, NULL);

	c->automatic.paused = true;
	forge_text(c, e, "kind", STR("pool"));
	forge_show(c, e);
	return true;
}

const struct invariant inv_auto_brakes = {
	.name = "auto_brakes",
	.sentence = "auto mode asks for nothing and starts nothing while it is paused or has to "
		    "be, or while as many runs as it may have ended in the last 24 hours or are "
		    "under way, there is one entry for each cause, and oversight stops single "
		    "tasks of the pool, never their goal",
	.event = brakes_event,
	.sabotage = brakes_sabotage,
};

/* ---- failed_comes_first ---- */

static bool is_of_auto(const struct checker *c, const struct as_book *as)
{
	const struct goal *g = state_goal(c->shadow, as->node->goal->id);

	return g && g->automatic && g->status == GOAL_ACTIVE &&
			str_starts(as->worker, STR("auto-"));
}

/* Its last run failed, and the next one has to wait for a while. */
static bool is_retried(const struct checker *c, const struct as_book *as, ov_time at)
{
	return (as->stage == STAGE_START || as->stage == STAGE_WORKSPACE) && as->run &&
			as->not_before > at && as->moved_at <= at && as_waits(c, as, at);
}

/*
 * Whatever made it fail may make the next task fail as well: it is settled before another is drawn.
 */
static void failed_event(struct checker *c, const struct event *e)
{
	int64_t busy = 0, retried = 0;

	if (e->kind != EV_EFFECT_INTENDED || !str_is(value_str_at(e->data, "kind"), "pool"))
		return;
	for (size_t i = 0; i < c->live.n; i++) {
		const struct as_book *as = c->live.p[i];

		if (!is_of_auto(c, as))
			continue;
		busy += as_busy(c, as, e->at);
		retried += is_retried(c, as, e->at);
	}
	if (retried && busy + retried >= c->shadow->automatic.concurrency)
		sim_violated(c->s, inv_failed_comes_first.name,
				EV_FMT ": %lld tasks are to be tried again, %lld are at work, and "
				       "auto.concurrency is %lld",
				EV_ARG(e), (long long)retried, (long long)busy,
				(long long)c->shadow->automatic.concurrency);
}

/* All of its runs fail at once, and the pool is asked all the same. */
static bool failed_sabotage(struct checker *c)
{
	struct event *e = forge(c, EV_EFFECT_INTENDED, NULL);
	int64_t n = 0;

	for (size_t i = 0; i < c->live.n; i++)
		n += is_of_auto(c, c->live.p[i]) && c->live.p[i]->run &&
				c->live.p[i]->stage == STAGE_RUNNING;
	if (!n || n < c->shadow->automatic.concurrency)
		return false;
	for (size_t i = 0; i < c->live.n; i++) {
		c->live.p[i]->stage = STAGE_START;
		c->live.p[i]->moved_at = e->at;
		c->live.p[i]->not_before = e->at + OV_HOUR;
	}
	forge_text(c, e, "kind", STR("pool"));
	forge_show(c, e);
	return true;
}

const struct invariant inv_failed_comes_first = {
	.name = "failed_comes_first",
	.sentence = "no task is drawn from the pool while tasks that failed and wait for their "
		    "next run, and those at work, take all places of auto mode",
	.event = failed_event,
	.sabotage = failed_sabotage,
};
