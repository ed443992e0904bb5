#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "tests/json_gen.h"

static value *parsed(struct arena *a, const char *text)
{
	struct ov_err e = { 0 };
	value *v = NULL;

	if (json_parse(a, str_from(text), NULL, &v, &e) < 0)
		fail_msg("%s: %s", text, e.msg);
	return v;
}

/* Compact, canonical, or pretty text in the arena. */
static const char *text_by(struct arena *a, void (*write)(struct buf *, const value *),
		const value *v)
{
	struct buf b = BUF_INIT;
	const char *p;

	write(&b, v);
	assert_int_equal(b.p[b.n], 0);
	p = arena_cstr(a, buf_str(&b));
	buf_done(&b);
	return p;
}

TEST(refused_with_reason_place_and_path)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "", "unexpected end of the text at byte 0" },
		{ " \n", "unexpected end of the text at byte 2" },
		{ "nul", "expected a value at byte 0" },
		{ "True", "expected a value at byte 0" },
		{ "NaN", "expected a value at byte 0" },
		{ "-Infinity", "expected a digit at byte 1" },
		{ "01", "number with a leading zero at byte 0" },
		{ "-01", "number with a leading zero at byte 1" },
		{ "+1", "expected a value at byte 0" },
		{ ".5", "expected a value at byte 0" },
		{ "1.", "unexpected end of the text at byte 2" },
		{ "[1.]", "[0]: expected a digit after the point at byte 3" },
		{ "[1e]", "[0]: expected a digit in the exponent at byte 3" },
		{ "0x10", "unexpected text after the document at byte 1" },
		{ "1e400", "number out of range at byte 0" },
		{ "[0,-1e400]", "[1]: number out of range at byte 3" },
		{ "9223372036854775808", "number out of range at byte 0" },
		{ "-9223372036854775809", "number out of range at byte 0" },
		{ "[1,]", "[1]: expected a value at byte 3" },
		{ "[1 2]", "[0]: expected ',' or ']' at byte 3" },
		{ "[", "[0]: unexpected end of the text at byte 1" },
		{ "]", "expected a value at byte 0" },
		{ "[1}", "[0]: expected ',' or ']' at byte 2" },
		{ "{\"a\":1]", "a: expected ',' or '}' at byte 6" },
		{ "{\"a\"}", "a: expected ':' at byte 4" },
		{ "{\"a\":}", "a: expected a value at byte 5" },
		{ "{\"a\":1,}", "expected a key in quotes at byte 7" },
		{ "{a:1}", "expected a key in quotes at byte 1" },
		{ "{\"a\":1} x", "unexpected text after the document at byte 8" },
		{ "\"a", "unexpected end of the text at byte 2" },
		{ "\"a\nb\"", "control character in a string at byte 2" },
		{ "\"\\q\"", "unknown escape in a string at byte 2" },
		{ "\"\\", "unexpected end of the text at byte 2" },
		{ "\"\\u12g4\"", "expected four hexadecimal digits at byte 3" },
		{ "\"\\ud800\"", "half of a surrogate pair at byte 1" },
		{ "\"\\udc00\"", "half of a surrogate pair at byte 1" },
		{ "\"\\ud800\\u0041\"", "half of a surrogate pair at byte 1" },
		{ "\"\\ud800\\ud800\"", "half of a surrogate pair at byte 1" },
		{ "\"\xff\"", "invalid UTF-8 in a string at byte 1" },
		{ "\"\xc0\x80\"", "invalid UTF-8 in a string at byte 1" },
		{ "\"\xed\xa0\x80\"", "invalid UTF-8 in a string at byte 1" },
		{ "\"\xe2\x82", "invalid UTF-8 in a string at byte 1" },
		{ "\xef\xbb\xbf[]", "expected a value at byte 0" },
		{ "{\"a\":1,\"a\":2}", "a: duplicate key at byte 7" },
		{ "{\"a\":1,\"b\":{\"x\":1,\"\\u0078\":2}}", "b.x: duplicate key at byte 18" },
		{ "{\"\":1,\"\":2}", "[\"\"]: duplicate key at byte 6" },
		{ "{\"phases\":[{},{\"name\":\"x\" \"y\":2}]}",
				"phases[1].name: expected ',' or '}' at byte 26" },
		{ "{\"a b\":[[0,tru]]}", "[\"a b\"][0][1]: expected a value at byte 11" },
		{ "[1] // no", "unexpected text after the document at byte 4" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a = ARENA_INIT;
		value *v = (value *)&a; /* must stay untouched */
		struct ov_err e = { 0 };

		if (json_parse(&a, str_from(cases[i].text), NULL, &v, &e) != OV_EINVALID ||
				strcmp(e.msg, cases[i].message) != 0)
			fail_msg("%s: %s", cases[i].text, e.msg);
		assert_ptr_equal(v, &a);
		assert_int_equal(json_parse(&a, str_from(cases[i].text), NULL, &v, NULL),
				OV_EINVALID);
		arena_done(&a);
	}
}

/* text, compact (NULL: as text), canonical (NULL: as compact) */
TEST(read_and_written)
{
	static const struct {
		const char *text, *compact, *canonical;
	} cases[] = {
		{ "null", NULL, NULL },
		{ " true ", "true", NULL },
		{ "false", NULL, NULL },
		{ "[]", NULL, NULL },
		{ "{}", NULL, NULL },
		{ "0", NULL, NULL },
		{ "-0", "0", NULL },
		{ "9223372036854775807", NULL, NULL },
		{ "-9223372036854775808", NULL, NULL },
		{ "1.0", NULL, "1" },
		{ "1e0", "1.0", "1" },
		{ "-0.0", "-0.0", "0" },
		{ "0.1", NULL, NULL },
		{ "1E+2", "100.0", "100" },
		{ "0.30000000000000004", NULL, NULL },
		{ "1e21", NULL, NULL },
		{ "1e18", NULL, "1000000000000000000" },
		{ "123456789012345678e0", "1.2345678901234568e17", "123456789012345680" },
		{ "1.7976931348623157e308", NULL, NULL },
		{ "5e-324", NULL, NULL },
		{ "4.9e-324", "5e-324", NULL },
		{ "2.2250738585072011e-308", "2.225073858507201e-308", NULL },
		{ "1e-400", "0.0", "0" },
		{ "0.00001", NULL, NULL },
		{ "0.000001", "1e-6", NULL },
		{ "1e-6", NULL, NULL },
		{ "-1.5", NULL, NULL },
		{ "9007199254740993", NULL, NULL },
		{ "9007199254740993.0", "9007199254740992.0", "9007199254740992" },
		{ "100000000000000000000000e-22", "10.0", "10" },
		{ "\"\\u00e9\\/\\ud83d\\ude00\"", "\"\xc3\xa9/\xf0\x9f\x98\x80\"", NULL },
		{ "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u007f\"",
				"\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\x7f\"", NULL },
		{ "\"\\u0000\"", NULL, NULL },
		{ "{ \"b\" : 1 , \"a\" : [ 1 , { } ] }", "{\"b\":1,\"a\":[1,{}]}",
				"{\"a\":[1,{}],\"b\":1}" },
		{ "{\"a\":1,\"ab\":2,\"A\":3,\"\":4}", NULL, "{\"\":4,\"A\":3,\"a\":1,\"ab\":2}" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *compact = cases[i].compact ? cases[i].compact : cases[i].text;
		const char *canonical = cases[i].canonical ? cases[i].canonical : compact;
		struct arena a = ARENA_INIT;
		value *v = parsed(&a, cases[i].text);

		assert_string_equal(text_by(&a, json_write, v), compact);
		assert_string_equal(text_by(&a, json_write_canonical, v), canonical);
		assert_string_equal(json_text(&a, v).p, compact);
		arena_done(&a);
	}
}

TEST(pretty)
{
	struct arena a = ARENA_INIT;

	assert_string_equal(text_by(&a, json_write_pretty,
					    parsed(&a, "{\"a\":[1,{\"b\":[]}],\"c\":{}}")),
			"{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": "
			"{}\n}");
	arena_done(&a);
}

TEST(strings_are_terminated_and_outlive_the_text)
{
	char text[] = "{\"key\":\"plain\",\"k2\":\"esc\\u0000aped\"}";
	struct arena a = ARENA_INIT;
	value *v = parsed(&a, text);

	memset(text, 'x', sizeof(text) - 1);
	assert_string_equal(value_str_at(v, "key").p, "plain");
	assert_int_equal(value_str_at(v, "k2").n, 8);
	assert_memory_equal(value_str_at(v, "k2").p, "esc\0aped", 9);
	assert_string_equal(v->object.members[0].key.p, "key");
	arena_done(&a);
}

TEST(invalid_bytes_are_never_written)
{
	struct buf b = BUF_INIT;

	json_write_string(&b, STR("a\xff\xc3z\xe2\x82"));
	assert_string_equal(b.p, "\"a\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd\"");
	buf_done(&b);
}

TEST(what_json_cannot_say)
{
	struct arena a = ARENA_INIT;
	value *time = value_cstr(&a, "2026-01-01");

	time->kind = V_DATETIME;
	assert_string_equal(json_text(&a, value_real(&a, NAN)).p, "null");
	assert_string_equal(json_text(&a, value_real(&a, -INFINITY)).p, "null");
	assert_string_equal(json_text(&a, time).p, "\"2026-01-01\"");
	arena_done(&a);
}

TEST(limits)
{
	static const struct json_limits small = { .max_bytes = 10, .max_depth = 3 };
	struct arena a = ARENA_INIT;
	struct ov_err e = { 0 };
	char deep[300];
	value *v;

	assert_int_equal(json_parse(&a, STR("[[[1]]]   "), &small, &v, &e), 0);
	assert_int_equal(json_parse(&a, STR("[[[1]]]    "), &small, &v, &e), OV_ELIMIT);
	assert_string_equal(e.msg, "document of 11 bytes, the limit is 10");
	assert_int_equal(json_parse(&a, STR("[[[[]]]]"), &small, &v, &e), OV_ELIMIT);
	assert_string_equal(e.msg, "[0][0][0]: nested too deeply at byte 3");
	memset(deep, '[', 150);
	memset(deep + 150, ']', 150);
	assert_int_equal(json_parse(&a, (str){ deep + 22, 256 }, NULL, &v, &e), 0);
	assert_int_equal(json_parse(&a, (str){ deep + 21, 258 }, NULL, &v, &e), OV_ELIMIT);
	arena_done(&a);
}

TEST(a_long_path_keeps_its_end)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	struct ov_err e = { 0 };
	value *v;

	for (int i = 0; i < 100; i++)
		buf_addf(&b, "{\"member_%d\":", i);
	assert_int_equal(json_parse(&a, buf_str(&b), NULL, &v, &e), OV_EINVALID);
	assert_memory_equal(e.msg, "...", 3);
	assert_non_null(strstr(e.msg, ".member_98.member_99: unexpected end of the text"));
	buf_done(&b);
	arena_done(&a);
}

static void check_round_trip(const value *v)
{
	void (*const writers[])(struct buf *, const value *) = { json_write, json_write_pretty,
		json_write_canonical };

	for (size_t i = 0; i < ARRAY_LEN(writers); i++) {
		struct arena a = ARENA_INIT;
		const char *text = text_by(&a, writers[i], v);
		value *again = parsed(&a, text);

		assert_true(value_equal(v, again));
		assert_string_equal(text_by(&a, writers[i], again), text);
		if (v->kind == V_REAL && writers[i] != json_write_canonical)
			assert_int_equal(again->kind, V_REAL);
		arena_done(&a);
	}
}

TEST(random_values_round_trip)
{
	struct rng r = { 31 };

	for (int i = 0; i < 5000; i++) {
		struct arena a = ARENA_INIT;

		check_round_trip(gen_value(&a, &r, 4));
		arena_done(&a);
	}
}

TEST(random_reals_round_trip_in_the_fewest_digits)
{
	struct rng r = { 32 };
	struct arena a = ARENA_INIT;

	for (int i = 0; i < 100000; i++) {
		value *v = value_real(&a, gen_real(&r)), *again;
		const char *text = json_text(&a, v).p;
		char shorter[64];
		int digits = 0;

		again = parsed(&a, text);
		assert_int_equal(again->kind, V_REAL);
		assert_memory_equal(&again->r, &v->r, sizeof(double)); /* the sign of zero, too */
		for (const char *p = text; *p && *p != 'e'; p++)
			digits += *p >= '0' && *p <= '9' && (digits || *p != '0');
		/* One digit less must not do, unless the number is an integer with its ".0". */
		if (digits > 15 && !strstr(text, ".0")) {
			snprintf(shorter, sizeof(shorter), "%.*e", digits - 2, v->r);
			assert_true(strtod(shorter, NULL) != v->r);
		}
		arena_reset(&a);
	}
	arena_done(&a);
}

/* Reading agrees with the C library on texts of all lengths and exponents. */
TEST(random_decimal_texts_are_read_exactly)
{
	struct rng r = { 33 };
	struct arena a = ARENA_INIT;

	for (int i = 0; i < 100000; i++) {
		struct buf b = BUF_INIT;
		double expected;
		value *v;

		buf_addf(&b, "%s%u.", rng_below(&r, 2) ? "-" : "", (unsigned)rng_below(&r, 100000));
		for (size_t n = rng_below(&r, 30) + 1; n; n--)
			buf_addc(&b, (char)('0' + rng_below(&r, 10)));
		buf_addf(&b, "e%d", (int)rng_below(&r, 640) - 330);
		expected = strtod(b.p, NULL);
		if (isfinite(expected)) {
			v = parsed(&a, b.p);
			assert_memory_equal(&v->r, &expected, sizeof(double));
		} else {
			assert_int_equal(json_parse(&a, buf_str(&b), NULL, &v, NULL), OV_EINVALID);
		}
		buf_done(&b);
		arena_reset(&a);
	}
	arena_done(&a);
}

TEST(equal_values_have_equal_canonical_bytes)
{
	static const char *const pairs[][2] = { { "1", "1.0" }, { "0", "-0.0" }, { "1e2", "100" },
		{ "{\"a\":1,\"b\":[2.0]}", "{\"b\":[2],\"a\":1e0}" },
		{ "-9223372036854775808", "-9223372036854775808.0" },
		{ "\"\\u0061\\/\"", "\"a/\"" },
		{ "4611686018427387904", "4.611686018427387904e18" } };
	struct arena a = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		value *x = parsed(&a, pairs[i][0]), *y = parsed(&a, pairs[i][1]);

		assert_true(value_equal(x, y));
		assert_string_equal(text_by(&a, json_write_canonical, x),
				text_by(&a, json_write_canonical, y));
	}
	arena_done(&a);
}

TEST(duplicates_are_found_in_objects_of_every_size)
{
	struct rng r = { 34 };

	for (size_t n = 2; n < 3000; n += n < 80 ? 1 : 367) {
		struct arena a = ARENA_INIT;
		struct buf b = BUF_INIT;
		size_t twice = 1 + rng_below(&r, n - 1), of = rng_below(&r, twice), place = 0;
		char expected[80];
		struct ov_err e = { 0 };
		value *v;

		for (size_t i = 0; i < n; i++) {
			buf_addc(&b, i ? ',' : '{');
			place = i == twice ? b.n : place;
			buf_addf(&b, "\"key%zu\":0", i == twice ? of : i);
		}
		buf_addc(&b, '}');
		snprintf(expected, sizeof(expected), "key%zu: duplicate key at byte %zu", of,
				place);
		assert_int_equal(json_parse(&a, buf_str(&b), NULL, &v, &e), OV_EINVALID);
		assert_string_equal(e.msg, expected);
		buf_done(&b);
		arena_done(&a);
	}
}

/*
 * Keys crafted to share one slot of the table that finds duplicates: the reader has to give up
 * hashing, and must answer the same.
 */
TEST(colliding_keys_are_compared_all_the_same)
{
	enum { N = 1000, MASK = 2047 };

	for (int twice = 0; twice < 2; twice++) {
		struct arena a = ARENA_INIT;
		struct buf b = BUF_INIT;
		struct ov_err e = { 0 };
		char first[32] = "", key[32];
		value *v;

		for (int i = 0, n = 0; n < N - twice; i++) {
			snprintf(key, sizeof(key), "k%d", i);
			if (str_hash(str_from(key), N) & MASK)
				continue;
			buf_addf(&b, "%c\"%s\":0", n++ ? ',' : '{', key);
			if (n == 1)
				memcpy(first, key, sizeof(first));
		}
		if (twice)
			buf_addf(&b, ",\"%s\":1", first);
		buf_addc(&b, '}');
		assert_int_equal(json_parse(&a, buf_str(&b), NULL, &v, &e),
				twice ? OV_EINVALID : 0);
		if (twice) {
			assert_memory_equal(e.msg, first, strlen(first));
			assert_non_null(strstr(e.msg, ": duplicate key at byte "));
		} else {
			assert_int_equal(value_count(v), N);
		}
		buf_done(&b);
		arena_done(&a);
	}
}

TEST(many_members_and_elements)
{
	enum { N = 200000 };
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	value *v;

	for (int i = 0; i < N; i++)
		buf_addf(&b, "%c\"k%d\":[%d,{}]", i ? ',' : '{', i, i);
	buf_addc(&b, '}');
	v = parsed(&a, b.p);
	assert_int_equal(value_count(v), N);
	assert_int_equal(value_item(v->object.members[N - 1].value, 0)->i, N - 1);
	buf_done(&b);
	arena_done(&a);
}

/* Random bytes and damaged texts: no crash, and an answer with a place inside the text. */
TEST(damaged_texts_are_refused_or_round_trip)
{
	struct rng r = { 35 };
	size_t refused = 0;

	for (int i = 0; i < 20000; i++) {
		struct arena a = ARENA_INIT;
		struct buf b = BUF_INIT;
		struct ov_err e = { 0 };
		value *v;

		json_write(&b, gen_value(&a, &r, 3));
		gen_mutate(&b, &r);
		if (json_parse(&a, buf_str(&b), NULL, &v, &e) == 0) {
			check_round_trip(v);
		} else {
			const char *at = strstr(e.msg, " at byte ");

			assert_non_null(at);
			assert_true(strtoul(at + 9, NULL, 10) <= b.n);
			assert_true(utf8_valid(str_from(e.msg)));
			refused++;
		}
		buf_done(&b);
		arena_done(&a);
	}
	assert_in_range(refused, 2000, 19000);
}

TEST_MAIN
