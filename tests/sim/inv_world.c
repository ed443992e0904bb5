/* What the kernel of the simulator judges itself, as it happens; here are the rows, and how they are broken. */
#include <stdio.h>

#include "base/arena.h"
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
