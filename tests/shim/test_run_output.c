/* What a run writes, as it is kept and heard: its two streams, and its bounds. */
#include "tests/shim/world.h"

#define assert_errors(s, literal) assert_string_equal(buf_cstr(&(s)->errors), literal)

TEST(errors_are_among_the_output_unless_asked_for)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w, "echo one; echo two >&2; echo three");
	start(&w, &s);
	finish(&w, &s);
	assert_out(&s, "one\ntwo\nthree\n");
	assert_int_equal(s.errors.n, 0);
	seen_done(&s);
	world_done(&w);
}

TEST(errors_are_kept_apart)
{
	struct world w;
	struct seen s = { 0 }, again = { 0 };

	world_init(&w,
			"echo one; echo two >&2; while ! [ -e $W/go ]; do sleep 0.01; done; "
			"echo three; printf four >&2; exit 7");
	w.spec.split_errors = true;
	start(&w, &s);
	/* Heard while it lives, and its last words before its end. */
	STEP_UNTIL(&w, s.out.n == 4 && s.errors.n == 4);
	spit(place_path(&w.p, "go"), STR(""));
	finish(&w, &s);
	assert_out(&s, "one\nthree\n");
	assert_errors(&s, "two\nfour");
	assert_int_equal(s.end.exit_code, 7);
	assert_int_equal(s.end.output_bytes, 10);
	/* A later daemon hears the same; errors from the beginning, whatever it knows of the output. */
	again.from = 4;
	assert_int_equal(adopt(&w, &again), 0);
	finish(&w, &again);
	assert_out(&again, "three\n");
	assert_errors(&again, "two\nfour");
	seen_done(&s);
	seen_done(&again);
	world_done(&w);
}

TEST(errors_have_a_bound_of_their_own)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w, "head -c 5000 /dev/zero >&2; echo still here");
	w.spec.split_errors = true;
	w.spec.max_output_bytes = 100;
	start(&w, &s);
	finish(&w, &s);
	assert_int_equal(s.errors.n, 100);
	assert_out(&s, "still here\n");
	assert_int_equal(s.end.dropped_bytes, 0);
	assert_non_null(strstr(slurp(&w.p, run_path(&w.p, RUN_EXIT)).p,
			"\"errors_bytes\":100,\"errors_dropped_bytes\":4900"));
	seen_done(&s);
	world_done(&w);
}

/* A closed or silent stream does not hold up the other, nor the end. */
TEST(either_stream_may_be_closed)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w, "exec 2>&-; echo out; exec >&-; while ! [ -e $W/go ]; do sleep 0.01; done");
	w.spec.split_errors = true;
	start(&w, &s);
	STEP_UNTIL(&w, s.out.n == 4);
	spit(place_path(&w.p, "go"), STR(""));
	finish(&w, &s);
	assert_int_equal(s.end.exit_code, 0);
	assert_int_equal(s.errors.n, 0);
	seen_done(&s);
	world_done(&w);
}

TEST_MAIN
