#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "data/value/json_slice.h"
#include "tests/test.h"

/* The pieces, each as "key=value;", or the error's message. */
static str cut(struct arena *a, const char *text, char open)
{
	struct buf out = BUF_INIT;
	struct ov_err err = { 0 };
	struct json_slice s;
	str key, v;
	int r = json_slice_begin(&s, str_from(text), open, &err);

	if (r == 0)
		while ((r = json_slice_next(&s, &key, &v, &err)) > 0)
			buf_addf(&out, STR_FMT "=" STR_FMT ";", STR_ARG(key), STR_ARG(v));
	if (r < 0) {
		assert_int_equal(r, OV_EINVALID);
		buf_clear(&out);
		buf_addf(&out, "%s", err.msg);
	}
	v = arena_str(a, buf_str(&out));
	buf_done(&out);
	return v;
}

TEST(pieces)
{
	static const struct {
		const char *text;
		char open;
		const char *want;
	} cases[] = {
		{ "{}", '{', "" },
		{ " [ ] \n", '[', "" },
		{ "{\"a\":1}", '{', "a=1;" },
		{ "{ \"a\" : 1 , \"b\" : \"x,]}\" }", '{', "a=1;b=\"x,]}\";" },
		{ "[1,[2,3],{\"a\":[4]},\"\\\"]\",null]", '[',
				"=1;=[2,3];={\"a\":[4]};=\"\\\"]\";=null;" },
		{ "{\"a\":{\"b\":\"}\"},\"c\":[]}", '{', "a={\"b\":\"}\"};c=[];" },
	};
	struct arena a = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		str got = cut(&a, cases[i].text, cases[i].open);

		if (!str_is(got, cases[i].want))
			fail_msg("%s: %.*s", cases[i].text, (int)got.n, got.p);
	}
	arena_done(&a);
}

TEST(refusals)
{
	static const struct {
		const char *text;
		char open;
		const char *word;
	} cases[] = {
		{ "", '{', "an object" },
		{ "[]", '{', "an object" },
		{ "{}", '[', "an array" },
		{ "{", '{', "a key" },
		{ "{\"a\"}", '{', "a colon" },
		{ "{\"a\":}", '{', "a whole value" },
		{ "{\"a\":1", '{', "a comma" },
		{ "{\"a\":1,}", '{', "a key" },
		{ "{\"a\":\"x", '{', "a whole value" },
		{ "{\"a\":\"x\\", '{', "a whole value" },
		{ "{\"a\":[1", '{', "a whole value" },
		{ "{\"a\\n\":1}", '{', "without escapes" },
		{ "{} x", '{', "the end" },
		{ "[1 2]", '[', "a comma" },
		{ "[,]", '[', "a whole value" },
		{ "[1,]", '[', "a whole value" },
	};
	struct arena a = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		str got = cut(&a, cases[i].text, cases[i].open);

		if (!str_contains(got, str_from(cases[i].word)))
			fail_msg("%s: %.*s", cases[i].text, (int)got.n, got.p);
	}
	arena_done(&a);
}

/* Where the reader accepts a document, its pieces are what the reader sees. */
TEST(agrees_with_the_reader)
{
	static const char text[] =
			"{\"a\": [1, {\"x\": \"\\u00e4\\\\\"}], \"b\": -1.5e3 , \"c\": {}}";
	struct arena a = ARENA_INIT;
	struct json_slice s;
	value *whole, *piece;
	size_t n = 0;
	str key, v;

	assert_int_equal(json_parse(&a, str_from(text), NULL, &whole, NULL), 0);
	assert_int_equal(json_slice_begin(&s, str_from(text), '{', NULL), 0);
	for (; json_slice_next(&s, &key, &v, NULL) > 0; n++) {
		assert_int_equal(json_parse(&a, v, NULL, &piece, NULL), 0);
		assert_true(value_equal(piece, value_get(whole, key)));
	}
	assert_int_equal(n, value_count(whole));
	arena_done(&a);
}

TEST_MAIN
