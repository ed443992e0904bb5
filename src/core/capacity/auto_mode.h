#pragma once
/*
 * What follows from the state of auto mode (struct auto_mode). Pure questions; nothing is
 * kept here.
 */
#include "base/ov.h"
#include "core/model/model.h"
#include "core/policy/policy.h"
#include "core/state/state.h"

/* Why auto mode waits for a person. */
#define PAUSE_FAILURES "failures" /* too many tasks in a row were given up */
#define PAUSE_POOL "pool"         /* the pool's command fails again and again */
#define PAUSE_ACCEPT "accept"     /* a command that work has to pass, or that follows it, failed */

/*
 * It is paused, and nothing of its tasks is started: tasks that were given out are done otherwise.
 */
bool auto_pause_holds(const struct auto_mode *m);
/* So many tasks in a row were given up that it has to pause. */
bool auto_pause_due(const struct policy *p, const struct auto_mode *m);
/* People are told from this many equal tasks in a row on: one or two may be intended. */
enum { SAME_TASKS_TOLD = 3 };
/* How often the pool gave the same text in a row. */
struct same_tasks {
	int64_t now;     /* of the newest tasks */
	int64_t longest; /* of all */
};
/* Of tasks since then; 0: of all that the state knows. */
struct same_tasks auto_same_tasks(const struct state *s, ov_time since);
/*
 * A task of the pool that was given up: it failed, stalled, used up its budget, or oversight
 * paused it.
 */
bool task_was_given_up(const struct node *n);
