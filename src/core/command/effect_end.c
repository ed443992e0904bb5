/* The end of an effect, as the executor reports it: its outcome goes to the room that intended it. */
#include "base/str.h"
#include "core/command/command_impl.h"
#include "core/decide/alarm.h"
#include "core/decide/move.h"
#include "core/flow/auto.h"
#include "core/flow/flow.h"
#include "core/flow/target.h"
#include "core/goal/goal.h"
#include "core/worker/worker.h"

/* {"effect", "outcome": "ok" | ..., "detail", "data": {...}} from the executor. */
int decide_effect_end(struct decide_ctx *cx, const value *params, value **ret_result,
		struct ov_err *err)
{
	const struct effect *fx = state_effect(cx->state, value_str_at(params, "effect"));
	str word = value_str_at(params, "outcome");
	struct outcome o = { .detail = value_str_at(params, "detail") };

	(void)ret_result, (void)err;
	/* An outcome that is known already changes nothing: reporting twice is harmless. */
	if (!fx)
		return 0;
	o.as = state_assignment(cx->state, fx->assignment_id);
	o.is = (enum effect_outcome)MAX(status_parse(&effect_outcomes, word), ENDED_ERROR);
	o.ok = o.is == ENDED_OK;
	o.data = value_at(params, "data");
	effect_ended(cx, fx, word, o.detail);
	target_left(cx, o.data);
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
