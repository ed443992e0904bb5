#pragma once
/*
 * Oversight as decisions: a judged run becomes an iteration, the detectors look at the newest of
 * its node, and each thing found is answered once per fingerprint and severity. Private to core.
 */
#include "core/decide/emit.h"
#include "core/oversight/detect.h"

/* DEC_REVIEW: an iteration is made of the run, and what follows from it. */
void tick_review(struct decide_ctx *cx, const struct decision *d);
/* DEC_LOOP: a run that goes on makes the same call again and again. */
void tick_loop(struct decide_ctx *cx, const struct decision *d);
/* DEC_HEALTH: what budget and alarms of an active goal amount to has changed. */
void tick_health(struct decide_ctx *cx, const struct decision *d);

/* The answer to a detection that this batch has made. */
struct intervention {
	str detection;        /* its id */
	struct subject about; /* the run in which it was found: its node is given the text */
	const struct goal *goal;
	const struct node *node;       /* NULL: of the whole goal */
	const struct assignment *live; /* found while its run goes on; NULL: after its end */
	enum detector type;
	enum severity severity;
	enum level level;
	str fingerprint, message, reason, text;
	str quote; /* the error that comes again and again; may be empty */
	enum pause_scope pause;
};

/* A detection as an event; about a node, or its goal alone when the subject names none. */
str detection_emit(struct decide_ctx *cx, struct subject about, const struct found *f,
		const struct detection_words *w, int64_t iteration, int64_t round);
/* By an event of this very batch, which the state does not know yet. */
bool goal_is_stopping(const struct decide_ctx *cx, const struct goal *g);
/* Carries out the level, and records what was done. */
void intervene(struct decide_ctx *cx, const struct intervention *x);
/*
 * The goal stays where it is until a person reopens it: live runs are stopped, what they did is
 * kept; what is on its way to the target branch right now comes to its end. Returns how many
 * are stopped.
 */
int64_t goal_abort(struct decide_ctx *cx, const struct goal *g, str reason);
DECIDES_MESSAGE(run_frozen);
