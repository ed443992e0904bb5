/* What we said we would do, and what we told people that we did. */
#include "base/str.h"
#include "tests/sim/check_impl.h"
#include "tests/sim/person.h"

/* ---- intent_first ---- */

void checker_performed(struct checker *c, str effect)
{
	struct effect_name name = { 0 };

	sim_name(name.id, effect);
	vec_push(&c->performed, name);
}

/* When all is read that was written: what is not in the log was done without a word. */
static void first_step(struct checker *c)
{
	if (!c->performed.n || !c->up || c->seen != engine_head(c->up->engine))
		return;
	for (size_t i = 0; i < c->performed.n; i++)
		if (!book_effect(c, str_from(c->performed.p[i].id)))
			sim_violated(c->s, inv_intent_first.name,
					"effect %s was carried out, but its intent is not in the "
					"log",
					c->performed.p[i].id);
	c->performed.n = 0;
}

static bool first_sabotage(struct checker *c)
{
	checker_performed(c, STR("X_unheard_of"));
	return true;
}

const struct invariant inv_intent_first = {
	.name = "intent_first",
	.sentence = "nothing is carried out whose intent is not in the log",
	.step = first_step,
	.end = first_step,
	.sabotage = first_sabotage,
};

/* ---- intent_kept ---- */

/* So long an effect may take in the hands of one daemon: checks and planners are slow. */
#define INTENT_PATIENCE (8 * OV_HOUR)

static void intent_event(struct checker *c, const struct event *e)
{
	const struct effect_book *x;

	if (e->kind != EV_EFFECT_INTENDED && e->kind != EV_EFFECT_ENDED)
		return;
	x = book_effect(c, value_str_at(e->data, "effect"));
	if (e->kind == EV_EFFECT_INTENDED && x)
		sim_violated(c->s, inv_intent_kept.name, EV_FMT ": " STR_FMT " was intended before",
				EV_ARG(e), STR_ARG(x->id));
	if (e->kind == EV_EFFECT_ENDED && (!x || !x->open))
		sim_violated(c->s, inv_intent_kept.name, EV_FMT ": " STR_FMT " %s", EV_ARG(e),
				STR_ARG(value_str_at(e->data, "effect")),
				x ? "has ended before" : "was never intended");
}

static void intents_known(struct checker *c)
{
	for (size_t i = 0; i < c->open_effects.n; i++)
		if (!state_effect(c->state, c->open_effects.p[i]->id))
			sim_violated(c->s, inv_intent_kept.name,
					"%s " STR_FMT " of " STR_FMT "/" STR_FMT
					" was intended, has not ended, and nobody knows of it",
					status_name(&effect_kinds, (int)c->open_effects.p[i]->kind),
					STR_ARG(c->open_effects.p[i]->id),
					STR_ARG(c->open_effects.p[i]->goal),
					STR_ARG(c->open_effects.p[i]->node));
}

static void intent_step(struct checker *c)
{
	enum { EVERY = 256 };

	if (!c->state)
		return;
	if (c->news || (c->victim == &inv_intent_kept && c->broken))
		intents_known(c);
	if (c->s->stats.steps % EVERY)
		return;
	for (size_t i = 0; i < c->open_effects.n; i++) {
		const struct effect_book *x = c->open_effects.p[i];

		if (c->s->t - x->since > INTENT_PATIENCE)
			sim_violated(c->s, inv_intent_kept.name,
					"%s " STR_FMT " of " STR_FMT "/" STR_FMT
					" is open since %lld s, and daemon %d does nothing about "
					"it",
					status_name(&effect_kinds, (int)x->kind), STR_ARG(x->id),
					STR_ARG(x->goal), STR_ARG(x->node),
					(long long)((c->s->t - x->since) / OV_SECOND), c->up->life);
	}
}

/* It begins anew with what the one before left. */
static void intent_restart(struct checker *c)
{
	if (c->state)
		intents_known(c);
	for (size_t i = 0; i < c->open_effects.n; i++)
		c->open_effects.p[i]->since = c->s->t;
}

static bool intent_sabotage(struct checker *c)
{
	struct as_book *as = some_live(c, false);
	struct event *e;

	if (!as || !c->state)
		return false;
	e = forge(c, EV_EFFECT_INTENDED, as->node);
	forge_text(c, e, "effect", STR("X_forgotten"));
	forge_text(c, e, "kind", STR("harvest"));
	books_take(c, e);
	return true;
}

const struct invariant inv_intent_kept = {
	.name = "intent_kept",
	.sentence = "whatever was intended ends, once, however many daemons die on the way",
	.event = intent_event,
	.step = intent_step,
	.restart = intent_restart,
	.sabotage = intent_sabotage,
};

/* ---- answer_survives ---- */

/* What the answer to an operation says for good. */
static const struct {
	const char *op;
	enum goal_status goal[2];
	enum node_status node;
	bool of_goal, of_node, closed;
} forever[] = {
	{ .op = "goal.cancel", .goal = { GOAL_CANCELLED, GOAL_ARCHIVED }, .of_goal = true },
	{ .op = "goal.archive", .goal = { GOAL_ARCHIVED, GOAL_ARCHIVED }, .of_goal = true },
	{ .op = "work.cancel", .node = NODE_CANCELLED, .of_node = true },
	{ .op = "inbox.answer", .closed = true },
	{ .op = "inbox.approve", .closed = true },
	{ .op = "inbox.deny", .closed = true },
	{ .op = "inbox.dismiss", .closed = true },
};

static void answered(struct checker *c, const struct promise *p)
{
	const struct goal_book *g = p->goal[0] ? book_goal(c, str_from(p->goal)) : NULL;
	const struct node_book *n = g && p->node[0]
			? book_node(c, str_from(p->goal), str_from(p->node))
			: NULL;
	const struct escalation_book *x = p->escalation ? book_escalation(c, p->escalation) : NULL;

	if ((p->goal[0] && (!g || !g->person_seq || g->person_seq > p->head)) ||
			(p->escalation && !x))
		sim_violated(c->s, inv_answer_survives.name,
				"%s was answered at event %llu about goal %s, #%lld, of which the "
				"log knows nothing",
				p->op, (unsigned long long)p->head, p->goal,
				(long long)p->escalation);
	for (size_t i = 0; i < ARRAY_LEN(forever); i++) {
		if (strcmp(forever[i].op, p->op) != 0)
			continue;
		if ((forever[i].of_goal && g && g->status != forever[i].goal[0] &&
				    g->status != forever[i].goal[1]) ||
				(forever[i].of_node && n && n->status != forever[i].node) ||
				(forever[i].closed && x && x->open))
			sim_violated(c->s, inv_answer_survives.name,
					"%s about %s/%s #%lld was answered at event %llu, and does "
					"not hold",
					p->op, p->goal, p->node, (long long)p->escalation,
					(unsigned long long)p->head);
	}
}

/* Of a log that is read as far as it goes. */
static void log_is_long_enough(struct checker *c)
{
	if (c->promised > c->seen)
		sim_violated(c->s, inv_answer_survives.name,
				"event %llu was there when something was answered, and the log "
				"ends with %llu",
				(unsigned long long)c->promised, (unsigned long long)c->seen);
}

static void answer_step(struct checker *c)
{
	const struct promise *p;
	size_t n = people_promises(c->s->people, &p);

	if (!c->up || (n == c->promises_seen && !c->broken))
		return;
	for (; c->promises_seen < n; c->promises_seen++) {
		c->promised = MAX(c->promised, p[c->promises_seen].head);
		log_is_long_enough(c);
		answered(c, &p[c->promises_seen]);
	}
	log_is_long_enough(c);
}

static void answer_again(struct checker *c)
{
	const struct promise *p;
	size_t n = people_promises(c->s->people, &p);
	uint64_t head = 0;

	if (!c->up)
		return;
	head = engine_head(c->up->engine);
	if (head < c->seen)
		sim_violated(c->s, inv_answer_survives.name,
				"the log has had %llu events and has %llu now",
				(unsigned long long)c->seen, (unsigned long long)head);
	log_is_long_enough(c);
	for (size_t i = 0; i < n && i < c->promises_seen; i++)
		answered(c, &p[i]);
}

/* Somebody was told something that was never written. */
static bool answer_sabotage(struct checker *c)
{
	if (!c->up || c->seen < 5)
		return false;
	c->promised = c->seen + 1;
	return true;
}

const struct invariant inv_answer_survives = {
	.name = "answer_survives",
	.sentence = "what a person was told is done is in the log, for good",
	.step = answer_step,
	.restart = answer_again,
	.end = answer_again,
	.sabotage = answer_sabotage,
};
