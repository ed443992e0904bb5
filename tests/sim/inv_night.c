/*
 * What a night comes to, in the profile of that name (setup_night.c): the good tasks are done, and
 * whoever looks in the morning finds few entries, each about another matter.
 */
#include "base/str.h"
#include "tests/sim/check_impl.h"

/* ---- good_tasks_done ---- */

static const struct node *node_of_claim(const struct checker *c, str claim)
{
	for (size_t i = 0; i < c->shadow->goals.n; i++)
		for (size_t k = 0; k < c->shadow->goals.p[i]->nodes.n; k++)
			if (str_eq(c->shadow->goals.p[i]->nodes.p[k]->claim, claim))
				return c->shadow->goals.p[i]->nodes.p[k];
	return NULL;
}

/* What was cut off in the middle is a person's to judge: pool_once. */
static void tasks_end(struct checker *c)
{
	for (size_t i = 0; c->s->o.night && i < c->s->pool.n; i++) {
		const struct sim_question *q = &c->s->pool.p[i];
		const struct node *n = q->task && !q->uncertain
				? node_of_claim(c, str_from(q->effect))
				: NULL;
		const struct node_book *b = n ? book_node(c, n->goal->id, n->id) : NULL;

		if (b && (n->status != NODE_DONE || b->accepts != 1 || c->accepted_twice))
			sim_violated(c->s, inv_good_tasks_done.name,
					STR_FMT " (task %lld of the pool) is %s, and was accepted "
						"%zu times",
					STR_ARG(n->key), (long long)q->task,
					status_name(&node_statuses, (int)n->status), b->accepts);
	}
}

/* Each is taken for one that was accepted twice. */
static bool tasks_sabotage(struct checker *c)
{
	c->accepted_twice = sim_quiet(c->s) && c->s->tasks > 0;
	return c->accepted_twice;
}

const struct invariant inv_good_tasks_done = {
	.name = "good_tasks_done",
	.sentence = "in the end of two nights every task that the pool gave to a good agent was "
		    "accepted once",
	.night = true,
	.end = tasks_end,
	.sabotage = tasks_sabotage,
};

/* ---- few_entries ---- */

/*
 * How many entries of a kind there may be in two nights, about one agent, or about one task
 * or goal.
 */
static const struct entry_bound {
	const char *kind;
	bool by_agent;
	size_t most;
} bounds[] = {
	{ "agent_failing", true, 1 },
	{ "login", true, 1 },
	/*
	 * The first tasks of one that changes nothing: those that it had before it was given
	 * no more.
	 */
	{ "no_changes", true, 6 },
	{ "auto_paused", false, 1 },
	{ "task_pool", false, 1 },
	/* Of auto mode: one of each night. */
	{ "budget", false, 2 },
};

/* The agent that an entry is about: by its words, or the one that had the work. */
static str agent_of(struct checker *c, str goal, str node, str question)
{
	static const str about = STR("agent ");
	const struct node_book *n = node.n ? book_node(c, goal, node) : NULL;

	if (str_starts(question, about)) {
		question = str_sub(question, about.n, question.n);
		return str_sub(question, 0, str_find_byte(question, ' '));
	}
	return n && n->as ? n->as->agent : STR("");
}

/*
 * The same cause: an agent, or a task or goal; and the checkout, which is in the way of all or
 * of none.
 */
static bool same_cause(struct checker *c, const struct escalation_book *x, const struct event *e)
{
	str kind = value_str_at(e->data, "kind"), question = value_str_at(e->data, "question");

	if (!str_eq(x->kind, kind) || x->number == value_int_at(e->data, "escalation"))
		return false;
	if (!e->node.n && str_starts(question, STR("agent ")))
		return str_eq(agent_of(c, x->goal, x->node, x->question),
				agent_of(c, e->goal, e->node, question));
	if (str_is(kind, "checkout") && !str_contains(question, STR("in the same file")))
		return !str_contains(x->question, STR("in the same file"));
	return str_eq(x->goal, e->goal) && str_eq(x->node, e->node);
}

static void check_bound(struct checker *c, const struct event *e, const struct entry_bound *b)
{
	str question = value_str_at(e->data, "question"),
	    agent = agent_of(c, e->goal, e->node, question);
	size_t n = 1;

	for (size_t i = 0; i < c->escalations.n; i++) {
		const struct escalation_book *x = c->escalations.p[i];

		n += str_is(x->kind, b->kind) &&
				(b->by_agent ? str_eq(agent_of(c, x->goal, x->node, x->question),
							       agent)
					     : str_eq(x->goal, e->goal) && str_eq(x->node, e->node));
	}
	if (n > b->most)
		sim_violated(c->s, inv_few_entries.name,
				EV_FMT ": %zu entries of kind %s about " STR_FMT ", at most %zu",
				EV_ARG(e), n, b->kind, STR_ARG(b->by_agent ? agent : e->goal),
				b->most);
}

static void entries_event(struct checker *c, const struct event *e)
{
	if (e->kind != EV_ESCALATION_OPENED || !c->s->o.night || sim_quiet(c->s))
		return;
	for (size_t i = 0; i < c->escalations.n; i++)
		if (c->escalations.p[i]->open && same_cause(c, c->escalations.p[i], e))
			sim_violated(c->s, inv_few_entries.name,
					EV_FMT ": #%lld is open for the same cause", EV_ARG(e),
					(long long)c->escalations.p[i]->number);
	for (size_t i = 0; i < ARRAY_LEN(bounds); i++)
		if (str_is(value_str_at(e->data, "kind"), bounds[i].kind))
			check_bound(c, e, &bounds[i]);
}

/* In the morning there is one entry about an agent that fails, and none about its tasks. */
static void entries_end(struct checker *c)
{
	for (size_t i = 0; c->s->o.night && i < c->escalations.n; i++) {
		const struct escalation_book *x = c->escalations.p[i];
		str agent = agent_of(c, x->goal, x->node, x->question);

		for (size_t k = 0;
				x->open && str_is(x->kind, "agent_failing") && k < c->escalations.n;
				k++) {
			const struct escalation_book *y = c->escalations.p[k];

			if (y->open && str_is(y->kind, "no_changes") &&
					str_eq(agent_of(c, y->goal, y->node, y->question), agent))
				sim_violated(c->s, inv_few_entries.name,
						"#%lld is about agent " STR_FMT ", and so is #%lld",
						(long long)x->number, STR_ARG(agent),
						(long long)y->number);
		}
	}
}

/* A second entry says that the agent is out of service. */
static bool entries_sabotage(struct checker *c)
{
	for (size_t i = 0; i < c->escalations.n; i++)
		if (str_is(c->escalations.p[i]->kind, "agent_failing")) {
			struct event *e = forge(c, EV_ESCALATION_OPENED, NULL);

			forge_text(c, e, "kind", STR("agent_failing"));
			forge_text(c, e, "question", c->escalations.p[i]->question);
			forge_show(c, e);
			return true;
		}
	return false;
}

const struct invariant inv_few_entries = {
	.name = "few_entries",
	.sentence = "in two nights nobody is asked twice at a time for one cause, and an agent at "
		    "fault makes no more entries than its first tasks and one about itself, of "
		    "which that one is left",
	.night = true,
	.event = entries_event,
	.end = entries_end,
	.sabotage = entries_sabotage,
};
