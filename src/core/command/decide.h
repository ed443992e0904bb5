#pragma once
/*
 * decide(state, command, now) -> events, or a refusal. Nothing is changed here: the events are
 * applied and stored by the caller. Commands come from people and agents (through operations) and
 * from the daemon itself: outcomes of effects, ends of runs, decisions of the tick. The same state,
 * command, time and entropy give the same events, byte for byte.
 */
#include "core/decide/context.h"

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
