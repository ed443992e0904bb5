/* The table of operations, and the parameters of each. */
#include "app/ops.h"
#include "base/moment.h"
#include "core/model/limits.h"
#include "core/policy/scope.h"

#define GOAL_OPT                                                                   \
	{                                                                          \
		"goal", PARAM_TEXT, false, "goal id, or a unique prefix of one", 0 \
	}
#define GOAL                                                                      \
	{                                                                         \
		"goal", PARAM_TEXT, true, "goal id, or a unique prefix of one", 0 \
	}
#define NODE                                                         \
	{                                                            \
		"node", PARAM_TEXT, true, "node id, or GOAL/NODE", 0 \
	}
#define RUN                                                                     \
	{                                                                       \
		"run", PARAM_TEXT, true, "run id, or a unique prefix of one", 0 \
	}
#define LIMIT(text)                                   \
	{                                             \
		"limit", PARAM_INT, false, text, 1000 \
	}
#define AFTER                                                                              \
	{                                                                                  \
		"after", PARAM_INT, false, "only events with a greater sequence number", 0 \
	}

/* The definition of a goal, as `goal.create` and `goal.update` take it. */
#define GOAL_DEFINITION                                                                            \
	{ "problem_statement", PARAM_TEXT, false, "what is to be solved", LIMIT_TEXT },            \
			{ "success_criteria", PARAM_TEXTS, false,                                  \
				"what must be observable at the end", LIMIT_LIST },                \
			{ "non_goals", PARAM_TEXTS, false, "what is not asked for", LIMIT_LIST },  \
			{ "constraints", PARAM_TEXTS, false, "what must be kept", LIMIT_LIST },    \
			{ "assumptions", PARAM_TEXTS, false, "what is taken for granted",          \
				LIMIT_LIST },                                                      \
			{ "stakeholders", PARAM_TEXTS, false, "who else cares", LIMIT_LIST },      \
			{ "risks", PARAM_OBJECTS, false,                                           \
				"what may go wrong: {risk, impact, mitigation}", LIMIT_LIST },     \
			{ "tags", PARAM_TEXTS, false, "for finding it again", LIMIT_LIST },        \
			{ "owner", PARAM_TEXT, false, "who answers for it", LIMIT_NAME },          \
			{ "repo_context", PARAM_TEXT, false,                                       \
				"what is assumed about the repository", LIMIT_TEXT },              \
			{ "priority", PARAM_TEXT, false,                                           \
				"urgent, high, normal (the default), low or background", 0 },      \
			{ "estimate", PARAM_OBJECT, false,                                         \
				"what it is expected to use: iterations, wall_ms, tokens, "        \
				"cost_microusd; \"default\": as configured",                       \
				0 },                                                               \
			{ "budget", PARAM_OBJECT, false,                                           \
				"what it may use, as for the estimate, or \"unlimited\"", 0 },     \
	{                                                                                          \
		"oversight", PARAM_OBJECT, false,                                                  \
				"thresholds and levels of its own, as in [oversight]; null takes " \
				"one back",                                                        \
				0                                                                  \
	}
#define REASON_OPT                                                                              \
	{                                                                                       \
		"reason", PARAM_TEXT, false, "why; recorded with the caller's name", LIMIT_NOTE \
	}
#define REASON                                                                                 \
	{                                                                                      \
		"reason", PARAM_TEXT, true, "why; recorded with the caller's name", LIMIT_NOTE \
	}

static const struct op_param goal_create[] = {
	{ "title", PARAM_TEXT, true, "one line", LIMIT_TITLE },
	GOAL_DEFINITION,
	{ "origin_session", PARAM_TEXT, false, "the session that asked for it", LIMIT_NAME },
	{ "origin_context", PARAM_OBJECT, false, "how to reach who asked", 0 },
	{ "plan", PARAM_OBJECT, false, "a plan document, applied at once", 0 },
	{ "no_plan", PARAM_BOOL, false, "leave it without a plan until plan.apply", 0 },
};
static const struct op_param goal_update[] = {
	GOAL,
	{ "title", PARAM_TEXT, false, "one line", LIMIT_TITLE },
	GOAL_DEFINITION,
	REASON_OPT,
};
static const struct op_param goal_pause[] = {
	GOAL,
	REASON_OPT,
	{ "now", PARAM_BOOL, false, "stop what runs, too; its work is kept", 0 },
};
static const struct op_param goal_step[] = { GOAL, REASON_OPT };
static const struct op_param goal_override[] = { GOAL, REASON };
static const struct op_param goal_list[] = {
	{ "status", PARAM_TEXT, false, "only goals with this status", 0 },
	{ "tag", PARAM_TEXT, false, "only goals with this tag", 0 },
};
static const struct op_param goal_show[] = { GOAL };
static const struct op_param cost_get[] = {
	{ "by", PARAM_TEXT, false, "goal (the default), agent, model, day or node", 0 },
	{ "since", PARAM_TEXT, false, "only days from this time on: " MOMENT_FORMS, 0 },
	GOAL_OPT,
};
static const struct op_param plan_apply[] = { GOAL,
	{ "plan", PARAM_OBJECT, true, "a plan document", 0 },
	{ "version", PARAM_INT, false,
			"the plan version that the caller has seen; another one is refused "
			"(E_CONFLICT)",
			0 },
	{ "reason", PARAM_TEXT, false, "why; recorded with the caller's name", LIMIT_NOTE } };
static const struct op_param plan_check_params[] = { GOAL,
	{ "plan", PARAM_OBJECT, true, "a plan document", 0 } };
static const struct op_param plan_show[] = { GOAL,
	{ "document", PARAM_BOOL, false,
			"also the plan as a document, as it would be the next version", 0 } };
static const struct op_param plan_diff_params[] = { GOAL,
	{ "from", PARAM_INT, false, "a version (the one before `to`); 0 is before the first", 0 },
	{ "to", PARAM_INT, false, "a version (the present one)", 0 } };
static const struct op_param work_list[] = { GOAL_OPT,
	{ "status", PARAM_TEXT, false, "only nodes with this status", 0 } };
static const struct op_param work_show[] = { NODE, GOAL_OPT };
static const struct op_param work_update[] = {
	NODE,
	GOAL_OPT,
	{ "status", PARAM_TEXT, true, "done (an override), blocked, or queued (unblock)", 0 },
	{ "reason", PARAM_TEXT, true, "recorded with the caller's name", LIMIT_NOTE },
	{ "unblock_when", PARAM_TEXT, false, "what would unblock it", LIMIT_NOTE },
	{ "kind", PARAM_TEXT, false, "of a block: person (the default), paused or credential", 0 },
	{ "needs", PARAM_TEXT, false, "kind credential: which one; never the credential itself",
			LIMIT_NAME },
	{ "configure", PARAM_TEXT, false, "kind credential: where to put it", LIMIT_NAME },
};
static const struct op_param work_settle[] = { NODE, GOAL_OPT, REASON };
static const struct op_param work_reassign[] = {
	NODE,
	GOAL_OPT,
	REASON,
	{ "agent", PARAM_TEXT, false, "who shall do it; the usual one when absent", LIMIT_ID },
};
static const struct op_param work_nudge[] = {
	{ "node", PARAM_TEXT, true, "node id, or GOAL/NODE, or the id of its newest run", 0 },
	GOAL_OPT,
	{ "message", PARAM_TEXT, false, "said before the request for a status", LIMIT_NOTE },
	{ "force", PARAM_BOOL, false, "even if the same was sent a moment ago", 0 },
	{ "now", PARAM_BOOL, false, "end the run, and go on with its session at once", 0 },
};
static const struct op_param work_scope[] = {
	NODE,
	GOAL_OPT,
	REASON,
	{ "allow", PARAM_TEXTS, false, "only these tools, or classes of tools", SCOPE_ENTRY },
	{ "deny", PARAM_TEXTS, false, "these not", SCOPE_ENTRY },
};
static const struct op_param run_stop[] = { RUN, REASON_OPT };
static const struct op_param queue_retry[] = { NODE, GOAL_OPT };
#define WORKER                                                           \
	{                                                                \
		"worker", PARAM_TEXT, true, "name of a worker", LIMIT_ID \
	}
#define AGENT_OPT(text)                                    \
	{                                                  \
		"agent", PARAM_TEXT, false, text, LIMIT_ID \
	}
static const struct op_param worker_add[] = {
	WORKER,
	{ "excluded", PARAM_BOOL, false, "ordinary goals leave it alone", 0 },
	AGENT_OPT("who does its tasks unless said otherwise"),
};
static const struct op_param worker_show[] = { WORKER };
static const struct op_param agent_show[] = {
	{ "agent", PARAM_TEXT, true, "its name in the configuration", LIMIT_ID },
};
static const struct op_param worker_start[] = {
	WORKER,
	{ "task", PARAM_TEXT, true, "what is to be done; its first line becomes the name",
			LIMIT_TEXT },
	AGENT_OPT("who shall do it"),
};
static const struct op_param worker_message[] = {
	WORKER,
	{ "text", PARAM_TEXT, true, "what its agent is told", LIMIT_NOTE },
};
static const struct op_param worker_act[] = { WORKER, REASON_OPT };
static const struct op_param worker_reason[] = { WORKER, REASON };
static const struct op_param worker_wish[] = {
	{ "worker", PARAM_TEXT, false, "name of a worker", LIMIT_ID },
	{ "all", PARAM_BOOL, false, "all workers, instead of one", 0 },
	REASON_OPT,
};
#define NUMBER                                                                \
	{                                                                     \
		"number", PARAM_INT, true, "its number: #12 is 12", INT64_MAX \
	}
static const struct op_param inbox_list[] = {
	GOAL_OPT,
	{ "all", PARAM_BOOL, false, "also what was put off, and what is over", 0 },
};
static const struct op_param inbox_show[] = { NUMBER };
static const struct op_param escalation_test[] = {
	{ "channel", PARAM_TEXT, true, "the name of a channel", LIMIT_ID },
	{ "level", PARAM_TEXT, false, "info (the default), warning, critical or emergency", 0 },
};
static const struct op_param daemon_stop_params[] = {
	{ "stop_runs", PARAM_BOOL, false,
			"stop the agents first; their work is kept, and the next daemon resumes it",
			0 },
};
static const struct op_param inbox_answer[] = {
	NUMBER,
	{ "answer", PARAM_TEXT, true,
			"one of its options, or a unique prefix of one; retry, done or cancel; or "
			"a text for the next run: what may be meant as a command is refused unless "
			"\"text:\" stands before it",
			LIMIT_NOTE },
	{ "estimate", PARAM_OBJECT, false, "of its goal from now on, as of goal.update", 0 },
	{ "budget", PARAM_OBJECT, false, "of its goal from now on, as of goal.update", 0 },
	{ "only_options", PARAM_BOOL, false,
			"refuse any other text where the entry has options (one answer to several)",
			0 },
	REASON_OPT,
};
static const struct op_param inbox_judge[] = { NUMBER, REASON_OPT };
static const struct op_param inbox_snooze[] = {
	NUMBER,
	{ "for_ms", PARAM_INT, true, "for how long", (size_t)365 * OV_DAY },
	REASON_OPT,
};
static const struct op_param inbox_dismiss[] = {
	NUMBER,
	{ "false_positive", PARAM_BOOL, false,
			"there was nothing for oversight to find: what it stopped goes on", 0 },
	REASON_OPT,
};
#define NOTICE                                                                        \
	{                                                                             \
		"notice", PARAM_TEXT, true, "notice id, or a unique prefix of one", 0 \
	}
static const struct op_param notice_list[] = {
	GOAL_OPT,
	{ "all", PARAM_BOOL, false, "also those that were sent, withdrawn, or are settled", 0 },
};
static const struct op_param detection_list[] = {
	GOAL,
	{ "node", PARAM_TEXT, false, "only what was found in this node", 0 },
};
static const struct op_param notice_show[] = { NOTICE };
static const struct op_param notice_retry[] = { NOTICE, REASON_OPT };
static const struct op_param run_list[] = {
	GOAL_OPT,
	{ "node", PARAM_TEXT, false, "only runs of this node", 0 },
	{ "status", PARAM_TEXT, false, "starting, running or ended", 0 },
};
static const struct op_param run_show[] = { RUN };
static const struct op_param run_log[] = {
	RUN,
	{ "offset", PARAM_INT, false, "byte to begin with", 0 },
	{ "max_bytes", PARAM_INT, false, "at most so many (65536)", 512 * 1024 },
	{ "errors", PARAM_BOOL, false, "what it wrote to its errors, where that is kept apart", 0 },
	{ "wait_ms", PARAM_INT, false,
			"when there is nothing yet: wait for output or the end, so long at most",
			30000 },
};
static const struct op_param events_list[] = {
	AFTER,
	LIMIT("at most so many (100)"),
	GOAL_OPT,
	{ "node", PARAM_TEXT, false, "only events about this node", 0 },
	{ "type", PARAM_TEXT, false, "only events of this type, or of all that begin with \"run.\"",
			0 },
	{ "since", PARAM_TEXT, false, "only events at or after this time: " MOMENT_FORMS, 0 },
};
static const struct op_param goal_history[] = {
	GOAL,
	{ "at", PARAM_TEXT, true, "a time: " MOMENT_FORMS, 0 },
};
static const struct op_param report_detectors[] = { GOAL_OPT };
static const struct op_param report_period[] = {
	{ "since", PARAM_TEXT, true, "a time: " MOMENT_FORMS, 0 },
};
static const struct op_param events_follow[] = { AFTER };
static const struct op_param explain[] = {
	{ "id", PARAM_TEXT, true,
			"a goal, node, assignment, run, dispatch, notice, worker, agent, #entry; "
			"or daemon",
			0 },
	GOAL_OPT,
};
static const struct op_param handoff_show[] = {
	{ "id", PARAM_TEXT, true, "a goal or a node", 0 },
	GOAL_OPT,
};
static const struct op_param tick_now[] = {
	{ "dry_run", PARAM_BOOL, false, "only say what would be decided", 0 },
};

static const struct op_param auto_start[] = {
	{ "task_pool_command", PARAM_TEXT, false,
			"in place of auto.task_pool_command, as long as this daemon runs",
			LIMIT_NOTE },
	{ "concurrency", PARAM_INT, false, "in place of auto.concurrency", 256 },
};
static const struct op_param auto_stop[] = { REASON_OPT };

static const struct op_param store_file_opt[] = {
	{ "file", PARAM_TEXT, false, "absolute path of a new file", 0 },
};
static const struct op_param store_file[] = {
	{ "file", PARAM_TEXT, true, "absolute path of the file", 0 },
};
static const struct op_param doctor_run[] = {
	{ "fix", PARAM_BOOL, false, "repair what can be repaired safely, after a backup", 0 },
	{ "rebuild", PARAM_BOOL, false,
			"write a new store from what can be verified of a damaged one", 0 },
};
static const struct op_param rescue_list[] = {
	{ "worker", PARAM_TEXT, false, "only what was in this worker's worktree", 0 },
	{ "node", PARAM_TEXT, false, "only of this node, or GOAL/NODE", 0 },
	LIMIT("at most so many, the newest (50)"),
};
#define RESCUE                                                                             \
	{                                                                                  \
		"id", PARAM_TEXT, true, "a ref, an id of one, or a unique prefix of it", 0 \
	}
static const struct op_param rescue_show[] = { RESCUE };
static const struct op_param rescue_restore[] = {
	RESCUE,
	{ "branch", PARAM_TEXT, false, "its name; one is made up when absent", LIMIT_NAME },
};
static const struct op_param rescue_prune[] = {
	{ "dry_run", PARAM_BOOL, false, "only say what would go", 0 },
};

static const struct op_param config_timeline[] = {
	{ "agent", PARAM_TEXT, false, "of this agent; of all when absent", LIMIT_ID },
};

#define PARAMS(list) list, ARRAY_LEN(list)
#define NO_PARAMS NULL, 0

const struct op op_table[] = {
	{ "status.get", OP_READ, ANYBODY,
			"What needs a person, what runs, and how the goals stand.", NO_PARAMS,
			op_status },
	{ "cost.get", OP_READ, ANYBODY,
			"What was used and what it cost, with what is under way; tells what has "
			"no known cost.",
			PARAMS(cost_get), op_cost_get },
	{ "goal.create", OP_WRITE, PEOPLE, "Creates a goal, with its plan if one is given.",
			PARAMS(goal_create), NULL },
	{ "goal.update", OP_WRITE, PEOPLE, "Changes what a goal says, its priority or budget.",
			PARAMS(goal_update), NULL },
	{ "goal.pause", OP_WRITE, PEOPLE,
			"Nothing new starts; what runs is brought to a safe end, and not accepted.",
			PARAMS(goal_pause), NULL },
	{ "goal.resume", OP_WRITE, PEOPLE, "Lets a paused goal go on.", PARAMS(goal_step), NULL },
	{ "goal.cancel", OP_WRITE, PEOPLE,
			"Cancels all open nodes of a goal and the goal; what was done is kept.",
			PARAMS(goal_step), NULL },
	{ "goal.reopen", OP_WRITE, PEOPLE,
			"Makes a completed or aborted goal active again (an override).",
			PARAMS(goal_override), NULL },
	{ "goal.archive", OP_WRITE, PEOPLE, "Puts a completed or cancelled goal away.",
			PARAMS(goal_step), NULL },
	{ "goal.list", OP_READ, ANYBODY,
			"Lists goals, oldest first; archived ones only by their status.",
			PARAMS(goal_list), op_goal_list },
	{ "goal.show", OP_READ, ANYBODY, "Shows a goal's record and progress.", PARAMS(goal_show),
			op_goal_show },
	{ "goal.history", OP_CHILD, PEOPLE, "Shows a goal and its nodes as they were at a time.",
			PARAMS(goal_history), op_goal_history },
	{ "report.goal", OP_CHILD, NO_AGENTS,
			"How a goal went: progress, spending, iterations, detections, notices, "
			"questions.",
			PARAMS(goal_show), op_report_goal },
	{ "report.detectors", OP_CHILD, NO_AGENTS,
			"How often each detector was right, and what follows for the thresholds.",
			PARAMS(report_detectors), op_report_detectors },
	{ "report.period", OP_CHILD, NO_AGENTS, "What happened since a moment, counted.",
			PARAMS(report_period), op_report_period },
	{ "plan.apply", OP_WRITE, PEOPLE,
			"Checks a plan and makes it the goal's plan; a later one is applied as a "
			"diff.",
			PARAMS(plan_apply), NULL },
	{ "plan.check", OP_READ, ANYBODY,
			"Says what would be wrong with a plan for this goal, or what it would "
			"change.",
			PARAMS(plan_check_params), op_plan_check },
	{ "plan.show", OP_READ, ANYBODY, "Shows a goal's nodes as a tree.", PARAMS(plan_show),
			op_plan_show },
	{ "plan.history", OP_READ, ANYBODY, "Lists the versions of a goal's plan, and why.",
			PARAMS(goal_show), op_plan_history },
	{ "plan.diff", OP_READ, ANYBODY, "Compares two versions of a goal's plan.",
			PARAMS(plan_diff_params), op_plan_diff },
	{ "work.list", OP_READ, ANYBODY, "Lists nodes without children.", PARAMS(work_list),
			op_work_list },
	{ "work.show", OP_READ, ANYBODY, "Shows a node, its assignment and its runs.",
			PARAMS(work_show), op_work_show },
	{ "work.update", OP_WRITE, PEOPLE, "Declares a node done, blocks it, or unblocks it.",
			PARAMS(work_update), NULL },
	{ "work.cancel", OP_WRITE, PEOPLE, "Cancels a node; what was made is kept.",
			PARAMS(work_settle), NULL },
	{ "work.reopen", OP_WRITE, PEOPLE, "Queues a node that was done, and its goal with it.",
			PARAMS(work_settle), NULL },
	{ "work.reassign", OP_WRITE, PEOPLE,
			"Stops the node's run, keeps its work, and lets somebody else go on.",
			PARAMS(work_reassign), NULL },
	{ "work.rerun", OP_WRITE, PEOPLE,
			"Stops the node's run, keeps its work, and starts a new one.",
			PARAMS(work_settle), NULL },
	{ "work.nudge", OP_WRITE, PEOPLE, "Asks a node's live run for its status now.",
			PARAMS(work_nudge), NULL },
	{ "work.scope", OP_WRITE, PEOPLE,
			"Takes tools away from a node, for every later run of it; never gives any.",
			PARAMS(work_scope), NULL },
	{ "run.stop", OP_WRITE, PEOPLE,
			"Stops a run, keeps its work, and pauses its node for the caller.",
			PARAMS(run_stop), NULL },
	{ "agent.list", OP_READ, ANYBODY,
			"Lists the configured agents, what each is, what it waits for, and what it "
			"cannot tell.",
			NO_PARAMS, op_agent_list },
	{ "agent.show", OP_READ, ANYBODY, "Shows one of them.", PARAMS(agent_show), op_agent_show },
	{ "queue.list", OP_READ, ANYBODY,
			"Lists what waits to be accepted or begun, in order, and why.", NO_PARAMS,
			op_queue_list },
	{ "queue.retry", OP_WRITE, PEOPLE, "Ends a node's wait before its next step.",
			PARAMS(queue_retry), NULL },
	{ "queue.drop", OP_WRITE, PEOPLE, "Takes a node out of the queue and blocks it.",
			PARAMS(work_settle), NULL },
	{ "worker.add", OP_WRITE, PEOPLE, "Adds a worker of the caller's own.", PARAMS(worker_add),
			NULL },
	{ "worker.list", OP_READ, ANYBODY, "Lists workers, and how auto mode stands.", NO_PARAMS,
			op_worker_list },
	{ "worker.show", OP_READ, ANYBODY,
			"Shows a worker, its task, and how its run can be looked at.",
			PARAMS(worker_show), op_worker_show },
	{ "worker.start", OP_WRITE, PEOPLE, "Gives an idle worker a task.", PARAMS(worker_start),
			NULL },
	{ "worker.message", OP_WRITE, PEOPLE,
			"Tells a worker's agent something: now if it can be told, else with its "
			"next run.",
			PARAMS(worker_message), NULL },
	{ "worker.review", OP_WRITE, PEOPLE,
			"Says that somebody looks at what a worker made; it waits for that.",
			PARAMS(worker_show), NULL },
	{ "worker.accept", OP_WRITE, PEOPLE,
			"Lets reviewed work go on to the target branch, in its turn.",
			PARAMS(worker_act), NULL },
	{ "worker.reject", OP_WRITE, PEOPLE,
			"Gives good work back to its agent, which is told why.",
			PARAMS(worker_reason), NULL },
	{ "worker.rebase", OP_WRITE, PEOPLE,
			"Rebases good work onto the target branch now; conflicts go to its agent.",
			PARAMS(worker_show), NULL },
	{ "worker.pick", OP_WRITE, PEOPLE,
			"Puts what is in a worker's worktree onto the target branch now, past "
			"review and check.",
			PARAMS(worker_reason), NULL },
	{ "worker.reset", OP_WRITE, PEOPLE,
			"Stops what a worker does, keeps what it made, and gives it a clean "
			"worktree.",
			PARAMS(worker_wish), NULL },
	{ "worker.nuke", OP_WRITE, PEOPLE,
			"Stops what a worker does, keeps what it made, and removes it.",
			PARAMS(worker_wish), NULL },
	{ "inbox.list", OP_READ, ANYBODY, "Lists what needs a person, the most pressing first.",
			PARAMS(inbox_list), op_inbox_list },
	{ "inbox.show", OP_READ, ANYBODY, "Shows an escalation, and what led to it.",
			PARAMS(inbox_show), op_inbox_show },
	{ "inbox.answer", OP_WRITE, PEOPLE, "Answers an escalation, and does what that says.",
			PARAMS(inbox_answer), NULL },
	{ "inbox.approve", OP_WRITE, PEOPLE,
			"Gives the answer that lets go on what waits; kinds of entries without one "
			"refuse.",
			PARAMS(inbox_judge), NULL },
	{ "inbox.deny", OP_WRITE, PEOPLE,
			"Gives the answer that ends what waits; kinds of entries without one "
			"refuse.",
			PARAMS(inbox_judge), NULL },
	{ "inbox.snooze", OP_WRITE, PEOPLE,
			"Puts an escalation off; it comes back then, or on new evidence.",
			PARAMS(inbox_snooze), NULL },
	{ "inbox.dismiss", OP_WRITE, PEOPLE,
			"Closes an escalation; what is blocked waits for the caller.",
			PARAMS(inbox_dismiss), NULL },
	{ "escalation.test", OP_CHILD, PEOPLE,
			"Sends a notice that says that it is a test through one channel.",
			PARAMS(escalation_test), op_escalation_test },
	{ "iteration.list", OP_READ, ANYBODY,
			"Lists the newest iterations of a node: what each run showed of its work.",
			PARAMS(work_show), op_iteration_list },
	{ "detection.list", OP_READ, ANYBODY,
			"Lists what oversight found in a goal and how it was answered, newest "
			"first.",
			PARAMS(detection_list), op_detection_list },
	{ "notice.list", OP_READ, ANYBODY,
			"Lists what people outside are still to be told, and could not be told.",
			PARAMS(notice_list), op_notice_list },
	{ "notice.show", OP_READ, ANYBODY, "Shows a notice, and what came of its attempts.",
			PARAMS(notice_show), op_notice_show },
	{ "notice.retry", OP_WRITE, PEOPLE, "Tries a notice that failed or waits again, now.",
			PARAMS(notice_retry), NULL },
	{ "run.list", OP_READ, ANYBODY, "Lists runs, oldest first.", PARAMS(run_list),
			op_run_list },
	{ "run.show", OP_READ, ANYBODY,
			"Shows a run, and what its agent is doing now, by its own account.",
			PARAMS(run_show), op_run_show },
	{ "run.log", OP_READ, ANYBODY, "Reads a run's output; can wait for more.", PARAMS(run_log),
			op_run_log },
	{ "events.list", OP_READ, ANYBODY, "Reads the event log.", PARAMS(events_list),
			op_events_list },
	{ "events.follow", OP_DAEMON, ANYBODY,
			"Sends every further event as a notification \"event\" (socket only).",
			PARAMS(events_follow), NULL },
	{ "handoff.show", OP_READ, ANYBODY,
			"Shows the newest handoff of a node or goal, and what the next agent is "
			"told of it.",
			PARAMS(handoff_show), op_handoff_show },
	{ "explain.get", OP_READ, ANYBODY, "Tells the chain of facts and decisions behind a state.",
			PARAMS(explain), op_explain },
	{ "auto.start", OP_DAEMON, PEOPLE,
			"Switches auto mode on, as long as this daemon runs; ends its pause.",
			PARAMS(auto_start), NULL },
	{ "auto.stop", OP_DAEMON, PEOPLE,
			"Switches auto mode off: no task is asked for; those given out are "
			"finished.",
			PARAMS(auto_stop), NULL },
	{ "auto.get", OP_READ, ANYBODY,
			"Auto mode: whether it is on or paused, its budget, pool and tasks.",
			NO_PARAMS, op_auto_get },
	{ "tick.now", OP_DAEMON, PEOPLE, "Reconciles now, or says what that would decide.",
			PARAMS(tick_now), NULL },
	{ "config.show", OP_READ, ANYBODY, "Shows the effective configuration.", NO_PARAMS,
			op_config_show },
	{ "config.timeline", OP_READ, ANYBODY,
			"Shows what is done about a silent run, and after how long.",
			PARAMS(config_timeline), op_config_timeline },
	{ "config.reload", OP_DAEMON, PEOPLE,
			"Reads config.toml again; a bad file changes nothing.", NO_PARAMS, NULL },
	{ "doctor.run", OP_CHILD, PEOPLE,
			"Checks the store, its files, its locks and its worktrees; can repair.",
			PARAMS(doctor_run), op_doctor_run },
	{ "rescue.list", OP_CHILD, NO_AGENTS,
			"Lists what was kept before worktrees were used again, newest first.",
			PARAMS(rescue_list), op_rescue_list },
	{ "rescue.show", OP_CHILD, NO_AGENTS, "Shows the commits and changes of what was rescued.",
			PARAMS(rescue_show), op_rescue_show },
	{ "rescue.restore", OP_CHILD, PEOPLE, "Makes a branch of what was rescued.",
			PARAMS(rescue_restore), op_rescue_restore },
	{ "rescue.prune", OP_CHILD, PEOPLE_AND_OVERSEER,
			"Lets go of what is older than is to be kept; the newest of a node stays.",
			PARAMS(rescue_prune), op_rescue_prune },
	{ "store.verify", OP_CHILD, NO_AGENTS,
			"Verifies the whole store: the file and the hash chain.", NO_PARAMS,
			op_store_verify },
	{ "store.backup", OP_CHILD, PEOPLE,
			"Writes a verified copy of the store, while it is in use.",
			PARAMS(store_file_opt), op_store_backup },
	{ "store.export", OP_CHILD, PEOPLE, "Writes the whole store as one JSON document.",
			PARAMS(store_file), op_store_export },
	{ "store.import", OP_CHILD, PEOPLE, "Reads an exported document into an empty store.",
			PARAMS(store_file), op_store_import },
	{ "daemon.stop", OP_DAEMON, PEOPLE,
			"Stops the daemon gracefully; agents continue unless stop_runs is true.",
			PARAMS(daemon_stop_params), NULL },
};
const size_t op_table_n = ARRAY_LEN(op_table);
