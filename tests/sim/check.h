#pragma once
/*
 * The promises, as invariants with names, looked at after every step on three kinds of facts: the
 * events that became durable (each exactly once, in order, also those of a daemon that died right
 * after writing them), the state of the daemon that is up, and what really happened in the models.
 * The checker believes nobody: it keeps its own books of what it must remember from the events.
 * A step costs what changed, not what there is.
 */
#include "core/event/event.h"
#include "core/state/state.h"
#include "tests/sim/sim.h"

struct invariant {
	const char *name;                                        /* one_live_epoch */
	const char *sentence;                                    /* what holds */
	void (*event)(struct checker *c, const struct event *e); /* each durable event, or NULL */
	void (*step)(struct checker *c);                         /* after every step, or NULL */
	void (*restart)(struct checker *c); /* a daemon has folded the store and is up, or NULL */
	void (*end)(struct checker *c);     /* all is over, or NULL */
	bool night;                         /* it is about the profile of a night */
	/* Breaks it on purpose, once, when there is an occasion: true when it was broken now. */
	bool (*sabotage)(struct checker *c);
};
extern const struct invariant *const invariants[];
extern const size_t invariants_n;

struct checker *checker_new(struct sim *s);
void checker_free(struct checker *c);
/* Events that are durable now, as a daemon tells: from inside its commit. */
void checker_published(struct checker *c, struct sim_daemon *d, const struct event *const *events,
		size_t n);
/* After every step, when what is staged is written. */
void checker_step(struct checker *c);
/* A daemon carries an effect out. */
void checker_performed(struct checker *c, str effect);
/* A daemon is up, before its first tick. */
void checker_restarted(struct checker *c);
/* The history is over: goals have ended, or time has. */
void checker_end(struct checker *c);
