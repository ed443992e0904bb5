/*
 * What is known before a silent run is judged: the first look of a daemon is only something to compare
 * later ones with, so whoever has just begun cannot tell a run that hangs from one that works. Nothing
 * is given up, and nobody asked, on what a daemon before it saw.
 */
#include "base/str.h"
#include "core/reconcile.h"
#include "tests/sim/check_impl.h"
#include "tests/sim/exec.h"

/* A rung that ends the run, one that is given up, or the question to a person. */
static bool judges(const struct event *e)
{
	int rung = event_status(e, "rung", &rungs);

	return rung == RUNG_ESCALATE || rung == RUNG_REASSIGN;
}

static ov_time idle_of(struct checker *c, const struct event *e)
{
	const struct assignment *as = state_assignment(c->shadow, e->assignment);

	return as && as->idle_after ? as->idle_after : c->s->config->policy.idle_after;
}

static void watched_event(struct checker *c, const struct event *e)
{
	const struct run_book *r = e->kind == EV_EPISODE_RUNG ? book_run(c, e->run) : NULL;
	const struct observation *o;

	if (!r || r->status != RUN_RUNNING || !judges(e) || is_blind(c, e))
		return;
	o = map_get(exec_observations(c->up->exec), e->run);
	/* Whoever waits for a person is no riddle; nor is one of which two looks told the same. */
	if (o &&
			(o->waiting_for.n || !o->process_unknown || !o->tree_unknown ||
					e->at - o->known_since >= idle_of(c, e) / 2))
		return;
	sim_violated(c->s, inv_watched_first.name,
			EV_FMT ": %s, though daemon %d has had run " STR_FMT " in its hands for "
			       "%lld s (idle after %lld s)",
			EV_ARG(e), status_name(&rungs, event_status(e, "rung", &rungs)),
			c->up->life, STR_ARG(e->run),
			o ? (long long)((e->at - o->known_since) / OV_SECOND) : -1LL,
			(long long)(idle_of(c, e) / OV_SECOND));
}

/* One that has just begun is put before a person. */
static bool watched_sabotage(struct checker *c)
{
	struct as_book *as = some_live(c, true);
	const struct observation *o = as && c->up
			? map_get(exec_observations(c->up->exec), as->run->id)
			: NULL;
	struct event *e;

	if (!o || o->waiting_for.n || sim_now(c->s) - o->known_since > OV_MINUTE ||
			!(o->process_unknown && o->tree_unknown))
		return false;
	e = forge(c, EV_EPISODE_RUNG, as->node);
	forge_text(c, e, "rung", STR("escalate"));
	forge_show(c, e);
	return c->s->violated;
}

const struct invariant inv_watched_first = {
	.name = "watched_first",
	.sentence = "no silent run is ended, given up or put before a person by a daemon that has "
		    "neither seen it twice nor watched it for half the time after which it stalls",
	.event = watched_event,
	.sabotage = watched_sabotage,
};
