/* Commands about nodes and runs that people give: what they may do to a piece of work, and when. */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/decide_impl.h"
#include "core/limits.h"

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

/* done, by a person's word: needs a reason, is recorded as an override. */
static int work_done(struct decide_ctx *cx, const struct node *n, str reason, struct ov_err *err)
{
	struct event *e;
	int r = status_check(&node_statuses, n->id, (int)n->status, NODE_DONE, true, err);

	if (r < 0)
		return r;
	e = emit(cx, EV_NODE_STATUS, about_node(n));
	ev_cstr(cx, e, "from", status_name(&node_statuses, (int)n->status));
	ev_cstr(cx, e, "to", "done");
	ev_str(cx, e, "reason", reason);
	ev_flag(cx, e, "override", true);
	if (n->assignment)
		assignment_wind_down(cx, n->assignment, AS_DONE,
				STR("a person declared the node done"));
	close_escalations(cx, n, reason);
	return 0;
}

static int work_block(struct decide_ctx *cx, const struct node *n, str reason, str unblock_when,
		struct ov_err *err)
{
	int r = status_check(&node_statuses, n->id, (int)n->status, NODE_BLOCKED, false, err);

	if (r < 0)
		return r;
	if (n->assignment && n->assignment->effect && n->assignment->effect->kind == FX_ACCEPT)
		return ov_fail(err, OV_ESTATE,
				"node " STR_FMT
				" is being accepted right now; try again when that is over",
				STR_ARG(n->id));
	if (!unblock_when.n)
		unblock_when = STR("a person says so");
	node_block(cx, n, reason, cx->actor, unblock_when);
	if (n->assignment)
		assignment_wind_down(cx, n->assignment, AS_BLOCKED, reason);
	return 0;
}

/* Blocked no more: what was begun under the old assignment is kept, a new one starts afresh. */
static int work_unblock(struct decide_ctx *cx, const struct node *n, str reason, struct ov_err *err)
{
	int r = status_check(&node_statuses, n->id, (int)n->status, NODE_QUEUED, false, err);

	if (r < 0)
		return r;
	if (n->status != NODE_BLOCKED)
		return ov_fail(err, OV_ESTATE, "node " STR_FMT " is %s, not blocked",
				STR_ARG(n->id), status_name(&node_statuses, (int)n->status));
	node_to(cx, n, node_is_ready(cx->state, n) ? NODE_QUEUED : NODE_TODO, reason);
	if (n->assignment)
		assignment_wind_down(cx, n->assignment, AS_CANCELLED,
				STR("the node was unblocked"));
	close_escalations(cx, n, reason);
	return 0;
}

int decide_work_update(struct decide_ctx *cx, const value *params, value **ret_result,
		struct ov_err *err)
{
	str status = value_str_at(params, "status"),
	    reason = str_trim(value_str_at(params, "reason"));
	struct node *n;
	int r;

	r = state_find_node(cx->state, value_str_at(params, "goal"), value_str_at(params, "node"),
			&n, err);
	if (r == 0)
		r = text_check(STR("reason"), reason, LIMIT_NOTE, err);
	if (r == 0)
		r = text_check(STR("unblock_when"), value_str_at(params, "unblock_when"),
				LIMIT_NOTE, err);
	if (r < 0)
		return r;
	if (!node_is_leaf(n))
		return ov_fail(err, OV_ESTATE,
				"node " STR_FMT " has children: its status follows from theirs",
				STR_ARG(n->id));
	if (reason.n == 0)
		return ov_fail(err, OV_EINVALID,
				"a reason is needed: it is recorded with your name");
	if (str_is(status, "done"))
		r = work_done(cx, n, reason, err);
	else if (str_is(status, "blocked"))
		r = work_block(cx, n, reason, value_str_at(params, "unblock_when"), err);
	else if (str_is(status, "queued"))
		r = work_unblock(cx, n, reason, err);
	else
		r = ov_fail(err, OV_EINVALID,
				"status \"" STR_FMT "\" is not one of done, blocked, queued",
				STR_ARG(status));
	if (r < 0)
		return r;
	*ret_result = value_object(cx->arena);
	value_put(cx->arena, *ret_result, "node",
			value_str(cx->arena, arena_str(cx->arena, n->key)));
	value_put(cx->arena, *ret_result, "status", value_str(cx->arena, status));
	return 0;
}
