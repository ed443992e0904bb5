/* When the engine ticks, and what it makes of the decisions. */
#include "app/engine/engine_impl.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/list.h"
#include "base/vec.h"
#include "core/tick/work_due.h"

enum {
	TICK_ROUNDS = 16,     /* decisions of one tick enable others: so many rounds at most */
	SEARCH_ROUNDS = 1000, /* and so many when one of them is a bug that has to be found */
};

static struct telemetry telemetry(const struct engine *e)
{
	struct telemetry t = { 0 };

	e->world->telemetry(e->user, &t);
	t.held = e->held.n ? &e->held_by_key : NULL;
	return t;
}

static struct decisions tick_once(struct engine *e, struct arena *a)
{
	struct world w = { e->state, e->policy };
	struct telemetry t = telemetry(e);

	return reconcile(a, &w, &t, e->world->now(e->user));
}

/* One that may not decide anything owes nothing; why it may not is told elsewhere. */
bool engine_due(struct engine *e)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct world w = { e->state, e->policy };
	struct telemetry t;

	if (!e->started || e->refusal || e->apply_failed)
		return false;
	t = telemetry(e);
	return work_due(&a, &w, &t, e->world->now(e->user));
}

/* Work that goes on by itself: what waits for a person does not. */
static bool work_is_open(const struct state *s)
{
	list_each (it, &s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (as->stage != STAGE_NONE && as->stage != STAGE_WAITING)
			return true;
	}
	return !list_empty(&s->queued);
}

/* While work is open a tick comes at the latest after tick_every; with none open nothing ticks. */
static ov_time next_wake(const struct engine *e, ov_time wake_at, ov_time now)
{
	return work_is_open(e->state) ? MIN(wake_at, now + e->tick_every) : wake_at;
}

/*
 * Stages the first *most decisions. If they contradict the state half as many are tried, until it
 * is one: that is held, and the others are free to go on.
 */
static void stage_some(struct engine *e, struct decisions *d, size_t *most)
{
	struct events fresh = { 0 };
	struct decide_ctx cx = engine_decide(e, STR("overseer"), &fresh);
	struct ov_err err = { 0 };

	d->n = MIN(d->n, *most);
	decide_tick(&cx, d);
	if (engine_stage(e, &fresh, &err) < 0) {
		*most = d->n > 1 ? d->n / 2 : SIZE_MAX;
		if (d->n == 1)
			engine_hold(e, &d->p[0], &err);
	}
	vec_done(&fresh);
}

static value *tick(struct engine *e, struct arena *view_arena)
{
	value *shown = NULL;
	ov_time now = e->world->now(e->user);
	size_t most = SIZE_MAX, held;
	int rounds = TICK_ROUNDS;

	engine_hold_expire(e, now);
	held = e->held.n;
	e->tick_due = false;
	e->last_tick = now;
	for (int round = 0; round < rounds && e->apply_failed == 0; round++) {
		struct decisions d = tick_once(e, &e->staged->arena);

		if (view_arena && !shown)
			shown = value_copy(view_arena, decisions_view(&e->staged->arena, &d));
		engine_set_wake(e, next_wake(e, MIN(d.wake_at, engine_hold_until(e)), now));
		for (size_t i = 0; i < d.looks_n; i++)
			e->world->look(e->user, d.looks[i]);
		if (d.n == 0)
			break;
		stage_some(e, &d, &most);
		if (most != SIZE_MAX || e->held.n != held)
			rounds = SEARCH_ROUNDS;
		e->tick_due = round + 1 == rounds;
	}
	return shown;
}

void engine_tick_if_due(struct engine *e)
{
	ov_time now = e->world->now(e->user);

	if (!e->tick_due || !e->started || !engine_may_write(e))
		return;
	/* A clock that jumped back must not hold the tick up. */
	if (now >= e->last_tick + TICK_APART_MS || now < e->last_tick)
		tick(e, NULL);
	else
		engine_set_wake(e, MIN(e->wake_at, e->last_tick + TICK_APART_MS));
}

void engine_touch(struct engine *e)
{
	e->tick_due = true;
}

value *engine_tick_now(struct engine *e, struct arena *a)
{
	value *shown = tick(e, a);

	return shown ? shown : engine_tick_dry(e, a);
}

/* A copy: the state may change before it is shown. */
value *engine_tick_dry(struct engine *e, struct arena *a)
{
	struct decisions d = tick_once(e, a);

	return value_copy(a, decisions_view(a, &d));
}
