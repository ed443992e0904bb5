/*
 * What is known before a silent run is judged: the first look of a daemon is only something to
 * compare later ones with, so whoever has just begun cannot tell a run that hangs from one that
 * works. Nothing is given up, and nobody asked, on what a daemon before it saw.
 */
#include "base/str.h"
#include "core/tick/reconcile.h"
#include "tests/sim/check_impl.h"
#include "tests/sim/exec.h"
#include "tests/sim/machine.h"

/* ---- watched_first ---- */

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

/* ---- silence_found ---- */

enum { EVERY = OV_MINUTE };

/* Longer than looks that fail, one or two, can explain. */
static ov_time longest_still(const struct checker *c)
{
	return c->still_soon ? OV_SECOND : 3 * c->s->config->policy.idle_after + 30 * OV_MINUTE;
}

/* An answer is given time to have its effect. */
static bool is_asked_about(const struct checker *c, str assignment)
{
	for (size_t i = 0; i < c->escalations.n; i++) {
		const struct escalation_book *x = c->escalations.p[i];

		if (str_eq(x->assignment, assignment) &&
				(x->open || c->s->t - x->closed_t < longest_still(c)))
			return true;
	}
	return false;
}

static void check_still(struct checker *c, const struct as_book *as)
{
	const struct sim_run *r = machine_find(c->s->machine, as->run->id);
	const struct observation *o = map_get(exec_observations(c->up->exec), as->run->id);
	const struct assignment *held = state_assignment(c->shadow, as->id);
	ov_time most = longest_still(c), now = sim_now(c->s);
	ov_time since = r ? machine_still_since(r) : 0;

	if (!since || !o || !held || !held->run || c->s->t - since < most || o->waiting_for.n ||
			now - o->known_since < most || now - held->run->awake_at < most ||
			held->run->frozen || held->effect || held->expected_at > now)
		return;
	if (!is_asked_about(c, as->id))
		sim_violated(c->s, inv_silence_found.name,
				"run " STR_FMT " is taken for alive, and has done nothing for "
				"%lld s (idle after %lld s)",
				STR_ARG(as->run->id), (long long)((c->s->t - since) / OV_SECOND),
				(long long)(c->s->config->policy.idle_after / OV_SECOND));
}

/*
 * "Busy, but shows nothing" is told of whoever is busy. When nothing could be seen of any run, the
 * first look after it compares with one from before: what it did since may be as long ago.
 */
static void still_event(struct checker *c, const struct event *e)
{
	const struct as_book *as = book_as(c, e->assignment);
	const struct sim_run *r = as && as->run ? machine_find(c->s->machine, as->run->id) : NULL;
	ov_time since = r ? machine_still_since(r) : 0, most = 2 * c->s->config->policy.idle_after;
	const struct observation *o;

	if (e->kind != EV_ESCALATION_OPENED || !since || is_blind(c, e) || c->s->t < c->unseen_t ||
			!str_is(value_str_at(e->data, "kind"), "mute"))
		return;
	o = map_get(exec_observations(c->up->exec), as->run->id);
	if (o && c->s->t - since > most && e->at - o->known_since > most)
		sim_violated(c->s, inv_silence_found.name,
				EV_FMT ": it is called busy, and has done nothing for %lld s "
				       "(idle after %lld s)",
				EV_ARG(e), (long long)((c->s->t - since) / OV_SECOND),
				(long long)(most / 2 / OV_SECOND));
}

static void still_step(struct checker *c)
{
	/* Nothing can be seen of any run, and then it is to be found out anew. */
	if (c->s->silent)
		c->unseen_t = c->s->t + longest_still(c);
	if (!c->up || !c->state || !c->up->started || c->up->stopping || c->up->failing ||
			c->s->t < c->unseen_t || c->s->t < c->still_t || c->s->t < c->blind_t ||
			c->s->skew != c->skew || c->shadow->outage_since ||
			sim_now(c->s) - c->outage_over_at < longest_still(c))
		return;
	c->still_t = c->s->t + EVERY;
	for (size_t i = 0; i < c->live.n; i++) {
		const struct as_book *as = c->live.p[i];

		if (as->run && as->run->status == RUN_RUNNING && as->stage == STAGE_RUNNING &&
				as->status == AS_ACTIVE && !as->stopping &&
				as->node->goal->status == GOAL_ACTIVE)
			check_still(c, as);
	}
}

/* A second is taken for long. */
static bool still_sabotage(struct checker *c)
{
	c->still_soon = true;
	return true;
}

const struct invariant inv_silence_found = {
	.name = "silence_found",
	.sentence = "a run that does nothing at all for longer than idle_after and the looks that "
		    "it "
		    "takes is called stalled, or somebody was told of it, and not that it is busy",
	.event = still_event,
	.step = still_step,
	.sabotage = still_sabotage,
};
