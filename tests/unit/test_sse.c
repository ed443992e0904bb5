#include "tests/test.h"

#include "base/err.h"
#include "base/str.h"
#include "data/message/sse.h"
#include "tests/rng.h"
#include "tests/sse_reader.h"

/* Feeds in pieces and writes what comes out as "id/event/data|". */
static int collect(struct sse *d, str text, struct rng *r, size_t most, struct buf *out)
{
	struct sse_event e;
	int code = 0;

	for (size_t at = 0; at < text.n && code >= 0;) {
		size_t k = 1 + rng_up_to(r, most, text.n - at - 1);

		sse_feed(d, text.p + at, k);
		at += k;
		while ((code = sse_next(d, &e, NULL)) == 1) {
			buf_adds(out, e.id);
			buf_addc(out, '/');
			buf_adds(out, e.event);
			buf_addc(out, '/');
			buf_adds(out, e.data);
			buf_addc(out, '|');
		}
	}
	return code;
}

TEST(decoding)
{
	static const struct {
		str text;
		const char *events;
	} cases[] = {
		{ STR(""), "" },
		{ STR("data: hello\n\n"), "/message/hello|" },
		{ STR("data:hello\n\n"), "/message/hello|" },
		{ STR("data:  two spaces\n\n"), "/message/ two spaces|" },
		{ STR("data: YHOO\ndata: +2\ndata: 10\n\n"), "/message/YHOO\n+2\n10|" },
		{ STR(": comment\n\ndata: first\nid: 1\n\ndata:second\nid\n\ndata:  "
		      "third\n\n"),
				"1/message/first|/message/second|/message/ third|" },
		{ STR("data\n\ndata\ndata\n\ndata:"), "/message/|/message/\n|" },
		{ STR("event: tick\ndata: 1\n\ndata: 2\n\n"), "/tick/1|/message/2|" },
		{ STR("event: lost\n\ndata: 2\n\n"), "/message/2|" },
		{ STR("id: 7\n\ndata: x\n\n"), "7/message/x|" },
		{ STR("id: 7\ndata: x\n\nid: a\0b\ndata: y\n\n"), "7/message/x|7/message/y|" },
		{ STR("data: a\r\n\r\ndata: b\r\rdata: c\n\n"),
				"/message/a|/message/b|/message/c|" },
		{ STR("data: a\r\n\ndata: b\r\n\r\n"), "/message/a|/message/b|" },
		{ STR("\xef\xbb\xbf"
		      "data: bom\n\n"),
				"/message/bom|" },
		{ STR("\xef\xbb\xbf\xef\xbb\xbf"
		      "data: two\n\n"),
				"" },
		{ STR("Data: x\ndatax: y\n: z\nunknown\n\n"), "" },
		{ STR("data: unfinished\n"), "" },
	};
	struct rng r = { 1 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (int round = 0; round < 30; round++) {
			struct buf out = BUF_INIT;
			struct sse d;

			sse_init(&d, 100);
			assert_int_equal(collect(&d, cases[i].text, &r, 1 + (size_t)round / 3,
							 &out),
					0);
			assert_string_equal(buf_cstr(&out), cases[i].events);
			buf_done(&out);
			sse_done(&d);
		}
}

TEST(retry)
{
	static const struct {
		const char *text;
		int64_t ms;
	} cases[] = { { "retry: 5000\n", 5000 }, { "retry: -1\n", -1 }, { "retry: 1s\n", -1 },
		{ "retry:\n", -1 }, { "retry: -0\n", -1 },
		{ "retry: 99999999999999999999\n", -1 } };
	struct sse_event e;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sse d;

		sse_init(&d, 100);
		sse_feed(&d, cases[i].text, strlen(cases[i].text));
		assert_int_equal(sse_next(&d, &e, NULL), 0);
		assert_int_equal(d.retry_ms, cases[i].ms);
		sse_done(&d);
	}
}

TEST(encoding)
{
	struct buf b = BUF_INIT;

	sse_write(&b, STR("12"), STR("plan.updated"), STR("{\"a\":1}"));
	assert_string_equal(b.p, "id: 12\nevent: plan.updated\ndata: {\"a\":1}\n\n");
	buf_clear(&b);
	sse_write(&b, STR(""), (str){ 0 }, (str){ 0 });
	assert_string_equal(b.p, "data: \n\n");
	buf_clear(&b);
	sse_write(&b, STR("1\nevent: forged"), STR("a\rb"), STR("x\r\ny\rz\n"));
	assert_string_equal(b.p,
			"id: 1event: forged\nevent: ab\ndata: x\ndata: y\ndata: z\ndata: \n\n");
	buf_clear(&b);
	sse_write_comment(&b, STR("keep\nalive"));
	assert_string_equal(b.p, ": keep\n: alive\n\n");
	buf_done(&b);
}

TEST(what_is_encoded_is_decoded)
{
	struct rng r = { 3 };
	struct sse d;

	sse_init(&d, 1000);
	for (int round = 0; round < 3000; round++) {
		struct buf wire = BUF_INIT, out = BUF_INIT, expected = BUF_INIT;
		char data[60], id[8];
		size_t n = rng_below(&r, sizeof(data)), k = 1 + rng_below(&r, sizeof(id) - 1);

		for (size_t i = 0; i < n; i++)
			data[i] = "ab: \n\xc3\xa9"[rng_below(&r, 7)];
		for (size_t i = 0; i < k; i++)
			id[i] = "x: 9"[i ? rng_below(&r, 4) : 0];
		sse_write(&wire, (str){ id, k }, STR("kind"), (str){ data, n });
		if (rng_below(&r, 2))
			sse_write_comment(&wire, STR("ping"));
		collect(&d, buf_str(&wire), &r, 1 + rng_below(&r, 30), &out);
		buf_adds(&expected, (str){ id, k });
		buf_adds(&expected, STR("/kind/"));
		buf_adds(&expected, (str){ data, n });
		buf_addc(&expected, '|');
		assert_true(str_eq(buf_str(&out), buf_str(&expected)));
		buf_done(&wire);
		buf_done(&out);
		buf_done(&expected);
	}
	sse_done(&d);
}

TEST(bounds)
{
	static const struct {
		const char *text, *message; /* NULL: fits */
	} cases[] = {
		{ "data: 89\n", NULL },
		{ "data: 890", "a line is longer than 8 bytes" }, /* without waiting for its end */
		{ "data:123\ndata:4567\n", NULL },
		{ "data:123\ndata:123\ndata:1\n", "the data of an event is longer than 8 bytes" },
		{ "data:123\n\ndata:123\n\ndata:123\n\n", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ov_err err = { 0 };
		struct sse_event e;
		struct sse d;
		int code;

		sse_init(&d, i == 2 || i == 3 ? 9 - (i == 3) : 8);
		sse_feed(&d, cases[i].text, strlen(cases[i].text));
		while ((code = sse_next(&d, &e, &err)) == 1)
			;
		assert_int_equal(code, cases[i].message ? OV_ELIMIT : 0);
		if (cases[i].message) {
			assert_string_equal(err.msg, cases[i].message);
			sse_feed(&d, "\n\ndata:x\n\n", 10);
			assert_int_equal(sse_next(&d, &e, &err), 0);
		}
		sse_done(&d);
	}
}

TEST(byte_by_byte_is_linear)
{
	enum { N = 2 << 20 };
	struct sse_event e;
	struct sse d;

	sse_init(&d, N + 10);
	sse_feed(&d, "data:", 5);
	for (int i = 0; i < N; i++) {
		sse_feed(&d, "x", 1);
		assert_int_equal(sse_next(&d, &e, NULL), 0);
	}
	sse_feed(&d, "\n\n", 2);
	assert_int_equal(sse_next(&d, &e, NULL), 1);
	assert_int_equal(e.data.n, N);
	sse_done(&d);
}

TEST_MAIN
