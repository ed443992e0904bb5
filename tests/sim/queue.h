#pragma once
/*
 * What is to happen, in order: by time, and in one moment in the order in which it was put in. An
 * entry owns its block of plain data.
 */
#include "tests/sim/sim.h"

struct queue_entry {
	ov_time at;
	uint64_t order;
	int owner;
	sim_fn *fn;
	size_t size;
	bool lost;     /* a message that does not arrive */
	ov_time again; /* a message that arrives once more, so much later; 0: it does not */
	max_align_t block[];
};

struct sim_queue *queue_new(void);
void queue_free(struct sim_queue *q);
/* The entry stays the queue's until it is popped. */
struct queue_entry *queue_push(struct sim_queue *q, ov_time at, int owner, sim_fn *fn, size_t size);
/* The next one, now the caller's; NULL: nothing is to come. */
struct queue_entry *queue_pop(struct sim_queue *q);
void queue_entry_free(struct queue_entry *e);
/* Everything of this owner will not happen. */
void queue_drop(struct sim_queue *q, int owner);
