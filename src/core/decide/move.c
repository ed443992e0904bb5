#include "core/decide/move.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/decide/ask.h"
#include "core/inbox/inbox.h"
#include "core/model/status.h"

static struct event *emit_move(struct decide_ctx *cx, enum event_kind kind, struct subject s,
		const struct status_table *t, int from, int to, str reason)
{
	struct event *e = emit(cx, kind, s);

	ev_cstr(cx, e, "from", status_name(t, from));
	ev_cstr(cx, e, "to", status_name(t, to));
	ev_note(cx, e, "reason", reason);
	return e;
}

struct event *node_to(struct decide_ctx *cx, const struct node *n, enum node_status to, str reason)
{
	struct event *e;

	if (n->status == to)
		return NULL;
	e = emit_move(cx, EV_NODE_STATUS, about_node(n), &node_statuses, (int)n->status, (int)to,
			reason);
	/* What is finished is stalled no more, and what a person let go on begins anew. */
	if (to == NODE_DONE || to == NODE_CANCELLED || n->status == NODE_BLOCKED)
		episode_close(cx, n, reason);
	return e;
}

void node_block_as(struct decide_ctx *cx, const struct node *n, enum block_kind kind, str reason,
		str by, str unblock_when, ov_time until)
{
	struct event *e;

	if (n->status == NODE_BLOCKED)
		return;
	e = emit_move(cx, EV_NODE_STATUS, about_node(n), &node_statuses, (int)n->status,
			NODE_BLOCKED, reason);
	ev_cstr(cx, e, "block", status_name(&block_kinds, (int)kind));
	ev_str(cx, e, "blocked_by", by);
	ev_str(cx, e, "unblock_when", unblock_when);
	if (until)
		ev_int(cx, e, "blocked_until_ms", until);
}

void node_blocked_by(struct decide_ctx *cx, const struct node *n, str by)
{
	struct event *e = emit_move(cx, EV_NODE_STATUS, about_node(n), &node_statuses, NODE_BLOCKED,
			NODE_BLOCKED, n->status_reason);

	ev_cstr(cx, e, "block", status_name(&block_kinds, (int)n->block));
	ev_str(cx, e, "blocked_by", by);
	ev_str(cx, e, "unblock_when", n->unblock_when);
	if (n->blocked_until)
		ev_int(cx, e, "blocked_until_ms", n->blocked_until);
}

void worker_to(struct decide_ctx *cx, const struct worker *w, enum worker_status to, str reason)
{
	struct event *e;

	/* One in error stays so, whatever its task does, until it is let go of or reset. */
	if (!w || w->status == to ||
			(w->status == WORKER_ERROR && to != WORKER_IDLE && to != WORKER_OFFLINE))
		return;
	e = emit_move(cx, EV_WORKER_STATUS, (struct subject){ 0 }, &worker_statuses, (int)w->status,
			(int)to, reason);
	ev_str(cx, e, "worker", w->name);
}

/* Who ends its run, and why: afterwards nothing but the signal would be left of it. */
static void put_ends_run(struct decide_ctx *cx, struct event *e, const struct assignment *as,
		str reason)
{
	bool stalled = as->node && as->node->episode_open && as->node->episode_reason.n;

	if (!as->run || as->run->status == RUN_ENDED || as->run->ended_by.n)
		return;
	ev_note(cx, e, "ends_run",
			arena_printf(cx->arena, STR_FMT ": " STR_FMT "%s" STR_FMT,
					STR_ARG(cx->actor),
					STR_ARG(stalled ? as->node->episode_reason : STR("")),
					stalled ? "; " : "", STR_ARG(reason)));
}

void assignment_move(struct decide_ctx *cx, const struct assignment *as, enum as_status to,
		enum stage stage, str reason)
{
	struct event *e = emit_move(cx, EV_ASSIGNMENT_MOVED, about_assignment(as), &as_statuses,
			(int)as->status, (int)to, reason);

	ev_cstr(cx, e, "stage", status_name(&stages, (int)stage));
	if (stage == STAGE_STOP)
		put_ends_run(cx, e, as, reason);
}

struct event *effect_intend(struct decide_ctx *cx, enum effect_kind kind, str id, struct subject s)
{
	struct event *e = emit(cx, EV_EFFECT_INTENDED, s);

	ev_str(cx, e, "effect", id);
	ev_cstr(cx, e, "kind", status_name(&effect_kinds, (int)kind));
	return e;
}

void emit_effect_ended(struct decide_ctx *cx, const struct effect *fx, str outcome, str detail)
{
	struct event *e = emit(cx, EV_EFFECT_ENDED,
			(struct subject){ fx->goal_id, fx->node_id, fx->assignment_id,
					fx->run_id });

	ev_str(cx, e, "effect", fx->id);
	ev_cstr(cx, e, "kind", status_name(&effect_kinds, (int)fx->kind));
	ev_str(cx, e, "outcome", outcome);
	if (detail.n)
		ev_note(cx, e, "detail", detail);
}

void goal_to(struct decide_ctx *cx, const struct goal *g, enum goal_status to, str reason,
		bool by_override, value **ret_result)
{
	struct event *e = emit(cx, EV_GOAL_STATUS, about_goal(g));

	ev_cstr(cx, e, "from", status_name(&goal_statuses, (int)g->status));
	ev_cstr(cx, e, "to", status_name(&goal_statuses, (int)to));
	ev_str(cx, e, "reason", reason);
	ev_flag(cx, e, "override", by_override);
	/* A budget that is nearly spent does not get better by a pause. */
	if (to == GOAL_ACTIVE && g->budget_level != BUDGET_FINE)
		ev_cstr(cx, e, "health",
				status_name(&goal_healths, (int)budget_health(g->budget_level)));
	*ret_result = value_object(cx->arena);
	value_put(cx->arena, *ret_result, "goal", value_str(cx->arena, e->goal));
	value_put(cx->arena, *ret_result, "status",
			value_cstr(cx->arena, status_name(&goal_statuses, (int)to)));
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
	struct event *e;

	if (!n->episode_open || closed_in_batch(cx, n))
		return;
	e = emit(cx, EV_EPISODE_CLOSED, about_node(n));
	ev_int(cx, e, "episode", n->episode);
	ev_note(cx, e, "reason", reason);
}

/* A stall that is over needs nobody any more. */
static void call_off(struct decide_ctx *cx, const struct node *n, str reason)
{
	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status == ESC_OPEN && x->episode == n->episode &&
				str_eq(x->goal_id, n->goal->id) && str_eq(x->node_id, n->id))
			escalation_close(cx, x, ESC_DISMISSED, reason);
	}
}

void episode_end(struct decide_ctx *cx, const struct node *n, str reason)
{
	if (!n->episode_open)
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
	/* A step under way ends by itself; a run is stopped, its work kept; a step not begun is dropped. */
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
	struct event *e;

	if (!state_lane(cx->state, agent))
		return;
	/* By an event of this very batch, which the state does not know yet. */
	for (size_t i = 0; i < cx->out->n; i++)
		if (cx->out->p[i]->kind == EV_AGENT_CLEARED &&
				str_eq(value_str_at(cx->out->p[i]->data, "agent"), agent))
			return;
	e = emit(cx, EV_AGENT_CLEARED, (struct subject){ 0 });
	ev_str(cx, e, "agent", agent);
	ev_note(cx, e, "reason", reason);
}

/* Questions of oversight about the goal itself, or the node. */
void oversight_close(struct decide_ctx *cx, const struct goal *g, const struct node *n,
		const char *kind, enum esc_status status, str answer)
{
	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status == ESC_OPEN && str_is(x->kind, kind) && str_eq(x->goal_id, g->id) &&
				str_eq(x->node_id, n ? n->id : STR("")))
			escalation_close(cx, x, status, answer);
	}
}

void oversight_renew(struct decide_ctx *cx, const struct goal *g, const struct node *n, str reason)
{
	struct event *e = emit(cx, EV_OVERSIGHT_RENEWED, n ? about_node(n) : about_goal(g));

	ev_note(cx, e, "reason", reason);
	oversight_close(cx, g, n, ASK_PAUSED, ESC_ANSWERED, reason);
	oversight_close(cx, g, n, ASK_ABORTED, ESC_ANSWERED, reason);
}
