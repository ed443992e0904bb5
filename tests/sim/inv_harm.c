/*
 * What may be done to a run that nobody ordered to end: nothing while it is seen to live, and
 * little on doubtful evidence. Judged by what the daemon knew when it decided, on the clock that
 * it read.
 */
#include "base/str.h"
#include "core/tick/reconcile.h"
#include "tests/sim/check_impl.h"
#include "tests/sim/exec.h"
#include "tests/sim/machine.h"

enum { OUTAGE_LEAST = 5 };

static const struct policy *policy_of(const struct checker *c)
{
	return &c->s->config->policy;
}

/* A clock that was set tells nobody how old anything is; nor is it known what one who died knew. */
bool is_blind(const struct checker *c, const struct event *e)
{
	return !c->up || c->fresh || e->at != sim_now(c->s) || c->s->t < c->blind_t ||
			c->s->skew != c->skew;
}

static const struct observation *known(struct checker *c, const struct event *e)
{
	return is_blind(c, e) ? NULL : map_get(exec_observations(c->up->exec), e->run);
}

/* The newest sign of life that the daemon knows of, by its clock; 0: none. */
static ov_time last_life(const struct observation *o)
{
	return MAX(MAX(o->output_at, o->process_at), o->tree_at);
}

/* What was learned of its agent has it asked sooner, unless it was asked before and spoke again. */
static ov_time asked_after(struct checker *c, const struct event *e, const struct observation *o)
{
	const struct run *r = state_run(c->shadow, e->run);
	const struct as_book *as = book_as(c, e->assignment);
	ov_time idle = policy_of(c)->idle_after, learned;

	if (!r || !as || r->mute_at || (as->node->episode_open && as->status != AS_STALLED))
		return idle;
	learned = habit_book_asked(c, r->agent, r->model, (int)o->doing, o->tool);
	return learned ? MIN(learned, idle) : idle;
}

static void alive(struct checker *c, const struct event *e, const char *what, bool ends)
{
	const struct observation *o = known(c, e);
	ov_time idle = o && !ends ? asked_after(c, e, o) : policy_of(c)->idle_after;

	/* One that lies ahead is of a clock that was set back since. */
	if (o && last_life(o) && last_life(o) <= e->at && e->at - last_life(o) < idle)
		sim_violated(c->s, inv_no_harm_to_the_living.name,
				EV_FMT ": %s, though run " STR_FMT
				       " gave a sign of life %lld s ago (idle after %lld s)",
				EV_ARG(e), what, STR_ARG(e->run),
				(long long)((e->at - last_life(o)) / OV_SECOND),
				(long long)(idle / OV_SECOND));
}

/* Output says nothing: at least one other signal has to be known, and quiet. */
static void doubtful(struct checker *c, const struct event *e, const char *what)
{
	const struct observation *o = known(c, e);

	if (o && o->process_unknown && o->tree_unknown)
		sim_violated(c->s, inv_no_harm_to_the_living.name,
				EV_FMT ": %s of run " STR_FMT
				       ", of which neither processes nor tree could be read",
				EV_ARG(e), what, STR_ARG(e->run));
}

static void harm_rung(struct checker *c, const struct event *e)
{
	int rung = event_status(e, "rung", &rungs);
	const struct run_book *r = book_run(c, e->run);

	if (value_bool_at(e->data, "skipped") || !r || r->status != RUN_RUNNING)
		return;
	if (rung == RUNG_NUDGE || rung == RUNG_RESEND || rung == RUNG_REASSIGN)
		alive(c, e, status_name(&rungs, rung), rung == RUNG_REASSIGN);
	if (rung == RUNG_REASSIGN)
		doubtful(c, e, "reassignment");
}

/* So long asking would take; an end comes no sooner. */
static ov_time patience(const struct policy *p)
{
	ov_time wait = p->backoff_base, sum = 0;

	for (int64_t n = 1; n <= p->max_nudges; n++) {
		sum += n < p->max_nudges ? MAX(wait, p->min_resend_interval) : wait;
		wait = MIN(2 * wait, p->backoff_max);
	}
	return sum;
}

/* By the ladder, with two witnesses, and after it was given the time to answer. */
static void stopped_by_ladder(struct checker *c, const struct event *e, const struct as_book *as)
{
	const struct observation *o = known(c, e);
	ov_time since = MAX(as->moved_at, c->outage_over_at);

	/* Who was asked sooner is not ended sooner. */
	if (o)
		since = MAX(since,
				MAX(last_life(o), as->run->started_at) + policy_of(c)->idle_after);

	alive(c, e, "end", true);
	doubtful(c, e, "end");
	/* Whoever waits for a person has nothing to answer. */
	if (o && !o->waiting_for.n && as->status == AS_STALLED &&
			e->at - since < patience(policy_of(c)))
		sim_violated(c->s, inv_no_harm_to_the_living.name,
				EV_FMT ": run " STR_FMT " is ended %lld s after it stalled; asking "
				       "would have taken %lld s",
				EV_ARG(e), STR_ARG(e->run),
				(long long)((e->at - since) / OV_SECOND),
				(long long)(patience(policy_of(c)) / OV_SECOND));
}

/* Why a run may be stopped that nobody asked to stop. */
static bool may_stop(struct checker *c, const struct event *e, const struct node_book *n)
{
	const struct observation *o = known(c, e);
	ov_time quiet_since = MAX(o ? last_life(o) : 0, n->reported_at);

	/* By its agent, who cannot go on; by a plan that splits it. */
	if ((n->reported_at == e->at && str_is(n->reported, "blocked")) ||
			n->goal->planned_at == e->at)
		return true;
	/* By oversight, which aborts its goal. */
	if (n->goal->detected_at == e->at)
		return true;
	if (budget_orders_stop(c, n) || c->shadow->failing.n)
		return true;
	/* By a person, who told the daemon to end with its agents. */
	if (e->seq > c->s->runs_end_after && e->seq <= c->s->runs_end_to)
		return true;
	return str_is(n->reported, "done") && e->at - quiet_since >= policy_of(c)->done_grace;
}

/* What its tools do is seen by whoever looks, whether it tells of them or not. */
static void at_work(struct checker *c, const struct event *e)
{
	const struct observation *o = known(c, e);
	const struct sim_run *r = machine_find(c->s->machine, e->run);
	ov_time busy = r ? machine_busy_since(r) : 0, idle = policy_of(c)->idle_after;

	if (o && !o->process_unknown && busy && c->s->t - busy > idle && !c->s->silent)
		sim_violated(c->s, inv_no_harm_to_the_living.name,
				EV_FMT ": stall, though the tools of run " STR_FMT
				       " have been at work for %lld s (idle after %lld s)",
				EV_ARG(e), STR_ARG(e->run),
				(long long)((c->s->t - busy) / OV_SECOND),
				(long long)(idle / OV_SECOND));
}

static void harm_moved(struct checker *c, const struct event *e)
{
	const struct as_book *as = book_as(c, e->assignment);

	if (!as || as->stage != STAGE_RUNNING || !as->run || as->run->status != RUN_RUNNING ||
			by_person(e))
		return;
	if (event_status(e, "to", &as_statuses) == AS_STALLED && as->status != AS_STALLED) {
		alive(c, e, "stall", false);
		at_work(c, e);
		doubtful(c, e, "stall");
	}
	if (event_status(e, "stage", &stages) != STAGE_STOP)
		return;
	if (as->node->rung_at == e->at)
		stopped_by_ladder(c, e, as);
	else if (!is_blind(c, e) && !may_stop(c, e, as->node))
		sim_violated(c->s, inv_no_harm_to_the_living.name,
				EV_FMT ": run " STR_FMT " shall be stopped, and nobody ordered it",
				EV_ARG(e), STR_ARG(as->run->id));
}

static void harm_event(struct checker *c, const struct event *e)
{
	struct node_book *n;

	if (e->kind == EV_EPISODE_RUNG) {
		n = book_node(c, e->goal, e->node);
		if (n)
			n->rung_at = e->at;
		harm_rung(c, e);
	} else if (e->kind == EV_ASSIGNMENT_MOVED) {
		harm_moved(c, e);
	}
}

static void harm_step(struct checker *c)
{
	if (c->s->skew == c->skew)
		return;
	c->skew = c->s->skew;
	c->blind_t = c->s->t + 2 * policy_of(c)->idle_after + OV_HOUR;
}

static bool harm_sabotage(struct checker *c)
{
	struct as_book *as = some_live(c, true);
	const struct observation *o;
	struct event *e;

	if (!as || !c->up)
		return false;
	e = forge(c, EV_EPISODE_RUNG, as->node);
	forge_text(c, e, "rung", STR("nudge"));
	o = known(c, e);
	if (!o || !last_life(o) || e->at - last_life(o) >= policy_of(c)->idle_after)
		return false;
	forge_show(c, e);
	return true;
}

const struct invariant inv_no_harm_to_the_living = {
	.name = "no_harm_to_the_living",
	.sentence = "no nudge, no stop and no reassignment while a sign of life is fresh or "
		    "nothing could "
		    "be read, unless somebody who may ordered it; and no end before it could "
		    "answer",
	.event = harm_event,
	.step = harm_step,
	.sabotage = harm_sabotage,
};

/* ---- not_all_at_once ---- */

static bool has_effect(const struct checker *c, const struct as_book *as)
{
	for (size_t i = 0; i < c->open_effects.n; i++)
		if (c->open_effects.p[i]->as == as)
			return true;
	return false;
}

static bool is_running(const struct as_book *as)
{
	return as->stage == STAGE_RUNNING && as->run && as->run->status == RUN_RUNNING &&
			(as->status == AS_ACTIVE || as->status == AS_DISPATCHED ||
					as->status == AS_STALLED);
}

/*
 * More than half of at least five within the time of one silence: the fault is ours, none
 * is touched.
 */
static void outage_event(struct checker *c, const struct event *e)
{
	const struct as_book *own = book_as(c, e->assignment);
	ov_time since;
	size_t live = 0, silent = 1;

	if (e->kind != EV_ASSIGNMENT_MOVED || !own || own->status == AS_STALLED ||
			event_status(e, "to", &as_statuses) != AS_STALLED ||
			event_status(e, "stage", &stages) != STAGE_RUNNING ||
			e->at < c->outage_ignored_until)
		return;
	since = MAX(e->at - policy_of(c)->idle_after, c->outage_ignored_until);
	for (size_t i = 0; i < c->live.n; i++) {
		const struct as_book *as = c->live.p[i];

		if (!is_running(as))
			continue;
		live++;
		silent += as != own && as->status == AS_STALLED && as->moved_at > since &&
				as->moved_at <= e->at && !has_effect(c, as);
	}
	if (silent >= OUTAGE_LEAST && 2 * silent > live)
		sim_violated(c->s, inv_not_all_at_once.name,
				EV_FMT
				": the %zuth of %zu runs that stalls, and nobody suspects an "
				"outage",
				EV_ARG(e), silent, live);
}

/* Five that run are said to have stalled just now. */
static bool outage_sabotage(struct checker *c)
{
	struct as_book *last = NULL;
	struct event *e;
	size_t n = 0;

	for (size_t i = 0; i < c->live.n; i++)
		n += is_running(c->live.p[i]) && !has_effect(c, c->live.p[i]);
	if (n < OUTAGE_LEAST)
		return false;
	for (size_t i = 0; i < c->live.n; i++) {
		struct as_book *as = c->live.p[i];

		if (!is_running(as) || has_effect(c, as))
			continue;
		if (last) {
			last->status = AS_STALLED;
			last->moved_at = sim_now(c->s);
		}
		last = as;
	}
	if (last->status == AS_STALLED)
		return false;
	e = forge(c, EV_ASSIGNMENT_MOVED, last->node);
	forge_text(c, e, "to", STR("stalled"));
	forge_text(c, e, "stage", STR("running"));
	forge_show(c, e);
	return c->s->violated;
}

const struct invariant inv_not_all_at_once = {
	.name = "not_all_at_once",
	.sentence = "when most runs fall silent together none of them is called stalled: it is we "
		    "who do "
		    "not see",
	.event = outage_event,
	.sabotage = outage_sabotage,
};

/* ---- stop_is_no_failure ---- */

static void stopped_event(struct checker *c, const struct event *e)
{
	const struct as_book *as = book_as(c, e->assignment);
	int cause;

	if (e->kind != EV_NODE_FAILED || !as || !as->stopping)
		return;
	cause = event_status(e, "cause", &causes);
	if (cause == CAUSE_RUN || cause == CAUSE_LOST)
		sim_violated(c->s, inv_stop_is_no_failure.name,
				EV_FMT ": run " STR_FMT " ended because it was told to, and that "
				       "counts as %s",
				EV_ARG(e), STR_ARG(e->run), status_name(&causes, cause));
}

static bool stopped_sabotage(struct checker *c)
{
	struct as_book *as = some_live(c, true);
	struct event *e;

	if (!as)
		return false;
	as->stopping = true;
	e = forge(c, EV_NODE_FAILED, as->node);
	forge_text(c, e, "cause", STR("run"));
	forge_show(c, e);
	return true;
}

const struct invariant inv_stop_is_no_failure = {
	.name = "stop_is_no_failure",
	.sentence = "a run that ends because we told it to has not failed, also after a restart",
	.event = stopped_event,
	.sabotage = stopped_sabotage,
};
