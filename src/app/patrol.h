#pragma once
/*
 * Walks through the store's folder and compares it with the state: worktrees that are gone or that
 * nobody has, rebases that nobody finishes, tasks that the pool gave out and nobody knows, work
 * without a worker. It reads folders and a few small files: when the daemon has started, when a run,
 * a step or a worker's status has changed, and every now and then while work is under way; never when
 * nothing is. What was not there at the last walk goes to the engine as patrol.report, which decides
 * what is done (core/flow/upkeep.c); the patrol itself changes nothing but to keep what is in a
 * stray worktree under a rescue ref. It remembers its last walk only.
 */
#include "base/ov.h"
#include "core/state/state.h"

struct event;
struct git;
struct loop;
struct patrol;

struct patrol_options {
	struct loop *loop;
	struct git *git;
	const char *dir; /* the store's folder */
	const struct state *(*state)(void *user);
	/* The parameters of patrol.report; valid during the call. */
	void (*report)(void *user, const value *params);
	void *user;
};

struct patrol *patrol_new(const struct patrol_options *o);
struct patrol *patrol_free(struct patrol *p); /* returns NULL */
/* How often it walks while work is under way. */
void patrol_set(struct patrol *p, ov_time every);
void patrol_published(struct patrol *p, const struct event *const *events, size_t n);
/* Others saw this about a run; r may be NULL. */
void patrol_note(struct patrol *p, enum patrol_fact fact, const struct run *r, str detail);
/* Everything may have changed: the daemon has just started. */
void patrol_look(struct patrol *p);
