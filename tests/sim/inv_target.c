/* The target branch: where it was seen, and that a person hears of what nobody is known for. */
#include "base/arena.h"
#include "base/str.h"
#include "tests/sim/check_impl.h"

static bool some_run_is_live(const struct checker *c)
{
	void *found;
	str id;

	for (size_t i = 0; map_next(&c->runs, &i, &id, &found);)
		if (((const struct run_book *)found)->status == RUN_RUNNING)
			return true;
	return false;
}

static void told_event(struct checker *c, const struct event *e)
{
	str from = value_str_at(e->data, "from"), how = value_str_at(e->data, "how");

	if (e->kind != EV_TARGET_MOVED)
		return;
	if (!str_eq(from, c->target_head))
		sim_violated(c->s, inv_moves_are_told.name,
				EV_FMT ": it was at " STR_FMT ", not at " STR_FMT, EV_ARG(e),
				STR_ARG(c->target_head), STR_ARG(from));
	if (str_is(how, "unknown") && some_run_is_live(c) && !value_int_at(e->data, "escalation"))
		sim_violated(c->s, inv_moves_are_told.name,
				EV_FMT ": runs were live, and nobody was told", EV_ARG(e));
	c->target_head = arena_str(&c->kept, value_str_at(e->data, "to"));
}

/* Nobody hears of it. */
static bool told_sabotage(struct checker *c)
{
	struct as_book *as = some_live(c, true);
	struct event *e;

	if (!as || !c->target_head.n || !some_run_is_live(c))
		return false;
	e = forge(c, EV_TARGET_MOVED, as->node);
	forge_text(c, e, "target", c->s->config->policy.target_branch);
	forge_text(c, e, "from", c->target_head);
	forge_text(c, e, "to", STR("0123456789"));
	forge_text(c, e, "how", STR("unknown"));
	forge_show(c, e);
	return true;
}

const struct invariant inv_moves_are_told = {
	.name = "moves_are_told",
	.sentence = "the target moves from where it was seen last, and a person is told of a move "
		    "that nobody is known for while a run is live",
	.event = told_event,
	.sabotage = told_sabotage,
};
