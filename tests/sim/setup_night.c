/*
 * The rehearsal of a night: auto mode works off a pool for two days, three goals of a person's run
 * beside it, the options are the defaults as far as they can be, and nobody looks at the inbox. Who
 * the agents are is in script_pick.c, the pool in exec_pool.c, the person and the user
 * in person*.c.
 */
#include "base/str.h"
#include "tests/sim/setup.h"

enum { NIGHT_AGENTS = 4, NIGHT_WORKERS = 6, NIGHT_GOALS = 3 };

void night_size(struct sim *s)
{
	int64_t nodes = 12 + (int64_t)sim_below(s, RNG_SETUP, 8),
		tasks = 60 + (int64_t)sim_below(s, RNG_SETUP, 41);

	s->setup = (struct sim_setup){
		.agents = NIGHT_AGENTS,
		.workers = NIGHT_WORKERS,
		.goals = NIGHT_GOALS,
		.nodes = nodes,
		.tasks = s->o.nodes_max ? MIN(tasks, s->o.nodes_max) : tasks,
		.quiet_at = 48 * OV_HOUR,
		.patience = 30 * OV_DAY,
		.faults = (1u << FAULT_KILL | 1u << FAULT_KILL_INTENT | 1u << FAULT_LATE) &
				~s->o.without,
		.intensity = 20 + (uint32_t)sim_below(s, RNG_SETUP, 60),
	};
}

/* In half of the nights the budget of a day is less than what the pool has. */
void night_config(struct sim *s, struct buf *b)
{
	buf_addf(b, "workers.max = %lld\n", (long long)s->setup.workers);
	buf_adds(b,
			STR("accept.target = \"main\"\nlimits.min_free_memory = \"0B\"\n"
			    "workspace.check_command = \"make check\"\n"
			    "escalation.desktop = false\n"
			    "auto.task_pool_command = \"pool\"\nauto.agent = \"a1\"\n"));
	buf_addf(b, "auto.concurrency = %zu\n", 2 + sim_below(s, RNG_SETUP, 3));
	if (sim_odds(s, RNG_SETUP, 500))
		buf_addf(b, "auto.budget.iterations = %zu\n", 40 + sim_below(s, RNG_SETUP, 21));
	for (int64_t i = 0; i < s->setup.agents; i++)
		buf_addf(b,
				"[agents.a%lld]\ncommand = [\"agent\", \"{prompt}\"]\n"
				"prompt = \"arg\"\n",
				(long long)i + 1);
}
