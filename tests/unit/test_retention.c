/* Retention: what must never go, over many random lists, and a few by hand. */
#include "tests/test.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/capacity/retention.h"

TEST_MAIN

enum { ENTRIES = 60, ROUNDS = 2000 };

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static bool newest_of_group(const struct retained *list, size_t n, size_t i)
{
	for (size_t k = 0; k < n; k++) {
		int64_t age = list[k].at - list[i].at;

		if (k != i && str_eq(list[k].group, list[i].group) &&
				(age > 0 || (age == 0 && str_cmp(list[k].name, list[i].name) > 0)))
			return false;
	}
	return true;
}

TEST(nothing_that_must_stay_goes)
{
	struct arena a = ARENA_INIT;
	uint64_t seed = 7;

	for (int round = 0; round < ROUNDS; round++) {
		struct retained list[ENTRIES] = { 0 };
		size_t n = next(&seed) % (ENTRIES + 1), left = 0, old = 0;
		ov_time now = 100000, keep = (ov_time)(next(&seed) % 1000);
		int64_t count = (int64_t)(next(&seed) % 20) + 1;

		for (size_t i = 0; i < n; i++)
			list[i] = (struct retained){
				.name = arena_printf(&a, "r%zu", i),
				.group = arena_printf(&a, "g%d", (int)(next(&seed) % 7)),
				.at = now - (ov_time)(next(&seed) % 1500),
				.needed = next(&seed) % 9 == 0,
			};
		retain(list, n, now, keep, count);
		for (size_t i = 0; i < n; i++) {
			bool newest = newest_of_group(list, n, i);

			left += !list[i].drop;
			old += list[i].drop;
			assert_true(i == 0 || list[i - 1].at >= list[i].at);
			if (list[i].drop)
				assert_true(!list[i].needed && !newest && list[i].at < now - keep);
			else /* and it goes when it may */
				assert_true(list[i].needed || newest || (int64_t)i < count ||
						list[i].at >= now - keep);
		}
		assert_int_equal(left + old, n);
		assert_true((int64_t)left >= MIN(count, (int64_t)n));
		arena_reset(&a);
	}
	arena_done(&a);
}

TEST(the_newest_of_a_node_stays_however_old)
{
	struct retained list[] = {
		{ .name = STR("a"), .group = STR("n1"), .at = 10 },
		{ .name = STR("b"), .group = STR("n1"), .at = 20 },
		{ .name = STR("c"), .group = STR("n2"), .at = 5 },
		{ .name = STR("d"), .group = STR("n3"), .at = 900 },
	};

	retain(list, ARRAY_LEN(list), 1000, 50, 1);
	assert_true(str_is(list[0].name, "d"));
	assert_true(!list[0].drop && !list[1].drop && !list[3].drop);
	assert_true(str_is(list[2].name, "a"));
	assert_true(list[2].drop);
	retain(list, 0, 1000, 50, 1);
}
