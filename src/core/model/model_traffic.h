#pragma once
/*
 * The second half of the model: what passes between Overseer and agents or people. Dispatches,
 * crystallizations, effects, escalations, and the lanes of agents that have to wait. See core/model/model.h.
 */
#include "agent/fact/fact.h"
#include "base/list.h"
#include "base/ov.h"
#include "base/vec.h"
#include "core/model/record.h"
#include "core/model/silence.h"
#include "core/model/transition.h"

/* A structured handoff: what the next one needs to know, with where to look it up. */
struct crystallization {
	str id, goal_id, node_id; /* without a node: of the whole goal */
	str assignment_id, run_id, agent, session_key;
	enum node_status status; /* of the node when it was written */
	str summary, current_state;
	str decisions; /* JSON: [{"decision", "rationale"}] */
	struct strs next_actions, open_questions, known_blockers;
	struct strs oversight; /* what it found and how that helped, a few lines */
	struct strs files_touched, commands_run, tests_run, commits, prs, issues, external_refs;
	str claimed; /* JSON: {"files", "commits"} that the agent speaks of and git does not show */
	str transcript; /* JSON: {"run", "from_byte", "to_byte"} */
	ov_time created_at;
};

/* One instruction, sent or to be sent; its id is its idempotency key. */
struct dispatch {
	str id, goal_id, node_id, assignment_id, run_id;
	enum dispatch_mode mode;
	str purpose; /* start, retry, nudge, answer, rerun, escalate */
	str target;  /* session key, or the number of the escalation */
	str instruction_hash, nonce;
	enum dispatch_result result;
	int64_t sends; /* how often it was handed over: more than once after a resend */
	int64_t seq;   /* of the event that has its text */
	str notes;
	ov_time at; /* when it was handed over, for the last time after a resend */
	ov_time acknowledged_at;
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

/* A side effect that was intended and whose outcome is not known yet. It is driven until it ends. */
struct effect {
	str id;
	enum effect_kind kind;
	str goal_id, node_id, assignment_id, run_id;
	str dispatch_id; /* of a send */
	str purpose; /* of a plan: create, split, diagnose; of a worker: reset, nuke, rebase, pick; of
			the pool: the daemon that asks; of a notification: the notice */
	str worker; /* of a worker, and for whom the pool is asked */
	ov_time created_at;

	/* derived */
	struct list link; /* in state->effects */
};

struct escalation {
	int64_t number;
	str goal_id, node_id, assignment_id, question;
	str kind;     /* the word that is stored and shown */
	enum ask ask; /* what it means; follows from the word */
	struct strs options;
	str default_answer; /* given by itself at expires_at */
	enum esc_status status;
	str answer, answered_by;
	str reason; /* of the answer; may be empty */
	int64_t episode, reminders;
	ov_time opened_at, closed_at;
	ov_time notify_at; /* not before this: quiet hours */
	ov_time expires_at, reminded_at, snoozed_until;
	str detection, fingerprint; /* of oversight, the newest that it is about; empty: none */
	int64_t raised;             /* times that it was asked again, on new evidence */
	ov_time raised_at;
	int64_t repeats; /* times that the pool gave out the same task since */
};

/* An agent that cannot be used for a while, whoever wants it; core/capacity/lane.h has the reasons. */
struct lane {
	str agent;
	enum block_kind kind;
	str detail;
	ov_time since, resets_at; /* 0: not known, a person is asked */
	int64_t times;            /* in a row */
	bool guessed;             /* nobody said when it resets: it is tried again then */
	str run_id;               /* whose end showed it; empty: no run did */
	enum fact_sign known_by;  /* by which of its signs */
	int64_t exit_code;        /* of that run, where known by it */
	str words;                /* of the agent itself; empty: it said nothing */
	ov_time seen_at;          /* when it was last seen to be so */
	/* A reset so far ahead that one run is not believed: when, and which assignments said so. */
	ov_time far_until;
	str far_by, far_by_too;
	/* One run is let through at probe_at, to see whether it is still so, then each probe_every_ms; 0: none. */
	ov_time probe_at;
	int64_t probe_every_ms;
};

/* Runs of an agent that failed in a row, in ordinary goals; none once one went well. */
struct streak {
	str agent;
	int64_t failures;
	str node;      /* the key of the first task */
	bool several;  /* and there was another one */
	str detail;    /* of the newest failure */
	ov_time since; /* when the first one was */
};

/*
 * How long runs of an agent are silent, with one model, while they do one thing: counts by duration
 * (core/model/silence), of which core/state/habit makes the silence after which a run is asked.
 */
struct habit {
	str agent, model, tool;
	enum activity activity;
	int64_t runs;    /* that have shown it */
	ov_time used_at; /* when the last of them ended */
	int32_t counts[SILENCE_BUCKETS];

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
	int64_t day; /* local, counted from 1970-01-01; 0: earlier ones, of all goals and models */
	str goal_id, agent, model;
	int64_t spent[RESOURCE_COUNT];
	int64_t tokens_input, tokens_output, tokens_cache_read, tokens_cache_write;
	int64_t unpriced; /* runs whose tokens are known and their cost is not */
	int64_t untold;   /* runs of which neither is */
};

extern const struct record_type dispatch_record, crystallization_record, effect_record,
		escalation_record, lane_record, streak_record, usage_row_record, habit_record;
