/*
 * The end of an effect, as the executor reports it: its outcome goes to the room that intended it.
 */
#include "base/str.h"
#include "core/command/command_impl.h"
#include "core/decide/alarm.h"
#include "core/decide/move.h"
#include "core/flow/auto.h"
#include "core/flow/flow.h"
#include "core/flow/target.h"
#include "core/goal/goal.h"
#include "core/worker/worker.h"

int decide_effect_end(struct decide_ctx *cx, const struct msg_effect_end *p, value **ret_result,
		struct ov_err *err)
{
	const struct effect *fx = state_effect(cx->state, p->effect);
	struct outcome o;

	(void)ret_result, (void)err;
	/* An outcome that is known already changes nothing: reporting twice is harmless. */
	if (!fx)
		return 0;
	o = outcome_from(cx->arena, fx->kind, p);
	o.as = state_assignment(cx->state, fx->assignment_id);
	effect_ended(cx, fx, o.is, o.detail);
	if (outcome_is_git(fx->kind))
		target_left(cx, o.git);
	if (fx->kind == FX_SEND)
		send_ended(cx, fx, &o);
	else if (fx->kind == FX_PLAN)
		plan_ended(cx, fx, &o);
	else if (fx->kind == FX_WORKER)
		worker_ended(cx, fx, &o);
	else if (fx->kind == FX_POOL)
		pool_ended(cx, fx, &o);
	else if (fx->kind == FX_NOTIFY)
		notify_ended(cx, fx, &o);
	else if (o.as)
		flow_ended(cx, fx->kind, &o);
	return 0;
}
