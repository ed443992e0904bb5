/*
 * How fast and how often: caps, waits, minimum intervals, quiet hours, places. All on the clock
 * of the log.
 */
#include "base/arena.h"
#include "base/str.h"
#include "tests/sim/check_impl.h"

static const struct policy *policy_of(const struct checker *c)
{
	return &c->s->config->policy;
}

/* ---- pace ---- */

static ov_time backoff(const struct policy *p, int64_t n)
{
	ov_time wait = p->backoff_base;

	for (int64_t i = 1; i < n && wait < p->backoff_max; i++)
		wait *= 2;
	return MIN(wait, p->backoff_max);
}

static bool in_quiet_hours(const struct policy *p, ov_time at)
{
	ov_time minute = (at + p->utc_offset) / OV_MINUTE % (24 * 60);

	if (p->quiet_from <= p->quiet_to)
		return minute >= p->quiet_from && minute < p->quiet_to;
	return minute >= p->quiet_from || minute < p->quiet_to;
}

/*
 * What each cause may cost before somebody is asked, and the least wait before it is tried again.
 */
static int64_t cause_cap(const struct policy *p, enum cause cause)
{
	switch (cause) {
	case CAUSE_NO_CHANGES: return MIN(p->no_changes_attempts, p->retry_max_attempts);
	case CAUSE_CONFLICT: return p->conflict_rounds;
	case CAUSE_DIRTY: return 0; /* it is waited for, and never a failure */
	case CAUSE_MOVED: return p->moved_tries;
	case CAUSE_REVIEW: return p->review_rounds;
	default: return p->retry_max_attempts;
	}
}

static ov_time cause_wait(const struct policy *p, enum cause cause, int64_t count)
{
	switch (cause) {
	case CAUSE_CONFLICT:
	case CAUSE_POST:
	case CAUSE_REVIEW: return 0;
	case CAUSE_MOVED: return OV_SECOND;
	case CAUSE_DIRTY: return p->dirty_wait;
	default: return p->retry_delay[MIN(count, (int64_t)ARRAY_LEN(p->retry_delay)) - 1];
	}
}

static void pace_failed(struct checker *c, const struct event *e, struct node_book *n)
{
	int cause = event_status(e, "cause", &causes);
	int64_t count = value_int_at(e->data, "count"), own;
	const struct policy *p = policy_of(c);

	if (cause < 0)
		return;
	own = ++n->failures[cause];
	if (count != own || own > MAX(cause_cap(p, (enum cause)cause), (int64_t)1))
		sim_violated(c->s, inv_pace.name,
				EV_FMT ": %s failed for the %lldth time, which the log calls the "
				       "%lldth; %lld are allowed",
				EV_ARG(e), status_name(&causes, cause), (long long)own,
				(long long)count, (long long)cause_cap(p, (enum cause)cause));
	n->wait_least = cause_wait(p, (enum cause)cause, own);
	n->wait_from = e->at;
}

static void pace_moved(struct checker *c, const struct event *e, struct node_book *n)
{
	ov_time least = n->wait_least;

	n->wait_least = 0;
	/*
	 * A checkout that stays in the way has ended auto mode: with the next daemon it
	 * begins anew.
	 */
	if (value_bool_at(e->data, "anew"))
		memset(n->failures, 0, sizeof(n->failures));
	if (!least || e->at != n->wait_from || event_status(e, "stage", &stages) == STAGE_NONE)
		return;
	if (value_int_at(e->data, "not_before_ms") < e->at + least)
		sim_violated(c->s, inv_pace.name,
				EV_FMT ": tried again after %lld ms, where %lld are the least",
				EV_ARG(e),
				(long long)(value_int_at(e->data, "not_before_ms") - e->at),
				(long long)least);
}

static void pace_resend(struct checker *c, const struct event *e, struct run_book *r, str hash)
{
	const struct policy *p = policy_of(c);

	/* A clock that was put back says nothing of how long ago that was. */
	if (r->sent_at && e->at >= r->sent_at && !by_person(e) && str_eq(hash, r->sent_hash) &&
			e->at < r->sent_at + p->min_resend_interval)
		sim_violated(c->s, inv_pace.name,
				EV_FMT ": run " STR_FMT
				       " got the same %lld ms before; %lld are the "
				       "least",
				EV_ARG(e), STR_ARG(r->id), (long long)(e->at - r->sent_at),
				(long long)p->min_resend_interval);
	r->sent_at = e->at;
	r->sent_hash = arena_str(&c->kept, hash);
}

static void pace_rung(struct checker *c, const struct event *e, struct node_book *n)
{
	const struct policy *p = policy_of(c);
	int rung = event_status(e, "rung", &rungs);
	int64_t cap = rung == RUNG_NUDGE ? p->max_nudges : 1;
	struct run_book *r = book_run(c, e->run);

	n->rung_at = e->at;
	if (rung < 0 || value_bool_at(e->data, "skipped"))
		return;
	if (++n->rungs[rung] > cap)
		sim_violated(c->s, inv_pace.name,
				EV_FMT ": %s for the %dth time in episode %lld; %lld are allowed",
				EV_ARG(e), status_name(&rungs, rung), (int)n->rungs[rung],
				(long long)n->episode, (long long)cap);
	if (n->recoveries && e->at < n->recovered_at + backoff(p, n->recoveries))
		sim_violated(c->s, inv_pace.name,
				EV_FMT ": %s %lld ms after recovery %lld; %lld are the least",
				EV_ARG(e), status_name(&rungs, rung),
				(long long)(e->at - n->recovered_at), (long long)n->recoveries,
				(long long)backoff(p, n->recoveries));
	if (rung == RUNG_NUDGE && in_quiet_hours(p, e->at))
		sim_violated(c->s, inv_pace.name, EV_FMT ": a nudge in quiet hours", EV_ARG(e));
	if (rung == RUNG_RESEND && r)
		pace_resend(c, e, r, value_str_at(e->data, "instruction_hash"));
	if (rung == RUNG_REASSIGN)
		memset(n->failures, 0, sizeof(n->failures));
	n->recoveries++;
	n->recovered_at = e->at;
}

/* Whoever gets further is not given up, and who begins anew has no past. */
static void pace_forgive(const struct event *e, struct node_book *n)
{
	int sign = event_status(e, "sign", &life_signs);

	if (e->kind == EV_NODE_STATUS) {
		if (n->status == NODE_DONE || n->status == NODE_BLOCKED)
			memset(n->failures, 0, sizeof(n->failures));
		return;
	}
	if (sign == LIFE_TREE || sign == LIFE_PROGRESS)
		n->failures[CAUSE_RUN] = n->failures[CAUSE_LOST] = 0;
	if (sign == LIFE_TREE)
		n->failures[CAUSE_CHECK] = n->failures[CAUSE_GATE] = 0;
}

static void pace_intended(struct checker *c, const struct event *e)
{
	const struct as_book *as = book_as(c, e->assignment);
	int kind = event_status(e, "kind", &effect_kinds);

	/* A wait that began in the future was set by a clock that was wrong. */
	if (as && kind != FX_SEND && kind != FX_PLAN && e->at < as->not_before &&
			e->at >= as->moved_at)
		sim_violated(c->s, inv_pace.name,
				EV_FMT ": " STR_FMT " has to wait for another %lld ms", EV_ARG(e),
				STR_ARG(as->id), (long long)(as->not_before - e->at));
}

/* A person looked at what kept a change from being taken back. */
static void pace_answered(struct checker *c, const struct event *e, struct node_book *n)
{
	const struct escalation_book *x = book_escalation(c, value_int_at(e->data, "escalation"));

	if (x && str_is(x->kind, "post_accept") &&
			str_is(value_str_at(e->data, "status"), "answered"))
		n->failures[CAUSE_DIRTY] = n->failures[CAUSE_MOVED] = 0;
}

static void pace_event(struct checker *c, const struct event *e)
{
	struct node_book *n = book_node(c, e->goal, e->node);
	struct run_book *r;

	if (!n)
		return;
	switch (e->kind) {
	case EV_NODE_FAILED: pace_failed(c, e, n); break;
	case EV_ASSIGNMENT_MOVED: pace_moved(c, e, n); break;
	case EV_EPISODE_OPENED:
		memset(n->rungs, 0, sizeof(n->rungs));
		n->recoveries = 0;
		break;
	case EV_EPISODE_RUNG: pace_rung(c, e, n); break;
	case EV_NODE_WANTED: memset(n->failures, 0, sizeof(n->failures)); break;
	case EV_NODE_STATUS:
	case EV_ASSIGNMENT_ACTIVITY: pace_forgive(e, n); break;
	case EV_ESCALATION_CLOSED: pace_answered(c, e, n); break;
	case EV_EFFECT_INTENDED: pace_intended(c, e); break;
	case EV_DISPATCH_INTENDED:
		r = book_run(c, e->run);
		if (r && str_is(value_str_at(e->data, "mode"), "send"))
			pace_resend(c, e, r, value_str_at(e->data, "instruction_hash"));
		break;
	default: break;
	}
}

/* One retry more than there may be. */
static bool pace_sabotage(struct checker *c)
{
	struct as_book *as = some_live(c, false);
	struct event *e;

	if (!as)
		return false;
	as->node->failures[CAUSE_RUN] = 99;
	e = forge(c, EV_NODE_FAILED, as->node);
	forge_text(c, e, "cause", STR("run"));
	forge_int(c, e, "count", 100);
	forge_show(c, e);
	return true;
}

const struct invariant inv_pace = {
	.name = "pace",
	.sentence = "rungs, retries and repetitions stay within their caps and come no earlier "
		    "than the "
		    "policy says",
	.event = pace_event,
	.sabotage = pace_sabotage,
};

/* ---- reminders ---- */

static void remind_event(struct checker *c, const struct event *e)
{
	const struct policy *p = policy_of(c);
	const struct escalation_book *x;

	if (e->kind != EV_ESCALATION_REMINDED)
		return;
	x = book_escalation(c, value_int_at(e->data, "escalation"));
	if (!x || !x->open)
		sim_violated(c->s, inv_reminders.name, EV_FMT ": of #%lld, which is not open",
				EV_ARG(e), (long long)value_int_at(e->data, "escalation"));
	else if (x->reminders >= p->max_reminders ||
			e->at < MAX(x->last_at, x->notify_at) + p->remind_after ||
			in_quiet_hours(p, e->at))
		sim_violated(c->s, inv_reminders.name,
				EV_FMT ": of #%lld, after %lld others, %lld ms after the last "
				       "(least %lld, most %lld)",
				EV_ARG(e), (long long)x->number, (long long)x->reminders,
				(long long)(e->at - x->last_at), (long long)p->remind_after,
				(long long)p->max_reminders);
}

static bool remind_sabotage(struct checker *c)
{
	struct event *e;

	for (size_t i = 0; i < c->escalations.n; i++) {
		if (!c->escalations.p[i]->open)
			continue;
		c->escalations.p[i]->reminders = 1000;
		e = forge(c, EV_ESCALATION_REMINDED, NULL);
		forge_int(c, e, "escalation", c->escalations.p[i]->number);
		forge_show(c, e);
		return true;
	}
	return false;
}

const struct invariant inv_reminders = {
	.name = "reminders",
	.sentence = "a person is reminded so often and so late as the policy says, and never at "
		    "night",
	.event = remind_event,
	.sabotage = remind_sabotage,
};

/* ---- places ---- */

static bool in_pool(const struct as_book *as)
{
	return str_starts(as->worker, STR("pool-"));
}

static bool has_effect(const struct checker *c, const struct as_book *as)
{
	for (size_t i = 0; i < c->open_effects.n; i++)
		if (c->open_effects.p[i]->as == as)
			return true;
	return false;
}

/* It has begun, and its agent can do nothing at the moment. */
static bool agent_waits(const struct checker *c, const struct as_book *as, ov_time at)
{
	const struct lane_book *l = book_lane(c, as->agent);

	return as->stage == STAGE_START && as->run && lane_book_shut(l, at);
}

/* Nothing is under way, and nothing is about to be: it keeps its worker, but no place. */
bool as_waits(const struct checker *c, const struct as_book *as, ov_time at)
{
	if (as->stage == STAGE_NONE || as->stage == STAGE_RUNNING || as->stage == STAGE_STOP ||
			has_effect(c, as))
		return false;
	/* The wait of its task may be over: the same tick has it continue. */
	if (as->stage == STAGE_WAITING)
		return !as->node->blocked_until || as->node->blocked_until > at;
	return as->stage == STAGE_REVIEW || as->waits || agent_waits(c, as, at) ||
			(as->not_before > at && as->moved_at <= at);
}

/* A run is under way, or its start. */
static bool as_runs(const struct checker *c, const struct as_book *as)
{
	return as->stage == STAGE_RUNNING || as->stage == STAGE_STOP ||
			(as->stage == STAGE_START && has_effect(c, as));
}

/* Work that is good goes on without a place, one at a time: it is left out here. */
bool as_busy(const struct checker *c, const struct as_book *as, ov_time at)
{
	return as_runs(c, as) ||
			(as->stage != STAGE_NONE && !stage_is_good(as->stage) &&
					!as_waits(c, as, at));
}

static void places_lane(struct checker *c, const struct event *e, str agent)
{
	const struct lane_book *l = book_lane(c, agent);

	if (lane_book_shut(l, e->at))
		sim_violated(c->s, inv_places.name,
				EV_FMT ": agent " STR_FMT
				       " has to wait for %lld ms more (0: until a "
				       "person says so)",
				EV_ARG(e), STR_ARG(agent),
				(long long)(l->resets_at ? l->resets_at - e->at : 0));
}

/*
 * Of new work everything counts that has a place or is about to take one; of a run the other runs.
 */
static void places_agent(struct checker *c, const struct event *e, str agent)
{
	const struct policy *p = policy_of(c);
	bool created = e->kind == EV_ASSIGNMENT_CREATED,
	     pool = str_starts(value_str_at(e->data, "worker"), STR("pool-"));
	int64_t load = 0, busy = 0, waiting = 0, all = 0;

	places_lane(c, e, agent);
	for (size_t i = 0; i < c->live.n; i++) {
		const struct as_book *as = c->live.p[i];
		bool counts = !str_eq(as->id, e->assignment) &&
				(created ? as_busy(c, as, e->at) : as_runs(c, as));

		/* Of several that wait for one place, each lets the new one have it. */
		counts &= !created || !str_eq(as->agent, agent) || !as_gives_way(c, as, e->at);
		busy += counts && in_pool(as);
		load += counts && str_eq(as->agent, agent);
		waiting += in_pool(as) && as_waits(c, as, e->at);
		all += in_pool(as) && as->stage != STAGE_NONE && !str_eq(as->id, e->assignment);
	}
	for (size_t i = 0; i < p->agents_n; i++)
		if (str_eq(p->agents[i].name, agent) && load >= p->agents[i].concurrency)
			sim_violated(c->s, inv_places.name,
					EV_FMT ": agent " STR_FMT " does %lld things already",
					EV_ARG(e), STR_ARG(agent), (long long)load);
	if (pool && busy >= p->workers_max)
		sim_violated(c->s, inv_places.name, EV_FMT ": %lld workers work already", EV_ARG(e),
				(long long)busy);
	if (pool && created &&
			(waiting >= p->workers_max_waiting ||
					all >= MAX(p->workers_max, p->workers_max_waiting)))
		sim_violated(c->s, inv_places.name,
				EV_FMT ": %lld wait already, and %lld have a worktree", EV_ARG(e),
				(long long)waiting, (long long)all);
}

static void places_event(struct checker *c, const struct event *e)
{
	if (e->kind == EV_ASSIGNMENT_CREATED || e->kind == EV_RUN_CREATED)
		places_agent(c, e, value_str_at(e->data, "agent"));
}

static bool places_sabotage(struct checker *c)
{
	struct as_book *as = some_live(c, false);
	struct event *e;

	if (!as)
		return false;
	e = forge(c, EV_AGENT_LIMITED, NULL);
	forge_text(c, e, "agent", as->agent);
	books_take(c, e);
	e = forge(c, EV_RUN_CREATED, as->node);
	forge_text(c, e, "agent", as->agent);
	forge_show(c, e);
	return true;
}

const struct invariant inv_places = {
	.name = "places",
	.sentence = "no more at once than there are workers and the agent takes, nothing new while "
		    "too many wait, and nothing for an agent that is out of quota or logged out",
	.event = places_event,
	.sabotage = places_sabotage,
};

/* ---- waits_in_place ---- */

/* So many pool workers are kept by work that waits, or have any, that another task needs one. */
static bool pool_is_crowded(const struct checker *c, ov_time at)
{
	const struct policy *p = policy_of(c);
	int64_t waiting = 0, all = 0;

	for (size_t i = 0; i < c->live.n; i++) {
		const struct as_book *as = c->live.p[i];

		/* Good work of which no step is under way waits for its turn, or for its goal. */
		waiting += in_pool(as) &&
				(as_waits(c, as, at) ||
						(stage_is_good(as->stage) && !has_effect(c, as)));
		all += in_pool(as) && as->stage != STAGE_NONE;
	}
	return waiting >= p->workers_max_waiting ||
			all >= MAX(p->workers_max, p->workers_max_waiting);
}

/* A task that waits for its agent, or for an answer, gives its worktree up only for a reason. */
static void in_place_event(struct checker *c, const struct event *e)
{
	const struct as_book *as = book_as(c, e->assignment);
	str reason = value_str_at(e->data, "reason");
	const struct worker *w = as ? state_worker(c->shadow, as->worker) : NULL;
	const struct node *n = state_node(c->shadow, e->goal, e->node);

	if (e->kind != EV_ASSIGNMENT_MOVED || !as || as->stage != STAGE_WAITING || by_person(e) ||
			event_status(e, "stage", &stages) != STAGE_NONE)
		return;
	/* A new plan leaves it out, or a person has opened again what it depends on. */
	if (!n || n->def.removed_in || node_is_final(n) || !node_is_ready(c->shadow, n))
		return;
	if (str_contains(reason, STR("workers.max_waiting"))
					? !in_pool(as) || pool_is_crowded(c, e->at)
					: !w || w->wanted.n ||
							str_is(reason, "its worktree is gone"))
		return;
	sim_violated(c->s, inv_waits_in_place.name,
			EV_FMT ": " STR_FMT " waits, and gives worker " STR_FMT " up: " STR_FMT,
			EV_ARG(e), STR_ARG(as->id), STR_ARG(as->worker), STR_ARG(reason));
}

static bool in_place_sabotage(struct checker *c)
{
	for (size_t i = 0; i < c->live.n; i++) {
		struct event *e;

		if (c->live.p[i]->stage != STAGE_WAITING || c->live.p[i]->node->as != c->live.p[i])
			continue;
		e = forge(c, EV_ASSIGNMENT_MOVED, c->live.p[i]->node);
		forge_text(c, e, "stage", STR("none"));
		forge_text(c, e, "reason", STR("for no reason"));
		forge_show(c, e);
		return c->s->violated;
	}
	return false;
}

const struct invariant inv_waits_in_place = {
	.name = "waits_in_place",
	.sentence = "work that waits for its agent or for an answer to it keeps its worktree, "
		    "unless a person decides otherwise or other tasks need it",
	.event = in_place_event,
	.sabotage = in_place_sabotage,
};
