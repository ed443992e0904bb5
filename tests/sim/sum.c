#include "tests/sim/sum.h"

#include <stdio.h>

#include "tests/sim/check.h"
#include "tests/sim/machine.h"

void sum_add(struct sum *sum, const struct sim *s)
{
	const struct sim_stats *a = &s->stats;
	struct sim_stats *all = &sum->all;

	sum->seeds++;
	sum->failed += s->violated != NULL;
	sum->simulated += s->t;
	all->steps += a->steps;
	all->events += a->events;
	all->commits += a->commits;
	all->checks += a->checks;
	all->crashes += a->crashes;
	all->lives += a->lives;
	all->replays += a->replays;
	all->messages += a->messages;
	all->operations += a->operations;
	all->runs += a->runs;
	all->agent_ms += a->agent_ms;
	for (int f = 0; f < FAULT_COUNT; f++)
		all->faults[f] += a->faults[f];
	for (int k = 0; k < EVENT_KIND_COUNT; k++)
		all->kinds[k] += a->kinds[k];
	for (int k = 0; k < SIM_SCRIPTS_MAX; k++)
		all->scripts[k] += a->scripts[k];
}

static void print_faults(const struct sim_stats *a)
{
	printf("faults:");
	for (int f = 0; f < FAULT_COUNT; f++)
		printf(" %s %llu", sim_faults[f].name, (unsigned long long)a->faults[f]);
	printf("\n");
}

static void print_scripts(const struct sim_stats *a)
{
	const char *name, *help;

	printf("agents:");
	for (size_t i = 0; machine_script(i, &name, &help); i++)
		printf(" %s %llu", name, (unsigned long long)a->scripts[i]);
	printf("\n");
}

/* Which kinds of events came about: what is never decided is never tested. */
static void print_kinds(const struct sim_stats *a)
{
	int seen = 0;

	for (int k = 0; k < EVENT_KIND_COUNT; k++)
		seen += a->kinds[k] > 0;
	printf("coverage: %d of %d kinds of events", seen, EVENT_KIND_COUNT);
	for (int k = 0; k < EVENT_KIND_COUNT; k++)
		if (!a->kinds[k])
			printf("%s%s", seen < EVENT_KIND_COUNT ? "; not " : ", ",
					event_name((enum event_kind)k));
	printf("\n");
}

void sum_print(const struct sum *sum, double cpu_seconds)
{
	const struct sim_stats *a = &sum->all;
	double hours = (double)a->agent_ms / (double)OV_HOUR / 20;

	printf("%llu seeds, %llu failed; %.0f simulated hours, %llu steps, %llu events in %llu "
	       "transactions, %llu messages, %llu operations, %llu runs\n",
			(unsigned long long)sum->seeds, (unsigned long long)sum->failed,
			(double)sum->simulated / (double)OV_HOUR, (unsigned long long)a->steps,
			(unsigned long long)a->events, (unsigned long long)a->commits,
			(unsigned long long)a->messages, (unsigned long long)a->operations,
			(unsigned long long)a->runs);
	printf("%llu daemons, %llu crashes, %llu lives replayed, %llu checks of %zu invariants\n",
			(unsigned long long)a->lives, (unsigned long long)a->crashes,
			(unsigned long long)a->replays, (unsigned long long)a->checks,
			invariants_n);
	print_faults(a);
	print_scripts(a);
	print_kinds(a);
	printf("%.1f s of CPU; %.1f fleet-hours (20 agents at work), %.0f per minute of CPU\n",
			cpu_seconds, hours, cpu_seconds > 0 ? hours * 60 / cpu_seconds : 0);
}
