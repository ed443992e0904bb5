#pragma once
/*
 * What a question about the fleet is asked of: the state, and the policy that it is judged
 * by. Borrowed.
 */
#include "core/policy/policy.h"
#include "core/state/state.h"
struct world {
	const struct state *state;
	const struct policy *policy;
};
