#pragma once
/*
 * What we cannot know of an agent, because its format does not tell it: one table, from which come
 * `agent list`, `agent show` and the tables of docs/agents.md (tools/hearing-table reads this file
 * and gaps.c). A trouble that is not here is heard, and tests/agents/hearing.toml says how.
 */
#include "base/arena.h"
#include "base/ov.h"
#include "base/str.h"
#include "data/value/value.h"

/* A word for programs, and what it is about for people. The first eight are troubles. */
#define GAP_KINDS(X)                                                                 \
	X(GAP_HANG, "hang", "hangs")                                                 \
	X(GAP_HUNG_TOOL, "hung_tool", "tools that hang")                             \
	X(GAP_LOOP, "loop", "loops")                                                 \
	X(GAP_SUB_AGENT_LOOP, "sub_agent_loop", "loops of sub-agents")               \
	X(GAP_LIMIT, "limit", "usage limits")                                        \
	X(GAP_LOGIN, "login", "a lost login")                                        \
	X(GAP_OVERFLOW, "overflow", "a conversation that became too long")           \
	X(GAP_PERMISSION, "permission", "permission prompts")                        \
	X(GAP_DENIED_COMMAND, "denied_command", "commands that its sandbox refused") \
	X(GAP_RETRY_STATUS, "retry_status", "why it repeats a failed request")       \
	X(GAP_USAGE, "usage", "tokens")                                              \
	X(GAP_SUB_AGENT_USAGE, "sub_agent_usage", "tokens of sub-agents")            \
	X(GAP_COST, "cost", "cost")
#define GAP_ENUM(sym, name, about) sym,
enum gap_kind { GAP_KINDS(GAP_ENUM) GAP_KIND_COUNT };
#undef GAP_ENUM

struct agent_gap {
	const char *format, *runtime; /* runtime NULL: any */
	enum gap_kind kind;
	const char *why; /* and what follows from it */
};
extern const struct agent_gap agent_gaps[];
extern const size_t agent_gaps_n;

/* Of a format in a runtime: [{"what", "about", "why"}], in the order of the kinds. */
value *gaps_view(struct arena *a, str format, str runtime);
