/* Stopping a run, rung by rung, and interrupting it without stopping it. */
#include "tests/shim/world.h"

TEST(an_agent_with_an_interrupt_is_interrupted_first)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w,
			"trap 'echo int; exit 3' INT; trap 'echo term' TERM; " LEAVE_PID(
					"up") "while :; do sleep 1000 & wait; done");
	w.spec.interrupt_signal = SIGINT;
	w.spec.interrupt_grace_ms = 20000;
	start(&w, &s);
	wait_pid(&w.p, "up");
	assert_int_equal(run_stop(s.run, NULL), 0);
	finish(&w, &s);
	assert_out(&s, "int\n");
	assert_int_equal(s.end.exit_code, 3);
	seen_done(&s);
	world_done(&w);
}

TEST(the_ladder_is_climbed_to_its_end)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w,
			"trap 'echo int' INT; trap 'echo term' TERM; " LEAVE_PID(
					"up") "while :; do sleep 1000 & wait; done");
	w.spec.interrupt_signal = SIGINT;
	w.spec.interrupt_grace_ms = 100;
	w.spec.stop_grace_ms = 100;
	start(&w, &s);
	wait_pid(&w.p, "up");
	assert_int_equal(run_stop(s.run, NULL), 0);
	finish(&w, &s);
	assert_out(&s, "int\nterm\n");
	assert_int_equal(s.end.signal, SIGKILL);
	seen_done(&s);
	world_done(&w);
}

/* Each rung waits for its own grace: the last one is far away, and yet the second is taken. */
TEST(each_rung_has_a_grace_of_its_own)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w,
			"trap 'echo int' INT; trap 'echo term; exit 4' TERM; " LEAVE_PID(
					"up") "while :; do sleep 1000 & wait; done");
	w.spec.interrupt_signal = SIGINT;
	w.spec.interrupt_grace_ms = 50;
	start(&w, &s);
	wait_pid(&w.p, "up");
	assert_int_equal(run_stop(s.run, NULL), 0);
	finish(&w, &s);
	assert_out(&s, "int\nterm\n");
	assert_int_equal(s.end.exit_code, 4);
	seen_done(&s);
	world_done(&w);
}

TEST(an_interrupt_need_not_end_the_run)
{
	struct world w;
	struct seen s = { 0 };
	struct ov_err err = { 0 };

	world_init(&w,
			"trap 'echo int' INT; " LEAVE_PID(
					"up") "while ! [ -e $W/go ]; do sleep 0.01; done; exit 6");
	w.spec.interrupt_signal = SIGINT;
	start(&w, &s);
	wait_pid(&w.p, "up");
	assert_int_equal(run_interrupt(s.run, NULL), 0);
	STEP_UNTIL(&w, s.out.n == 4);
	spit(place_path(&w.p, "go"), STR(""));
	STEP_UNTIL(&w, s.ends);
	assert_int_equal(s.end.exit_code, 6);
	assert_int_equal(run_interrupt(s.run, &err), OV_ESTATE);
	run_close(s.run);
	seen_done(&s);
	world_done(&w);
}

TEST(an_agent_without_an_interrupt_is_not_sent_one)
{
	struct world w;
	struct seen s = { 0 };
	int r;

	world_init(&w, "trap 'echo int' INT; while ! [ -e $W/go ]; do sleep 0.01; done");
	start(&w, &s);
	assert_int_equal(run_interrupt(s.run, NULL), 0);
	STEP_UNTIL(&w, (r = run_interrupt(s.run, &w.err)) < 0);
	assert_int_equal(r, OV_ESTATE);
	assert_string_equal(w.err.msg, "the agent has no signal that interrupts it");
	spit(place_path(&w.p, "go"), STR(""));
	finish(&w, &s);
	assert_out(&s, "");
	seen_done(&s);
	world_done(&w);
}

TEST_MAIN
