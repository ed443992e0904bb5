/*
 * Channels to people outside: they take a notice, refuse it, or are not there. What was taken is
 * the world's and outlives daemons: s->told.
 */
#include "base/str.h"
#include "tests/sim/exec_impl.h"

static void take(struct exec_task *t)
{
	struct sim_told told = { 0 };

	sim_name(told.notice, t->purpose);
	vec_push(&t->x->s->told, told);
}

void exec_notify(struct exec_task *t)
{
	struct sim *s = t->x->s;
	struct arena *a = &t->arena;
	value *data = value_object(a);
	size_t how = sim_below(s, RNG_NOTICE, 20);

	if (how < 12) {
		take(t);
		value_put(a, data, "ref", value_strf(a, "%zu", s->told.n));
		exec_tell(t, "ok", STR(""), data);
		return;
	}
	/* One that fails may have taken it all the same. */
	if (how == 12)
		take(t);
	value_put(a, data, "permanent", value_bool(a, how == 13));
	if (how == 14)
		value_put(a, data, "retry_after_ms", value_int(a, 20 * OV_MINUTE));
	exec_tell(t, "error", STR("the channel is not there"), data);
}

/* The daemon died: what was on its way may have arrived. */
void exec_notify_cut(struct exec_task *t)
{
	if (sim_odds(t->x->s, RNG_NOTICE, 500))
		take(t);
}
