/* What goals use up, and what follows from it. */
#include "core/goal/spending.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/budget.h"
#include "core/decide/ask.h"
#include "core/decide/move.h"
#include "core/goal/goal.h"
#include "core/inbox/inbox.h"
#include "core/recovery/recovery.h"
#include "core/state/usage.h"
#include "core/work/work.h"

/* Whatever an agent says: so that no sum of it can overflow. */
#define MOST ((int64_t)1000 * 1000 * 1000 * 1000 * 1000)

/* How long the run took, as far as that is known. */
static ov_time wall_time(const struct decide_ctx *cx, const struct run *r,
		const struct assignment *as, const struct ev_run_ended *ended)
{
	ov_time from = r->started_at ? r->started_at : r->created_at, to = cx->now,
		held = run_held_ms(r, cx->now);

	/* Of a clock that stands while the machine sleeps. */
	if (ended->ran_ms > 0)
		return MIN(MAX(ended->ran_ms - (held - r->slept_ms), (ov_time)0), MOST);
	if (ended->ended_at_ms)
		to = ended->ended_at_ms;
	else if (ended->lost)
		to = as->last_activity_at; /* we may have been away for days since */
	return MAX(to - from - held, (ov_time)0);
}

static int64_t figure(int64_t said)
{
	return MIN(MAX(said, (int64_t)0), MOST);
}

/* Where the agent gives only the kinds, their sum. */
static int64_t tokens_of(const struct ev_run_ended *ended)
{
	return ended->has_tokens ? figure(ended->tokens)
				 : figure(ended->tokens_input) + figure(ended->tokens_output) +
					figure(ended->tokens_cache_read) +
					figure(ended->tokens_cache_write);
}

struct ev_goal_spent *emit_spent(struct decide_ctx *cx, struct subject about, const char *on,
		const int64_t amounts[RESOURCE_COUNT])
{
	struct ev_goal_spent *e = emit_goal_spent(cx, about);
	value *v = value_object(cx->arena);

	for (int i = 0; i < RESOURCE_COUNT; i++)
		if (amounts[i])
			value_put(cx->arena, v, status_name(&resources, i),
					value_int(cx->arena, amounts[i]));
	e->amounts = v;
	e->on = str_from(on);
	MAYBE_SET(e, day, usage_day(cx->now + cx->policy->utc_offset));
	return e;
}

void run_spent(struct decide_ctx *cx, const struct run *r, const struct assignment *as,
		const struct ev_run_ended *ended)
{
	const int64_t spent[RESOURCE_COUNT] = {
		/*
		 * A try that finds the agent out of quota is none: a long limit is not work. Nor is
		 * one whose session was gone.
		 */
		[RES_ITERATIONS] = !end_is_limit(cx->policy, as, ended) &&
				!(r->resumed && str_is(ended->trouble, "session_lost")),
		[RES_WALL_MS] = wall_time(cx, r, as, ended),
		[RES_TOKENS] = tokens_of(ended),
		[RES_COST_MICROUSD] = figure(ended->cost_microusd),
	};
	struct ev_goal_spent *e = emit_spent(cx,
			(struct subject){ r->goal_id, r->node_id, r->assignment_id, r->id }, "run",
			spent);

	e->agent = r->agent;
	e->model = r->model;
	e->tokens_input = figure(ended->tokens_input);
	e->tokens_output = figure(ended->tokens_output);
	e->tokens_cache_read = figure(ended->tokens_cache_read);
	e->tokens_cache_write = figure(ended->tokens_cache_write);
	e->cost_source = ended->cost_source;
	e->unknown = ended->unknown;
}

static void emit_level(struct decide_ctx *cx, const struct goal *g, const struct budget_verdict *v)
{
	struct ev_goal_budget *e = emit_goal_budget(cx, about_goal(g));

	e->level = v->level;
	e->resource = str_from(status_name(&resources, (int)v->resource));
	e->used = v->used;
	e->limit = v->limit;
}

static int64_t twice_of(int64_t used, int64_t limit)
{
	return MIN(2 * MIN(MAX(used, limit), MOST), MOST);
}

/* By an entry about it, or about a goal that has the same budget. */
static bool spent_is_told(const struct decide_ctx *cx, const struct goal *g)
{
	const struct escalation *x = g->automatic ? budget_entry(cx->state, g) : NULL;

	if (x && !escalation_is_closing(cx, x->number))
		return true;
	for (size_t i = 0; g->automatic && i < cx->out->n; i++) {
		const struct event *e = cx->out->p[i];
		const struct goal *about = e->kind == EV_ESCALATION_OPENED &&
						status_parse(&ask_kinds,
								as_escalation_opened(e)->kind) ==
								ASK_BUDGET
				? state_goal(cx->state, e->goal)
				: NULL;

		if (about && budget_is_shared(about, g))
			return true;
	}
	return false;
}

void tick_budget(struct decide_ctx *cx, const struct decision *d)
{
	const struct budget_verdict v = { d->level, d->resource, d->used, d->limit };
	int64_t twice = twice_of(d->used, d->limit);

	emit_level(cx, d->goal, &v);
	if (d->level != BUDGET_SPENT || spent_is_told(cx, d->goal))
		return;
	escalate_about(cx, about_goal(d->goal),
			&(struct escalation_spec){ .ask = ASK_BUDGET,
					.question = arena_printf(cx->arena,
							"the budget is spent (" STR_FMT
							"): nothing new is started; %s"
							"overseer goal update " STR_FMT
							" --budget " STR_FMT,
							STR_ARG(d->why),
							d->goal->automatic
									? ("auto mode continues by "
									   "itself then. To "
									   "continue now: ")
									: "to go on: ",
							STR_ARG(d->goal->id),
							STR_ARG(budget_option(cx->arena,
									d->resource, twice))) });
}

value *budget_twice(struct decide_ctx *cx, const struct goal *g)
{
	struct budget_live live = budget_live_of(cx->state, g, NULL, cx->now);
	struct budget_verdict worst = budget_judge(cx->policy, g, &live, cx->now);
	value *budget = value_object(cx->arena);

	for (int i = 0; i < RESOURCE_COUNT; i++) {
		int64_t limit = budget_limit(cx->policy, g, (enum resource)i),
			used = budget_spent(g, (enum resource)i, cx->now) + live.used[i];

		if (limit > 0 && (used >= limit || i == (int)worst.resource))
			value_put(cx->arena, budget, status_name(&resources, i),
					value_int(cx->arena, twice_of(used, limit)));
	}
	return budget;
}

/* As it will be when the event is applied. */
static struct goal granted(const struct goal *g, const struct ev_goal_updated *updated)
{
	struct goal then = *g;

	if (updated->budget)
		(void)record_read_amounts(&resources, then.budget, updated->budget);
	if (updated->estimate)
		(void)record_read_amounts(&resources, then.estimate, updated->estimate);
	return then;
}

int budget_grant(struct decide_ctx *cx, const struct goal *g, const value *budget,
		const value *estimate, str reason, struct ov_err *err)
{
	const struct pr_goal_update update = { .goal = g->id,
		.budget = budget,
		.estimate = estimate,
		.reason = reason };
	value *ignored = NULL;
	struct budget_live live = budget_live_of(cx->state, g, NULL, cx->now);
	struct budget_verdict v;
	struct goal then;
	int r;

	r = decide_goal_update(cx, &update, &ignored, err);
	if (r < 0 || g->budget_level != BUDGET_SPENT)
		return r;
	then = granted(g, emitted_goal_updated(cx, cx->out->n - 1));
	v = budget_judge(cx->policy, &then, &live, cx->now);
	if (v.level != BUDGET_SPENT) {
		emit_level(cx, g, &v);
		return 0;
	}
	ov_fail(err, OV_EINVALID, "the budget of goal " STR_FMT " is spent even so: " STR_FMT,
			STR_ARG(g->id),
			STR_ARG(budget_text(cx->arena, v.resource, v.used, v.limit)));
	return ov_next(err, "overseer cost --goal " STR_FMT, STR_ARG(g->id));
}

/*
 * The run is stopped, its work and its session kept: when there is budget again it goes on from
 * there. That is nobody's failure. One that has said that it is done is judged as ever.
 */
void tick_budget_stop(struct decide_ctx *cx, const struct decision *d)
{
	const struct assignment *as = d->assignment;
	const struct node *n = d->node;
	struct ev_assignment_moved *e;

	if (str_is(n->report.status, "done") && n->report.at >= as->run->created_at) {
		run_finish(cx, as, d->why);
		return;
	}
	e = assignment_move(cx, as, AS_QUEUED, STAGE_STOP, d->why);
	e->stopping = true;
	MAYBE_SET(e, feedback,
			STR("Your last run was stopped because the budget was used up. There is "
			    "budget again: go on where you were."));
	node_to(cx, n, NODE_QUEUED, d->why);
	episode_end(cx, n, d->why);
}

/* Stopped, its work and its session kept; it counts as given up. */
void tick_task_budget(struct decide_ctx *cx, const struct decision *d)
{
	const struct assignment *as = d->assignment;
	const struct node *n = d->node;

	if (as->stage == STAGE_RUNNING && str_is(n->report.status, "done") &&
			n->report.at >= as->run->created_at) {
		run_finish(cx, as, d->why);
		return;
	}
	work_block(cx, n, BLOCK_BUDGET, d->why, STR("a person gives it a new budget: retry"));
	escalate(cx, n, ASK_TASK_BUDGET,
			arena_printf(cx->arena,
					"the task was stopped: " STR_FMT
					" (auto.task_budget). Its work is kept. Answer \"retry\" "
					"to "
					"give it the same budget once more, \"done\" or \"cancel\"",
					STR_ARG(d->why)));
}

void tick_settled(struct decide_ctx *cx, const struct decision *d)
{
	escalation_close(cx, d->escalation, ESC_ANSWERED, d->why);
}
