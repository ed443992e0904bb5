#include "core/decide_oversee.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "core/iteration.h"

static struct subject about_run(const struct run *r)
{
	return (struct subject){ r->goal_id, r->node_id, r->assignment_id, r->id };
}

void tick_review(struct decide_ctx *cx, const struct decision *d)
{
	struct iteration it;
	struct event *e = emit(cx, EV_ITERATION_RECORDED, about_run(d->run));

	iteration_make(cx->arena, cx->state, d->node, d->run, &it);
	value_put(cx->arena, e->data, "iteration", record_pack(cx->arena, &iteration_record, &it));
}
