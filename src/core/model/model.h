#pragma once
/*
 * The things that Overseer keeps: goals, their nodes, assignments, and (in core/model/model_run.h) runs,
 * (in core/model/model_oversight.h) iterations and detections, (in core/model/model_worker.h) workers, (in core/model/model_traffic.h) what passes between Overseer, agents and
 * people. Plain data, owned by struct state and changed only by the fold (core/fold/apply). The
 * first part of each struct is its record, described by the table in model.c; the second part,
 * marked "derived", is rebuilt from it and never stored.
 */
#include "agent/fact/fact.h"
#include "base/list.h"
#include "base/ov.h"
#include "base/vec.h"
#include "core/model/model_oversight.h"
#include "core/model/model_run.h"
#include "core/model/model_traffic.h"
#include "core/model/model_worker.h"
#include "core/model/record.h"
#include "core/model/transition.h"

struct node;
struct assignment;

struct goal {
	str id, title, owner;
	str standing; /* auto or manual: tasks are added to it one by one (core/work/standing); empty: a plan */
	enum goal_status status;
	enum goal_health health;
	str status_reason;
	int64_t priority; /* 1 urgent ... 5 background */
	str problem_statement;
	struct strs success_criteria, non_goals, constraints, tags;
	struct strs assumptions, stakeholders;
	str risks;                          /* JSON: [{"risk", "impact", "mitigation"}] */
	str origin_session, origin_context; /* who asked for it; the second is JSON */
	str repo_context;                   /* what was assumed about the repository */
	int64_t plan_version;               /* 0: no plan yet */
	str plan_source;                    /* file, planner, fallback, replan */
	struct seqs plan_seqs;              /* the newest plan.applied events, LIMIT_KEPT of them */
	int64_t planned_seq; /* the plan.generated event of the newest accepted answer; of the newest
				while there is no plan */
	int64_t estimate[RESOURCE_COUNT]; /* 0: as configured */
	int64_t budget[RESOURCE_COUNT];   /* 0: as configured, -1: unlimited */
	int64_t spent[RESOURCE_COUNT];
	enum budget_level budget_level;
	int64_t spent_limit[RESOURCE_COUNT]; /* that was used up when the level was last "spent" */
	str oversight;                       /* JSON: thresholds and levels of its own */
	int64_t round;                       /* of oversight: grows when a person had a say */
	int64_t round_spent[RESOURCE_COUNT]; /* what had been spent when it began */
	bool freezes;                        /* paused by oversight: its runs are held */
	bool sequential;                     /* its phases are worked on one after another */
	bool reopened;        /* and nothing has been added or reopened in it since */
	int64_t archived_seq; /* the event that put it away; 0: it is not */
	ov_time created_at, updated_at, ended_at;

	/* derived */
	struct crystallization *handoff;    /* the newest, owned */
	VEC(struct detection *) detections; /* the newest, owned; LIMIT_DETECTIONS of them */
	struct effect *effect;              /* open one about the goal itself, or NULL */
	const struct auto_mode *automatic;  /* of tasks of the pool: what all such goals share */
	size_t order;                       /* in state->goals */
	VEC(struct node *) nodes; /* in plan order, parents before children; removed last */
	size_t leaves, leaves_done, leaves_cancelled, leaves_blocked;
	size_t leaves_unchecked; /* of those done: nothing checked them */
};

struct node {
	str id, parent_id, name, objective, outcome, definition_of_done;
	enum node_tier tier;
	int64_t removed_in; /* the plan version that left it out, cancelling it; 0: it is in the plan */
	struct strs acceptance, deps, scope_paths, required_tools;
	struct strs tools_allow, tools_deny; /* of the plan; they hold for its parts, too */
	str tools_narrowed;                  /* JSON: what a person took away besides */
	str suggested_agent, role, check_command, effort, risk;
	bool sequential;  /* its children are worked on one after another */
	str verification; /* JSON */
	int64_t priority; /* 0: as the goal */
	enum node_status status;
	str status_reason;
	enum block_kind block; /* this and the next three only while blocked */
	str blocked_by, unblock_when;
	ov_time blocked_until; /* a moment at which it unblocks itself; 0: none */
	str report;            /* JSON: what agents reported of it, merged */
	ov_time reported_at;
	str reported_status; /* as the agent said: in_progress, blocked, done */
	str handover;     /* commit that a former assignment left, for the next one to go on from */
	str feedback;     /* what the next assignment must know */
	str wanted_agent; /* by a person's word, for the next assignment */
	str wanted_worker; /* only this one may do it; empty: as its goal says */
	str claim;         /* of a task of the pool: the effect that asked for it */
	str answer;        /* of a person, for every run until the node is finished */
	str words;         /* of the one who reopened or unblocked it; as long */
	str said; /* JSON: [{"dispatch", "run", "text"}], words of people that no agent has taken */
	/* The conversation of an assignment that had to wait; goes on with the same agent and worker. */
	str session, session_agent, session_worker;
	str session_usage; /* JSON: what it had used */
	str session_tools; /* JSON: its tool scope */
	str session_home;  /* the assignment that it began with, whose private home it is in */

	/* The stall that is being recovered from: one episode, from its first sign to progress. */
	int64_t episode; /* episodes so far */
	bool episode_open;
	str episode_reason;
	int32_t rungs[RUNG_COUNT];   /* taken in this episode, those skipped included */
	int32_t skipped[RUNG_COUNT]; /* of these, those that could not help */
	int64_t recoveries;          /* rungs really taken in this episode */
	str sent_hash;               /* of the last instruction that the ladder sent */
	ov_time episode_at, recovered_at, backoff_until, sent_at;
	str diagnosed; /* hash of the evidence that a model was asked about last */
	str advice;    /* JSON: the action that it advises, until it is taken or skipped */

	str oversight;        /* JSON: thresholds and levels of its own, of the plan */
	int64_t iterations_n; /* so far */
	int64_t round;        /* of oversight: grows when a person had a say */
	int64_t round_from;   /* detectors look at iterations after this one only */
	enum severity alarm;  /* the worst of what the last iteration showed */
	str guidance;         /* of oversight: stands in front of the next instruction */

	struct strs leftover_files; /* in the work so far; LIMIT_KEPT at most */
	str commit;                 /* on the target branch, once accepted */
	str checked_by;  /* then: check, pre_accept, review or nothing; empty: not known */
	int64_t reverts; /* how often that was taken back again */
	int64_t epoch;   /* of the newest assignment */
	int32_t failures[CAUSE_COUNT];
	int64_t spent[RESOURCE_COUNT];        /* by its runs */
	int64_t spent_before[RESOURCE_COUNT]; /* of that, before a person gave it a new budget */
	int64_t unpriced, untold;             /* of its runs, as in struct usage_row */
	ov_time created_at, updated_at, queued_at, started_at, ended_at;
	struct seqs history; /* the newest events about this node, LIMIT_KEPT of them */

	/* derived */
	str key; /* "GOAL/NODE", owned */
	struct goal *goal;
	struct node *parent;
	struct node *before; /* that it waits for, since their parent is sequential; or NULL */
	VEC(struct node *) children;
	VEC(struct node *) dependants;      /* nodes that wait for this one */
	struct crystallization *handoff;    /* the newest, owned */
	struct assignment *assignment;      /* the newest, while it is live */
	VEC(struct iteration *) iterations; /* the newest, owned; LIMIT_ITERATIONS of them */
	size_t position;                    /* in goal->nodes */
	bool counted;                       /* among the leaves of its goal, and as what */
	enum node_status counted_as;
	bool counted_unchecked;
	struct list link; /* in state->ready, queued or waiting */
};

/* Of these and of runs there are many: what every tick looks at stands together, last. */
struct assignment {
	str id, goal_id, node_id, agent, worker;
	int64_t epoch;
	str reason;      /* of the last move, for people */
	str run_id;      /* the newest run */
	int64_t attempt; /* runs so far */
	str branch, base, head, tree;
	str candidate; /* while it is being accepted: the one commit that is to become the target */
	str approved_by; /* review or pre_accept, whichever passed its work last; empty: neither */
	str feedback;    /* what the next run must know of the last one */
	str session_key; /* "agent:AGENT:ASSIGNMENT" */
	str tools;       /* JSON: the tool scope of its session, never wider again; empty: all */
	str session;     /* the agent's own id of the conversation that the next run goes on with */
	str home;        /* the assignment whose private home that is in; empty: its own */
	str purpose;     /* of the next run, where it is not simply the next: nudge, message */
	str session_usage;    /* JSON: what that had used when its last run ended */
	str instruction_hash; /* of the last instruction; its text is in the dispatch's event */
	enum rung recovery_policy; /* the first rung after the nudges */
	ov_time created_at, last_dispatch_at;
	ov_time good_at;       /* since when its work waits to be accepted; 0: it does not */
	ov_time waiting_since; /* while it waits for the user's checkout */
	enum as_status status;
	enum stage stage;
	enum life_sign activity;
	enum waiting waiting; /* files or checkout: its step waits for the user's checkout */
	bool stopping;        /* its run ends because we want it to, not because it failed */
	ov_time not_before;   /* the stage waits until then; 0: does not wait */
	ov_time idle_after;   /* 0: as configured */
	ov_time last_activity_at, expected_at; /* observed; due */
	ov_time updated_at;

	/* derived */
	struct node *node;
	struct run *run;
	struct effect *effect;             /* open one, or NULL */
	bool live;                         /* has a stage, or is not terminal */
	const struct habits *habits;       /* of its agent */
	enum worker_kind slot;             /* of its worker */
	struct list link;                  /* in state->live or state->finished */
	VEC(struct dispatch *) dispatches; /* newest last, owned */
};

extern const struct record_type goal_record, node_record, assignment_record;
