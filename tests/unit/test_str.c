#include "tests/test.h"

#include <stdio.h>

#include "base/str.h"

#define assert_str(s, text) assert_true(str_is((s), (text)))

TEST(comparing)
{
	assert_true(str_eq((str){ 0 }, STR("")));
	assert_true(str_eq(STR("a\0b"), STR("a\0b")));
	assert_false(str_eq(STR("a"), STR("ab")));
	assert_true(str_cmp(STR("a"), STR("b")) < 0);
	assert_true(str_cmp(STR("a"), STR("ab")) < 0);
	assert_true(str_cmp(STR("\xff"), STR("a")) > 0); /* bytes are unsigned */
	assert_true(str_cmp((str){ 0 }, STR("")) == 0);
	assert_null(str_from(NULL).p);
	assert_true(str_starts(STR("abc"), STR("ab")) && str_starts(STR("abc"), STR("")));
	assert_false(str_starts(STR("a"), STR("ab")));
	assert_true(str_ends(STR("abc"), STR("bc")) && str_ends((str){ 0 }, STR("")));
	assert_false(str_ends(STR("c"), STR("bc")));
}

TEST(finding)
{
	assert_int_equal(str_find(STR("hello"), STR("l")), 2);
	assert_int_equal(str_find(STR("hello"), STR("lo")), 3);
	assert_int_equal(str_find(STR("hello"), STR("x")), 5);
	assert_int_equal(str_find(STR("hello"), STR("")), 0);
	assert_int_equal(str_find((str){ 0 }, STR("x")), 0);
	assert_int_equal(str_find_byte(STR("a\0b"), '\0'), 1);
	assert_true(str_contains(STR("abc"), STR("")) && str_contains((str){ 0 }, STR("")));
	assert_false(str_contains((str){ 0 }, STR("x")));
}

TEST(trimming_and_slicing)
{
	assert_str(str_trim(STR(" \t\r\n a b \v\f")), "a b");
	assert_str(str_trim(STR("   ")), "");
	assert_str(str_sub(STR("hello"), 1, 3), "ell");
	assert_str(str_sub(STR("hello"), 4, SIZE_MAX), "o");
	assert_str(str_sub(STR("hello"), 5, 1), "");
	assert_str(str_sub(STR("hello"), 99, 1), "");
}

TEST(splitting_gives_every_part)
{
	static const struct {
		const char *text;
		size_t parts;
		const char *last;
	} cases[] = { { "a,b,c", 3, "c" }, { "a,", 2, "" }, { ",", 2, "" }, { "", 1, "" },
		{ "x", 1, "x" } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		str rest = str_from(cases[i].text), part = { 0 };
		size_t n = 0;

		while (str_split(&rest, ',', &part))
			n++;
		assert_int_equal(n, cases[i].parts);
		assert_str(part, cases[i].last);
	}
}

TEST(integers)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t value;
	} cases[] = {
		{ "0", true, 0 },
		{ "-0", true, 0 },
		{ "007", true, 7 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, INT64_MIN },
		{ "9223372036854775808", false, 0 },
		{ "-9223372036854775809", false, 0 },
		{ "99999999999999999999", false, 0 },
		{ "", false, 0 },
		{ "-", false, 0 },
		{ "+1", false, 0 },
		{ " 1", false, 0 },
		{ "1x", false, 0 },
		{ "--1", false, 0 },
	};
	uint64_t u;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int64_t v = 77;

		assert_int_equal(str_to_i64(str_from(cases[i].text), &v), cases[i].ok);
		assert_int_equal(v, cases[i].ok ? cases[i].value : 77);
	}
	assert_true(str_to_u64(STR("18446744073709551615"), &u) && u == UINT64_MAX);
	assert_false(str_to_u64(STR("18446744073709551616"), &u));
	assert_false(str_to_u64(STR("-1"), &u));
}

TEST(distance)
{
	static const struct {
		const char *a, *b;
		size_t distance;
	} cases[] = { { "", "", 0 }, { "abc", "abc", 0 }, { "abc", "acb", 1 }, { "abc", "ab", 1 },
		{ "abc", "abcd", 1 }, { "abc", "axc", 1 }, { "kitten", "sitting", 3 },
		{ "", "abc", 3 } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		str a = str_from(cases[i].a), b = str_from(cases[i].b);

		assert_int_equal(str_distance(a, b, 10), cases[i].distance);
		assert_int_equal(str_distance(b, a, 10), cases[i].distance);
	}
	assert_int_equal(str_distance(STR("abcdef"), STR("uvwxyz"), 2), 3); /* limit + 1 */
}

TEST(nearest_name)
{
	static const char *const names[] = { "status", "stats", "start", "plan" };

	assert_string_equal(str_nearest(STR("statsu"), names, 4), "status");
	assert_string_equal(str_nearest(STR("pln"), names, 4), "plan");
	assert_null(str_nearest(STR("unrelated"), names, 4));
	assert_null(str_nearest(STR("x"), names, 0));
}

TEST(hash_depends_on_seed_and_content)
{
	size_t buckets[64] = { 0 };
	char key[16];

	assert_true(str_hash(STR("a"), 1) == str_hash(STR("a"), 1));
	assert_true(str_hash(STR("a"), 1) != str_hash(STR("a"), 2));
	assert_true(str_hash(STR("ab"), 1) != str_hash(STR("ba"), 1));
	/* Low bits are what maps use: 64 buckets, 100 expected in each. */
	for (int i = 0; i < 6400; i++) {
		int n = snprintf(key, sizeof(key), "key%d", i);

		buckets[str_hash((str){ key, (size_t)n }, 9) & 63]++;
	}
	for (int i = 0; i < 64; i++)
		assert_in_range(buckets[i], 50, 160);
}

TEST_MAIN
