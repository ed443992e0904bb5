#pragma once
/*
 * Workers as such: which of them can be given a task, and what is due about one that a person wants
 * reset or removed. The commands about them are in core/worker/worker, the choice of one for a node
 * in reconcile_worker.c; whom each may work for says core/work/standing.
 */
#include "core/state/state.h"

/* WORKERS_MANUAL_MAX: that people may add. */
enum { WORKER_NAME_MAX = 32, WORKERS_MANUAL_MAX = 200 };

/*
 * Of a worker with `wanted`. settle: its task has to let go of it first; act: it holds nothing any
 * more; none: that is under way, or its change is on the way to the target branch right now.
 */
enum worker_step { WORKER_STEP_NONE, WORKER_STEP_SETTLE, WORKER_STEP_ACT };
enum worker_step worker_next_step(const struct state *s, const struct worker *w);

/* Its change is being accepted: whatever is wanted of its worker waits for that. */
bool assignment_is_accepting(const struct assignment *as);

/*
 * It takes the place of one that could begin something new: it is being reset, or a person
 * must look.
 */
bool worker_is_unusable(const struct worker *w);
/* It can be given a task. */
static inline bool worker_is_free(const struct worker *w)
{
	return w->status == WORKER_IDLE && !w->wanted.n && !w->effect;
}
/* May this worker do this node? By kind of goal and worker, by name, by exclusion. */
bool worker_serves(const struct worker *w, const struct node *n);
