/* How much of a fleet's life the simulator gets through in a minute of one core. */
#include "base/ov.h"
#include "tests/bench/figure.h"
#include "tests/sim/sim.h"

enum { SEEDS = 12, FLEET = 20 };

int main(void)
{
	double begin = cpu_seconds(), agent_hours = 0, minutes;
	uint64_t events = 0;
	int missed = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct sim_options o = { .seed = seed, .fleet = true };
		struct sim *s = sim_new(&o);

		sim_run(s);
		missed += s->violated != NULL;
		agent_hours += (double)s->stats.agent_ms / (double)OV_HOUR;
		events += s->stats.events;
		sim_free(s);
	}
	minutes = (cpu_seconds() - begin) / 60;
	missed += figure("sim_fleet_hours_per_cpu_minute", agent_hours / FLEET / minutes, "h",
			FIGURE_AT_LEAST, 1000);
	missed += figure("sim_us_per_event", minutes * 60e6 / (double)events, "us", FIGURE_AT_MOST,
			0);
	return missed != 0;
}
