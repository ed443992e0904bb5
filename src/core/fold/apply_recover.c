/* The fold of recovery: signs of life, reports of agents, and the episodes of a stall. */
#include "base/err.h"
#include "base/str.h"
#include "core/fold/apply_impl.h"
#include "core/life/liveness.h"
#include "core/state/habit.h"

/*
 * Whoever gets further is not given up: failed runs count anew. Steps of our own are not theirs, and
 * what our check has said is not made up for by words.
 */
static void forgive(struct node *n, enum life_sign sign)
{
	n->failures[CAUSE_RUN] = n->failures[CAUSE_LOST] = 0;
	if (sign == LIFE_TREE)
		n->failures[CAUSE_CHECK] = n->failures[CAUSE_GATE] = 0;
}

int apply_silence_learned(struct state *s, const struct event *e, struct ov_err *err)
{
	(void)err;
	habits_fold(s, e);
	return 0;
}

int apply_assignment_activity(struct state *s, const struct event *e, struct ov_err *err)
{
	struct assignment *as = state_assignment(s, e->assignment);
	int sign = status_parse(&life_signs, ev_text(e, "sign"));

	if (!as || !as->live || sign < 0)
		return ev_missing(e, "live assignment or sign", e->assignment, err);
	as->last_activity_at = ev_num(e, "at_ms");
	as->activity = (enum life_sign)sign;
	as->expected_at = ev_num(e, "due_at_ms");
	if (life_is_progress((enum life_sign)sign) && as->node)
		forgive(as->node, (enum life_sign)sign);
	return 0;
}

int apply_node_reported(struct state *s, const struct event *e, struct ov_err *err)
{
	struct node *n = state_node(s, e->goal, e->node);
	struct run *r = state_run(s, e->run);

	if (!n || !r)
		return ev_missing(e, n ? "run" : "node", n ? e->run : e->node, err);
	if (!ev_text(e, "error").n) {
		record_set_json(&n->report, value_at(e->data, "update"));
		if (ev_text(e, "status").n)
			record_set_str(&n->reported_status, ev_text(e, "status"));
		n->reported_at = n->updated_at = e->at;
	}
	record_set_str(&r->update_identity, ev_text(e, "identity"));
	record_set_str(&r->report_error, ev_text(e, "error"));
	r->update_offset = ev_num(e, "offset");
	return 0;
}

int apply_node_wanted(struct state *s, const struct event *e, struct ov_err *err)
{
	struct node *n = state_node(s, e->goal, e->node);

	if (!n)
		return ev_missing(e, "node", e->node, err);
	record_set_str(&n->wanted_agent, ev_text(e, "agent"));
	/* Somebody else takes it up: the failures of the one before do not count against him. */
	memset(n->failures, 0, sizeof(n->failures));
	return 0;
}

int apply_node_answered(struct state *s, const struct event *e, struct ov_err *err)
{
	struct node *n = state_node(s, e->goal, e->node);

	if (!n)
		return ev_missing(e, "node", e->node, err);
	record_set_str(&n->answer, ev_text(e, "answer"));
	n->updated_at = e->at;
	return 0;
}

int apply_node_scoped(struct state *s, const struct event *e, struct ov_err *err)
{
	struct node *n = state_node(s, e->goal, e->node);

	if (!n)
		return ev_missing(e, "node", e->node, err);
	record_set_json(&n->tools_narrowed, value_at(e->data, "tools"));
	n->updated_at = e->at;
	return 0;
}

static void forget_ladder(struct node *n)
{
	memset(n->rungs, 0, sizeof(n->rungs));
	memset(n->skipped, 0, sizeof(n->skipped));
	n->recoveries = 0;
	n->recovered_at = n->backoff_until = n->sent_at = 0;
	record_set_str(&n->advice, STR(""));
	record_set_str(&n->sent_hash, STR(""));
}

int apply_episode_opened(struct state *s, const struct event *e, struct ov_err *err)
{
	struct node *n = state_node(s, e->goal, e->node);

	if (!n || n->episode_open || ev_num(e, "episode") != n->episode + 1)
		return ev_missing(e, "node without an open episode", e->node, err);
	n->episode++;
	n->episode_open = true;
	n->episode_at = e->at;
	record_set_str(&n->episode_reason, ev_text(e, "reason"));
	forget_ladder(n);
	return 0;
}

int apply_episode_rung(struct state *s, const struct event *e, struct ov_err *err)
{
	struct node *n = state_node(s, e->goal, e->node);
	int rung = status_parse(&rungs, ev_text(e, "rung"));

	if (!n || !n->episode_open || ev_num(e, "episode") != n->episode || rung < 0)
		return ev_missing(e, "node with that episode", e->node, err);
	if (value_bool_at(e->data, "skipped"))
		n->skipped[rung] += (int32_t)ev_num(e, "count") - n->rungs[rung];
	n->rungs[rung] = (int32_t)ev_num(e, "count");
	/* What was advised is done, or cannot be. */
	record_set_str(&n->advice, STR(""));
	if (value_bool_at(e->data, "skipped"))
		return 0;
	n->recoveries++;
	n->recovered_at = e->at;
	n->backoff_until = ev_num(e, "backoff_until_ms");
	if (ev_text(e, "instruction_hash").n) {
		record_set_str(&n->sent_hash, ev_text(e, "instruction_hash"));
		n->sent_at = e->at;
	}
	/* Somebody else takes it up: the failures of the one before do not count against him. */
	if (rung == RUNG_REASSIGN)
		memset(n->failures, 0, sizeof(n->failures));
	return 0;
}

int apply_episode_advised(struct state *s, const struct event *e, struct ov_err *err)
{
	struct node *n = state_node(s, e->goal, e->node);

	if (!n || !n->episode_open || ev_num(e, "episode") != n->episode)
		return ev_missing(e, "node with that open episode", e->node, err);
	record_set_json(&n->advice, value_at(e->data, "action"));
	return 0;
}

int apply_episode_closed(struct state *s, const struct event *e, struct ov_err *err)
{
	struct node *n = state_node(s, e->goal, e->node);

	if (!n || !n->episode_open || ev_num(e, "episode") != n->episode)
		return ev_missing(e, "node with that open episode", e->node, err);
	n->episode_open = false;
	n->backoff_until = 0;
	return 0;
}
