#pragma once
/*
 * Handoffs (crystallizations): what whoever goes on with a piece of work, or comes back to it
 * later, needs to know, with where to look it up. Of a node without children it is made of what its
 * agents reported and of what was seen; of a parent or a goal, of the handoffs of its parts. Built
 * from records alone, bounded, and free of secrets. What git and our own check showed is kept apart
 * from what an agent only claims.
 */
#include "base/ov.h"
#include "core/model/model.h"

enum {
	HANDOFF_TEXT = 8 * 1024,        /* summary, current state */
	HANDOFF_ENTRY = 1024,           /* of a list */
	HANDOFF_LIST_BYTES = 16 * 1024, /* of all entries of a list */
	HANDOFF_PROMPT = 4 * 1024,      /* what the next agent is given */
	HANDOFF_OVERSIGHT = 5,          /* lines about what helped */
};

/* A node without children, its records being as they are once the handoff is written. */
struct handoff_leaf {
	const struct node *node;
	const struct assignment *assignment; /* NULL: nobody has worked on it */
	const struct run *run;               /* its newest; may be NULL */
	str check_command;                   /* empty: none */
	str person;                          /* who declared it done; empty: nobody */
	const value *oversight;              /* lines about what helped; NULL: none */
};

/* The members of struct crystallization that say something, without its ids and time. */
value *handoff_leaf(struct arena *a, const struct handoff_leaf *l);

/* A part of a whole. */
struct handoff_part {
	str id, name;
	enum node_status status;
	const value *handoff; /* NULL: none was written */
};

/*
 * As handoff_leaf, of a whole all of whose parts are finished. oversight: lines about what helped
 * the whole, or NULL; those of its parts follow them, HANDOFF_OVERSIGHT in all.
 */
value *handoff_whole(struct arena *a, const struct handoff_part *parts, size_t n,
		const value *oversight);

/*
 * What the next agent is told of what was done before it: HANDOFF_PROMPT bytes at most, every line
 * that somebody else wrote marked as quoted. Empty when there is nothing to tell.
 */
str handoff_text(struct arena *a, const struct crystallization *c, str handover);
