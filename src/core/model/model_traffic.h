#pragma once
/*
 * The second half of the model: what passes between Overseer and agents or people. Dispatches,
 * crystallizations, effects, escalations, and the lanes of agents that have to wait. See
 * core/model/model.h.
 */
#include "agent/fact/fact.h"
#include "base/list.h"
#include "base/ov.h"
#include "base/vec.h"
#include "core/model/record.h"
#include "core/model/silence.h"
#include "core/model/traffic.def"
#include "core/model/transition.h"

/* A structured handoff: what the next one needs to know, with where to look it up. */
struct crystallization {
	CRYSTALLIZATION_ROWS(MEMBER);
};

/* One instruction, sent or to be sent; its id is its idempotency key. */
struct dispatch {
	DISPATCH_ROWS(MEMBER);
};

#define EFFECT_KINDS(X)              \
	X(FX_WORKSPACE, "workspace") \
	X(FX_RUN_START, "run_start") \
	X(FX_RUN_STOP, "run_stop")   \
	X(FX_SEND, "send")           \
	X(FX_PLAN, "plan")           \
	X(FX_HARVEST, "harvest")     \
	X(FX_CHECK, "check")         \
	X(FX_ACCEPT, "accept")       \
	X(FX_REBASE, "rebase")       \
	X(FX_GATE, "gate")           \
	X(FX_POST, "post_accept")    \
	X(FX_REVERT, "revert")       \
	X(FX_POOL, "pool")           \
	X(FX_WORKER, "worker")       \
	X(FX_NOTIFY, "notify")
#define FX_ENUM(sym, name) sym,
enum effect_kind { EFFECT_KINDS(FX_ENUM) EFFECT_KIND_COUNT };
#undef FX_ENUM
extern const struct status_table effect_kinds;

#define EFFECT_OUTCOMES(X)                                                                         \
	X(ENDED_ERROR, "error") /* we could not do it, which says nothing about what it was for */ \
	X(ENDED_OK, "ok")                                                                          \
	X(ENDED_FAILED, "failed")         /* a command ran and failed */                           \
	X(ENDED_ALREADY, "already")       /* what is rebased was accepted before */                \
	X(ENDED_NO_CHANGES, "no_changes") /* there is nothing to put onto the target branch */     \
	X(ENDED_CONFLICT, "conflict")     /* with the target branch */                             \
	X(ENDED_DIRTY, "dirty")           /* the user's checkout is in the way */                  \
	X(ENDED_MOVED, "moved")           /* the target branch is not where it was */              \
	X(ENDED_REFUSED, "refused")       /* work, or a task, that cannot be taken */              \
	X(ENDED_INVALID, "invalid")       /* a planner's answers are no plan */                    \
	X(ENDED_NONE, "none")             /* no planner is configured, or the pool has no task */  \
	X(ENDED_TASK, "task")             /* the pool gave one */                                  \
	X(ENDED_UNCERTAIN,                                                                         \
			"uncertain") /* nobody knows how the pool ended, but it wrote something */
#define ENDED_ENUM(sym, name) sym,
enum effect_outcome { EFFECT_OUTCOMES(ENDED_ENUM) EFFECT_OUTCOME_COUNT };
#undef ENDED_ENUM
extern const struct status_table effect_outcomes;

/*
 * A side effect that was intended and whose outcome is not known yet. It is driven until it ends.
 */
struct effect {
	EFFECT_ROWS(MEMBER);

	/* derived */
	struct list link; /* in state->effects */
};

struct escalation {
	ESCALATION_ROWS(MEMBER);

	/* derived */
	enum ask ask; /* what its kind means */
};

/*
 * An agent that cannot be used for a while, whoever wants it; core/capacity/lane.h has the reasons.
 */
struct lane {
	LANE_ROWS(MEMBER);
};

/* Runs of an agent that failed in a row, in ordinary goals; none once one went well. */
struct streak {
	STREAK_ROWS(MEMBER);
};

/*
 * How long runs of an agent are silent, with one model, while they do one thing: counts by duration
 * (core/model/silence), of which core/state/habit makes the silence after which a run is asked.
 */
struct habit {
	HABIT_ROWS(MEMBER);

	/* derived */
	int64_t asked_after; /* a duration; 0: too little is known */
	uint64_t used_seq;   /* the event that told of it last; 0: it is in the snapshot */
};

/* Of one agent, all of them. */
struct habits {
	str agent;
	VEC(struct habit *) rows; /* owned */
	int64_t least;            /* of what they are asked after; 0: nothing is known */
};

/* What was used on one day, for one goal, by one agent with one model. */
struct usage_row {
	USAGE_ROW_ROWS(MEMBER);
};

extern const struct record_type dispatch_record, crystallization_record, effect_record,
		escalation_record, lane_record, streak_record, usage_row_record, habit_record;
