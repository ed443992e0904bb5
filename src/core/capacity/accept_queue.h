#pragma once
/*
 * The accept queue, as pure questions about the state: whose turn it is, in which order the others
 * come, and what somebody's turn waits for. Work that is good goes to the target branch one at a
 * time: rebase, gate, accept, post_accept, and revert where that has to be (see docs/accept.md).
 */
#include "core/policy/policy.h"
#include "core/state/state.h"

/*
 * Who of two that wait is served first, as strcmp tells: by priority, where waiting for
 * policy.ageing counts as one step of it, then by how long they have waited, then by id. The order
 * of two never changes while both wait.
 */
int accept_order(const struct policy *p, const struct assignment *a, const struct assignment *b);
/*
 * Who has its turn, or NULL. It keeps it until it is through, or goes back to its agent, or to the
 * others that wait. One whose goal is paused before anything is on the target lets others pass.
 */
const struct assignment *accept_holder(const struct state *s, const struct policy *p);
/* It waits for its turn, to be accepted before others; not for a person. */
bool accept_waits(const struct assignment *as);
/*
 * What a person is asked about its turn, so that nobody goes on before that is answered; or NULL.
 */
const struct escalation *accept_question(const struct state *s, const struct assignment *as);
/*
 * A person is asked to review it: also while a conflict that was found meanwhile is resolved;
 * or NULL.
 */
const struct escalation *review_question(const struct state *s, const struct assignment *as);
/* Its change is on the target branch, or is being put there: it cannot be called back. */
bool accept_is_committed(const struct assignment *as);
/* "Overseer-Accept: KEY" makes the acceptance happen once; after a revert it is another one. */
str accept_key(struct arena *a, const struct assignment *as);

/* What says that its work is good: check, pre_accept, review (a person's word) or nothing. */
str accept_checked_by(const struct assignment *as);
/* What people are told of it, after "accepted as ...": empty, or that it was not checked. */
const char *accept_words(str checked_by);

/* The answer that has the work checked by the command that is configured now. */
#define REVIEW_CHECK "check"
/* A person was told of the wait that it is in. */
bool checkout_told(const struct state *s, const struct assignment *as);
