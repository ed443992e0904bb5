#pragma once
/*
 * What people do to pieces of work: commands about nodes, runs and the queue, and what a person's
 * word does to a node. What else follows from it, where it comes from an answer, is the caller's.
 */
#include "core/decide/emit.h"
/* The tools that it may use cannot be had: nobody begins (as: goes on), and a person is asked. */
void scope_refused(struct decide_ctx *cx, const struct node *n, const struct assignment *as,
		const struct ov_err *err);
/* What a person's word does to a node; the caller knows that its status allows it. */
void work_done(struct decide_ctx *cx, const struct node *n, str reason);
void work_cancel(struct decide_ctx *cx, const struct node *n, str reason);
/* The event, for what else is to be said in it. */
struct ev_node_status *work_unblock(struct decide_ctx *cx, const struct node *n, str reason);
void work_block(struct decide_ctx *cx, const struct node *n, enum block_kind kind, str reason,
		str unblock_when);
/* Stops the live run so that a new one follows; what a person says about it is told to that one. */
void work_rerun(struct decide_ctx *cx, const struct node *n, str reason);
/* A person settled the matter: what stalled, and what was asked about it, is over. */
void work_settled(struct decide_ctx *cx, const struct node *n, str reason);
/* The reason of somebody who gave none. */
str asked_by(struct decide_ctx *cx);
/* Can be told something now? NULL, or why not. */
const char *run_deaf(const struct decide_ctx *cx, const struct node *n);
/* One command about one node: what was asked, and the node, once that was read. */
struct work {
	str goal, node, reason;
	struct node *n;
};
#define WORK_OF(p) ((struct work){ .goal = (p)->goal, .node = (p)->node, .reason = (p)->reason })
/* Finds the node, and checks what was asked: verb as in `overseer work VERB`. */
int work_read(struct decide_ctx *cx, struct work *w, const char *verb, bool reason_needed,
		struct ov_err *err);
/* 0, or OV_ESTATE: this cannot be done to a node that is what it is; says what can. */
int work_check(struct decide_ctx *cx, const char *verb, const struct node *n, struct ov_err *err);
/* 0, or why the agent cannot be given work; says which can. */
int agent_check(struct decide_ctx *cx, str agent, struct ov_err *err);
value *work_result(struct decide_ctx *cx, const struct node *n, enum node_status status);
/* Adds what follows when the task becomes that, before it does: "released", "unmerged". */
void work_consequences(struct decide_ctx *cx, const struct node *n, enum node_status to,
		value *ret);
/* Adds that it stays blocked, and nobody is asked about it any more: "left_blocked". */
void work_left_blocked(struct decide_ctx *cx, const struct node *n, value *ret);
DECIDES(work_update);
DECIDES(work_cancel);
DECIDES(work_reopen);
DECIDES(work_reassign);
DECIDES(work_rerun);
DECIDES(work_nudge);
DECIDES(work_scope);
DECIDES(run_stop);
DECIDES(queue_retry);
DECIDES(queue_drop);
