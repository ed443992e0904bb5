/* What goals may use, when, and who plans them: the options. */
#include "core/config/config_table.h"
#include "core/model/limits.h"

static const char *const providers[] = { "none", "anthropic", "openai", "command",
	NULL }; /* enum planner_provider */

static const struct option table[] = {
	{ "policy.allow_agents", OPT_TEXTS, 0, LIMIT_ID, "[\"*\"]",
			"The agents that may be given work; \"*\": every configured one.",
			LIST_AT(policy.allow_agents) },
	{ "policy.allow_cross_agent", OPT_TEXTS, 0, 2 * LIMIT_ID + 1, "[]",
			"Work of one agent may be handed to another one only as said here, for "
			"example \"claude>codex\"; \"*\" on either side stands for any agent.",
			LIST_AT(allow_cross_agent) },
	{ "estimate.iterations", OPT_INT, 1, MILLION, "4",
			"How many runs one node is expected to take.",
			AT(policy.estimate[RES_ITERATIONS]) },
	{ "estimate.wall", OPT_DURATION, 10, 3650 * OV_DAY, "\"8h\"",
			"How long the runs of a goal are expected to take in all.",
			AT(policy.estimate[RES_WALL_MS]) },
	{ "estimate.tokens", OPT_INT, 1, MILLION *MILLION, "20000000",
			"How many tokens a goal is expected to take.",
			AT(policy.estimate[RES_TOKENS]) },
	{ "estimate.cost_usd", OPT_USD, 1, MILLION *MILLION, "20",
			"What a goal is expected to cost, in dollars.",
			AT(policy.estimate[RES_COST_MICROUSD]) },
	{ "budget.iterations", OPT_INT, 1, MILLION *MILLION, "\"3x estimate\"",
			"The most runs of a goal: a warning at 80 %, at 100 % nothing new starts "
			"and a person is asked.",
			AT(policy.budget[RES_ITERATIONS]), .budget = true },
	{ "budget.wall", OPT_DURATION, 10, 3650 * OV_DAY, "\"3x estimate\"",
			"The longest time that the runs of a goal may take in all.",
			AT(policy.budget[RES_WALL_MS]), .budget = true },
	{ "budget.tokens", OPT_INT, 1, MILLION *MILLION, "\"3x estimate\"",
			"The most tokens of a goal.", AT(policy.budget[RES_TOKENS]),
			.budget = true },
	{ "budget.cost_usd", OPT_USD, 1, MILLION *MILLION, "\"3x estimate\"",
			"The most that a goal may cost, in dollars.",
			AT(policy.budget[RES_COST_MICROUSD]), .budget = true },
	{ "quiet.from", OPT_CLOCK, 0, 0, "\"\"",
			"The time of day, local, from which nobody is nudged or asked, for example "
			"\"22:00\"; empty: there are no quiet hours.",
			AT(policy.quiet_from) },
	{ "quiet.to", OPT_CLOCK, 0, 0, "\"\"", "The time of day at which that ends.",
			AT(policy.quiet_to) },
	{ "planner.provider", OPT_CHOICE, 0, 0, "\"none\"",
			"Who makes plans for goals that come without one: the Messages API of "
			"Anthropic, any server that speaks OpenAI's chat completions, a command, "
			"or nobody; then a goal becomes one task.",
			providers, AT(planner_provider) },
	{ "planner.model", OPT_STR, 0, LIMIT_NAME, "\"\"",
			"The model, as its provider calls it, or with the provider before it: "
			"anthropic/NAME.",
			AT(planner_model) },
	{ "planner.base_url", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Where the API is, up to what comes before /v1; empty: the provider's own. "
			"Without TLS only on this machine. https_proxy, all_proxy and no_proxy of "
			"the daemon's environment are honoured.",
			AT(planner_base_url) },
	{ "planner.api_key_env", OPT_STR, 0, LIMIT_NAME, "\"\"",
			"The name of the environment variable of the daemon that holds the key; "
			"empty: ANTHROPIC_API_KEY or OPENAI_API_KEY. The key itself is never "
			"stored or logged.",
			AT(planner_api_key_env) },
	{ "planner.command", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Run by sh -c in the repository, with the prompt on standard input; it "
			"answers with JSON on standard output.",
			AT(planner_command) },
	{ "planner.timeout", OPT_DURATION, 10, OV_DAY, "\"2m\"", "The longest wait for one answer.",
			AT(planner_timeout) },
	{ "planner.max_tokens", OPT_INT, 64, 1000 * 1000, "16000", "The most tokens of one answer.",
			AT(planner_max_tokens) },
	{ "planner.max_repair_attempts", OPT_INT, 0, 10, "2",
			"How often an answer that is no valid plan is sent back with what is wrong "
			"before the goal gets a plan of one task.",
			AT(planner_max_repairs) },
	{ "planner.fallback", OPT_BOOL, 0, 0, "true",
			"A goal for which nobody makes a plan becomes one task, in its own words; "
			"otherwise it waits for plan apply.",
			AT(policy.fallback) },
	{ "planner.diagnose", OPT_BOOL, 0, 0, "false",
			"Ask the model what to do about a stall, at most once for each.",
			AT(policy.diagnose) },
	{ "planner.max_plan_phases", OPT_INT, 1, 10, "5",
			"Number of phases in a plan of the planner's, at most.",
			AT(policy.plan.max_phases) },
	{ "planner.max_tasks_per_phase", OPT_INT, 1, 20, "7",
			"Number of tasks in each of its phases, at most.",
			AT(policy.plan.max_tasks) },
	{ "planner.max_subtasks_per_task", OPT_INT, 1, 20, "7",
			"Number of subtasks in each of its tasks, at most.",
			AT(policy.plan.max_subtasks) },
};

const struct options config_options_goal = { table, ARRAY_LEN(table) };
