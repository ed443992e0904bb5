/* Which agent, and how runs are watched and tried again: the options. */
#include "core/config/config_table.h"
#include "core/model/limits.h"

static const char *const sandboxes[] = { "auto", "fence", "bwrap", "none",
	NULL }; /* enum sandbox */

static const struct option table[] = {
	{ "defaults.agent", OPT_STR, 0, LIMIT_NAME, "\"\"",
			"The agent that takes tasks which name neither an agent nor a role; empty: "
			"the only agent there is.",
			AT(policy.default_agent) },
	{ "defaults.sandbox", OPT_CHOICE, 0, 0, "\"auto\"",
			"Sandbox of agents that set no sandbox of their own (docs/security.md).",
			sandboxes, AT(default_sandbox) },
	{ "supervisor.tick_every", OPT_DURATION, 10, OV_DAY, "\"2m\"",
			"The longest time between two ticks while work is open.", AT(tick_every) },
	{ "supervisor.idle_after", OPT_DURATION, 10, 30 * OV_DAY, "\"15m\"",
			"A run without any sign of life for this long is stalled. When it is set, "
			"a run is called stalled no later; see overseer config timeline.",
			AT(policy.idle_after) },
	{ "supervisor.max_run", OPT_DURATION, 10, 365 * OV_DAY, "\"4h\"",
			"A run that takes longer opens an inbox entry.", AT(policy.max_run) },
	{ "supervisor.mute_after", OPT_DURATION, 0, 30 * OV_DAY, "\"1h\"",
			"A run that is busy but has written nothing and changed no file for this "
			"long opens an inbox entry; it is left alone. \"0s\" disables.",
			AT(policy.mute_after) },
	{ "supervisor.ask_after", OPT_DURATION, 0, OV_DAY, "\"30s\"",
			"An agent that waits for a person's permission for this long opens an "
			"inbox "
			"entry; its run is kept. \"0s\": never; then it counts as silent.",
			AT(policy.ask_after) },
	{ "supervisor.done_grace", OPT_DURATION, 10, OV_DAY, "\"1m\"",
			"A run that reported that it is done and falls silent is ended after this.",
			AT(policy.done_grace) },
	{ "supervisor.max_retries", OPT_INT, 0, 20, "2",
			"How often a stalled agent is nudged before the next rung of the ladder.",
			AT(policy.max_nudges) },
	{ "supervisor.min_resend_interval", OPT_DURATION, 10, 30 * OV_DAY, "\"5m\"",
			"The same instruction is not sent again sooner than this. Not set: a third "
			"of idle_after.",
			AT(policy.min_resend_interval) },
	{ "supervisor.backoff.base", OPT_DURATION, 10, 30 * OV_DAY, "\"2m\"",
			"The wait after the first step of recovery; each further one is twice as "
			"long. Not set: 2/15 of idle_after. Also the wait before an agent whose "
			"limit has no known end is tried again, which does not depend on "
			"idle_after.",
			AT(policy.backoff_base) },
	{ "supervisor.backoff.max", OPT_DURATION, 10, 30 * OV_DAY, "\"30m\"",
			"The longest such wait. Not set: twice idle_after.",
			AT(policy.backoff_max) },
	{ "supervisor.limit_wait_max", OPT_DURATION, 10, 30 * OV_DAY, "\"6h\"",
			"How long an agent's word about its limit holds without a test: then one "
			"run is started to see whether the limit is still there, of a task that "
			"did not say so if there is one. A reset more than a day ahead is "
			"believed when runs of two tasks said so; until then the agent waits this "
			"long.",
			AT(policy.limit_wait_max) },
	{ "supervisor.cgroups", OPT_BOOL, 0, 0, "true",
			"Whether each run gets a control group of its own (cgroup v2), where the "
			"daemon may make one.",
			AT(cgroups) },
	{ "supervisor.interrupt_grace", OPT_DURATION, 0, OV_HOUR, "\"5s\"",
			"The time between interrupting a run that is to stop, where its agent "
			"knows a signal for that, and asking it to end (SIGTERM).",
			AT(interrupt_grace) },
	{ "supervisor.stop_grace", OPT_DURATION, 0, OV_HOUR, "\"10s\"",
			"The time between asking a run to end (SIGTERM) and killing it.",
			AT(stop_grace) },
	{ "supervisor.drain_timeout", OPT_DURATION, 0, OV_HOUR, "\"20s\"",
			"How long a daemon that ends waits for what is under way; one that cannot "
			"go on waits so long for its agents, too, which it has asked to stop.",
			AT(drain_timeout) },
	{ "retry.max_attempts", OPT_INT, 1, 1000, "3",
			"How often one cause may make a node fail before a person is asked.",
			AT(policy.retry_max_attempts) },
	{ "retry.delays", OPT_DELAYS, 0, OV_DAY, "[\"5s\", \"30s\", \"2m\"]",
			"The waits before the second, the third, and every further attempt.",
			AT(policy.retry_delay) },
	{ "retry.max_agent_failures", OPT_INT, 0, 1000, "5",
			"Number of runs of an agent that fail in a row, on at least two tasks of "
			"ordinary goals, before it is given no more work until a person answers. 0 "
			"disables.",
			AT(policy.agent_failures) },
	{ "supervisor.radar", OPT_BOOL, 0, 0, "true",
			"Look ahead for conflicts between branches under way and the target, and "
			"tell those who work on them.",
			AT(radar) },
};

const struct options config_options_supervisor = { table, ARRAY_LEN(table) };
