/* The daemon, and what it shows of everything: the commands. */
#include "cli/command_table.h"

#define DAEMON_FLAGS                                                                             \
	BOOL("auto", "get tasks from a pool (see overseer auto)"),                               \
			TEXT("task-pool-command", "CMD",                                         \
					"with --auto: prints the next task, as "                 \
					"auto.task_pool_command"),                               \
			INT("concurrency", "with --auto: number of workers (auto.concurrency)"), \
			TEXT("agent", "NAME", "with --auto: who does the tasks, as auto.agent"), \
			TEXT("pre-accept-command", "CMD",                                        \
					"with --auto: must succeed before a task's change is "   \
					"taken"),                                                \
			TEXT("post-accept-command", "CMD",                                       \
					"with --auto: run after a task's change was taken"),     \
			LIST("set", "KEY=VALUE",                                                 \
					"an option in place of config.toml's, as long as this "  \
					"daemon runs")
static const struct flag up_flags[] = {
	BOOL("foreground", "stay in the foreground, for service managers"),
	DAEMON_FLAGS,
};
static const struct flag down_flags[] = {
	BOOL("stop-runs", "stop the agents too; their work is kept and resumed by the next up"),
};
static const struct flag watch_flags[] = { DAEMON_FLAGS };
static const struct flag service_flags[] = {
	BOOL("auto", "the service takes tasks from the pool, as up --auto"),
	TEXT("name", "NAME", "of the unit, overseer-NAME.service; the repository's when absent"),
	BOOL("print", "print the unit, and write nothing"),
	BOOL("remove", "take the unit away again"),
	BOOL("force", "in place of any unit that is there, and although it is enabled"),
};
static const struct flag status_flags[] = {
	BOOL("watch", "show it again whenever something happens, until Ctrl-C"),
};
static const struct flag cost_flags[] = {
	TEXT("by", "WORD", "goal (the default), agent, model, day or node"),
	TIME("since", "only days since then", false),
	GOAL,
};
static const struct flag report_flags[] = {
	TEXT("html", "FILE",
			"write the report of a goal as HTML, with charts; - is standard output"),
	BOOL("markdown", "the report of a goal as Markdown (the default)"),
	BOOL("detectors", "how well the detectors do, and what follows for their thresholds"),
	GOAL,
	TIME("since", "what happened since then (default 1d)", false),
};

static const struct command table[] = {
	{ "init", NULL, "Prepare a git repository for Overseer", "", 0, 0, NO_FLAGS, cmd_init,
			"Makes .overseer/ with a commented config.toml, looks for agents and for "
			"the command that tests the repository,\nand tells git to ignore the "
			"folder. A configuration that exists is kept." },
	{ "up", NULL, "Start the daemon and return when it is ready", "", 0, 0, FLAGS(up_flags),
			cmd_up,
			"A daemon that is up already is left as it is (exit status 0), unless it "
			"lacks options that are given (exit status 4).\nThe daemon is looked for "
			"beside this program, then in PATH; $OVERSEERD names another one." },
	{ "down", NULL, "Stop the daemon; agents continue unless told otherwise", "", 0, 0,
			FLAGS(down_flags), cmd_down,
			"Agents at work continue without it, and the next daemon takes up what "
			"they did. Those that were asked to stop are stopped first." },
	{ "watch", NULL, "Keep the daemon running: start, watch, repair, restart it", "", 0, 0,
			FLAGS(watch_flags), cmd_watch,
			"Stays in the foreground. A daemon that runs is taken over, otherwise "
			"one is started with these options.\nWhen it fails, [watch] "
			"remediation_agent or remediation_command is asked to repair it, then it "
			"is\nrestarted; one that fails again at once is left to you. Ctrl-C "
			"ends both, a second one at once.\nThe watchdog is looked for beside "
			"this program, then in PATH; $OVERSEER_WATCH names another one.\nExit "
			"status: 0 asked to end, 4 there is another, 21 failed again at once, 22 "
			"a person is asked for,\n23 too many restarts, 24 the daemon cannot be "
			"ended, 130 a second Ctrl-C." },
	{ "install-service", NULL, "Write a systemd user unit that keeps the daemon running", "", 0,
			0, FLAGS(service_flags), cmd_install_service,
			"Instead of overseer watch, where systemd is to see to the daemon. "
			"Writes $XDG_CONFIG_HOME/systemd/user/overseer-NAME.service\nand says "
			"what to type next; systemd itself is not asked to do anything. A unit "
			"that is there and differs is kept." },
	{ "status", NULL, "What needs you, what runs, how the goals stand", "", 0, 0,
			FLAGS(status_flags), cmd_status, NULL },
	{ "cost", NULL, "What was used and what it cost", "", 0, 0, FLAGS(cost_flags), cmd_cost,
			"Runs under way are in the figures and told apart. A cost with + is of "
			"some runs only, ? is not known:\nwhat has no price is said below the "
			"table." },
	{ "report", NULL, "How a goal, the detectors, or a night went", "[GOAL]", 0, 1,
			FLAGS(report_flags), cmd_report,
			"With GOAL: progress, cost, iterations, detections and their answers, "
			"who was told and asked, what is next.\nWithout: what happened in the "
			"last day, or --since. With --detectors: how often each was right; "
			"--goal takes one\ngoal alone. Works without the daemon." },
};

const struct command_list commands_daemon = { table, ARRAY_LEN(table) };
