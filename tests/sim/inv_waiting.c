/*
 * Runs that wait for a person: the person is told, once for each wait; meanwhile the run is left as
 * it is; and when it goes on nobody is asked any more. What agents really wait for the
 * machine knows.
 */
#include "base/str.h"
#include "core/tick/reconcile.h"
#include "tests/sim/check_impl.h"
#include "tests/sim/exec.h"
#include "tests/sim/machine.h"

enum { EVERY = OV_MINUTE, SLACK = 10 * OV_MINUTE };

static const struct policy *policy_of(const struct checker *c)
{
	return &c->s->config->policy;
}

static const struct sim_run *agent_of(const struct checker *c, const struct as_book *as)
{
	const struct sim_run *r = as && as->run ? machine_find(c->s->machine, as->run->id) : NULL;

	return r && machine_lives(r) ? r : NULL;
}

/* The question of this kind about the assignment that is open; NULL: none. kind NULL: any. */
static const struct escalation_book *open_about(const struct checker *c, str assignment,
		const char *kind)
{
	for (size_t i = c->escalations.n; i-- > 0;) {
		const struct escalation_book *x = c->escalations.p[i];

		if (x->open && str_eq(x->assignment, assignment) &&
				(!kind || str_is(x->kind, kind)))
			return x;
	}
	return NULL;
}

static void violated(struct checker *c, const struct event *e, const char *what)
{
	sim_violated(c->s, inv_waits_told.name, EV_FMT ": %s", EV_ARG(e), what);
}

static void opened(struct checker *c, const struct event *e)
{
	str kind = value_str_at(e->data, "kind");
	struct as_book *as = book_as(c, e->assignment);
	const struct sim_run *r = agent_of(c, as);

	if ((str_is(kind, "overdue") || str_is(kind, "mute")) &&
			open_about(c, e->assignment, "permission"))
		violated(c, e, "a person has a question of this run before them");
	if (!str_is(kind, "permission") || !r || !c->up)
		return;
	if (as->run->asked_wait == machine_wait_number(r) && as->run->asked_life == c->up->life)
		violated(c, e, "a person was asked about this wait before");
	as->run->asked_wait = machine_wait_number(r);
	as->run->asked_life = c->up->life;
}

/* By itself, since the agent is said to go on. */
static void closed(struct checker *c, const struct event *e)
{
	const struct escalation_book *x = book_escalation(c, value_int_at(e->data, "escalation"));
	const struct as_book *as = x ? book_as(c, x->assignment) : NULL;
	const struct sim_run *r = agent_of(c, as);

	if (!x || !str_is(x->kind, "permission") || !r || by_person(e) || !c->up)
		return;
	if (str_is(value_str_at(e->data, "answer"), "the agent goes on") && machine_waits(r).n &&
			as->run->asked_wait == machine_wait_number(r))
		violated(c, e, "it is said to go on, and waits as before");
}

/* Is it known to wait, and nobody was asked about that? */
static bool is_untold(struct checker *c, const struct event *e, const struct as_book *as)
{
	const struct sim_run *r = agent_of(c, as);
	const struct observation *o = r && !is_blind(c, e)
			? map_get(exec_observations(c->up->exec), as->run->id)
			: NULL;

	return o && o->waiting_for.n && policy_of(c)->ask_after && machine_waits(r).n &&
			as->run->asked_wait != machine_wait_number(r);
}

/* By the ladder, before a person is asked, or while they have its question before them. */
static void moved(struct checker *c, const struct event *e)
{
	const struct as_book *as = book_as(c, e->assignment);

	if (!as || by_person(e) || event_status(e, "to", &as_statuses) != AS_STALLED ||
			as->status == AS_STALLED)
		return;
	if (open_about(c, e->assignment, "permission"))
		violated(c, e, "it is called stalled, and a person has its question before them");
	else if (is_untold(c, e, as))
		violated(c, e, "it is called stalled, and nobody was told what it waits for");
}

static void waits_event(struct checker *c, const struct event *e)
{
	if (e->kind == EV_ESCALATION_OPENED)
		opened(c, e);
	else if (e->kind == EV_ESCALATION_CLOSED)
		closed(c, e);
	else if (e->kind == EV_ASSIGNMENT_MOVED)
		moved(c, e);
}

static bool is_watched(const struct checker *c, const struct as_book *as, ov_time for_ms)
{
	const struct observation *o = map_get(exec_observations(c->up->exec), as->run->id);

	return o && sim_now(c->s) - o->known_since > for_ms;
}

/* Long enough for the one that is up to hear of it by a look, if by nothing else. */
static void check_run(struct checker *c, const struct as_book *as)
{
	const struct sim_run *r = agent_of(c, as);
	const struct policy *p = policy_of(c);
	ov_time most = p->ask_after + p->idle_after + SLACK;
	bool waits = r && machine_waits(r).n;

	if (!r || !machine_wait_number(r) || as->stage != STAGE_RUNNING || as->stopping ||
			as->run->status != RUN_RUNNING || as->status == AS_STALLED ||
			c->s->t - machine_waits_since(r) < most || !is_watched(c, as, most) ||
			machine_held_since(c->s->machine, as->run->id))
		return;
	if (waits && as->run->asked_wait != machine_wait_number(r) && !open_about(c, as->id, NULL))
		sim_violated(c->s, inv_waits_told.name,
				"run " STR_FMT " waits for a person for %lld s, and nobody is told",
				STR_ARG(as->run->id),
				(long long)((c->s->t - machine_waits_since(r)) / OV_SECOND));
	if (!waits && open_about(c, as->id, "permission"))
		sim_violated(c->s, inv_waits_told.name,
				"run " STR_FMT " goes on for %lld s, and a person is still asked",
				STR_ARG(as->run->id),
				(long long)((c->s->t - machine_waits_since(r)) / OV_SECOND));
}

static void waits_step(struct checker *c)
{
	if (!c->up || !c->state || !c->up->started || c->up->stopping || c->up->failing ||
			c->s->silent || c->s->t < c->waits_t || c->s->t < c->blind_t ||
			c->s->skew != c->skew || !policy_of(c)->ask_after)
		return;
	c->waits_t = c->s->t + EVERY;
	for (size_t i = 0; i < c->live.n; i++)
		if (c->live.p[i]->run && c->live.p[i]->node->goal->status == GOAL_ACTIVE)
			check_run(c, c->live.p[i]);
}

/* One that is asked about is said to be about to be asked about again. */
static bool waits_sabotage(struct checker *c)
{
	for (size_t i = 0; i < c->escalations.n; i++) {
		const struct escalation_book *x = c->escalations.p[i];
		const struct as_book *as = book_as(c, x->assignment);
		struct event *e;

		if (!x->open || !str_is(x->kind, "permission") || !agent_of(c, as))
			continue;
		e = forge(c, EV_ESCALATION_OPENED, as->node);
		forge_text(c, e, "kind", STR("overdue"));
		forge_show(c, e);
		return c->s->violated;
	}
	return false;
}

const struct invariant inv_waits_told = {
	.name = "waits_told",
	.sentence = "a run that waits for a person is told to them in time and once, left as it is "
		    "while they have it before them, and nobody is asked when it goes on",
	.event = waits_event,
	.step = waits_step,
	.sabotage = waits_sabotage,
};
