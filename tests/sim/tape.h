#pragma once
/*
 * The tape of a daemon's life: everything that crosses the border of its engine, in order. What it
 * was asked to do, what it was answered (time, entropy, telemetry, the store's answers), and what
 * it gave out (writes, events, effects, looks, wakes, replies). At the end of the life a fresh
 * engine gets the same questions and answers from the tape alone, and must give out the same,
 * byte for byte.
 *
 * Whoever calls the engine calls it through here, with the daemon's tape; NULL: nothing is
 * recorded, the call is passed on. The tape owns what is between engine and world; its memory is
 * bounded: what does not fit any more is not recorded, and the part before is compared.
 */
#include "app/engine/engine.h"
#include "tests/sim/sim.h"

struct tape;

/* Is this life one of those that are recorded? A part of them is, by the seed. */
bool tape_wanted(const struct sim *s, int life);
struct tape *tape_new(struct sim *s, int life);
/* Replays what was recorded: a difference is the violation "replay". Once; NULL allowed. */
void tape_check(struct tape *t);
/* The same, and frees it. After engine_close. */
void tape_end(struct tape *t);
void tape_free(struct tape *t);

/* As engine_open; o->state and o->refusal are not for recorded lives. */
int tape_open(struct tape *t, const struct engine_options *o, struct engine **ret,
		struct ov_err *err);

/* Calls without parameters. */
enum tape_call {
	TAPE_START,
	TAPE_STOP,
	TAPE_COMMIT,
	TAPE_WAKE,
	TAPE_TOUCH,
	TAPE_SNAPSHOT,
	TAPE_ARCHIVE,
	TAPE_CALLS
};
/* What the call gives; 0 for those that give nothing. */
int tape_call(struct tape *t, struct engine *e, enum tape_call call);
/* As engine_tick_now, or engine_tick_dry. */
value *tape_tick(struct tape *t, struct engine *e, bool dry, struct arena *a);
void tape_submit(struct tape *t, struct engine *e, str command, const value *params, str actor,
		engine_reply_fn *reply, void *user);
void tape_report(struct tape *t, struct engine *e, str command, const value *params);
void tape_after_commit(struct tape *t, struct engine *e,
		void (*fn)(void *user, int r, const struct ov_err *err), void *user);

/* Compares, saying what differs first; for tape_end and for tests. */
bool tape_replays(const struct tape *t, struct buf *ret_why);
/* The kinds of things on a tape that a test can falsify. */
enum tape_spoil { TAPE_SPOIL_ANSWER, TAPE_SPOIL_OUTPUT };
/* Changes the newest recorded thing of that kind; false: there is none. */
bool tape_sabotage(struct tape *t, enum tape_spoil what);
