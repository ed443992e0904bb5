/*
 * What people do about work that waits: its turn to be accepted, its next attempt, a free worker.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/decide/check.h"
#include "core/decide/emit.h"
#include "core/decide/move.h"
#include "core/model/limits.h"
#include "core/work/work.h"

static int read_node(struct decide_ctx *cx, str goal, str node, str reason, struct node **ret,
		struct ov_err *err)
{
	int r = state_find_node(cx->state, goal, node, ret, err);

	if (r == 0)
		r = text_check(STR("reason"), reason, LIMIT_NOTE, err);
	if (r == 0)
		r = leaf_check(*ret, err);
	if (r == 0)
		r = accept_check(*ret, err);
	return r;
}

/* It waits in no queue: what it does instead, and what to type about that. */
static int not_waiting(const struct node *n, const char *what, struct ov_err *err)
{
	ov_fail(err, OV_ESTATE, "node " STR_FMT " is %s%s%s: %s", STR_ARG(n->id),
			status_name(&node_statuses, (int)n->status),
			n->assignment && n->assignment->stage != STAGE_NONE ? ", next step: " : "",
			n->assignment && n->assignment->stage != STAGE_NONE
					? status_name(&stages, (int)n->assignment->stage)
					: "",
			what);
	if (n->status != NODE_BLOCKED)
		return ov_next(err, "overseer queue list");
	return ov_next(err, "overseer work unblock " STR_FMT " --reason TEXT", STR_ARG(n->key));
}

/* The wait before its next step is over, by a person's word. */
int decide_queue_retry(struct decide_ctx *cx, const struct pr_queue_retry *p, value **ret_result,
		struct ov_err *err)
{
	const struct assignment *as;
	struct node *n;
	int r = read_node(cx, p->goal, p->node, STR(""), &n, err);

	if (r < 0)
		return r;
	as = n->assignment;
	if (!as || as->effect || as->stage == STAGE_NONE || as->not_before <= cx->now)
		return not_waiting(n, "there is no wait that could be cut short", err);
	assignment_move(cx, as, as->status, as->stage, STR("a person asked for it now"));
	*ret_result = work_result(cx, n, n->status);
	value_put(cx->arena, *ret_result, "stage",
			value_cstr(cx->arena, status_name(&stages, (int)as->stage)));
	return 0;
}

/* Taken out of the queue; what was made so far is kept on its branch. */
int decide_queue_drop(struct decide_ctx *cx, const struct pr_queue_drop *p, value **ret_result,
		struct ov_err *err)
{
	str reason = str_trim(p->reason);
	struct node *n;
	int r = read_node(cx, p->goal, p->node, p->reason, &n, err);

	if (r < 0)
		return r;
	if (reason.n == 0)
		return ov_fail(err, OV_EINVALID,
				"a reason is needed: it is recorded with your name");
	if (n->status != NODE_QUEUED &&
			!(n->status == NODE_IN_PROGRESS && n->assignment &&
					stage_is_good(n->assignment->stage)))
		return not_waiting(n, "it is in no queue", err);
	work_block(cx, n, BLOCK_PERSON, reason, STR(""));
	*ret_result = work_result(cx, n, NODE_BLOCKED);
	value_put(cx->arena, *ret_result, "branch",
			value_str(cx->arena,
					n->assignment ? arena_str(cx->arena, n->assignment->branch)
						      : STR("")));
	return 0;
}
