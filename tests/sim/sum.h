#pragma once
/* What a number of seeds came to, for people: printed at the end of every run. */
#include "tests/sim/sim.h"

struct sum {
	uint64_t seeds, failed;
	ov_time simulated;
	struct sim_stats all;
};

void sum_add(struct sum *sum, const struct sim *s);
void sum_print(const struct sum *sum, double cpu_seconds);
