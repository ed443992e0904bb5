#pragma once
/*
 * Changes of status, as events: of goals, nodes, assignments, workers, stalls and lanes. Each does
 * what the tables of transitions allow, and nothing when the thing already is what it shall become.
 */
#include "core/decide/emit.h"
/* Status changes; each does nothing (NULL) when the thing already has that status. */
struct ev_node_status *node_to(struct decide_ctx *cx, const struct node *n, enum node_status to,
		str reason);
/* The event alone, also where the status stays. */
struct ev_node_status *node_moves(struct decide_ctx *cx, const struct node *n, enum node_status to,
		str reason);
/* Says why, by what, and until when if it unblocks itself (0: it does not). */
void node_block_as(struct decide_ctx *cx, const struct node *n, enum block_kind kind, str reason,
		str by, str unblock_when, ov_time until);
/* It stays blocked as it is; this one answers for it from now on. */
void node_blocked_by(struct decide_ctx *cx, const struct node *n, str by);
/* Ends the node's stall, if there is one. */
void episode_close(struct decide_ctx *cx, const struct node *n, str reason);
/* The same, and nobody needs to answer what was asked about it. */
void episode_end(struct decide_ctx *cx, const struct node *n, str reason);
/* With the health that its budget gives it; the result names goal and status. */
struct ev_goal_status *goal_to(struct decide_ctx *cx, const struct goal *g, enum goal_status to,
		str reason, bool by_override, value **ret_result);
void worker_to(struct decide_ctx *cx, const struct worker *w, enum worker_status to, str reason);
struct ev_assignment_moved *assignment_move(struct decide_ctx *cx, const struct assignment *as,
		enum as_status to, enum stage stage, str reason);
/* The outcome of an effect is known. */
void effect_ended(struct decide_ctx *cx, const struct effect *fx, enum effect_outcome is,
		str detail);
struct ev_effect_intended *effect_intend(struct decide_ctx *cx, enum effect_kind kind, str id,
		struct subject s);
/* Ends what an assignment is doing because its node was settled without it. */
void assignment_wind_down(struct decide_ctx *cx, const struct assignment *as, enum as_status to,
		str reason);
/* Its node is blocked for a while: it keeps its worker and worktree, without a slot. */
void assignment_keep_worker(struct decide_ctx *cx, const struct assignment *as, str reason);
/* It does so no longer, and its node stays blocked. */
void assignment_give_back(struct decide_ctx *cx, const struct assignment *as, str reason);
/* The node is unblocked: true if its assignment kept its worker and continues there. */
bool assignment_resume(struct decide_ctx *cx, const struct node *n, str reason);
/* The agent can be used again, if it had to wait. */
void lane_clear(struct decide_ctx *cx, str agent, str reason);
/* A person had a say about the goal (node NULL) or the node: detectors begin anew from here. */
void oversight_renew(struct decide_ctx *cx, const struct goal *g, const struct node *n, str reason);
/*
 * Closes the questions of oversight of that kind about the goal itself (n NULL), or about the node.
 */
void oversight_close(struct decide_ctx *cx, const struct goal *g, const struct node *n,
		enum ask ask, enum esc_status status, str answer);
