#pragma once
/*
 * Looks ahead for conflicts: whenever a branch under way moves (the log of its worktree's HEAD grows,
 * or its run was harvested), or the target does, it is merged on trees with the target and with the
 * other branches under way. In the background and bounded: moves are gathered for a moment, one git
 * runs at a time, only the newest heads are compared and no pair of commits twice, and after
 * RADAR_ROUND pairs there is a pause. What it finds goes to the engine as radar.report. It owns its
 * followers and remembers nothing across restarts: the logs tell it again.
 */
#include "base/ov.h"
#include "core/state/state.h"

struct event;
struct git;
struct loop;
struct radar;

enum { RADAR_ROUND = 100 };

struct radar_options {
	struct loop *loop;
	struct git *git;
	const char *dir; /* the store's folder */
	const struct state *(*state)(void *user);
	/* The parameters of radar.report; valid during the call. */
	void (*report)(void *user, const value *params);
	void *user;
};

struct radar *radar_new(const struct radar_options *o);
struct radar *radar_free(struct radar *r); /* returns NULL */
/* on: supervisor.radar. The target is a local branch. */
void radar_set(struct radar *r, bool on, str target);
/* What was committed may begin, move or end a branch. */
void radar_published(struct radar *r, const struct event *const *events, size_t n);
/* Everything may have changed: the daemon has just started. */
void radar_look(struct radar *r);
