/* Whom we disturb: people, once for each matter. */
#include "base/str.h"
#include "tests/sim/check_impl.h"

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
