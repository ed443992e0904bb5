#pragma once
/*
 * One decision under way: what it may look at, and where its events go. Whatever decides takes one of
 * these and appends to `out`; nothing is changed. The same state, command, time and entropy give the same
 * events, byte for byte.
 */
#include "base/ov.h"
#include "core/event/event.h"
#include "core/policy/policy.h"
#include "core/state/state.h"
#include "core/tick/reconcile.h"
enum { DECIDE_ENTROPY = 16 };

struct decide_ctx {
	struct arena *arena; /* events and results live here */
	const struct state *state;
	const struct policy *policy;
	ov_time now;
	str actor;
	uint8_t entropy[DECIDE_ENTROPY]; /* for ids */
	unsigned ids_made;
	struct events *out; /* events are appended */
};

/* params must be an object that the operation's schema accepted, or one built by the daemon itself. */
typedef int decide_fn(struct decide_ctx *cx, const value *params, value **ret_result,
		struct ov_err *err);
