/* What agents say of their limits, which may be wrong or a lie: how far that goes. */
#include "tests/sim/check_impl.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/capacity/lane.h"
#include "core/capacity/slots.h"
#include "core/tick/reconcile.h"

#define FAR OV_DAY
#define TOLD (12 * OV_HOUR)

bool lane_book_shut(const struct lane_book *l, ov_time at)
{
	return l && l->waits && (!l->resets_at || at < l->resets_at) &&
			!(l->probe_at && l->probe_at <= at);
}

/* Which assignments said that the agent is out of quota for more than a day. */
static void note_claim(struct checker *c, const struct event *e, ov_time resets_at)
{
	const struct as_book *as = book_as(c, e->assignment);
	struct lane_book *l = as ? book_lane_made(c, as->agent) : NULL;

	if (!l || resets_at <= e->at + FAR)
		return;
	if (!l->far_by.n)
		l->far_by = as->id;
	else if (!str_eq(l->far_by, as->id))
		l->far_by_too = as->id;
}

static void check_limited(struct checker *c, const struct event *e)
{
	ov_time max = c->s->config->policy.limit_wait_max,
		resets_at = value_int_at(e->data, "resets_at_ms"),
		probe_at = value_int_at(e->data, "probe_at_ms");
	const struct lane_book *l = book_lane(c, value_str_at(e->data, "agent"));

	if (!str_is(value_str_at(e->data, "kind"), "rate_limited"))
		return;
	if (resets_at > e->at + FAR && resets_at > e->at + max && (!l || !l->far_by_too.n))
		sim_violated(c->s, inv_limits_end.name, EV_FMT ": one task is believed for %lld ms",
				EV_ARG(e), (long long)(resets_at - e->at));
	if (resets_at > e->at + max && (!probe_at || probe_at > e->at + max))
		sim_violated(c->s, inv_limits_end.name, EV_FMT ": nobody tries it for %lld ms",
				EV_ARG(e), (long long)(resets_at - e->at));
}

/*
 * Its work goes on to be checked: whoever said before its end that the agent is logged out
 * was wrong.
 */
static void check_disproved(struct checker *c, const struct event *e)
{
	const struct as_book *as = book_as(c, e->assignment);
	const struct run *r = as && as->run ? state_run(c->shadow, as->run->id) : NULL;
	const struct lane *l = r ? state_lane(c->shadow, as->agent) : NULL;

	if (!l || l->kind != BLOCK_LOGIN || !str_is(value_str_at(e->data, "stage"), "check"))
		return;
	if (run_ended_well(r) && r->ended_at > l->seen_at)
		sim_violated(c->s, inv_limits_end.name,
				EV_FMT ": run " STR_FMT " ended well, and agent " STR_FMT
				       " waits for a login, as was said %lld ms before",
				EV_ARG(e), STR_ARG(r->id), STR_ARG(as->agent),
				(long long)(r->ended_at - l->seen_at));
}

/* When the newest run of the assignment said that its agent is limited; 0: it did not. */
static ov_time said_at(const struct checker *c, const struct assignment *as)
{
	const struct run *r = as->run;

	return r && r->status == RUN_ENDED && run_limit(&c->s->config->policy, r) != BLOCK_NONE
			? r->ended_at
			: 0;
}

bool as_gives_way(const struct checker *c, const struct as_book *b, ov_time at)
{
	const struct assignment *as = state_assignment(c->shadow, b->id);
	const struct lane *l = state_lane(c->shadow, b->agent);

	return as && l && (b->stage == STAGE_START || b->stage == STAGE_WAITING) && !as->effect &&
			said_at(c, as) && lane_probe_due(l, at);
}

/* It has begun, could start its next run as well, and has said so before or not at all. */
static bool goes_first(const struct checker *c, const struct assignment *o,
		const struct assignment *as, ov_time at)
{
	return o != as && o->node && o->stage == STAGE_START && !o->effect && o->slot == as->slot &&
			o->node->goal == as->node->goal && str_eq(o->agent, as->agent) &&
			o->not_before <= at && said_at(c, o) < said_at(c, as);
}

/* Its goal lets it begin, and there is room for it where it is given a worker. */
static bool could_begin(struct checker *c, const struct node *n, const struct assignment *as)
{
	const struct policy *p = &c->s->config->policy;

	return n->status == NODE_QUEUED && !n->assignment && !n->next.worker.n && node_is_leaf(n) &&
			node_is_ready(c->shadow, n) && as->slot == WORKER_POOL &&
			!n->goal->automatic && !n->work.epoch &&
			str_eq(node_wants(p, n), as->agent);
}

static bool is_newest_claim(const struct checker *c, const struct assignment *as)
{
	const struct run *r = state_run(c->shadow, state_lane(c->shadow, as->agent)->run_id);

	return r && str_eq(r->goal_id, as->node->goal->id) && str_eq(r->node_id, as->node->id);
}

/*
 * One run tries it; whoever said that the agent is limited leaves that to others, if there are any.
 */
static void check_trial(struct checker *c, const struct event *e)
{
	const struct assignment *as = state_assignment(c->shadow, e->assignment);
	const struct policy *p = &c->s->config->policy;
	const struct slot_count *pool;
	struct slots sl;

	if (c->shadow_failed || !as || !as->node || !said_at(c, as) ||
			!lane_probe_due(state_lane(c->shadow, as->agent), e->at))
		return;
	list_each (it, &c->shadow->live) {
		const struct assignment *o = list_entry(it, struct assignment, link);

		if (goes_first(c, o, as, e->at))
			sim_violated(c->s, inv_limits_end.name,
					EV_FMT ": " STR_FMT
					       " tries what it said itself, before " STR_FMT,
					EV_ARG(e), STR_ARG(as->id), STR_ARG(o->id));
	}
	/*
	 * Of several who said so, the one that did so longer ago may be tried before one that
	 * has not begun.
	 */
	if (!is_newest_claim(c, as))
		return;
	sl = slots_init(c->shadow, p, e->at);
	slots_count(&sl);
	pool = &sl.of[WORKER_POOL];
	if (slots_crowded(c->shadow, p, WORKER_POOL, pool->waiting,
			    pool->waiting + pool->busy + pool->starts))
		return;
	for (size_t i = 0; i < as->node->goal->nodes.n; i++)
		if (could_begin(c, as->node->goal->nodes.p[i], as))
			sim_violated(c->s, inv_limits_end.name,
					EV_FMT ": " STR_FMT
					       " tries what it said itself, and " STR_FMT " waits",
					EV_ARG(e), STR_ARG(as->id),
					STR_ARG(as->node->goal->nodes.p[i]->id));
}

static void limits_event(struct checker *c, const struct event *e)
{
	struct lane_book *l;

	if (e->kind == EV_RUN_ENDED)
		note_claim(c, e, value_int_at(e->data, "resets_at_ms"));
	/*
	 * Between its run's end and this the agent may have been lifted, by another run that
	 * ended well.
	 */
	if (e->kind == EV_AGENT_LIMITED) {
		const struct run *r = state_run(c->shadow, e->run);

		note_claim(c, e, r ? r->resets_at : 0);
		check_limited(c, e);
	}
	if (e->kind == EV_ASSIGNMENT_MOVED)
		check_disproved(c, e);
	if (e->kind == EV_RUN_CREATED)
		check_trial(c, e);
	l = e->kind == EV_AGENT_CLEARED ? book_lane(c, value_str_at(e->data, "agent")) : NULL;
	if (l)
		l->far_by = l->far_by_too = STR("");
}

/* A person can see who said it, and lift it. */
static void limits_step(struct checker *c)
{
	for (size_t i = 0; i < c->lanes.n; i++) {
		const struct lane_book *l = c->lanes.p[i];
		_cleanup_(arena_done) struct arena a = ARENA_INIT;
		bool told = false;
		str about;

		if (!l->waits || !l->quota || l->resets_at <= l->at + TOLD)
			continue;
		about = arena_printf(&a, "agent " STR_FMT " ", STR_ARG(l->agent));
		for (size_t k = 0; k < c->escalations.n; k++)
			told |= str_is(c->escalations.p[k]->kind, "agent_limited") &&
					str_starts(c->escalations.p[k]->question, about);
		if (!told)
			sim_violated(c->s, inv_limits_end.name,
					"agent " STR_FMT " waits for %lld ms, and nobody is told",
					STR_ARG(l->agent), (long long)(l->resets_at - l->at));
	}
}

static bool limits_sabotage(struct checker *c)
{
	struct event *e = forge(c, EV_AGENT_LIMITED, NULL);

	forge_text(c, e, "agent", STR("nobody"));
	forge_text(c, e, "kind", STR("rate_limited"));
	forge_int(c, e, "resets_at_ms", e->at + 39 * OV_DAY);
	forge_show(c, e);
	return true;
}

const struct invariant inv_limits_end = {
	.name = "limits_end",
	.sentence = "an agent's word alone holds it up for no longer than limit_wait_max without a "
		    "run that tries it, for more than a day only when two tasks said so, and for "
		    "more than 12 hours only when a person is told; that it is logged out, only "
		    "until a run of it ends well; who said it is the last to try it",
	.event = limits_event,
	.step = limits_step,
	.sabotage = limits_sabotage,
};
