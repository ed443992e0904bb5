#pragma once
/*
 * The core at work without a daemon, at any size: commands and ticks go through decide and apply,
 * and somebody else says at once how each effect ended. What comes out is what a daemon would have
 * stored. The fleet owns its state; what happens to the log is the business of whoever made it.
 */
#include "base/arena.h"
#include "base/map.h"
#include "base/ov.h"
#include "core/command/decide.h"
#include "core/policy/policy.h"
#include "core/state/state.h"
#include "core/tick/reconcile.h"

struct fleet;
/* One event that was applied, with its body as it is stored, in the fleet's arena. */
typedef void fleet_keep_fn(struct fleet *f, void *user, const struct event *e, str body);

/* What becomes of runs. */
enum fleet_fate {
	FATE_RUNNING,  /* they begin, and stay */
	FATE_FINISHED, /* they end well at once */
	FATE_FAILING,  /* they do not even begin */
};

struct fleet {
	struct arena arena; /* may be reset between two calls */
	struct policy policy;
	struct state *state;
	struct map observations; /* run id -> struct observation, made by fleet_observe */
	ov_time now;
	ov_time step; /* that the clock moves with each command */
	enum fleet_fate fate;
	uint64_t entropy;
	fleet_keep_fn *keep; /* may be NULL */
	void *user;
};

/* With a policy under which nothing ends by itself: no budgets, and silence after 15 minutes. */
void fleet_init(struct fleet *f, size_t workers, fleet_keep_fn *keep, void *user);
void fleet_done(struct fleet *f);
/* So many may be at work from now on, and as many may wait. */
void fleet_workers(struct fleet *f, size_t workers);

/* Ends the program when it is refused. The result lives in the arena. */
value *fleet_submit(struct fleet *f, const char *command, const value *params);
/* Reconciles and applies what was decided; the number of decisions. */
size_t fleet_tick(struct fleet *f);
/* Says of every open effect how it ended. */
void fleet_end_effects(struct fleet *f);
/* Ticks and does what was decided until nothing is left to do. */
void fleet_settle(struct fleet *f);

/* A plan of so many phases with so many tasks each, with so many subtasks each (0: none); the
 * wording goes into every node, so that another one changes them all. */
value *fleet_plan(struct arena *a, int phases, int tasks, int subtasks, const char *wording);
/* A goal with this plan. */
void fleet_goal(struct fleet *f, const value *plan);

/* From now on each run is watched, and gave its last sign of life at that moment. */
void fleet_observe(struct fleet *f, ov_time at);
/*
 * So many of the watched runs gave their last sign of life at one moment, and were looked at later.
 */
void fleet_silence(struct fleet *f, size_t n, ov_time at, ov_time looked_at);
/* Everything that is observed, for reconcile. */
struct telemetry fleet_telemetry(const struct fleet *f);
