#pragma once
/*
 * Which tools an agent may use: (its own set, narrowed by allow) minus deny. An entry is a tool's
 * name as the agent calls it, whatever its case, or a class of tools: "read" is one, "Read" is a
 * tool. Who may narrow what is decided in core/policy/scope; this says what a scope means for
 * one agent.
 */
#include "agent/format/format.h"

struct tool_scope {
	const str *allow; /* NULL: all; never empty otherwise */
	size_t allow_n;
	const str *deny;
	size_t deny_n;
};

/* By format; each ends with a NULL name. */
extern const struct tool_name tools_claude[], tools_codex[], tools_gemini[], tools_opencode[];

/* The class with this name, or -1. */
int tool_class_parse(str name);
/* Is `tool` (as the agent calls it) meant by `entry`? */
bool tool_matches(const struct agent_format *f, str entry, str tool);
/* A tool that is not in the format's table is judged by its name alone. */
bool tool_permitted(const struct agent_format *f, const struct tool_scope *s, str tool);
/* The tools of the table that are permitted, or that are not; as the agent calls them. */
size_t tools_list(struct arena *a, const struct agent_format *f, const struct tool_scope *s,
		bool permitted, const str **ret);
/* {"allow": [...], "deny": [...]}; the first is left out when all are allowed. */
value *tool_scope_value(struct arena *a, const struct tool_scope *s);
int tool_scope_read(struct arena *a, const value *v, struct tool_scope *ret, struct ov_err *err);
