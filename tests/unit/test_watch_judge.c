/* The spiral rule: what follows a failure of the daemon. */
#include "tests/test.h"

#include <stdlib.h>

#include "watch/guard/judge.h"

TEST_MAIN

enum { COOLDOWN = 60 * 1000, MINUTE = 60 * 1000 };

static struct judge *judge_make(size_t max, bool can_mend)
{
	struct judge *j = calloc(1, sizeof(*j));

	assert_non_null(j);
	j->cooldown_ms = COOLDOWN;
	j->max_restarts = max;
	j->can_mend = can_mend;
	return j;
}

TEST(the_first_failure_is_mended_however_soon_it_comes)
{
	for (int f = FAILURE_DIED; f < FAILURE_COUNT; f++) {
		struct judge *j = judge_make(20, true);

		assert_int_equal(judge_failure(j, (enum failure)f, 0, 1),
				f == FAILURE_STALL ? VERDICT_START : VERDICT_MEND);
		free(j);
	}
}

TEST(a_failure_within_the_cooldown_after_mending_is_a_spiral)
{
	struct judge *j = judge_make(20, true);

	assert_int_equal(judge_failure(j, FAILURE_DIED, 0, 1000), VERDICT_MEND);
	assert_int_equal(judge_failure(j, FAILURE_HEARTBEAT, COOLDOWN - 1, 100000), VERDICT_SPIRAL);
	assert_int_equal(j->restarts_n, 1);
	free(j);
}

TEST(after_the_cooldown_a_failure_is_the_first_again)
{
	struct judge *j = judge_make(20, true);

	for (int i = 1; i <= 5; i++)
		assert_int_equal(judge_failure(j, FAILURE_HEALTH, COOLDOWN, i * 10 * MINUTE),
				VERDICT_MEND);
	assert_int_equal(judge_failure(j, FAILURE_HEALTH, 0, 60 * MINUTE), VERDICT_SPIRAL);
	free(j);
}

/* Detection and grace may take longer than the cool-down; only healthy time counts. */
TEST(the_time_until_a_hang_is_noticed_does_not_count)
{
	struct judge *j = judge_make(20, true);

	assert_int_equal(judge_failure(j, FAILURE_HEARTBEAT, 0, 0), VERDICT_MEND);
	assert_int_equal(judge_failure(j, FAILURE_HEARTBEAT, 1000, 100 * MINUTE), VERDICT_SPIRAL);
	free(j);
}

TEST(a_stall_is_only_started_again_and_changes_nothing_else)
{
	struct judge *j = judge_make(20, true);

	assert_int_equal(judge_failure(j, FAILURE_STALL, 0, 0), VERDICT_START);
	assert_false(j->mended);
	assert_int_equal(judge_failure(j, FAILURE_DIED, 0, 1), VERDICT_MEND);
	assert_int_equal(judge_failure(j, FAILURE_STALL, 0, 2), VERDICT_START);
	assert_int_equal(judge_failure(j, FAILURE_DIED, 0, 3), VERDICT_SPIRAL);
	free(j);
}

TEST(restarts_are_counted_over_24_hours)
{
	struct judge *j = judge_make(3, true);

	for (int i = 0; i < 3; i++)
		assert_int_equal(judge_failure(j, FAILURE_STALL, COOLDOWN, i * OV_HOUR),
				VERDICT_START);
	assert_int_equal(judge_failure(j, FAILURE_STALL, COOLDOWN, 3 * OV_HOUR), VERDICT_TOO_MANY);
	assert_int_equal(judge_failure(j, FAILURE_DIED, COOLDOWN, OV_DAY - 1), VERDICT_TOO_MANY);
	assert_int_equal(judge_failure(j, FAILURE_DIED, COOLDOWN, OV_DAY), VERDICT_MEND);
	assert_int_equal(judge_restarts(j, OV_DAY), 3);
	assert_int_equal(judge_restarts(j, 3 * OV_DAY), 0);
	free(j);
}

TEST(with_nobody_to_mend_the_same_rule_holds)
{
	struct judge *j = judge_make(20, false);

	assert_int_equal(judge_failure(j, FAILURE_DIED, 0, 0), VERDICT_START);
	assert_int_equal(judge_failure(j, FAILURE_DIED, 0, 1), VERDICT_SPIRAL);
	free(j);
}

/*
 * Whatever happens: never too many starts in a day, and never two mendings without health between.
 */
TEST(random_histories)
{
	srandom(7);
	for (int round = 0; round < 300; round++) {
		size_t max = (size_t)(1 + random() % 12), n = 0;
		struct judge *j = judge_make(max, random() % 2);
		int64_t at[400] = { 0 }, now = 0;
		bool mended = false;

		for (int i = 0; i < 400; i++) {
			int64_t healthy = random() % (2 * COOLDOWN);
			enum failure f = (enum failure)(1 + random() % (FAILURE_COUNT - 1));
			enum watch_verdict v;
			size_t recent = 0;

			now += healthy + random() % (4 * OV_HOUR);
			v = judge_failure(j, f, healthy, now);
			mended = mended && healthy < COOLDOWN;
			for (size_t k = 0; k < n; k++)
				recent += now - at[k] < OV_DAY;
			assert_true(recent <= max);
			if (v == VERDICT_SPIRAL) {
				assert_true(mended && f != FAILURE_STALL);
				continue;
			}
			if (v == VERDICT_TOO_MANY) {
				assert_int_equal(recent, max);
				continue;
			}
			assert_true(recent < max);
			assert_int_equal(v == VERDICT_MEND, f != FAILURE_STALL && j->can_mend);
			if (f != FAILURE_STALL)
				assert_false(mended);
			mended = mended || f != FAILURE_STALL;
			at[n++] = now;
		}
		free(j);
	}
}
