#pragma once
/*
 * Makes a failing history smaller: leaves out whole kinds of faults, then single ones, then goals
 * and nodes, as long as the same invariant is still broken. What is left is a set of options for
 * the same seed, so it replays like any other.
 */
#include "tests/sim/sim.h"

struct shrunk {
	struct sim_options o; /* skip is owned by this struct */
	uint64_t faults;      /* that are left */
	bool smaller;
};

struct shrunk shrink(const struct sim_options *o, const char *violated, int tries);
void shrunk_done(struct shrunk *s);
/* As arguments of `make sim`. */
void shrink_print_options(const struct sim_options *o);
