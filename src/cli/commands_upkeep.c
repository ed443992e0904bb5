/* What happened and why, the configuration, and the care of the store: the commands. */
#include "cli/command_table.h"

static const struct flag events_flags[] = {
	BOOL("follow", "keep printing new events until Ctrl-C"),
	GOAL,
	TEXT("node", "ID", "only events about this node"),
	TEXT("type", "WORD", "only events of this type (docs/events.md); \"run.\": all of runs"),
	TIME("since", "only events since then", false),
	INT("after", "only events with a greater number"),
	INT("limit", "maximum number (100)"),
};
static const struct flag explain_flags[] = {
	OF_GOAL,
	BOOL("all", "Show all facts"),
};
static const struct flag tick_flags[] = {
	BOOL("now", "at once; this is what the command does anyway"),
	BOOL("dry-run", "only say what would be decided"),
};
static const struct flag detect_flags[] = {
	TEXT("preset", "NAME", "default, strict, relaxed or ci"),
	LIST("set", "KEY=VALUE", "as in [oversight]: stuck.same_error_count=2 (repeatable)"),
	BOOL("exit-zero", "exit with 0 whatever is found"),
};
static const struct flag config_show_flags[] = {
	BOOL("effective", "defaults too"),
};
static const struct flag doctor_flags[] = {
	BOOL("fix", "repair what can be repaired safely, after a backup"),
	BOOL("rebuild", "write a new store from what can be verified of a damaged one"),
};
static const struct flag rescue_list_flags[] = {
	TEXT("worker", "NAME", "only what was in this worker's worktree"),
	TEXT("node", "ID", "only of this node"),
	INT("limit", "at most so many, the newest (50)"),
};
static const struct flag rescue_show_flags[] = {
	BOOL("stat", "the files only, without the changes in them"),
};
static const struct flag rescue_restore_flags[] = {
	TEXT("branch", "NAME", "the branch to make (rescue/WORKER-END-OF-ID)"),
};
static const struct flag rescue_prune_flags[] = {
	BOOL("dry-run", "only say what would go"),
};
static const struct flag help_flags[] = {
	BOOL("markdown", "everything, as docs/commands.md"),
};

static const struct flag of_goal_flags[] = { OF_GOAL };

static const struct command table[] = {
	{ "events", NULL, "What happened, in order", "", 0, 0, FLAGS(events_flags), cmd_events,
			NULL },
	{ "explain", NULL, "Why something is as it is", "ID", 1, 1, FLAGS(explain_flags),
			cmd_explain,
			"ID is a task, goal, run, assignment, dispatch, notice, worker or agent, "
			"the number of an inbox entry ('#1' or 1), or the word daemon. The first "
			"three lines are the state, why, and what happens next." },
	{ "handoff", "show", "What whoever goes on with a node is told of it", "ID", 1, 1,
			FLAGS(of_goal_flags), cmd_handoff_show,
			"ID is a node or a goal. With --json the whole record: decisions, "
			"evidence, where to look further." },
	{ "hook", NULL, "What agents' hooks call; needs no daemon", "[EVENT]", 0, 1, NO_FLAGS,
			cmd_hook,
			"Reads a call of a hook from standard input and notes it in the run's "
			"folder (OVERSEER_RUN_DIR; without it, nothing\nis done). Denies tools "
			"that are outside the scope of the task, and hands an agent that wants "
			"to stop what it is told next.\nEVENT is meant where the call itself "
			"names none." },
	{ "tick", NULL, "Look at everything now, and decide", "", 0, 0, FLAGS(tick_flags), cmd_tick,
			NULL },
	{ "detect", NULL, "Run the detectors on a history; needs no daemon", "FILE", 1, 1,
			FLAGS(detect_flags), cmd_detect,
			"FILE is {\"history\": [...]} or JSON Lines, - for standard input; "
			"docs/oversight.md has the fields. Exit status 0 when the\nloop is "
			"healthy, 1 when something was found that calls for more than a note, 2 "
			"when the input is bad." },
	{ "config", "show", "Show the configuration in use", "", 0, 0, FLAGS(config_show_flags),
			cmd_config_show, NULL },
	{ "config", "check", "Check a configuration; needs no daemon", "[FILE]", 0, 1, NO_FLAGS,
			cmd_config_check,
			"Without FILE the store's config.toml. FILE may be - for standard input." },
	{ "config", "timeline", "Show when a silent run is nudged, ended, escalated", "[AGENT]", 0,
			1, NO_FLAGS, cmd_config_timeline, "Of AGENT, or of all agents." },
	{ "config", "reload", "Let the daemon read config.toml again", "", 0, 0, NO_FLAGS,
			cmd_config_reload, "A file with an error changes nothing." },
	{ "rescue", "list", "What was kept of agents' work, newest first", "", 0, 0,
			FLAGS(rescue_list_flags), cmd_rescue_list,
			"Before a worktree is reset, removed, rebased or its run stopped, "
			"everything in it is kept under a ref of its own." },
	{ "rescue", "show", "Show commits and changes of what was kept", "ID", 1, 1,
			FLAGS(rescue_show_flags), cmd_rescue_show, NULL },
	{ "rescue", "restore", "Make a branch of what was kept", "ID", 1, 1,
			FLAGS(rescue_restore_flags), cmd_rescue_restore,
			"Nothing else is changed: look at the branch, merge or pick from it." },
	{ "rescue", "prune", "Let go of what is old", "", 0, 0, FLAGS(rescue_prune_flags),
			cmd_rescue_prune,
			"By rescue.keep and rescue.keep_count; the newest of each node stays, "
			"and what somebody goes on from. The daemon does the\nsame once a day." },
	{ "doctor", NULL, "Check the store and all around it; can repair", "", 0, 0,
			FLAGS(doctor_flags), cmd_doctor,
			"Works with the daemon running or not; --rebuild needs it down. Nothing "
			"that could hold work is removed.\nA damaged store is kept as "
			"store.corrupt-TIME.db. Exit status 4 when there is a problem." },
	{ "backup", NULL, "Write a verified copy of the store, also while the daemon runs",
			"[FILE]", 0, 1, NO_FLAGS, cmd_backup,
			"Without FILE into .overseer/backups/, where the newest few are kept "
			"(store.backups_kept)." },
	{ "export", NULL, "Write the whole store as one JSON document", "[FILE]", 0, 1, NO_FLAGS,
			cmd_export, "Without FILE to standard output." },
	{ "import", NULL, "Read an exported document into an empty store", "FILE", 1, 1, NO_FLAGS,
			cmd_import,
			"Everything is checked first; an error changes nothing. Needs a folder "
			"where no daemon has run yet." },
	{ "version", NULL, "Print the version", "", 0, 0, NO_FLAGS, cmd_version, NULL },
	{ "help", NULL, "Show help", "[COMMAND]", 0, 2, FLAGS(help_flags), cmd_help, NULL },
};

const struct command_list commands_upkeep = { table, ARRAY_LEN(table) };
