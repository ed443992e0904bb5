#pragma once
/*
 * decide(state, command, now) -> events, or a refusal. Nothing is changed here: the events are
 * applied and stored by the caller. Commands come from people and agents (through operations) and
 * from the daemon itself: outcomes of effects, ends of runs, decisions of the tick. The same state,
 * command, time and entropy give the same events, byte for byte.
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

struct command {
	const char *name;
	decide_fn *fn;
};

/* The command with this name, or NULL. */
const struct command *command_find(str name);
/* On a refusal nothing is appended to cx->out. */
int decide(struct decide_ctx *cx, str name, const value *params, value **ret_result,
		struct ov_err *err);
/* The events of a tick's decisions. Cannot be refused: reconcile saw the same state. */
void decide_tick(struct decide_ctx *cx, const struct decisions *d);
