#include "tests/test.h"

#include "base/vec.h"
#include "core/model/limits.h"
#include "core/state/snapshot.h"
#include "data/value/json.h"
#include "tests/unit/core_fixture.h"

static struct state *read_back(str bytes)
{
	struct state *s = NULL;
	struct ov_err err = { 0 };

	if (snapshot_read(bytes, 99, &s, &err) < 0)
		fail_msg("%s", err.msg);
	return s;
}

static void apply_tail(struct state *s, const struct fixture *f, size_t from)
{
	for (size_t i = from; i < f->log.n; i++) {
		struct ov_err err = { 0 };

		if (apply(s, f->log.p[i], &err) < 0)
			fail_msg("after a snapshot at %zu: %s", from, err.msg);
	}
}

/* What reconcile says must not depend on whether the state was folded or read. */
static void same_decisions(struct fixture *f, const struct state *other)
{
	struct world here = { f->state, &f->policy }, there = { other, &f->policy };
	struct decisions a = reconcile(&f->arena, &here, &f->telemetry, f->now);
	struct decisions b = reconcile(&f->arena, &there, &f->telemetry, f->now);

	assert_true(str_eq(json_text(&f->arena, decisions_view(&f->arena, &a)),
			json_text(&f->arena, decisions_view(&f->arena, &b))));
}

/* fold(snapshot + tail) = fold(all), at random cuts of random histories. */
TEST(snapshot_and_tail_is_the_whole)
{
	size_t cuts = 0, events = 0;

	for (uint64_t seed = 1; seed <= 250; seed++) {
		struct rng rng = { seed };
		struct fixture f;
		str shots[4];
		size_t at[4], steps = 100 + rng_below(&rng, 400);

		fixture_init(&f);
		f.policy.workers_max = 1 + (int64_t)rng_below(&rng, 4);
		if (seed % 3 == 0)
			fixture_channels(&f);
		create_goal(&f, flat_plan(&f, 5), NULL);
		for (size_t i = 0; i < 4; i++) {
			for (size_t k = 0; k < steps / 4; k++)
				random_step(&f, &rng);
			check_invariants(f.state, &f.policy);
			shots[i] = snapshot_of(&f, f.state);
			at[i] = f.log.n;
		}
		for (size_t i = 0; i < 4; i++) {
			struct state *s = read_back(shots[i]);

			assert_true(str_eq(snapshot_of(&f, s), shots[i]));
			check_invariants(s, &f.policy);
			apply_tail(s, &f, at[i]);
			assert_true(str_eq(snapshot_of(&f, s), snapshot_of(&f, f.state)));
			check_invariants(s, &f.policy);
			same_decisions(&f, s);
			state_free(s);
			cuts++;
		}
		events += f.log.n;
		fixture_done(&f);
	}
	assert_int_equal(cuts, 1000);
	assert_true(events > 20000);
}

TEST(empty_state)
{
	struct fixture f;
	struct state *s;

	fixture_init(&f);
	s = read_back(snapshot_of(&f, f.state));
	assert_true(str_eq(snapshot_of(&f, s), snapshot_of(&f, f.state)));
	assert_int_equal(s->seq, 0);
	state_free(s);
	fixture_done(&f);
}

/* Runs and assignments that ended are forgotten but for the newest; the log is what keeps them. */
TEST(finished_work_is_bounded)
{
	struct fixture f;
	struct state *s;
	size_t runs = 0;

	fixture_init(&f);
	f.policy.workers_max = 4;
	for (int i = 0; i < 300; i++) {
		create_goal(&f, flat_plan(&f, 7), NULL);
		drain(&f);
		assert_int_equal(vec_last(&f.state->goals)->status, GOAL_COMPLETED);
	}
	runs = count_events(&f, EV_RUN_CREATED);
	assert_int_equal(runs, 2100);
	assert_int_equal(f.state->retired_count, LIMIT_KEPT);
	assert_int_equal(f.state->finished_count, LIMIT_KEPT);
	assert_int_equal(f.state->runs_by_id.n, LIMIT_KEPT);
	assert_int_equal(f.state->assignments_by_id.n, LIMIT_KEPT);
	assert_true(list_empty(&f.state->live));
	/* The newest are there, the oldest is not. */
	assert_non_null(state_run(f.state, last_event(&f, EV_RUN_CREATED)->run));
	for (size_t i = 0; i < f.log.n; i++)
		if (f.log.p[i]->kind == EV_RUN_CREATED) {
			assert_null(state_run(f.state, f.log.p[i]->run));
			break;
		}
	s = read_back(snapshot_of(&f, f.state));
	assert_true(str_eq(snapshot_of(&f, s), snapshot_of(&f, f.state)));
	state_free(s);
	fixture_done(&f);
}

TEST(junk_is_refused)
{
	static const char *const texts[] = { "", "null", "[]", "{}", "{\"goals\":[]}",
		"{\"goals\":5,\"workers\":[],\"escalations\":[],\"finished\":[],\"live\":[],"
		"\"runs\":[],"
		"\"retired_runs\":[],\"effects\":[]}",
		"{\"goals\":[{}],\"workers\":[],\"escalations\":[],\"finished\":[],\"live\":[],"
		"\"runs\":[],"
		"\"retired_runs\":[],\"effects\":[]}",
		"{\"goals\":[],\"workers\":[],\"escalations\":[],\"finished\":[],\"live\":[{\"id\":"
		"\"A\"}],"
		"\"runs\":[],\"retired_runs\":[],\"effects\":[]}" };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct state *s = NULL;
		struct ov_err err = { 0 };

		if (snapshot_read(str_from(texts[i]), 1, &s, &err) != OV_EINVALID || s)
			fail_msg("taken: %s", texts[i]);
		assert_non_null(strstr(err.msg, "snapshot"));
	}
}

/* A snapshot with changed bytes is refused or read; nothing is leaked or overrun. */
TEST(mutations)
{
	struct rng rng = { 8 };
	struct fixture f;
	str shot;

	fixture_init(&f);
	for (int i = 0; i < 150; i++)
		random_step(&f, &rng);
	shot = snapshot_of(&f, f.state);
	for (int i = 0; i < 2000; i++) {
		char *copy = mem_dup(shot.p, shot.n);
		struct state *s = NULL;

		copy[rng_below(&rng, shot.n)] = (char)rng_next(&rng);
		if (snapshot_read((str){ copy, shot.n }, 1, &s, NULL) == 0)
			state_free(s);
		mem_free(copy);
	}
	fixture_done(&f);
}

TEST_MAIN
