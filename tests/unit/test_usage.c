/* What was used, by day, goal, agent and model; and the table of it. */
#include "tests/test.h"

#include "base/buf.h"
#include "base/str.h"
#include "core/model/limits.h"
#include "core/state/snapshot.h"
#include "core/state/usage.h"
#include "core/view/view.h"
#include "tests/unit/core_fixture.h"

TEST_MAIN

static void end_run(struct fixture *f, const char *node, const char *more)
{
	submit(f, "run.end",
			json(f, "{'run': '" STR_FMT "', 'exit_code': 1, 'signal': 0%s}",
					STR_ARG(node_of(f, node)->assignment->run_id), more));
	settle(f);
}

static void run_again(struct fixture *f)
{
	bring_to(f, "T1", STAGE_START);
	f->now += OV_HOUR;
	settle(f);
	effect_end(f, "T1", FX_RUN_START, "ok", "", "");
	settle(f);
}

static value *view(struct fixture *f, enum usage_by by, const struct goal *g, int64_t since_day)
{
	struct usage_query q = { .by = by,
		.goal = g,
		.since_day = since_day,
		.observations = f->telemetry.observations,
		.now = f->now };

	return usage_view(&f->arena, f->state, &q);
}

static const value *row(const value *v, const char *key)
{
	const value *rows = value_at(v, "rows");

	for (size_t i = 0; i < value_count(rows); i++)
		if (str_is(value_str_at(value_item(rows, i), "key"), key))
			return value_item(rows, i);
	return NULL;
}

/* The sum of all rows is what all goals have spent. */
static void balances(const struct fixture *f)
{
	for (int r = 0; r < RESOURCE_COUNT; r++) {
		int64_t rows = 0, goals = 0;

		for (size_t i = 0; i < f->state->usage.n; i++)
			rows += f->state->usage.p[i]->spent[r];
		for (size_t i = 0; i < f->state->goals.n; i++)
			goals += f->state->goals.p[i]->spent[r];
		assert_int_equal(rows, goals);
	}
}

TEST(days)
{
	struct arena a = ARENA_INIT;

	assert_int_equal(usage_day(0), 0);
	assert_int_equal(usage_day(OV_DAY - 1), 0);
	assert_int_equal(usage_day(OV_DAY), 1);
	assert_int_equal(usage_day(-1), -1);
	assert_true(str_is(usage_day_text(&a, 20772), "2026-11-15"));
	arena_done(&a);
}

/* A run's figures go to the row of its day, agent and model, and to its node. */
TEST(a_run_is_a_row)
{
	struct fixture f;
	const struct usage_row *u;
	const value *v, *x;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	submit(&f, "run.session",
			json(&f, "{'run': '" STR_FMT "', 'session': 's', 'model': 'm-1'}",
					STR_ARG(node_of(&f, "T1")->assignment->run_id)));
	f.now += OV_MINUTE;
	end_run(&f, "T1",
			", 'tokens_input': 10, 'tokens_output': 20, 'tokens_cache_read': 30, "
			"'tokens_cache_write': 40, 'cost_microusd': 5, 'cost_source': 'agent'");
	assert_int_equal(f.state->usage.n, 1);
	u = f.state->usage.p[0];
	assert_int_equal(u->day, usage_day(f.now));
	assert_true(str_is(u->model, "m-1"));
	assert_int_equal(u->spent[RES_ITERATIONS], 1);
	assert_int_equal(u->spent[RES_WALL_MS], OV_MINUTE);
	assert_int_equal(u->spent[RES_TOKENS], 100); /* where only the kinds are told */
	assert_int_equal(u->spent[RES_COST_MICROUSD], 5);
	assert_int_equal(u->tokens_cache_read, 30);
	assert_int_equal(u->unpriced + u->untold, 0);
	assert_int_equal(node_of(&f, "T1")->spend.used[RES_TOKENS], 100);
	assert_int_equal(node_of(&f, "T1")->spend.used[RES_COST_MICROUSD], 5);
	balances(&f);
	/* The next one tells no cost, and the one after it nothing at all. */
	run_again(&f);
	end_run(&f, "T1", ", 'tokens': 7");
	f.now += 2 * OV_DAY;
	run_again(&f);
	end_run(&f, "T1", "");
	balances(&f);
	v = view(&f, USAGE_DAY, NULL, 0);
	assert_int_equal(value_count(value_at(v, "rows")), 2);
	x = value_at(v, "total");
	assert_int_equal(value_int_at(x, "runs"), 3);
	assert_int_equal(value_int_at(x, "tokens"), 107);
	assert_int_equal(value_int_at(x, "unpriced_runs"), 1);
	assert_int_equal(value_int_at(x, "untold_runs"), 1);
	v = view(&f, USAGE_DAY, NULL, usage_day(f.now));
	assert_int_equal(value_int_at(value_at(v, "total"), "runs"), 1);
	v = view(&f, USAGE_MODEL, NULL, 0);
	assert_int_equal(value_int_at(row(v, "m-1"), "tokens_output"), 20);
	assert_int_equal(value_count(value_at(v, "unpriced_models")), 1);
	/* Of a node it is known as well. */
	v = view(&f, USAGE_NODE, NULL, 0);
	x = value_item(value_at(v, "rows"), 0);
	assert_int_equal(value_int_at(x, "unpriced_runs"), 1);
	assert_int_equal(value_int_at(x, "untold_runs"), 1);
	fixture_done(&f);
}

/* What is under way is in the figures, and told apart. */
TEST(live_runs)
{
	struct fixture f;
	const value *x;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 2), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	end_run(&f, "T1", ", 'tokens': 7, 'cost_microusd': 3");
	bring_to(&f, "T2", STAGE_RUNNING);
	f.now += OV_SECOND;
	*observe(&f, node_of(&f, "T2")) =
			(struct observation){ .output_at = f.now, .tokens = 5, .cost_microusd = 2 };
	for (int by = 0; by < USAGE_BY_COUNT; by++) {
		value *v = view(&f, (enum usage_by)by, f.state->goals.p[0], 0);

		x = value_at(v, "total");
		assert_int_equal(value_int_at(x, "runs"), 1);
		assert_true(value_int_at(x, "live_runs") >= 1);
		assert_int_equal(value_int_at(x, "tokens"), 12);
		assert_int_equal(value_int_at(x, "cost_microusd"), 5);
		assert_int_equal(value_int_at(value_at(x, "live"), "tokens"), 5);
	}
	x = view(&f, USAGE_NODE, NULL, 0);
	assert_int_equal(value_int_at(row(x, node_of(&f, "T1")->key.p), "tokens"), 7);
	assert_int_equal(value_int_at(row(x, node_of(&f, "T2")->key.p), "tokens"), 5);
	fixture_done(&f);
}

static void fold(struct fixture *f, const char *data)
{
	int64_t amounts[RESOURCE_COUNT] = { 0 };
	struct event e = { .kind = EV_GOAL_SPENT,
		.goal = f->state->goals.p[0]->id,
		.at = 3 * OV_DAY,
		.data = json(f, "%s", data) };

	event_fill(&f->arena, &e);
	assert_true(record_read_amounts(&resources, amounts, value_at(e.data, "amounts")));
	for (int i = 0; i < RESOURCE_COUNT; i++)
		f->state->goals.p[0]->spent[i] += amounts[i];
	usage_fold(f->state, &e, amounts);
}

/* The oldest rows become one: nothing is lost of the sums, and the order of days is kept. */
TEST(rows_are_bounded)
{
	struct fixture f;
	int64_t last = 0;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	for (int i = 0; i < LIMIT_USAGE + 500; i++)
		fold(&f,
				arena_cstr(&f.arena,
						arena_printf(&f.arena,
								"{'amounts': {'tokens': 3, "
								"'cost_microusd': 1}, 'on': 'run', "
								"'day': %d, 'agent': 'a%d', "
								"'tokens_input': 3}",
								10 + (i * 7) % 1900, i % 7)));
	assert_true(f.state->usage.n <= LIMIT_USAGE);
	assert_true(f.state->usage.n > LIMIT_USAGE / 2);
	assert_int_equal(f.state->usage.p[0]->day, 0);
	assert_true(f.state->usage.p[0]->tokens_input > 0);
	for (size_t i = 0; i < f.state->usage.n; i++) {
		assert_true(f.state->usage.p[i]->day >= last);
		last = f.state->usage.p[i]->day;
	}
	balances(&f);
	/* All of one day. */
	for (int i = 0; i < 2 * LIMIT_USAGE; i++)
		fold(&f,
				arena_cstr(&f.arena,
						arena_printf(&f.arena,
								"{'amounts': {'tokens': 3}, 'on': "
								"'run', 'day': 5000, 'agent': "
								"'b%d'}",
								i)));
	assert_int_equal(f.state->usage.n, LIMIT_USAGE);
	balances(&f);
	fixture_done(&f);
}

/* Logs of before tell neither day nor agent. */
TEST(older_events)
{
	struct fixture f;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	fold(&f, "{'amounts': {'tokens': 3}, 'on': 'plan'}");
	assert_int_equal(f.state->usage.p[0]->day, 3);
	assert_true(str_is(f.state->usage.p[0]->agent, "plan"));
	assert_int_equal(f.state->usage.p[0]->unpriced, 1);
	balances(&f);
	fixture_done(&f);
}

TEST(a_snapshot_keeps_it)
{
	struct fixture f;
	struct buf one = BUF_INIT, two = BUF_INIT;
	struct state *read;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	end_run(&f, "T1", ", 'tokens': 7, 'tokens_input': 7");
	snapshot_write(&one, f.state);
	assert_int_equal(snapshot_read(buf_str(&one), 1, &read, NULL), 0);
	assert_int_equal(read->usage.n, 1);
	assert_int_equal(read->usage.p[0]->tokens_input, 7);
	snapshot_write(&two, read);
	assert_true(str_eq(buf_str(&one), buf_str(&two)));
	state_free(read);
	buf_done(&one);
	buf_done(&two);
	fixture_done(&f);
}

/* Whatever an agent claims, the sums hold. */
TEST(absurd_figures)
{
	struct fixture f;

	fixture_init(&f);
	oversight_off(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	f.policy.budget[RES_TOKENS] = f.policy.budget[RES_COST_MICROUSD] = -1;
	for (int i = 0; i < 2; i++) {
		run_again(&f);
		end_run(&f, "T1",
				", 'tokens': 9223372036854775807, 'cost_microusd': "
				"9223372036854775807, 'tokens_input': -5");
	}
	balances(&f);
	assert_int_equal(f.state->goals.p[0]->spent[RES_TOKENS],
			(int64_t)2 * 1000 * 1000 * 1000 * 1000 * 1000);
	fixture_done(&f);
}

/*
 * Of a run that told what cannot be true, the rest is the least that it was, and no sum
 * is complete.
 */
TEST(what_cannot_be_true_is_unknown)
{
	struct fixture f;
	const struct usage_row *u;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	end_run(&f, "T1", ", 'tokens': 7, 'cost_microusd': 5, 'unknown': 'cost'");
	u = f.state->usage.p[0];
	assert_int_equal(u->unpriced, 1);
	assert_int_equal(u->untold, 0);
	assert_int_equal(u->spent[RES_COST_MICROUSD], 5);
	run_again(&f);
	end_run(&f, "T1",
			", 'tokens': 7, 'cost_microusd': 5, 'cost_source': 'agent', "
			"'unknown': 'tokens'");
	assert_int_equal(u->unpriced, 1);
	assert_int_equal(u->untold, 1);
	assert_int_equal(u->spent[RES_TOKENS], 14);
	assert_int_equal(u->spent[RES_COST_MICROUSD], 10);
	assert_int_equal(node_of(&f, "T1")->spend.untold, 1);
	fixture_done(&f);
}
