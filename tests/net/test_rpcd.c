#include "net/rpcd.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "sys/proc/peer.h"
#include "tests/net/client.h"

#include <sys/resource.h>

TEST_MAIN

enum { KIND = 7 }; /* of everybody who is accepted */

/* A server whose calls are answered at once (echo, big), or when the test says so (hold). */
struct world {
	struct loop *loop;
	struct rpcd *d;
	char dir[64], path[96];
	VEC(struct rpc_call *) held;
	struct rpc_conn *follower;
	size_t calls, notifications, gone, accepted;
	bool refuse;
};

static void follower_gone(void *user)
{
	struct world *w = user;

	w->follower = NULL;
	w->gone++;
}

static void on_call(void *user, struct rpc_call *call)
{
	struct world *w = user;
	struct ov_err err = { 0 };

	w->calls++;
	w->notifications += call->notification;
	assert_int_equal(call->via, RPC_VIA_SOCKET);
	assert_int_equal(call->uid, getuid());
	assert_int_equal(call->who.kind, w->accepted ? KIND : 0);
	if (str_is(call->method, "echo")) {
		rpc_call_result(call, call->params);
	} else if (str_is(call->method, "hold")) {
		vec_push(&w->held, call);
	} else if (str_is(call->method, "big")) {
		size_t n = (size_t)value_int_at(call->params, "n");
		char *p = arena_alloc(call->arena, n);

		memset(p, 'x', n);
		rpc_call_result(call, value_str(call->arena, (str){ p, n }));
	} else if (str_is(call->method, "follow")) {
		w->follower = call->conn;
		rpc_conn_watch(call->conn, follower_gone, w);
		rpc_call_result(call, NULL);
	} else {
		ov_fail(&err, OV_ENOTFOUND, "no operation " STR_FMT, STR_ARG(call->method));
		rpc_call_error(call, &err);
	}
}

static void on_accepted(void *user, const struct peer *peer, struct rpc_who *ret)
{
	struct world *w = user;

	assert_int_equal(peer->proc.pid, getpid());
	assert_false(proc_ended(&peer->proc, 0));
	w->accepted++;
	ret->kind = KIND;
}

static bool on_allow(void *user, const struct peer *peer)
{
	struct world *w = user;

	assert_int_equal(peer->uid, getuid());
	return !w->refuse;
}

static const struct rpcd_ops ops = { .call = on_call, .allow = on_allow, .accepted = on_accepted };
static const struct rpcd_ops ops_default = { .call = on_call };

static void world_open(struct world *w, const struct rpcd_limits *limits)
{
	struct ov_err err = { 0 };

	*w = (struct world){ 0 };
	snprintf(w->dir, sizeof(w->dir), "/tmp/ov-test-rpcd-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->path, sizeof(w->path), "%s/sock", w->dir);
	assert_int_equal(loop_new(&w->loop, &err), 0);
	assert_int_equal(rpcd_open(w->loop, w->path, &ops, w, limits, &w->d, &err), 0);
}

static void world_close(struct world *w)
{
	rpcd_close(w->d);
	vec_done(&w->held);
	loop_free(w->loop);
	assert_int_equal(rmdir(w->dir), 0); /* the socket file is gone */
}

static void answer_held(struct world *w, size_t i)
{
	struct rpc_call *call = w->held.p[i];

	vec_remove(&w->held, i);
	rpc_call_result(call, value_at(call->params, "tag"));
}

TEST(socket_file_is_private_and_replaced_only_when_stale)
{
	struct world w;
	struct ov_err err = { 0 };
	struct rpcd *second = NULL;
	struct stat st;
	char other[100], path[200];
	int fd;

	world_open(&w, NULL);
	assert_int_equal(stat(w.path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(rpcd_open(w.loop, w.path, &ops, &w, NULL, &second, &err), OV_ECONFLICT);
	assert_non_null(strstr(err.msg, "already listens"));
	assert_null(second);

	/* A bound socket without a listener is what a dead server leaves. */
	snprintf(other, sizeof(other), "%s/stale", w.dir);
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", other);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(fd);
	assert_int_equal(rpcd_open(w.loop, other, &ops, &w, NULL, &second, &err), 0);
	rpcd_close(second);
	assert_int_equal(access(other, F_OK), -1);

	/* Anything that is not a socket stays. */
	FILE *f = fopen(other, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(rpcd_open(w.loop, other, &ops, &w, NULL, &second, &err), OV_ECONFLICT);
	assert_int_equal(unlink(other), 0);

	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(rpcd_open(w.loop, path, &ops, &w, NULL, &second, &err), OV_EINVALID);
	assert_int_equal(rpcd_open(w.loop, "/nonexistent/sock", &ops, &w, NULL, &second, &err),
			OV_EIO);

	/* A file that was replaced under us is not ours to remove. */
	snprintf(other, sizeof(other), "%s/moved", w.dir);
	assert_int_equal(rename(w.path, other), 0);
	f = fopen(w.path, "w");
	fclose(f);
	rpcd_close(w.d);
	w.d = NULL;
	assert_int_equal(unlink(w.path), 0);
	assert_int_equal(unlink(other), 0);
	world_close(&w);
}

TEST(a_socket_file_that_is_gone_is_made_anew)
{
	struct world w;
	struct ov_err err = { 0 };
	struct client *old, *new;
	FILE *f;

	world_open(&w, NULL);
	assert_true(rpcd_is_reachable(w.d));
	old = client_unix(w.path);
	client_send(w.loop, old,
			STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\",\"params\":{\"tag\":"
			    "7}}\n"));
	UNTIL(w.loop, w.held.n == 1);
	/* What lies there and is no socket is not ours to remove: nothing changes. */
	assert_int_equal(unlink(w.path), 0);
	f = fopen(w.path, "w");
	assert_non_null(f);
	fclose(f);
	assert_false(rpcd_is_reachable(w.d));
	assert_int_equal(rpcd_listen_again(w.d, &err), OV_ECONFLICT);
	assert_int_equal(unlink(w.path), 0);
	assert_int_equal(rpcd_listen_again(w.d, &err), 0);
	assert_true(rpcd_is_reachable(w.d));
	new = client_unix(w.path);
	client_send(w.loop, new,
			STR("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"echo\",\"params\":{}}\n"));
	UNTIL(w.loop, client_has(new, "\n", 1));
	answer_held(&w, 0);
	UNTIL(w.loop, client_has(old, "\"result\":7", 1));
	client_free(old);
	client_free(new);
	UNTIL(w.loop, rpcd_conns(w.d) == 0);
	world_close(&w);
}

TEST(pipelined_requests_are_all_answered)
{
	struct world w;
	struct client *c;
	struct buf out = BUF_INIT;

	world_open(&w, NULL);
	c = client_unix(w.path);
	for (int i = 0; i < 1000; i++)
		buf_addf(&out,
				"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"echo\",\"params\":{"
				"\"i\":%d}}\n",
				i, i);
	client_send(w.loop, c, buf_str(&out));
	UNTIL(w.loop, client_has(c, "\n", 1000));
	assert_int_equal(count_of(buf_str(&c->in), STR("\"result\":{\"i\":")), 1000);
	assert_true(client_has(c, "\"id\":999", 1));
	assert_int_equal(w.calls, 1000);
	buf_done(&out);
	client_free(c);
	UNTIL(w.loop, rpcd_conns(w.d) == 0);
	world_close(&w);
}

TEST(fed_byte_by_byte)
{
	static const char text[] = "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"echo\"}\r\n\n"
				   "{\"jsonrpc\":\"2.0\",\"method\":\"echo\"}\n"
				   "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"nope\"}\n";
	struct world w;
	struct client *c;

	world_open(&w, NULL);
	c = client_unix(w.path);
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		client_send(w.loop, c, (str){ text + i, 1 });
		loop_step(w.loop, 0);
	}
	UNTIL(w.loop, client_has(c, "\n", 2));
	assert_true(client_has(c, "\"id\":\"a\",\"result\":null", 1));
	assert_true(client_has(c, "E_NOT_FOUND", 1));
	assert_true(client_has(c, "-32003", 1));
	assert_int_equal(w.notifications, 1);
	assert_int_equal(count_of(buf_str(&c->in), STR("\n")), 2);
	client_free(c);
	world_close(&w);
}

TEST(answers_come_in_the_order_they_are_given)
{
	struct world w;
	struct client *c;

	world_open(&w, NULL);
	c = client_unix(w.path);
	client_send(w.loop, c,
			STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\",\"params\":{\"tag\":"
			    "\"one\"}}\n"
			    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"hold\",\"params\":{\"tag\":"
			    "\"two\"}}\n"
			    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"hold\",\"params\":{\"tag\":"
			    "\"three\"}}\n"));
	UNTIL(w.loop, w.held.n == 3);
	assert_int_equal(rpcd_pending(w.d), 3);
	answer_held(&w, 1);
	answer_held(&w, 1);
	answer_held(&w, 0);
	UNTIL(w.loop, client_has(c, "\n", 3));
	str in = buf_str(&c->in);
	assert_true(str_find(in, STR("two")) < str_find(in, STR("three")));
	assert_true(str_find(in, STR("three")) < str_find(in, STR("one")));
	assert_true(str_find(in, STR("one")) < in.n);
	assert_int_equal(rpcd_pending(w.d), 0);
	client_free(c);
	world_close(&w);
}

TEST(bad_lines_are_answered_and_the_connection_stays)
{
	static const char junk[] = "\x00\xff\xfe\x01garbage\x80\n";
	struct world w;
	struct client *c;

	world_open(&w, NULL);
	c = client_unix(w.path);
	client_send(w.loop, c, STR("{\"jsonrpc\":\n"));
	client_send(w.loop, c, (str){ junk, sizeof(junk) - 1 });
	UNTIL(w.loop, client_has(c, "-32700", 2));
	assert_int_equal(count_of(buf_str(&c->in), STR("\"id\":null")), 2);
	client_send(w.loop, c,
			STR("[]\n42\n{\"id\":7}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n"
			    "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"echo\"}\n"));
	UNTIL(w.loop, client_has(c, "-32600", 5));
	assert_true(client_has(c, "\"id\":7", 1));
	assert_int_equal(w.calls, 0);
	client_send(w.loop, c, STR("{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"echo\"}\n"));
	UNTIL(w.loop, client_has(c, "\"id\":8", 1));
	assert_false(client_closed(c));
	client_free(c);
	world_close(&w);
}

TEST(oversized_frame_is_answered_then_closed)
{
	struct rpcd_limits limits = { .max_frame = 1000 };
	struct world w;
	struct client *c, *other;
	struct buf out = BUF_INIT;

	world_open(&w, &limits);
	c = client_unix(w.path);
	other = client_unix(w.path);
	buf_adds(&out, STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}\n"));
	for (int i = 0; i < 5000; i++)
		buf_addc(&out, 'x');
	client_send(w.loop, c, buf_str(&out)); /* without a newline: the bound alone ends it */
	UNTIL(w.loop, client_closed(c));
	assert_true(client_has(c, "\"id\":1,\"result\":null", 1));
	assert_true(client_has(c, "\"id\":null", 1));
	assert_int_equal(count_of(buf_str(&c->in), STR("\n")), 2);
	client_send(w.loop, other, STR("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"echo\"}\n"));
	UNTIL(w.loop, client_has(other, "\"id\":2", 1));
	UNTIL(w.loop, rpcd_conns(w.d) == 1);
	buf_done(&out);
	client_free(c);
	client_free(other);
	world_close(&w);
}

TEST(half_closed_clients_get_their_answers)
{
	struct world w;
	struct client *c;

	world_open(&w, NULL);
	c = client_unix(w.path);
	/* The last one has no newline. */
	client_send(w.loop, c,
			STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\",\"params\":{\"tag\":"
			    "1}}\n"
			    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"hold\",\"params\":{\"tag\":"
			    "2}}"));
	assert_int_equal(shutdown(c->fd, SHUT_WR), 0);
	UNTIL(w.loop, w.held.n == 2);
	for (int i = 0; i < 20; i++)
		loop_step(w.loop, 0);
	assert_false(client_closed(c));
	answer_held(&w, 0);
	answer_held(&w, 0);
	UNTIL(w.loop, client_closed(c));
	assert_true(client_has(c, "\"result\":1", 1));
	assert_true(client_has(c, "\"result\":2", 1));
	client_free(c);
	world_close(&w);
}

TEST(everything_sent_before_a_hang_up_counts)
{
	struct rpcd_limits limits = { .max_pending = 2 };
	struct world w;
	struct client *c;

	world_open(&w, &limits);
	c = client_unix(w.path);
	for (int i = 0; i < 10; i++)
		client_send(w.loop, c, STR("{\"jsonrpc\":\"2.0\",\"method\":\"hold\"}\n"));
	client_free(c);
	for (int i = 0; i < 10; i++) {
		UNTIL(w.loop, w.held.n > 0);
		assert_true(w.held.n <= 2);
		answer_held(&w, 0);
	}
	UNTIL(w.loop, rpcd_conns(w.d) == 0);
	assert_int_equal(w.calls, 10);
	world_close(&w);
}

TEST(client_gone_before_the_answer)
{
	struct world w;
	struct client *c;

	world_open(&w, NULL);
	c = client_unix(w.path);
	client_send(w.loop, c,
			STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\",\"params\":{}}\n"));
	UNTIL(w.loop, w.held.n == 1);
	assert_non_null(w.held.p[0]->conn);
	client_free(c);
	UNTIL(w.loop, rpcd_conns(w.d) == 0);
	assert_null(w.held.p[0]->conn);
	assert_int_equal(rpcd_pending(w.d), 0);
	answer_held(&w, 0);

	/* And the server gone before the answer. */
	c = client_unix(w.path);
	client_send(w.loop, c, STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\"}\n"));
	UNTIL(w.loop, w.held.n == 1);
	rpcd_close(w.d);
	w.d = NULL;
	answer_held(&w, 0);
	assert_true(client_closed(c));
	client_free(c);
	world_close(&w);
}

TEST(too_many_unanswered_calls_stop_the_reading)
{
	struct rpcd_limits limits = { .max_pending = 4 };
	struct world w;
	struct client *c;

	world_open(&w, &limits);
	c = client_unix(w.path);
	for (int i = 0; i < 100; i++)
		client_send(w.loop, c,
				STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\",\"params\":{"
				    "}}\n"));
	UNTIL(w.loop, w.held.n == 4);
	for (int i = 0; i < 50; i++)
		loop_step(w.loop, 0);
	assert_int_equal(w.held.n, 4);
	for (size_t i = 1; i <= 100; i++) {
		UNTIL(w.loop, w.held.n > 0);
		assert_true(w.held.n <= 4);
		answer_held(&w, w.held.n - 1);
	}
	UNTIL(w.loop, client_has(c, "\n", 100));
	assert_int_equal(w.calls, 100);
	client_free(c);
	world_close(&w);
}

TEST(connections_are_bounded)
{
	struct rpcd_limits limits = { .max_conns = 8 };
	struct client *c[8], *extra;
	struct world w;

	world_open(&w, &limits);
	for (int i = 0; i < 8; i++)
		c[i] = client_unix(w.path);
	UNTIL(w.loop, rpcd_conns(w.d) == 8);
	extra = client_unix(w.path);
	UNTIL(w.loop, client_closed(extra));
	assert_true(client_has(extra, "E_LIMIT", 1));
	client_free(extra);
	client_free(c[0]);
	UNTIL(w.loop, rpcd_conns(w.d) == 7);
	c[0] = client_unix(w.path);
	client_send(w.loop, c[0], STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}\n"));
	UNTIL(w.loop, client_has(c[0], "\"id\":1", 1));
	for (int i = 0; i < 8; i++)
		client_free(c[i]);
	world_close(&w);
}

TEST(strangers_are_refused)
{
	struct rpcd *d = NULL;
	struct client *c;
	struct world w;
	char path[100];

	world_open(&w, NULL);
	w.refuse = true;
	c = client_unix(w.path);
	UNTIL(w.loop, client_closed(c));
	assert_true(client_has(c, "E_UNAUTHORIZED", 1));
	assert_int_equal(rpcd_conns(w.d), 0);
	client_free(c);

	/* Without a rule of the caller's: ourselves. */
	snprintf(path, sizeof(path), "%s/own", w.dir);
	assert_int_equal(rpcd_open(w.loop, path, &ops_default, &w, NULL, &d, NULL), 0);
	c = client_unix(path);
	client_send(w.loop, c, STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}\n"));
	UNTIL(w.loop, client_has(c, "\"id\":1", 1));
	client_free(c);
	rpcd_close(d);
	world_close(&w);
}

TEST(followers_are_notified_and_slow_ones_closed)
{
	struct rpcd_limits limits = { .max_queued = 256 * 1024 };
	struct arena a = ARENA_INIT;
	struct client *c;
	struct world w;
	value *params = value_object(&a);
	bool ok = true;
	size_t sent = 0;

	world_open(&w, &limits);
	c = client_unix(w.path);
	client_send(w.loop, c, STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"follow\"}\n"));
	UNTIL(w.loop, client_has(c, "\"id\":1", 1));
	value_put(&a, params, "seq", value_int(&a, 1));
	assert_true(rpc_conn_notify(w.follower, STR("event"), params));
	UNTIL(w.loop, client_has(c, "\"method\":\"event\",\"params\":{\"seq\":1}", 1));

	/* It stops reading: the queue fills, then the connection goes. */
	char *big = arena_alloc(&a, 8192);
	memset(big, 'y', 8192);
	value_put(&a, params, "text", value_str(&a, (str){ big, 8192 }));
	while (w.follower && ok && sent++ < 10000) {
		ok = rpc_conn_notify(w.follower, STR("event"), params);
		assert_true(rpcd_queued(w.d) <= limits.max_queued);
	}
	assert_false(ok);
	UNTIL(w.loop, w.gone == 1);
	assert_int_equal(rpcd_conns(w.d), 0);
	client_free(c);
	arena_done(&a);
	world_close(&w);
}

TEST(watches_keep_half_closed_followers)
{
	struct client *c;
	struct world w;

	world_open(&w, NULL);
	c = client_unix(w.path);
	client_send(w.loop, c, STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"follow\"}\n"));
	shutdown(c->fd, SHUT_WR);
	UNTIL(w.loop, client_has(c, "\"id\":1", 1));
	for (int i = 0; i < 20; i++)
		loop_step(w.loop, 0);
	assert_non_null(w.follower);
	assert_true(rpc_conn_notify(w.follower, STR("event"), NULL));
	UNTIL(w.loop, client_has(c, "event", 1));
	assert_int_equal(w.gone, 0);
	client_free(c);
	world_close(&w);
}

TEST(answers_beyond_the_bound_become_errors)
{
	struct rpcd_limits limits = { .max_queued = 64 * 1024 };
	struct client *c;
	struct world w;

	world_open(&w, &limits);
	c = client_unix(w.path);
	client_send(w.loop, c,
			STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"big\",\"params\":{\"n\":"
			    "60000}}\n"
			    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"big\",\"params\":{\"n\":"
			    "70000}}\n"));
	UNTIL(w.loop, client_has(c, "\n", 2));
	assert_true(client_has(c, "xxxx", 15000));
	assert_true(client_has(c, "E_LIMIT", 1));
	assert_false(client_closed(c));
	client_free(c);
	world_close(&w);
}

TEST(a_client_that_writes_without_reading_is_held_back)
{
	struct rpcd_limits limits = { .max_queued = 128 * 1024 };
	struct client *c;
	struct world w;
	size_t stuck = 0;
	size_t sent = 0;

	world_open(&w, &limits);
	c = client_unix(w.path);
	/* Requests of 80 bytes with answers of 8 kB: stops when both socket buffers are full. */
	while (stuck < 100) {
		str req = STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"big\",\"params\":{\"n\":"
			      "8000}}\n");
		size_t n = client_try_send(c, req);

		assert_true(n == 0 || n == req.n);
		sent += n > 0;
		stuck = n == 0 ? stuck + 1 : 0;
		loop_step(w.loop, 0);
		assert_true(rpcd_queued(w.d) <= limits.max_queued);
	}
	assert_int_equal(rpcd_conns(w.d), 1);
	assert_true(w.calls < sent);
	/* It reads: everything is answered. */
	UNTIL(w.loop, client_has(c, "\n", sent));
	assert_int_equal(w.calls, sent);
	client_free(c);
	world_close(&w);
}

TEST(draining_answers_what_was_taken_and_nothing_else)
{
	struct client *c;
	struct world w;

	world_open(&w, NULL);
	c = client_unix(w.path);
	client_send(w.loop, c,
			STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\",\"params\":{}}\n"));
	UNTIL(w.loop, w.held.n == 1);
	rpcd_drain(w.d);
	client_send(w.loop, c,
			STR("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"hold\",\"params\":{}}\n"));
	for (int i = 0; i < 20; i++)
		loop_step(w.loop, 0);
	assert_int_equal(w.held.n, 1);
	assert_int_equal(rpcd_pending(w.d), 1);
	answer_held(&w, 0);
	UNTIL(w.loop, rpcd_pending(w.d) == 0 && rpcd_queued(w.d) == 0);
	UNTIL(w.loop, client_has(c, "\"id\":1", 1));
	assert_int_equal(w.calls, 1);
	client_free(c);
	world_close(&w);
}

TEST(out_of_descriptors)
{
	struct rlimit before, none_left;
	struct client *c;
	struct world w;

	if (!limits_are_real())
		skip();
	world_open(&w, NULL);
	c = client_unix(w.path);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none_left = before;
	none_left.rlim_cur = (rlim_t)c->fd + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none_left), 0);
	client_send(w.loop, c, STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}\n"));
	for (int i = 0; i < 10; i++)
		loop_step(w.loop, 0);
	assert_int_equal(rpcd_conns(w.d), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	UNTIL(w.loop, client_has(c, "\"id\":1", 1));
	client_free(c);
	world_close(&w);
}

TEST(idle_connections_cost_nothing)
{
	struct client *c[20];
	struct world w;

	world_open(&w, NULL);
	for (int i = 0; i < 20; i++)
		c[i] = client_unix(w.path);
	UNTIL(w.loop, rpcd_conns(w.d) == 20);
	assert_true(idle_iterations(w.loop) <= 2);
	for (int i = 0; i < 20; i++)
		client_free(c[i]);
	UNTIL(w.loop, rpcd_conns(w.d) == 0);
	world_close(&w);
}
