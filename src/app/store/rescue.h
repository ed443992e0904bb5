#pragma once
/*
 * What was rescued: the refs below refs/overseer/, whose they are by the log, and which of them may
 * go. For a process of its own (OP_CHILD): it waits for git and reads the whole log. Everything is
 * in the arena of the call.
 */
#include "app/call/op_context.h"
#include "base/map.h"
#include "base/vec.h"

#define RESCUE_PREFIX "refs/overseer/"
#define REMOTE_PREFIX \
	RESCUE_PREFIX "remote/" /* where the remote's branch was: nothing is kept there */

struct rescue {
	str ref, commit;
	str worker, id; /* of "rescue/WORKER/ID"; worker empty where the name says none */
	ov_time at;
	str subject;
	str goal, node, assignment, run; /* whose work it is; empty where the log does not say */
	str base;                        /* the commit that this work began with; the same */
	str why;                         /* what it was rescued from, for people */
	bool needed;                     /* somebody goes on from it */
	bool unchanged; /* it is that commit: made by an older program, and holds no work */
};

struct rescues {
	struct op_ctx *cx;
	struct rescue *list; /* newest first */
	size_t n;
	const char *problem; /* NULL, or why the store could not be asked whose they are */
};

/* All of them. A store that cannot be read is a problem of the answer, no failure. */
int rescues_read(struct op_ctx *cx, struct rescues *ret, struct ov_err *err);
/* The one that a person means: a ref, WORKER/ID, an id, or a unique prefix of one. */
int rescues_find(const struct rescues *r, str text, const struct rescue **ret, struct ov_err *err);
/* The ones that may go, by the configuration, in *ret; refused while the log cannot be read. */
int rescues_droppable(const struct rescues *r, const struct rescue ***ret, size_t *ret_n,
		struct ov_err *err);
/* git's answer, or an error with its words when it failed. args ends with NULL. */
int rescue_git(struct op_ctx *cx, size_t max, str *ret, struct ov_err *err, ...)
		__attribute__((sentinel));
