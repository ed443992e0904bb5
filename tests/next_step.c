#include "tests/next_step.h"

#include "base/str.h"
#include "core/capacity/auto_mode.h"
#include "core/capacity/budget.h"
#include "core/capacity/lane.h"

static bool asked_about(const struct state *s, const struct node *n)
{
	for (size_t i = 0; i < s->escalations.n; i++) {
		const struct escalation *x = s->escalations.p[i];

		if (x->status == ESC_OPEN && str_eq(x->goal_id, n->goal->id) &&
				(str_eq(x->node_id, n->id) || !x->node_id.n))
			return true;
	}
	return false;
}

static bool asked_for(const struct state *s, const char *kind)
{
	for (size_t i = 0; i < s->escalations.n; i++)
		if (s->escalations.p[i]->status == ESC_OPEN &&
				str_is(s->escalations.p[i]->kind, kind))
			return true;
	return false;
}

static const char *blocked_step(const struct state *s, const struct node *n)
{
	if (n->block.until)
		return "a timer";
	if (str_starts(n->block.by, STR("human:")) ||
			(n->block.kind == BLOCK_LOGIN && asked_for(s, "login")))
		return "a person knows";
	/* Its entry is part of the one about the pause of auto mode. */
	if (task_was_given_up(n) && str_is(s->automatic.pause_cause, PAUSE_FAILURES))
		return asked_for(s, "auto_paused") ? "a person is asked" : NULL;
	if (asked_about(s, n))
		return "a person is asked";
	/* Its entry is part of the one about its agent. */
	return n->assignment && failed_by(n, n->assignment->agent) &&
					state_lane(s, n->assignment->agent) &&
					state_lane(s, n->assignment->agent)->kind ==
							BLOCK_FAILING &&
					asked_for(s, "agent_failing")
			? "a person is asked"
			: NULL;
}

static bool ladder_goes_on(const struct node *n)
{
	return n->stall.open && !n->stall.rungs[RUNG_ESCALATE];
}

/* Nothing new is begun in a goal whose budget is spent: somebody has to know. */
static const char *queued_step(const struct state *s, const struct node *n)
{
	if (n->goal->budget_level == BUDGET_SPENT)
		return asked_about(s, n) || budget_entry(s, n->goal) ? "a person is asked" : NULL;
	return "it is queued";
}

/* Of one that is assigned, and whose assignment does nothing at the moment. */
static const char *assigned_step(const struct state *s, const struct node *n)
{
	const struct assignment *as = n->assignment;
	const char *step = NULL;

	if (as->stage == STAGE_RUNNING && as->run->status == RUN_RUNNING)
		step = as->status != AS_STALLED || ladder_goes_on(n) ? "a run" : NULL;
	else if (as->stage != STAGE_NONE && as->stage != STAGE_REVIEW)
		step = "a stage";
	else if (as->status == AS_STALLED && ladder_goes_on(n))
		step = "a rung";
	return step ? step : asked_about(s, n) ? "a person is asked" : NULL;
}

const char *next_step(const struct state *s, const struct node *n)
{
	const struct assignment *as = n->assignment;

	if (n->goal->effect && str_eq(n->goal->effect->node_id, n->id))
		return "the planner thinks";
	if (as && as->effect)
		return "an effect is open";
	if (s->outage_since)
		return asked_for(s, "outage") ? "an outage" : NULL;
	switch (n->status) {
	case NODE_TODO:
		if (!node_is_ready(s, n))
			return "it waits for others";
		return asked_about(s, n) ? "a person is asked" : NULL;
	case NODE_BLOCKED: return blocked_step(s, n);
	case NODE_QUEUED:
	case NODE_IN_PROGRESS: return as ? assigned_step(s, n) : queued_step(s, n);
	default: return "it is over";
	}
}

const struct node *next_step_lacking(const struct state *s)
{
	for (size_t g = 0; g < s->goals.n; g++) {
		const struct goal *goal = s->goals.p[g];

		for (size_t i = 0; goal->status == GOAL_ACTIVE && i < goal->nodes.n; i++) {
			const struct node *n = goal->nodes.p[i];

			if (node_is_leaf(n) && !n->def.removed_in && !next_step(s, n))
				return n;
		}
	}
	return NULL;
}
