#pragma once
/* What a benchmark in C needs to say: a figure with its budget as one JSON line, and CPU time. */
#include <stdbool.h>

enum figure_bound { FIGURE_AT_MOST, FIGURE_AT_LEAST };

/* Prints it; a budget of 0 is none. Returns 1 when the budget was missed. */
int figure(const char *name, double value, const char *unit, enum figure_bound bound,
		double budget);
/* Seconds of CPU time that this process has used. */
double cpu_seconds(void);
