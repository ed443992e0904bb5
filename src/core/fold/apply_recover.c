/* The fold of recovery: signs of life, reports of agents, and the episodes of a stall. */
#include "base/err.h"
#include "base/str.h"
#include "core/fold/apply_impl.h"
#include "core/life/liveness.h"
#include "core/state/habit.h"

/*
 * Whoever gets further is not given up: failed runs count anew. Steps of our own are not theirs,
 * and what our check has said is not made up for by words.
 */
static void forgive(struct node *n, enum life_sign sign)
{
	n->work.failures[CAUSE_RUN] = n->work.failures[CAUSE_LOST] = 0;
	if (sign == LIFE_TREE)
		n->work.failures[CAUSE_CHECK] = n->work.failures[CAUSE_GATE] = 0;
}

APPLY(silence_learned)
{
	habits_fold(s, e);
	return 0;
}

APPLY(assignment_activity)
{
	struct assignment *as = state_assignment(s, e->assignment);
	int sign = status_parse(&life_signs, d->sign);

	if (!as || !as->live || sign < 0)
		return ev_missing(e, "live assignment or sign", e->assignment, err);
	as->last_activity_at = d->at_ms;
	as->activity = (enum life_sign)sign;
	as->expected_at = d->due_at_ms;
	if (life_is_progress((enum life_sign)sign) && as->node)
		forgive(as->node, (enum life_sign)sign);
	return 0;
}

APPLY(node_reported)
{
	struct node *n = state_node(s, e->goal, e->node);
	struct run *r = state_run(s, e->run);

	if (!n || !r)
		return ev_missing(e, n ? "run" : "node", n ? e->run : e->node, err);
	if (!d->error.n) {
		record_set_json(&n->report.merged, d->update);
		if (d->status.n)
			record_set_str(&n->report.status, d->status);
		n->report.at = n->updated_at = e->at;
	}
	record_set_str(&r->update_identity, d->identity);
	record_set_str(&r->report_error, d->error);
	r->update_offset = d->offset;
	return 0;
}

APPLY(node_wanted)
{
	struct node *n = state_node(s, e->goal, e->node);

	if (!n)
		return ev_missing(e, "node", e->node, err);
	record_set_str(&n->next.agent, d->agent);
	/* Somebody else takes it up: the failures of the one before do not count against him. */
	memset(n->work.failures, 0, sizeof(n->work.failures));
	return 0;
}

APPLY(node_answered)
{
	struct node *n = state_node(s, e->goal, e->node);

	if (!n)
		return ev_missing(e, "node", e->node, err);
	record_set_str(&n->told.answer, d->answer);
	n->updated_at = e->at;
	return 0;
}

APPLY(node_scoped)
{
	struct node *n = state_node(s, e->goal, e->node);

	if (!n)
		return ev_missing(e, "node", e->node, err);
	record_set_json(&n->def.tools_narrowed, d->tools);
	n->updated_at = e->at;
	return 0;
}

static void forget_ladder(struct node *n)
{
	memset(n->stall.rungs, 0, sizeof(n->stall.rungs));
	memset(n->stall.skipped, 0, sizeof(n->stall.skipped));
	n->stall.recoveries = 0;
	n->stall.recovered_at = n->stall.backoff_until = n->stall.sent_at = 0;
	record_set_str(&n->stall.advice, STR(""));
	record_set_str(&n->stall.sent_hash, STR(""));
}

APPLY(episode_opened)
{
	struct node *n = state_node(s, e->goal, e->node);

	if (!n || n->stall.open || d->episode != n->stall.episode + 1)
		return ev_missing(e, "node without an open episode", e->node, err);
	n->stall.episode++;
	n->stall.open = true;
	n->stall.at = e->at;
	record_set_str(&n->stall.reason, d->reason);
	forget_ladder(n);
	return 0;
}

APPLY(episode_rung)
{
	struct node *n = state_node(s, e->goal, e->node);
	enum rung rung = d->rung;

	if (!n || !n->stall.open || d->episode != n->stall.episode)
		return ev_missing(e, "node with that episode", e->node, err);
	if (d->skipped)
		n->stall.skipped[rung] += (int32_t)d->count - n->stall.rungs[rung];
	n->stall.rungs[rung] = (int32_t)d->count;
	/* What was advised is done, or cannot be. */
	record_set_str(&n->stall.advice, STR(""));
	if (d->skipped)
		return 0;
	n->stall.recoveries++;
	n->stall.recovered_at = e->at;
	n->stall.backoff_until = d->backoff_until_ms;
	if (d->instruction_hash.n) {
		record_set_str(&n->stall.sent_hash, d->instruction_hash);
		n->stall.sent_at = e->at;
	}
	/* Somebody else takes it up: the failures of the one before do not count against him. */
	if (rung == RUNG_REASSIGN)
		memset(n->work.failures, 0, sizeof(n->work.failures));
	return 0;
}

APPLY(episode_advised)
{
	struct node *n = state_node(s, e->goal, e->node);

	if (!n || !n->stall.open || d->episode != n->stall.episode)
		return ev_missing(e, "node with that open episode", e->node, err);
	record_set_json(&n->stall.advice, d->action);
	return 0;
}

APPLY(episode_closed)
{
	struct node *n = state_node(s, e->goal, e->node);

	if (!n || !n->stall.open || d->episode != n->stall.episode)
		return ev_missing(e, "node with that open episode", e->node, err);
	n->stall.open = false;
	n->stall.backoff_until = 0;
	return 0;
}
