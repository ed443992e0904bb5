/* Goals and their plans: the commands. */
#include "cli/command_table.h"
#include "cli/oversight.h"

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
	WHY,
};
static const struct flag goal_pause_flags[] = {
	WHY,
	BOOL("now", "stop what runs, too; its work is kept"),
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
	WHY,
};
static const struct flag plan_show_flags[] = {
	BOOL("document", "print the plan as a document, to edit and apply again"),
};
static const struct flag goal_detections_flags[] = {
	TEXT("node", "ID", "only what was found in this node"),
};
static const struct flag why_flags[] = { WHY };
static const struct flag reason_flags[] = { REASON };

static const struct command table[] = {
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
	{ "goal", "resume", "Let a paused goal go on", "ID", 1, 1, FLAGS(why_flags),
			cmd_goal_resume, NULL },
	{ "goal", "cancel", "Give a goal up; what was done is kept", "ID", 1, 1, FLAGS(why_flags),
			cmd_goal_cancel, NULL },
	{ "goal", "reopen", "Make a completed or aborted goal active again", "ID", 1, 1,
			FLAGS(reason_flags), cmd_goal_reopen, NULL },
	{ "goal", "archive", "Put a completed or cancelled goal away", "ID", 1, 1, FLAGS(why_flags),
			cmd_goal_archive, NULL },
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
};

const struct command_list commands_goal = { table, ARRAY_LEN(table) };
