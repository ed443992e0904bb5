#include "tests/test.h"

#include <string.h>

#include "base/str.h"
#include "data/id/ulid.h"
#include "tests/rng.h"

TEST(known_ids)
{
	static const uint8_t none[ULID_ENTROPY] = { 0 };
	static const uint8_t all[ULID_ENTROPY] = { 255, 255, 255, 255, 255, 255, 255, 255, 255,
		255 };
	static const uint8_t one[ULID_ENTROPY] = { [9] = 1 }, mid[ULID_ENTROPY] = { [5] = 0x80 };
	char id[ULID_LEN + 1];

	ulid_format(0, none, id);
	assert_string_equal(id, "00000000000000000000000000");
	ulid_format(((ov_time)1 << 48) - 1, all, id);
	assert_string_equal(id, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
	ulid_format(1469918176385, one, id); /* the time of the specification's example */
	assert_string_equal(id, "01ARYZ6S410000000000000001");
	ulid_format(0, mid, id);
	assert_string_equal(id, "000000000000000000G0000000");
}

TEST(times_that_do_not_fit)
{
	static const uint8_t none[ULID_ENTROPY] = { 0 };
	char id[ULID_LEN + 1];

	ulid_format(-5, none, id);
	assert_int_equal(ulid_time(str_from(id)), 0);
	ulid_format(OV_TIME_MAX, none, id);
	assert_int_equal(ulid_time(str_from(id)), ((ov_time)1 << 48) - 1);
}

TEST(valid_or_not)
{
	static const char *const bad[] = { "", "0000000000000000000000000",
		"000000000000000000000000000", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
		"0000000000000000000000000I", "0000000000000000000000000L",
		"0000000000000000000000000O", "0000000000000000000000000U",
		"0000000000000000000000000a", "0000000000000 000000000000" };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_false(ulid_valid(str_from(bad[i])));
		assert_int_equal(ulid_time(str_from(bad[i])), 0);
	}
	assert_false(ulid_valid((str){ "0000000000000000000000000\0", 26 }));
}

TEST(order_and_time_survive)
{
	struct rng r = { 9 };
	char last[ULID_LEN + 1] = "";

	for (ov_time t = 0, i = 0; i < 2000; i++, t += 1 + (ov_time)rng_below(&r, 100000000)) {
		uint8_t entropy[ULID_ENTROPY];
		char id[ULID_LEN + 1];

		for (size_t k = 0; k < ULID_ENTROPY; k++)
			entropy[k] = (uint8_t)rng_next(&r);
		ulid_format(t, entropy, id);
		assert_true(ulid_valid(str_from(id)));
		assert_int_equal(ulid_time(str_from(id)), t);
		assert_true(strcmp(last, id) < 0);
		memcpy(last, id, sizeof(last));
	}
}

TEST_MAIN
