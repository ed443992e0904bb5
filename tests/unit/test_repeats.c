#include "tests/test.h"

#include <stdio.h>

#include "agent/fact/repeats.h"
#include "base/str.h"

TEST_MAIN

static struct repeats fresh(void)
{
	return (struct repeats){ .gap = 6 * OV_SECOND };
}

/* The text so many times, this long apart. */
static int64_t say(struct repeats *r, const char *text, int times, ov_time apart, ov_time *now)
{
	for (int i = 0; i < times; i++) {
		(void)repeats_bytes(r, str_from(text), *now, false);
		*now += apart;
	}
	return r->count;
}

TEST(a_line_again_and_again)
{
	struct repeats r = fresh();
	ov_time now = OV_HOUR;

	assert_int_equal(say(&r, "waiting for the server\n", 20, 10 * OV_SECOND, &now), 20);
	assert_string_equal(r.text, "waiting for the server");
	assert_int_equal(r.since, OV_HOUR);
	assert_int_equal(say(&r, "there it is\n", 1, OV_SECOND, &now), 1);
}

/*
 * A test run prints PASS thirty times, and the same minutes later: that is twice, not sixty times.
 */
TEST(what_comes_in_one_go_counts_once)
{
	struct repeats r = fresh();
	ov_time now = OV_HOUR;

	assert_int_equal(say(&r, "PASS\n", 30, 0, &now), 1);
	now += 5 * OV_MINUTE;
	assert_int_equal(say(&r, "PASS\n", 30, 0, &now), 2);
	/* A flood that lasts is one, however fast it is. */
	assert_int_equal(say(&r, "PASS\n", 1200, OV_SECOND / 10, &now), 2 + 19);
}

TEST(groups_of_lines)
{
	static const char *const groups[] = { "a\nb\n", "a\na\nb\n", "a\na\nb\nb\n",
		"1\n2\n3\n4\n5\n6\n7\n",
		"try\n\n  error: x\n\x1b[31mfailed\x1b[0m\ntry\n  error: y\n" };

	for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
		struct repeats r = fresh();
		ov_time now = OV_HOUR;
		int64_t n = say(&r, groups[i], 30, 10 * OV_SECOND, &now);

		if (n < 26 || n > 30)
			fail_msg("group %zu: %lld", i, (long long)n);
	}
}

TEST(longer_groups_and_other_texts_are_none)
{
	struct repeats r = fresh();
	ov_time now = OV_HOUR;
	char line[32];

	for (int i = 0; i < 1000; i++) {
		(void)snprintf(line, sizeof(line), "step %d\n", i % (REPEATS_PERIOD + 1));
		assert_int_equal(say(&r, line, 1, 10 * OV_SECOND, &now), 1);
	}
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(line, sizeof(line), "[%d/1000] compiling\n", i);
		assert_int_equal(say(&r, line, 1, 10 * OV_SECOND, &now), 1);
	}
	for (int i = 0; i < 10 * REPEATS_PERIOD; i++) {
		(void)snprintf(line, sizeof(line), "step %d\n", i % REPEATS_PERIOD);
		say(&r, line, 1, 10 * OV_SECOND, &now);
	}
	assert_true(r.count >= 8);
}

/* Whoever shows that it waits for its model repeats nothing. */
TEST(spinners_say_nothing)
{
	struct repeats r = fresh();
	ov_time now = OV_HOUR;

	assert_true(say(&r, "\r| working\r/ working\r- working", 100, 10 * OV_SECOND, &now) <= 1);
	assert_true(say(&r, "\x1b[1A\x1b[2Kworking\n", 100, 10 * OV_SECOND, &now) <= 1);
	assert_true(say(&r, "\n", 100, 10 * OV_SECOND, &now) <= 1);
	assert_int_equal(say(&r, "windows\r\n", 20, 10 * OV_SECOND, &now), 20);
}

/* A line that comes in pieces is one. */
TEST(pieces)
{
	struct repeats r = fresh();
	ov_time now = OV_HOUR;

	for (int i = 0; i < 20; i++) {
		say(&r, "the same ", 1, OV_SECOND, &now);
		say(&r, "line\nand ano", 1, OV_SECOND, &now);
		say(&r, "ther\n", 1, 10 * OV_SECOND, &now);
	}
	/* Of a group that comes in pieces, when the first of them began is not known. */
	assert_true(r.count == 19 || r.count == 20);
	repeats_cut(&r);
	assert_int_equal(r.count, 0);
}

/* A clock that is set back or forward neither delays a block nor makes one of two. */
TEST(the_clock_is_set)
{
	struct repeats r = fresh();
	ov_time now = 100 * OV_HOUR;

	say(&r, "again\n", 3, 10 * OV_SECOND, &now);
	repeats_clock_moved(&r, -50 * OV_HOUR);
	now -= 50 * OV_HOUR;
	assert_int_equal(say(&r, "again\n", 1, OV_SECOND, &now), 4);
	repeats_clock_moved(&r, 70 * OV_HOUR);
	now += 70 * OV_HOUR;
	assert_int_equal(say(&r, "again\n", 1, OV_SECOND, &now), 4);
}

/* What a new daemon reads again has no times: it counts when it goes on, and not before. */
TEST(old_output_counts_when_it_goes_on)
{
	struct repeats r = fresh();
	ov_time now = OV_HOUR;

	for (int i = 0; i < 18; i++)
		(void)repeats_bytes(&r, STR("again\n"), now, true);
	assert_int_equal(r.count, 1);
	now += 10 * OV_SECOND;
	assert_int_equal(say(&r, "again\n", 2, 10 * OV_SECOND, &now), 3);
	assert_true(say(&r, "again\n", 1, 10 * OV_SECOND, &now) >= 20);
	/* Thirty lines of a test run before the restart are no loop after it. */
	r = fresh();
	for (int i = 0; i < 30; i++)
		(void)repeats_bytes(&r, STR("PASS\n"), now, true);
	assert_true(say(&r, "30 tests passed\n", 1, 10 * OV_SECOND, &now) <= 1);
}
