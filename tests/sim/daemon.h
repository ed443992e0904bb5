#pragma once
/*
 * The life of a daemon in the simulator: the real engine on the real store, with the models for its
 * world. A life has a number, under which its entries of the queue and its files on the disk go;
 * whatever it would still do after its death is swallowed.
 */
#include "app/engine/engine.h"
#include "app/ops/ops.h"
#include "tests/sim/sim.h"

struct sim_exec;
struct tape;

struct sim_daemon {
	struct sim *s;
	int life;
	struct engine *engine;
	struct tape *tape; /* what it is asked and answered; NULL: not recorded */
	struct sim_exec *exec;
	ov_time wake_at;  /* on the clock, OV_TIME_MAX: none */
	uint64_t wake_id; /* the entry of the queue that counts */
	uint64_t wakes;   /* entries made so far */
	uint64_t term;
	bool started, stopping, archiving;
	ov_time stopped_at; /* when it was told to stop */
	enum ending ending;
	ov_time set, slept; /* of the clock, as it knows: see core/model/watchdog.h */
	bool failing;       /* the store refuses to be written */
	bool dead;          /* nothing that it does counts any more */
};

/*
 * Tries to start one in a free place; what comes of it is in the trace. It is tried again until
 * one is up.
 */
void daemon_boot(struct sim *s);
/* Dies now, as by kill -9. Safe inside its own callbacks: it is buried after the step. */
void daemon_kill(struct sim_daemon *d, const char *why);
void daemon_kill_all(struct sim *s, const char *why);
/* Stops in peace the one that is up; the next is started by somebody later. */
void daemon_stop(struct sim *s);
/*
 * The lock file of the store is removed and a second one started: the first must find itself
 * fenced off.
 */
void daemon_usurp(struct sim *s);
/* The clock was set: timers on it may be due. */
void daemon_clock_jumped(struct sim *s);
/* The one that is up watches the user's checkout. */
void daemon_checkout_changed(struct sim *s);
/* The history is over: the lives that are not, are replayed as far as they came. */
void daemon_replay_all(struct sim *s);
void daemon_free_all(struct sim *s);
struct disk *daemon_disk_new(struct sim *s);
/* After every step: writes what is staged, buries the dead. */
void daemon_settle(struct sim *s);
/* One that is up and answers, or NULL. */
struct sim_daemon *daemon_up(struct sim *s);
/* The daemon of a life, while it is not dead. */
struct sim_daemon *daemon_of(struct sim *s, int life);
