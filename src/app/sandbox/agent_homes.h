#pragma once
/*
 * The private homes of sandboxed agents, below home/ in the store's folder: each is named by the
 * assignment that its session began with, and removed when nobody can go on with that any more.
 * That is done by a process of its own, one at a time; what a crash left is found at the
 * next start.
 */
#include "base/ov.h"

struct assignment;
struct loop;
struct state;

struct agent_homes;

/* dir: the store's folder; it and what state() gives must live as long. */
struct agent_homes *agent_homes_new(struct loop *l, const char *dir,
		const struct state *(*state)(void *user), void *user);
struct agent_homes *agent_homes_free(
		struct agent_homes *h); /* returns NULL; what was begun is done again */

/* Whose home the runs of this assignment have. */
str agent_homes_name(const struct assignment *as);
/* Something may be over: looks at what there is, in the next round of the loop. */
void agent_homes_look(struct agent_homes *h);
