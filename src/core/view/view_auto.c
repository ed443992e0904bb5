/* Auto mode, as people and programs are shown it. */
#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "core/capacity/auto_mode.h"
#include "core/capacity/budget.h"
#include "core/view/view.h"
#include "core/work/standing.h"

/* The goal whose budget counts: the newest one of the pool's tasks, or one as it would be begun. */
static const struct goal *budget_goal(struct arena *a, const struct state *s)
{
	const struct goal *last = budget_newest(s);
	struct goal *none;

	if (last)
		return last;
	none = arena_new(a, struct goal);
	none->status = GOAL_ACTIVE;
	none->automatic = &s->automatic;
	return none;
}

static str waits_for_budget(struct arena *a, const struct world *w, ov_time now)
{
	const struct goal *g = budget_goal(a, w->state);
	struct budget_live live = budget_live_of(w->state, g, NULL, now);
	struct budget_verdict v = budget_judge(w->policy, g, &live, now);

	if (v.level != BUDGET_SPENT && g->budget_level != BUDGET_SPENT)
		return budget_taken_text(a, w->policy, g, &live, now);
	return arena_printf(a, "the budget is spent: " STR_FMT,
			STR_ARG(budget_spent_text(a, w->policy, g, &v, now)));
}

static int64_t retries_left(const struct world *w)
{
	int64_t failures = w->state->automatic.failures;

	return failures ? MAX(w->policy->pool_retries + 1 - failures, (int64_t)0)
			: w->policy->pool_retries;
}

static str waits_for_pool(struct arena *a, const struct world *w)
{
	const struct auto_mode *m = &w->state->automatic;
	int64_t left = retries_left(w);

	if (!m->on || !m->failures || !m->ask_at)
		return STR("");
	return arena_printf(a,
			"the pool's command failed%s" STR_FMT "%s, asked again at " STR_FMT
			", %lld %s left",
			m->trouble.n ? " (" : "", STR_ARG(m->trouble), m->trouble.n ? ")" : "",
			STR_ARG(time_format(a, m->ask_at)), (long long)left,
			left == 1 ? "retry" : "retries");
}

/* No task is drawn into a goal that a person has paused, or that was aborted. */
static str waits_for_goal(struct arena *a, const struct state *s)
{
	const struct goal *g = state_standing(s, STANDING_AUTO);

	if (!g || g->status != GOAL_PAUSED)
		return STR("");
	if (g->health == HEALTH_ABORTED)
		return arena_printf(a,
				"its goal is aborted: overseer goal reopen " STR_FMT
				" --reason TEXT",
				STR_ARG(g->id));
	return arena_printf(a, "its goal is paused: overseer goal resume " STR_FMT, STR_ARG(g->id));
}

str auto_waits(struct arena *a, const struct world *w, ov_time now)
{
	const struct auto_mode *m = &w->state->automatic;
	str goal = waits_for_goal(a, w->state), budget;

	if (m->pause_cause.n)
		return arena_printf(a, "paused, waits for an answer to #%lld: " STR_FMT,
				(long long)m->pause_entry,
				STR_ARG(str_sub(m->pause_reason, 0,
						str_find_byte(m->pause_reason, '\n'))));
	if (goal.n)
		return goal;
	budget = waits_for_budget(a, w, now);
	return budget.n ? budget : waits_for_pool(a, w);
}

value *view_auto(struct arena *a, const struct world *w, ov_time now)
{
	const struct state *s = w->state;
	value *v = record_to_value(a, &auto_mode_record, &s->automatic);
	size_t n = 0;

	for (size_t i = 0; i < s->workers.n; i++)
		n += s->workers.p[i]->kind == WORKER_AUTO;
	value_put(a, v, "workers", value_int(a, (int64_t)n));
	value_put(a, v, "asking", value_bool(a, s->pool != NULL));
	value_put(a, v, "waits", value_str(a, auto_waits(a, w, now)));
	return v;
}

static value *paused(struct arena *a, const struct auto_mode *m)
{
	value *v = value_object(a);

	if (!m->pause_cause.n)
		return value_null(a);
	value_put(a, v, "cause", value_str(a, m->pause_cause));
	value_put(a, v, "reason", value_str(a, m->pause_reason));
	value_put(a, v, "since", value_time(a, m->paused_at));
	value_put(a, v, "entry", value_int(a, m->pause_entry));
	return v;
}

static value *limit_value(struct arena *a, int64_t limit)
{
	return limit < 0 ? value_cstr(a, "unlimited") : value_int(a, limit);
}

/* How much of it is not in the figures, in the words of cost.get. */
static void put_unknown(struct arena *a, value *v, const struct state *s,
		const struct budget_live *live, ov_time now)
{
	value *used = value_object(a);
	int64_t unpriced, untold;

	window_unknown(&s->automatic.window, now, &unpriced, &untold);
	value_put(a, v, "unpriced_runs", value_int(a, unpriced));
	value_put(a, v, "untold_runs", value_int(a, untold));
	value_put(a, v, "live_runs", value_int(a, (int64_t)live->runs));
	for (int i = RES_WALL_MS; i < RESOURCE_COUNT; i++)
		value_put(a, used, status_name(&resources, i), value_int(a, live->used[i]));
	if (live->runs)
		value_put(a, v, "live", used);
}

static value *budget(struct arena *a, const struct world *w, const struct map *observations,
		ov_time now)
{
	const struct goal *g = budget_goal(a, w->state);
	struct budget_live live = budget_live_of(w->state, g, observations, now);
	struct budget_verdict verdict = budget_judge(w->policy, g, &live, now);
	ov_time room = verdict.level == BUDGET_SPENT ? budget_room_at(w->policy, g, now) : 0;
	value *v = value_object(a), *all = value_object(a), *task = value_object(a);

	for (int i = 0; i < RESOURCE_COUNT; i++) {
		value *one = value_object(a);

		value_put(a, one, "used",
				value_int(a,
						budget_spent(g, (enum resource)i, now) +
								live.used[i]));
		value_put(a, one, "limit",
				limit_value(a, budget_limit(w->policy, g, (enum resource)i)));
		value_put(a, all, status_name(&resources, i), one);
		value_put(a, task, status_name(&resources, i),
				limit_value(a,
						w->policy->task_budget[i] > 0
								? w->policy->task_budget[i]
								: -1));
	}
	value_put(a, v, "level", value_cstr(a, status_name(&budget_levels, (int)verdict.level)));
	value_put(a, v, "last_24h", all);
	put_unknown(a, v, w->state, &live, now);
	value_put(a, v, "room_at",
			room && room != OV_TIME_MAX ? value_time(a, room) : value_null(a));
	value_put(a, v, "per_task", task);
	return v;
}

static value *pool(struct arena *a, const struct world *w)
{
	const struct state *s = w->state;
	const struct auto_mode *m = &s->automatic;
	value *v = value_object(a);

	value_put(a, v, "asking", value_bool(a, s->pool != NULL));
	value_put(a, v, "answer", value_str(a, m->answer));
	value_put(a, v, "answered_at", value_time(a, m->answered_at));
	value_put(a, v, "ask_at", value_time(a, m->ask_at));
	value_put(a, v, "failures_in_a_row", value_int(a, m->failures));
	value_put(a, v, "trouble", value_str(a, m->trouble));
	value_put(a, v, "retries_left", value_int(a, retries_left(w)));
	value_put(a, v, "same_task_in_a_row", value_int(a, auto_same_tasks(s, 0).now));
	return v;
}

/* Of goals that are open: those of ended ones are done, or were given up for good. */
static value *tasks(struct arena *a, const struct state *s)
{
	int64_t running = 0, waiting = 0, blocked = 0;
	value *v = value_object(a);

	for (size_t g = 0; g < s->goals.n; g++)
		for (size_t i = 0; s->goals.p[g]->automatic && i < s->goals.p[g]->nodes.n; i++) {
			const struct node *n = s->goals.p[g]->nodes.p[i];
			bool open = node_is_leaf(n) && n->def.tier == TIER_TASK &&
					!node_is_final(n);

			running += open && n->status == NODE_IN_PROGRESS;
			blocked += open && n->status == NODE_BLOCKED;
			waiting += open && n->status != NODE_IN_PROGRESS &&
					n->status != NODE_BLOCKED;
		}
	value_put(a, v, "running", value_int(a, running));
	value_put(a, v, "waiting", value_int(a, waiting));
	value_put(a, v, "done", value_int(a, s->automatic.completed));
	value_put(a, v, "blocked", value_int(a, blocked));
	return v;
}

value *view_auto_whole(struct arena *a, const struct world *w, const struct map *observations,
		ov_time now)
{
	const struct auto_mode *m = &w->state->automatic;
	value *v = value_object(a);

	value_put(a, v, "on", value_bool(a, m->on));
	value_put(a, v, "since", value_time(a, m->since));
	value_put(a, v, "stop_reason", value_str(a, m->stop_reason));
	value_put(a, v, "failed", value_bool(a, m->failed));
	value_put(a, v, "interrupted", value_bool(a, m->interrupted));
	value_put(a, v, "stopped_at", value_time(a, m->stopped_at));
	value_put(a, v, "waits", value_str(a, auto_waits(a, w, now)));
	value_put(a, v, "paused", paused(a, m));
	value_put(a, v, "budget", budget(a, w, observations, now));
	value_put(a, v, "failures_in_a_row", value_int(a, m->failed_in_a_row));
	value_put(a, v, "max_failures_in_a_row", value_int(a, w->policy->auto_failures));
	value_put(a, v, "pool", pool(a, w));
	value_put(a, v, "tasks", tasks(a, w->state));
	value_put(a, v, "concurrency", value_int(a, m->concurrency));
	value_put(a, v, "errors", value_int(a, m->errors));
	return v;
}
