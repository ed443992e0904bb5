/* Every command, as data. */
#include "cli/command.h"
#include "cli/oversight.h"
#include "cli/worker.h"

#define BOOL(name, help)                           \
	{                                          \
		name, NULL, help, FLAG_BOOL, false \
	}
#define TEXT(name, arg, help)                     \
	{                                         \
		name, arg, help, FLAG_TEXT, false \
	}
#define NEED(name, arg, help)                    \
	{                                        \
		name, arg, help, FLAG_TEXT, true \
	}
#define LIST(name, arg, help)                     \
	{                                         \
		name, arg, help, FLAG_LIST, false \
	}
#define TIME(name, help, required)                      \
	{                                               \
		name, "TIME", help, FLAG_TIME, required \
	}
#define INT(name, help)                          \
	{                                        \
		name, "N", help, FLAG_INT, false \
	}
#define GOAL TEXT("goal", "ID", "only this goal (an id, or a unique prefix of one)")
#define OF_GOAL \
	TEXT("goal", "ID", "the goal that the node belongs to, when several have such a node")

#define DAEMON_FLAGS                                                                             \
	BOOL("auto", "get tasks from a pool (see overseer auto)"),                               \
			TEXT("task-pool-command", "CMD",                                         \
					"with --auto: prints the next task, as "                 \
					"auto.task_pool_command"),                               \
			INT("concurrency", "with --auto: so many workers, as auto.concurrency"), \
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
static const struct flag agent_test_flags[] = {
	TEXT("note", "TEXT", "further words for the agent, appended to each prompt"),
};
static const struct flag auto_start_flags[] = {
	TEXT("task-pool-command", "CMD", "prints the next task, as auto.task_pool_command"),
	INT("concurrency", "number of workers, as auto.concurrency"),
};
static const struct flag auto_stop_flags[] = {
	TEXT("reason", "TEXT", "why; recorded with your name"),
};
static const struct flag status_flags[] = {
	BOOL("watch", "show it again whenever something happens, until Ctrl-C"),
};
#define GOAL_FLAGS                                                                            \
	TEXT("problem", "TEXT|@FILE", "what is to be solved"),                                \
			LIST("success", "TEXT",                                               \
					"what must be observable at the end (repeatable)"),   \
			LIST("constraint", "TEXT", "what must be kept (repeatable)"),         \
			LIST("non-goal", "TEXT", "what is not asked for (repeatable)"),       \
			LIST("assumption", "TEXT", "what is taken for granted (repeatable)"), \
			LIST("stakeholder", "NAME", "who else cares (repeatable)"),           \
			LIST("risk", "RISK[|IMPACT[|MITIGATION]]",                            \
					"what may go wrong (repeatable)"),                    \
			LIST("tag", "WORD", "for finding it again (repeatable)"),             \
			TEXT("owner", "NAME", "who answers for it; you, unless you say so"),  \
			TEXT("repo-context", "TEXT|@FILE",                                    \
					"what is assumed about the repository"),              \
			TEXT("priority", "WORD", "urgent, high, normal, low or background"),  \
			LIST("estimate", "NAME=AMOUNT",                                       \
					"expected iterations, wall, tokens or cost_usd "      \
					"(repeatable)"),                                      \
			LIST("budget", "NAME=AMOUNT",                                         \
					"the most of each, or unlimited, or default "         \
					"(repeatable)"),                                      \
			LIST("oversight", "KEY=VALUE",                                        \
					"as in [oversight], for this goal: "                  \
					"stuck.same_error_count=2 (repeatable)")
static const struct flag scope_flags[] = {
	OF_GOAL,
	LIST("allow", "TOOL,...", "only these may be used (repeatable)"),
	LIST("deny", "TOOL,...", "these may not be used (repeatable)"),
	NEED("reason", "TEXT", "why; recorded with your name"),
};
static const struct flag goal_create_flags[] = {
	NEED("title", "TEXT", "one line"),
	GOAL_FLAGS,
	TEXT("origin-session", "TEXT", "the session that asks for it"),
	TEXT("origin-context", "JSON|@FILE", "how to reach who asks"),
	TEXT("plan", "FILE", "a plan, applied at once (- reads standard input)"),
	BOOL("no-plan", "leave it without a plan until plan apply"),
};
static const struct flag goal_update_flags[] = {
	TEXT("title", "TEXT", "one line"),
	GOAL_FLAGS,
	LIST("clear", "NAME", "makes a text or a list empty (repeatable)"),
	TEXT("reason", "TEXT", "why; recorded with your name"),
};
static const struct flag goal_pause_flags[] = {
	TEXT("reason", "TEXT", "why; recorded with your name"),
	BOOL("now", "stop what runs, too; its work is kept"),
};
static const struct flag goal_step_flags[] = {
	TEXT("reason", "TEXT", "why; recorded with your name"),
};
static const struct flag goal_override_flags[] = {
	NEED("reason", "TEXT", "why; recorded with your name"),
};
static const struct flag goal_history_flags[] = {
	TIME("at", "how it was at this time", true),
};
static const struct flag goal_list_flags[] = {
	TEXT("status", "WORD", "active, paused, completed, cancelled or archived"),
	TEXT("tag", "WORD", "only goals with this tag"),
};
static const struct flag plan_check_flags[] = {
	TEXT("goal", "ID", "as the next plan of this goal: what it would change (asks the daemon)"),
};
static const struct flag plan_apply_flags[] = {
	NEED("goal", "ID", "the goal whose plan this becomes"),
	INT("version", "the plan version that you have seen; refused if it is not the present one"),
	TEXT("reason", "TEXT", "why; recorded with your name"),
};
static const struct flag plan_show_flags[] = {
	BOOL("document", "print the plan as a document, to edit and apply again"),
};
static const struct flag work_list_flags[] = {
	GOAL,
	TEXT("status", "WORD", "todo, queued, in_progress, blocked, done or cancelled"),
};
static const struct flag of_goal_flags[] = { OF_GOAL };
static const struct flag reason_flags[] = {
	OF_GOAL,
	NEED("reason", "TEXT", "why; recorded with your name"),
};
static const struct flag block_flags[] = {
	OF_GOAL,
	NEED("reason", "TEXT", "why; recorded with your name"),
	TEXT("unblock-when", "TEXT", "what would unblock it"),
	TEXT("kind", "WORD", "person (the default), paused or credential"),
	TEXT("needs", "WHAT", "kind credential: which one; never the credential itself"),
	TEXT("configure", "WHERE", "kind credential: where to put it"),
};
static const struct flag reassign_flags[] = {
	OF_GOAL,
	TEXT("agent", "NAME", "who shall do it; the usual agent when absent"),
	NEED("reason", "TEXT", "why; recorded with your name"),
};
static const struct flag nudge_flags[] = {
	OF_GOAL,
	TEXT("message", "TEXT", "what you want to tell it besides"),
	BOOL("force", "even if the same was sent a moment ago"),
	BOOL("now", "end the run, and go on with its session at once"),
};
static const struct flag worker_add_flags[] = {
	BOOL("excluded-from-pool", "goals leave it alone: only you give it tasks"),
	TEXT("agent", "NAME", "who does its tasks, unless you say otherwise"),
};
static const struct flag worker_start_flags[] = {
	NEED("task", "TEXT|@FILE", "what is to be done; its first line becomes the name"),
	TEXT("agent", "NAME", "who shall do it"),
};
static const struct flag worker_peek_flags[] = {
	INT("lines", "at most so many of the last ones (40)"),
};
static const struct flag worker_end_flags[] = {
	BOOL("all", "all workers, instead of one"),
	TEXT("reason", "TEXT", "why; recorded with your name"),
};
#define SEVERAL                                                                                 \
	BOOL("all", "all open entries of --kind"), TEXT("kind", "K", "with --all: their kind"), \
			TEXT("reason", "TEXT", "why; recorded with your name")
static const struct flag judge_flags[] = { SEVERAL };
static const struct flag answer_flags[] = {
	LIST("budget", "NAME=AMOUNT", "the most that its goal may use from now on (repeatable)"),
	LIST("estimate", "NAME=AMOUNT", "what its goal is expected to use (repeatable)"),
	SEVERAL,
};
static const struct flag dismiss_flags[] = {
	BOOL("false-positive", "there was nothing for oversight to find: what it stopped goes on"),
	SEVERAL,
};
static const struct flag escalation_test_flags[] = {
	TEXT("level", "WORD", "info (the default), warning, critical or emergency"),
};
static const struct flag inbox_flags[] = {
	GOAL,
	BOOL("all", "also what was put off, and what is over"),
};
static const struct flag goal_detections_flags[] = {
	TEXT("node", "ID", "only what was found in this node"),
};
static const struct flag notice_flags[] = {
	GOAL,
	BOOL("all", "also those that were sent or withdrawn"),
};
static const struct flag run_list_flags[] = {
	GOAL,
	TEXT("node", "ID", "only runs of this node"),
	TEXT("status", "WORD", "starting, running or ended"),
};
static const struct flag run_log_flags[] = {
	BOOL("follow", "go on with what comes, until the run ends or Ctrl-C"),
	BOOL("raw", "print what it wrote as it is: lines of JSON, control characters"),
};
static const struct flag events_flags[] = {
	BOOL("follow", "go on with what comes, until Ctrl-C"),
	GOAL,
	TEXT("node", "ID", "only events about this node"),
	TEXT("type", "WORD", "only events of this type (docs/events.md); \"run.\": all of runs"),
	TIME("since", "only events since then", false),
	INT("after", "only events with a greater number"),
	INT("limit", "at most so many (100)"),
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

#define NO_FLAGS NULL, 0
#define FLAGS(f) f, ARRAY_LEN(f)

const struct command commands[] = {
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
	{ "goal", "create", "Create a goal, with its plan if you have one", "", 0, 0,
			FLAGS(goal_create_flags), cmd_goal_create,
			"Without --plan the configured planner makes one, and this waits for it "
			"(Ctrl-C leaves it at work);\nwithout a planner the goal becomes one "
			"task, in its own words." },
	{ "goal", "list", "List goals", "", 0, 0, FLAGS(goal_list_flags), cmd_goal_list, NULL },
	{ "goal", "show", "Show a goal", "ID", 1, 1, NO_FLAGS, cmd_goal_show, NULL },
	{ "goal", "detections", "What oversight found in a goal, and how it answered", "ID", 1, 1,
			FLAGS(goal_detections_flags), cmd_goal_detections, NULL },
	{ "goal", "history", "Show a goal as it was at a time", "ID", 1, 1,
			FLAGS(goal_history_flags), cmd_goal_history, NULL },
	{ "goal", "update", "Change what a goal says, its priority or its budget", "ID", 1, 1,
			FLAGS(goal_update_flags), cmd_goal_update,
			"A list that is given takes the place of the one before." },
	{ "goal", "pause", "Start nothing new for a goal", "ID", 1, 1, FLAGS(goal_pause_flags),
			cmd_goal_pause, NULL },
	{ "goal", "resume", "Let a paused goal go on", "ID", 1, 1, FLAGS(goal_step_flags),
			cmd_goal_resume, NULL },
	{ "goal", "cancel", "Give a goal up; what was done is kept", "ID", 1, 1,
			FLAGS(goal_step_flags), cmd_goal_cancel, NULL },
	{ "goal", "reopen", "Make a completed or aborted goal active again", "ID", 1, 1,
			FLAGS(goal_override_flags), cmd_goal_reopen, NULL },
	{ "goal", "archive", "Put a completed or cancelled goal away", "ID", 1, 1,
			FLAGS(goal_step_flags), cmd_goal_archive, NULL },
	{ "plan", "check", "Check a plan; needs no daemon", "FILE", 1, 1, FLAGS(plan_check_flags),
			cmd_plan_check,
			"Finds all problems at once, each with its place. FILE may be - for "
			"standard input." },
	{ "plan", "apply", "Make a plan the goal's plan", "FILE", 1, 1, FLAGS(plan_apply_flags),
			cmd_plan_apply,
			"FILE may be - for standard input. A later plan is applied as a diff: "
			"finished nodes stay as they are, also\nwhen FILE leaves them out; nodes "
			"that it leaves out are cancelled, their work is kept; ids are never "
			"used again.\nA planVersion in FILE is the version that it shall become: "
			"the present one plus 1, or left out." },
	{ "plan", "show", "Show a goal's plan as a tree", "GOAL", 1, 1, FLAGS(plan_show_flags),
			cmd_plan_show, NULL },
	{ "plan", "history", "List the versions of a goal's plan, and why", "GOAL", 1, 1, NO_FLAGS,
			cmd_plan_history, NULL },
	{ "plan", "diff", "Compare two versions of a goal's plan", "GOAL [V1 [V2]]", 1, 3, NO_FLAGS,
			cmd_plan_diff,
			"Without versions: what the last change was. With one: what changed "
			"since then." },
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
	{ "run", "stop", "Stop a run; its node waits for you", "ID", 1, 1, FLAGS(goal_step_flags),
			cmd_run_stop, "Its work is kept." },
	{ "agent", "list", "The configured agents, and what each waits for", "", 0, 0, NO_FLAGS,
			cmd_agent_list, NULL },
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
	{ "auto", "start", "Switch auto mode on in the running daemon", "", 0, 0,
			FLAGS(auto_start_flags), cmd_auto_start,
			"Ends a pause, too. Lasts until the daemon stops: overseer up --auto "
			"starts one with it." },
	{ "auto", "stop", "Switch auto mode off; tasks given out are finished", "", 0, 0,
			FLAGS(auto_stop_flags), cmd_auto_stop, NULL },
	{ "auto", "status", "Show auto mode: its tasks, budget and pool", "", 0, 0, NO_FLAGS,
			cmd_auto_status, NULL },
	{ "worker", "add", "Add a worker of your own", "NAME", 1, 1, FLAGS(worker_add_flags),
			cmd_worker_add,
			"Its worktree is .overseer/worktrees/NAME. Workers of the pool and of "
			"auto mode are made by themselves." },
	{ "worker", "list", "What each worker does", "", 0, 0, NO_FLAGS, cmd_worker_list, NULL },
	{ "worker", "start", "Give an idle worker a task", "NAME", 1, 1, FLAGS(worker_start_flags),
			cmd_worker_start,
			"The task becomes a node of the standing goal of such tasks: it is "
			"checked, retried and accepted like\nany other, but only this worker "
			"does it." },
	{ "worker", "message", "Tell a worker's agent something", "NAME TEXT", 2, ARGS_MAX,
			NO_FLAGS, cmd_worker_message, NULL },
	{ "worker", "peek", "Look at what a worker's agent shows", "NAME", 1, 1,
			FLAGS(worker_peek_flags), cmd_worker_peek,
			"The end of its run's log, or its terminal where it has one (runtime "
			"tmux)." },
	{ "worker", "attach", "Go to a worker's terminal", "NAME", 1, 1, NO_FLAGS,
			cmd_worker_attach, "For agents whose runtime is tmux." },
	{ "worker", "review", "Look at what a worker made", "NAME", 1, 1, NO_FLAGS,
			cmd_worker_review,
			"Shows what its branch changes, and says that you are looking. What "
			"waits for a review is said by accept.review." },
	{ "worker", "accept", "Let reviewed work go to the target branch", "NAME", 1, 1,
			FLAGS(goal_step_flags), cmd_worker_accept,
			"In its turn: it is rebased, and passes the pre_accept command first." },
	{ "worker", "reject", "Give work back to its agent", "NAME", 1, 1,
			FLAGS(goal_override_flags), cmd_worker_reject,
			"The agent is told the reason, and goes on from what it made." },
	{ "worker", "rebase", "Rebase good work onto the target branch now", "NAME", 1, 1, NO_FLAGS,
			cmd_worker_rebase, "Conflicts go to its agent." },
	{ "worker", "pick", "Put a worker's work onto the target branch now", "NAME", 1, 1,
			FLAGS(goal_override_flags), cmd_worker_pick,
			"All that is in its worktree becomes one commit, past review and check; "
			"the worker goes on.\nA conflict changes nothing." },
	{ "worker", "reset", "Stop a worker and give it a clean worktree", "[NAME]", 0, 1,
			FLAGS(worker_end_flags), cmd_worker_reset,
			"Its run is stopped, and all that is in its worktree is kept under a "
			"rescue ref. A task that you gave to it\nwaits for you; any other one is "
			"done anew, from what was made. Waits until it is done; Ctrl-C leaves it "
			"at work." },
	{ "worker", "nuke", "Stop a worker and remove it with its worktree", "[NAME]", 0, 1,
			FLAGS(worker_end_flags), cmd_worker_nuke,
			"As worker reset; then the worker is gone." },
	{ "inbox", "list", "What needs you, the most pressing first", "", 0, 0, FLAGS(inbox_flags),
			cmd_inbox, NULL },
	{ "inbox", "show", "Show an entry and what led to it", "N", 1, 1, NO_FLAGS, cmd_inbox_show,
			NULL },
	{ "inbox", "answer", "Answer entries", "N[,N-N...] TEXT", 1, ARGS_MAX, FLAGS(answer_flags),
			cmd_inbox_answer,
			"TEXT is one of the options or a unique prefix of one; or retry, done or "
			"cancel, which do that to the\nnode; or any other text: then the node "
			"goes on, and its next run is told. A goal that oversight stopped\ngoes "
			"on by resume (paused) or reopen (aborted), or with any text for its "
			"agent. A budget that is spent:\nraise doubles it, unless --budget says "
			"how much. A text that may be meant as a command (one word, stop it,\n"
			"9 cancel) is refused; \"text: stop it\" tells it to the agent. A question "
			"takes any text." },
	{ "inbox", "approve", "Approve entries", "N[,N-N...]", 0, ARGS_MAX, FLAGS(judge_flags),
			cmd_inbox_approve,
			"paused: resume; aborted: reopen; review: accept; budget: raise; "
			"pre_accept: try again; post_accept:\ngo on. Other entries have answers "
			"of their own." },
	{ "inbox", "deny", "Deny entries", "N[,N-N...]", 0, ARGS_MAX, FLAGS(judge_flags),
			cmd_inbox_deny,
			"paused: abort (a node: cancel); aborted, budget, planner: cancel the "
			"goal; review: reject, for the\nreason; pre_accept: back to its agent; "
			"post_accept: take back." },
	{ "inbox", "snooze", "Hide entries for a while", "N[,N-N...] TIME", 1, ARGS_MAX,
			FLAGS(judge_flags), cmd_inbox_snooze,
			"It comes back by itself, or when there is new evidence. A deadline that "
			"it has stays." },
	{ "inbox", "dismiss", "Close entries without an answer", "N[,N-N...]", 0, ARGS_MAX,
			FLAGS(dismiss_flags), cmd_inbox_dismiss,
			"A node that is blocked stays so, and waits for you. What others wait "
			"for cannot be dismissed; a false\nalarm of oversight can: then it is "
			"judged as one, and what was stopped goes on." },
	{ "inbox", NULL, "As inbox list", "", 0, 0, FLAGS(inbox_flags), cmd_inbox,
			"See also: inbox show, answer, approve, deny, snooze, dismiss." },
	{ "escalation", "test", "Send a test notice through a channel", "CHANNEL", 1, 1,
			FLAGS(escalation_test_flags), cmd_escalation_test,
			"Channels are \"desktop\", \"hook\" and those of "
			"[escalation.channels.NAME] in config.toml. On a tracker a second test "
			"becomes a comment on the issue that the first one opened, as long as "
			"that is open. See docs/escalation.md." },
	{ "notice", "list", "What people outside are still to be told, or could not be", "", 0, 0,
			FLAGS(notice_flags), cmd_notice_list, NULL },
	{ "notice", "show", "Show a notice and what came of its attempts", "ID", 1, 1, NO_FLAGS,
			cmd_notice_show, NULL },
	{ "notice", "retry", "Try a notice again, now", "ID", 1, 1, FLAGS(goal_step_flags),
			cmd_notice_retry,
			"One that failed gets as many attempts as a new one. Quiet hours hold." },
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
const size_t commands_n = ARRAY_LEN(commands);
