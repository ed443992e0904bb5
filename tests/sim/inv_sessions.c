/* Sessions of agents: who goes on with which; and what people say to those who keep them. */
#include "base/str.h"
#include "core/life/session.h"
#include "data/value/json.h"
#include "tests/sim/check_impl.h"
#include "tests/sim/machine.h"

/* ---- one_session ---- */

static bool forgets(const struct event *e)
{
	static const char *const troubles_of_it[] = { "session_lost", "context", "refused" };

	for (size_t i = 0; i < ARRAY_LEN(troubles_of_it); i++)
		if (str_is(value_str_at(e->data, "trouble"), troubles_of_it[i]))
			return true;
	return false;
}

/* Another run that lives has it. */
static bool in_use(const struct checker *c, const struct as_book *own, str session)
{
	for (size_t i = 0; i < c->live.n; i++) {
		const struct as_book *as = c->live.p[i];

		if (as != own && as->run && as->run->status != RUN_ENDED &&
				str_eq(as->run->session, session))
			return true;
	}
	return false;
}

static void session_created(struct checker *c, const struct event *e)
{
	const struct as_book *as = book_as(c, e->assignment);
	str session = value_str_at(e->data, "session");

	if (!as || !session.n)
		return;
	if (in_use(c, as, session))
		sim_violated(c->s, inv_one_session.name,
				EV_FMT ": session " STR_FMT " is another live run's", EV_ARG(e),
				STR_ARG(session));
	if (value_bool_at(e->data, "resume") && !str_eq(as->session, session))
		sim_violated(c->s, inv_one_session.name,
				EV_FMT ": goes on with session " STR_FMT
				       "; what its assignment was heard of with is \"" STR_FMT "\"",
				EV_ARG(e), STR_ARG(session), STR_ARG(as->session));
	if (!value_bool_at(e->data, "resume") && map_get(&c->sessions, session))
		sim_violated(c->s, inv_one_session.name,
				EV_FMT ": session " STR_FMT
				       " shall be a new one, but its id was given before",
				EV_ARG(e), STR_ARG(session));
}

/* What an assignment left that had to wait goes on where it was: with its agent, at its worker. */
static void session_taken(struct checker *c, const struct event *e)
{
	const struct as_book *kept = book_node(c, e->goal, e->node)->kept;

	if (!kept || !kept->session.n || (kept->run && kept->run->status != RUN_ENDED) ||
			!str_eq(kept->agent, value_str_at(e->data, "agent")) ||
			!str_eq(kept->worker, value_str_at(e->data, "worker")))
		sim_violated(c->s, inv_one_session.name,
				EV_FMT ": takes a session that nobody left for it", EV_ARG(e));
}

static void session_event(struct checker *c, const struct event *e)
{
	struct as_book *as = book_as(c, e->assignment);

	if (e->kind == EV_ASSIGNMENT_CREATED && value_bool_at(e->data, "session_taken"))
		session_taken(c, e);
	if (e->kind == EV_RUN_CREATED)
		session_created(c, e);
	if (e->kind == EV_RUN_SESSION && as) {
		if (!as->run || !str_eq(as->run->id, e->run) || as->run->status == RUN_ENDED)
			sim_violated(c->s, inv_one_session.name,
					EV_FMT ": of run " STR_FMT ", which is over or not the "
					       "newest",
					EV_ARG(e), STR_ARG(e->run));
		as->session = arena_str(&c->kept, value_str_at(e->data, "session"));
	}
	if (e->kind == EV_RUN_ENDED && as && as->run && str_eq(as->run->id, e->run) && forgets(e))
		as->session = STR("");
}

/* A run goes on with what nobody has heard of. */
static bool session_sabotage(struct checker *c)
{
	const struct as_book *as = some_live(c, false);
	struct event *e;

	if (!as)
		return false;
	e = forge(c, EV_RUN_CREATED, as->node);
	forge_text(c, e, "session", STR("never-heard-of"));
	value_put(&c->scratch, e->data, "resume", value_bool(&c->scratch, true));
	forge_show(c, e);
	return true;
}

const struct invariant inv_one_session = {
	.name = "one_session",
	.sentence = "a session is one live run's at most, and goes on only where an earlier run of "
		    "the same assignment, or of one that had to wait, was heard of with it; a new "
		    "one has a new id",
	.event = session_event,
	.sabotage = session_sabotage,
};

/* ---- words_reach ---- */

/* What is said to be with an agent must have been given to one. */
static void words_taken(struct checker *c, const struct event *e)
{
	const struct node *n = state_node(c->shadow, e->goal, e->node);
	value *said = NULL;

	if (!n || !n->told.said.n || json_parse(&c->scratch, n->told.said, NULL, &said, NULL) < 0)
		return;
	for (size_t i = 0; i < value_count(said); i++) {
		const value *entry = value_item(said, i);
		str note = machine_note_in(value_str_at(entry, "text"));

		if (str_eq(value_str_at(entry, "dispatch"), value_str_at(e->data, "dispatch")) &&
				note.n && machine_noted(c->s->machine, note) == 0)
			sim_violated(c->s, inv_words_reach.name,
					EV_FMT ": " STR_FMT
					       " is said to be with an agent, and is with none",
					EV_ARG(e), STR_ARG(note));
	}
}

/* A person may say the same twice. */
static void words_said(struct checker *c, str say)
{
	str note = machine_note_in(say);
	unsigned *times = note.n ? map_get(&c->said, note) : NULL;

	if (note.n && !times) {
		times = arena_new(&c->kept, unsigned);
		map_put(&c->said, arena_str(&c->kept, note), times);
	}
	if (times)
		++*times;
}

static bool said_once(const struct checker *c, str note)
{
	const unsigned *times = map_get(&c->said, note);

	return times && *times == 1;
}

static void words_event(struct checker *c, const struct event *e)
{
	const struct assignment *as = state_assignment(c->shadow, e->assignment);
	str repeated = machine_repeated(c->s->machine);

	if (e->kind == EV_DISPATCH_INTENDED)
		words_said(c, value_str_at(e->data, "say"));
	if (repeated.n && said_once(c, repeated))
		sim_violated(c->s, inv_words_reach.name, "a session was told " STR_FMT " twice",
				STR_ARG(repeated));
	if (e->kind == EV_DISPATCH_RESULT && value_bool_at(e->data, "taken"))
		words_taken(c, e);
	if (e->kind == EV_NODE_ACCEPTED && as && as->node && as->node->told.said.n &&
			session_resumes(&c->s->config->policy, as))
		sim_violated(c->s, inv_words_reach.name,
				EV_FMT ": accepted, though its agent was not told yet: " STR_FMT,
				EV_ARG(e), STR_ARG(as->node->told.said));
}

/* Words of a person wait for an agent, and somebody says that it has them. */
static bool words_sabotage(struct checker *c)
{
	for (size_t i = 0; i < c->node_list.n; i++) {
		const struct node_book *b = c->node_list.p[i];
		const struct node *n = state_node(c->shadow, b->goal->id, b->id);
		value *said = NULL;
		struct event *e;

		if (!n || !n->told.said.n ||
				json_parse(&c->scratch, n->told.said, NULL, &said, NULL) < 0)
			continue;
		e = forge(c, EV_DISPATCH_RESULT, b);
		forge_text(c, e, "dispatch", value_str_at(value_item(said, 0), "dispatch"));
		value_put(&c->scratch, e->data, "taken", value_bool(&c->scratch, true));
		forge_show(c, e);
		if (c->s->violated)
			return true;
	}
	return false;
}

const struct invariant inv_words_reach = {
	.name = "words_reach",
	.sentence = "what a person says to an agent reaches one, no session of it twice, and those "
		    "who keep sessions before their work is accepted",
	.event = words_event,
	.sabotage = words_sabotage,
};

/* ---- fair_attempts ---- */

static void fair_harvest(struct checker *c, const struct event *e)
{
	const struct assignment *as = state_assignment(c->shadow, e->assignment);
	struct as_book *b = book_as(c, e->assignment);
	str before;

	if (!as || !b || !as->node)
		return;
	before = as->head.n                         ? as->head
			: as->node->next.handover.n ? as->node->next.handover
						    : as->base;
	b->changed = !str_eq(before, value_str_at(e->data, "head"));
}

static void fair_event(struct checker *c, const struct event *e)
{
	const struct run *r = state_run(c->shadow, e->run);
	const struct as_book *b = book_as(c, e->assignment);

	if (e->kind == EV_RUN_HARVESTED)
		fair_harvest(c, e);
	if (!r || !b)
		return;
	if (e->kind == EV_RUN_CONTINUED && !(r->trouble == TROUBLE_MAX_TURNS && b->changed) &&
			!(r->trouble == TROUBLE_SESSION_LOST && r->resumed))
		sim_violated(c->s, inv_fair_attempts.name,
				EV_FMT ": counts as no attempt, though it ended with %s and "
				       "changed %s",
				EV_ARG(e), trouble_name(r->trouble),
				b->changed ? "something" : "nothing");
	if (e->kind == EV_NODE_FAILED && str_is(value_str_at(e->data, "cause"), "run") &&
			r->trouble == TROUBLE_MAX_TURNS && b->changed)
		sim_violated(c->s, inv_fair_attempts.name,
				EV_FMT ": counts as a failed attempt, though it only used up its "
				       "turns and changed something",
				EV_ARG(e));
	if (e->kind == EV_NODE_FAILED && str_is(value_str_at(e->data, "cause"), "run") &&
			r->trouble == TROUBLE_SESSION_LOST && r->resumed)
		sim_violated(c->s, inv_fair_attempts.name,
				EV_FMT ": counts as a failed attempt, though only its session was "
				       "gone",
				EV_ARG(e));
}

/* A run that did nothing is let off. */
static bool fair_sabotage(struct checker *c)
{
	for (size_t i = 0; i < c->live.n; i++) {
		const struct as_book *as = c->live.p[i];
		const struct run *r = as->run ? state_run(c->shadow, as->run->id) : NULL;
		struct event *e;

		if (!r || r->trouble == TROUBLE_SESSION_LOST)
			continue;
		e = forge(c, EV_RUN_CONTINUED, as->node);
		e->assignment = as->id;
		e->run = as->run->id;
		forge_text(c, e, "trouble", STR("other"));
		forge_text(c, e, "reason", STR("none"));
		forge_show(c, e);
		if (c->s->violated)
			return true;
	}
	return false;
}

const struct invariant inv_fair_attempts = {
	.name = "fair_attempts",
	.sentence = "a run that used up its turns counts as a failed attempt only if it changed "
		    "nothing, one whose session was gone never, every other one always",
	.event = fair_event,
	.sabotage = fair_sabotage,
};
