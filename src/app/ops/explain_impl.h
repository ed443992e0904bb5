#pragma once
/* What the files about explaining share. Private to its room. */
#include "app/call/explain_fact.h"
#include "app/ops/ops.h"

struct explain;

/* Which of a node's facts are told; empty: whatever. */
struct fact_filter {
	str run, assignment, dispatch;
};

/* Worth a line where only a few are shown. */
bool explain_matters(const value *fact);
/* Puts the "facts" about a node: its newest events, read one by one by number. */
int explain_node_facts(struct op_ctx *cx, const struct node *n, const struct fact_filter *filter,
		value *v, struct ov_err *err);
struct assignment;
/*
 * Puts the "timeline" of the assignment's run: [{step, at, state, text}], what was done about its
 * silence and what comes next; empty when as is NULL or no run of it is under way.
 */
int explain_put_timeline(struct op_ctx *cx, const struct explain *x, const struct assignment *as,
		value *v, struct ov_err *err);
/* `explain daemon`: how the daemon is, and its story. */
value *explain_daemon(struct op_ctx *cx);
/* An entry of the inbox, a worker, a notice or an agent; OV_ENOTFOUND leaves err as it was. */
int explain_by_kind(struct op_ctx *cx, const struct explain *x, str id, value **ret,
		struct ov_err *err);
/* Adds to an error that nothing is called so what can be explained, and the nearest name. */
int explain_unknown(struct op_ctx *cx, str id, int r, struct ov_err *err);
