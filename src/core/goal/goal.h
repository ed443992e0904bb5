#pragma once
/* Goals and their plans, as events: made, changed, paused, ended, planned and planned anew. */
#include "core/decide/emit.h"
void plan_ended(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o);
/*
 * For a goal that this batch creates without a plan: the planner is asked, or its own words are
 * its plan.
 */
enum plan_begun { PLAN_NOBODY, PLAN_ASKED_FOR, PLAN_MADE };
enum plan_begun plan_begin(struct decide_ctx *cx, str goal, const struct ev_goal_created *created);
/* 0, or OV_EINVALID_PLAN: the document could be no goal's plan. */
int plan_refuse(struct decide_ctx *cx, const value *plan, value **ret_warnings, struct ov_err *err);
/* The first plan, checked before, of a goal that this batch creates. */
void plan_emit_first(struct decide_ctx *cx, str goal, const value *plan, str reason,
		const char *source);
/*
 * Makes a document the goal's plan: checks it, and emits plan.applied with the effective document
 * and, for a replan, what follows for the nodes that it removes or splits. source is file, planner,
 * fallback or replan. A document that changes nothing emits nothing. The episodes and escalations
 * of those nodes are closed, too: emit no other event about their status, stall or assignments in
 * the same batch after the rung that led here.
 */
int plan_adopt(struct decide_ctx *cx, const struct goal *g, const value *plan, str reason,
		const char *source, struct ov_err *err);
DECIDES_MESSAGE(planner_health);
DECIDES(goal_create);
DECIDES(goal_update);
DECIDES(goal_pause);
DECIDES(goal_resume);
DECIDES(goal_cancel);
DECIDES(goal_reopen);
DECIDES(goal_archive);
DECIDES(plan_apply);
/* Live runs are stopped, what they did is kept, and their nodes are queued for later; how many. */
int64_t goal_stop_runs(struct decide_ctx *cx, const struct goal *g, str reason);
