#pragma once
/*
 * Looks ahead for conflicts: whenever a branch under way moves (the log of its worktree's HEAD
 * grows, or its run was harvested), or the target does, it is merged on trees with the target and
 * with the other branches under way. In the background and bounded: moves are gathered for a
 * moment, one git runs at a time, only the newest heads are compared and no pair of commits twice,
 * and after CONFLICT_SCAN_ROUND pairs there is a pause. What it finds goes to the engine as
 * radar.report. It owns its followers and remembers nothing across restarts: the logs tell
 * it again.
 */
#include "base/ov.h"
#include "core/message/message.h"
#include "core/state/state.h"

struct event;
struct git;
struct loop;
struct conflict_scan;

enum { CONFLICT_SCAN_ROUND = 100 };

struct conflict_scan_options {
	struct loop *loop;
	struct git *git;
	const char *dir; /* the store's folder */
	const struct state *(*state)(void *user);
	/* The parameters of radar.report; valid during the call. */
	void (*report)(void *user, const struct msg_conflict_report *m);
	void *user;
};

struct conflict_scan *conflict_scan_new(const struct conflict_scan_options *o);
struct conflict_scan *conflict_scan_free(struct conflict_scan *r); /* returns NULL */
/* on: supervisor.radar. The target is a local branch. */
void conflict_scan_set(struct conflict_scan *r, bool on, str target);
/* What was committed may begin, move or end a branch. */
void conflict_scan_published(struct conflict_scan *r, const struct event *const *events, size_t n);
/* Everything may have changed: the daemon has just started. */
void conflict_scan_look(struct conflict_scan *r);
