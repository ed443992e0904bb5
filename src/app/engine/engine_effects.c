/*
 * When effects are performed: once their intent is durable, and again until their outcome is known.
 */
#include "app/engine/engine_impl.h"

#include "base/list.h"
#include "sys/host/inject.h"

/* Longer than most take; asking again for one that is under way costs nothing. */
enum { AGAIN_MS = 15 * OV_MINUTE };

void engine_perform_new(struct engine *e, const struct batch *b)
{
	for (size_t i = 0; i < b->events.n; i++) {
		const struct event *ev = b->events.p[i];
		const struct effect *fx;

		if (ev->kind != EV_EFFECT_INTENDED)
			continue;
		/* Settled within the same transaction: nothing to do any more. */
		fx = state_effect(e->state, as_effect_intended(ev)->effect);
		if (fx) {
			INJECT("before-effect");
			e->world->perform(e->user, fx);
		}
	}
}

static void perform_older(struct engine *e, ov_time now, ov_time age)
{
	e->performed_at = now;
	list_each (it, &e->state->effects) {
		const struct effect *fx = list_entry(it, struct effect, link);

		/* One of the future was intended by a clock that was wrong. */
		if (fx->created_at > now || now - fx->created_at >= age)
			e->world->perform(e->user, fx);
	}
}

void engine_perform_open(struct engine *e)
{
	perform_older(e, e->world->now(e->user), 0);
}

ov_time engine_again_at(struct engine *e)
{
	ov_time now = e->world->now(e->user), oldest;

	if (!e->started || e->failing || e->apply_failed || list_empty(&e->state->effects))
		return OV_TIME_MAX;
	/* A clock that jumped back must not put it off. */
	e->performed_at = MIN(e->performed_at, now);
	oldest = list_entry(e->state->effects.next, struct effect, link)->created_at;
	return MAX(e->performed_at, oldest > now ? 0 : oldest) + AGAIN_MS;
}

void engine_perform_again(struct engine *e)
{
	ov_time now = e->world->now(e->user);

	/* Only what is durable: then the state is what the store holds. */
	if (!engine_staged(e) && engine_again_at(e) <= now)
		perform_older(e, now, AGAIN_MS);
}
