/* Tasks, their runs, agents and the queue: the commands. */
#include "cli/command_table.h"
#include "cli/oversight.h"

static const struct flag agent_test_flags[] = {
	TEXT("note", "TEXT", "further words for the agent, appended to each prompt"),
};
static const struct flag scope_flags[] = {
	OF_GOAL,
	LIST("allow", "TOOL,...", "only these may be used (repeatable)"),
	LIST("deny", "TOOL,...", "these may not be used (repeatable)"),
	REASON,
};
static const struct flag work_list_flags[] = {
	GOAL,
	TEXT("status", "WORD", "todo, queued, in_progress, blocked, done or cancelled"),
};
static const struct flag block_flags[] = {
	OF_GOAL,
	REASON,
	TEXT("unblock-when", "TEXT", "what would unblock it"),
	TEXT("kind", "WORD", "person (the default), paused or credential"),
	TEXT("needs", "WHAT", "kind credential: which one; never the credential itself"),
	TEXT("configure", "WHERE", "kind credential: where to put it"),
};
static const struct flag reassign_flags[] = {
	OF_GOAL,
	TEXT("agent", "NAME", "who shall do it; the usual agent when absent"),
	REASON,
};
static const struct flag nudge_flags[] = {
	OF_GOAL,
	TEXT("message", "TEXT", "what you want to tell it besides"),
	BOOL("force", "even if the same was sent a moment ago"),
	BOOL("now", "end the run, and go on with its session at once"),
};
static const struct flag run_list_flags[] = {
	GOAL,
	TEXT("node", "ID", "only runs of this node"),
	TEXT("status", "WORD", "starting, running or ended"),
};
static const struct flag run_log_flags[] = {
	BOOL("follow", "keep printing until the run ends or Ctrl-C"),
	BOOL("raw", "print what it wrote as it is: lines of JSON, control characters"),
};
static const struct flag why_flags[] = { WHY };
static const struct flag of_goal_flags[] = { OF_GOAL };
static const struct flag reason_flags[] = { OF_GOAL, REASON };

static const struct command table[] = {
	{ "work", "list", "List the pieces of work", "", 0, 0, FLAGS(work_list_flags),
			cmd_work_list, NULL },
	{ "work", "show", "Show a node, its assignment and its runs", "ID", 1, 1,
			FLAGS(of_goal_flags), cmd_work_show, NULL },
	{ "work", "iterations", "What each of the newest runs of a node showed of its work", "ID",
			1, 1, FLAGS(of_goal_flags), cmd_work_iterations, NULL },
	{ "work", "done", "Declare a node done, past the ordinary checks", "ID", 1, 1,
			FLAGS(reason_flags), cmd_work_done, NULL },
	{ "work", "block", "Keep a node from being worked on", "ID", 1, 1, FLAGS(block_flags),
			cmd_work_block, NULL },
	{ "work", "unblock", "Let a blocked node go on", "ID", 1, 1, FLAGS(reason_flags),
			cmd_work_unblock, NULL },
	{ "work", "cancel", "Cancel a node; what was made is kept", "ID", 1, 1, FLAGS(reason_flags),
			cmd_work_cancel,
			"A cancelled node is final: nothing waits for it any more." },
	{ "work", "reopen", "Have a node that is done worked on again", "ID", 1, 1,
			FLAGS(reason_flags), cmd_work_reopen,
			"Its parents, and its goal if that was completed, are open again with "
			"it." },
	{ "work", "reassign", "Let somebody else go on with a node", "ID", 1, 1,
			FLAGS(reassign_flags), cmd_work_reassign,
			"Its run is stopped and its work kept; the next assignment goes on from "
			"there." },
	{ "work", "nudge", "Ask a node's run for its status now", "ID", 1, 1, FLAGS(nudge_flags),
			cmd_work_nudge,
			"It is told by its input (agents.NAME.input), or when it next stops, if "
			"its format has hooks; with --now at once, if its session can be gone on "
			"with. What it has not taken when it ends its session is gone on with." },
	{ "work", "rerun", "Stop a node's run and start a new one", "ID", 1, 1, FLAGS(reason_flags),
			cmd_work_rerun, "The new run is told the reason." },
	{ "work", "scope", "Take tools away from a node", "ID", 1, 1, FLAGS(scope_flags),
			cmd_work_scope,
			"A tool is named as its agent calls it, or by its class: read, edit, "
			"shell, web, agents, mcp. This can be\nnarrowed, never widened, and "
			"holds for every later run, whoever does it." },
	{ "run", "list", "List runs", "", 0, 0, FLAGS(run_list_flags), cmd_run_list, NULL },
	{ "run", "show", "Show a run", "ID", 1, 1, NO_FLAGS, cmd_run_show, NULL },
	{ "run", "log", "Print what a run wrote", "ID", 1, 1, FLAGS(run_log_flags), cmd_run_log,
			NULL },
	{ "run", "stop", "Stop a run; its node waits for you", "ID", 1, 1, FLAGS(why_flags),
			cmd_run_stop, "Its work is kept." },
	{ "agent", "list", "The configured agents, and what each waits for", "", 0, 0, NO_FLAGS,
			cmd_agent_list, "Below: what it cannot tell, which agent show explains." },
	{ "agent", "show", "Show an agent, and what it cannot tell", "NAME", 1, 1, NO_FLAGS,
			cmd_agent_show,
			"What its format does not tell in its runtime, and what follows from "
			"that: a budget that does not hold, a trouble that is found late." },
	{ "agent", "test", "Try an agent on a toy task", "NAME", 1, 1, FLAGS(agent_test_flags),
			cmd_agent_test,
			"Runs it a few times in a scratch repository below .overseer/, which is "
			"removed afterwards, and says of each thing that Overseer wants of an "
			"agent what was seen: starts, streams, edits, reports usage, hooks, "
			"resumes, is denied tools, can be interrupted. This asks the agent's "
			"model a few short things. Needs no daemon. The exit status is 1 when "
			"something that is needed failed." },
	{ "queue", "list", "What waits to be accepted or begun, and why", "", 0, 0, NO_FLAGS,
			cmd_queue_list, NULL },
	{ "queue", "retry", "End a node's wait before its next step", "ID", 1, 1,
			FLAGS(of_goal_flags), cmd_queue_retry, NULL },
	{ "queue", "drop", "Take a node out of the queue", "ID", 1, 1, FLAGS(reason_flags),
			cmd_queue_drop, "It is blocked, and what was made stays on its branch." },
};

const struct command_list commands_work = { table, ARRAY_LEN(table) };
