#pragma once
/*
 * One decision under way: what it may look at, and where its events go. Whatever decides takes one
 * of these and appends to `out`; nothing is changed. The same state, command, time and entropy give
 * the same events, byte for byte.
 */
#include "base/ov.h"
#include "core/event/event.h"
#include "core/message/message.h"
#include "core/op/params.h"
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

/*
 * Declares decide_goal_pause and so on: what decides a command, which takes the struct of its
 * parameters (core/op/params.h). They hold what the row accepted, or what another decision says.
 */
#define DECIDES(sym)                                                                          \
	int decide_##sym(struct decide_ctx *cx, const struct pr_##sym *p, value **ret_result, \
			struct ov_err *err)
/* The same of what the daemon itself tells (core/message/message.h). */
#define DECIDES_MESSAGE(sym)                                                                   \
	int decide_##sym(struct decide_ctx *cx, const struct msg_##sym *p, value **ret_result, \
			struct ov_err *err)
/* As it is found by its name: params are the object of which that struct is filled. */
typedef int decide_fn(struct decide_ctx *cx, const value *params, value **ret_result,
		struct ov_err *err);
