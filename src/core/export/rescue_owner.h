#pragma once
/*
 * Whose work a rescue ref holds, by the log: a fold of the events that say who worked in which
 * worktree. A ref is named after a run, an assignment (what it had committed before that became one
 * commit) or an effect (what the effect found in the worktree). Pure: the caller reads the log
 * and asks git.
 */
#include "base/ov.h"
#include "core/event/event.h"

struct rescue_owner {
	str goal, node, assignment, run; /* empty where the log does not say */
	str base;        /* the commit that this work started from; empty: not known */
	const char *why; /* what it was rescued from, for people */
	ov_time at;
};

struct rescue_owners;
struct rescue_owners *rescue_owners_new(uint64_t seed);
struct rescue_owners *rescue_owners_free(struct rescue_owners *o); /* returns NULL */
/* Does it need events of this kind? The others need not be decoded. */
bool rescue_owners_wants(str kind);
void rescue_owners_add(struct rescue_owners *o, const struct event *e);
/* By the last part of the ref's name, and the commit it is at; false: the log knows of neither. */
bool rescue_owners_find(const struct rescue_owners *o, str id, str commit,
		struct rescue_owner *ret);
