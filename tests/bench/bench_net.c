/*
 * What the servers add to bare sockets: CPU time of JSON-RPC round trips against an echo on the
 * same loop, and of live events to 20 readers against the same bytes sent by hand. Both sides of
 * each run in this one process; best of five alternating runs.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "net/rpcd.h"
#include "net/ssehub.h"
#include "sys/loop/loop.h"
#include "sys/loop/stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { TRIPS = 20000, READERS = 20, EVENTS = 20000, BATCH = 64, ROUNDS = 5 };

#define REQUEST \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status.get\",\"params\":{\"goal\":\"G1\"}}\n"
#define DATA                                                                                   \
	"{\"seq\":12345,\"kind\":\"node.status\",\"goal\":\"G1\",\"node\":\"T1.2\",\"from\":"  \
	"\"queued\","                                                                          \
	"\"to\":\"in_progress\",\"at\":\"2026-11-15T01:42:35.123Z\",\"actor\":\"actor:system:" \
	"overseer\"}"

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench_net: %s\n", what);
	exit(1);
}

static bool report(const char *name, double ratio, double budget)
{
	printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"ratio\",\"budget\":%.2f,\"ok\":%s}\n",
			name, ratio, budget, ratio <= budget ? "true" : "false");
	return ratio <= budget;
}

/* One request at a time: out, around the loop, back with a newline. */
static double round_trips(struct loop *l, int fd)
{
	double start = cpu_s();
	char in[4096];

	for (int i = 0; i < TRIPS; i++) {
		ssize_t n;

		must(send(fd, REQUEST, sizeof(REQUEST) - 1, 0) > 0, "send");
		while ((n = recv(fd, in, sizeof(in), MSG_DONTWAIT)) < 0)
			loop_step(l, -1);
		must(n > 0 && in[n - 1] == '\n', "answer");
	}
	return cpu_s() - start;
}

struct echo {
	struct stream *s;
};

static void echo_data(void *user, str bytes)
{
	struct echo *e = user;

	stream_write(e->s, bytes);
}

static void echo_eof(void *user)
{
	(void)user;
}

static void echo_failed(void *user, const struct ov_err *err)
{
	(void)user;
	(void)err;
}

static double run_echo(struct loop *l)
{
	static const struct stream_ops ops = { .data = echo_data,
		.eof = echo_eof,
		.failed = echo_failed };
	struct echo e;
	int pair[2];
	double t;

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
	must(stream_open(l, pair[0], &ops, &e, 1 << 20, &e.s, NULL) == 0, "stream");
	t = round_trips(l, pair[1]);
	stream_close(e.s);
	close(pair[1]);
	return t;
}

static void on_call(void *user, struct rpc_call *call)
{
	(void)user;
	rpc_call_result(call, call->params);
}

static double run_rpc(struct loop *l)
{
	static const struct rpcd_ops ops = { .call = on_call };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char dir[] = "/tmp/ov-bench-net-XXXXXX";
	struct rpcd *d;
	double t;
	int fd;

	must(mkdtemp(dir) != NULL, "mkdtemp");
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/sock", dir);
	must(rpcd_open(l, addr.sun_path, &ops, NULL, NULL, &d, NULL) == 0, "rpcd");
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0, "connect");
	t = round_trips(l, fd);
	close(fd);
	rpcd_close(d);
	rmdir(dir);
	return t;
}

/* Reads what is there; the number of bytes. */
static size_t drain(int fd)
{
	char in[65536];
	size_t sum = 0;
	ssize_t n;

	while ((n = recv(fd, in, sizeof(in), MSG_DONTWAIT)) > 0)
		sum += (size_t)n;
	return sum;
}

static int tcp_pair(int ret[2])
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(bind(listener, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
					listen(listener, 1) == 0 &&
					getsockname(listener, (struct sockaddr *)&addr, &n) == 0,
			"listen");
	ret[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(connect(ret[1], (struct sockaddr *)&addr, sizeof(addr)) == 0, "connect");
	ret[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	return ret[0];
}

/* The same events, a batch per send, to all readers. */
static double run_bare_sends(void)
{
	static const char text[] = "id: 12345\nevent: node.status\ndata: " DATA "\n\n";
	struct buf batch = BUF_INIT;
	int pair[READERS][2];
	double start, t;

	for (int i = 0; i < BATCH; i++)
		buf_add(&batch, text, sizeof(text) - 1);
	for (int r = 0; r < READERS; r++)
		must(tcp_pair(pair[r]) >= 0, "tcp");
	start = cpu_s();
	for (int k = 0; k < EVENTS / BATCH; k++)
		for (int r = 0; r < READERS; r++) {
			must(send(pair[r][0], batch.p, batch.n, 0) == (ssize_t)batch.n, "send");
			for (size_t got = 0; got < batch.n;)
				got += drain(pair[r][1]);
		}
	t = cpu_s() - start;
	for (int r = 0; r < READERS; r++) {
		close(pair[r][0]);
		close(pair[r][1]);
	}
	buf_done(&batch);
	return t;
}

static void on_events(void *user, struct http_req *req)
{
	ssehub_subscribe(user, req);
}

static int subscribe(struct loop *l, uint16_t port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[128];
	int n = snprintf(text, sizeof(text), "GET /events HTTP/1.1\r\nHost: localhost:%u\r\n\r\n",
			(unsigned)port);

	must(connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0, "connect");
	must(send(fd, text, (size_t)n, 0) == n, "send");
	while (drain(fd) == 0)
		loop_step(l, -1);
	return fd;
}

static double run_hub(struct loop *l)
{
	static const struct httpd_route routes[] = { { "GET", "/events", HTTPD_OPEN, 0, on_events,
			NULL } };
	struct ssehub *hub = ssehub_new(l, NULL);
	struct httpd_options o = { .routes = routes, .route_count = 1, .user = hub };
	struct httpd *h;
	int fd[READERS];
	uint64_t id = 0;
	double start, t;

	must(httpd_open(l, &o, &h, NULL) == 0, "httpd");
	for (int r = 0; r < READERS; r++)
		fd[r] = subscribe(l, httpd_port(h));
	start = cpu_s();
	for (int k = 0; k < EVENTS / BATCH; k++) {
		for (int i = 0; i < BATCH; i++)
			ssehub_publish(hub, ++id, STR("node.status"), STR(DATA));
		/* Each reader gets more than the data alone: a batch is there when it all is. */
		for (int r = 0; r < READERS; r++)
			for (size_t got = 0; got < BATCH * sizeof(DATA);) {
				size_t n = drain(fd[r]);

				got += n;
				if (n == 0)
					loop_step(l, 1000);
			}
	}
	t = cpu_s() - start;
	for (int r = 0; r < READERS; r++)
		close(fd[r]);
	httpd_close(h);
	ssehub_free(hub);
	return t;
}

int main(void)
{
	double echo = 1e9;
	double rpc = 1e9;
	double bare = 1e9;
	double hub = 1e9;
	struct loop *l;
	bool ok;

	must(loop_new(&l, NULL) == 0, "loop");
	for (int i = 0; i < ROUNDS; i++) {
		double t[4] = { run_echo(l), run_rpc(l), run_bare_sends(), run_hub(l) };

		echo = MIN(echo, t[0]);
		rpc = MIN(rpc, t[1]);
		bare = MIN(bare, t[2]);
		hub = MIN(hub, t[3]);
	}
	loop_free(l);
	fprintf(stderr, "# per CPU second: %.0f round trips, %.0f bare; %.0f events, %.0f bare\n",
			TRIPS / rpc, TRIPS / echo, EVENTS * READERS / hub, EVENTS * READERS / bare);
	ok = report("rpc_round_trip_cpu_vs_echo", rpc / echo, 4);
	ok = report("sse_event_cpu_vs_bare_send", hub / bare, 4) && ok;
	return !ok;
}
