#include "tests/bench/figure.h"

#include <stdio.h>
#include <time.h>

int figure(const char *name, double value, const char *unit, enum figure_bound bound, double budget)
{
	bool ok = budget == 0 || (bound == FIGURE_AT_LEAST ? value >= budget : value <= budget);
	char text[32] = "null";

	if (budget != 0)
		snprintf(text, sizeof(text), "%g", budget);
	printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"%s\",\"budget\":%s,\"ok\":%s}\n", name,
			value, unit, text, ok ? "true" : "false");
	fflush(stdout);
	return ok ? 0 : 1;
}

double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
