/*
 * Every invariant is broken on purpose, in the world or in what the checker is shown, and must be
 * the one that says so: a promise that nothing can break is none.
 */
#include "tests/test.h"

#include <stdio.h>

#include "tests/sim/check.h"

TEST_MAIN

enum { SEEDS = 40 };

/* The name of what did not hold, or NULL; `said` is empty then. */
static const char *run_broken(const struct invariant *inv, uint64_t seed, char *said, size_t n)
{
	struct sim_options o = { .seed = seed, .sabotage = inv->name, .night = inv->night };
	struct sim *s = sim_new(&o);
	const char *violated;

	sim_run(s);
	violated = s->violated;
	snprintf(said, n, "%s", buf_cstr(&s->violation));
	sim_free(s);
	return violated;
}

TEST(each_invariant_can_be_broken_and_says_so_itself)
{
	const char *only = getenv("INVARIANT");
	char said[300];

	for (size_t i = 0; i < invariants_n; i++) {
		const struct invariant *inv = invariants[i];
		const char *violated = NULL;
		uint64_t seed = 0;

		if (only && strcmp(only, inv->name) != 0)
			continue;
		if (!inv->sabotage)
			fail_msg("%s cannot be broken on purpose", inv->name);
		while (!violated && seed < SEEDS)
			violated = run_broken(inv, ++seed, said, sizeof(said));
		if (!violated)
			fail_msg("%s was broken in %d seeds, and nothing was said", inv->name,
					SEEDS);
		if (strcmp(violated, inv->name) != 0)
			fail_msg("%s was broken, and %s said so: %s", inv->name, violated, said);
		print_message("# %s: seed %llu: %s\n", inv->name, (unsigned long long)seed, said);
	}
}

/* Whoever reads that one of them does not hold finds in the list what it means. */
TEST(each_invariant_has_a_name_of_its_own_and_a_sentence)
{
	for (size_t i = 0; i < invariants_n; i++) {
		assert_non_null(invariants[i]->name);
		assert_true(strlen(invariants[i]->sentence) > 20);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(invariants[i]->name, invariants[k]->name);
	}
}
