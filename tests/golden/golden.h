#pragma once
/*
 * What a log comes to, as text: how each event is explained and which state it leaves, the last
 * state as its snapshot, and by their hashes the documents that are made of log and state. Pure;
 * the texts are the caller's.
 */
#include "base/buf.h"
#include "core/event/event.h"
#include "core/policy/policy.h"
#include "core/state/state.h"

struct golden_log {
	str name;
	VEC(struct event) events;
	struct state *state; /* after the last of them */
};

/*
 * The events that `lines` hold up to the next name of a log, folded; lines is moved there. False:
 * no log is left. OV_EINVALID: an event is not stored as this version would store it, or does
 * not fold.
 */
int golden_read(struct arena *a, str *lines, struct golden_log *ret, struct buf *out,
		struct ov_err *err);
void golden_done(struct golden_log *l);
/* The last state; and what is made of it, whole or by its hash. */
int golden_state(struct buf *out, const struct golden_log *l, struct ov_err *err);
int golden_documents(struct buf *out, const struct golden_log *l, const struct policy *p,
		bool whole, struct ov_err *err);
