#include "net/httpd.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "net/rpchttp.h"
#include "tests/net/http.h"

#include <sys/resource.h>

TEST_MAIN

/* Routes that answer at once or when the test says so. */
struct world {
	struct loop *loop;
	struct httpd *h;
	uint16_t port;
	VEC(struct http_req *) held;
	size_t handled;
	VEC(struct rpc_call *) calls;
};

static void on_open(void *user, struct http_req *req)
{
	struct world *w = user;

	w->handled++;
	http_answer(req, 200, "text/plain", STR("fine\n"));
}

static void on_echo(void *user, struct http_req *req)
{
	struct world *w = user;
	value *v = value_object(req->arena);

	w->handled++;
	value_put(req->arena, v, "method", value_str(req->arena, req->method));
	value_put(req->arena, v, "path", value_str(req->arena, req->path));
	value_put(req->arena, v, "q", value_str(req->arena, http_query(req, "q")));
	value_put(req->arena, v, "x", value_str(req->arena, http_header(req, "x-test")));
	value_put(req->arena, v, "bytes", value_int(req->arena, (int64_t)req->body.n));
	value_put(req->arena, v, "body", value_str(req->arena, str_sub(req->body, 0, 100)));
	http_answer_json(req, 200, v);
}

static void on_hold(void *user, struct http_req *req)
{
	struct world *w = user;

	w->handled++;
	vec_push(&w->held, req);
}

static void on_fail(void *user, struct http_req *req)
{
	struct ov_err err = { 0 };

	(void)user;
	ov_fail(&err, OV_ECONFLICT, "taken");
	ov_next(&err, "try another");
	http_answer_err(req, &err);
}

static void on_rpc_call(void *user, struct rpc_call *call)
{
	struct world *w = user;

	assert_int_equal(call->via, RPC_VIA_HTTP);
	assert_null(call->conn);
	assert_string_equal(call->who.name, "someone");
	if (str_is(call->method, "hold"))
		vec_push(&w->calls, call);
	else
		rpc_call_result(call, call->params);
}

static void on_rpc(void *user, struct http_req *req)
{
	static const struct rpc_who who = { .kind = 7, .name = "someone" };

	rpchttp_handle(req, &who, on_rpc_call, user);
}

static const struct httpd_route routes[] = {
	{ "GET", "/open", HTTPD_OPEN, 0, on_open, "default-src 'self'" },
	{ "GET", "/echo", 0, 0, on_echo, NULL },
	{ "POST", "/echo", 0, 100000, on_echo, NULL },
	{ "GET", "/hold", 0, 0, on_hold, NULL },
	{ "GET", "/fail", 0, 0, on_fail, NULL },
	{ "POST", "/rpc", 0, 10000, on_rpc, NULL },
	{ "GET", "/files/*", HTTPD_OPEN, 0, on_echo, NULL },
};

static void world_open_with(struct world *w, unsigned max_connections, int64_t request_ms)
{
	struct ov_err err = { 0 };
	struct httpd_options o = {
		.token = STR(TOKEN),
		.routes = routes,
		.route_count = ARRAY_LEN(routes),
		.user = w,
		.max_connections = max_connections,
		.request_ms = request_ms,
	};

	*w = (struct world){ 0 };
	assert_int_equal(loop_new(&w->loop, &err), 0);
	assert_int_equal(httpd_open(w->loop, &o, &w->h, &err), 0);
	w->port = httpd_port(w->h);
	assert_true(w->port > 0);
}

static void world_open(struct world *w)
{
	world_open_with(w, 0, 0);
}

static void world_close(struct world *w)
{
	httpd_close(w->h);
	vec_done(&w->held);
	vec_done(&w->calls);
	loop_free(w->loop);
}

static void release(struct world *w, size_t i)
{
	struct http_req *req = w->held.p[i];

	vec_remove(&w->held, i);
	http_answer(req, 200, "text/plain", STR("late\n"));
}

/* One request on a connection of its own; the caller frees the client. */
static struct client *ask(struct world *w, const char *method, const char *target,
		const char *headers, str body, struct answer *ret)
{
	struct client *c = client_tcp(w->port);

	http_send(w->loop, c, w->port, method, target, headers, body);
	UNTIL(w->loop, http_answered(c, ret));
	return c;
}

static unsigned status_of(struct world *w, const char *method, const char *target,
		const char *headers, str body)
{
	struct answer a;

	client_free(ask(w, method, target, headers, body, &a));
	return a.status;
}

static const str none;

TEST(routes_answer)
{
	struct world w;
	struct answer a;
	struct client *c;

	world_open(&w);
	c = ask(&w, "GET", "/open", "", none, &a);
	assert_int_equal(a.status, 200);
	assert_true(str_is(a.body, "fine\n"));
	assert_true(str_contains(a.head, STR("X-Content-Type-Options: nosniff")));
	assert_true(str_contains(a.head, STR("Cache-Control: no-store")));
	assert_true(str_contains(a.head, STR("Content-Security-Policy: default-src 'self'")));
	client_free(c);

	c = ask(&w, "GET", "/echo?q=a%20b&r=1", AUTH "X-Test: hello\r\n", none, &a);
	assert_int_equal(a.status, 200);
	assert_true(str_is(a.body,
			"{\"method\":\"GET\",\"path\":\"/echo\",\"q\":\"a "
			"b\",\"x\":\"hello\",\"bytes\":0,"
			"\"body\":\"\"}"));
	assert_true(str_contains(a.head, STR("Content-Type: application/json")));
	assert_true(str_contains(a.head,
			STR("Content-Security-Policy: default-src 'none'; frame-ancestors "
			    "'none'")));
	client_free(c);

	c = ask(&w, "POST", "/echo", AUTH, STR("some body"), &a);
	assert_true(str_contains(a.body, STR("\"body\":\"some body\"")));
	client_free(c);

	c = ask(&w, "GET", "/files/a/b.css", "", none, &a);
	assert_true(str_contains(a.body, STR("\"path\":\"/files/a/b.css\"")));
	client_free(c);

	c = ask(&w, "GET", "/fail", AUTH, none, &a);
	assert_int_equal(a.status, 409);
	assert_true(str_is(a.body,
			"{\"error\":{\"code\":\"E_CONFLICT\",\"message\":\"taken\","
			"\"next\":\"try another\"}}"));
	client_free(c);
	world_close(&w);
}

TEST(refusals)
{
	struct world w;
	struct answer a;
	struct client *c;

	world_open(&w);
	assert_int_equal(status_of(&w, "GET", "/echo", "", none), 401);
	assert_int_equal(status_of(&w, "GET", "/echo", "Authorization: Bearer wrong\r\n", none),
			401);
	assert_int_equal(status_of(&w, "GET", "/echo", "Authorization: Bearer \r\n", none), 401);
	assert_int_equal(status_of(&w, "GET", "/echo", "Authorization: Bearer s3cret-toke\r\n",
					 none),
			401);
	assert_int_equal(status_of(&w, "GET", "/echo", "Authorization: Bearer s3cret-tokens\r\n",
					 none),
			401);
	assert_int_equal(status_of(&w, "GET", "/echo",
					 "Authorization: Bearer s3cret-tokens3cret-token\r\n",
					 none),
			401);
	assert_int_equal(status_of(&w, "GET", "/echo", "Authorization: Basic s3cret-token\r\n",
					 none),
			401);
	assert_int_equal(status_of(&w, "GET", "/echo?token=" TOKEN, "", none), 401);
	assert_int_equal(status_of(&w, "POST", "/echo", "", STR("a body to be thrown away")), 401);
	assert_int_equal(status_of(&w, "GET", "/nowhere", AUTH, none), 404);
	assert_int_equal(status_of(&w, "GET", "/openly", AUTH, none), 404);
	assert_int_equal(w.handled, 0);
	assert_int_equal(status_of(&w, "GET", "/echo", "authorization: bearer " TOKEN "\r\n", none),
			200);

	c = ask(&w, "DELETE", "/echo", AUTH, none, &a);
	assert_int_equal(a.status, 405);
	assert_true(str_contains(a.head, STR("Allow: GET, HEAD, POST")));
	client_free(c);
	c = ask(&w, "GET", "/echo", "", none, &a);
	assert_true(str_contains(a.head, STR("WWW-Authenticate: Bearer")));
	assert_true(str_contains(a.body, STR("E_UNAUTHORIZED")));
	client_free(c);
	world_close(&w);
}

static unsigned raw_status(struct world *w, str text)
{
	struct client *c = client_tcp(w->port);
	struct answer a;

	client_send(w->loop, c, text);
	UNTIL(w->loop, http_answered(c, &a));
	client_free(c);
	return a.status;
}

static unsigned host_status(struct world *w, const char *host, const char *more)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "GET /open HTTP/1.1\r\nHost: %s\r\n%s\r\n", host,
			more);

	return raw_status(w, (str){ text, (size_t)n });
}

TEST(foreign_hosts_and_origins)
{
	struct world w;
	char host[64], origin[96];
	static const char *const ours[] = { "127.0.0.1", "localhost", "LocalHost", "[::1]" };
	static const char *const others[] = { "evil.example", "127.0.0.1.evil.example", "127.0.0.2",
		"localhost.", "[::2]", "" };

	world_open(&w);
	for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
		snprintf(host, sizeof(host), "%s:%u", ours[i], (unsigned)w.port);
		assert_int_equal(host_status(&w, host, ""), 200);
		snprintf(origin, sizeof(origin), "Origin: http://%s\r\n", host);
		assert_int_equal(host_status(&w, host, origin), 200);
		snprintf(origin, sizeof(origin), "Origin: https://%s\r\n", host);
		assert_int_equal(host_status(&w, host, origin), 403);
	}
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		snprintf(host, sizeof(host), "%s:%u", others[i], (unsigned)w.port);
		assert_int_equal(host_status(&w, host, ""), 403);
	}
	assert_int_equal(host_status(&w, "127.0.0.1", ""), 403);
	assert_int_equal(host_status(&w, "localhost:1", ""), 403);
	snprintf(host, sizeof(host), "localhost:%u", (unsigned)w.port);
	assert_int_equal(host_status(&w, host, "Origin: http://evil.example\r\n"), 403);
	assert_int_equal(host_status(&w, host, "Origin: null\r\n"), 403);
	assert_int_equal(host_status(&w, host, "Origin: http://localhost\r\n"), 403);
	/* HTTP/1.0 without a Host at all. */
	assert_int_equal(raw_status(&w, STR("GET /open HTTP/1.0\r\n\r\n")), 403);
	world_close(&w);
}

TEST(bodies_are_bounded)
{
	struct world w;
	struct answer a;
	struct client *c;
	struct buf big = BUF_INIT;

	world_open(&w);
	for (int i = 0; i < 100001; i++)
		buf_addc(&big, 'b');
	assert_int_equal(status_of(&w, "POST", "/echo", AUTH, str_sub(buf_str(&big), 0, 100000)),
			200);
	assert_int_equal(w.handled, 1);
	assert_int_equal(status_of(&w, "POST", "/echo", AUTH, buf_str(&big)), 413);
	assert_int_equal(status_of(&w, "GET", "/echo", AUTH, STR("x")), 413);

	/* Announced but never sent: told at once. */
	c = client_tcp(w.port);
	http_send(w.loop, c, w.port, "POST", "/echo", AUTH "Content-Length: 99999999999\r\n", none);
	UNTIL(w.loop, http_answered(c, &a));
	assert_int_equal(a.status, 413);
	client_free(c);
	c = client_tcp(w.port);
	http_send(w.loop, c, w.port, "POST", "/echo",
			AUTH "Expect: 100-continue\r\nContent-Length: 100001\r\n", none);
	UNTIL(w.loop, http_answered(c, &a));
	assert_int_equal(a.status, 413);
	client_free(c);
	assert_int_equal(w.handled, 1);
	buf_done(&big);
	world_close(&w);
}

TEST(chunked_bodies)
{
	struct world w;
	struct answer a;
	struct client *c;
	struct buf chunk = BUF_INIT;
	size_t sent = 0;
	str rest;

	world_open(&w);
	c = client_tcp(w.port);
	http_send(w.loop, c, w.port, "POST", "/echo", AUTH "Transfer-Encoding: chunked\r\n", none);
	client_send(w.loop, c, STR("5\r\nhello\r\n"));
	client_send(w.loop, c, STR("7\r\n, world\r\n0\r\n\r\n"));
	UNTIL(w.loop, http_answered(c, &a));
	assert_int_equal(a.status, 200);
	assert_true(str_contains(a.body, STR("hello, world")));
	client_free(c);

	/* Too much in chunks, but it ends: answered. */
	buf_addf(&chunk, "%x\r\n", 20000);
	for (int i = 0; i < 20000; i++)
		buf_addc(&chunk, 'c');
	buf_adds(&chunk, STR("\r\n"));
	c = client_tcp(w.port);
	http_send(w.loop, c, w.port, "POST", "/echo", AUTH "Transfer-Encoding: chunked\r\n", none);
	for (int i = 0; i < 8; i++)
		client_send(w.loop, c, buf_str(&chunk));
	client_send(w.loop, c, STR("0\r\n\r\n"));
	UNTIL(w.loop, http_answered(c, &a));
	assert_int_equal(a.status, 413);
	client_free(c);

	/* Without an end: cut off. */
	rest = buf_str(&chunk);
	c = client_tcp(w.port);
	http_send(w.loop, c, w.port, "POST", "/echo", AUTH "Transfer-Encoding: chunked\r\n", none);
	while (!client_closed(c)) {
		size_t n = client_try_send(c, rest);

		sent += n;
		rest = n == rest.n ? buf_str(&chunk) : str_sub(rest, n, SIZE_MAX);
		loop_step(w.loop, 0);
		assert_true(sent < 64 * 1024 * 1024);
	}
	client_free(c);
	assert_int_equal(w.handled, 1);
	buf_done(&chunk);
	world_close(&w);
}

TEST(keep_alive)
{
	struct world w;
	struct answer a;
	struct client *c;

	world_open(&w);
	c = client_tcp(w.port);
	for (int i = 0; i < 50; i++) {
		http_send(w.loop, c, w.port, i % 2 ? "GET" : "POST", "/echo", AUTH,
				i % 2 ? none : STR("abc"));
		UNTIL(w.loop, http_answered(c, &a));
		assert_int_equal(a.status, 200);
		buf_consume(&c->in, a.size);
	}
	/* Also after refusals, and with deferred answers in between. */
	http_send(w.loop, c, w.port, "POST", "/echo", "", STR("abc"));
	UNTIL(w.loop, http_answered(c, &a));
	assert_int_equal(a.status, 401);
	buf_consume(&c->in, a.size);
	http_send(w.loop, c, w.port, "GET", "/hold", AUTH, none);
	UNTIL(w.loop, w.held.n == 1);
	release(&w, 0);
	UNTIL(w.loop, http_answered(c, &a));
	assert_true(str_is(a.body, "late\n"));
	assert_int_equal(httpd_connections(w.h), 1);
	client_free(c);
	UNTIL(w.loop, httpd_connections(w.h) == 0);
	world_close(&w);
}

TEST(head_has_no_body)
{
	struct world w;
	struct client *c;

	world_open(&w);
	c = client_tcp(w.port);
	http_send(w.loop, c, w.port, "HEAD", "/open", "", none);
	http_send(w.loop, c, w.port, "HEAD", "/open", "Connection: close\r\n", none);
	UNTIL(w.loop, client_closed(c));
	assert_int_equal(count_of(buf_str(&c->in), STR("HTTP/1.1 200 ")), 2);
	assert_int_equal(count_of(buf_str(&c->in), STR("fine")), 0);
	client_free(c);
	world_close(&w);
}

TEST(deferred_answers)
{
	struct world w;
	struct answer a;
	struct client *c[10];

	world_open(&w);
	for (int i = 0; i < 10; i++) {
		c[i] = client_tcp(w.port);
		http_send(w.loop, c[i], w.port, "GET", "/hold", AUTH, none);
	}
	UNTIL(w.loop, w.held.n == 10);
	assert_int_equal(httpd_pending(w.h), 10);
	/* Waiting costs no wake-ups. */
	assert_true(idle_iterations(w.loop) <= 2);
	for (int i = 0; i < 10; i++)
		release(&w, w.held.n - 1);
	for (int i = 0; i < 10; i++) {
		UNTIL(w.loop, http_answered(c[i], &a));
		assert_true(str_is(a.body, "late\n"));
		client_free(c[i]);
	}
	UNTIL(w.loop, httpd_pending(w.h) == 0);
	world_close(&w);
}

TEST(client_gone_while_waiting)
{
	struct world w;
	struct client *c;

	world_open(&w);
	for (int i = 0; i < 5; i++) {
		c = client_tcp(w.port);
		http_send(w.loop, c, w.port, "GET", "/hold", AUTH, none);
		UNTIL(w.loop, w.held.n == 1);
		client_free(c);
		for (int k = 0; k < 5; k++)
			loop_step(w.loop, 0);
		assert_true(http_header(w.held.p[0], "Authorization").n > 0);
		release(&w, 0);
		UNTIL(w.loop, httpd_connections(w.h) == 0);
	}
	world_close(&w);
}

TEST(server_closed_while_waiting)
{
	struct world w;
	struct client *c[3];

	world_open(&w);
	for (int i = 0; i < 3; i++) {
		c[i] = client_tcp(w.port);
		http_send(w.loop, c[i], w.port, "GET", "/hold", AUTH, none);
	}
	UNTIL(w.loop, w.held.n == 3);
	release(&w, 1); /* answered, but not yet sent */
	httpd_close(w.h);
	w.h = NULL;
	assert_int_equal(http_header(w.held.p[0], "Host").n, 0);
	release(&w, 0);
	release(&w, 0);
	for (int i = 0; i < 3; i++) {
		assert_true(client_closed(c[i]));
		client_free(c[i]);
	}
	world_close(&w);
}

TEST(two_hundred_at_once)
{
	enum { N = 200 };
	struct world w;
	struct answer a;
	struct client *c[N];
	size_t done = 0;

	world_open(&w);
	for (int i = 0; i < N; i++) {
		c[i] = client_tcp(w.port);
		http_send(w.loop, c[i], w.port, "GET", i % 2 ? "/hold" : "/echo",
				AUTH "Connection: close\r\n", none);
	}
	/* More than the 128 connections that are served at a time: the rest wait for their turn. */
	while (done < N) {
		loop_step(w.loop, 1000);
		assert_true(httpd_connections(w.h) <= 128);
		if (w.held.n)
			release(&w, 0);
		done = 0;
		for (int i = 0; i < N; i++)
			done += http_answered(c[i], &a) && a.status == 200;
	}
	assert_int_equal(w.handled, N);
	for (int i = 0; i < N; i++)
		client_free(c[i]);
	world_close(&w);
}

TEST(slow_senders_are_cut_off)
{
	static const char text[] = "GET /open HTTP/1.1\r\nX-Endless: ";
	struct world w;
	struct answer a;
	struct client *c[4], *good;
	size_t closed = 0;

	/* They take all connections there are, and send a byte now and then for ever. */
	world_open_with(&w, 4, 100);
	for (int i = 0; i < 4; i++) {
		c[i] = client_tcp(w.port);
		client_send(w.loop, c[i], (str){ text, sizeof(text) - 1 });
	}
	UNTIL(w.loop, httpd_connections(w.h) == 4);
	good = client_tcp(w.port);
	http_send(w.loop, good, w.port, "GET", "/open", "", none);
	while (closed < 4) {
		closed = 0;
		for (int i = 0; i < 4; i++) {
			if (client_closed(c[i]))
				closed++;
			else
				client_try_send(c[i], STR("x"));
		}
		loop_step(w.loop, 1000);
	}
	UNTIL(w.loop, http_answered(good, &a));
	assert_int_equal(a.status, 200);
	for (int i = 0; i < 4; i++)
		client_free(c[i]);
	client_free(good);
	world_close(&w);
}

TEST(a_waiting_request_has_no_deadline)
{
	struct world w;
	struct answer a;
	struct client *c, *other;

	world_open_with(&w, 0, 20);
	c = client_tcp(w.port);
	http_send(w.loop, c, w.port, "GET", "/hold", AUTH, none);
	UNTIL(w.loop, w.held.n == 1);
	/* The other one's deadline is later than ours would have been. */
	other = client_tcp(w.port);
	UNTIL(w.loop, client_closed(other));
	release(&w, 0);
	UNTIL(w.loop, http_answered(c, &a));
	assert_int_equal(a.status, 200);
	client_free(c);
	client_free(other);
	world_close(&w);
}

TEST(junk_does_no_harm)
{
	struct world w;
	struct client *c;
	uint32_t x = 1;
	char junk[512];

	/* Some of it looks like the beginning of a request, and only the deadline ends that. */
	world_open_with(&w, 0, 50);
	for (int i = 0; i < 200; i++) {
		size_t n = 1 + (size_t)i * 2;

		for (size_t k = 0; k < n; k++) {
			x = x * 1664525 + 1013904223;
			junk[k] = (char)(x >> 24);
		}
		c = client_tcp(w.port);
		client_send(w.loop, c, (str){ junk, n });
		client_send(w.loop, c, STR("\r\n\r\n"));
		shutdown(c->fd, SHUT_WR);
		UNTIL(w.loop, client_closed(c));
		client_free(c);
	}
	assert_int_equal(w.handled, 0);
	assert_int_equal(status_of(&w, "GET", "/open", "", none), 200);
	world_close(&w);
}

TEST(headers_are_bounded)
{
	struct world w;
	struct answer a;
	struct client *c;
	struct buf out = BUF_INIT;

	world_open(&w);
	buf_adds(&out, STR("X-Long: "));
	for (int i = 0; i < 40000; i++)
		buf_addc(&out, 'h');
	buf_adds(&out, STR("\r\n"));
	c = ask(&w, "GET", "/open", buf_cstr(&out), none, &a);
	assert_int_equal(a.status, 431);
	client_free(c);
	buf_done(&out);
	world_close(&w);
}

TEST(json_rpc_over_http)
{
	struct world w;
	struct answer a;
	struct client *c;

	world_open(&w);
	c = ask(&w, "POST", "/rpc", AUTH,
			STR("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"echo\",\"params\":{\"a\":1}"
			    "}"),
			&a);
	assert_int_equal(a.status, 200);
	assert_true(str_is(a.body, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"a\":1}}"));
	client_free(c);
	assert_int_equal(status_of(&w, "POST", "/rpc", AUTH,
					 STR("{\"jsonrpc\":\"2.0\",\"method\":\"echo\"}")),
			204);
	c = ask(&w, "POST", "/rpc", AUTH, STR("{nonsense"), &a);
	assert_int_equal(a.status, 200);
	assert_true(str_contains(a.body, STR("-32700")));
	client_free(c);

	c = client_tcp(w.port);
	http_send(w.loop, c, w.port, "POST", "/rpc", AUTH,
			STR("{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"hold\"}"));
	UNTIL(w.loop, w.calls.n == 1);
	rpc_call_result(w.calls.p[0], NULL);
	UNTIL(w.loop, http_answered(c, &a));
	assert_true(str_contains(a.body, STR("\"id\":6,\"result\":null")));
	client_free(c);
	world_close(&w);
}

TEST(ports)
{
	struct world w;
	struct httpd *second = NULL;
	struct ov_err err = { 0 };
	struct httpd_options o = { .routes = routes, .route_count = ARRAY_LEN(routes) };

	world_open(&w);
	assert_int_equal(httpd_open(w.loop, &o, &second, &err), OV_EINVALID); /* no token */
	o.token = STR("t");
	o.port = w.port;
	assert_int_equal(httpd_open(w.loop, &o, &second, &err), OV_ECONFLICT);
	assert_true(err.next[0] != '\0');
	world_close(&w);
	/* The port can be taken again at once. */
	assert_int_equal(loop_new(&w.loop, &err), 0);
	assert_int_equal(httpd_open(w.loop, &o, &second, &err), 0);
	assert_int_equal(httpd_port(second), o.port);
	httpd_close(second);
	loop_free(w.loop);
}

TEST(out_of_descriptors)
{
	struct rlimit before, none_left;
	struct client *c, *second;
	struct answer a;
	struct world w;

	if (!limits_are_real())
		skip();
	world_open(&w);
	c = ask(&w, "GET", "/open", "", none, &a);
	second = client_tcp(w.port);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none_left = before;
	none_left.rlim_cur = (rlim_t)second->fd + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none_left), 0);
	http_send(w.loop, second, w.port, "GET", "/open", "", none);
	for (int i = 0; i < 10; i++)
		loop_step(w.loop, 0);
	assert_int_equal(httpd_connections(w.h), 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	client_free(c);
	UNTIL(w.loop, http_answered(second, &a));
	assert_int_equal(a.status, 200);
	client_free(second);
	world_close(&w);
}

TEST(idle_server_sleeps)
{
	struct world w;

	world_open(&w);
	assert_int_equal(status_of(&w, "GET", "/open", "", none), 200);
	UNTIL(w.loop, httpd_connections(w.h) == 0);
	assert_true(idle_iterations(w.loop) <= 2);
	world_close(&w);
}
