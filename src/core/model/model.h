#pragma once
/*
 * The things that Overseer keeps: goals, their nodes, assignments and runs, and
 * (in core/model/model_oversight.h) iterations and detections, (in core/model/model_worker.h)
 * workers, (in core/model/model_traffic.h) what passes between Overseer, agents and people. Plain
 * data, owned by struct state and changed only by the fold (core/fold/apply). The first part of
 * each struct is its record, its rows in work.def; the second part, marked "derived", is rebuilt
 * from it and never stored.
 */
#include "agent/fact/fact.h"
#include "base/list.h"
#include "base/ov.h"
#include "base/vec.h"
#include "core/model/model_oversight.h"
#include "core/model/model_traffic.h"
#include "core/model/model_worker.h"
#include "core/model/record.h"
#include "core/model/transition.h"
#include "core/model/work.def"

struct node;
struct assignment;

struct goal {
	GOAL_ROWS(MEMBER);

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
	NODE_ROWS(MEMBER, PART_MEMBER);

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
	ASSIGNMENT_ROWS(MEMBER, NO_MEMBER);
	ASSIGNMENT_ROWS(NO_MEMBER, MEMBER);

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

/* One bounded execution of an agent, from its start to its judged end. */
struct run {
	RUN_ROWS(MEMBER, NO_MEMBER);
	RUN_ROWS(NO_MEMBER, MEMBER);

	/* derived */
	struct list link;   /* in state->runs or state->retired_runs */
	struct list judged; /* in state->judged, until an iteration is made of it */
};

extern const struct record_type goal_record, node_record, assignment_record, run_record;
