/*
 * Durable operations per second: the daemon against a bare server that reads the same requests from
 * the same kind of socket and writes the same bytes to SQLite with the same group commit, but
 * without checking, deciding, folding, chaining or publishing anything. Same client, alternating
 * runs. A ratio is the median of those of the rounds, each of runs that followed one another: the
 * best of each would compare moments in which the disk had more or less to do for others. With 1
 * client and with 64.
 * The budget is against a bare server on sd-event, that is without any code of ours: what we make
 * faster must not move the yardstick. A second figure is against the same server on our loop.
 * Prints one JSON line per figure; the exit status says whether every budget was kept.
 * usage: bench_ops OVERSEERD SHIM [ROUNDS]
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "sys/loop/loop.h"

enum {
	ROUNDS = 7,
	ROUNDS_MAX = 101,
	CLIENTS_MAX = 64,
	OPS_SERIAL = 2000,
	OPS_PARALLEL = 20000,
	BODY_BYTES = 118
};

static const double budget = 0.6;
/* One event, as the bare server writes one: nobody plans it. */
static const char request[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"goal.create\",\"params\":"
			      "{\"title\":\"A goal to measure with\",\"no_plan\":true}}\n";

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench_ops: %s failed: %m\n", what);
	exit(2);
}

static double wall(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the bare server ---- */

struct bare {
	struct loop *loop; /* or: */
	sd_event *event;
	sqlite3 *db;
	sqlite3_stmt *insert, *begin, *commit;
	int waiting[CLIENTS_MAX * 2];
	size_t n;
};

static void bare_commit(void *user)
{
	static const char answer[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"goal\":\"goal_"
				     "01M7EGJRNPH8A3JRNCRKMQM0KF\"}}\n";
	struct bare *b = user;

	if (b->n == 0)
		return;
	must(sqlite3_step(b->commit) == SQLITE_DONE, "commit");
	sqlite3_reset(b->commit);
	for (size_t i = 0; i < b->n; i++)
		must(write(b->waiting[i], answer, sizeof(answer) - 1) > 0, "answer");
	b->n = 0;
}

static void bare_request(struct bare *b, int fd)
{
	static char body[BODY_BYTES], hash[32];
	char line[4096];
	ssize_t n = read(fd, line, sizeof(line));

	if (n <= 0)
		_exit(0); /* the clients are done */
	if (b->n == 0) {
		must(sqlite3_step(b->begin) == SQLITE_DONE, "begin");
		sqlite3_reset(b->begin);
	}
	sqlite3_bind_int64(b->insert, 1, 1700000000000);
	sqlite3_bind_text(b->insert, 2, "goal.created", -1, SQLITE_STATIC);
	sqlite3_bind_text(b->insert, 3, body, sizeof(body), SQLITE_STATIC);
	sqlite3_bind_blob(b->insert, 4, hash, sizeof(hash), SQLITE_STATIC);
	must(sqlite3_step(b->insert) == SQLITE_DONE, "insert");
	sqlite3_reset(b->insert);
	b->waiting[b->n++] = fd;
}

static void on_request(void *user, int fd, unsigned events)
{
	(void)events;
	bare_request(user, fd);
}

static int on_request_event(sd_event_source *source, int fd, uint32_t events, void *user)
{
	(void)source, (void)events;
	bare_request(user, fd);
	return 0;
}

static void bare_accept(struct bare *b, int fd)
{
	int conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	must(conn >= 0, "accept");
	if (b->loop)
		loop_io(b->loop, conn, LOOP_READ, on_request, b);
	else
		must(sd_event_add_io(b->event, NULL, conn, EPOLLIN, on_request_event, b) >= 0,
				"watch");
}

static void on_accept(void *user, int fd, unsigned events)
{
	(void)events;
	bare_accept(user, fd);
}

static int on_accept_event(sd_event_source *source, int fd, uint32_t events, void *user)
{
	(void)source, (void)events;
	bare_accept(user, fd);
	return 0;
}

static struct sockaddr_un address(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	must(strlen(path) < sizeof(addr.sun_path), "a short enough TMPDIR");
	strcpy(addr.sun_path, path);
	return addr;
}

static int listen_on(const char *path)
{
	struct sockaddr_un addr = address(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 && listen(fd, 256) == 0,
			"listen");
	return fd;
}

static void bare_run_loop(struct bare *b, int listener)
{
	must(loop_new(&b->loop, NULL) == 0, "loop");
	loop_io(b->loop, listener, LOOP_READ, on_accept, b);
	loop_after(b->loop, bare_commit, b);
	loop_run(b->loop);
}

/* What is ready together is one transaction. */
static void bare_run_event(struct bare *b, int listener)
{
	must(sd_event_new(&b->event) >= 0, "event loop");
	must(sd_event_add_io(b->event, NULL, listener, EPOLLIN, on_accept_event, b) >= 0, "watch");
	for (;;)
		if (sd_event_run(b->event, b->n ? 0 : UINT64_MAX) == 0)
			bare_commit(b);
}

static void bare_serve(const char *dir, bool our_loop, int ready)
{
	struct bare b = { 0 };
	char path[200];
	int listener;

	snprintf(path, sizeof(path), "%s/bare.db", dir);
	must(sqlite3_open(path, &b.db) == SQLITE_OK, "open");
	must(sqlite3_exec(b.db,
			     "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE "
			     "log(seq INTEGER PRIMARY KEY, at, kind, body, hash)",
			     NULL, NULL, NULL) == SQLITE_OK,
			"pragma");
	sqlite3_prepare_v2(b.db, "INSERT INTO log(at, kind, body, hash) VALUES(?,?,?,?)", -1,
			&b.insert, NULL);
	sqlite3_prepare_v2(b.db, "BEGIN IMMEDIATE", -1, &b.begin, NULL);
	sqlite3_prepare_v2(b.db, "COMMIT", -1, &b.commit, NULL);
	snprintf(path, sizeof(path), "%s/bare.sock", dir);
	listener = listen_on(path);
	must(write(ready, "ready\n", 6) == 6, "ready");
	close(ready);
	if (our_loop)
		bare_run_loop(&b, listener);
	else
		bare_run_event(&b, listener);
	_exit(0);
}

/* ---- the client ---- */

static int dial(const char *path)
{
	struct sockaddr_un addr = address(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0, "connect");
	return fd;
}

/* Each client has one request under way; returns answered requests per second. */
static double drive(const char *socket_path, size_t clients, size_t total)
{
	struct pollfd fds[CLIENTS_MAX];
	size_t sent = 0, answered = 0;
	double begin;

	for (size_t i = 0; i < clients; i++)
		fds[i] = (struct pollfd){ .fd = dial(socket_path), .events = POLLIN };
	begin = wall();
	for (size_t i = 0; i < clients; i++, sent++)
		must(write(fds[i].fd, request, sizeof(request) - 1) > 0, "send");
	while (answered < total) {
		must(poll(fds, clients, 20000) > 0, "poll");
		for (size_t i = 0; i < clients; i++) {
			char line[4096];

			if (!(fds[i].revents & POLLIN))
				continue;
			must(read(fds[i].fd, line, sizeof(line)) > 0, "receive");
			must(strstr(line, "result") != NULL, "an operation");
			answered++;
			if (sent < total) {
				must(write(fds[i].fd, request, sizeof(request) - 1) > 0, "send");
				sent++;
			}
		}
	}
	begin = wall() - begin;
	for (size_t i = 0; i < clients; i++)
		close(fds[i].fd);
	return (double)total / begin;
}

static void wait_ready(int fd)
{
	char said[512] = "";

	must(read(fd, said, sizeof(said) - 1) > 0, "start of a server");
	close(fd);
	if (strcmp(said, "ready\n") != 0) {
		fprintf(stderr, "bench_ops: %s", said);
		exit(2);
	}
}

struct figure {
	double rate, cpu_us; /* operations per second; CPU time of the server per operation */
};

/* Drives the server that said that it is ready, and ends it. */
static struct figure measure(pid_t pid, const char *socket_path, size_t clients, size_t total)
{
	struct figure f = { .rate = drive(socket_path, clients, total) };
	struct rusage used;

	kill(pid, SIGKILL);
	must(wait4(pid, NULL, 0, &used) == pid, "wait");
	f.cpu_us = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6;
	f.cpu_us += (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
	f.cpu_us /= (double)total;
	return f;
}

static struct figure measure_bare(const char *dir, bool our_loop, size_t clients, size_t total)
{
	char path[200];
	struct figure f;
	int ready[2];
	pid_t pid;

	must(pipe(ready) == 0, "pipe");
	pid = fork();
	if (pid == 0) {
		close(ready[0]);
		bare_serve(dir, our_loop, ready[1]);
	}
	close(ready[1]);
	wait_ready(ready[0]);
	snprintf(path, sizeof(path), "%s/bare.sock", dir);
	f = measure(pid, path, clients, total);
	snprintf(path, sizeof(path), "rm -f %s/bare.*", dir);
	must(system(path) == 0, "rm");
	return f;
}

static struct figure measure_daemon(const char *dir, const char *daemon, const char *shim,
		size_t clients, size_t total)
{
	char path[200], fd_text[16];
	int ready[2], log;
	pid_t pid;

	snprintf(path, sizeof(path), "rm -rf %s/repo/.overseer && mkdir %s/repo/.overseer", dir,
			dir);
	must(system(path) == 0, "mkdir");
	snprintf(path, sizeof(path), "%s/repo/.overseer", dir);
	must(pipe(ready) == 0, "pipe");
	pid = fork();
	if (pid == 0) {
		close(ready[0]);
		log = open("/dev/null", O_WRONLY);
		dup2(log, 2);
		snprintf(fd_text, sizeof(fd_text), "%d", ready[1]);
		execl(daemon, daemon, "--dir", path, "--shim", shim, "--ready-fd", fd_text,
				(char *)NULL);
		_exit(127);
	}
	close(ready[1]);
	wait_ready(ready[0]);
	snprintf(path, sizeof(path), "%s/repo/.overseer/overseer.sock", dir);
	return measure(pid, path, clients, total);
}

static void best(struct figure *f, struct figure other)
{
	f->rate = MAX(f->rate, other.rate);
	f->cpu_us = MIN(f->cpu_us, other.cpu_us);
}

/* A budget of 0 is none. */
static void report(size_t clients, const char *what, double value, const char *unit, double least)
{
	char budget_text[32] = "null";

	if (least > 0)
		snprintf(budget_text, sizeof(budget_text), "%.1f", least);
	printf("{\"name\":\"durable_ops_%zu_clients_%s\",\"value\":%.3f,\"unit\":\"%s\",\"budget\":"
	       "%s,\"ok\":%s}\n",
			clients, what, value, unit, budget_text, value >= least ? "true" : "false");
	fflush(stdout);
}

static int double_order(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return (a > b) - (a < b);
}

static double median(double *p, int n)
{
	qsort(p, (size_t)n, sizeof(*p), double_order);
	return n % 2 ? p[n / 2] : (p[n / 2 - 1] + p[n / 2]) / 2;
}

static bool compare(const char *dir, char **argv, int rounds, size_t clients, size_t total)
{
	double vs_bare[ROUNDS_MAX], vs_loop[ROUNDS_MAX], ratio;
	struct figure ours = { 0, 1e9 };

	for (int i = 0; i < rounds; i++) {
		struct figure bare = measure_bare(dir, false, clients, total),
			      own = measure_daemon(dir, argv[1], argv[2], clients, total),
			      on_loop = measure_bare(dir, true, clients, total);

		vs_bare[i] = own.rate / bare.rate;
		vs_loop[i] = own.rate / on_loop.rate;
		best(&ours, own);
	}
	ratio = median(vs_bare, rounds);
	report(clients, "per_s", ours.rate, "op/s", 0);
	report(clients, "cpu_us", ours.cpu_us, "us each", 0);
	report(clients, "vs_bare_sqlite", ratio, "ratio", budget);
	report(clients, "vs_bare_sqlite_on_our_loop", median(vs_loop, rounds), "ratio", 0);
	return ratio >= budget;
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/overseer-bench-XXXXXX", command[200];
	int rounds = argc == 4 ? atoi(argv[3]) : ROUNDS;
	bool ok;

	must(argc >= 3 && rounds > 0 && rounds <= ROUNDS_MAX,
			"usage: bench_ops OVERSEERD SHIM [ROUNDS];");
	must(mkdtemp(dir) != NULL, "mkdtemp");
	snprintf(command, sizeof(command),
			"git init -q -b main %s/repo && git -C %s/repo -c user.name=b -c "
			"user.email=b@localhost commit -q --allow-empty -m start",
			dir, dir);
	must(system(command) == 0, "git init");
	signal(SIGPIPE, SIG_IGN);
	ok = compare(dir, argv, rounds, 1, OPS_SERIAL);
	ok &= compare(dir, argv, rounds, CLIENTS_MAX, OPS_PARALLEL);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	must(system(command) == 0, "rm");
	return ok ? 0 : 1;
}
