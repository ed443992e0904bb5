#pragma once
/*
 * The engine owns the state and its store. Commands are decided against the state, their events
 * applied at once and staged; engine_commit, called after each loop iteration, writes everything
 * staged as one transaction, and only then are replies given, events published and effects carried
 * out. If the transaction fails, nothing of it happened: the state is folded anew from the store,
 * callers get the error, and what the daemon itself had to report is kept and submitted again.
 *
 * Events that contradict the state are a bug, of which nothing may come but its report: whatever
 * they were decided for fails alone, and everything else goes on.
 *
 * The outside world is an interface, so that the simulator can stand in for all of it. The engine
 * owns no clock, no timer and no loop.
 */
#include "base/ov.h"
#include "core/command/decide.h"
#include "core/policy/policy.h"
#include "core/state/state.h"
#include "store/store.h"

struct engine;

struct engine_world {
	ov_time (*now)(void *user);
	void (*entropy)(void *user, void *p, size_t n);
	void (*telemetry)(void *user, struct telemetry *ret);
	/*
	 * Carries out a committed effect. The outcome comes back as the command effect.end, in its
	 * own time, never from inside this call. Called again for the same effect after a restart,
	 * and when no outcome came for long: what is under way goes on, what is not is begun again.
	 */
	void (*perform)(void *user, const struct effect *fx);
	/*
	 * A run whose signs of life the tick wants to know: telemetry has them later. Asked for
	 * once more as long as it does not; must not call back.
	 */
	void (*look)(void *user, const struct run *r);
	/* Events that are durable now, in order. Valid during the call. */
	void (*published)(void *user, const struct event *const *events, size_t n);
	/* Call engine_wake at this time (OV_TIME_MAX: no need). */
	void (*wake_at)(void *user, ov_time at);
	/* The store refused a transaction (err), or takes them again (NULL). */
	void (*store_failed)(void *user, const struct ov_err *err);
	/* What was decided contradicts the state, which is a bug: nothing of it happened. */
	void (*contradicted)(void *user, const struct ov_err *err);
	/* A snapshot was taken, which had the state in memory more than once. May be NULL. */
	void (*snapshot)(void *user);
};

struct engine_options {
	struct store *store; /* taken over */
	struct state *state; /* what of it is folded already, taken over; or NULL */
	uint64_t snapshot;   /* where that fold began */
	/*
	 * Set: the state is all that can be had; nothing is decided or written, whoever asks
	 * is told this.
	 */
	const struct ov_err *refusal;
	const struct policy *policy;
	const struct engine_world *world;
	void *user;
	ov_time tick_every;
	int64_t snapshot_every;
};

/* Runs once, after the commit (r == 0) or its failure. result and err are valid during the call. */
typedef void engine_reply_fn(void *user, int r, const value *result, const struct ov_err *err);

/* Folds the store's snapshot and log. Nothing is ticked or performed before engine_start. */
int engine_open(const struct engine_options *o, struct engine **ret, struct ov_err *err);
void engine_close(struct engine *e);
/* Drives the effects that a previous daemon left open, and asks for a first tick. */
void engine_start(struct engine *e);

/* From now on as if opened with this refusal; what is staged is still written. */
void engine_refuse(struct engine *e, const struct ov_err *refusal);

/*
 * Nothing of what is staged happens, as after a failed transaction: callers are told the error, and
 * what the daemon itself reported is submitted again by the next commit.
 */
void engine_discard(struct engine *e, const struct ov_err *err);

/* No more ticks: what is under way is still reported and written, nothing new begins. */
void engine_stop(struct engine *e);

/*
 * What it points to may be out of date after the next call of the engine, but is there until the
 * next commit.
 */
const struct state *engine_state(const struct engine *e);
struct store *engine_store(const struct engine *e);
/* The last event that is durable; the state may already hold more. */
uint64_t engine_head(const struct engine *e);
/* True while something is staged that the store does not have yet. */
bool engine_staged(const struct engine *e);

/* params are borrowed for the call. reply may be NULL. */
void engine_submit(struct engine *e, str command, const value *params, str actor,
		engine_reply_fn *reply, void *user);
/*
 * As engine_submit for what the daemon itself has seen: kept and submitted again if the
 * commit fails.
 */
void engine_report(struct engine *e, str command, const value *params);
/* tell_run_end(e, m) and so on: the same of a message, which is copied. */
void engine_message(struct engine *e, enum message m, const void *is);
#define MESSAGE(sym, name)                                                         \
	static inline void tell_##sym(struct engine *e, const struct msg_##sym *m) \
	{                                                                          \
		engine_message(e, MESSAGE_##sym, m);                               \
	}
#include "core/message/names.def"
/*
 * Runs fn once everything staged so far is durable (at once if nothing is), or was refused: answers
 * that are read from the state are made in it, so that nothing unsaved is ever shown.
 */
void engine_after_commit(struct engine *e, void (*fn)(void *user, int r, const struct ov_err *err),
		void *user);

/* Writes what is staged, if a write is not under way; ticks first when one is due. */
void engine_commit(struct engine *e);
/* The time given to wake_at has come. */
void engine_wake(struct engine *e);
/* Something was seen that telemetry tells: tick soon. */
void engine_touch(struct engine *e);
/* Ticks now; what it decides is staged. Returns the decisions as shown to people. */
value *engine_tick_now(struct engine *e, struct arena *a);
/* What a tick would decide, changing nothing. */
value *engine_tick_dry(struct engine *e, struct arena *a);
/*
 * Is there work that should move by itself, and does not wait for anything? Costs what a
 * tick costs.
 */
bool engine_due(struct engine *e);
/* A reloaded configuration: takes effect with the next decision. */
void engine_set_policy(struct engine *e, const struct policy *p, ov_time tick_every);
/* Are there events of archived goals, or older ones, that the store could move to its archive? */
bool engine_archive_due(const struct engine *e);
/*
 * Moves some of them, after a snapshot if that has to be first: a few milliseconds, unless
 * something more urgent is under way. After a failure nothing is due until the next goal
 * is archived.
 */
int engine_archive(struct engine *e, struct ov_err *err);
/* Writes a snapshot of what is durable, if there is anything new. */
int engine_snapshot(struct engine *e, struct ov_err *err);
