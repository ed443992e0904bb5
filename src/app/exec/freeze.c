#include "app/exec/freeze.h"

#include "app/engine/engine.h"
#include "app/exec/executor_impl.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "core/event/event.h"
#include "core/state/state.h"
#include "drive/run/run.h"

/* A request under way; the run may be gone when its answer comes, the executor may not. */
struct request {
	struct executor *x;
	bool frozen;
	char id[]; /* of the run */
};

static void freeze_ask(struct live_run *lr, bool frozen);

/* One that is stopped is thawed by its shim, and shall not be held again. */
static bool is_wanted(const struct state *s, const struct run *r)
{
	const struct goal *g = state_goal(s, r->goal_id);
	const struct assignment *as = state_assignment(s, r->assignment_id);

	return g && g->freezes && as && as->run == r && as->stage == STAGE_RUNNING &&
			!assignment_is_final(as) && as->status != AS_BLOCKED && !as->stopping;
}

static void look_at(struct executor *x, const struct run *r)
{
	struct live_run *lr = map_get(&x->runs, r->id);
	bool wanted = is_wanted(engine_state(x->engine), r);

	if (lr && r->status == RUN_RUNNING && !lr->freezing && wanted != r->frozen &&
			!(wanted && lr->unfreezable))
		freeze_ask(lr, wanted);
}

static void freeze_answered(void *user, int code, const struct ov_err *err _unused_)
{
	struct request *q = user;
	struct executor *x = q->x;
	str id = str_from(q->id);
	struct live_run *lr = map_get(&x->runs, id);

	if (lr) {
		lr->freezing = false;
		/* It has no group: it is left to finish, and nobody asks again. */
		lr->unfreezable = q->frozen && code < 0;
	}
	if (lr && code == 0 && !x->closing)
		tell_run_frozen(x->engine, &(struct msg_run_frozen){ id, q->frozen });
	mem_free(q);
}

static void freeze_ask(struct live_run *lr, bool frozen)
{
	struct request *q = mem_zalloc(1, sizeof(*q) + lr->id.n + 1);

	q->x = lr->x;
	q->frozen = frozen;
	memcpy(q->id, lr->id.p, lr->id.n);
	lr->freezing = true;
	observe_meddled(lr->x->observe, lr->id);
	if (run_freeze(lr->driver->handle(lr->run), frozen, freeze_answered, q, NULL) == 0)
		return;
	lr->freezing = false;
	mem_free(q);
}

void freeze_look(struct executor *x)
{
	list_each (it, &engine_state(x->engine)->runs)
		look_at(x, list_entry(it, struct run, link));
}

void freeze_published(struct executor *x, const struct event *e)
{
	const struct state *s = engine_state(x->engine);
	const struct run *r;

	switch (e->kind) {
	case EV_GOAL_STATUS: freeze_look(x); break;
	case EV_RUN_STARTED:
	case EV_RUN_FROZEN:
		r = state_run(s, e->run);
		if (r)
			look_at(x, r);
		break;
	default: break;
	}
}
