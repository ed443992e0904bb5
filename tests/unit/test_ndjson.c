#include "tests/test.h"

#include "base/err.h"
#include "base/str.h"
#include "data/message/ndjson.h"
#include "tests/rng.h"

/* Feeds in pieces of random size and joins the lines with '|'. */
static void collect(const char *text, size_t n, struct rng *r, size_t most, struct buf *out)
{
	struct ndjson d;
	str line;

	ndjson_init(&d, 1000);
	for (size_t at = 0; at < n;) {
		size_t k = 1 + rng_up_to(r, most, n - at - 1);

		ndjson_feed(&d, text + at, k);
		at += k;
		/* Sometimes lines are left to pile up. */
		while (rng_below(r, 4) && ndjson_next(&d, &line, NULL) == 1) {
			buf_adds(out, line);
			buf_addc(out, '|');
		}
	}
	while (ndjson_next(&d, &line, NULL) == 1) {
		buf_adds(out, line);
		buf_addc(out, '|');
	}
	buf_adds(out, ndjson_rest(&d));
	ndjson_done(&d);
}

TEST(lines)
{
	static const struct {
		const char *text, *lines;
	} cases[] = {
		{ "", "" },
		{ "a\nb\n", "a|b|" },
		{ "a\r\nb\r\n", "a|b|" },
		{ "\n\n", "||" },
		{ "a\nrest", "a|rest" },
		{ "a\rb\n\r\n", "a\rb||" },
		{ "a\r", "a\r" },
	};
	struct rng r = { 1 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (int round = 0; round < 20; round++) {
			struct buf out = BUF_INIT;

			collect(cases[i].text, strlen(cases[i].text), &r, 5, &out);
			assert_string_equal(buf_cstr(&out), cases[i].lines);
			buf_done(&out);
		}
}

TEST(pieces_make_no_difference)
{
	struct rng r = { 2 };

	for (int round = 0; round < 500; round++) {
		struct buf whole = BUF_INIT, pieces = BUF_INIT;
		char text[2000];

		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = "abc\r\n\0"[rng_below(&r, 6)];
		collect(text, sizeof(text), &r, sizeof(text), &whole);
		collect(text, sizeof(text), &r, 1 + rng_below(&r, 50), &pieces);
		assert_int_equal(whole.n, pieces.n);
		assert_memory_equal(whole.p, pieces.p, whole.n);
		buf_done(&whole);
		buf_done(&pieces);
	}
}

TEST(the_bound)
{
	static const struct {
		const char *text;
		int last; /* of the results */
		size_t lines;
	} cases[] = {
		{ "1234\n12345\n", 0, 2 },
		{ "12345\r\n", 0, 1 },
		{ "12345\r", 0, 0 }, /* may still become \r\n */
		{ "12345\rx", OV_ELIMIT, 0 },
		{ "123456", OV_ELIMIT, 0 }, /* without waiting for the newline */
		{ "a\n123456\nb\n", OV_ELIMIT, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ov_err e = { 0 };
		struct ndjson d;
		size_t lines = 0;
		str line;
		int r;

		ndjson_init(&d, 5);
		ndjson_feed(&d, cases[i].text, strlen(cases[i].text));
		while ((r = ndjson_next(&d, &line, &e)) == 1)
			lines++;
		assert_int_equal(r, cases[i].last);
		assert_int_equal(lines, cases[i].lines);
		if (r < 0) { /* reported once; nothing is kept, nothing more comes */
			assert_string_equal(e.msg, "a line is longer than 5 bytes");
			assert_null(d.pending.p);
			ndjson_feed(&d, "x\n", 2);
			assert_int_equal(ndjson_next(&d, &line, &e), 0);
			assert_int_equal(ndjson_rest(&d).n, 0);
		}
		ndjson_done(&d);
	}
}

/* A long line fed byte by byte, with a look after each: quadratic scanning would take minutes. */
TEST(byte_by_byte_is_linear)
{
	enum { N = 4 << 20 };
	struct ndjson d;
	str line;

	ndjson_init(&d, N);
	for (int i = 0; i < N; i++) {
		ndjson_feed(&d, "x", 1);
		assert_int_equal(ndjson_next(&d, &line, NULL), 0);
	}
	ndjson_feed(&d, "\n", 1);
	assert_int_equal(ndjson_next(&d, &line, NULL), 1);
	assert_int_equal(line.n, N);
	ndjson_done(&d);
}

/* Many short lines at once, taken one per feed: moving the rest each time would be quadratic. */
TEST(a_backlog_is_linear)
{
	enum { N = 1 << 19 };
	struct buf b = BUF_INIT;
	struct ndjson d;
	str line;

	for (int i = 0; i < N; i++)
		buf_adds(&b, STR("line\n"));
	ndjson_init(&d, 10);
	ndjson_feed(&d, b.p, b.n);
	for (int i = 0; i < N; i++) {
		assert_int_equal(ndjson_next(&d, &line, NULL), 1);
		ndjson_feed(&d, "more\n", 5);
	}
	assert_true(d.pending.n <= 2 * b.n + 5);
	buf_done(&b);
	ndjson_done(&d);
}

TEST_MAIN
