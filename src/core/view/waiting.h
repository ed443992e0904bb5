#pragma once
/*
 * Why a task that could proceed does not: its goal is paused, no worker is free, its agent is
 * limited, an answer is due. One source for queue list, status, work list and explain, so that they
 * say the same.
 */
#include "core/policy/policy.h"
#include "core/state/state.h"
#include "core/state/world.h"

struct queue;

/* Of one moment, in the arena; no_capacity as in struct telemetry. */
struct queue *queue_look(struct arena *a, const struct world *w, str no_capacity, ov_time now);

struct queue_reason {
	/* a word for programs; NULL: it does not wait, or only for its next step */
	const char *state;
	str why;       /* for people */
	ov_time until; /* when that ends by itself; 0: unknown */
};
struct queue_reason queue_reason(struct queue *q, const struct node *n);
/* The same as members "waiting" and "waiting_for"; null when it does not wait. */
void queue_put_waiting(struct queue *q, value *v, const struct node *n);
/*
 * Tasks that have nobody yet and could begin, by reason: a list of {state, why, count, agent,
 * since, nodes}, where nodes are the first few. Beyond a limit the remaining tasks are one group.
 */
value *queue_groups(struct queue *q);
