/*
 * Time that a run took, and was silent for, is time that passed while the machine was awake:
 * whatever its clock shows, whether a daemon was up meanwhile or not.
 */
#include "base/str.h"
#include "core/daemon/daemon.h"
#include "tests/sim/check_impl.h"

enum {
	/* what is not told of, being little, and how long an event is on its way */
	SLACK_MS = 90000,
};

/* The world's time is that in which the machine is awake. */
static void age_event(struct checker *c, const struct event *e)
{
	struct as_book *as = book_as(c, e->assignment);
	ov_time ago = sim_now(c->s) - e->at;

	if (!as)
		return;
	if (e->kind == EV_RUN_STARTED) {
		as->began_t = as->quiet_t = MAX(c->s->t - ago, (ov_time)0);
		as->boot = c->s->boots;
		as->jumped = ago != 0;
	} else if (e->kind == EV_ASSIGNMENT_ACTIVITY) {
		as->quiet_t = c->s->t - (sim_now(c->s) - value_int_at(e->data, "at_ms"));
	}
}

/* The daemon knows the clock, and has had the time to tell of it and a disk that took it down. */
static bool is_known(const struct checker *c)
{
	return c->up && !c->up->failing && c->state && !c->fresh &&
			!clock_jumped(c->s->slept - c->up->slept) &&
			!clock_jumped(c->s->skew - c->s->slept - c->up->set);
}

static void age_look(struct checker *c, const struct as_book *book)
{
	const struct assignment *as = state_assignment(c->state, book->id);
	const struct run *r = as ? as->run : NULL;
	ov_time now = sim_now(c->s), took, silent;

	/* One that was held is another matter; so is one that began before anybody could see. */
	if (!r || r->status != RUN_RUNNING || r->frozen || r->frozen_ms || book->jumped ||
			book->boot != c->s->boots)
		return;
	took = now - r->started_at - r->slept_ms - (c->s->t - book->began_t);
	silent = now - as->last_activity_at - (c->s->t - book->quiet_t);
	if (took > SLACK_MS || took < -SLACK_MS)
		sim_violated(c->s, inv_age_true.name,
				"run " STR_FMT " is held to be %lld s older than it is",
				STR_ARG(r->id), (long long)(took / OV_SECOND));
	if (silent > SLACK_MS)
		sim_violated(c->s, inv_age_true.name,
				"run " STR_FMT " is held to be silent for %lld s more than it is",
				STR_ARG(r->id), (long long)(silent / OV_SECOND));
}

/* What is wrong stays so until it is acted upon: now and then is often enough. */
static void age_step(struct checker *c)
{
	if (c->s->t < c->aged_t)
		return;
	c->aged_t = c->s->t + 30 * OV_SECOND;
	for (size_t i = 0; is_known(c) && i < c->live.n; i++)
		age_look(c, c->live.p[i]);
}

static bool age_sabotage(struct checker *c)
{
	struct as_book *as = some_live(c, true);

	if (!as || !is_known(c) || as->jumped || as->boot != c->s->boots)
		return false;
	as->began_t -= OV_DAY;
	age_look(c, as);
	return true;
}

const struct invariant inv_age_true = {
	.name = "age_true",
	.sentence = "a run is as old, and as long silent, as the time that the machine was awake, "
		    "however its clock is set",
	.event = age_event,
	.step = age_step,
	.sabotage = age_sabotage,
};
