/* Whom we disturb: people, once for each matter; and runs that are alive, never without need. */
#include "base/str.h"
#include "core/reconcile.h"
#include "tests/sim/check_impl.h"
#include "tests/sim/exec.h"

/* ---- one_escalation ---- */

/* One that is about nothing in particular is the same when it asks the same. */
static bool same_matter(const struct escalation_book *x, const struct event *e)
{
	return x->open && str_eq(x->goal, e->goal) && str_eq(x->node, e->node) &&
			str_eq(x->assignment, e->assignment) &&
			str_eq(x->kind, value_str_at(e->data, "kind")) &&
			(e->node.n || str_eq(x->question, value_str_at(e->data, "question")));
}

static void once_asked(struct checker *c, const struct event *e)
{
	int64_t episode = value_int_at(e->data, "episode");
	struct node_book *n = book_node(c, e->goal, e->node);

	if (e->kind != EV_ESCALATION_OPENED)
		return;
	if (n && episode && n->asked_episode == episode)
		sim_violated(c->s, inv_one_escalation.name,
				EV_FMT ": a person was asked about episode %lld before", EV_ARG(e),
				(long long)episode);
	if (n && episode)
		n->asked_episode = episode;
	for (size_t i = 0; i < c->escalations.n; i++)
		if (same_matter(c->escalations.p[i], e))
			sim_violated(c->s, inv_one_escalation.name,
					EV_FMT ": #%lld (" STR_FMT
					       ") asks for the same, and is open",
					EV_ARG(e), (long long)c->escalations.p[i]->number,
					STR_ARG(c->escalations.p[i]->kind));
}

static bool once_asked_sabotage(struct checker *c)
{
	struct event *e;

	for (size_t i = 0; i < c->escalations.n; i++) {
		const struct escalation_book *x = c->escalations.p[i];

		if (!x->open)
			continue;
		e = forge(c, EV_ESCALATION_OPENED, NULL);
		e->goal = x->goal;
		e->node = x->node;
		e->assignment = x->assignment;
		forge_text(c, e, "kind", x->kind);
		forge_text(c, e, "question", x->question);
		forge_show(c, e);
		return true;
	}
	return false;
}

const struct invariant inv_one_escalation = {
	.name = "one_escalation",
	.sentence = "a person is asked at most once per episode, and about nothing twice at a time",
	.event = once_asked,
	.sabotage = once_asked_sabotage,
};

/* ---- no_harm_to_the_living ---- */

static ov_time idle_after(const struct checker *c)
{
	return c->s->config->policy.idle_after;
}

/*
 * The newest strong sign of life that the daemon knows of, by its clock; 0: none, or nobody can tell
 * what the one knew who decided this.
 */
static ov_time known_life(struct checker *c, const struct event *e)
{
	const struct observation *o;

	if (!c->up || c->fresh || e->at != sim_now(c->s) || c->s->t < c->blind_t)
		return 0;
	o = map_get(exec_observations(c->up->exec), e->run);
	if (!o)
		return 0;
	return MAX(o->output_at, o->process_at);
}

static void harm_rung(struct checker *c, const struct event *e)
{
	int rung = event_status(e, "rung", &rungs);
	ov_time life = known_life(c, e);

	if (rung > RUNG_REASSIGN || rung == RUNG_REPLAN || value_bool_at(e->data, "skipped") ||
			!life)
		return;
	if (e->at - life < idle_after(c))
		sim_violated(c->s, inv_no_harm_to_the_living.name,
				EV_FMT ": %s, though run " STR_FMT
				       " gave a strong sign of life %lld s "
				       "ago (idle after %lld s)",
				EV_ARG(e), status_name(&rungs, rung), STR_ARG(e->run),
				(long long)((e->at - life) / OV_SECOND),
				(long long)(idle_after(c) / OV_SECOND));
}

/* Why a run may be stopped that nobody asked to stop. */
static bool may_stop(struct checker *c, const struct event *e, const struct node_book *n)
{
	const struct policy *p = &c->s->config->policy;
	ov_time life = known_life(c, e);

	/* By the ladder, which was judged; by its agent, who cannot go on; by a plan that splits it. */
	if (n->rung_at == e->at || (n->reported_at == e->at && str_is(n->reported, "blocked")) ||
			n->goal->planned_at == e->at)
		return true;
	return str_is(n->reported, "done") && e->at - MAX(life, n->reported_at) >= p->done_grace;
}

static void harm_stop(struct checker *c, const struct event *e)
{
	const struct as_book *as = book_as(c, e->assignment);

	if (!as || as->stage != STAGE_RUNNING || !as->run || as->run->status != RUN_RUNNING ||
			event_status(e, "stage", &stages) != STAGE_STOP || c->s->t < c->blind_t)
		return;
	if (!by_person(e) && !may_stop(c, e, as->node))
		sim_violated(c->s, inv_no_harm_to_the_living.name,
				EV_FMT ": run " STR_FMT " shall be stopped, and nobody ordered it",
				EV_ARG(e), STR_ARG(as->run->id));
}

static void harm_event(struct checker *c, const struct event *e)
{
	struct node_book *n;

	if (e->kind == EV_EPISODE_RUNG) {
		n = book_node(c, e->goal, e->node);
		if (n)
			n->rung_at = e->at;
		harm_rung(c, e);
	} else if (e->kind == EV_ASSIGNMENT_MOVED) {
		harm_stop(c, e);
	}
}

/* A clock that was set tells nobody how old anything is. */
static void harm_step(struct checker *c)
{
	if (c->s->skew == c->skew)
		return;
	c->skew = c->s->skew;
	c->blind_t = c->s->t + 2 * idle_after(c) + OV_HOUR;
}

static bool harm_sabotage(struct checker *c)
{
	struct as_book *as = some_live(c, true);
	struct event *e;

	if (!as || !c->up)
		return false;
	e = forge(c, EV_EPISODE_RUNG, as->node);
	forge_text(c, e, "rung", STR("nudge"));
	if (!known_life(c, e) || e->at - known_life(c, e) >= idle_after(c))
		return false;
	forge_show(c, e);
	return true;
}

const struct invariant inv_no_harm_to_the_living = {
	.name = "no_harm_to_the_living",
	.sentence = "no nudge, no stop and no reassignment while a strong sign of life is fresh, "
		    "unless "
		    "somebody who may ordered it",
	.event = harm_event,
	.step = harm_step,
	.sabotage = harm_sabotage,
};
