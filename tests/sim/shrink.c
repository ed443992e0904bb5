#include "tests/sim/shrink.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/vec.h"

struct search {
	const char *violated;
	int tries;
	struct sim_options best;
	VEC(uint64_t) skip; /* of the best */
	uint64_t ordinals;  /* faults of the best, those skipped included */
	uint64_t happened[FAULT_COUNT];
};

/* Is the same invariant still broken with these options? Then they are the best so far. */
static bool still_fails(struct search *w, const struct sim_options *o)
{
	struct sim *s;
	bool fails;

	if (w->tries-- <= 0)
		return false;
	s = sim_new(o);
	sim_run(s);
	fails = s->violated && strcmp(s->violated, w->violated) == 0;
	if (fails) {
		w->best = *o;
		w->ordinals = s->stats.fault_ordinals;
		memcpy(w->happened, s->stats.faults, sizeof(w->happened));
	}
	sim_free(s);
	return fails;
}

static void drop_kinds(struct search *w)
{
	for (int f = 0; f < FAULT_COUNT; f++) {
		struct sim_options o = w->best;

		if (!w->happened[f])
			continue;
		o.without |= 1u << f;
		(void)still_fails(w, &o);
	}
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Leaves out faults from..to-1 as well; they stay out when it still fails. */
static void drop_range(struct search *w, uint64_t from, uint64_t to)
{
	struct sim_options o = w->best;
	VEC(uint64_t) kept = { 0 };

	for (size_t i = 0; i < w->skip.n; i++)
		vec_push(&kept, w->skip.p[i]);
	for (uint64_t i = from; i < to; i++)
		if (!kept.n || !bsearch(&i, kept.p, kept.n, sizeof(i), by_number))
			vec_push(&w->skip, i);
	qsort(w->skip.p, w->skip.n, sizeof(w->skip.p[0]), by_number);
	o.skip = w->skip.p;
	o.skip_n = w->skip.n;
	if (w->skip.n > kept.n && !still_fails(w, &o)) {
		vec_clear(&w->skip);
		for (size_t i = 0; i < kept.n; i++)
			vec_push(&w->skip, kept.p[i]);
	}
	/* The array may have moved while it grew. */
	w->best.skip = w->skip.p;
	w->best.skip_n = w->skip.n;
	vec_done(&kept);
}

/* Ever smaller pieces, from the end: late faults are the least likely to matter. */
static void drop_single(struct search *w)
{
	for (uint64_t size = (w->ordinals + 1) / 2; size > 0; size /= 2) {
		uint64_t to = w->ordinals + 1;

		while (to > 1 && w->tries > 0) {
			uint64_t from = to > size + 1 ? to - size : 1;

			drop_range(w, from, to);
			to = from;
		}
	}
}

static void fewer(struct search *w)
{
	for (int64_t n = 1; n <= 4; n++) {
		struct sim_options o = w->best;

		o.nodes_max = n;
		o.goals_max = 1;
		if (still_fails(w, &o))
			return;
	}
}

struct shrunk shrink(const struct sim_options *o, const char *violated, int tries)
{
	struct search w = { .violated = violated, .tries = tries };
	struct sim_options quiet = *o;
	struct shrunk ret = { 0 };
	uint64_t before;

	quiet.trace = NULL;
	for (size_t i = 0; i < o->skip_n; i++)
		vec_push(&w.skip, o->skip[i]);
	quiet.skip = w.skip.p;
	if (!still_fails(&w, &quiet))
		return (struct shrunk){ .o = *o };
	before = w.ordinals - w.skip.n;
	fewer(&w);
	drop_kinds(&w);
	drop_single(&w);
	ret.o = w.best;
	ret.o.skip = w.skip.p;
	ret.o.skip_n = w.skip.n;
	for (int f = 0; f < FAULT_COUNT; f++)
		ret.faults += w.happened[f];
	ret.smaller = ret.faults < before || ret.o.nodes_max != o->nodes_max;
	return ret;
}

void shrunk_done(struct shrunk *s)
{
	if (s->smaller)
		mem_free((uint64_t *)s->o.skip);
}

void shrink_print_options(const struct sim_options *o)
{
	const char *sep = " WITHOUT=";

	for (int f = 0; f < FAULT_COUNT; f++)
		if (o->without & 1u << f) {
			printf("%s%s", sep, sim_faults[f].name);
			sep = ",";
		}
	sep = " SKIP=";
	for (size_t i = 0; i < o->skip_n; i++) {
		printf("%s%llu", sep, (unsigned long long)o->skip[i]);
		sep = ",";
	}
	if (o->goals_max)
		printf(" GOALS=%lld", (long long)o->goals_max);
	if (o->nodes_max)
		printf(" NODES=%lld", (long long)o->nodes_max);
	if (o->fleet)
		printf(" FLEET=1");
	if (o->night)
		printf(" NIGHT=1");
}
