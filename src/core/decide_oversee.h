#pragma once
/*
 * Oversight as decisions: a judged run becomes an iteration, the detectors look at the newest of its
 * node, and each thing found is answered once per fingerprint and severity. Private to core.
 */
#include "core/decide_impl.h"

/* DEC_REVIEW: an iteration is made of the run, and what follows from it. */
void tick_review(struct decide_ctx *cx, const struct decision *d);
/* Carries out a level for a detection that this batch has made; returns what was done, for people. */
struct intervention {
	str detection; /* its id */
	const struct goal *goal;
	const struct node *node; /* NULL: of the whole goal */
	enum detector type;
	enum severity severity;
	enum level level;
	str fingerprint, message, reason, text;
	bool pause_node;
};
void intervene(struct decide_ctx *cx, const struct intervention *x);
/* A person had a say about the goal (node NULL) or the node: detectors begin anew from here. */
void oversight_renew(struct decide_ctx *cx, const struct goal *g, const struct node *n, str reason);
