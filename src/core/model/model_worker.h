#pragma once
/*
 * The third part of the model: workers, the auto mode that gives them tasks, and the conflicts that
 * are seen coming between what they do. See core/model/model.h.
 */
#include "base/ov.h"
#include "core/model/record.h"
#include "core/model/spend_window.h"
#include "core/model/traffic.def"
#include "core/model/transition.h"

struct effect;

/*
 * Goals to which tasks are added one by one (core/work/standing): those of the pool, those
 * of people.
 */
#define STANDING_AUTO "auto"
#define STANDING_MANUAL "manual"

/* Whom a worker works for. */
#define WORKER_KINDS(X)            \
	X(WORKER_POOL, "pool")     \
	X(WORKER_MANUAL, "manual") \
	X(WORKER_AUTO, "auto")

/* What a patrol finds amiss; what is done about each is in core/flow/upkeep.c. */
#define PATROL_FACTS(X)                            \
	X(PATROL_SESSION_GONE, "session_gone")     \
	X(PATROL_PROCESS_GONE, "process_gone")     \
	X(PATROL_UNDELIVERED, "undelivered")       \
	X(PATROL_STALE_REBASE, "stale_rebase")     \
	X(PATROL_NO_WORKTREE, "no_worktree")       \
	X(PATROL_STRAY_WORKTREE, "stray_worktree") \
	X(PATROL_ORPHANED_CLAIM, "orphaned_claim") \
	X(PATROL_MISSING_WORKER, "missing_worker")

/*
 * What work waits for that keeps its worker but has no run or step under way (core/capacity/slots).
 * The first two are recorded with the assignment, the others follow from the state.
 */
#define WAITINGS(X)                     \
	X(WAITING_NONE, "none")         \
	X(WAITING_FILES, "files")       \
	X(WAITING_CHECKOUT, "checkout") \
	X(WAITING_REVIEW, "review")     \
	X(WAITING_QUESTION, "question") \
	X(WAITING_TURN, "turn")         \
	X(WAITING_BACKOFF, "backoff")   \
	X(WAITING_GOAL, "goal")         \
	X(WAITING_AGENT, "agent")

#define STATUS_ENUM(sym, name) sym,
enum worker_kind { WORKER_KINDS(STATUS_ENUM) WORKER_KIND_COUNT };
enum waiting { WAITINGS(STATUS_ENUM) WAITING_COUNT };
enum patrol_fact { PATROL_FACTS(STATUS_ENUM) PATROL_FACT_COUNT };
#undef STATUS_ENUM
extern const struct status_table worker_kinds, patrol_facts, waitings;

/* A named slot: a worktree, and at most one assignment. */
struct worker {
	WORKER_ROWS(MEMBER);

	/* derived */
	struct effect *effect; /* open one about the worker itself, or NULL */
};

/* Auto mode: tasks come from the pool's command, workers of kind auto do them. */
struct auto_mode {
	AUTO_MODE_ROWS(MEMBER);

	struct spend_window window; /* of all of its goals; a section of its own in the snapshot */
};

/* Two branches, or a branch and the target, that would conflict; found by looking ahead. */
struct conflict {
	CONFLICT_ROWS(MEMBER);
};

extern const struct record_type worker_record, auto_mode_record, conflict_record;
