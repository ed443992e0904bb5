#pragma once
/*
 * Every status and every other closed set of names of the domain, as lists: the enumerations are
 * made from them here, their names and legal transitions in core/model/transition.
 */

#define NODE_STATUSES(X)                   \
	X(NODE_TODO, "todo")               \
	X(NODE_QUEUED, "queued")           \
	X(NODE_IN_PROGRESS, "in_progress") \
	X(NODE_BLOCKED, "blocked")         \
	X(NODE_DONE, "done")               \
	X(NODE_CANCELLED, "cancelled")

#define AS_STATUSES(X)                 \
	X(AS_QUEUED, "queued")         \
	X(AS_DISPATCHED, "dispatched") \
	X(AS_ACTIVE, "active")         \
	X(AS_STALLED, "stalled")       \
	X(AS_BLOCKED, "blocked")       \
	X(AS_DONE, "done")             \
	X(AS_CANCELLED, "cancelled")

#define GOAL_STATUSES(X)               \
	X(GOAL_ACTIVE, "active")       \
	X(GOAL_PAUSED, "paused")       \
	X(GOAL_COMPLETED, "completed") \
	X(GOAL_CANCELLED, "cancelled") \
	X(GOAL_ARCHIVED, "archived")

#define WORKER_STATUSES(X)                     \
	X(WORKER_OFFLINE, "offline")           \
	X(WORKER_IDLE, "idle")                 \
	X(WORKER_WORKING, "working")           \
	X(WORKER_NEEDS_REVIEW, "needs_review") \
	X(WORKER_REVIEWING, "reviewing")       \
	X(WORKER_REJECTED, "rejected")         \
	X(WORKER_REBASING, "rebasing")         \
	X(WORKER_NO_CHANGES, "no_changes")     \
	X(WORKER_ERROR, "error")

#define GOAL_HEALTHS(X)                \
	X(HEALTH_HEALTHY, "healthy")   \
	X(HEALTH_WARNING, "warning")   \
	X(HEALTH_CRITICAL, "critical") \
	X(HEALTH_PAUSED, "paused")     \
	X(HEALTH_ABORTED, "aborted")

#define RUN_STATUSES(X)             \
	X(RUN_STARTING, "starting") \
	X(RUN_RUNNING, "running")   \
	X(RUN_ENDED, "ended")

#define VERIFICATIONS(X)             \
	X(VERIFY_PENDING, "pending") \
	X(VERIFY_RUNNING, "running") \
	X(VERIFY_PASSED, "passed")   \
	X(VERIFY_FAILED, "failed")   \
	X(VERIFY_SKIPPED, "skipped") \
	X(VERIFY_REFUSED, "refused") /* before any check: what it consists of cannot be accepted */

#define ESCALATION_STATUSES(X)      \
	X(ESC_OPEN, "open")         \
	X(ESC_ANSWERED, "answered") \
	X(ESC_EXPIRED, "expired")   \
	X(ESC_DISMISSED, "dismissed")

/* How an instruction reaches an agent, and what became of it. */
#define DISPATCH_MODES(X)            \
	X(MODE_SPAWN, "spawn")       \
	X(MODE_SEND, "send")         \
	X(MODE_ESCALATE, "escalate") \
	X(MODE_RESUME, "resume")

#define DISPATCH_RESULTS(X)            \
	X(RESULT_PENDING, "pending")   \
	X(RESULT_ACCEPTED, "accepted") \
	X(RESULT_OK, "ok")             \
	X(RESULT_TIMEOUT, "timeout")   \
	X(RESULT_ERROR, "error")

/* The rungs of the recovery ladder, in order. */
#define RUNGS(X)                     \
	X(RUNG_NUDGE, "nudge")       \
	X(RUNG_RESEND, "resend")     \
	X(RUNG_REPLAN, "replan")     \
	X(RUNG_REASSIGN, "reassign") \
	X(RUNG_ESCALATE, "escalate")

/*
 * Signs of life of a run, strongest first; the last four are weaker than a run that does something.
 */
#define LIFE_SIGNS(X)                    \
	X(LIFE_NONE, "none")             \
	X(LIFE_TOOL, "tool")             \
	X(LIFE_STREAM, "stream")         \
	X(LIFE_PROCESS, "process")       \
	X(LIFE_COMPACTION, "compaction") \
	X(LIFE_SESSION, "session")       \
	X(LIFE_TREE, "tree")             \
	X(LIFE_PROGRESS, "progress")     \
	X(LIFE_MESSAGE, "message")

/* Why a node is blocked: who or what can unblock it follows from that. */
#define BLOCK_KINDS(X)                        \
	X(BLOCK_NONE, "none")                 \
	X(BLOCK_PERSON, "person")             \
	X(BLOCK_PAUSED, "paused")             \
	X(BLOCK_FAILED, "failed")             \
	X(BLOCK_STALLED, "stalled")           \
	X(BLOCK_QUESTION, "question")         \
	X(BLOCK_CREDENTIAL, "credential")     \
	X(BLOCK_NO_AGENT, "no_agent")         \
	X(BLOCK_RATE_LIMITED, "rate_limited") \
	X(BLOCK_LOGIN, "login")               \
	X(BLOCK_BUDGET, "budget")             \
	X(BLOCK_FAILING, "failing")

/* What a goal may use up. */
#define RESOURCES(X)                    \
	X(RES_ITERATIONS, "iterations") \
	X(RES_WALL_MS, "wall_ms")       \
	X(RES_TOKENS, "tokens")         \
	X(RES_COST_MICROUSD, "cost_microusd")

#define BUDGET_LEVELS(X)           \
	X(BUDGET_FINE, "fine")     \
	X(BUDGET_WARNED, "warned") \
	X(BUDGET_SPENT, "spent")

#define NODE_TIERS(X)          \
	X(TIER_PHASE, "phase") \
	X(TIER_TASK, "task")   \
	X(TIER_SUBTASK, "subtask")

/*
 * Where an assignment stands in its pipeline: what it waits for next. Work that is good waits in
 * rebase for its turn (or before that, in review, for a person); who has come further than that,
 * up to the end of post_accept or revert, is being accepted: one at a time. A blocked one in
 * waiting keeps its worker, and continues there when its agent is free again or a person has
 * answered: it is before all steps. In the order of the pipeline.
 */
#define STAGES(X)                       \
	X(STAGE_NONE, "none")           \
	X(STAGE_WAITING, "waiting")     \
	X(STAGE_WORKSPACE, "workspace") \
	X(STAGE_START, "start")         \
	X(STAGE_RUNNING, "running")     \
	X(STAGE_STOP, "stop")           \
	X(STAGE_HARVEST, "harvest")     \
	X(STAGE_CHECK, "check")         \
	X(STAGE_REVIEW, "review")       \
	X(STAGE_REBASE, "rebase")       \
	X(STAGE_GATE, "gate")           \
	X(STAGE_ACCEPT, "accept")       \
	X(STAGE_POST, "post_accept")    \
	X(STAGE_REVERT, "revert")

/* Why a step failed; each cause has its own cap (see cause_rules in core/flow/flow). */
#define CAUSES(X)                         \
	X(CAUSE_NONE, "none")             \
	X(CAUSE_WORKSPACE, "workspace")   \
	X(CAUSE_START, "start")           \
	X(CAUSE_RUN, "run")               \
	X(CAUSE_LOST, "lost")             \
	X(CAUSE_HARVEST, "harvest")       \
	X(CAUSE_NO_CHANGES, "no_changes") \
	X(CAUSE_CHECK, "check")           \
	X(CAUSE_VERIFY, "verify")         \
	X(CAUSE_ACCEPT, "accept")         \
	X(CAUSE_CONFLICT, "conflict")     \
	X(CAUSE_DIRTY, "dirty")           \
	X(CAUSE_MOVED, "moved")           \
	X(CAUSE_GATE, "gate")             \
	X(CAUSE_POST, "post_accept")      \
	X(CAUSE_REVIEW, "review")

#define STATUS_ENUM(sym, name) sym,
enum node_status { NODE_STATUSES(STATUS_ENUM) NODE_STATUS_COUNT };
enum as_status { AS_STATUSES(STATUS_ENUM) AS_STATUS_COUNT };
enum goal_status { GOAL_STATUSES(STATUS_ENUM) GOAL_STATUS_COUNT };
enum worker_status { WORKER_STATUSES(STATUS_ENUM) WORKER_STATUS_COUNT };
enum goal_health { GOAL_HEALTHS(STATUS_ENUM) GOAL_HEALTH_COUNT };
enum run_status { RUN_STATUSES(STATUS_ENUM) RUN_STATUS_COUNT };
enum verification { VERIFICATIONS(STATUS_ENUM) VERIFICATION_COUNT };
enum esc_status { ESCALATION_STATUSES(STATUS_ENUM) ESC_STATUS_COUNT };
enum dispatch_mode { DISPATCH_MODES(STATUS_ENUM) DISPATCH_MODE_COUNT };
enum dispatch_result { DISPATCH_RESULTS(STATUS_ENUM) DISPATCH_RESULT_COUNT };
enum rung { RUNGS(STATUS_ENUM) RUNG_COUNT };
enum life_sign { LIFE_SIGNS(STATUS_ENUM) LIFE_SIGN_COUNT };
enum block_kind { BLOCK_KINDS(STATUS_ENUM) BLOCK_KIND_COUNT };
enum resource { RESOURCES(STATUS_ENUM) RESOURCE_COUNT };
enum budget_level { BUDGET_LEVELS(STATUS_ENUM) BUDGET_LEVEL_COUNT };
enum node_tier { NODE_TIERS(STATUS_ENUM) NODE_TIER_COUNT };
enum stage { STAGES(STATUS_ENUM) STAGE_COUNT };
enum cause { CAUSES(STATUS_ENUM) CAUSE_COUNT };
#undef STATUS_ENUM
