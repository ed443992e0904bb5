#pragma once
/*
 * All live objects, and the indexes over them. The state is the fold of the event log: only
 * core/fold/apply changes it, everything else reads. It owns its objects and their texts. Lists
 * that grow for ever (ended runs, finished assignments, closed escalations) keep their newest
 * entries; the log keeps all.
 */
#include "base/map.h"
#include "base/ov.h"
#include "core/model/limits.h"
#include "core/model/model.h"
#include "core/model/watchdog.h"
#include "core/state/state.def"

struct state {
	uint64_t seq;
	STATE_ROWS(MEMBER, NO_MEMBER);

	struct map goals_by_id, nodes_by_key, assignments_by_id, runs_by_id, workers_by_name,
			effects_by_id, dispatches_by_id;
	VEC(struct goal *) goals; /* oldest first */
	VEC(struct worker *) workers;
	VEC(struct escalation *) escalations; /* open ones, and the newest closed ones */

	struct oversight_tally tally;     /* of oversight */
	VEC(struct notice *) notices;     /* waiting ones, and the newest others; oldest first */
	VEC(struct lane *) lanes;         /* of agents that have to wait */
	VEC(struct streak *) streaks;     /* of agents whose last run failed */
	VEC(struct usage_row *) usage;    /* by day, oldest first */
	VEC(struct habits *) habits;      /* of agents, in the order in which they were met */
	VEC(struct conflict *) conflicts; /* that were seen coming and are still to come */
	VEC(struct watcher *) watchers;   /* the one that was heard of last stands last */
	struct vigil vigil;
	struct clock_known clock;
	struct auto_mode automatic;
	struct effect *pool; /* the pool is being asked, or NULL: one question at a time */

	struct list ready;    /* leaves that are todo with all dependencies met, in active goals */
	struct list queued;   /* leaves that are queued, in active goals */
	struct list waiting;  /* leaves that are blocked until a moment, in active goals */
	struct list live;     /* assignments that still have a stage or are not terminal */
	struct list finished; /* the newest others, oldest first */
	struct list runs;     /* newest runs of live assignments, and runs that have not ended */
	struct list retired_runs; /* the newest others, oldest first */
	struct list judged;       /* runs of which an iteration is to be made */
	struct list effects;      /* open ones, oldest first: the outbox */
	size_t finished_count, retired_count;
};

struct state *state_new(uint64_t hash_seed);
struct state *state_free(struct state *s); /* returns NULL */

struct goal *state_goal(const struct state *s, str id);
struct node *state_node(const struct state *s, str goal, str node);
struct assignment *state_assignment(const struct state *s, str id);
struct run *state_run(const struct state *s, str id);
struct worker *state_worker(const struct state *s, str name);
struct effect *state_effect(const struct state *s, str id);
struct dispatch *state_dispatch(const struct state *s, str id);
/*
 * What a person was asked of this kind and has not answered, about the assignment where one is
 * named; or NULL.
 */
const struct escalation *state_asked(const struct state *s, enum ask ask, str assignment);
struct escalation *state_escalation(const struct state *s, int64_t number);
struct notice *state_notice(const struct state *s, str id);
struct detection *state_detection(const struct goal *g, str id);
struct lane *state_lane(const struct state *s, str agent);
struct conflict *state_conflict(const struct state *s, str a, str b);
/* Its status for people: a goal that was aborted is paused, but called that. */
const char *goal_word(const struct goal *g) _pure_;
/* The goal of this kind that is open and has room, to which tasks are added; NULL: none. */
struct goal *state_standing(const struct state *s, const char *kind);

/*
 * What a person typed: an id, any unique prefix of one, and for nodes GOAL/NODE or a node id that
 * only one goal has. OV_ENOTFOUND, or OV_ECONFLICT when several match, which the message names.
 * To read, the one in the only goal that is open is meant; to change something, the goal is needed.
 */
int state_find_goal(const struct state *s, str text, struct goal **ret, struct ov_err *err);
int state_find_node(const struct state *s, str goal, str text, struct node **ret,
		struct ov_err *err);
int state_find_node_to_read(const struct state *s, str goal, str text, struct node **ret,
		struct ov_err *err);
int state_find_run(const struct state *s, str text, struct run **ret, struct ov_err *err);
int state_find_assignment(const struct state *s, str text, struct assignment **ret,
		struct ov_err *err);
int state_find_notice(const struct state *s, str text, struct notice **ret, struct ov_err *err);
int state_find_dispatch(const struct state *s, str text, struct dispatch **ret, struct ov_err *err);

/* Verified work that is on its way to the target branch, its turn or not. */
static inline bool stage_is_good(enum stage stage)
{
	return stage >= STAGE_REVIEW;
}

/* It has its turn in the accept queue: nobody else is served until it is through. */
static inline bool stage_is_accepting(enum stage stage)
{
	return stage >= STAGE_GATE;
}

/* Its tasks are added one by one, and there is room for more: it is not over when they are. */
static inline bool goal_stands(const struct goal *g)
{
	return g->standing.n && g->leaves < LIMIT_STANDING;
}

/* A node without children: the only kind that is worked on and whose status is set. */
static inline bool node_is_leaf(const struct node *n)
{
	return n->children.n == 0;
}

static inline bool node_is_final(const struct node *n)
{
	return n->status == NODE_DONE || n->status == NODE_CANCELLED;
}

static inline bool assignment_is_final(const struct assignment *a)
{
	return a->status == AS_DONE || a->status == AS_CANCELLED;
}

/* While it is active: the worse of what its budget and what its nodes' alarms amount to. */
enum goal_health goal_health_due(const struct goal *g);
/* The same of the budget alone. */
enum goal_health budget_health(enum budget_level level);
/* By what it said, else by its exit status. */
bool run_ended_well(const struct run *r);

/* Are its dependencies and those of its parents met? A cancelled one holds nobody up. */
bool node_is_ready(const struct state *s, const struct node *n);
/* It, or what it is a part of, comes after something else, finished or not. */
bool node_waits(const struct node *n);
/* The priority that counts: its own, else its goal's. */
int64_t node_priority(const struct node *n);

/*
 * For core/fold/apply and the snapshot only: they put objects in and keep the indexes true. Each
 * takes ownership of its object.
 */
void state_add_goal(struct state *s, struct goal *g);
void state_add_node(struct state *s, struct goal *g, struct node *n);
/* Once all nodes of the goal are in, and in order: who is whose child and who waits for whom. */
void state_link_nodes(struct state *s, struct goal *g);
void state_add_assignment(struct state *s, struct assignment *as);
void state_add_run(struct state *s, struct run *r);
void state_add_worker(struct state *s, struct worker *w);
void state_remove_worker(struct state *s, struct worker *w);
void state_add_effect(struct state *s, struct effect *e);
void state_remove_effect(struct state *s, struct effect *e);
void state_add_escalation(struct state *s, struct escalation *e);
void state_add_dispatch(struct state *s, struct dispatch *d); /* its assignment must be there */
void state_add_lane(struct state *s, struct lane *l);
void state_remove_lane(struct state *s, struct lane *l);
void state_add_conflict(struct state *s, struct conflict *c);
void state_remove_conflict(struct state *s, struct conflict *c);
/* The newest handoff of its node or goal takes the place of the one before. */
void state_set_handoff(struct state *s, struct crystallization *c);
/* A number that the node has replaces it; the oldest beyond LIMIT_ITERATIONS go. */
void state_add_iteration(struct state *s, struct node *n, struct iteration *it);
void state_add_detection(struct state *s, struct goal *g, struct detection *d);
void state_add_notice(struct state *s, struct notice *x);
/* Drops the oldest settled notices beyond LIMIT_KEPT; those of the last hour are kept. */
void state_prune_notices(struct state *s, ov_time now);
/* After it was judged, or an iteration was made of it. */
void state_index_run(struct state *s, struct run *r);
/* The node is finished, or gone: the log has its iterations. */
void node_drop_iterations(struct node *n);
/* After a change of status, stage or dependencies: puts it into the right list. */
void state_index_assignment(struct state *s, struct assignment *as);
/* After a leaf changed: the status of its parents, the goal's counts, and who waits. */
void state_roll_up(struct state *s, struct node *leaf);
/* After its status or its tree changed: derives, counts and indexes all of its nodes. */
void state_index_goal(struct state *s, struct goal *g);
/* The run is over and no live assignment's newest: keep it among the newest LIMIT_KEPT of those. */
void state_retire_run(struct state *s, struct run *r);
/* Drops the oldest closed escalations beyond LIMIT_KEPT. */
void state_prune_escalations(struct state *s);
/* Is this act of the watchdog not yet recorded? */
bool vigil_is_new(const struct state *s, str watch, int64_t n, ov_time at);
/* Where this watchdog stands among them; their number: nowhere. */
size_t watcher_place(const struct state *s, str watch);
/* The newest assignment, which may be over; NULL when there was none, or it is long gone. */
const struct assignment *newest_assignment(const struct state *s, const struct node *n);
