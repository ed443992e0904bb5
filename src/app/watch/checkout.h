#pragma once
/*
 * Watches what finished work waits for in the user's checkout: its index, HEAD, what git leaves
 * there while something is unfinished, and the files that overlap. When one of them changes, the
 * work is tried again at once (checkout.report). By inotify; while nothing waits nothing
 * is watched.
 */
#include "base/ov.h"
#include "core/state/state.h"

struct checkout;
struct git_result;
struct loop;

struct checkout_options {
	struct loop *loop;
	const struct state *(*state)(void *user);
	void (*changed)(void *user); /* what waits for the checkout is to be tried again */
	void *user;
};

struct checkout *checkout_new(const struct checkout_options *o);
struct checkout *checkout_free(struct checkout *c); /* returns NULL */
/* A step ended with GIT_DIRTY: what it waits for is watched, until nothing waits any more. */
void checkout_watch(struct checkout *c, const struct git_result *res);
/* The daemon has just started: nobody knows what changed before. */
void checkout_look(struct checkout *c);
