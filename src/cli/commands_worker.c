/* Workers and auto mode: the commands. */
#include "cli/command_table.h"
#include "cli/worker.h"

static const struct flag auto_start_flags[] = {
	TEXT("task-pool-command", "CMD", "prints the next task, as auto.task_pool_command"),
	INT("concurrency", "number of workers, as auto.concurrency"),
};
static const struct flag auto_stop_flags[] = {
	WHY,
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
	WHY,
};
static const struct flag why_flags[] = { WHY };
static const struct flag reason_flags[] = { REASON };

static const struct command table[] = {
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
			FLAGS(why_flags), cmd_worker_accept,
			"In its turn: it is rebased, and passes the pre_accept command first." },
	{ "worker", "reject", "Give work back to its agent", "NAME", 1, 1, FLAGS(reason_flags),
			cmd_worker_reject,
			"The agent is told the reason, and goes on from what it made." },
	{ "worker", "rebase", "Rebase good work onto the target branch now", "NAME", 1, 1, NO_FLAGS,
			cmd_worker_rebase, "Conflicts go to its agent." },
	{ "worker", "pick", "Put a worker's work onto the target branch now", "NAME", 1, 1,
			FLAGS(reason_flags), cmd_worker_pick,
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
};

const struct command_list commands_worker = { table, ARRAY_LEN(table) };
