/* Hard failures: the daemon cannot go on, and nobody is to blame for being stopped by that. */
#include "tests/test.h"

#include "core/state/snapshot.h"
#include "tests/unit/core_fixture.h"

static void fail_hard(struct fixture *f)
{
	submit(f, "daemon.fail",
			json(f,
					"{'cause':'store','text':'the file is "
					"gone','instance':'I_1',"
					"'exit_status':21,'worker':'pool-1','command':'make',"
					"'output':'no rule'}"));
}

static void next_daemon(struct fixture *f)
{
	submit(f, "daemon.start", json(f, "{'instance':'I_2','version':'1'}"));
}

static void begin(struct fixture *f, size_t tasks)
{
	fixture_init(f);
	create_goal(f, flat_plan(f, tasks), NULL);
	settle(f);
}

TEST(it_is_told_once_with_all_that_is_known)
{
	struct fixture f;
	const struct escalation *x;

	begin(&f, 1);
	fail_hard(&f);
	fail_hard(&f);
	assert_int_equal(count_events(&f, EV_DAEMON_FAILED), 1);
	assert_int_equal(f.state->escalations.n, 1);
	x = f.state->escalations.p[0];
	assert_true(str_is(x->kind, "daemon"));
	for (size_t i = 0; i < 6; i++) {
		static const char *const words[] = { "the file is gone", "overseer up",
			"worker: pool-1", "command: make", "no rule", "saved beside" };

		assert_non_null(strstr(arena_cstr(&f.arena, x->question), words[i]));
	}
	next_daemon(&f);
	assert_int_equal(x->status, ESC_ANSWERED);
	refused(&f, "daemon.fail", json(&f, "{'cause':'mood','instance':'I_2'}"), OV_EINVALID);
	fixture_done(&f);
}

TEST(nothing_is_begun_while_it_fails_and_all_of_it_afterwards)
{
	struct fixture f;
	size_t intended;

	begin(&f, 3);
	intended = count_events(&f, EV_EFFECT_INTENDED);
	fail_hard(&f);
	effect_end(&f, "T1", FX_WORKSPACE, "ok", "", "'base':'0'");
	create_goal(&f, flat_plan(&f, 1), NULL);
	assert_int_equal(tick(&f), 0);
	f.now += OV_DAY;
	assert_int_equal(tick(&f), 0);
	assert_int_equal(count_events(&f, EV_EFFECT_INTENDED), intended);
	check_invariants(f.state, &f.policy);
	next_daemon(&f);
	assert_true(tick(&f) > 0);
	fixture_done(&f);
}

/* Stopped without any failure of its own, and gone on with by the next daemon. */
TEST(runs_are_stopped_and_go_on_with_the_next)
{
	struct fixture f;
	const struct assignment *as;

	begin(&f, 2);
	bring_to(&f, "T1", STAGE_RUNNING);
	as = node_of(&f, "T1")->assignment;
	fail_hard(&f);
	settle(&f);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_RUN_STOP);
	effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
	run_end(&f, "T1", 143);
	/* Kept for the next one: what it left is not even looked at any more. */
	settle(&f);
	assert_null(effect_of(&f, "T1"));
	assert_int_equal(as->stage, STAGE_HARVEST);
	next_daemon(&f);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "", "'head':'1','tree':'2','commits':0");
	settle(&f);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_RUN_START);
	assert_ptr_equal(node_of(&f, "T1")->assignment, as);
	assert_true(str_is(value_str_at(last_event(&f, EV_DISPATCH_INTENDED)->data, "purpose"),
			"resume"));
	assert_int_equal(count_events(&f, EV_NODE_FAILED), 0);
	assert_int_equal(count_events(&f, EV_WORKSPACE_READY), 1);
	check_invariants(f.state, &f.policy);
	fixture_done(&f);
}

/* One that was just being started is stopped as soon as it is there. */
TEST(a_run_that_is_being_started_is_stopped_then)
{
	struct fixture f;

	begin(&f, 1);
	bring_to(&f, "T1", STAGE_START);
	settle(&f);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_RUN_START);
	fail_hard(&f);
	settle(&f);
	effect_end(&f, "T1", FX_RUN_START, "ok", "", "");
	settle(&f);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_RUN_STOP);
	/* The same was known to a daemon that begins with a snapshot. */
	{
		struct state *s;
		str bytes = snapshot_of(&f, f.state);

		assert_int_equal(snapshot_read(bytes, 1, &s, NULL), 0);
		assert_true(str_is(s->failing, "I_1"));
		state_free(s);
	}
	fixture_done(&f);
}

/*
 * Told to end with its agents: they are stopped and their work is kept; the next one resumes them.
 */
TEST(a_daemon_that_ends_with_its_agents)
{
	struct fixture f;
	const struct assignment *as;

	begin(&f, 2);
	bring_to(&f, "T1", STAGE_RUNNING);
	as = node_of(&f, "T1")->assignment;
	f.telemetry.ending = ENDING_STOP;
	assert_int_equal(ending_left(f.state, ENDING_LEAVE), 0);
	assert_int_equal(ending_left(f.state, ENDING_STOP), 1);
	settle(&f);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_RUN_STOP);
	effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
	settle(&f);
	run_end(&f, "T1", 143);
	settle(&f);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_HARVEST);
	assert_int_equal(ending_left(f.state, ENDING_STOP), 1);
	effect_end(&f, "T1", FX_HARVEST, "ok", "", "'head':'1','tree':'2','commits':0");
	settle(&f);
	assert_null(effect_of(&f, "T1"));
	assert_int_equal(ending_left(f.state, ENDING_STOP), 0);
	f.telemetry.ending = ENDING_NO;
	settle(&f);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_RUN_START);
	assert_ptr_equal(node_of(&f, "T1")->assignment, as);
	assert_int_equal(count_events(&f, EV_NODE_FAILED), 0);
	check_invariants(f.state, &f.policy);
	fixture_done(&f);
}

/* One that leaves its agents at work carries out what was asked for before, and begins nothing. */
TEST(a_daemon_that_ends_carries_out_stops)
{
	struct fixture f;

	begin(&f, 2);
	f.policy.workers_max = 2;
	bring_to(&f, "T1", STAGE_RUNNING);
	bring_to(&f, "T2", STAGE_RUNNING);
	submit(&f, "run.stop",
			json(&f, "{'run': '" STR_FMT "'}",
					STR_ARG(node_of(&f, "T1")->assignment->run_id)));
	assert_true(str_is(node_of(&f, "T1")->status_reason, "asked by human:tester"));
	f.telemetry.ending = ENDING_LEAVE;
	settle(&f);
	assert_int_equal(ending_left(f.state, ENDING_LEAVE), 1);
	effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
	settle(&f);
	/* Told, but not over: the daemon waits for it. */
	assert_int_equal(ending_left(f.state, ENDING_LEAVE), 1);
	run_end(&f, "T1", 143);
	settle(&f);
	assert_int_equal(ending_left(f.state, ENDING_LEAVE), 0);
	assert_null(effect_of(&f, "T1"));
	assert_int_equal(node_of(&f, "T2")->assignment->stage, STAGE_RUNNING);
	create_goal(&f, flat_plan(&f, 1), NULL);
	settle(&f);
	assert_int_equal(count_events(&f, EV_ASSIGNMENT_CREATED), 2);
	fixture_done(&f);
}

TEST_MAIN
