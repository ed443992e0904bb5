/*
 * The life of a goal by a person's word: pause, resume, cancel, reopen, archive. What may follow
 * what is the table's to say; here is what each step does to the nodes, runs and questions of
 * the goal.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/accept_queue.h"
#include "core/decide/ask.h"
#include "core/decide/check.h"
#include "core/decide/emit.h"
#include "core/decide/move.h"
#include "core/goal/goal.h"
#include "core/model/limits.h"
#include "core/work/work.h"

/* The goal and the reason, checked; a reason that must be given is asked for. */
static int find(struct decide_ctx *cx, str goal, str said, const char *what, struct goal **ret,
		str *ret_reason, struct ov_err *err)
{
	str reason = str_trim(said);
	int r = state_find_goal(cx->state, goal, ret, err);

	if (r == 0)
		r = text_check(STR("reason"), reason, LIMIT_NOTE, err);
	if (r == 0 && what && !reason.n) {
		ov_fail(err, OV_EINVALID, "a reason is needed to %s a goal", what);
		return ov_next(err, "overseer goal %s " STR_FMT " --reason TEXT", what,
				STR_ARG((*ret)->id));
	}
	*ret_reason = reason.n ? reason : STR("no reason was given");
	return r;
}

/* A refusal names what is there: which of the other ways is wanted, only its caller knows. */
static int goal_may_become(const struct goal *g, enum goal_status to, struct ov_err *err)
{
	int r;

	if (g->status == to)
		r = ov_fail(err, OV_ESTATE, "goal " STR_FMT " is %s already", STR_ARG(g->id),
				status_name(&goal_statuses, (int)to));
	else
		r = status_check(&goal_statuses, g->id, (int)g->status, (int)to, false, err);
	return r < 0 ? ov_next(err, "overseer goal show " STR_FMT, STR_ARG(g->id)) : 0;
}

static bool is_live_run(const struct assignment *as)
{
	return !assignment_is_final(as) && as->run && as->run->status != RUN_ENDED;
}

int64_t goal_stop_runs(struct decide_ctx *cx, const struct goal *g, str reason)
{
	int64_t n = 0;

	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *node = g->nodes.p[i];

		if (!node->assignment || !is_live_run(node->assignment) ||
				node->status != NODE_IN_PROGRESS)
			continue;
		assignment_wind_down(cx, node->assignment, AS_CANCELLED, reason);
		node_to(cx, node, NODE_QUEUED, reason);
		n++;
	}
	return n;
}

int decide_goal_pause(struct decide_ctx *cx, const struct pr_goal_pause *p, value **ret_result,
		struct ov_err *err)
{
	struct goal *g;
	str reason;
	int64_t stopped = 0;
	int r = find(cx, p->goal, p->reason, NULL, &g, &reason, err);

	if (r == 0)
		r = goal_may_become(g, GOAL_PAUSED, err);
	if (r < 0)
		return r;
	if (p->now)
		stopped = goal_stop_runs(cx, g, reason);
	goal_to(cx, g, GOAL_PAUSED, reason, false, ret_result);
	value_put(cx->arena, *ret_result, "stopping_runs", value_int(cx->arena, stopped));
	return 0;
}

int decide_goal_resume(struct decide_ctx *cx, const struct pr_goal_resume *p, value **ret_result,
		struct ov_err *err)
{
	struct goal *g;
	str reason;
	int r = find(cx, p->goal, p->reason, NULL, &g, &reason, err);

	if (r == 0)
		r = goal_may_become(g, GOAL_ACTIVE, err);
	if (r < 0)
		return r;
	if (g->health == HEALTH_ABORTED) {
		ov_fail(err, OV_ESTATE,
				"goal " STR_FMT " was aborted (" STR_FMT
				"): it goes on only when a person reopens it",
				STR_ARG(g->id), STR_ARG(g->status_reason));
		return ov_next(err, "overseer goal reopen " STR_FMT " --reason TEXT",
				STR_ARG(g->id));
	}
	if (g->detections.n)
		oversight_renew(cx, g, NULL, reason);
	goal_to(cx, g, GOAL_ACTIVE, reason, false, ret_result);
	return 0;
}

/* A change that is on its way to the target branch right now cannot be called back. */
static int check_accepting(const struct goal *g, struct ov_err *err)
{
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct assignment *as = g->nodes.p[i]->assignment;

		if (accept_is_committed(as))
			return ov_fail(err, OV_ESTATE,
					"node " STR_FMT
					" is being accepted right now; try again when that is over",
					STR_ARG(as->node_id));
	}
	return 0;
}

static void close_questions(struct decide_ctx *cx, const struct goal *g, str reason)
{
	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status == ESC_OPEN && str_eq(x->goal_id, g->id))
			escalation_close(cx, x, ESC_DISMISSED, reason);
	}
}

int decide_goal_cancel(struct decide_ctx *cx, const struct pr_goal_cancel *p, value **ret_result,
		struct ov_err *err)
{
	struct goal *g;
	str reason, why;
	int64_t cancelled = 0;
	int r = find(cx, p->goal, p->reason, NULL, &g, &reason, err);

	if (!str_trim(p->reason).n)
		reason = asked_by(cx);
	if (r == 0)
		r = goal_may_become(g, GOAL_CANCELLED, err);
	if (r == 0)
		r = check_accepting(g, err);
	if (r < 0)
		return r;
	why = arena_printf(cx->arena, "the goal was cancelled: " STR_FMT, STR_ARG(reason));
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = g->nodes.p[i];

		if (!node_is_leaf(n) || node_is_final(n))
			continue;
		node_to(cx, n, NODE_CANCELLED, why);
		if (n->assignment)
			assignment_wind_down(cx, n->assignment, AS_CANCELLED, why);
		cancelled++;
	}
	close_questions(cx, g, why);
	goal_to(cx, g, GOAL_CANCELLED, reason, false, ret_result);
	value_put(cx->arena, *ret_result, "cancelled_nodes", value_int(cx->arena, cancelled));
	return 0;
}

/* A cancelled goal cannot be reopened: the next step is a new goal. */
static int goal_may_reopen(const struct goal *g, struct ov_err *err)
{
	int r;

	if (g->status == GOAL_ACTIVE)
		return goal_may_become(g, GOAL_ACTIVE, err);
	r = status_check(&goal_statuses, g->id, (int)g->status, GOAL_ACTIVE, true, err);
	return r < 0 ? ov_next(err, "overseer goal create --title TEXT") : 0;
}

int decide_goal_reopen(struct decide_ctx *cx, const struct pr_goal_reopen *p, value **ret_result,
		struct ov_err *err)
{
	struct goal *g;
	str reason;
	bool open;
	int r = find(cx, p->goal, p->reason, "reopen", &g, &reason, err);

	if (r == 0)
		r = goal_may_reopen(g, err);
	if (r < 0)
		return r;
	if (g->status == GOAL_PAUSED && g->health != HEALTH_ABORTED) {
		ov_fail(err, OV_ESTATE, "goal " STR_FMT " is only paused; resume it",
				STR_ARG(g->id));
		return ov_next(err, "overseer goal resume " STR_FMT, STR_ARG(g->id));
	}
	open = g->leaves > g->leaves_done + g->leaves_cancelled;
	if (g->detections.n)
		oversight_renew(cx, g, NULL, reason);
	goal_to(cx, g, GOAL_ACTIVE, reason, true, ret_result);
	if (!open)
		escalate_about(cx, about_goal(g),
				&(struct escalation_spec){ .ask = ASK_REOPENED,
						.question = STR("the goal was reopened: it waits "
								"for a plan or a reopened "
								"node") });
	return 0;
}

int decide_goal_archive(struct decide_ctx *cx, const struct pr_goal_archive *p, value **ret_result,
		struct ov_err *err)
{
	struct goal *g;
	str reason;
	int r = find(cx, p->goal, p->reason, NULL, &g, &reason, err);

	if (r == 0)
		r = goal_may_become(g, GOAL_ARCHIVED, err);
	for (size_t i = 0; r == 0 && i < g->nodes.n; i++)
		if (g->nodes.p[i]->assignment)
			r = ov_fail(err, OV_ESTATE,
					"work on node " STR_FMT
					" is still being wound up; try again when that is over",
					STR_ARG(g->nodes.p[i]->id));
	if (r < 0)
		return r;
	goal_to(cx, g, GOAL_ARCHIVED, reason, false, ret_result);
	return 0;
}
