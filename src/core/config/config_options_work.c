/* Where agents work, and what is kept of it: the options. */
#include "core/config/config_table.h"
#include "core/model/limits.h"

static const char *const check_sandboxes[] = { "agent", "none", NULL };

static const struct option table[] = {
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
			AT(policy.workers_max) },
	{ "workers.max_waiting", OPT_INT, 1, 256, "8",
			"Number of tasks that may wait at once, of the pool and of auto mode each; "
			"then nothing new is started. Those that wait for their agent or for your "
			"answer to it give their worker back first.",
			AT(policy.workers_max_waiting) },
	{ "workspace.check_command", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Run by sh -c in the worktree: work is accepted only when it succeeds. A "
			"node's own check command comes before it.",
			AT(policy.check_command) },
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
	{ "patrol.restarts", OPT_INT, 0, 20, "2",
			"How often a session that is gone is started again before its worker is "
			"in error and a person is asked.",
			AT(policy.patrol_restarts) },
	{ "patrol.confirm", OPT_DURATION, 10, OV_DAY, "\"30s\"",
			"An instruction typed into a terminal that is not confirmed after this is "
			"given again.",
			AT(policy.patrol_confirm) },
	{ "patrol.resends", OPT_INT, 0, 20, "3", "How often that happens before it has failed.",
			AT(policy.patrol_resends) },
};

const struct options config_options_work = { table, ARRAY_LEN(table) };
