#pragma once
/*
 * People: those who give goals and answer, late, twice or never, through the real table of
 * operations; and the user who works in the checkout meanwhile. Requests travel through the
 * channels and meet whatever daemon is up. What was answered is remembered, for the invariants: it
 * must survive everything.
 */
#include "tests/sim/sim.h"

struct people *people_new(struct sim *s);
void people_free(struct people *p);
/* Puts everything that they will do into the queue: goals first. */
void people_begin(struct people *p);
/* They gave all their goals, and all of these were taken; the checkout is left clean. */
bool people_are_done(const struct people *p);

/* A change that a daemon said is done: the goal, node or escalation that the answer named. */
struct promise {
	char op[SIM_NAME_MAX];
	char goal[SIM_NAME_MAX], node[SIM_NAME_MAX];
	int64_t escalation; /* or 0 */
	uint64_t head;      /* of the log when it was answered: it must never be shorter */
};
/* For tests that break an invariant on purpose: the next one who asks is told what must not be. */
enum people_sabotage { PEOPLE_TOLD_TRUTH, PEOPLE_TOLD_INTERNAL, PEOPLE_TOLD_UNSAVED };
void people_sabotage(struct people *p, enum people_sabotage what);
size_t people_promises(const struct people *p, const struct promise **ret);
