#pragma once
/* The engine as its own files see it. Private to app/engine. */
#include "app/engine/batch.h"
#include "app/engine/engine.h"

enum { TICK_APART_MS = 250 }; /* ticks on events are at least this far apart */

/* A decision that contradicted the state. Owns its texts. */
struct held {
	str key, goal, node;
	int64_t seq; /* of the newest event about its node then */
	ov_time at;
};

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
	int apply_failed; /* the state could not be read back: nothing may be decided or written */
	VEC(struct state *) replaced; /* and still read by callers, perhaps */

	struct reports retry; /* to be submitted once the store may be tried again, oldest first */
	ov_time retry_wait, retry_at;
	ov_time refused_at; /* when the first of those that contradict the state is due */
	bool failing;       /* the last transaction was refused */
	bool retrying;      /* its wait is over: try again */
	bool started;

	uint64_t archive_to; /* all up to this event is cold */
	uint64_t archived;   /* and so much of it is moved, as far as known */

	bool tick_due;
	ov_time last_tick, wake_at;
	ov_time performed_at; /* all open effects, the last time */

	VEC(struct held) held; /* decisions that are not to be taken now, oldest first */
	struct map held_by_key;
};

/* engine.c */
/* Whatever else there is to wait for, a retry is not put off by it. */
void engine_set_wake(struct engine *e, ov_time at);
struct decide_ctx engine_decide(struct engine *e, str actor, struct events *out);
/*
 * engine_archive.c: what is cold, of a state that was just folded and of events that are durable.
 */
void engine_archive_open(struct engine *e);
void engine_archive_note(struct engine *e, const struct batch *b);
/*
 * Applies freshly decided events and stages them; or none of them when one contradicts the state,
 * which then is as it was before.
 */
int engine_stage(struct engine *e, const struct events *fresh, struct ov_err *err);
/*
 * May the store be written, as far as we know? If not, reports wait, in order, and nothing ticks.
 */
bool engine_may_write(const struct engine *e);

/* engine_hold.c */
/* Takes the decision no more until something changes about it, or for an hour; a person is told. */
void engine_hold(struct engine *e, const struct decision *d, const struct ov_err *err);
/* Forgets those whose time has come. */
void engine_hold_expire(struct engine *e, ov_time now);
/* When the next one's comes, at the latest; OV_TIME_MAX when there is none. */
ov_time engine_hold_until(const struct engine *e);
void engine_hold_done(struct engine *e);
/* Tells a person, once, that `what` contradicts the state. about: an event of it, or NULL. */
void engine_tell(struct engine *e, str what, const struct event *about, const struct ov_err *err);

/* engine_effects.c */
/* Effects whose intent has just become durable. */
void engine_perform_new(struct engine *e, const struct batch *b);
void engine_perform_open(struct engine *e);
/* Performs those again of which nothing was heard for long. */
void engine_perform_again(struct engine *e);
/* When that is due; OV_TIME_MAX while none is open. */
ov_time engine_again_at(struct engine *e);

/* engine_tick.c */
/* Ticks if one is due and the last one is long enough ago; otherwise sees to it that one comes. */
void engine_tick_if_due(struct engine *e);
