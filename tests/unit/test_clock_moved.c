/* A wall clock that is set while runs are under way: they are as old as before, and nothing is decided by it. */
#include "tests/test.h"

#include "core/liveness.h"
#include "tests/unit/core_fixture.h"

enum { DAYS = 365 };

static void jump(struct fixture *f, ov_time by)
{
	f->now += by;
	submit(f, "daemon.clock", json(f, "{'by_ms': %lld}", (long long)by));
}

/* One run, an hour old, that has just shown something. */
static void begin(struct fixture *f)
{
	fixture_init(f);
	create_goal(f, flat_plan(f, 1), NULL);
	bring_to(f, "T1", STAGE_RUNNING);
	f->now += OV_HOUR;
	observe(f, node_of(f, "T1"))->output_at = f->now;
	observe(f, node_of(f, "T1"))->looked_at = f->now;
	settle(f);
}

static void forwards_or_back(ov_time by)
{
	struct fixture f;
	const struct goal *g;

	begin(&f);
	g = node_of(&f, "T1")->goal;
	jump(&f, by);
	observe(&f, node_of(&f, "T1"))->looked_at = f.now;
	settle(&f);
	assert_int_equal(node_of(&f, "T1")->assignment->status, AS_ACTIVE);
	assert_int_equal(f.state->escalations.n, 0);
	assert_int_equal(count_events(&f, EV_GOAL_BUDGET), 0);
	assert_int_equal(f.now - node_of(&f, "T1")->assignment->run->started_at, OV_HOUR);
	/* What it used is what it took, whatever its own clock says. */
	submit(&f, "run.end",
			json(&f,
					"{'run': '" STR_FMT
					"', 'exit_code': 0, 'signal': 0, 'ended_at_ms': %lld, "
					"'ran_ms': %lld}",
					STR_ARG(node_of(&f, "T1")->assignment->run_id),
					(long long)(f.now - by), (long long)OV_HOUR));
	assert_int_equal(g->spent[RES_WALL_MS], OV_HOUR);
	drain(&f);
	assert_int_equal(g->status, GOAL_COMPLETED);
	check_invariants(f.state, &f.policy);
	fixture_done(&f);
}

TEST(forwards)
{
	forwards_or_back(DAYS * OV_DAY);
}

TEST(backwards)
{
	forwards_or_back(-DAYS * OV_DAY);
}

/* It does run out of time, but only by time that passed. */
TEST(time_goes_on)
{
	struct fixture f;

	begin(&f);
	jump(&f, DAYS * OV_DAY);
	f.now += f.policy.max_run - OV_HOUR;
	observe(&f, node_of(&f, "T1"))->output_at = f.now;
	observe(&f, node_of(&f, "T1"))->looked_at = f.now;
	settle(&f);
	assert_int_equal(f.state->escalations.n, 1);
	assert_true(str_is(f.state->escalations.p[0]->kind, "overdue"));
	fixture_done(&f);
}

TEST(nothing_moved)
{
	struct fixture f;

	begin(&f);
	jump(&f, 0);
	assert_int_equal(count_events(&f, EV_CLOCK_MOVED), 0);
	fixture_done(&f);
}

TEST_MAIN
