#pragma once
/*
 * Who has a slot. A slot is a run or a step under way; workers.max and auto.concurrency count
 * these. Work that waits keeps its worker and worktree but has none, so that others can begin
 * meanwhile; at most workers.max_waiting wait at once (workers.max, if that is more), then nothing
 * new begins. What is under way may come to wait, and is counted for that, too. Work that waits for
 * its agent or for an answer to its agent's question gives its worker back where another task could
 * use it. Pure questions about the state, for the tick, for status and for explain alike.
 */
#include "core/policy/policy.h"
#include "core/state/state.h"

/* What a question about many assignments shares. */
struct slots {
	const struct state *s;
	const struct policy *p;
	ov_time now;
	/*
	 * Whoever has its turn in the accept queue waits itself, so that all behind it wait, too.
	 */
	bool queue_looked_at, queue_waits;
	struct slot_count {
		size_t busy;    /* a run or a step is under way */
		size_t starts;  /* could begin a run now, if there is a slot */
		size_t waiting; /* for what, is counted in kinds */
		size_t yields;  /* of these, give their worker back if another task needs it */
		size_t kinds[WAITING_COUNT];
	} of[WORKER_KIND_COUNT];
};

struct slots slots_init(const struct state *s, const struct policy *p, ov_time now);
/*
 * What it waits for, so that it needs no slot; WAITING_NONE: it has one, or is about to need one.
 */
enum waiting assignment_waiting(struct slots *sl, const struct assignment *as);
/* The same in words, for people; empty when it does not wait. */
str waiting_text(struct arena *a, struct slots *sl, const struct assignment *as);
/*
 * It waits for its agent or an answer, and its work is kept: it can give its worker back. A later
 * run then continues from what was kept, in another worktree and so perhaps without its session.
 */
bool assignment_may_yield(const struct slots *sl, const struct assignment *as);
/* Its next step is a run, or the worktree for one: that begins only where there is a slot. */
bool assignment_starts(const struct assignment *as);
/* Counts one of state->live. */
void slots_add(struct slots *sl, const struct assignment *as);
/* Counts all of them. */
void slots_count(struct slots *sl);

/* How many slots there are for a kind of worker; SIZE_MAX: as many as there are workers. */
size_t slots_max(const struct state *s, const struct policy *p, enum worker_kind kind);
/* No other task may start, given the numbers of tasks that wait and of all that have a worktree. */
bool slots_crowded(const struct state *s, const struct policy *p, enum worker_kind kind,
		size_t waiting, size_t all);
/* A slot is free, but too many tasks wait; those that give their worker back are not counted. */
bool slots_held(const struct slots *sl, enum worker_kind kind);
/*
 * Why that is so, for people: "8 tasks wait (6 for review, 2 for your uncommitted files); nothing
 * new is started: workers.max_waiting". Empty when it is not.
 */
str slots_text(struct arena *a, const struct slots *sl, enum worker_kind kind);
