/*
 * The conclusion of an explanation, for people who read three lines: the state, why it is so, and
 * what happens next: by itself and when, or by which command.
 */
#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "core/capacity/accept_queue.h"
#include "core/capacity/budget.h"
#include "core/capacity/lane.h"
#include "core/explain/explain_state.h"
#include "core/text/last_lines.h"
#include "core/view/view.h"

void explain_conclude(const struct explain *x, value *v, str why, str next)
{
	struct arena *a = x->arena;
	value *c = value_object(a);

	if (!next.n)
		next = value_str_or(value_item(value_at(v, "next"), 0), STR(""));
	value_put(a, c, "state", value_str(a, value_str_at(v, "state")));
	value_put(a, c, "why", value_str(a, why));
	value_put(a, c, "next", value_str(a, next));
	value_put(a, v, "conclusion", c);
}

/* The open entry of the inbox about a goal, or about one task of it; NULL: none. */
static const struct escalation *entry_of(const struct explain *x, str goal, str node)
{
	for (size_t i = 0; i < x->state->escalations.n; i++) {
		const struct escalation *e = x->state->escalations.p[i];

		if (e->status == ESC_OPEN && str_eq(e->goal_id, goal) && str_eq(e->node_id, node))
			return e;
	}
	return NULL;
}

static str answer_it(const struct explain *x, const struct escalation *e)
{
	return arena_printf(x->arena, "it waits for your answer: overseer inbox show %lld",
			(long long)e->number);
}

static str in_time(const struct explain *x, ov_time at)
{
	return duration_format_short(x->arena, MAX(at - x->now, (ov_time)0));
}

static str blocked_why(const struct explain *x, const struct node *n)
{
	const struct lane *l = explain_lane(x, n);
	str said = last_line(node_last_lines(x->state, n)),
	    why = l ? lane_text(x->arena, l, x->now, x->policy->utc_offset) : n->status_reason;

	return said.n ? arena_printf(x->arena, STR_FMT "; the agent wrote last: " STR_FMT,
					STR_ARG(why), STR_ARG(said))
		      : why;
}

static str blocked_next(const struct explain *x, const struct node *n)
{
	const struct escalation *e = entry_of(x, n->goal->id, n->id);

	if (!e && n->assignment && failed_by(n, n->assignment->agent) &&
			state_lane(x->state, n->assignment->agent))
		e = lane_entry(x->state, state_lane(x->state, n->assignment->agent));
	if (e)
		return answer_it(x, e);
	if (n->block.until)
		return arena_printf(x->arena, "it continues by itself at " STR_FMT ", in " STR_FMT,
				STR_ARG(time_format_near(x->arena, n->block.until, x->now,
						x->policy->utc_offset)),
				STR_ARG(in_time(x, n->block.until)));
	return arena_printf(x->arena, "it is unblocked when: " STR_FMT, STR_ARG(n->block.when));
}

static str assigned_next(const struct explain *x, const struct assignment *as)
{
	const char *stage = status_name(&stages, (int)as->stage);
	const struct escalation *e = accept_question(x->state, as);

	if (e)
		return answer_it(x, e);
	if (as->stage == STAGE_REVIEW)
		return STR("");
	if (as->waiting != WAITING_NONE && !as->effect)
		return arena_printf(x->arena,
				"it is tried again by itself when that changes, and in " STR_FMT,
				STR_ARG(in_time(x, as->not_before)));
	if (as->not_before > x->now)
		return arena_printf(x->arena, "the next step (%s) begins by itself in " STR_FMT,
				stage, STR_ARG(in_time(x, as->not_before)));
	if (as->stage == STAGE_START && !as->effect &&
			lane_is_shut(state_lane(x->state, as->agent), x->now))
		return arena_printf(x->arena,
				"its next run starts by itself; see overseer explain " STR_FMT,
				STR_ARG(as->agent));
	if (as->stage == STAGE_RUNNING)
		return arena_printf(x->arena,
				"its work is checked when the run ends; meanwhile: overseer run "
				"log --follow " STR_FMT,
				STR_ARG(as->run_id));
	return arena_printf(x->arena, "the step \"%s\" %s by itself, then the one after it", stage,
			as->effect ? "ends" : "begins");
}

static str node_next_words(const struct explain *x, const struct node *n)
{
	if (n->status == NODE_BLOCKED)
		return blocked_next(x, n);
	if (node_is_final(n))
		return STR("nothing: it is finished");
	if (!node_is_leaf(n))
		return STR("its parts continue");
	if (n->goal->status != GOAL_ACTIVE)
		return arena_printf(x->arena, "overseer explain " STR_FMT, STR_ARG(n->goal->id));
	if (n->assignment && n->assignment->stage != STAGE_NONE)
		return assigned_next(x, n->assignment);
	if (!node_is_ready(x->state, n))
		return STR("it is queued by itself when that is done");
	if (explain_goal_held(x, n->goal).n)
		return arena_printf(x->arena, "overseer explain " STR_FMT, STR_ARG(n->goal->id));
	return STR("it is started by itself as soon as that is over");
}

void explain_conclude_node(const struct explain *x, const struct node *n, str now, value *v)
{
	if (explain_recovering(n))
		explain_conclude(x, v, n->stall.reason, now);
	else
		explain_conclude(x, v, n->status == NODE_BLOCKED ? blocked_why(x, n) : now,
				node_next_words(x, n));
}

void explain_conclude_goal(const struct explain *x, const struct goal *g, str now, value *v)
{
	const struct escalation *e = entry_of(x, g->id, STR(""));
	str next = STR("");

	for (size_t i = 0; !e && i < x->state->escalations.n; i++)
		if (x->state->escalations.p[i]->status == ESC_OPEN &&
				str_eq(x->state->escalations.p[i]->goal_id, g->id))
			e = x->state->escalations.p[i];
	if (e)
		next = answer_it(x, e);
	else if (g->status == GOAL_ACTIVE)
		next = g->leaves ? STR("its tasks continue by themselves")
				 : STR("it gets a plan: overseer plan apply");
	else if (g->status != GOAL_PAUSED)
		next = STR("nothing: it is over");
	explain_conclude(x, v,
			g->status == GOAL_PAUSED && g->status_reason.n
					? arena_printf(x->arena, STR_FMT "; " STR_FMT,
							  STR_ARG(g->status_reason), STR_ARG(now))
					: now,
			next);
}
