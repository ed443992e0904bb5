/* The options: what may stand in config.toml, and everything that people are told about it. */
#include "core/config_impl.h"

#include "core/limits.h"
#include "core/scope.h"
#include "core/thresholds.h"

#define KIB ((int64_t)1024)
#define MIB (1024 * KIB)
#define TIB (1024 * 1024 * MIB)
#define MILLION ((int64_t)1000 * 1000)
#define AT(member) .offset = offsetof(struct config, member)
#define LIST_AT(member) AT(member), .count_offset = offsetof(struct config, member##_n)
#define ROUTE_AT(urgency) \
	AT(routes[urgency].to), .count_offset = offsetof(struct config, routes[urgency].n)

static const char *const providers[] = { "none", "anthropic", "openai", "command",
	NULL }; /* enum planner_provider */

static const char *const reviews[] = { "never", "high_risk", "always",
	NULL }; /* enum accept_review */
static const char *const leftovers[] = { "keep", "ask", "refuse",
	NULL };                                                      /* enum accept_leftovers */
static const char *const unchecked[] = { "review", "accept", NULL }; /* enum accept_unchecked */
static const char *const pool_failures[] = { "pause", "warn", "fail",
	NULL };                                                      /* enum pool_failure */
static const char *const pre_failures[] = { "retry", "fail", NULL }; /* enum pre_failure */
static const char *const auto_pre_failures[] = { "retry", "fail", "", "pause", NULL };
static const char *const post_failures[] = { "fail", "warn", "revert",
	NULL }; /* enum post_failure */
static const char *const auto_post_failures[] = { "fail", "warn", "revert", "", "pause", NULL };

static const char *const sandboxes[] = { "auto", "fence", "bwrap", "none",
	NULL }; /* enum sandbox */
static const char *const check_sandboxes[] = { "agent", "none", NULL };

#define NAME(sym, name) name,
static const char *const preset_names[] = { PRESETS(NAME) NULL };
static const char *const level_names[] = { LEVELS(NAME) NULL };
#undef NAME
static const char *const pauses[] = { "auto", "goal", "node", NULL }; /* enum pause_scope */

#define THRESHOLD(group, key, type, member, min, max, ...)                               \
	{ "oversight." group "." key, OPT_OF_##type, min, max, NULL, FIFTH(__VA_ARGS__), \
		CHOICES_OF_##type, offsetof(struct config, oversight.member), .preset = true },
#define FIFTH(...) FIFTH_OF(__VA_ARGS__)
#define FIFTH_OF(a, b, c, d, e) e
#define OPT_OF_COUNT OPT_INT
#define OPT_OF_MILLI OPT_MILLI
#define OPT_OF_CENTI OPT_CENTI
#define OPT_OF_BOOL OPT_BOOL
#define OPT_OF_LEVEL OPT_CHOICE
#define CHOICES_OF_COUNT NULL
#define CHOICES_OF_MILLI NULL
#define CHOICES_OF_CENTI NULL
#define CHOICES_OF_BOOL NULL
#define CHOICES_OF_LEVEL level_names

static const struct option options[] = {
	{ "defaults.agent", OPT_STR, 0, LIMIT_NAME, "\"\"",
			"The agent that takes tasks which name neither an agent nor a role; empty: "
			"the only agent there is.",
			AT(default_agent) },
	{ "defaults.sandbox", OPT_CHOICE, 0, 0, "\"auto\"",
			"Sandbox of agents that set no sandbox of their own (docs/security.md).",
			sandboxes, AT(default_sandbox) },
	{ "supervisor.tick_every", OPT_DURATION, 10, OV_DAY, "\"2m\"",
			"The longest time between two ticks while work is open.", AT(tick_every) },
	{ "supervisor.idle_after", OPT_DURATION, 10, 30 * OV_DAY, "\"15m\"",
			"A run without any sign of life for this long is stalled. When it is set, "
			"a run is called stalled no later; see overseer config timeline.",
			AT(idle_after) },
	{ "supervisor.max_run", OPT_DURATION, 10, 365 * OV_DAY, "\"4h\"",
			"A run that takes longer is put before a person.", AT(max_run) },
	{ "supervisor.mute_after", OPT_DURATION, 0, 30 * OV_DAY, "\"1h\"",
			"A run that is busy but has written nothing and changed no file for this "
			"long is put before a person; it is left alone. \"0s\": never.",
			AT(mute_after) },
	{ "supervisor.ask_after", OPT_DURATION, 0, OV_DAY, "\"30s\"",
			"An agent that waits for a person's permission for this long opens an "
			"inbox "
			"entry; its run is kept. \"0s\": never; then it counts as silent.",
			AT(ask_after) },
	{ "supervisor.done_grace", OPT_DURATION, 10, OV_DAY, "\"1m\"",
			"A run that reported that it is done and falls silent is ended after this.",
			AT(done_grace) },
	{ "supervisor.max_retries", OPT_INT, 0, 20, "2",
			"How often a stalled agent is nudged before the next rung of the ladder.",
			AT(max_retries) },
	{ "supervisor.min_resend_interval", OPT_DURATION, 10, 30 * OV_DAY, "\"5m\"",
			"The same instruction is not sent again sooner than this. Not set: a third "
			"of idle_after.",
			AT(min_resend_interval) },
	{ "supervisor.backoff.base", OPT_DURATION, 10, 30 * OV_DAY, "\"2m\"",
			"The wait after the first step of recovery; each further one is twice as "
			"long. Not set: 2/15 of idle_after. Also the wait before an agent whose "
			"limit has no known end is tried again, which does not depend on "
			"idle_after.",
			AT(backoff_base) },
	{ "supervisor.backoff.max", OPT_DURATION, 10, 30 * OV_DAY, "\"30m\"",
			"The longest such wait. Not set: twice idle_after.", AT(backoff_max) },
	{ "supervisor.limit_wait_max", OPT_DURATION, 10, 30 * OV_DAY, "\"6h\"",
			"How long an agent's word about its limit holds without a test: then one "
			"run is started to see whether the limit is still there. A reset more than "
			"a day ahead is believed when runs of two tasks said so; until then the "
			"agent waits this long.",
			AT(limit_wait_max) },
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
			AT(retry_max_attempts) },
	{ "retry.delays", OPT_DELAYS, 0, OV_DAY, "[\"5s\", \"30s\", \"2m\"]",
			"The waits before the second, the third, and every further attempt.",
			AT(retry_delay) },
	{ "retry.max_agent_failures", OPT_INT, 0, 1000, "5",
			"Number of runs of an agent that fail in a row, on at least two tasks of "
			"ordinary goals, before it is given no more work until a person answers. 0 "
			"disables.",
			AT(agent_failures) },
	{ "escalation.remind_after", OPT_DURATION, 10, 365 * OV_DAY, "\"4h\"",
			"A person is reminded of an open question after this.", AT(remind_after) },
	{ "escalation.max_reminders", OPT_INT, 0, 100, "2",
			"How often a person is reminded of one question.", AT(max_reminders) },
	{ "escalation.default_after", OPT_DURATION, 0, 365 * OV_DAY, "\"0s\"",
			"A question of an agent that names a default is answered with it after "
			"this; \"0s\": never.",
			AT(default_after) },
	{ "escalation.desktop", OPT_BOOL, 0, 0, "true",
			"Whether there is the channel \"desktop\": notifications in the session of "
			"the user who runs the daemon. Where there is no session, and the file "
			"names the channel nowhere, it is left out.",
			AT(escalation_desktop) },
	{ "escalation.hook", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"The command of the channel \"hook\", run by sh -c in the repository: it "
			"gets each alarm as JSON on standard input; exit status 0 says that it is "
			"delivered. Empty: there is no such channel.",
			AT(escalation_hook) },
	{ "escalation.auto", OPT_BOOL, 0, 0, "true",
			"Whether people outside are told of whatever needs them; otherwise only of "
			"emergencies, such as an abort. The inbox has everything in any case.",
			AT(escalation_auto) },
	{ "escalation.max_attempts", OPT_INT, 1, 100, "8",
			"How often a channel is tried with one notice before it is given up.",
			AT(notice_attempts) },
	{ "escalation.retry_base", OPT_DURATION, 10, OV_DAY, "\"1m\"",
			"The wait before the second attempt; it doubles with each further one.",
			AT(notice_retry) },
	{ "escalation.retry_max", OPT_DURATION, 10, OV_DAY, "\"1h\"",
			"The longest wait between two attempts.", AT(notice_retry_max) },
	{ "escalation.max_per_hour", OPT_INT, 1, 1000, "20",
			"Notices that one channel gets within an hour; further ones wait, "
			"emergencies do not.",
			AT(notices_per_hour) },
	{ "escalation.routes.info", OPT_TEXTS, 0, LIMIT_ID, "[]",
			"The channels that are told of what oversight only logs or warns of: names "
			"of channels, of types of them, or \"*\" for all.",
			ROUTE_AT(URGENCY_INFO) },
	{ "escalation.routes.warning", OPT_TEXTS, 0, LIMIT_ID, "[\"desktop\"]",
			"Those that are told of redirections and of most questions in the inbox.",
			ROUTE_AT(URGENCY_WARNING) },
	{ "escalation.routes.critical", OPT_TEXTS, 0, LIMIT_ID, "[\"*\"]",
			"Those that are told of pauses, spent budgets, outages, agents that are "
			"logged out.",
			ROUTE_AT(URGENCY_CRITICAL) },
	{ "escalation.routes.emergency", OPT_TEXTS, 0, LIMIT_ID, "[\"*\"]",
			"Those that are told of aborts, at any hour.",
			ROUTE_AT(URGENCY_EMERGENCY) },
	{ "policy.allow_agents", OPT_TEXTS, 0, LIMIT_ID, "[\"*\"]",
			"The agents that may be given work; \"*\": every configured one.",
			LIST_AT(allow_agents) },
	{ "policy.allow_cross_agent", OPT_TEXTS, 0, 2 * LIMIT_ID + 1, "[]",
			"Work of one agent may be handed to another one only as said here, for "
			"example \"claude>codex\"; \"*\" on either side stands for any agent.",
			LIST_AT(allow_cross_agent) },
	{ "estimate.iterations", OPT_INT, 1, MILLION, "4",
			"How many runs one node is expected to take.",
			AT(estimate[RES_ITERATIONS]) },
	{ "estimate.wall", OPT_DURATION, 10, 3650 * OV_DAY, "\"8h\"",
			"How long the runs of a goal are expected to take in all.",
			AT(estimate[RES_WALL_MS]) },
	{ "estimate.tokens", OPT_INT, 1, MILLION *MILLION, "20000000",
			"How many tokens a goal is expected to take.", AT(estimate[RES_TOKENS]) },
	{ "estimate.cost_usd", OPT_USD, 1, MILLION *MILLION, "20",
			"What a goal is expected to cost, in dollars.",
			AT(estimate[RES_COST_MICROUSD]) },
	{ "budget.iterations", OPT_INT, 1, MILLION *MILLION, "\"3x estimate\"",
			"The most runs of a goal: a warning at 80 %, at 100 % nothing new starts "
			"and a person is asked.",
			AT(budget[RES_ITERATIONS]), .budget = true },
	{ "budget.wall", OPT_DURATION, 10, 3650 * OV_DAY, "\"3x estimate\"",
			"The longest time that the runs of a goal may take in all.",
			AT(budget[RES_WALL_MS]), .budget = true },
	{ "budget.tokens", OPT_INT, 1, MILLION *MILLION, "\"3x estimate\"",
			"The most tokens of a goal.", AT(budget[RES_TOKENS]), .budget = true },
	{ "budget.cost_usd", OPT_USD, 1, MILLION *MILLION, "\"3x estimate\"",
			"The most that a goal may cost, in dollars.", AT(budget[RES_COST_MICROUSD]),
			.budget = true },
	{ "quiet.from", OPT_CLOCK, 0, 0, "\"\"",
			"The time of day, local, from which nobody is nudged or asked, for example "
			"\"22:00\"; empty: there are no quiet hours.",
			AT(quiet_from) },
	{ "quiet.to", OPT_CLOCK, 0, 0, "\"\"", "The time of day at which that ends.",
			AT(quiet_to) },
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
			AT(planner_fallback) },
	{ "planner.diagnose", OPT_BOOL, 0, 0, "false",
			"Ask the model what to do about a stall, at most once for each.",
			AT(planner_diagnose) },
	{ "planner.max_plan_phases", OPT_INT, 1, 10, "5",
			"Number of phases in a plan of the planner's, at most.",
			AT(planner_max_phases) },
	{ "planner.max_tasks_per_phase", OPT_INT, 1, 20, "7",
			"Number of tasks in each of its phases, at most.", AT(planner_max_tasks) },
	{ "planner.max_subtasks_per_task", OPT_INT, 1, 20, "7",
			"Number of subtasks in each of its tasks, at most.",
			AT(planner_max_subtasks) },
	{ "limits.min_free_memory", OPT_BYTES, 0, 1024 * TIB, "\"256MiB\"",
			"Nothing new is started while less memory is free; \"0\" looks away.",
			AT(limits_min_free_memory_bytes) },
	{ "limits.min_free_disk", OPT_BYTES, 0, 1024 * TIB, "\"1GiB\"",
			"Nothing new starts while less is free on the file system of the store or "
			"of the worktrees; agents at work continue. \"0\" disables this.",
			AT(limits_min_free_disk_bytes) },
	{ "limits.max_load_pct", OPT_INT, 0, 10000, "0",
			"Nothing new is started while the load average, in percent of the number "
			"of processors, is higher; 0 looks away.",
			AT(limits_max_load_pct) },
	{ "limits.run_output", OPT_BYTES, KIB, TIB, "\"64MiB\"",
			"The most output that is kept of one run: its beginning and its end, "
			"half of it each.",
			AT(limits_run_output_bytes) },
	{ "workers.max", OPT_INT, 1, 256, "2",
			"Number of pool workers with a run or a step under way. Work that waits "
			"(for "
			"your files, review, its next attempt, its agent) keeps its worktree but "
			"does not count.",
			AT(workers_max) },
	{ "workers.max_waiting", OPT_INT, 1, 256, "8",
			"Number of tasks that may wait at once, of the pool and of auto mode each; "
			"then nothing new is started. Those that wait for their agent or for your "
			"answer to it give their worker back first.",
			AT(workers_max_waiting) },
	{ "workspace.check_command", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Run by sh -c in the worktree: work is accepted only when it succeeds. A "
			"node's own check command comes before it.",
			AT(workspace_check_command) },
	{ "workspace.check_timeout", OPT_DURATION, 10, 7 * OV_DAY, "\"15m\"",
			"A check that takes longer has failed.", AT(workspace_check_timeout) },
	{ "workspace.test_report", OPT_TEXTS, 0, LIMIT_NOTE, "[]",
			"Files beneath the worktree that the check command writes about its tests "
			"(JUnit XML, or what a test tool prints), as names or patterns such as "
			"\"build/*.xml\". Only what it wrote itself counts, before what it prints.",
			LIST_AT(workspace_test_report) },
	{ "workspace.coverage_report", OPT_TEXTS, 0, LIMIT_NOTE, "[]",
			"The same for coverage: lcov or Cobertura XML.",
			LIST_AT(workspace_coverage_report) },
	{ "workspace.setup_command", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Run by sh -c in every worktree that is new or was reset, before an agent "
			"works in it; OVERSEER_WORKER, OVERSEER_WORKTREE and OVERSEER_SESSION tell "
			"where. One runs at a time.",
			AT(workspace_setup_command) },
	{ "workspace.setup_timeout", OPT_DURATION, 10, 7 * OV_DAY, "\"10m\"",
			"A set-up that takes longer has failed.", AT(workspace_setup_timeout) },
	{ "workspace.serena", OPT_BOOL, 0, 0, "false",
			("Give each worktree a Serena project of its own: its name in "
			 ".serena/project.local.yml, "
			 "which is not committed."),
			AT(workspace_serena) },
	{ "workspace.check_sandbox", OPT_CHOICE, 0, 0, "\"agent\"",
			"Where setup, check and pre-accept commands run; they execute what an "
			"agent wrote. agent: in that agent's sandbox, with its env_pass and env. "
			"none: outside, with commands.env_pass.",
			check_sandboxes, AT(check_sandbox) },
	{ "commands.env_pass", OPT_TEXTS, 0, LIMIT_NAME, "[\"*\"]",
			"Environment variables that your own commands get from the daemon: pool, "
			"post-accept, planner, hook and remediation commands. A \"*\" at the end "
			"of a name matches any rest. The planner's key and the variables that "
			"channels read keys and addresses from must be named in full.",
			LIST_AT(commands_env_pass) },
	{ "rescue.ignored", OPT_UP_TO, 0, 1024 * TIB, "false",
			"Rescue files that git ignores, too. A size: up to that many bytes in all "
			"per rescue, the smallest files first; the others are treated as with "
			"`false`.",
			AT(rescue_ignored) },
	{ "rescue.keep", OPT_DURATION, 0, 3650 * OV_DAY, "\"30d\"",
			"`rescue prune` leaves what is younger; the newest of each node stays in "
			"any case.",
			AT(rescue_keep) },
	{ "rescue.keep_count", OPT_INT, 1, MILLION, "500",
			"And so many of the newest, however old they are.", AT(rescue_keep_count) },
	{ "supervisor.radar", OPT_BOOL, 0, 0, "true",
			"Look ahead for conflicts between branches under way and the target, and "
			"tell those who work on them.",
			AT(radar) },
	{ "patrol.restarts", OPT_INT, 0, 20, "2",
			"How often a session that is gone is started again before its worker is "
			"in error and a person is asked.",
			AT(patrol_restarts) },
	{ "patrol.confirm", OPT_DURATION, 10, OV_DAY, "\"30s\"",
			"An instruction typed into a terminal that is not confirmed after this is "
			"given again.",
			AT(patrol_confirm) },
	{ "patrol.resends", OPT_INT, 0, 20, "3", "How often that happens before it has failed.",
			AT(patrol_resends) },
	{ "accept.review", OPT_CHOICE, 0, 0, "\"never\"",
			"Whose work waits for a person (`worker review`) before it is accepted: "
			"nobody's, that of nodes with a high risk, everybody's.",
			reviews, AT(accept_review) },
	{ "accept.leftovers", OPT_CHOICE, 0, 0, "\"keep\"",
			"What happens to files that an agent left uncommitted. keep: they are "
			"committed and become part of its work. ask: also, and the work waits for "
			"your review with a list of them, even if it was checked. refuse: the work "
			"goes back to the agent.",
			leftovers, AT(accept_leftovers) },
	{ "accept.unchecked", OPT_CHOICE, 0, 0, "\"review\"",
			"What happens to finished work that nothing checked: no check command, no "
			"pre-accept command and no review. review: it waits for your review. "
			"accept: it is accepted all the same.",
			unchecked, AT(accept_unchecked) },
	{ "accept.ageing", OPT_DURATION, 10, 365 * OV_DAY, "\"30m\"",
			"Work that has waited for this long is served as if its priority were one "
			"step higher.",
			AT(accept_ageing) },
	{ "accept.remote", OPT_STR, 0, LIMIT_NAME, "\"\"",
			"A remote from which the target branch is fast-forwarded before work is "
			"rebased onto it; empty: only the local branch counts.",
			AT(accept_remote) },
	{ "accept.push", OPT_BOOL, 0, 0, "false",
			"Push the target branch to accept.remote after each accept.",
			AT(accept_push) },
	{ "accept.pre_accept_command", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Run by sh -c in the worktree, on the work as it would be on the target "
			"branch: it is accepted only when this succeeds.",
			AT(accept.pre) },
	{ "accept.pre_accept_timeout", OPT_DURATION, 10, 7 * OV_DAY, "\"15m\"",
			"It fails when it takes longer.", AT(accept.pre_timeout) },
	{ "accept.pre_accept_on_failure", OPT_CHOICE, 0, 0, "\"retry\"",
			"Then the work goes back to its agent (retry), or nothing more is accepted "
			"until a person says so (fail).",
			pre_failures, AT(accept.pre_on_failure) },
	{ "accept.post_accept_command", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Run by sh -c in the repository after each accept; the queue waits for it.",
			AT(accept.post) },
	{ "accept.post_accept_timeout", OPT_DURATION, 10, 7 * OV_DAY, "\"1h\"",
			"It fails when it takes longer.", AT(accept.post_timeout) },
	{ "accept.post_accept_on_failure", OPT_CHOICE, 0, 0, "\"fail\"",
			"Then nothing more is accepted until a person says so (fail), a person is "
			"told (warn), or the change is taken back and the work goes back to its "
			"agent (revert).",
			post_failures, AT(accept.post_on_failure) },
	{ "auto.task_pool_command", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Run by sh -c in the repository whenever an auto worker is free: prints "
			"the next task. Exit status 0 and nothing, or 4: none now; any other: "
			"failed.",
			AT(task_pool_command) },
	{ "auto.task_pool_timeout", OPT_DURATION, 10, OV_DAY, "\"1m\"",
			"It fails when it takes longer.", AT(task_pool_timeout) },
	{ "auto.task_pool_retries", OPT_INT, 0, 100, "5",
			"How often a command that failed is run again before "
			"auto.task_pool_on_failure counts.",
			AT(pool_retries) },
	{ "auto.task_pool_retry_wait", OPT_DURATION, 10, OV_DAY, "\"20s\"",
			"The wait before the first of these; each further one is twice as long.",
			AT(pool_retry_wait) },
	{ "auto.task_pool_on_failure", OPT_CHOICE, 0, 0, "\"pause\"",
			"Then auto mode pauses until a person answers (pause), it continues to ask "
			"and a person is told (warn), or it ends together with the daemon that was "
			"started for it, exit status 20 (fail).",
			pool_failures, AT(task_pool_on_failure) },
	{ "auto.max_failures_in_a_row", OPT_INT, 0, 1000, "3",
			"Number of tasks in a row that are given up before auto mode pauses until "
			"a person answers; an accepted one starts the count again. 0 disables.",
			AT(auto_failures) },
	{ "auto.budget.iterations", OPT_INT, 1, MILLION *MILLION, "200",
			"Number of runs of all tasks of the pool in any 24 hours. When it is used "
			"up, auto mode waits until there is room again.",
			AT(auto_budget[RES_ITERATIONS]), .budget = true },
	{ "auto.budget.wall", OPT_DURATION, 10, 3650 * OV_DAY, "\"1d\"",
			"Time of their runs in any 24 hours, all together.",
			AT(auto_budget[RES_WALL_MS]), .budget = true },
	{ "auto.budget.tokens", OPT_INT, 1, MILLION *MILLION, "60000000",
			"Their tokens in any 24 hours.", AT(auto_budget[RES_TOKENS]),
			.budget = true },
	{ "auto.budget.cost_usd", OPT_USD, 1, MILLION *MILLION, "60",
			"Their cost in any 24 hours, in dollars.",
			AT(auto_budget[RES_COST_MICROUSD]), .budget = true },
	{ "auto.task_budget.iterations", OPT_INT, 1, MILLION *MILLION, "20",
			"Number of runs of one task of the pool. A task that uses up its budget is "
			"stopped with its work kept, and an inbox entry is opened.",
			AT(task_budget[RES_ITERATIONS]), .budget = true },
	{ "auto.task_budget.wall", OPT_DURATION, 10, 3650 * OV_DAY, "\"4h\"",
			"Time of its runs, all together.", AT(task_budget[RES_WALL_MS]),
			.budget = true },
	{ "auto.task_budget.tokens", OPT_INT, 1, MILLION *MILLION, "10000000", "Its tokens.",
			AT(task_budget[RES_TOKENS]), .budget = true },
	{ "auto.task_budget.cost_usd", OPT_USD, 1, MILLION *MILLION, "10", "Its cost, in dollars.",
			AT(task_budget[RES_COST_MICROUSD]), .budget = true },
	{ "auto.pool_wait", OPT_DURATION, 10, OV_DAY, "\"10s\"",
			"When there was no task: how long until it is asked again; twice as long "
			"each further time. Accepted work ends the wait.",
			AT(pool_wait) },
	{ "auto.pool_wait_max", OPT_DURATION, 10, 7 * OV_DAY, "\"5m\"", "The longest such wait.",
			AT(pool_wait_max) },
	{ "auto.concurrency", OPT_INT, 1, 256, "1",
			"Number of auto workers (auto-1, auto-2 ...) with a run or a step under "
			"way; "
			"see workers.max.",
			AT(auto_concurrency) },
	{ "auto.agent", OPT_STR, 0, LIMIT_NAME, "\"\"",
			"The agent that does the tasks of the pool; empty: defaults.agent.",
			AT(auto_agent) },
	{ "auto.pre_accept_command", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"For these tasks instead of accept.pre_accept_command.",
			AT(automatic.pre) },
	{ "auto.pre_accept_timeout", OPT_DURATION, 0, 7 * OV_DAY, "\"0s\"",
			"Its timeout; \"0s\": as in [accept].", AT(automatic.pre_timeout) },
	{ "auto.pre_accept_on_failure", OPT_CHOICE, 0, 0, "\"\"",
			"What its failure means. pause: auto mode waits for an answer; fail: it "
			"ends, and the daemon with exit status 20; empty: as in [accept], where "
			"fail means pause.",
			auto_pre_failures, AT(automatic.pre_on_failure) },
	{ "auto.post_accept_command", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"For these tasks instead of accept.post_accept_command.",
			AT(automatic.post) },
	{ "auto.post_accept_timeout", OPT_DURATION, 0, 7 * OV_DAY, "\"0s\"",
			"Its timeout; \"0s\": as in [accept].", AT(automatic.post_timeout) },
	{ "auto.post_accept_on_failure", OPT_CHOICE, 0, 0, "\"\"", "The same after the accept.",
			auto_post_failures, AT(automatic.post_on_failure) },
	{ "accept.target", OPT_STR, 0, LIMIT_NAME, "\"\"",
			"The branch that accepted work goes to; empty: the one that was checked "
			"out when the first daemon started.",
			AT(accept_target) },
	{ "accept.conflict_rounds", OPT_INT, 1, 100, "3",
			"How often an agent resolves conflicts with the target branch before a "
			"person is asked.",
			AT(accept_conflict_rounds) },
	{ "accept.dirty_wait", OPT_DURATION, 10, OV_DAY, "\"5m\"",
			"Work that changes files which you have uncommitted changes in waits, and "
			"is "
			"tried again as soon as those files change, or after this time.",
			AT(accept_dirty_wait) },
	{ "accept.dirty_notice", OPT_DURATION, 10, OV_DAY, "\"1m\"",
			"After waiting this long, an inbox entry names the files.",
			AT(accept_dirty_notice) },
	{ "oversight.preset", OPT_CHOICE, 0, 0, "\"default\"",
			"The values of what is left out below: strict finds more, relaxed less; "
			"ci aborts at any regression.",
			preset_names, AT(oversight_preset) },
	{ "oversight.pause", OPT_CHOICE, 0, 0, "\"auto\"",
			"What level pause holds: the whole goal, or only the node; auto: the node "
			"while other work of its goal can go on without it, otherwise the goal. Of "
			"a task of the pool always the node.",
			pauses, AT(oversight_pause) },
	THRESHOLDS(THRESHOLD){ "http.enabled", OPT_BOOL, 0, 0, "true",
			"Serve HTTP (dashboard, /rpc, /events, /metrics) on the loopback address.",
			AT(http_enabled) },
	{ "http.port", OPT_INT, 0, 65535, "0",
			"The port; 0 takes a free one, which daemon.json tells.", AT(http_port) },
	{ "store.url", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Where the log is kept; empty: SQLite, in the store's folder.",
			AT(store_url) },
	{ "store.trace", OPT_BOOL, 0, 0, "false",
			"write every call of the store to the daemon's log, for debugging",
			AT(store_trace) },
	{ "store.snapshot_every", OPT_INT, 1, 1000 * 1000 * 1000, "10000",
			"Events between two snapshots; a start replays at most about that many.",
			AT(store_snapshot_every) },
	{ "store.verify_at_start", OPT_BOOL, 0, 0, "true",
			"Verify the whole store beside every start, which itself reads only what "
			"came "
			"after the snapshot.",
			AT(store_verify_at_start) },
	{ "store.archive", OPT_BOOL, 0, 0, "true",
			"When a goal is archived, move the events up to then to `archive.db`, "
			"step by "
			"step; they are read as before.",
			AT(store_archive) },
	{ "store.backups_kept", OPT_INT, 1, 10000, "7",
			"Backups that are kept in the folder `backups`; older ones are removed.",
			AT(store_backups_kept) },
	{ "watch.start_command", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Run by sh -c in the repository, with OVERSEER_DIR set, by `overseer "
			"watch` to start the daemon, which it must become (exec); empty: exec "
			"overseer up --foreground \"$@\", as PATH finds it. \"$@\" are the options "
			"that watch was given.",
			AT(watch.start_command) },
	{ "watch.remediation_agent", OPT_STR, 0, LIMIT_NAME, "\"\"",
			"The agent of [agents.NAME] that is asked to mend what made the daemon "
			"fail; empty: nobody, the daemon is only started again.",
			AT(watch.remediation_agent) },
	{ "watch.remediation_command", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Instead of an agent: run by sh -c, with the prompt on standard input and "
			"its file's name in OVERSEER_PROMPT_FILE.",
			AT(watch.remediation_command) },
	{ "watch.remediation_prompt", OPT_STR, 0, LIMIT_INSTRUCTION, "\"\"",
			"What it is told first: the project, what usually goes wrong, how it is "
			"mended. What happened is added.",
			AT(watch.remediation_prompt) },
	{ "watch.remediation_dir", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Where it works, absolute or from the repository; empty: the repository.",
			AT(watch.remediation_dir) },
	{ "watch.remediation_timeout", OPT_DURATION, 10, 7 * OV_DAY, "\"30m\"",
			"A remediation that takes longer is ended, and has failed.",
			AT(watch.remediation_timeout) },
	{ "watch.registration_timeout", OPT_DURATION, 10, OV_DAY, "\"1m\"",
			"The time that a daemon has from its start until it is up.",
			AT(watch.registration_timeout) },
	{ "watch.heartbeat_timeout", OPT_DURATION, 10, OV_DAY, "\"30s\"",
			"A daemon whose main loop has not turned for this long has failed. It "
			"beats every 5 seconds, or three times in this time.",
			AT(watch.heartbeat_timeout) },
	{ "watch.stall_timeout", OPT_DURATION, 10, 30 * OV_DAY, "\"1h\"",
			"A daemon under which nothing has moved for this long, though work is due, "
			"is started again.",
			AT(watch.stall_timeout) },
	{ "watch.grace", OPT_DURATION, 10, OV_DAY, "\"30s\"",
			"The time between asking a daemon that failed to end (SIGTERM) and killing "
			"it.",
			AT(watch.grace) },
	{ "watch.restart_cooldown", OPT_DURATION, 0, OV_DAY, "\"1m\"",
			"A daemon that fails again after a remediation without having been healthy "
			"for this long is left to a person.",
			AT(watch.restart_cooldown) },
	{ "watch.max_restarts", OPT_INT, 1, 1000, "20",
			"The most starts after a failure within 24 hours; then it is left to a "
			"person.",
			AT(watch.max_restarts) },
};
#undef AT
#undef LIST_AT
#undef ROUTE_AT

/* What a file of an earlier version may still say. */
static const struct obsolete_option obsolete[] = {
	{ "accept.dirty_tries", "work waits until your files are out of its way" },
	{ "accept.dirty_wait_max", "the time between two attempts is accept.dirty_wait" },
};

const struct obsolete_option *config_obsolete(size_t *ret_n)
{
	*ret_n = ARRAY_LEN(obsolete);
	return obsolete;
}

struct options config_options(void)
{
	return (struct options){ options, ARRAY_LEN(options) };
}
