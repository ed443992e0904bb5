#include "tests/test.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "data/value/toml.h"

/* What a document reads as, in JSON; real numbers and dates are looked at in tests of their own. */
static const struct {
	const char *toml, *json;
} good[] = {
	{ "", "{}" },
	{ "# only a comment", "{}" },
	{ "\t \r\n\n", "{}" },
	{ "a = 1", "{\"a\":1}" },
	{ "a=1#c\r\nb=2\r\n", "{\"a\":1,\"b\":2}" },
	{ "a = 1_000\nb = -0\nc = +7\nd = 0xdead_BEEF\ne = 0o755\nf = 0b1_0",
			"{\"a\":1000,\"b\":0,\"c\":7,\"d\":3735928559,\"e\":493,\"f\":2}" },
	{ "a = 9223372036854775807\nb = -9223372036854775808\nc = 0x7fffffffffffffff",
			"{\"a\":9223372036854775807,\"b\":-9223372036854775808,"
			"\"c\":9223372036854775807}" },
	{ "a = true\nb = false", "{\"a\":true,\"b\":false}" },
	{ "\"\" = 1\n'b c' = 2\n-_- = 3\n1.2 = 4", "{\"\":1,\"b c\":2,\"-_-\":3,\"1\":{\"2\":4}}" },
	{ "a = \"\\b\\t\\n\\f\\r\\\"\\\\\\u00e9\\U0001F600\"",
			"{\"a\":\"\\b\\t\\n\\f\\r\\\"\\\\\xc3\xa9\xf0\x9f\x98\x80\"}" },
	{ "a = 'C:\\n'", "{\"a\":\"C:\\\\n\"}" },
	{ "a = \"\"\"\nx\r\ny\\  \n\n  z\"\"\"", "{\"a\":\"x\\nyz\"}" },
	{ "a = \"\"\"\"x\"\"\"\"\"", "{\"a\":\"\\\"x\\\"\\\"\"}" },
	{ "a = '''\n'x'\\'''", "{\"a\":\"'x'\\\\\"}" },
	{ "a = ''''''", "{\"a\":\"\"}" },
	{ "a = [ ]\nb = [1, \"x\", [2,],\n# c\n]", "{\"a\":[],\"b\":[1,\"x\",[2]]}" },
	{ "a = { }\nb = { c = 1, d.e = 2, d.f = {} }",
			"{\"a\":{},\"b\":{\"c\":1,\"d\":{\"e\":2,\"f\":{}}}}" },
	{ "a . b = 1\na.\"c\".'d' = 2", "{\"a\":{\"b\":1,\"c\":{\"d\":2}}}" },
	{ "[a.b]\nx = 1\n[a]\ny = 2\n[ a . c ]", "{\"a\":{\"b\":{\"x\":1},\"y\":2,\"c\":{}}}" },
	{ "[[a]]\nx = 1\n[a.b]\n[[a.c]]\n[[a.c]]\ny = 1\n[[a]]\n[a.b]",
			"{\"a\":[{\"x\":1,\"b\":{},\"c\":[{},{\"y\":1}]},{\"b\":{}}]}" },
	{ "[a]\nb.c = 1\n[a.b.d]\ne = 1", "{\"a\":{\"b\":{\"c\":1,\"d\":{\"e\":1}}}}" },
	{ "[a.b.c]\n[a]\nb.d = 1", "{\"a\":{\"b\":{\"c\":{},\"d\":1}}}" },
};

TEST(reads)
{
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct arena a = ARENA_INIT;
		struct ov_err err = { 0 };
		value *v = NULL;

		assert_int_equal(toml_parse(&a, str_from(good[i].toml), &v, &err), 0);
		assert_string_equal(json_text(&a, v).p, good[i].json);
		arena_done(&a);
	}
}

static const struct {
	const char *toml, *text;
} dates[] = {
	{ "1979-05-27T07:32:00Z", "1979-05-27T07:32:00Z" },
	{ "1979-05-27 07:32:00z", "1979-05-27T07:32:00Z" },
	{ "1979-05-27t00:32:00.5000-07:30", "1979-05-27T00:32:00.5-07:30" },
	{ "1979-05-27T00:32:00+00:00", "1979-05-27T00:32:00Z" },
	{ "1979-05-27T00:32:00.000", "1979-05-27T00:32:00" },
	{ "1979-05-27T00:32:00.123456789", "1979-05-27T00:32:00.123456" },
	{ "2000-02-29", "2000-02-29" },
	{ "23:59:59.10", "23:59:59.1" },
};

TEST(dates_are_normalised)
{
	for (size_t i = 0; i < ARRAY_LEN(dates); i++) {
		struct arena a = ARENA_INIT;
		value *v = NULL;
		const value *d;

		assert_int_equal(toml_parse(&a, arena_printf(&a, "d = %s # c", dates[i].toml), &v,
						 NULL),
				0);
		d = value_at(v, "d");
		assert_int_equal(d->kind, V_DATETIME);
		assert_string_equal(arena_cstr(&a, d->s), dates[i].text);
		arena_done(&a);
	}
}

TEST(reals_are_exact)
{
	static const struct {
		const char *toml;
		double value;
	} reals[] = {
		{ "0.1", 0.1 },
		{ "-0.0", -0.0 },
		{ "1e3", 1000 },
		{ "6.626_1E-3_4", 6.6261e-34 },
		{ "1e-400", 0 },
		{ "1.7976931348623157e308", 1.7976931348623157e308 },
		{ "+inf", __builtin_inf() },
		{ "-inf", -__builtin_inf() },
		{ "nan", __builtin_nan("") },
	};

	for (size_t i = 0; i < ARRAY_LEN(reals); i++) {
		struct arena a = ARENA_INIT;
		value *v = NULL;
		const value *r;

		assert_int_equal(toml_parse(&a, arena_printf(&a, "r = %s", reals[i].toml), &v,
						 NULL),
				0);
		r = value_at(v, "r");
		assert_int_equal(r->kind, V_REAL);
		assert_memory_equal(&r->r, &reals[i].value, sizeof(double));
		arena_done(&a);
	}
}

/* Places and words of errors; the differential test sees to it that nothing wrong is accepted. */
static const struct {
	const char *toml, *message;
} bad[] = {
	{ "a", "line 1, column 2: expected '=' after the key, got the end of the text" },
	{ "\n\n  = 1", "line 3, column 3: expected a key, got '='" },
	{ "a = \n", "line 1, column 5: expected a value, got the end of the line" },
	{ "a = 1 b = 2", "line 1, column 7: expected the end of the line, got 'b'" },
	{ "a = 1\rb = 2",
			"line 1, column 6: expected the end of the line, got a carriage return "
			"without a "
			"newline" },
	{ "\"\xc3\xa9\" = \xc3\xa9", "line 1, column 7: expected a value, got '\xc3\xa9'" },
	{ "a = yes", "line 1, column 5: 'yes' is not a value; text needs quotes: \"yes\"" },
	{ "a = True", "line 1, column 5: booleans are written true and false" },
	{ "a = 01", "line 1, column 5: '01' is not a number" },
	{ "a = 9223372036854775808", "line 1, column 5: this integer does not fit 64 bits" },
	{ "a = 1e400", "line 1, column 5: this number is out of range" },
	{ "a = 2023-02-29", "line 1, column 5: '2023-02-29' is no date or time that exists" },
	{ "a = 24:00:00", "line 1, column 5: '24:00:00' is no date or time that exists" },
	{ "a = \"x", "line 1, column 5: this string is never closed" },
	{ "a = \"x\n\"",
			"line 1, column 7: a one-line string ends before the line does; use \"\"\" "
			"for "
			"several lines" },
	{ "a = '''\n\n", "line 1, column 5: this string is never closed" },
	{ "a = \"\\q\"",
			"line 1, column 6: unknown escape; \\\\ is a backslash, and '...' takes "
			"text as it "
			"is" },
	{ "a = \"\\ud800\"", "line 1, column 6: U+D800 is no Unicode character" },
	{ "a = \"\\u12\"", "line 1, column 6: \\u needs 4 hexadecimal digits" },
	{ "a = \"\"\"\\ x\"\"\"",
			"line 1, column 8: a backslash before white space must end its line" },
	{ "a = \"\x01\"",
			"line 1, column 6: the control character U+0001 is not allowed in a "
			"string" },
	{ "a = 1 # \x7f",
			"line 1, column 9: the control character U+007F is not allowed in a "
			"comment" },
	{ "a = [1\n 2]", "line 2, column 2: expected ',' or ']' in the array, got '2'" },
	{ "a = [1", "line 1, column 7: expected ',' or ']' in the array, got the end of the text" },
	{ "a = { b = 1, }", "line 1, column 14: expected a key, got '}'" },
	{ "a = {\n}", "line 1, column 6: expected a key, got the end of the line" },
	{ "a = { b = 1 c", "line 1, column 13: expected ',' or '}' in the inline table, got 'c'" },
	{ "[a", "line 1, column 3: expected ']' after the key, got the end of the text" },
	{ "[[a]", "line 1, column 5: expected ']]' after the key, got the end of the text" },
	{ "a = 1\na = 2", "line 2, column 1: \"a\" already has a value" },
	{ "a = 1\n[a.b]", "line 2, column 2: \"a\" already has a value" },
	{ "[a]\n[a]", "line 2, column 2: \"a\" is already defined by its own [table] header" },
	{ "a.b = 1\n[a]", "line 2, column 2: \"a\" is already defined by dotted keys" },
	{ "[a.b]\n[a]\nb.c = 1",
			"line 3, column 1: \"b\" is already defined by its own [table] header" },
	{ "[a.b]\n[[a]]", "line 2, column 3: \"a\" is already a table" },
	{ "[[a]]\n[a]", "line 2, column 2: \"a\" is already an array of tables" },
	{ "a = {}\n[a.b]",
			"line 2, column 2: \"a\" is an inline table, which is complete in its "
			"braces" },
	{ "a = []\n[[a]]",
			"line 2, column 3: \"a\" is an array, which is complete in its brackets" },
	{ "a = { b = {}, b.c = 1 }",
			"line 1, column 15: \"b\" is an inline table, which is complete in its "
			"braces" },
	{ "a = 1\nb = \"\xff\"", "line 2, column 6: byte 0xff is not valid UTF-8" },
	{ "\xef\xbb\xbf"
	  "a = 1",
			"line 1, column 1: the text starts with a byte order mark; save it as "
			"plain "
			"UTF-8" },
};

TEST(errors_say_where_and_what)
{
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct arena a = ARENA_INIT;
		struct ov_err err = { 0 };
		value *untouched = (value *)&a, *v = untouched;

		assert_int_equal(toml_parse(&a, str_from(bad[i].toml), &v, &err), OV_EINVALID);
		assert_string_equal(err.msg, bad[i].message);
		assert_ptr_equal(v, untouched);
		assert_int_equal(toml_parse(&a, str_from(bad[i].toml), &v, NULL), OV_EINVALID);
		arena_done(&a);
	}
}

static int parse_repeated(const char *open, size_t n, const char *middle, const char *close)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	value *v;
	int r;

	buf_adds(&b, STR("a = "));
	for (size_t i = 0; i < n; i++)
		buf_adds(&b, str_from(open));
	buf_adds(&b, str_from(middle));
	for (size_t i = 0; i < n; i++)
		buf_adds(&b, str_from(close));
	r = toml_parse(&a, buf_str(&b), &v, NULL);
	buf_done(&b);
	arena_done(&a);
	return r;
}

TEST(nesting_is_bounded)
{
	assert_int_equal(parse_repeated("[", 127, "", "]"), 0);
	assert_int_equal(parse_repeated("[", 128, "", "]"), OV_ELIMIT);
	assert_int_equal(parse_repeated("[", 4 << 20, "", ""), OV_ELIMIT);
	assert_int_equal(parse_repeated("{b=", 127, "1", "}"), 0);
	assert_int_equal(parse_repeated("{b=", 128, "1", "}"), OV_ELIMIT);
}

TEST(size_is_bounded)
{
	struct arena a = ARENA_INIT;
	struct ov_err err = { 0 };
	struct buf b = BUF_INIT;
	value *v;

	buf_reserve(&b, 9 << 20);
	while (b.n < 8 << 20)
		buf_addc(&b, '\n');
	assert_int_equal(toml_parse(&a, buf_str(&b), &v, &err), 0);
	buf_addc(&b, '\n');
	assert_int_equal(toml_parse(&a, buf_str(&b), &v, &err), OV_ELIMIT);
	assert_string_equal(err.msg, "8388609 bytes of TOML, the maximum is 8388608");
	buf_done(&b);
	arena_done(&a);
}

/* Many keys in one table, and many tables: each is found at once, or this would take minutes. */
TEST(many_keys_are_read_in_linear_time)
{
	enum { MANY = 200000 };
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	value *v = NULL;

	for (int i = 0; i < MANY; i++)
		buf_addf(&b, "k%d = %d\n", i, i);
	for (int i = 0; i < MANY; i++)
		buf_addf(&b, "[t.t%d]\nx.y = 1\n", i);
	assert_int_equal(toml_parse(&a, buf_str(&b), &v, NULL), 0);
	assert_int_equal(value_count(v), MANY + 1);
	assert_int_equal(value_count(value_at(v, "t")), MANY);
	buf_done(&b);
	arena_done(&a);
}

TEST(text_is_not_borrowed)
{
	char text[] = "key = \"text\"\nd = 1979-05-27";
	struct arena a = ARENA_INIT;
	value *v = NULL;

	assert_int_equal(toml_parse(&a, str_from(text), &v, NULL), 0);
	memset(text, 'x', sizeof(text));
	assert_string_equal(json_text(&a, v).p, "{\"key\":\"text\",\"d\":\"1979-05-27\"}");
	arena_done(&a);
}

TEST_MAIN
