#pragma once
/*
 * The things that Overseer keeps: goals, their nodes, assignments, runs, workers, effects and
 * escalations. Plain data, owned by struct state and changed only by the fold (core/apply). The
 * first part of each struct is its record, described by the table in model.c; the second part,
 * marked "derived", is rebuilt from it and never stored.
 */
#include "base/list.h"
#include "base/ov.h"
#include "base/vec.h"
#include "core/record.h"
#include "core/transition.h"

struct node;
struct assignment;

struct goal {
	str id, title, owner;
	enum goal_status status;
	enum goal_health health;
	str status_reason;
	int64_t priority; /* 1 urgent ... 5 background */
	str problem_statement;
	struct strs success_criteria, non_goals, constraints, tags;
	int64_t plan_version; /* 0: no plan yet */
	ov_time created_at, updated_at, ended_at;

	/* derived */
	size_t order;             /* in state->goals */
	VEC(struct node *) nodes; /* in plan order, parents before children */
	size_t leaves, leaves_done, leaves_cancelled, leaves_blocked;
};

struct node {
	str id, parent_id, name, objective, outcome, definition_of_done;
	enum node_tier tier;
	struct strs acceptance, deps, scope_paths, required_tools;
	str suggested_agent, role, check_command, effort, risk;
	str verification; /* JSON */
	int64_t priority; /* 0: as the goal */
	enum node_status status;
	str status_reason, blocked_by, unblock_when; /* the last two only while blocked */
	str commit;                                  /* on the target branch, once accepted */
	int64_t epoch;                               /* of the newest assignment */
	int32_t failures[CAUSE_COUNT];
	ov_time created_at, updated_at, queued_at, started_at, ended_at;
	struct seqs history; /* the newest events about this node, LIMIT_KEPT of them */

	/* derived */
	str key; /* "GOAL/NODE", owned */
	struct goal *goal;
	struct node *parent;
	VEC(struct node *) children;
	VEC(struct node *) dependants; /* nodes that wait for this one */
	struct assignment *assignment; /* the newest, while it is live */
	size_t position;               /* in goal->nodes */
	struct list link;              /* in state->ready or state->queued */
};

struct assignment {
	str id, goal_id, node_id, agent, worker;
	int64_t epoch;
	enum as_status status;
	enum stage stage;
	str reason;         /* of the last move, for people */
	ov_time not_before; /* the stage waits until then; 0: does not wait */
	str run_id;         /* the newest run */
	int64_t attempt;    /* runs so far */
	str branch, base, head, tree;
	str feedback; /* what the next run must know of the last one */
	ov_time created_at, updated_at, last_dispatch_at;

	/* derived */
	struct node *node;
	struct run *run;
	struct effect *effect; /* open one, or NULL */
	bool live;             /* has a stage, or is not terminal */
	struct list link;      /* in state->live or state->finished */
};

struct run {
	str id, goal_id, node_id, assignment_id, dispatch_id, agent, worker;
	int64_t attempt, epoch;
	enum run_status status;
	str instruction_hash;
	str dispatch_result; /* accepted, ok, timeout, error */
	bool lost;
	int64_t exit_code, signal;
	str message;
	int64_t output_bytes, dropped_bytes, swept;
	enum verification verification;
	str verification_detail;
	bool leftovers;
	str rescue_ref;
	int64_t commits, files_changed;
	ov_time created_at, started_at, ended_at;

	/* derived */
	struct list link; /* in state->runs or state->retired_runs */
};

struct worker {
	str name;
	enum worker_status status;
	bool pool;
	str assignment_id; /* whom it works for now */
	str path;          /* its worktree, relative to the store's folder */
	ov_time since;
};

#define EFFECT_KINDS(X)              \
	X(FX_WORKSPACE, "workspace") \
	X(FX_RUN_START, "run_start") \
	X(FX_RUN_STOP, "run_stop")   \
	X(FX_HARVEST, "harvest")     \
	X(FX_CHECK, "check")         \
	X(FX_ACCEPT, "accept")
#define FX_ENUM(sym, name) sym,
enum effect_kind { EFFECT_KINDS(FX_ENUM) EFFECT_KIND_COUNT };
#undef FX_ENUM
extern const struct status_table effect_kinds;

/* A side effect that was intended and whose outcome is not known yet. It is driven until it ends. */
struct effect {
	str id;
	enum effect_kind kind;
	str goal_id, node_id, assignment_id, run_id;
	ov_time created_at;

	/* derived */
	struct list link; /* in state->effects */
};

struct escalation {
	int64_t number;
	str goal_id, node_id, kind, question;
	enum esc_status status;
	str answer;
	ov_time opened_at, closed_at;
};

extern const struct record_type goal_record, node_record, assignment_record, run_record,
		worker_record, effect_record, escalation_record;
