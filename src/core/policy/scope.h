#pragma once
/*
 * The algebra of tool scopes: which tools a piece of work may use, and that nobody gets more of
 * them by asking. What holds is (the agent's tools, narrowed by every allow) minus every deny: of
 * the agent's configuration, of the plan (a node and all that it is a part of), of a person's `work
 * scope`, and of what held for the session before. Each of them only narrows; what an agent, a
 * report or a plan of an agent's says can therefore never give it a tool. Pure; texts are borrowed
 * from what they come from or live in the arena. What a scope means for one agent's tools is said
 * by agent/format/tools.
 */
#include "agent/format/tools.h"
#include "core/model/model.h"
#include "core/policy/policy.h"

enum {
	SCOPE_LIST = 32,   /* entries of one list, as it is written */
	SCOPE_ENTRY = 64,  /* bytes of one */
	SCOPE_TOTAL = 256, /* entries of a list that comes of several */
};

/*
 * A list as it came from outside: an array of entries, not empty. The message is for after
 * its name.
 */
int scope_list_check(const value *list, struct ov_err *err);
/* The same of its entries. */
int scope_names_check(const str *names, size_t n, struct ov_err *err);
/* Nothing is narrowed. */
bool scope_is_all(const struct tool_scope *s);
/* Both hold. OV_ESTATE when no tool is left. */
int scope_meet(struct arena *a, const struct agent_format *f, const struct tool_scope *x,
		const struct tool_scope *y, struct tool_scope *ret, struct ov_err *err);
/* As scope_meet; OV_EUNAUTHORIZED when `more` allows what is not in `base`: that would widen it. */
int scope_narrow(struct arena *a, const struct agent_format *f, const struct tool_scope *base,
		const struct tool_scope *more, struct tool_scope *ret, struct ov_err *err);

/*
 * What a new assignment of the node to this agent would have; refused when its plan would widen it.
 */
int scope_for_node(struct arena *a, const struct policy_agent *agent, const struct node *n,
		struct tool_scope *ret, struct ov_err *err);
/* What the next run of an assignment has: all that is said now, within what held for it before. */
int scope_for_run(struct arena *a, const struct policy_agent *agent, const struct assignment *as,
		struct tool_scope *ret, struct ov_err *err);
/* As kept in records; empty text: nothing is narrowed. */
int scope_parse(struct arena *a, str json, struct tool_scope *ret, struct ov_err *err);
/* For records and events; NULL when nothing is narrowed. */
value *scope_value(struct arena *a, const struct tool_scope *s);
