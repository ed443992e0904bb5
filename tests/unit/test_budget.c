#include "tests/test.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/capacity/budget.h"
#include "core/policy/quiet_hours.h"

static const struct policy four = { .estimate = { 4, 1000, 10, 100 } };

TEST(limits)
{
	static const struct {
		int64_t configured, estimate, own; /* of runs */
		size_t leaves;
		int64_t limit;
	} cases[] = {
		{ 0, 0, 0, 0, 12 }, /* no plan yet: as one node */
		{ 0, 0, 0, 5, 60 },
		{ 7, 0, 0, 5, 7 },
		{ -1, 0, 0, 5, -1 },
		{ 0, 10, 0, 5, 30 }, /* its own estimate is of the whole goal */
		{ 7, 10, 0, 5, 7 },
		{ -1, 10, 0, 5, -1 },
		{ 7, 10, 3, 5, 3 },
		{ 7, 10, -1, 5, -1 },
		{ -1, 0, 3, 5, 3 },
		{ 0, INT64_MAX / 2, 0, 1, INT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct policy p = four;
		struct goal g = { .leaves = cases[i].leaves };

		p.budget[RES_ITERATIONS] = cases[i].configured;
		g.estimate[RES_ITERATIONS] = cases[i].estimate;
		g.budget[RES_ITERATIONS] = cases[i].own;
		assert_int_equal(budget_limit(&p, &g, RES_ITERATIONS), cases[i].limit);
		assert_int_equal(budget_limit(&p, &g, RES_WALL_MS), 3000);
	}
}

/* The next look at a run that has used so much of a budget of 640, of which 100 are spent. */
TEST(next_marks)
{
	static const struct {
		int64_t limit, spent, used, next;
	} cases[] = {
		{ 640, 100, 0, 10 },    /* a step */
		{ 640, 100, 409, 412 }, /* the warning, at 512 */
		{ 640, 100, 412, 422 },
		{ 640, 100, 535, 540 }, /* the end */
		{ 640, 100, 540, 550 }, /* it is not stopped yet */
		{ 640, 1000, 5, 15 },
		{ 3, 0, 0, 1 }, /* of small ones, every one */
		{ -1, 7, 7, INT64_MAX },
		{ INT64_MAX, 0, INT64_MAX - 1, INT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct goal g = { .budget = { [RES_TOKENS] = cases[i].limit },
			.spent = { [RES_TOKENS] = cases[i].spent } };

		assert_int_equal(budget_next_mark(&four, &g, RES_TOKENS, cases[i].used, 0),
				cases[i].next);
	}
}

/* What runs under way use counts with what has ended; of runs only those that have. */
TEST(live_use)
{
	struct goal g = { .budget = { 2, 1000, 100, -1 }, .spent = { 1, 100, 50, 0 } };
	struct run starting = { .status = RUN_STARTING, .created_at = 900 },
		   running = { .status = RUN_RUNNING, .created_at = 1, .started_at = 500 },
		   ended = { .status = RUN_ENDED, .started_at = 1 },
		   ahead = { .status = RUN_RUNNING, .started_at = 5000 };
	struct observation o = { .tokens = 30, .cost_microusd = 7 }, odd = { -1, .tokens = -5 };
	struct budget_live l = { 0 };

	budget_add_live(&l, &starting, NULL, 1000);
	budget_add_live(&l, &running, &o, 1000);
	budget_add_live(&l, &ended, &o, 1000);
	budget_add_live(&l, &ahead, &odd, 1000); /* a clock that was put back */
	assert_int_equal(l.runs, 3);
	assert_int_equal(l.used[RES_ITERATIONS], 0);
	assert_int_equal(l.used[RES_WALL_MS], 600);
	assert_int_equal(l.used[RES_TOKENS], 30);
	assert_int_equal(l.used[RES_COST_MICROUSD], 7);
	assert_int_equal(budget_judge(&four, &g, NULL, 0).level, BUDGET_FINE);
	assert_int_equal(budget_judge(&four, &g, &l, 0).level, BUDGET_WARNED);
	assert_int_equal(budget_judge(&four, &g, &l, 0).used, 80);
	assert_false(budget_stops(&four, &g, &l, 0));
	/* 700 of 1000 ms: 100 to the warning, by three runs at a time. */
	assert_int_equal(budget_wake_at(&four, &g, &l, 1000), 1000 + 34);
	l.used[RES_WALL_MS] = 800;
	assert_int_equal(budget_wake_at(&four, &g, &l, 1000), 1000 + 34);
	l.used[RES_WALL_MS] = 900;
	assert_int_equal(budget_wake_at(&four, &g, &l, 1000), OV_TIME_MAX);
	assert_true(budget_stops(&four, &g, &l, 0));
	l.used[RES_WALL_MS] = INT64_MAX;
	assert_true(budget_stops(&four, &g, &l, 0));
	g.budget[RES_WALL_MS] = -1;
	assert_int_equal(budget_wake_at(&four, &g, &l, 1000), OV_TIME_MAX);
	assert_false(budget_stops(&four, &g, &l, 0));
	g.spent[RES_ITERATIONS] = 2;
	assert_int_equal(budget_judge(&four, &g, &l, 0).level, BUDGET_SPENT);
	assert_false(budget_stops(&four, &g, &l, 0));
}

TEST(levels)
{
	static const struct {
		int64_t limit, used;
		enum budget_level level;
	} cases[] = {
		{ 100, 0, BUDGET_FINE },
		{ 100, 79, BUDGET_FINE },
		{ 100, 80, BUDGET_WARNED },
		{ 100, 99, BUDGET_WARNED },
		{ 100, 100, BUDGET_SPENT },
		{ 100, 1000, BUDGET_SPENT },
		{ 6, 4, BUDGET_FINE }, /* 80 % are 4.8 */
		{ 6, 5, BUDGET_WARNED },
		{ 1, 0, BUDGET_FINE },
		{ 1, 1, BUDGET_SPENT },
		{ -1, INT64_MAX, BUDGET_FINE },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (int res = 0; res < RESOURCE_COUNT; res++) {
			struct goal g = { .leaves = 1 };
			struct budget_verdict v;

			g.budget[res] = cases[i].limit;
			g.spent[res] = cases[i].used;
			v = budget_judge(&four, &g, NULL, 0);
			assert_int_equal(v.level, cases[i].level);
			if (v.level == BUDGET_FINE)
				continue;
			assert_int_equal(v.resource, res);
			assert_int_equal(v.used, cases[i].used);
			assert_int_equal(v.limit, cases[i].limit);
		}
}

/* Which one is named: the worst. */
TEST(worst_resource)
{
	struct goal g = { .budget = { 10, 10, 10, 10 }, .spent = { 9, 9, 10, 9 } };
	struct budget_verdict v = budget_judge(&four, &g, NULL, 0);

	assert_int_equal(v.level, BUDGET_SPENT);
	assert_int_equal(v.resource, RES_TOKENS);
	g.budget[RES_TOKENS] = -1;
	v = budget_judge(&four, &g, NULL, 0);
	assert_int_equal(v.level, BUDGET_WARNED);
	assert_int_equal(v.resource, RES_ITERATIONS);
	g.spent[RES_ITERATIONS] = g.spent[RES_WALL_MS] = 1;
	g.spent[RES_COST_MICROUSD] = 7;
	v = budget_judge(&four, &g, NULL, 0);
	assert_int_equal(v.level, BUDGET_FINE);
	assert_int_equal(v.resource, RES_COST_MICROUSD);
}

TEST(texts)
{
	struct arena a = ARENA_INIT;

	assert_true(str_is(budget_text(&a, RES_ITERATIONS, 9, 12), "9 of 12 runs"));
	assert_true(str_is(budget_text(&a, RES_WALL_MS, OV_HOUR, OV_DAY), "1h of 1d of run time"));
	assert_true(str_is(budget_text(&a, RES_TOKENS, 9, 12), "9 of 12 tokens"));
	assert_true(str_is(budget_text(&a, RES_COST_MICROUSD, 12345678, 60000000),
			"$12.34 of $60.00"));
	assert_true(str_is(budget_text(&a, RES_ITERATIONS, 4, -1), "4 runs, unlimited"));
	assert_true(str_is(budget_least_text(&a, RES_COST_MICROUSD, 1200000, 60000000),
			"at least $1.20 of $60.00"));
	assert_true(str_is(budget_least_text(&a, RES_TOKENS, 0, 12), "? of 12 tokens"));
	assert_true(str_is(budget_least_text(&a, RES_COST_MICROUSD, 0, -1), "?, unlimited"));
	assert_true(str_is(budget_option(&a, RES_ITERATIONS, 24), "iterations=24"));
	assert_true(str_is(budget_option(&a, RES_WALL_MS, 90 * OV_MINUTE), "wall=1h30m"));
	assert_true(str_is(budget_option(&a, RES_COST_MICROUSD, 1050000), "cost_usd=1.050000"));
	arena_done(&a);
}

TEST(held_goals)
{
	struct goal g = { .status = GOAL_ACTIVE, .budget = { 1 } };

	assert_int_equal(goal_held(&four, &g, NULL, 0).n, 0);
	g.budget_level = BUDGET_SPENT; /* by what was under way */
	assert_int_not_equal(goal_held(&four, &g, NULL, 0).n, 0);
	g.budget_level = BUDGET_FINE;
	g.spent[RES_ITERATIONS] = 1;
	assert_true(str_contains(goal_held(&four, &g, NULL, 0), STR("budget")));
	g = (struct goal){ .status = GOAL_PAUSED };
	assert_true(str_contains(goal_held(&four, &g, NULL, 0), STR("not active")));
}

TEST(quiet_hours)
{
	static const struct {
		int from, to, offset, now, until; /* minutes; until -1: not quiet */
	} cases[] = {
		{ 0, 0, 0, 100, -1 },
		{ -1, -1, 0, 100, -1 },
		{ 600, 720, 0, 599, -1 },
		{ 600, 720, 0, 600, 720 },
		{ 600, 720, 0, 719, 720 },
		{ 600, 720, 0, 720, -1 },
		{ 1320, 360, 0, 1319, -1 }, /* 22:00 to 06:00 */
		{ 1320, 360, 0, 1320, 1440 + 360 },
		{ 1320, 360, 0, 1439, 1440 + 360 },
		{ 1320, 360, 0, 1440, 1440 + 360 }, /* midnight */
		{ 1320, 360, 0, 359, 360 },
		{ 1320, 360, 0, 360, -1 },
		{ 1320, 360, 120, 1199, -1 }, /* two hours ahead: 20:00 UTC is 22:00 */
		{ 1320, 360, 120, 1200, 1440 + 240 },
		{ 1320, 360, -300, 1440 + 179, -1 },
		{ 1320, 360, -300, 1440 + 180, 1440 + 660 },
		{ 0, 60, 0, 30, 60 },
		{ 1380, 0, 0, 1390, 1440 }, /* up to midnight */
		{ 1380, 0, 0, 10, -1 },
	};
	const ov_time day = 20000 * OV_DAY;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct policy p = { .quiet_from = cases[i].from,
			.quiet_to = cases[i].to,
			.utc_offset = cases[i].offset * OV_MINUTE };
		ov_time until = quiet_until(&p, day + cases[i].now * OV_MINUTE);

		if (until != (cases[i].until < 0 ? 0 : day + cases[i].until * OV_MINUTE))
			fail_msg("case %zu: %lld", i, (long long)((until - day) / OV_MINUTE));
	}
}

TEST(agents)
{
	static const str all[] = { STR("*") }, some[] = { STR("a"), STR("b") };
	static const struct policy_cross cross[] = { { STR("a"), STR("b") }, { STR("c"), STR("*") },
		{ STR("*"), STR("d") } };
	struct policy p = { .allow_agents = all,
		.allow_agents_n = 1,
		.cross = cross,
		.cross_n = ARRAY_LEN(cross) };

	assert_true(agent_allowed(&p, STR("x")));
	assert_true(cross_allowed(&p, STR("x"), STR("x")));
	assert_true(cross_allowed(&p, STR("a"), STR("b")));
	assert_false(cross_allowed(&p, STR("b"), STR("a"))); /* it is directed */
	assert_true(cross_allowed(&p, STR("c"), STR("a")));
	assert_true(cross_allowed(&p, STR("b"), STR("d")));
	assert_false(cross_allowed(&p, STR("b"), STR("c")));
	p.allow_agents = some;
	p.allow_agents_n = 2;
	assert_true(agent_allowed(&p, STR("b")));
	assert_false(agent_allowed(&p, STR("x")));
	assert_true(cross_allowed(&p, STR("a"), STR("b")));
	assert_false(cross_allowed(&p, STR("b"), STR("d")));
	p.allow_agents_n = 0;
	assert_false(agent_allowed(&p, STR("a")));
}

/* Tasks of the pool: what was spent in the last 24 hours, of all of their goals together. */
TEST(the_last_day_counts)
{
	struct auto_mode m = { 0 };
	struct goal g = { .status = GOAL_ACTIVE, .automatic = &m }, next = g, other = { 0 };
	struct policy p = { .auto_budget = { 200, OV_DAY, -1, 60000000 },
		.task_budget = { 20, 4 * OV_HOUR, 1000, 10000000 } };
	const ov_time t0 = 500000 * OV_HOUR + 10 * OV_MINUTE;
	int64_t part[RESOURCE_COUNT] = { [RES_ITERATIONS] = 1, [RES_COST_MICROUSD] = 20000000 };
	struct arena a = ARENA_INIT;
	struct budget_verdict v;

	assert_int_equal(budget_limit(&p, &g, RES_TOKENS), -1);
	g.leaves = 50; /* it does not grow with them */
	assert_int_equal(budget_limit(&p, &g, RES_COST_MICROUSD), 60000000);
	assert_true(budget_is_shared(&g, &next) && !budget_is_shared(&g, &other));
	window_add(&m.window, t0, part, false, false);
	window_add(&m.window, t0 + 2 * OV_HOUR, part, false, false);
	assert_int_equal(budget_judge(&p, &g, NULL, t0 + 2 * OV_HOUR).level, BUDGET_FINE);
	window_add(&m.window, t0 + 2 * OV_HOUR, part, false, false);
	v = budget_judge(&p, &next, NULL, t0 + 3 * OV_HOUR);
	assert_int_equal(v.level, BUDGET_SPENT);
	assert_int_equal(v.used, 60000000);
	assert_int_equal(budget_spent(&g, RES_ITERATIONS, t0 + 3 * OV_HOUR), 3);
	/* The first hour is over when none of it is younger than 24 hours. */
	assert_int_equal(budget_room_at(&p, &g, t0 + 3 * OV_HOUR), 500025 * OV_HOUR);
	assert_true(str_is(budget_spent_text(&a, &p, &g, &v, t0 + 3 * OV_HOUR),
			"$60.00 of $60.00 in the last 24 h, room again tomorrow 09:00 "
			"(2027-01-16)"));
	p.utc_offset = -9 * OV_HOUR - 30 * OV_MINUTE;
	assert_true(str_is(budget_spent_text(&a, &p, &g, &v, 500010 * OV_HOUR),
			"$60.00 of $60.00 in the last 24 h, room again at 23:30"));
	p.utc_offset = 0;
	assert_int_equal(budget_judge(&p, &g, NULL, 500025 * OV_HOUR - 1).level, BUDGET_SPENT);
	v = budget_judge(&p, &g, NULL, 500025 * OV_HOUR);
	assert_int_equal(v.level, BUDGET_FINE);
	assert_int_equal(budget_room_at(&p, &g, 500025 * OV_HOUR), 0);
	assert_int_equal(budget_spent(&g, RES_COST_MICROUSD, 500025 * OV_HOUR), 40000000);
	assert_int_equal(budget_spent(&g, RES_COST_MICROUSD, 500027 * OV_HOUR), 0);
	/* An hour that comes round takes the place of the one 25 hours before. */
	window_add(&m.window, t0 + 25 * OV_HOUR, part, false, false);
	assert_int_equal(budget_spent(&g, RES_ITERATIONS, t0 + 25 * OV_HOUR), 3);
	/* What a clock that was wrong noted in the future does not count for ever. */
	assert_int_equal(budget_spent(&g, RES_ITERATIONS, t0 - 50 * OV_HOUR), 0);
	/* A person's word for the goal comes before the configuration. */
	g.budget[RES_COST_MICROUSD] = -1;
	assert_int_equal(budget_limit(&p, &g, RES_COST_MICROUSD), -1);
	arena_done(&a);
}

TEST(a_task_has_a_budget_of_its_own)
{
	struct auto_mode m = { 0 };
	struct goal g = { .status = GOAL_ACTIVE, .automatic = &m };
	struct node n = { .goal = &g, .spend.used = { 19, OV_HOUR, 999, 0 } };
	struct policy p = { .task_budget = { 20, 4 * OV_HOUR, 1000, -1 } };
	struct budget_live live = { .runs = 1 };

	assert_int_equal(task_judge(&p, &n, NULL).level, BUDGET_FINE);
	live.used[RES_TOKENS] = 1;
	assert_int_equal(task_judge(&p, &n, &live).level, BUDGET_SPENT);
	assert_int_equal(task_judge(&p, &n, &live).resource, RES_TOKENS);
	live.used[RES_TOKENS] = 0;
	n.spend.used[RES_ITERATIONS] = 20;
	/* It counts already: it may end. */
	assert_int_equal(task_judge(&p, &n, &live).level, BUDGET_FINE);
	assert_int_equal(task_judge(&p, &n, NULL).level, BUDGET_SPENT);
	n.spend.used_before[RES_ITERATIONS] = 20;
	assert_int_equal(task_judge(&p, &n, NULL).level, BUDGET_FINE);
	g.automatic = NULL;
	n.spend.used[RES_ITERATIONS] = 100;
	assert_int_equal(task_judge(&p, &n, NULL).level, BUDGET_FINE);
}

/* Runs of the pool's tasks that are under way have taken their place in the budget. */
TEST(runs_under_way_take_their_place)
{
	static const struct {
		int64_t limit, spent;
		size_t runs;
		int64_t free;
		const char *text;
	} cases[] = {
		{ 200, 0, 0, 200, "" },
		{ 200, 199, 0, 1, "" },
		{ 200, 199, 1, 0, "1 of 200 runs is left and it is under way" },
		{ 200, 197, 2, 1, "" },
		{ 200, 197, 3, 0, "3 of 200 runs are left and all of them are under way" },
		/* It was lowered while they were. */
		{ 200, 197, 5, 0, "3 of 200 runs are left and 5 are under way" },
		{ 200, 200, 2, 0, "" },
		{ 200, 201, 0, 0, "" },
		{ -1, 5000, 50, INT64_MAX, "" },
	};
	struct arena a = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct auto_mode m = { 0 };
		struct goal g = { .status = GOAL_ACTIVE, .automatic = &m };
		struct policy p = { .auto_budget = { -1, -1, -1, -1 } };
		struct budget_live live = { .runs = cases[i].runs };
		int64_t part[RESOURCE_COUNT] = { [RES_ITERATIONS] = cases[i].spent };
		const ov_time now = 500000 * OV_HOUR;

		p.auto_budget[RES_ITERATIONS] = cases[i].limit;
		window_add(&m.window, now, part, false, false);
		assert_int_equal(budget_runs_free(&p, &g, &live, now), cases[i].free);
		assert_string_equal(arena_cstr(&a, budget_taken_text(&a, &p, &g, &live, now)),
				cases[i].text);
		assert_int_equal(goal_held(&p, &g, &live, now).n > 0, cases[i].free == 0);
		/* Other goals have runs of their own, which count when they end. */
		g.automatic = NULL;
		assert_int_equal(budget_runs_free(&p, &g, &live, now), INT64_MAX);
	}
	arena_done(&a);
}

TEST_MAIN
