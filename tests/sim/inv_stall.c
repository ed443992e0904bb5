/* What the watchdog goes by: a healthy daemon that owes something moves. */
#include "base/str.h"
#include "core/tick/work_due.h"
#include "tests/sim/check_impl.h"
#include "tests/sim/exec.h"

enum { EVERY = 5 * OV_MINUTE, LONGEST = OV_HOUR };

static void due_event(struct checker *c, const struct event *e)
{
	c->moves += event_is_movement(e->kind);
}

/* As its heartbeat would say; one that cannot write says that instead. */
static bool owes(struct checker *c)
{
	struct world w = { c->state, &c->s->config->policy };
	struct telemetry t = { .observations = exec_observations(c->up->exec) };

	return work_due(&c->scratch, &w, &t, sim_now(c->s));
}

static void due_step(struct checker *c)
{
	bool works = c->up && c->state && c->up->started && !c->up->stopping && !c->up->failing;

	if (works && c->s->t - c->owes_looked < EVERY)
		return;
	c->owes_looked = c->s->t;
	if (!works || c->owes_life != c->up->life || c->owes_moves != c->moves)
		c->owes = false;
	if (works && !(c->owes_always || owes(c)))
		c->owes = false;
	else if (works && !c->owes) {
		c->owes = true;
		c->owes_since = c->s->t;
		c->owes_moves = c->moves;
		c->owes_life = c->up->life;
	} else if (works && c->s->t - c->owes_since > LONGEST)
		sim_violated(c->s, inv_moves_when_due.name,
				"daemon %d owes something for %lld ms, and nothing has moved since "
				"event %llu",
				c->up->life, (long long)(c->s->t - c->owes_since),
				(unsigned long long)c->seen);
}

static bool due_sabotage(struct checker *c)
{
	if (!c->state || c->s->t < LONGEST * 2)
		return false;
	c->owes = c->owes_always = true;
	c->owes_moves = c->moves;
	c->owes_life = c->up->life;
	c->owes_looked = c->owes_since = 0;
	return true;
}

const struct invariant inv_moves_when_due = {
	.name = "moves_when_due",
	.sentence = "a daemon that is up and can write is never due for an hour without a movement",
	.event = due_event,
	.step = due_step,
	.sabotage = due_sabotage,
};
