#pragma once
/* Finished work that waits for the user's checkout. Private to core. */
#include "core/flow/flow.h"

/* A step ended with "dirty": it waits, and is tried again from this stage. */
void checkout_wait(struct decide_ctx *cx, const struct outcome *o, enum stage stage);
/*
 * Nothing is in the way of all, or a person says so: what waits for that is due. but: not this one.
 */
void checkout_is_free(struct decide_ctx *cx, const struct assignment *but);
/* A person wants it tried now; told again if it still waits after accept.dirty_notice. */
void checkout_answered(struct decide_ctx *cx, const struct node *n);
/*
 * Its rebase or gate passed. No file overlaps then, but a lock would be seen by its accept alone:
 * that wait goes on until the accept has ended, and what a person was told stays. at: the event
 * that moves it on.
 */
void checkout_goes_on(struct decide_ctx *cx, const struct assignment *as, size_t at);
/* It was accepted, or goes back: nothing is in its way, and what a person was told is over. */
void checkout_settled(struct decide_ctx *cx, const struct assignment *as);
void tick_checkout(struct decide_ctx *cx, const struct decision *d);
DECIDES_MESSAGE(checkout_report);
