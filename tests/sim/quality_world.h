#pragma once
/*
 * The core in virtual time, with the agents that play in it: shared by what plays the case and what
 * plays the runs before it. The traces and outcomes are the caller's.
 */
#include "agent/fact/calls.h"
#include "agent/fact/repeats.h"
#include "core/model/silence.h"
#include "core/tick/reconcile.h"
#include "tests/sim/quality.h"
#include "tests/unit/core_fixture.h"

/* quality_hear.c; moments from the start of the run, `began` makes them those of the core */
struct ear {
	ov_time upto; /* what came later was not heard yet; -1: nothing was */
	struct silence_book book;
	struct repeats repeats; /* of one that does not tell */
	struct calls calls;     /* of one that does */
	int64_t said;
	bool heard; /* something came while the daemon was there */
};

/* What a run does at a moment, as far as its agent tells. */
enum activity trace_doing(const struct trace *t, ov_time at);
/* A new daemon, or a new run: what was written before `upto` is read, but nobody saw it come. */
void ear_begin(struct ear *e, const struct trace *t, ov_time began, ov_time upto, ov_time gap);
/* Everything up to that moment is heard, and put into what is observed. */
void ear_hear(struct ear *e, const struct trace *t, ov_time began, ov_time to,
		struct observation *o);
/* How long it was silent, for run.end; NULL: nothing is to be learned of it. */
value *ear_told(struct arena *a, struct ear *e, ov_time at);
/* The next output for which the daemon ticks, since it repeats what came before; or OV_TIME_MAX. */
ov_time ear_next(const struct ear *e, const struct trace *t, ov_time began);

/* An agent of the case, with the run that it has now. */
struct player {
	const struct trace *label; /* by which it is judged */
	struct trace next;         /* of a run after the first */
	const struct trace *plays;
	char node[24];
	str run;
	size_t runs;
	ov_time began; /* this run, from the start of the case */
	/* what was used was last seen then, from the start of the run; -1: never */
	ov_time used_at;
	ov_time tree_at;     /* the same for the worktree */
	ov_time answered_at; /* 0: never */
	bool stuck;          /* this run was called so */
	struct ear ear;
	struct outcome *out;
};

struct world_sim {
	struct fixture f;
	struct policy_agent agent;
	struct player players[FLEET_MAX];
	size_t n;
	ov_time base;
	ov_time restart_at; /* OV_TIME_MAX: never */
	size_t seen;        /* events of the log */
};

/* The core with this policy, with so many workers; agents take input while they run, or not. */
struct world_sim *world_new(const struct policy *p, size_t workers, bool input);
void world_free(struct world_sim *w);
/* From now on these play, each a task of a new goal. */
void world_cast(struct world_sim *w, const struct trace *agents, size_t n, struct outcome *out);
/* Everything that is to be done at this moment; then the next moment, or false. */
bool world_step(struct world_sim *w, ov_time horizon);

/* quality_history.c */
/* The core learns from the runs before the case. */
void history_teach(struct world_sim *w, const struct policy *p, const struct test_case *c);
