/*
 * What the kernel of the simulator judges itself, as it happens; here are the rows, and how
 * they are broken.
 */
#include <stdio.h>

#include "base/arena.h"
#include "base/str.h"
#include "tests/sim/check_impl.h"
#include "tests/sim/disk.h"

static bool time_sabotage(struct checker *c)
{
	if (c->seen < 10)
		return false;
	c->s->stats.same_moment = UINT32_MAX;
	return true;
}

const struct invariant inv_time_goes_on = {
	.name = "time_goes_on",
	.sentence = "nobody turns in circles: of any moment there is an end",
	.sabotage = time_sabotage,
};

/* ---- failing_is_over ---- */

static bool begins(const struct event *e)
{
	str kind = value_str_at(e->data, "kind");

	return e->kind == EV_RUN_CREATED || e->kind == EV_ASSIGNMENT_CREATED ||
			(e->kind == EV_EFFECT_INTENDED && !str_is(kind, "run_stop") &&
					!str_is(kind, "plan") && !str_is(kind, "send") &&
					!str_is(kind, "worker"));
}

/* What was decided before it was told may be written only now. */
static bool told_to_stop(const struct checker *c, const struct event *e)
{
	return c->up && c->up->stopping && e->at > c->up->stopped_at;
}

/* The work of agents that were stopped with it is kept. */
static bool keeps(const struct checker *c, const struct event *e)
{
	return c->up && c->up->ending == ENDING_STOP &&
			str_is(value_str_at(e->data, "kind"), "harvest");
}

static void failing_event(struct checker *c, const struct event *e)
{
	if (!begins(e) || keeps(c, e) || !str_is(e->actor, "overseer"))
		return;
	if (told_to_stop(c, e))
		sim_violated(c->s, inv_failing_is_over.name,
				EV_FMT ": begun by a daemon that was told to stop", EV_ARG(e));
	if (c->shadow->failing.n)
		sim_violated(c->s, inv_failing_is_over.name,
				EV_FMT ": begun by daemon " STR_FMT ", which cannot go on",
				EV_ARG(e), STR_ARG(c->shadow->failing));
}

static bool failing_sabotage(struct checker *c)
{
	struct node_book *n = some_node(c, NODE_QUEUED);

	if (!c->shadow->failing.n || !n)
		return false;
	forge_show(c, forge(c, EV_ASSIGNMENT_CREATED, n));
	return c->s->violated;
}

const struct invariant inv_failing_is_over = {
	.name = "failing_is_over",
	.sentence = "nothing new begins under a daemon that cannot go on or was told to stop",
	.event = failing_event,
	.sabotage = failing_sabotage,
};

/* ---- the store ---- */

static void overwrite(struct checker *c, const char *name)
{
	char *path = arena_cstr(&c->scratch,
			arena_printf(&c->scratch, "%s/%s", disk_dir(c->s->disk), name));
	FILE *f = fopen(path, "r+");

	for (int i = 0; f && i < 8192; i++)
		fputc('x', f);
	if (f)
		fclose(f);
}

/* While nobody has it open. */
static bool opens_sabotage(struct checker *c)
{
	for (size_t i = 0; i < SIM_DAEMONS; i++)
		if (c->s->daemons[i])
			return false;
	overwrite(c, "store.db");
	overwrite(c, "store.db-wal");
	return true;
}

const struct invariant inv_store_opens = {
	.name = "store_opens",
	.sentence = "a store is opened again, whatever happened to the daemons before",
	.sabotage = opens_sabotage,
};
