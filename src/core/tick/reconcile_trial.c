/*
 * Agents that are given no work for a while, and who finds out whether that is over. It began with
 * what a task's run said, which may be wrong or a lie, or be true of this task alone: so those who
 * said it go last, the newest claim at the very end, and a task that has not begun is tried before
 * them. Otherwise one broken task would be its own witness, and hold the agent for ever. When a
 * limit has reset, nobody has to find out: all continue.
 */
#include <string.h>

#include "base/str.h"
#include "core/capacity/lane.h"
#include "core/tick/reconcile_impl.h"

bool agent_is_failing(const struct tick *t, const struct streak *k)
{
	int64_t most = t->w->policy->agent_failures;

	return most && k->failures >= most && k->several && !state_lane(t->w->state, k->agent);
}

bool lane_waits(struct tick *t, str agent)
{
	const struct state *s = t->w->state;
	const struct lane *l = state_lane(s, agent);

	for (size_t i = 0; i < s->streaks.n; i++)
		if (str_eq(s->streaks.p[i]->agent, agent) && agent_is_failing(t, s->streaks.p[i]))
			return true;
	if (!l || (l->resets_at && l->resets_at <= t->now))
		return false;
	if (lane_next(l) > t->now)
		tick_wake(t, lane_next(l));
	return true;
}

bool lane_holds(struct tick *t, str agent)
{
	return lane_waits(t, agent) &&
			(tick_agent(t, agent)->probed ||
					!lane_probe_due(state_lane(t->w->state, agent), t->now));
}

/* When the task's newest run said that the agent is limited; 0: it did not. */
static ov_time claimed_at(const struct tick *t, const struct lane *l, const struct node *n)
{
	const struct assignment *as = n->assignment;
	const struct run *r = as ? as->run : NULL;

	if (r)
		return r->status == RUN_ENDED && run_limit(t->w->policy, r) != BLOCK_NONE
				? r->ended_at
				: 0;
	/* Its worker was given back. */
	r = state_run(t->w->state, l->run_id);
	return r && str_eq(r->goal_id, n->goal->id) && str_eq(r->node_id, n->id) ? l->seen_at : 0;
}

/*
 * It is about to start a run: its goal lets it, and it has a place for it or the next that is free.
 */
static bool is_about_to_try(const struct tick *t, const struct assignment *as)
{
	struct decision start = { .kind = DEC_START, .goal = as->node->goal, .node = as->node };
	bool starts = as->stage == STAGE_WORKSPACE || as->stage == STAGE_START ||
			(as->stage == STAGE_WAITING && as->node->block.until &&
					as->node->block.until <= t->now);

	return starts && (as->effect || t->workers[as->slot].starts) &&
			(as->effect || as->not_before <= t->now) && !tick_task_over(t, as) &&
			!tick_goal_held(t, as->node->goal).n && !tick_held(t, &start);
}

static bool is_trying(const struct lane *l, const struct assignment *as)
{
	return as->run && as->run->status != RUN_ENDED && as->run->created_at > l->seen_at;
}

/*
 * A task of the agent tries it or is about to, which did not say itself that it is limited, or
 * before that.
 */
static bool is_tried(const struct tick *t, const struct lane *l, ov_time before)
{
	list_each (it, &t->w->state->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);
		ov_time claimed = as->node && str_eq(as->agent, l->agent)
				? claimed_at(t, l, as->node)
				: OV_TIME_MAX;

		if ((!claimed || claimed < before) && (is_about_to_try(t, as) || is_trying(l, as)))
			return true;
	}
	return false;
}

bool trial_is_anothers(struct tick *t, str agent, const struct node *n)
{
	const struct lane *l = state_lane(t->w->state, agent);
	ov_time claimed;

	if (!lane_waits(t, agent) || !lane_probe_due(l, t->now))
		return false;
	claimed = claimed_at(t, l, n);
	if (n->assignment)
		return claimed && is_tried(t, l, claimed);
	/* What has begun goes before what has not. */
	return is_tried(t, l, claimed ? OV_TIME_MAX : 0);
}

static enum worker_kind place_of(const struct tick *t, const struct node *n)
{
	const struct worker *w = n->next.worker.n ? state_worker(t->w->state, n->next.worker)
						  : NULL;

	if (w)
		return w->kind;
	return str_is(n->goal->standing, STANDING_AUTO) ? WORKER_AUTO : WORKER_POOL;
}

const struct assignment *trial_gives_way(struct tick *t, str agent, const struct node *n,
		int64_t *ret_claimants)
{
	const struct lane *l = state_lane(t->w->state, agent);
	struct tick_agent *of = tick_agent(t, agent);
	const struct assignment *last = NULL;

	of->given |= !lane_probe_due(l, t->now);
	if (of->given || claimed_at(t, l, n))
		return NULL;
	of->given = is_tried(t, l, 0);
	if (of->given)
		return NULL;
	*ret_claimants = 0;
	list_each (it, &t->w->state->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (!as->node || !str_eq(as->agent, agent) || !assignment_starts(as) ||
				!claimed_at(t, l, as->node) ||
				assignment_waiting(&t->slots, as) != WAITING_NONE)
			continue;
		++*ret_claimants;
		if (as->slot == place_of(t, n) &&
				(!last ||
						claimed_at(t, l, as->node) >
								claimed_at(t, l, last->node)))
			last = as;
	}
	return last;
}

void trial_sort_nodes(struct tick *t, const struct node **nodes, size_t n)
{
	const struct state *s = t->w->state;

	for (size_t i = 0; i < s->lanes.n; i++) {
		const struct run *r = lane_probe_due(s->lanes.p[i], t->now)
				? state_run(s, s->lanes.p[i]->run_id)
				: NULL;
		const struct node *last = r ? state_node(s, r->goal_id, r->node_id) : NULL;
		size_t at = 0;

		while (last && at < n && nodes[at] != last)
			at++;
		if (!last || at == n)
			continue;
		memmove(&nodes[at], &nodes[at + 1], (n - at - 1) * sizeof(*nodes));
		nodes[n - 1] = last;
	}
}
