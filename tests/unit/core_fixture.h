#pragma once
/*
 * The core in a test: a state, a policy, a clock that the test moves, and the log. Every command
 * and every tick goes the way that it goes in the daemon: decide, check the events, write them as
 * they are stored, read them back, apply. Nothing here does IO.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/command/decide.h"
#include "core/fold/apply.h"
#include "core/policy/policy.h"
#include "core/state/state.h"
#include "tests/rng.h"

struct fixture {
	struct arena arena; /* lives as long as the fixture */
	struct state *state;
	struct policy policy;
	ov_time now;
	struct telemetry telemetry;
	struct map observations; /* what telemetry shows of runs */
	uint64_t entropy;
	struct events log;    /* all that was applied, as decoded from its stored form */
	ov_time wake_at;      /* of the last tick */
	int64_t workers_most; /* that the policy ever allowed: those that were made stay */
};

/* A policy with the agents "a" (256 at a time) and "b" (1 at a time), "a" being the default. */
struct policy fixture_policy(void);
void fixture_init(struct fixture *f);
/* Nothing is looked for in iterations: for tests of what comes after many failures without that. */
void oversight_off(struct fixture *f);
void fixture_done(struct fixture *f);
/* From now on people outside are told, by the channels "desktop", "tracker" (gitea) and "hook". */
void fixture_channels(struct fixture *f);

/* Fails the test when it is refused. Returns the result, in the fixture's arena. */
value *submit(struct fixture *f, const char *command, value *params);
/* As submit, but may be refused. */
int try_submit(struct fixture *f, const char *command, value *params, struct ov_err *err);
/* Must be refused with this code, appending nothing; returns the message. */
const char *refused(struct fixture *f, const char *command, value *params, int code);
/* What a step of a decision emits is applied. */
void decide_by(struct fixture *f, void (*step)(struct decide_ctx *cx, void *arg), void *arg);
/* Reconciles and applies what was decided; the number of decisions. */
size_t tick(struct fixture *f);
/* Ticks until nothing is decided any more. */
void settle(struct fixture *f);
/* Appends an event of the test's own making. */
int append(struct fixture *f, struct event *e, struct ov_err *err);

/* Values from JSON with ' for ", formatted. */
value *json(struct fixture *f, const char *fmt, ...) _printf_(2, 3);
/* What is observed of the newest run of a node, to be changed at will. */
struct observation *observe(struct fixture *f, const struct node *n);
/* Creates a goal with a plan; its id. */
str create_goal(struct fixture *f, value *plan, const char *priority);
/*
 * A plan with n tasks T1..Tn that depend on nothing, in phase P1; those that it has no room for
 * in P2...
 */
value *flat_plan(struct fixture *f, size_t n);
/* Applies that plan to the newest goal, with T1 split into S1. */
void split_t1(struct fixture *f, size_t n);

struct node *node_of(struct fixture *f, const char *id); /* in the newest goal */
struct node *node_in(struct fixture *f, str goal, const char *id);
/* The open effect of a node's assignment, or NULL. */
struct effect *effect_of(struct fixture *f, const char *node);
/* Ends the node's open effect, which must be of this kind. data: members, as for json(). */
void effect_end(struct fixture *f, const char *node, enum effect_kind kind, const char *outcome,
		const char *detail, const char *data);
void run_end(struct fixture *f, const char *node, int exit_code);
/* Brings a node whose workspace effect is open to the stage, with everything going well. */
void bring_to(struct fixture *f, const char *node, enum stage stage);
/* Accepts, as the last step after bring_to(STAGE_ACCEPT). */
void accept_node(struct fixture *f, const char *node);
size_t count_events(const struct fixture *f, enum event_kind kind);
/* The newest event of the kind, or NULL. */
const struct event *last_event(const struct fixture *f, enum event_kind kind);
/*
 * Carries everything out, successfully, until nothing is left to do; moves the clock where
 * one waits.
 */
void drain(struct fixture *f);
/* Any one thing that could happen: a command, an outcome, a tick, time passing. */
void random_step(struct fixture *f, struct rng *rng);
/* The state as one text. */
str snapshot_of(struct fixture *f, const struct state *s);
/* Everything that the state promises between its lists, maps and counts. */
void check_invariants(const struct state *s, const struct policy *p);
