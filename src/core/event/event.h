#pragma once
/*
 * Events: the append-only facts from which all state is folded. Every kind has a row in the table
 * below and a list of the fields of its data in event.c; what is written and what is read back is
 * checked against that list, so a log never holds a field that nobody knows. docs/events.md is
 * generated from the same tables.
 */
#include "base/ov.h"
#include "data/value/value.h"

#define EVENTS(X)                                                                                  \
	X(EV_DAEMON_STARTED, "daemon.started", "A daemon took the store over and began to work.")  \
	X(EV_DAEMON_STOPPED, "daemon.stopped",                                                     \
			"A daemon ended by itself; what runs are left go on without it.")          \
	X(EV_DAEMON_FAILED, "daemon.failed",                                                       \
			"A daemon cannot go on: agents are asked to stop, and it ends.")           \
	X(EV_WATCH_ACTED, "watch.acted",                                                           \
			"A watchdog did something about the daemon, as it wrote it down.")         \
	X(EV_CLOCK_MOVED, "clock.moved",                                                           \
			"The machine's clock jumped; runs under way are as old as before.")        \
	X(EV_MACHINE_SLEPT, "machine.slept",                                                       \
			"The machine slept: no time of its runs, and silence counts from now on.") \
	X(EV_GOAL_CREATED, "goal.created", "A goal was created.")                                  \
	X(EV_GOAL_UPDATED, "goal.updated",                                                         \
			"A person changed a goal's definition, priority or budget.")               \
	X(EV_GOAL_SPENT, "goal.spent", "The goal used something up: a run, time, tokens, money.")  \
	X(EV_GOAL_BUDGET, "goal.budget",                                                           \
			"The goal came near its budget, spent it, or got a new one.")              \
	X(EV_GOAL_STATUS, "goal.status", "A goal changed its status.")                             \
	X(EV_PLAN_APPLIED, "plan.applied",                                                         \
			"A checked plan became the goal's plan; its nodes exist now, as it says.") \
	X(EV_PLAN_GENERATED, "plan.generated",                                                     \
			"A planner made a plan: by which model, from what, with what errors on "   \
			"the way.")                                                                \
	X(EV_NODE_STATUS, "node.status", "A node without children changed its status.")            \
	X(EV_NODE_FAILED, "node.failed", "A step of the node's work failed; counted per cause.")   \
	X(EV_NODE_ACCEPTED, "node.accepted", "The node's change is on the target branch.")         \
	X(EV_NODE_REPORTED, "node.reported",                                                       \
			"The agent reported on its node; that is not yet believed.")               \
	X(EV_NODE_WANTED, "node.wanted", "A person chose who shall work on the node next.")        \
	X(EV_NODE_ANSWERED, "node.answered",                                                       \
			"A person answered; whoever works on the node is told.")                   \
	X(EV_NODE_SCOPED, "node.scoped", "A person took tools away from the node.")                \
	X(EV_NODE_ADDED, "node.added", "A task was added to a standing goal.")                     \
	X(EV_NODE_REVERTED, "node.reverted",                                                       \
			"The node's change was taken back from the target branch.")                \
	X(EV_EPISODE_OPENED, "episode.opened", "Work on the node stalled.")                        \
	X(EV_EPISODE_RUNG, "episode.rung", "A rung of the recovery ladder was taken, or skipped.") \
	X(EV_EPISODE_ADVISED, "episode.advised", "A model advised what to do about a stall.")      \
	X(EV_EPISODE_CLOSED, "episode.closed", "The stall is over: progress, or an end.")          \
	X(EV_CRYSTALLIZED, "crystallization.written",                                              \
			"A handoff was written for whoever goes on.")                              \
	X(EV_ASSIGNMENT_CREATED, "assignment.created",                                             \
			"A node was bound to an agent and a worker.")                              \
	X(EV_ASSIGNMENT_MOVED, "assignment.moved", "An assignment changed status or stage.")       \
	X(EV_ASSIGNMENT_ACTIVITY, "assignment.activity",                                           \
			"A sign of life was seen; the due date moved.")                            \
	X(EV_DISPATCH_INTENDED, "dispatch.intended",                                               \
			"An instruction will be given, under this id, once.")                      \
	X(EV_DISPATCH_RESULT, "dispatch.result", "What became of an instruction.")                 \
	X(EV_RUN_CREATED, "run.created",                                                           \
			"A dispatch was intended: this run shall be started once.")                \
	X(EV_RUN_STARTED, "run.started", "The run's agent was started.")                           \
	X(EV_RUN_SESSION, "run.session",                                                           \
			"The run's agent said which session it is, and is ready.")                 \
	X(EV_RUN_ENDED, "run.ended", "The run's agent ended, or was lost.")                        \
	X(EV_RUN_HARVESTED, "run.harvested",                                                       \
			"What the agent left in its worktree was committed and kept.")             \
	X(EV_RUN_CONTINUED, "run.continued",                                                       \
			"The run could not finish, which is no failure: the next one begins.")     \
	X(EV_RUN_VERIFIED, "run.verified", "Our own check of the run's result.")                   \
	X(EV_WORKER_CREATED, "worker.created", "A worker slot exists.")                            \
	X(EV_WORKER_STATUS, "worker.status", "A worker changed its status.")                       \
	X(EV_WORKER_WANTED, "worker.wanted",                                                       \
			"A person wants the worker reset or removed once its task lets go.")       \
	X(EV_WORKER_REMOVED, "worker.removed", "A worker and its worktree are gone.")              \
	X(EV_PATROL_FOUND, "patrol.found",                                                         \
			"Something is not as it should be, and what is done about it.")            \
	X(EV_TARGET_MOVED, "target.moved",                                                         \
			"The target branch was found somewhere else, or was moved by us.")         \
	X(EV_AUTO_STARTED, "auto.started", "Auto mode was switched on.")                           \
	X(EV_AUTO_STOPPED, "auto.stopped", "Auto mode is over, or cannot go on.")                  \
	X(EV_AUTO_POOL, "auto.pool", "The pool of tasks answered, or did not.")                    \
	X(EV_AUTO_PAUSED, "auto.paused", "Auto mode waits for a person.")                          \
	X(EV_AUTO_RESUMED, "auto.resumed", "Auto mode continues.")                                 \
	X(EV_CONFLICT_PREDICTED, "conflict.predicted",                                             \
			"Work under way would conflict with other work, or with the target.")      \
	X(EV_CONFLICT_CLEARED, "conflict.cleared", "It would no longer.")                          \
	X(EV_WORKSPACE_READY, "workspace.ready",                                                   \
			"The worker's worktree stands on the assignment's branch.")                \
	X(EV_EFFECT_INTENDED, "effect.intended",                                                   \
			"A side effect will be carried out, at least once.")                       \
	X(EV_EFFECT_ENDED, "effect.ended", "The outcome of a side effect is known.")               \
	X(EV_ESCALATION_OPENED, "escalation.opened", "A person is needed.")                        \
	X(EV_ESCALATION_REMINDED, "escalation.reminded", "A person was reminded.")                 \
	X(EV_ESCALATION_CLOSED, "escalation.closed", "A person is no longer needed.")              \
	X(EV_ESCALATION_SNOOZED, "escalation.snoozed", "A person wants to be asked later.")        \
	X(EV_ESCALATION_RAISED, "escalation.raised",                                               \
			"There is new evidence about what a person is asked.")                     \
	X(EV_ITERATION_RECORDED, "iteration.recorded",                                             \
			"A run was analysed: what it did, and what came of it.")                   \
	X(EV_DETECTION_MADE, "detection.made",                                                     \
			"A pattern was found that does not get better by itself.")                 \
	X(EV_INTERVENTION_APPLIED, "intervention.applied", "How a detection was answered.")        \
	X(EV_DETECTION_JUDGED, "detection.judged", "Whether it helped, by what came after it.")    \
	X(EV_OVERSIGHT_RENEWED, "oversight.renewed",                                               \
			"A person had a say: detectors look at what comes after it.")              \
	X(EV_GOAL_HEALTH, "goal.health", "The goal's health changed.")                             \
	X(EV_RUN_FROZEN, "run.frozen", "The run's processes are held, or go on.")                  \
	X(EV_NOTICE_OPENED, "notice.opened",                                                       \
			"A person is to be told by a channel of the configuration.")               \
	X(EV_NOTICE_TRIED, "notice.tried", "What came of an attempt to tell them.")                \
	X(EV_NOTICE_WITHDRAWN, "notice.withdrawn", "Nobody needs to be told any more.")            \
	X(EV_NOTICE_RETRIED, "notice.retried", "A person wants it tried again, now.")              \
	X(EV_AGENT_LIMITED, "agent.limited",                                                       \
			"An agent cannot be used for a while: its lane waits.")                    \
	X(EV_AGENT_CLEARED, "agent.cleared", "The agent can be used again.")                       \
	X(EV_SILENCE_LEARNED, "silence.learned",                                                   \
			"A run that ended well showed how long its agent is silent, and when.")    \
	X(EV_OUTAGE_SUSPECTED, "outage.suspected",                                                 \
			"So many runs fell silent at once that the fault is ours: none is "        \
			"touched.")                                                                \
	X(EV_OUTAGE_OVER, "outage.over", "Signs of life came back.")

#define EV_ENUM(sym, name, help) sym,
enum event_kind { EVENTS(EV_ENUM) EVENT_KIND_COUNT };
#undef EV_ENUM

struct event_field {
	const char *name;
	enum value_kind kind;
	bool required;
	const char *help;
	enum value_kind items; /* of an array; V_NULL stands for texts */
};

struct event_info {
	const char *name, *help;
	const struct event_field *fields;
	size_t n;
};

struct event_info event_info(enum event_kind kind);

struct event {
	uint64_t seq; /* 0 until it is in the log */
	ov_time at;
	enum event_kind kind;
	str actor;                       /* who caused it: "human:NAME", "overseer" */
	str goal, node, assignment, run; /* what it is about; empty where that does not apply */
	value *data;                     /* an object, per event_info(kind).fields */
};

/* A batch of events in an arena-free vector of pointers; the events live in an arena. */
struct events {
	struct event **p;
	size_t n, cap;
};

/* The kind with this name, or -1. */
int event_kind_parse(str name);
/* 0, or OV_EINVALID with what is wrong about the data. */
int event_check(const struct event *e, struct ov_err *err);
/* The body as stored: everything but seq, at and kind; empty members left out. */
value *event_body(struct arena *a, const struct event *e);
/*
 * A stored event back. Texts are borrowed from body. OV_ESTATE when only a newer program can read
 * it, OV_EINVALID when nobody can.
 */
int event_decode(struct arena *a, uint64_t seq, ov_time at, str kind, str body, struct event *ret,
		struct ov_err *err);
/* As shown by `events` and published live: {"seq", "at", "type", "actor", ..., "data"}. */
value *event_view(struct arena *a, const struct event *e);
