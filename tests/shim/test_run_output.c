/* What a run writes, as it is kept and heard: its two streams, and its bounds. */
#include <sched.h>
#include <sys/mount.h>

#include "tests/shim/world.h"
#include "tests/skip.h"

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
	/*
	 * A later daemon hears the same; errors from the beginning, whatever it knows of
	 * the output.
	 */
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

enum { BOUND = 1 << 20 };

static bool ends_with(const struct buf *b, const char *end)
{
	return str_ends(buf_str(b), str_from(end));
}

TEST(the_last_words_of_a_long_run_are_never_lost)
{
	struct world w;
	struct seen s = { .may_gap = true };
	struct stat st;
	uint64_t total = 100ULL * BOUND;

	world_init(&w,
			"echo the first line; head -c $((104857600 - 27)) /dev/zero | tr '\\0' x; "
			"echo; echo the result");
	w.spec.max_output_bytes = BOUND;
	start(&w, &s);
	finish(&w, &s);
	assert_int_equal(s.end.output_bytes + s.end.dropped_bytes, total);
	assert_in_range(s.end.output_bytes, BOUND - BOUND / 8, BOUND);
	/* A reader that was too slow misses the middle, and knows how much that was. */
	assert_int_equal(s.out.n + s.missing, total);
	assert_true(str_starts(buf_str(&s.out), STR("the first line\nxxx")));
	assert_true(ends_with(&s.out, "xxx\nthe result\n"));
	assert_int_equal(str_find_byte(buf_str(&s.out), '\0'), s.out.n);
	/* The file has the size of all that was written, and the disk holds the bound. */
	assert_int_equal(stat(run_path(&w.p, RUN_OUTPUT), &st), 0);
	assert_int_equal(st.st_size, total);
	assert_true((uint64_t)st.st_blocks * 512 <= BOUND + 65536);
	assert_non_null(strstr(slurp(&w.p, run_path(&w.p, RUN_EXIT)).p,
			"\"output_kept\":\"ends\",\"errors_kept\":\"all\""));
	seen_done(&s);

	/* Whoever comes later finds both ends. */
	s = (struct seen){ .may_gap = true };
	assert_int_equal(adopt(&w, &s), 0);
	finish(&w, &s);
	assert_int_equal(s.out.n, s.end.output_bytes);
	assert_int_equal(s.missing, s.end.dropped_bytes);
	assert_true(ends_with(&s.out, "xxx\nthe result\n"));
	seen_done(&s);
	world_done(&w);
}

TEST(a_run_beyond_its_bound_still_shows_life)
{
	struct world w;
	struct seen s = { .may_gap = true };
	uint64_t before, after;

	world_init(&w,
			"head -c 4000000 /dev/zero; echo >$W/up; while ! [ -e $W/go ]; do sleep "
			"0.01; done; echo more; while ! [ -e $W/end ]; do sleep 0.01; done");
	w.spec.max_output_bytes = 1 << 17;
	start(&w, &s);
	STEP_UNTIL(&w, s.out.n + s.missing == 4000000 && exists(place_path(&w.p, "up")));
	run_written(s.run, &before);
	assert_int_equal(before, 4000000);
	spit(place_path(&w.p, "go"), STR(""));
	STEP_UNTIL(&w, ends_with(&s.out, "more\n"));
	run_written(s.run, &after);
	assert_int_equal(after, 4000005);
	spit(place_path(&w.p, "end"), STR(""));
	finish(&w, &s);
	seen_done(&s);
	world_done(&w);
}

TEST(a_lost_run_beyond_its_bound_is_measured)
{
	struct world w;
	struct seen s = { .may_gap = true };

	world_init(&w, "head -c 3000000 /dev/zero; echo up; while :; do sleep 1000; done");
	w.spec.max_output_bytes = BOUND;
	start(&w, &s);
	STEP_UNTIL(&w, ends_with(&s.out, "up\n"));
	assert_int_equal(kill(shim_pid(&w), SIGKILL), 0);
	finish(&w, &s);
	assert_true(s.end.lost);
	assert_int_equal(s.end.output_bytes + s.end.dropped_bytes, 3000003);
	assert_in_range(s.end.output_bytes, BOUND - BOUND / 8, BOUND);
	seen_done(&s);
	world_done(&w);
}

/* A file system that cannot give back the middle of a file, in a mount namespace of our own. */
TEST(where_there_are_no_holes_the_beginning_is_kept)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w, "head -c 3000000 /dev/zero; echo the result");
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
			mount("ramfs", w.p.root, "ramfs", 0, NULL) < 0) {
		world_done(&w);
		skip_for(NO_MOUNTS);
	}
	w.spec.max_output_bytes = BOUND;
	start(&w, &s);
	finish(&w, &s);
	assert_int_equal(s.out.n, BOUND);
	assert_int_equal(s.end.output_bytes, BOUND);
	assert_int_equal(s.end.dropped_bytes, 3000011 - BOUND);
	assert_int_equal(s.end.exit_code, 0);
	assert_non_null(strstr(slurp(&w.p, run_path(&w.p, RUN_EXIT)).p,
			"\"output_kept\":\"beginning\""));
	seen_done(&s);
	assert_int_equal(umount2(w.p.root, MNT_DETACH), 0);
	world_done(&w);
}

/*
 * A turn of the loop is one callback: whatever has piled up, others are served after so many bytes.
 */
TEST(no_turn_of_the_loop_reads_more_than_a_slice)
{
	struct world w;
	struct seen s = { 0 }, again = { 0 };
	size_t most = 0, turns = 0;

	world_init(&w, "head -c 9000000 /dev/zero; head -c 3000000 /dev/zero >&2; echo end");
	w.spec.split_errors = true;
	w.spec.max_output_bytes = 16 << 20;
	start(&w, &s);
	finish(&w, &s);
	assert_int_equal(s.out.n, 9000004);
	/*
	 * By a daemon that comes when it is over: all of it is left to read, and then the end
	 * is told.
	 */
	assert_int_equal(adopt(&w, &again), 0);
	while (!again.ends) {
		size_t before = again.out.n + again.errors.n;

		loop_step(w.loop, 50000);
		most = MAX(most, again.out.n + again.errors.n - before);
		turns++;
	}
	finish(&w, &again);
	assert_int_equal(again.out.n, 9000004);
	assert_int_equal(again.errors.n, 3000000);
	assert_true(most > 0 && most <= 128 * 1024);
	assert_true(turns >= 12000000 / (128 * 1024));
	seen_done(&s);
	seen_done(&again);
	world_done(&w);
}

TEST(a_run_may_be_closed_amid_its_last_words)
{
	struct world w;
	struct seen s = { 0 }, again = { .close_on_output = true };

	world_init(&w, "head -c 900000 /dev/zero");
	start(&w, &s);
	finish(&w, &s);
	assert_int_equal(adopt(&w, &again), 0);
	STEP_UNTIL(&w, !again.run);
	assert_int_equal(again.ends, 0);
	assert_int_equal(again.pieces, 1);
	seen_done(&s);
	seen_done(&again);
	world_done(&w);
}

TEST_MAIN
