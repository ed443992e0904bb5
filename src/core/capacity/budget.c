#include "core/capacity/budget.h"

#include "base/arena.h"
#include "base/duration.h"
#include "base/map.h"
#include "base/str.h"
#include "core/capacity/auto_mode.h"

enum {
	BUDGET_FACTOR = 3, /* of the estimate, where no budget is given */
	STEPS = 64,        /* in which a budget is used up between two looks, at most */
};

int64_t budget_estimate(const struct policy *p, const struct goal *g, enum resource resource)
{
	if (g->estimate[resource])
		return g->estimate[resource];
	/*
	 * The tasks of a standing goal have nothing to do with each other: each is as much as
	 * a goal.
	 */
	return resource == RES_ITERATIONS || g->standing.n
			? p->estimate[resource] * MAX((int64_t)g->leaves, 1)
			: p->estimate[resource];
}

int64_t budget_limit(const struct policy *p, const struct goal *g, enum resource resource)
{
	int64_t estimate = budget_estimate(p, g, resource);

	if (g->budget[resource])
		return g->budget[resource];
	if (g->automatic)
		return p->auto_budget[resource] ? p->auto_budget[resource] : -1;
	if (p->budget[resource])
		return p->budget[resource];
	return estimate > INT64_MAX / BUDGET_FACTOR ? INT64_MAX : estimate * BUDGET_FACTOR;
}

int64_t budget_spent(const struct goal *g, enum resource resource, ov_time now)
{
	return g->automatic ? window_sum(&g->automatic->window, resource, now) : g->spent[resource];
}

bool budget_is_shared(const struct goal *a, const struct goal *b)
{
	return a == b || (a->automatic && a->automatic == b->automatic);
}

/* From there on a person is warned. */
static int64_t warn_mark(int64_t limit)
{
	return limit - limit / 5;
}

/* In such steps a run's use is looked at; 0: nothing limits it. */
static int64_t step_of(const struct policy *p, const struct goal *g, enum resource resource)
{
	int64_t limit = budget_limit(p, g, resource),
		task = g->automatic ? p->task_budget[resource] : -1;

	if (limit <= 0 || (task > 0 && task < limit))
		limit = task;
	return limit > 0 ? MAX(limit / STEPS, (int64_t)1) : 0;
}

int64_t budget_next_mark(const struct policy *p, const struct goal *g, enum resource resource,
		int64_t used_by_run, ov_time now)
{
	int64_t limit = budget_limit(p, g, resource), spent = budget_spent(g, resource, now), next,
		step = step_of(p, g, resource);
	const int64_t marks[] = { warn_mark(limit) - spent, limit - spent };

	if (!step || __builtin_add_overflow(used_by_run, step, &next))
		next = INT64_MAX;
	if (limit < 0)
		return next;
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (marks[i] > used_by_run)
			next = MIN(next, marks[i]);
	return next;
}

static enum budget_level level_of(int64_t used, int64_t limit)
{
	if (limit < 0 || used < warn_mark(limit))
		return BUDGET_FINE;
	return used < limit ? BUDGET_WARNED : BUDGET_SPENT;
}

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

ov_time run_held_ms(const struct run *r, ov_time now)
{
	return r->slept_ms + r->frozen_ms + (r->frozen ? MAX(now - r->frozen_at, (ov_time)0) : 0);
}

void budget_add_live(struct budget_live *l, const struct run *r, const struct observation *o,
		ov_time now)
{
	ov_time from = r->started_at ? r->started_at : r->created_at;

	if (r->status == RUN_ENDED)
		return;
	l->runs++;
	from += run_held_ms(r, now);
	l->used[RES_WALL_MS] = add(l->used[RES_WALL_MS], MAX(now - from, (ov_time)0));
	if (!o)
		return;
	l->used[RES_TOKENS] = add(l->used[RES_TOKENS], MAX(o->tokens, (int64_t)0));
	l->used[RES_COST_MICROUSD] = add(l->used[RES_COST_MICROUSD],
			MAX(o->cost_microusd, (int64_t)0));
}

struct budget_live budget_live_of(const struct state *s, const struct goal *g,
		const struct map *observations, ov_time now)
{
	struct budget_live l = { 0 };

	list_each (it, &s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (as->run && as->node && budget_is_shared(as->node->goal, g))
			budget_add_live(&l, as->run,
					observations ? map_get(observations, as->run_id) : NULL,
					now);
	}
	return l;
}

static int64_t used_of(const struct goal *g, const struct budget_live *live, int resource,
		ov_time now)
{
	return add(budget_spent(g, (enum resource)resource, now), live ? live->used[resource] : 0);
}

struct budget_verdict budget_judge(const struct policy *p, const struct goal *g,
		const struct budget_live *live, ov_time now)
{
	struct budget_verdict worst = { .limit = -1 };

	for (int i = 0; i < RESOURCE_COUNT; i++) {
		int64_t limit = budget_limit(p, g, (enum resource)i),
			used = used_of(g, live, i, now);
		enum budget_level level = level_of(used, limit);
		bool nearer = limit > 0 &&
				(worst.limit < 0 ||
						(double)used / (double)limit > (double)worst.used /
										(double)worst.limit);

		if (level > worst.level || (level == worst.level && nearer))
			worst = (struct budget_verdict){ level, (enum resource)i, used, limit };
	}
	return worst;
}

bool budget_stops(const struct policy *p, const struct goal *g, const struct budget_live *live,
		ov_time now)
{
	for (int i = 0; i < RESOURCE_COUNT; i++)
		if (i != RES_ITERATIONS &&
				level_of(used_of(g, live, i, now),
						budget_limit(p, g, (enum resource)i)) ==
						BUDGET_SPENT)
			return true;
	return false;
}

ov_time budget_wake_at(const struct policy *p, const struct goal *g, const struct budget_live *live,
		ov_time now)
{
	int64_t limit = budget_limit(p, g, RES_WALL_MS), used = used_of(g, live, RES_WALL_MS, now),
		left, runs = (int64_t)live->runs;

	if (limit < 0 || !runs || used >= limit)
		return OV_TIME_MAX;
	left = (used < warn_mark(limit) ? warn_mark(limit) : limit) - used;
	return add(now, left / runs + (left % runs != 0));
}

ov_time budget_room_at(const struct policy *p, const struct goal *g, ov_time now)
{
	ov_time at = 0;

	for (int i = 0; g->automatic && i < RESOURCE_COUNT; i++) {
		int64_t limit = budget_limit(p, g, (enum resource)i);

		if (limit >= 0 && budget_spent(g, (enum resource)i, now) >= limit)
			at = MAX(at,
					window_room_at(&g->automatic->window, (enum resource)i,
							limit, now));
	}
	return at;
}

const struct goal *budget_newest(const struct state *s)
{
	for (size_t i = s->goals.n; i-- > 0;)
		if (s->goals.p[i]->automatic)
			return s->goals.p[i];
	return NULL;
}

bool budget_was_raised(const struct policy *p, const struct state *s, const struct goal *g)
{
	const struct goal *last = g->automatic ? budget_newest(s) : g;

	for (int i = 0; i < RESOURCE_COUNT; i++) {
		int64_t limit = budget_limit(p, last, (enum resource)i);

		if (g->spent_limit[i] && (limit < 0 || limit > g->spent_limit[i]))
			return true;
	}
	return false;
}

ov_time budget_fine_at(const struct policy *p, const struct goal *g, ov_time now)
{
	ov_time at = now;

	for (int i = 0; i < RESOURCE_COUNT; i++) {
		int64_t limit = budget_limit(p, g, (enum resource)i);

		if (limit >= 0)
			at = MAX(at,
					window_room_at(&g->automatic->window, (enum resource)i,
							warn_mark(limit), now));
	}
	return at;
}

str budget_amount(struct arena *a, enum resource resource, int64_t n)
{
	if (resource == RES_WALL_MS)
		return duration_format_short(a, n);
	if (resource == RES_COST_MICROUSD)
		return arena_printf(a, "$%lld.%02lld", (long long)n / 1000000,
				(long long)n % 1000000 / 10000);
	return arena_printf(a, "%lld", (long long)n);
}

static str text_of(struct arena *a, enum resource resource, str n, int64_t limit)
{
	static const char *const units[] = { [RES_ITERATIONS] = " runs",
		[RES_WALL_MS] = " of run time",
		[RES_TOKENS] = " tokens",
		[RES_COST_MICROUSD] = "" };

	if (limit < 0)
		return arena_printf(a, STR_FMT "%s, unlimited", STR_ARG(n), units[resource]);
	return arena_printf(a, STR_FMT " of " STR_FMT "%s", STR_ARG(n),
			STR_ARG(budget_amount(a, resource, limit)), units[resource]);
}

str budget_text(struct arena *a, enum resource resource, int64_t used, int64_t limit)
{
	return text_of(a, resource, budget_amount(a, resource, used), limit);
}

str budget_least_text(struct arena *a, enum resource resource, int64_t used, int64_t limit)
{
	str least = budget_amount(a, resource, used);

	return text_of(a, resource,
			used ? arena_printf(a, "at least " STR_FMT, STR_ARG(least)) : STR("?"),
			limit);
}

/* The text is stored with the entry and read on other days too, so that "tomorrow" has its date. */
static str room_text(struct arena *a, ov_time room, ov_time now, ov_time utc_offset)
{
	str near = time_format_near(a, room, now, utc_offset);

	if (str_starts(near, STR("tomorrow")))
		return arena_printf(a, STR_FMT " (" STR_FMT ")", STR_ARG(near),
				STR_ARG(str_sub(time_format(a, room + utc_offset), 0, 10)));
	return near.n > 5 ? near : arena_printf(a, "at " STR_FMT, STR_ARG(near));
}

str budget_spent_text(struct arena *a, const struct policy *p, const struct goal *g,
		const struct budget_verdict *v, ov_time now)
{
	str text = budget_text(a, v->resource, v->used, v->limit);
	ov_time room = v->level == BUDGET_SPENT ? budget_room_at(p, g, now) : 0;

	if (!g->automatic)
		return text;
	if (!room || room == OV_TIME_MAX)
		return arena_printf(a, STR_FMT " in the last 24 h", STR_ARG(text));
	return arena_printf(a, STR_FMT " in the last 24 h, room again " STR_FMT, STR_ARG(text),
			STR_ARG(room_text(a, room, now, p->utc_offset)));
}

const struct escalation *budget_entry(const struct state *s, const struct goal *g)
{
	for (size_t i = 0; i < s->escalations.n; i++) {
		const struct escalation *x = s->escalations.p[i];
		const struct goal *about = x->status == ESC_OPEN && x->ask == ASK_BUDGET
				? state_goal(s, x->goal_id)
				: NULL;

		if (about && budget_is_shared(about, g))
			return x;
	}
	return NULL;
}

str budget_option(struct arena *a, enum resource resource, int64_t amount)
{
	switch (resource) {
	case RES_WALL_MS:
		return arena_printf(a, "wall=" STR_FMT, STR_ARG(duration_format(a, amount)));
	case RES_COST_MICROUSD:
		return arena_printf(a, "cost_usd=%lld.%06lld", (long long)amount / 1000000,
				(long long)amount % 1000000);
	default:
		return arena_printf(a, "%s=%lld", status_name(&resources, (int)resource),
				(long long)amount);
	}
}

int64_t budget_runs_free(const struct policy *p, const struct goal *g,
		const struct budget_live *live, ov_time now)
{
	int64_t limit = g->automatic ? budget_limit(p, g, RES_ITERATIONS) : -1;

	if (limit < 0)
		return INT64_MAX;
	return MAX(limit -
					add(budget_spent(g, RES_ITERATIONS, now),
							live ? (int64_t)live->runs : 0),
			(int64_t)0);
}

str budget_taken_text(struct arena *a, const struct policy *p, const struct goal *g,
		const struct budget_live *live, ov_time now)
{
	int64_t limit = budget_limit(p, g, RES_ITERATIONS),
		left = limit - budget_spent(g, RES_ITERATIONS, now);
	long long runs = live ? (long long)live->runs : 0;

	if (left <= 0 || budget_runs_free(p, g, live, now) > 0)
		return STR("");
	if (runs > left)
		return arena_printf(a, "%lld of %lld runs %s left and %lld are under way",
				(long long)left, (long long)limit, left == 1 ? "is" : "are", runs);
	return arena_printf(a, "%lld of %lld runs %s under way", (long long)left, (long long)limit,
			left == 1 ? "is left and it is" : "are left and all of them are");
}

str goal_held(const struct policy *p, const struct goal *g, const struct budget_live *live,
		ov_time now)
{
	if (g->status != GOAL_ACTIVE)
		return STR("its goal is not active");
	if (g->automatic && (auto_pause_holds(g->automatic) || auto_pause_due(p, g->automatic)))
		return STR("auto mode is paused");
	/*
	 * What is known of runs under way went into the level, which lasts until it is
	 * judged again.
	 */
	if (g->budget_level == BUDGET_SPENT || budget_judge(p, g, live, now).level == BUDGET_SPENT)
		return g->automatic ? STR("the budget of the last 24 h is spent")
				    : STR("its goal's budget is spent");
	if (budget_runs_free(p, g, live, now) == 0)
		return STR(HELD_RUNS_TAKEN);
	return STR("");
}

str goal_held_text(struct arena *a, const struct policy *p, const struct goal *g,
		const struct budget_live *live, ov_time now)
{
	str held = goal_held(p, g, live, now);

	return str_is(held, HELD_RUNS_TAKEN) ? budget_taken_text(a, p, g, live, now) : held;
}

struct budget_verdict task_judge(const struct policy *p, const struct node *n,
		const struct budget_live *live)
{
	struct budget_verdict v = { .limit = -1 };

	for (int i = 0; n->goal->automatic && i < RESOURCE_COUNT; i++) {
		int64_t limit = p->task_budget[i],
			used = add(n->spend.used[i] - n->spend.used_before[i],
					live ? live->used[i] : 0);

		/* The count of runs is no reason to stop one that is counted already. */
		if (limit > 0 && used >= limit && !(live && live->runs && i == RES_ITERATIONS))
			v = (struct budget_verdict){ BUDGET_SPENT, (enum resource)i, used, limit };
	}
	return v;
}
