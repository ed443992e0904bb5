/*
 * What people do about what a worker has made: look at it, accept or reject it, rebase or pick it.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/accept_queue.h"
#include "core/decide/move.h"
#include "core/flow/flow.h"
#include "core/flow/review.h"
#include "core/worker/worker.h"

static int reason_check(str reason, struct ov_err *err)
{
	if (str_trim(reason).n)
		return 0;
	return ov_fail(err, OV_EINVALID, "a reason is needed: it is recorded with your name");
}

/* The worker, if this can be asked of it now, and its task. */
static int task_read(struct decide_ctx *cx, str name, str reason, const char *verb,
		struct worker **ret, const struct assignment **ret_as, struct ov_err *err)
{
	struct worker *w = NULL;
	int r = worker_read(cx, name, reason, verb, &w, err);

	if (r < 0)
		return r;
	*ret = w;
	*ret_as = state_assignment(cx->state, w->assignment_id);
	if (*ret_as && (*ret_as)->node && !flow_winding_down(*ret_as))
		return 0;
	return ov_fail(err, OV_ESTATE, "worker " STR_FMT " has no task that could be judged",
			STR_ARG(w->name));
}

static value *task_result(struct decide_ctx *cx, const struct worker *w,
		const struct assignment *as, enum worker_status status)
{
	value *v = worker_result(cx, w, status);

	value_put(cx->arena, v, "node", value_str(cx->arena, arena_str(cx->arena, as->node->key)));
	value_put(cx->arena, v, "branch", value_str(cx->arena, arena_str(cx->arena, as->branch)));
	value_put(cx->arena, v, "stage",
			value_cstr(cx->arena, status_name(&stages, (int)as->stage)));
	value_put(cx->arena, v, "target",
			value_str(cx->arena, arena_str(cx->arena, cx->policy->target_branch)));
	return v;
}

int decide_worker_review(struct decide_ctx *cx, const struct pr_worker_review *p,
		value **ret_result, struct ov_err *err)
{
	const struct assignment *as;
	struct worker *w;
	int r = task_read(cx, p->worker, STR(""), "review", &w, &as, err);

	if (r < 0)
		return r;
	worker_to(cx, w, WORKER_REVIEWING,
			arena_printf(cx->arena, STR_FMT " looks at it", STR_ARG(cx->actor)));
	*ret_result = task_result(cx, w, as, WORKER_REVIEWING);
	return 0;
}

int decide_worker_accept(struct decide_ctx *cx, const struct pr_worker_accept *p,
		value **ret_result, struct ov_err *err)
{
	const struct assignment *as;
	struct worker *w;
	int r = task_read(cx, p->worker, p->reason, "accept", &w, &as, err);

	if (r == 0)
		r = review_check(as, false, err);
	if (r < 0)
		return r;
	review_accept(cx, as, str_trim(p->reason));
	*ret_result = task_result(cx, w, as, WORKER_NEEDS_REVIEW);
	return 0;
}

int decide_worker_reject(struct decide_ctx *cx, const struct pr_worker_reject *p,
		value **ret_result, struct ov_err *err)
{
	str reason = str_trim(p->reason);
	const struct assignment *as;
	struct worker *w;
	int r = task_read(cx, p->worker, p->reason, "reject", &w, &as, err);

	if (r == 0)
		r = reason_check(reason, err);
	if (r == 0)
		r = review_check(as, true, err);
	if (r < 0)
		return r;
	review_reject(cx, as, reason);
	*ret_result = task_result(cx, w, as, WORKER_REJECTED);
	return 0;
}

static void put_effect(struct decide_ctx *cx, value *result,
		const struct ev_effect_intended *intended)
{
	value_put(cx->arena, result, "effect", value_str(cx->arena, intended->effect));
}

/*
 * What waits for its turn waits for nothing else any more; what waits for a person is rebased now.
 */
int decide_worker_rebase(struct decide_ctx *cx, const struct pr_worker_rebase *p,
		value **ret_result, struct ov_err *err)
{
	const struct assignment *as;
	struct worker *w;
	int r = task_read(cx, p->worker, STR(""), "rebase", &w, &as, err);

	if (r < 0)
		return r;
	if (as->effect || (as->stage != STAGE_REVIEW && as->stage != STAGE_REBASE)) {
		ov_fail(err, OV_ESTATE,
				"the work of worker " STR_FMT " is being accepted right now",
				STR_ARG(w->name));
		return ov_next(err, "overseer queue list");
	}
	*ret_result = task_result(cx, w, as, WORKER_REBASING);
	if (as->stage == STAGE_REBASE) {
		assignment_move(cx, as, as->status, STAGE_REBASE, STR("a person asked for it now"));
		return 0;
	}
	put_effect(cx, *ret_result, worker_intend(cx, w, STR("rebase"), about_assignment(as)));
	worker_to(cx, w, WORKER_REBASING, STR("a person wants it rebased"));
	return 0;
}

void worker_rebased(struct decide_ctx *cx, const struct worker *w, const struct effect *fx _unused_,
		const struct outcome *o)
{
	if (!o->as || !o->as->node)
		return;
	if (flow_winding_down(o->as)) {
		flow_release(cx, o->as);
		return;
	}
	if (o->is == ENDED_CONFLICT) {
		rebase_ended(cx, o);
		return;
	}
	if (o->ok) {
		struct ev_assignment_moved *e = assignment_move(cx, o->as, o->as->status,
				STAGE_REVIEW,
				STR("waits for your review: rebased onto the target branch"));

		MAYBE_SET(e, base, o->git->base);
	}
	worker_to(cx, w, WORKER_NEEDS_REVIEW,
			o->ok ? STR("rebased; it waits for a person")
			      : arena_printf(cx->arena, "it could not be rebased: " STR_FMT,
						STR_ARG(o->detail.n ? o->detail
								    : str_from(status_name(
										      &effect_outcomes,
										      (int)o->is)))));
}

/* Past review and check, by a person's word: what is there now becomes a commit on the target. */
int decide_worker_pick(struct decide_ctx *cx, const struct pr_worker_pick *p, value **ret_result,
		struct ov_err *err)
{
	str reason = str_trim(p->reason);
	struct worker *w = NULL;
	struct ev_effect_intended *e;
	int r = worker_read(cx, p->worker, p->reason, "pick", &w, err);

	if (r == 0)
		r = reason_check(reason, err);
	if (r < 0)
		return r;
	e = worker_intend(cx, w, STR("pick"), (struct subject){ 0 });
	MAYBE_SET(e, reason, reason);
	*ret_result = worker_result(cx, w, w->status);
	put_effect(cx, *ret_result, e);
	return 0;
}
