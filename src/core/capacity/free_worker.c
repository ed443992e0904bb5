#include "core/capacity/free_worker.h"

#include "base/str.h"
#include "core/capacity/accept_queue.h"

bool worker_is_unusable(const struct worker *w)
{
	if (w->status != WORKER_IDLE && w->status != WORKER_OFFLINE)
		return w->status == WORKER_ERROR || !w->assignment_id.n;
	return w->wanted.n || w->effect;
}

bool assignment_is_accepting(const struct assignment *as)
{
	static const bool kinds[EFFECT_KIND_COUNT] = {
		[FX_REBASE] = true,
		[FX_GATE] = true,
		[FX_ACCEPT] = true,
		[FX_POST] = true,
		[FX_REVERT] = true,
	};

	return stage_is_accepting(as->stage) || (as->effect && kinds[as->effect->kind]);
}

enum worker_step worker_next_step(const struct state *s, const struct worker *w)
{
	const struct assignment *as;

	/* Of nearly all of them nothing is wanted, and each tick asks about all. */
	if (!w->wanted.n || w->effect)
		return WORKER_STEP_NONE;
	as = w->assignment_id.n ? state_assignment(s, w->assignment_id) : NULL;
	if (!as || as->stage == STAGE_NONE)
		return WORKER_STEP_ACT;
	if (as->stage == STAGE_WAITING)
		return WORKER_STEP_SETTLE;
	if (assignment_is_final(as) || as->status == AS_BLOCKED || accept_is_committed(as))
		return WORKER_STEP_NONE;
	return WORKER_STEP_SETTLE;
}

bool worker_serves(const struct worker *w, const struct node *n)
{
	if (n->next.worker.n)
		return str_eq(w->name, n->next.worker);
	if (str_is(n->goal->standing, STANDING_AUTO))
		return w->kind == WORKER_AUTO;
	return w->kind == WORKER_POOL || (w->kind == WORKER_MANUAL && !w->excluded);
}
