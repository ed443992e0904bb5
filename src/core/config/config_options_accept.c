/* Accepting work, and auto mode: the options. */
#include "core/config/config_table.h"
#include "core/model/limits.h"

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

static const struct option table[] = {
	{ "accept.review", OPT_CHOICE, 0, 0, "\"never\"",
			"Whose work waits for a person (`worker review`) before it is accepted: "
			"nobody's, that of nodes with a high risk, everybody's.",
			reviews, AT(policy.review) },
	{ "accept.leftovers", OPT_CHOICE, 0, 0, "\"keep\"",
			"What happens to files that an agent left uncommitted. keep: they are "
			"committed and become part of its work. ask: also, and the work waits for "
			"your review with a list of them, even if it was checked. refuse: the work "
			"goes back to the agent.",
			leftovers, AT(policy.leftovers) },
	{ "accept.unchecked", OPT_CHOICE, 0, 0, "\"review\"",
			"What happens to finished work that nothing checked: no check command, no "
			"pre-accept command and no review. review: it waits for your review. "
			"accept: it is accepted all the same.",
			unchecked, AT(policy.unchecked) },
	{ "accept.ageing", OPT_DURATION, 10, 365 * OV_DAY, "\"30m\"",
			"Work that has waited for this long is served as if its priority were one "
			"step higher.",
			AT(policy.ageing) },
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
			AT(policy.accept.pre) },
	{ "accept.pre_accept_timeout", OPT_DURATION, 10, 7 * OV_DAY, "\"15m\"",
			"It fails when it takes longer.", AT(policy.accept.pre_timeout) },
	{ "accept.pre_accept_on_failure", OPT_CHOICE, 0, 0, "\"retry\"",
			"Then the work goes back to its agent (retry), or nothing more is accepted "
			"until a person says so (fail).",
			pre_failures, AT(policy.accept.pre_on_failure) },
	{ "accept.post_accept_command", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Run by sh -c in the repository after each accept; the queue waits for it.",
			AT(policy.accept.post) },
	{ "accept.post_accept_timeout", OPT_DURATION, 10, 7 * OV_DAY, "\"1h\"",
			"It fails when it takes longer.", AT(policy.accept.post_timeout) },
	{ "accept.post_accept_on_failure", OPT_CHOICE, 0, 0, "\"fail\"",
			"Then nothing more is accepted until a person says so (fail), a person is "
			"told (warn), or the change is taken back and the work goes back to its "
			"agent (revert).",
			post_failures, AT(policy.accept.post_on_failure) },
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
			AT(policy.pool_retries) },
	{ "auto.task_pool_retry_wait", OPT_DURATION, 10, OV_DAY, "\"20s\"",
			"The wait before the first of these; each further one is twice as long.",
			AT(policy.pool_retry_wait) },
	{ "auto.task_pool_on_failure", OPT_CHOICE, 0, 0, "\"pause\"",
			"Then auto mode pauses until a person answers (pause), it continues to ask "
			"and a person is told (warn), or it ends together with the daemon that was "
			"started for it, exit status 20 (fail).",
			pool_failures, AT(policy.pool_on_failure) },
	{ "auto.max_failures_in_a_row", OPT_INT, 0, 1000, "3",
			"Number of tasks in a row that are given up before auto mode pauses until "
			"a person answers; an accepted one starts the count again. 0 disables.",
			AT(policy.auto_failures) },
	{ "auto.budget.iterations", OPT_INT, 1, MILLION *MILLION, "200",
			"Number of runs of all tasks of the pool in any 24 hours. When it is used "
			"up, auto mode waits until there is room again.",
			AT(policy.auto_budget[RES_ITERATIONS]), .budget = true },
	{ "auto.budget.wall", OPT_DURATION, 10, 3650 * OV_DAY, "\"1d\"",
			"Time of their runs in any 24 hours, all together.",
			AT(policy.auto_budget[RES_WALL_MS]), .budget = true },
	{ "auto.budget.tokens", OPT_INT, 1, MILLION *MILLION, "60000000",
			"Their tokens in any 24 hours.", AT(policy.auto_budget[RES_TOKENS]),
			.budget = true },
	{ "auto.budget.cost_usd", OPT_USD, 1, MILLION *MILLION, "60",
			"Their cost in any 24 hours, in dollars.",
			AT(policy.auto_budget[RES_COST_MICROUSD]), .budget = true },
	{ "auto.task_budget.iterations", OPT_INT, 1, MILLION *MILLION, "20",
			"Number of runs of one task of the pool. A task that uses up its budget is "
			"stopped with its work kept, and an inbox entry is opened.",
			AT(policy.task_budget[RES_ITERATIONS]), .budget = true },
	{ "auto.task_budget.wall", OPT_DURATION, 10, 3650 * OV_DAY, "\"4h\"",
			"Time of its runs, all together.", AT(policy.task_budget[RES_WALL_MS]),
			.budget = true },
	{ "auto.task_budget.tokens", OPT_INT, 1, MILLION *MILLION, "10000000", "Its tokens.",
			AT(policy.task_budget[RES_TOKENS]), .budget = true },
	{ "auto.task_budget.cost_usd", OPT_USD, 1, MILLION *MILLION, "10", "Its cost, in dollars.",
			AT(policy.task_budget[RES_COST_MICROUSD]), .budget = true },
	{ "auto.pool_wait", OPT_DURATION, 10, OV_DAY, "\"10s\"",
			"When there was no task: how long until it is asked again; twice as long "
			"each further time. Accepted work ends the wait.",
			AT(policy.pool_wait) },
	{ "auto.pool_wait_max", OPT_DURATION, 10, 7 * OV_DAY, "\"5m\"", "The longest such wait.",
			AT(policy.pool_wait_max) },
	{ "auto.concurrency", OPT_INT, 1, 256, "1",
			"Number of auto workers (auto-1, auto-2 ...) with a run or a step under "
			"way; "
			"see workers.max.",
			AT(policy.auto_concurrency) },
	{ "auto.agent", OPT_STR, 0, LIMIT_NAME, "\"\"",
			"The agent that does the tasks of the pool; empty: defaults.agent.",
			AT(auto_agent) },
	{ "auto.pre_accept_command", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"For these tasks instead of accept.pre_accept_command.",
			AT(policy.automatic.pre) },
	{ "auto.pre_accept_timeout", OPT_DURATION, 0, 7 * OV_DAY, "\"0s\"",
			"Its timeout; \"0s\": as in [accept].", AT(policy.automatic.pre_timeout) },
	{ "auto.pre_accept_on_failure", OPT_CHOICE, 0, 0, "\"\"",
			"What its failure means. pause: auto mode waits for an answer; fail: it "
			"ends, and the daemon with exit status 20; empty: as in [accept], where "
			"fail means pause.",
			auto_pre_failures, AT(policy.automatic.pre_on_failure) },
	{ "auto.post_accept_command", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"For these tasks instead of accept.post_accept_command.",
			AT(policy.automatic.post) },
	{ "auto.post_accept_timeout", OPT_DURATION, 0, 7 * OV_DAY, "\"0s\"",
			"Its timeout; \"0s\": as in [accept].", AT(policy.automatic.post_timeout) },
	{ "auto.post_accept_on_failure", OPT_CHOICE, 0, 0, "\"\"", "The same after the accept.",
			auto_post_failures, AT(policy.automatic.post_on_failure) },
	{ "accept.target", OPT_STR, 0, LIMIT_NAME, "\"\"",
			"The branch that accepted work goes to; empty: the one that was checked "
			"out when the first daemon started.",
			AT(accept_target) },
	{ "accept.conflict_rounds", OPT_INT, 1, 100, "3",
			"How often an agent resolves conflicts with the target branch before a "
			"person is asked.",
			AT(policy.conflict_rounds) },
	{ "accept.dirty_wait", OPT_DURATION, 10, OV_DAY, "\"5m\"",
			"Work that changes files which you have uncommitted changes in waits, and "
			"is "
			"tried again as soon as those files change, or after this time.",
			AT(policy.dirty_wait) },
	{ "accept.dirty_notice", OPT_DURATION, 10, OV_DAY, "\"1m\"",
			"After waiting this long, an inbox entry names the files.",
			AT(policy.dirty_notice) },
};

const struct options config_options_accept = { table, ARRAY_LEN(table) };
