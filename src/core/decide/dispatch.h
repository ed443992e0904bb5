#pragma once
/*
 * What is said to agents, as events: instructions that are sent to a run or wait for the next one,
 * what became of them, and the session with which the next run goes on.
 */
#include "core/decide/emit.h"
#include "core/life/session.h"
/*
 * Commits to sending an instruction to the assignment's run, which must be live and without an open
 * effect. The nonce is added to the text; the hash that is returned leaves it out. say: a person's
 * words in it, or empty.
 */
str dispatch_send(struct decide_ctx *cx, const struct assignment *as, const char *purpose, str text,
		str say);
/* Says what became of a dispatch; nothing when it is not known or that is known already. */
void dispatch_settle(struct decide_ctx *cx, str dispatch, enum dispatch_result result, str notes);
/*
 * The assignment, which this batch cancels because it has to wait, leaves its session for the next
 * one of its node.
 */
void session_keep(struct decide_ctx *cx, const struct assignment *as);
/*
 * What the next run is started with: the session that goes on, an id for a new one, or nothing
 * where the agent chooses that itself. An id that was given to a run is never given to another
 * new session.
 */
str session_for_run(struct decide_ctx *cx, const struct assignment *as, bool *ret_resume);
/* Ends the run so that a new one goes on with its session: told this, for this purpose. */
void session_interrupt(struct decide_ctx *cx, const struct assignment *as, const char *purpose,
		str text, str reason);
/* Records what is said to the assignment's agent, which its next run is given. */
str dispatch_say(struct decide_ctx *cx, const struct assignment *as, const char *purpose, str text,
		str say);
/*
 * This run has its instruction for certain, and with it all that was said before it began: that was
 * given, once.
 */
void said_given(struct decide_ctx *cx, const struct node *n, const struct run *r);
