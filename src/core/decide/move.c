#include "core/decide/move.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/decide/ask.h"
#include "core/inbox/inbox.h"
#include "core/model/status.h"

struct ev_node_status *node_moves(struct decide_ctx *cx, const struct node *n, enum node_status to,
		str reason)
{
	struct ev_node_status *e = emit_node_status(cx, about_node(n));

	e->from = n->status;
	e->to = to;
	e->reason = reason;
	return e;
}

struct ev_node_status *node_to(struct decide_ctx *cx, const struct node *n, enum node_status to,
		str reason)
{
	struct ev_node_status *e;

	if (n->status == to)
		return NULL;
	e = node_moves(cx, n, to, reason);
	/* What is finished is stalled no more, and what a person let go on begins anew. */
	if (to == NODE_DONE || to == NODE_CANCELLED || n->status == NODE_BLOCKED)
		episode_close(cx, n, reason);
	return e;
}

void node_block_as(struct decide_ctx *cx, const struct node *n, enum block_kind kind, str reason,
		str by, str unblock_when, ov_time until)
{
	struct ev_node_status *e;

	if (n->status == NODE_BLOCKED)
		return;
	e = node_moves(cx, n, NODE_BLOCKED, reason);
	e->block = str_from(status_name(&block_kinds, (int)kind));
	MAYBE_SET(e, blocked_by, by);
	MAYBE_SET(e, unblock_when, unblock_when);
	e->blocked_until_ms = until;
}

void node_blocked_by(struct decide_ctx *cx, const struct node *n, str by)
{
	struct ev_node_status *e = node_moves(cx, n, NODE_BLOCKED, n->status_reason);

	e->block = str_from(status_name(&block_kinds, (int)n->block.kind));
	MAYBE_SET(e, blocked_by, by);
	MAYBE_SET(e, unblock_when, n->block.when);
	e->blocked_until_ms = n->block.until;
}

void worker_to(struct decide_ctx *cx, const struct worker *w, enum worker_status to, str reason)
{
	struct ev_worker_status *e;

	/* One in error stays so, whatever its task does, until it is let go of or reset. */
	if (!w || w->status == to ||
			(w->status == WORKER_ERROR && to != WORKER_IDLE && to != WORKER_OFFLINE))
		return;
	e = emit_worker_status(cx, (struct subject){ 0 });
	e->worker = w->name;
	e->from = w->status;
	e->to = to;
	e->reason = reason;
}

/* Who ends its run, and why: afterwards nothing but the signal would be left of it. */
static str ends_run(struct decide_ctx *cx, const struct assignment *as, str reason)
{
	bool stalled = as->node && as->node->stall.open && as->node->stall.reason.n;

	if (!as->run || as->run->status == RUN_ENDED || as->run->ended_by.n)
		return STR("");
	return arena_printf(cx->arena, STR_FMT ": " STR_FMT "%s" STR_FMT, STR_ARG(cx->actor),
			STR_ARG(stalled ? as->node->stall.reason : STR("")), stalled ? "; " : "",
			STR_ARG(reason));
}

struct ev_assignment_moved *assignment_move(struct decide_ctx *cx, const struct assignment *as,
		enum as_status to, enum stage stage, str reason)
{
	struct ev_assignment_moved *e = emit_assignment_moved(cx, about_assignment(as));

	e->from = as->status;
	e->to = to;
	e->stage = stage;
	e->reason = reason;
	if (stage == STAGE_STOP)
		e->ends_run = ends_run(cx, as, reason);
	return e;
}

struct ev_effect_intended *effect_intend(struct decide_ctx *cx, enum effect_kind kind, str id,
		struct subject s)
{
	struct ev_effect_intended *e = emit_effect_intended(cx, s);

	e->effect = id;
	e->kind = str_from(status_name(&effect_kinds, (int)kind));
	return e;
}

struct ev_goal_status *goal_to(struct decide_ctx *cx, const struct goal *g, enum goal_status to,
		str reason, bool by_override, value **ret_result)
{
	struct ev_goal_status *e = emit_goal_status(cx, about_goal(g));

	e->from = g->status;
	e->to = to;
	e->reason = reason;
	e->override = by_override;
	/* A budget that is nearly spent does not get better by a pause. */
	if (to == GOAL_ACTIVE && g->budget_level != BUDGET_FINE)
		e->health = str_from(
				status_name(&goal_healths, (int)budget_health(g->budget_level)));
	*ret_result = value_object(cx->arena);
	value_put(cx->arena, *ret_result, "goal",
			value_str(cx->arena, arena_str(cx->arena, g->id)));
	value_put(cx->arena, *ret_result, "status",
			value_cstr(cx->arena, status_name(&goal_statuses, (int)to)));
	return e;
}

/* By an event of this very batch, which the state does not know yet. */
static bool closed_in_batch(const struct decide_ctx *cx, const struct node *n)
{
	for (size_t i = 0; i < cx->out->n; i++)
		if (cx->out->p[i]->kind == EV_EPISODE_CLOSED &&
				str_eq(cx->out->p[i]->goal, n->goal->id) &&
				str_eq(cx->out->p[i]->node, n->id))
			return true;
	return false;
}

void episode_close(struct decide_ctx *cx, const struct node *n, str reason)
{
	struct ev_episode_closed *e;

	if (!n->stall.open || closed_in_batch(cx, n))
		return;
	e = emit_episode_closed(cx, about_node(n));
	e->episode = n->stall.episode;
	e->reason = reason;
}

/* A stall that is over needs nobody any more. */
static void call_off(struct decide_ctx *cx, const struct node *n, str reason)
{
	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status == ESC_OPEN && x->episode == n->stall.episode &&
				str_eq(x->goal_id, n->goal->id) && str_eq(x->node_id, n->id))
			escalation_close(cx, x, ESC_DISMISSED, reason);
	}
}

void episode_end(struct decide_ctx *cx, const struct node *n, str reason)
{
	if (!n->stall.open)
		return;
	episode_close(cx, n, reason);
	call_off(cx, n, reason);
}

void assignment_wind_down(struct decide_ctx *cx, const struct assignment *as, enum as_status to,
		str reason)
{
	const struct worker *w = state_worker(cx->state, as->worker);
	enum stage next = as->stage;

	/* It is on its way out already. */
	if (assignment_is_final(as))
		return;
	/* Only what was dispatched can have been done. */
	if (!status_may(&as_statuses, (int)as->status, (int)to, false) && as->status != to)
		to = AS_CANCELLED;
	/*
	 * A step under way ends by itself; a run is stopped, its work kept; a step not begun
	 * is dropped.
	 */
	if (as->run && as->run->status != RUN_ENDED)
		next = STAGE_STOP;
	else if (!as->effect && as->stage != STAGE_HARVEST)
		next = STAGE_NONE;
	assignment_move(cx, as, to, next, reason);
	if (next == STAGE_NONE && w && str_eq(w->assignment_id, as->id))
		worker_to(cx, w, WORKER_IDLE, reason);
}

void assignment_keep_worker(struct decide_ctx *cx, const struct assignment *as, str reason)
{
	assignment_move(cx, as, AS_BLOCKED, STAGE_WAITING, reason);
}

void assignment_give_back(struct decide_ctx *cx, const struct assignment *as, str reason)
{
	const struct worker *w = state_worker(cx->state, as->worker);

	assert(as->stage == STAGE_WAITING);
	assignment_move(cx, as, as->status, STAGE_NONE, reason);
	if (w && str_eq(w->assignment_id, as->id))
		worker_to(cx, w, WORKER_IDLE, reason);
}

bool assignment_resume(struct decide_ctx *cx, const struct node *n, str reason)
{
	const struct assignment *as = n->assignment;
	const struct worker *w = as ? state_worker(cx->state, as->worker) : NULL;

	if (!as || as->stage != STAGE_WAITING || !w || w->wanted.n || !node_is_ready(cx->state, n))
		return false;
	assignment_move(cx, as, AS_QUEUED, STAGE_START, reason);
	return true;
}

void lane_clear(struct decide_ctx *cx, str agent, str reason)
{
	struct ev_agent_cleared *e;

	if (!state_lane(cx->state, agent))
		return;
	/* By an event of this very batch, which the state does not know yet. */
	for (size_t i = 0; i < cx->out->n; i++)
		if (cx->out->p[i]->kind == EV_AGENT_CLEARED &&
				str_eq(as_agent_cleared(cx->out->p[i])->agent, agent))
			return;
	e = emit_agent_cleared(cx, (struct subject){ 0 });
	e->agent = agent;
	e->reason = reason;
}

/* Questions of oversight about the goal itself, or the node. */
void oversight_close(struct decide_ctx *cx, const struct goal *g, const struct node *n,
		enum ask ask, enum esc_status status, str answer)
{
	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status == ESC_OPEN && x->ask == ask && str_eq(x->goal_id, g->id) &&
				str_eq(x->node_id, n ? n->id : STR("")))
			escalation_close(cx, x, status, answer);
	}
}

void oversight_renew(struct decide_ctx *cx, const struct goal *g, const struct node *n, str reason)
{
	struct ev_oversight_renewed *e = emit_oversight_renewed(cx,
			n ? about_node(n) : about_goal(g));

	e->reason = reason;
	oversight_close(cx, g, n, ASK_PAUSED, ESC_ANSWERED, reason);
	oversight_close(cx, g, n, ASK_ABORTED, ESC_ANSWERED, reason);
}

void effect_ended(struct decide_ctx *cx, const struct effect *fx, enum effect_outcome is,
		str detail)
{
	struct ev_effect_ended *e = emit_effect_ended(cx,
			(struct subject){ fx->goal_id, fx->node_id, fx->assignment_id,
					fx->run_id });

	e->effect = fx->id;
	e->kind = str_from(status_name(&effect_kinds, (int)fx->kind));
	e->outcome = str_from(status_name(&effect_outcomes, (int)is));
	e->detail = detail;
}
