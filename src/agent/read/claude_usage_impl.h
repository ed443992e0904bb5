#pragma once
/*
 * What Claude Code used. Its messages say it too early (their output is counted before it is
 * written), its results say it per model, since the last result or since the beginning, by version.
 * What is told while a turn goes on is therefore an advance, which its result makes good: the sum
 * of all that is told is right after each result.
 */
#include "agent/fact/fact.h"
#include "data/value/value.h"

enum { CLAUDE_MESSAGES = 16 }; /* that may be under way at once: one per sub-agent */

struct claude_usage {
	struct {
		uint64_t id;
		struct usage usage;
	} messages[CLAUDE_MESSAGES];
	size_t next;
	struct usage advance; /* told since the last result */
	struct usage before;  /* of the results before, where they are totals */
	int64_t cost_before;
};

/* What a line of a message adds; false when nothing. */
bool claude_usage_message(struct claude_usage *u, const value *message, struct usage *ret);
/* What a result adds to that; ret_cost: COST_UNKNOWN when it does not say. */
void claude_usage_result(struct claude_usage *u, const value *result, struct usage *ret,
		int64_t *ret_cost);
/* Tokens of the conversation as this usage has it. */
int64_t claude_context(const value *usage);
/* The most that the model takes, or 0. */
int64_t claude_window(const value *result, str model);
