#include "tests/net/peer.h"

TEST_MAIN

/* What became of one request. */
struct end {
	struct http_client *http;
	struct http_call *call;
	unsigned times, pieces;
	struct ov_err err;
	int status;
	struct buf body, retry_after;
	bool refuse_pieces, cancel_in_piece;
};

static void end_done(struct end *e)
{
	buf_done(&e->body);
	buf_done(&e->retry_after);
}

static void on_done(void *user, const struct http_result *r)
{
	struct end *e = user;

	e->times++;
	e->call = NULL;
	e->err = *r->err;
	e->status = r->status;
	buf_clear(&e->body);
	buf_adds(&e->body, r->body);
	buf_clear(&e->retry_after);
	buf_adds(&e->retry_after, http_result_header(r, "retry-after"));
}

static bool on_piece(void *user, str bytes)
{
	struct end *e = user;

	assert_true(bytes.n > 0);
	e->pieces++;
	buf_adds(&e->body, bytes);
	if (e->cancel_in_piece)
		http_cancel(e->call);
	return !e->refuse_pieces;
}

static void start(struct world *w, const char *path, struct http_request rq, struct end *e)
{
	char url[200];
	struct ov_err err = { 0 };

	snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", (unsigned)w->port, path);
	rq.url = url;
	rq.method = rq.method ? rq.method : "GET";
	e->http = w->http;
	assert_int_equal(http_start(w->http, &rq, on_done, e, &e->call, &err), 0);
	assert_int_equal(e->times, 0);
}

#define PLAIN(w, e, ...) start((w), "/x", (struct http_request){ __VA_ARGS__ }, (e))
#define HEAD_END "\r\n\r\n"

TEST(an_answer_comes_with_status_headers_and_body)
{
	static const struct http_field headers[] = { { "X-Own", "some value" }, { "X-Empty", "" } };
	struct world w;
	struct end e = { 0 };

	world_open(&w);
	PLAIN(&w, &e, .method = "POST", .headers = headers, .headers_n = 2,
			.body = STR("{\"a\":1}"));
	UNTIL(w.loop, asked(&w, "{\"a\":1}"));
	assert_true(str_starts(buf_str(&w.peer->in), STR("POST /x HTTP/1.1\r\n")));
	assert_true(client_has(w.peer, "X-Own: some value\r\n", 1));
	assert_true(client_has(w.peer, "X-Empty:\r\n", 1));
	assert_true(client_has(w.peer, "Content-Length: 7\r\n", 1));
	assert_false(client_has(w.peer, "Expect", 1));
	answer(&w, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nRetry-After: 7" HEAD_END "hello");
	UNTIL(w.loop, e.times);
	assert_int_equal(e.err.code, 0);
	assert_int_equal(e.status, 200);
	assert_string_equal(buf_cstr(&e.body), "hello");
	assert_string_equal(buf_cstr(&e.retry_after), "7");
	assert_true(idle_iterations(w.loop) <= 2);
	assert_int_equal(e.times, 1);
	end_done(&e);
	world_close(&w);
}

TEST(a_connection_is_used_again)
{
	struct world w;
	struct end e = { 0 };

	world_open(&w);
	for (int i = 0; i < 3; i++) {
		e.times = 0;
		PLAIN(&w, &e);
		UNTIL(w.loop, asked(&w, HEAD_END));
		buf_clear(&w.peer->in);
		answer(&w, "HTTP/1.1 204 No Content" HEAD_END);
		UNTIL(w.loop, e.times);
		assert_int_equal(e.status, 204);
	}
	assert_false(accepted(&w));
	end_done(&e);
	world_close(&w);
}

TEST(a_chunked_answer_is_put_together)
{
	struct world w;
	struct end e = { 0 };

	world_open(&w);
	PLAIN(&w, &e);
	UNTIL(w.loop, asked(&w, HEAD_END));
	answer(&w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked" HEAD_END "3\r\nabc\r\n");
	for (int i = 0; i < 20; i++)
		loop_step(w.loop, 0);
	assert_int_equal(e.times, 0);
	answer(&w, "2\r\nde\r\n0\r\n\r\n");
	UNTIL(w.loop, e.times);
	assert_int_equal(e.err.code, 0);
	assert_string_equal(buf_cstr(&e.body), "abcde");
	end_done(&e);
	world_close(&w);
}

TEST(a_status_of_failure_is_an_answer)
{
	static const struct {
		const char *line;
		int status;
	} cases[] = { { "429 Too Many Requests", 429 }, { "500 Internal Server Error", 500 },
		{ "302 Found\r\nLocation: http://127.0.0.2/elsewhere", 302 },
		{ "401 Unauthorized", 401 } };
	struct world w;

	world_open(&w);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct end e = { 0 };
		char text[200];

		PLAIN(&w, &e);
		UNTIL(w.loop, asked(&w, HEAD_END));
		snprintf(text, sizeof(text),
				"HTTP/1.1 %s\r\nRetry-After: 3\r\nContent-Length: 2" HEAD_END "no",
				cases[i].line);
		answer(&w, text);
		hang_up(&w);
		UNTIL(w.loop, e.times);
		assert_int_equal(e.err.code, 0);
		assert_int_equal(e.status, cases[i].status);
		assert_string_equal(buf_cstr(&e.body), "no");
		assert_string_equal(buf_cstr(&e.retry_after), "3");
		end_done(&e);
	}
	/* The redirect was not followed: nobody else was asked. */
	assert_false(accepted(&w));
	world_close(&w);
}

TEST(an_answer_that_is_cut_off_is_an_error)
{
	static const char *const cuts[] = {
		"",
		"HTTP/1.1 200 O",
		"HTTP/1.1 200 OK\r\nContent-Length: 100" HEAD_END "only this",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked" HEAD_END "ff\r\nabc",
		"this is not HTTP at all\r\n\r\n",
	};
	struct world w;

	world_open(&w);
	for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
		struct end e = { 0 };

		PLAIN(&w, &e);
		UNTIL(w.loop, asked(&w, HEAD_END));
		answer(&w, cuts[i]);
		hang_up(&w);
		UNTIL(w.loop, e.times);
		assert_int_equal(e.err.code, OV_EIO);
		assert_non_null(strstr(e.err.msg, "GET http://127.0.0.1:"));
		assert_int_equal(e.times, 1);
		end_done(&e);
	}
	world_close(&w);
}

TEST(an_answer_that_is_too_large_is_refused)
{
	struct world w;
	struct end exact = { 0 }, over = { 0 };

	world_open(&w);
	PLAIN(&w, &exact, .max_response = 5);
	UNTIL(w.loop, asked(&w, HEAD_END));
	answer(&w, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close" HEAD_END "12345");
	UNTIL(w.loop, exact.times);
	assert_int_equal(exact.err.code, 0);
	hang_up(&w);
	PLAIN(&w, &over, .max_response = 5);
	UNTIL(w.loop, asked(&w, HEAD_END));
	answer(&w,
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked" HEAD_END
			"4\r\n1234\r\n2\r\n56\r\n");
	UNTIL(w.loop, over.times);
	assert_int_equal(over.err.code, OV_ELIMIT);
	assert_non_null(strstr(over.err.msg, "more than 5 bytes"));
	end_done(&exact);
	end_done(&over);
	world_close(&w);
}

TEST(a_silent_server_runs_into_the_timeout)
{
	struct world w;
	struct end e = { 0 }, half = { 0 };

	world_open(&w);
	PLAIN(&w, &e, .total_ms = 50);
	UNTIL(w.loop, e.times);
	assert_int_equal(e.err.code, OV_EUNAVAILABLE);
	assert_int_equal(e.status, 0);
	assert_true(accepted(&w));
	/* Also when it has begun to answer. */
	hang_up(&w);
	PLAIN(&w, &half, .total_ms = 300);
	UNTIL(w.loop, asked(&w, HEAD_END));
	answer(&w, "HTTP/1.1 200 OK\r\nContent-Length: 100" HEAD_END "some");
	UNTIL(w.loop, half.times);
	assert_int_equal(half.err.code, OV_EUNAVAILABLE);
	end_done(&e);
	end_done(&half);
	world_close(&w);
}

TEST(nobody_there_is_unavailable)
{
	struct world w;
	struct end e = { 0 };

	world_open(&w);
	close(w.listener);
	w.listener = -1;
	PLAIN(&w, &e);
	UNTIL(w.loop, e.times);
	assert_int_equal(e.err.code, OV_EUNAVAILABLE);
	assert_int_equal(e.times, 1);
	end_done(&e);
	world_close(&w);
}

TEST(a_cancelled_request_says_nothing_more)
{
	struct world w;
	struct end e = { 0 }, before = { 0 };

	world_open(&w);
	PLAIN(&w, &before); /* before it has even connected */
	http_cancel(before.call);
	PLAIN(&w, &e);
	UNTIL(w.loop, asked(&w, HEAD_END));
	http_cancel(e.call);
	UNTIL(w.loop, client_closed(w.peer));
	assert_true(idle_iterations(w.loop) <= 2);
	assert_int_equal(e.times, 0);
	assert_int_equal(before.times, 0);
	end_done(&e);
	world_close(&w);
}

TEST(a_client_may_end_with_requests_under_way)
{
	struct world w;
	struct end e[3] = { 0 };

	world_open(&w);
	for (size_t i = 0; i < ARRAY_LEN(e); i++)
		PLAIN(&w, &e[i]);
	UNTIL(w.loop, asked(&w, HEAD_END));
	w.http = http_client_free(w.http);
	for (size_t i = 0; i < ARRAY_LEN(e); i++)
		assert_int_equal(e[i].times, 0);
	world_close(&w);
}

TEST(a_body_can_be_taken_as_it_arrives)
{
	struct world w;
	struct end e = { 0 };

	world_open(&w);
	PLAIN(&w, &e, .piece = on_piece);
	UNTIL(w.loop, asked(&w, HEAD_END));
	answer(&w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked" HEAD_END "3\r\nabc\r\n");
	UNTIL(w.loop, e.pieces == 1);
	assert_string_equal(buf_cstr(&e.body), "abc");
	assert_int_equal(e.times, 0);
	answer(&w, "2\r\nde\r\n0\r\n\r\n");
	UNTIL(w.loop, e.times);
	assert_int_equal(e.pieces, 2);
	assert_int_equal(e.err.code, 0);
	end_done(&e);
	world_close(&w);
}

TEST(who_takes_pieces_may_refuse_the_rest_or_cancel)
{
	struct world w;
	struct end refused = { .refuse_pieces = true }, cancelled = { .cancel_in_piece = true };
	const char *text = "HTTP/1.1 200 OK\r\nContent-Length: 100" HEAD_END "some";

	world_open(&w);
	PLAIN(&w, &refused, .piece = on_piece);
	UNTIL(w.loop, asked(&w, HEAD_END));
	answer(&w, text);
	UNTIL(w.loop, refused.times);
	assert_int_equal(refused.err.code, OV_ESTATE);
	hang_up(&w);
	PLAIN(&w, &cancelled, .piece = on_piece);
	UNTIL(w.loop, asked(&w, HEAD_END));
	answer(&w, text);
	UNTIL(w.loop, client_closed(w.peer));
	assert_int_equal(cancelled.pieces, 1);
	assert_int_equal(cancelled.times, 0);
	end_done(&refused);
	end_done(&cancelled);
	world_close(&w);
}

/* Starts the next one from inside the first one's end. */
static void on_done_again(void *user, const struct http_result *r)
{
	struct end *e = user;
	struct http_request rq = { .method = "GET", .url = "http://127.0.0.1:1/" };

	e->status = r->status;
	if (e->times++ == 0)
		assert_int_equal(http_start(e->http, &rq, on_done_again, e, NULL, NULL), 0);
}

TEST(a_request_can_follow_from_the_end_of_another)
{
	struct world w;
	struct end e = { 0 };
	struct http_request rq = { .method = "GET", .url = "http://127.0.0.1:1/" };

	world_open(&w);
	e.http = w.http;
	assert_int_equal(http_start(w.http, &rq, on_done_again, &e, NULL, NULL), 0);
	UNTIL(w.loop, e.times == 2);
	world_close(&w);
}

TEST(what_is_no_request_is_refused_at_once)
{
	static const struct http_field broken[] = { { "X", "a\r\nY: b" } },
				       nameless[] = { { "", "a" } };
	static const struct http_request cases[] = {
		{ .method = "GET", .url = "ftp://127.0.0.1/" },
		{ .method = "GET", .url = "127.0.0.1" },
		{ .method = "GET", .url = "http://" },
		{ .method = "GET", .url = "http://me:hunter2@127.0.0.1/" },
		{ .method = "", .url = "http://127.0.0.1/" },
		{ .method = "GET /x HTTP/1.1\r\n", .url = "http://127.0.0.1/" },
		{ .method = "GET", .url = "http://127.0.0.1/", .headers = broken, .headers_n = 1 },
		{ .method = "GET",
				.url = "http://127.0.0.1/",
				.headers = nameless,
				.headers_n = 1 },
	};
	struct world w;

	world_open(&w);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ov_err err = { 0 };

		assert_int_equal(http_start(w.http, &cases[i], on_done, NULL, NULL, &err),
				OV_EINVALID);
		assert_true(err.msg[0]);
		assert_null(strstr(err.msg, "hunter2"));
	}
	world_close(&w);
}

TEST(a_query_is_left_out_of_errors)
{
	struct world w;
	struct end e = { 0 };

	world_open(&w);
	start(&w, "/x?secret=1", (struct http_request){ 0 }, &e);
	UNTIL(w.loop, asked(&w, "GET /x?secret=1 "));
	hang_up(&w);
	UNTIL(w.loop, e.times);
	assert_int_equal(e.err.code, OV_EIO);
	assert_null(strstr(e.err.msg, "secret"));
	end_done(&e);
	world_close(&w);
}

TEST(no_proxy_sees_a_request_without_tls)
{
	struct world w;
	struct end e = { 0 };

	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setenv("all_proxy", "http://127.0.0.1:1", 1);
	world_open(&w);
	PLAIN(&w, &e);
	UNTIL(w.loop, asked(&w, HEAD_END));
	assert_true(str_starts(buf_str(&w.peer->in), STR("GET /x ")));
	http_cancel(e.call);
	unsetenv("http_proxy");
	unsetenv("all_proxy");
	world_close(&w);
}

TEST(tls_is_not_given_up_for_a_plain_server)
{
	struct world w;
	struct end e = { 0 };
	char url[100];
	struct http_request rq = { .method = "GET", .url = url };

	world_open(&w);
	snprintf(url, sizeof(url), "https://127.0.0.1:%u/x", (unsigned)w.port);
	assert_int_equal(http_start(w.http, &rq, on_done, &e, NULL, NULL), 0);
	UNTIL(w.loop, w.peer || accepted(&w));
	UNTIL(w.loop, client_has(w.peer, "\x16\x03", 1));
	answer(&w, "HTTP/1.1 200 OK\r\nContent-Length: 2" HEAD_END "ok");
	UNTIL(w.loop, e.times);
	assert_int_not_equal(e.err.code, 0);
	assert_int_equal(e.status, 0);
	end_done(&e);
	world_close(&w);
}
