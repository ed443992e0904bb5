/*
 * The accept queue and the pool of tasks: one at a time, nothing past the gate, no task lost
 * or doubled.
 */
#include "base/arena.h"
#include "base/str.h"
#include "tests/sim/check_impl.h"
#include "tests/sim/exec.h"
#include "tests/sim/simgit.h"

/* ---- one_accept ---- */

/* Its change is being put onto the target, or could be the next moment. */
static bool is_being_accepted(const struct checker *c, const struct as_book *as)
{
	for (size_t i = 0; i < c->open_effects.n; i++) {
		const struct effect_book *x = c->open_effects.p[i];

		if (x->as == as &&
				(x->kind == FX_REBASE || x->kind == FX_GATE ||
						x->kind == FX_ACCEPT || x->kind == FX_POST ||
						x->kind == FX_REVERT))
			return true;
	}
	return false;
}

/* Whoever is told to go a step further is the only one who is. */
static void one_event(struct checker *c, const struct event *e)
{
	const struct as_book *as = book_as(c, e->assignment);
	int kind;

	if (!as || e->kind != EV_EFFECT_INTENDED)
		return;
	kind = event_status(e, "kind", &effect_kinds);
	if (kind != FX_REBASE && kind != FX_GATE && kind != FX_ACCEPT && kind != FX_POST &&
			kind != FX_REVERT)
		return;
	for (size_t i = 0; i < c->live.n; i++) {
		const struct as_book *other = c->live.p[i];

		if (other != as &&
				(is_being_accepted(c, other) || other->stage == STAGE_POST ||
						other->stage == STAGE_REVERT))
			sim_violated(c->s, inv_one_accept.name,
					EV_FMT ": %s of " STR_FMT ", while " STR_FMT
					       " is being accepted",
					EV_ARG(e), status_name(&effect_kinds, kind),
					STR_ARG(as->id), STR_ARG(other->id));
	}
}

/* Another one begins before the first is through. */
static bool one_sabotage(struct checker *c)
{
	const struct as_book *first = NULL, *second = NULL;
	struct event *e;

	for (size_t i = 0; i < c->live.n; i++)
		if (is_being_accepted(c, c->live.p[i]))
			first = c->live.p[i];
		else if (c->live.p[i]->node->as == c->live.p[i])
			second = c->live.p[i];
	if (!first || !second)
		return false;
	e = forge(c, EV_EFFECT_INTENDED, second->node);
	forge_text(c, e, "effect", STR("X_too_soon"));
	forge_text(c, e, "kind", STR("rebase"));
	forge_show(c, e);
	return true;
}

const struct invariant inv_one_accept = {
	.name = "one_accept",
	.sentence = "one at a time is on its way to the target, from its rebase until what comes "
		    "after "
		    "it is over",
	.event = one_event,
	.sabotage = one_sabotage,
};

/* ---- gate_kept ---- */

static void gate_event(struct checker *c, const struct event *e)
{
	const struct goal *g = state_goal(c->shadow, e->goal);

	if (e->kind != EV_NODE_ACCEPTED || !g || !policy_accept(&c->s->config->policy, g).pre.n)
		return;
	if (!simgit_gate_commit(c->s->git, value_str_at(e->data, "commit")))
		sim_violated(c->s, inv_gate_kept.name,
				EV_FMT ": commit " STR_FMT
				       " is on the target, and does not pass the gate",
				EV_ARG(e), STR_ARG(value_str_at(e->data, "commit")));
}

static bool gate_sabotage(struct checker *c)
{
	struct as_book *as = some_live(c, false);
	struct event *e;

	if (!as || !c->s->config->policy.accept.pre.n)
		return false;
	e = forge(c, EV_NODE_ACCEPTED, as->node);
	forge_text(c, e, "commit", STR("0123456789"));
	forge_show(c, e);
	return true;
}

const struct invariant inv_gate_kept = {
	.name = "gate_kept",
	.sentence = "whatever we put onto the target passes the command that stands before it, as "
		    "it is there",
	.event = gate_event,
	.sabotage = gate_sabotage,
};

/* ---- unchecked_waits ---- */

/* What commands and people said of the work that the newest run left. */
static void hear_judgement(struct as_book *as, const struct event *e)
{
	int kind = e->kind == EV_EFFECT_ENDED ? event_status(e, "kind", &effect_kinds) : -1;
	bool ok = str_is(value_str_at(e->data, "outcome"), "ok");

	if (e->kind == EV_RUN_CREATED)
		as->judged = as->seen = false;
	else if (kind == FX_CHECK || kind == FX_GATE)
		as->judged = as->judged || ok;
	else if (e->kind == EV_ASSIGNMENT_MOVED && as->stage == STAGE_REVIEW &&
			event_status(e, "stage", &stages) == STAGE_REBASE)
		as->seen = by_person(e);
}

static void unchecked_event(struct checker *c, const struct event *e)
{
	const struct policy *p = &c->s->config->policy;
	struct as_book *as = book_as(c, e->assignment);
	bool nothing = as && !as->judged && !as->seen;

	if (!as)
		return;
	hear_judgement(as, e);
	if (e->kind != EV_NODE_ACCEPTED)
		return;
	if (nothing && p->unchecked != UNCHECKED_ACCEPT)
		sim_violated(c->s, inv_unchecked_waits.name,
				EV_FMT ": the work of " STR_FMT
				       " is on the target, and neither a command nor a person "
				       "looked at it",
				EV_ARG(e), STR_ARG(as->id));
	if (nothing != str_is(value_str_at(e->data, "checked_by"), "nothing"))
		sim_violated(c->s, inv_unchecked_waits.name,
				EV_FMT ": it is said to be checked by " STR_FMT, EV_ARG(e),
				STR_ARG(value_str_at(e->data, "checked_by")));
}

static bool unchecked_sabotage(struct checker *c)
{
	for (size_t i = 0; i < c->live.n; i++) {
		struct as_book *as = c->live.p[i];
		struct event *e;

		if (as->judged || as->seen || as->node->as != as)
			continue;
		e = forge(c, EV_NODE_ACCEPTED, as->node);
		forge_text(c, e, "commit", STR("0123456789"));
		forge_text(c, e, "checked_by", STR("check"));
		forge_show(c, e);
		return true;
	}
	return false;
}

const struct invariant inv_unchecked_waits = {
	.name = "unchecked_waits",
	.sentence = "work that nothing checked gets to the target only when a person accepted it, "
		    "unless the policy says so, and the log tells which",
	.event = unchecked_event,
	.sabotage = unchecked_sabotage,
};

/* ---- pool_once ---- */

static const struct sim_question *question_of(const struct checker *c, str effect)
{
	for (size_t i = 0; i < c->s->pool.n; i++)
		if (str_eq(str_from(c->s->pool.p[i].effect), effect))
			return &c->s->pool.p[i];
	return NULL;
}

/* So often a question's task was made a node of, in all goals together. */
static size_t nodes_of(const struct checker *c, str effect)
{
	size_t n = 0;

	for (size_t i = 0; i < c->claims.n; i++)
		n += str_eq(c->claims.p[i], effect);
	return n;
}

static void pool_event(struct checker *c, const struct event *e)
{
	str claim = value_str_at(e->data, "claim"), answer = value_str_at(e->data, "answer"),
	    effect = value_str_at(e->data, "effect");
	const struct sim_question *q;

	if (e->kind == EV_NODE_ADDED && claim.n) {
		q = question_of(c, claim);
		if (!q || !q->task || q->uncertain || nodes_of(c, claim))
			sim_violated(c->s, inv_pool_once.name,
					EV_FMT ": made of the answer to " STR_FMT ", which %s",
					EV_ARG(e), STR_ARG(claim),
					!q || !q->task                 ? "gave no task"
							: q->uncertain ? "a person has to judge"
								       : "is a node already");
		vec_push(&c->claims, arena_str(&c->kept, claim));
	}
	if (e->kind != EV_AUTO_POOL)
		return;
	q = question_of(c, effect);
	/* The same again, while a person is asked about it: nothing is made of that. */
	if (q && q->again && str_is(answer, "repeated") && nodes_of(c, effect) == 0)
		return;
	if (!q || (q->task && !q->uncertain) != str_is(answer, "task") ||
			(q->task && !q->uncertain) != (nodes_of(c, effect) == 1))
		sim_violated(c->s, inv_pool_once.name,
				EV_FMT ": the pool's answer to " STR_FMT " is taken for \"" STR_FMT
				       "\"; it gave task %lld, and %zu nodes were made of it",
				EV_ARG(e), STR_ARG(effect), STR_ARG(answer),
				q ? (long long)q->task : -1, nodes_of(c, effect));
}

/* What was given out is a node, was put before a person, or is still asked for. */
static void pool_end(struct checker *c)
{
	for (size_t i = 0; i < c->s->pool.n; i++) {
		const struct sim_question *q = &c->s->pool.p[i];
		const struct effect_book *x = book_effect(c, str_from(q->effect));
		bool shown = false;

		for (size_t k = 0; k < c->escalations.n; k++)
			shown = shown ||
					str_contains(c->escalations.p[k]->question,
							str_from(q->effect));
		if (q->task && !q->again && nodes_of(c, str_from(q->effect)) != 1 && !shown && x &&
				!x->open)
			sim_violated(c->s, inv_pool_once.name,
					"task %lld of the pool was given out for %s, and nobody "
					"has it",
					(long long)q->task, q->effect);
	}
}

static bool pool_sabotage(struct checker *c)
{
	struct node_book *n = some_node(c, NODE_IN_PROGRESS);
	struct event *e;

	if (!n)
		return false;
	e = forge(c, EV_NODE_ADDED, n);
	forge_text(c, e, "claim", STR("X_never_asked"));
	forge_show(c, e);
	return true;
}

const struct invariant inv_pool_once = {
	.name = "pool_once",
	.sentence = "every task that the pool gives out becomes one node, or a person is asked",
	.event = pool_event,
	.end = pool_end,
	.sabotage = pool_sabotage,
};
