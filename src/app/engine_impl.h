#pragma once
/* The engine as its own files see it. Private to app/engine*.c. */
#include "app/batch.h"
#include "app/engine.h"

enum { TICK_APART_MS = 250 }; /* ticks on events are at least this far apart */

struct engine {
	struct store *store;
	struct state *state;
	const struct policy *policy;
	const struct engine_world *world;
	void *user;
	ov_time tick_every;
	int64_t snapshot_every;
	uint64_t head; /* durable */
	uint64_t snapshot_seq;
	size_t snapshot_objects; /* in the state when the last snapshot was taken */
	uint64_t hash_seed;
	const struct ov_err *refusal;
	uint8_t entropy[64 * DECIDE_ENTROPY]; /* drawn for many decisions at once */
	size_t entropy_left;

	struct batch batches[2];
	struct batch *staged, *writing; /* writing is NULL while no transaction is under way */
	bool committing;
	int apply_failed; /* a decision contradicted the state: the batch must not be written */

	struct reports retry; /* to be submitted once the store may be tried again, oldest first */
	ov_time retry_wait, retry_at;
	bool failing;  /* the last transaction was refused */
	bool retrying; /* its wait is over: try again */
	bool started;

	uint64_t archive_to; /* all up to this event is cold */
	uint64_t archived;   /* and so much of it is moved, as far as known */

	bool tick_due;
	ov_time last_tick, wake_at;
};

/* engine.c */
/* Whatever else there is to wait for, a retry is not put off by it. */
void engine_set_wake(struct engine *e, ov_time at);
struct decide_ctx engine_decide(struct engine *e, str actor, struct events *out);
/* engine_archive.c: what is cold, of a state that was just folded and of events that are durable. */
void engine_archive_open(struct engine *e);
void engine_archive_note(struct engine *e, const struct batch *b);
/* Applies freshly decided events and stages them. */
void engine_stage(struct engine *e, struct events *fresh);
/* May the store be written, as far as we know? If not, reports wait, in order, and nothing ticks. */
bool engine_may_write(const struct engine *e);

/* engine_tick.c */
/* Ticks if one is due and the last one is long enough ago; otherwise sees to it that one comes. */
void engine_tick_if_due(struct engine *e);
