/*
 * Runs that are held while their goal is paused, as app/exec/freeze does it: by what the state
 * wants, again and again.
 */
#include "base/str.h"
#include "core/event/event.h"
#include "tests/sim/exec_impl.h"
#include "tests/sim/tape.h"

struct hold {
	int life;
	bool held;
	char run[SIM_NAME_MAX];
};

static bool is_wanted(const struct state *s, const struct run *r)
{
	const struct goal *g = state_goal(s, r->goal_id);
	const struct assignment *as = state_assignment(s, r->assignment_id);

	return g && g->freezes && as && as->run == r && as->stage == STAGE_RUNNING &&
			!assignment_is_final(as) && as->status != AS_BLOCKED && !as->stopping;
}

/* Some have no group of their own: they are left to finish. */
static void answered(struct sim *s, void *arg)
{
	const struct hold *m = arg;
	struct sim_exec *x = exec_of(s, m->life);
	struct exec_run *er = x ? map_get(&x->runs, str_from(m->run)) : NULL;
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *v = value_object(&a);

	if (!er)
		return;
	er->freezing = false;
	silence_spoil(&er->silences);
	if (!machine_hold(s->machine, er->id, m->held)) {
		er->unfreezable = m->held;
		return;
	}
	value_put(&a, v, "run", value_str(&a, er->id));
	value_put(&a, v, "frozen", value_bool(&a, m->held));
	tape_report(x->d->tape, x->d->engine, STR("run.frozen"), v);
}

static void ask(struct exec_run *er, bool held)
{
	struct sim *s = er->x->s;
	struct hold *m = sim_in(s, sim_between(s, RNG_EXEC, 1, 300), er->x->d->life, answered,
			sizeof(*m));

	er->freezing = true;
	m->life = er->x->d->life;
	m->held = held;
	sim_name(m->run, er->id);
}

void exec_freeze_look(struct sim_exec *x)
{
	list_each (it, &exec_state(x)->runs) {
		const struct run *r = list_entry(it, struct run, link);
		struct exec_run *er = map_get(&x->runs, r->id);
		bool wanted = is_wanted(exec_state(x), r);

		if (er && r->status == RUN_RUNNING && !er->freezing && wanted != r->frozen &&
				!(wanted && er->unfreezable))
			ask(er, wanted);
	}
}

void exec_published(struct sim_exec *x, const struct event *const *events, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (events[i]->kind == EV_GOAL_STATUS || events[i]->kind == EV_RUN_STARTED ||
				events[i]->kind == EV_RUN_FROZEN) {
			exec_freeze_look(x);
			return;
		}
}
