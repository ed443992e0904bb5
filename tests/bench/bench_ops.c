/*
 * Durable operations per second: the daemon against a bare server that reads the same requests from
 * the same kind of socket and writes the same bytes to SQLite with the same group commit, but
 * without checking, deciding, folding, chaining or publishing anything. Same client, alternating
 * runs, the best of each. With 1 client and with 64.
 * Prints one JSON line per figure; the exit status says whether every budget was kept.
 * usage: bench_ops OVERSEERD SHIM [ROUNDS]
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "sys/loop.h"

enum { ROUNDS = 7, CLIENTS_MAX = 64, OPS_SERIAL = 2000, OPS_PARALLEL = 20000, BODY_BYTES = 110 };

static const double budget = 0.6;
static const char request[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"goal.create\",\"params\":"
			      "{\"title\":\"A goal to measure with\"}}\n";

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
	struct loop *loop;
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

static void bare_request(void *user, int fd, unsigned events)
{
	static char body[BODY_BYTES], hash[32];
	struct bare *b = user;
	char line[4096];
	ssize_t n = read(fd, line, sizeof(line));

	(void)events;
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

static void bare_accept(void *user, int fd, unsigned events)
{
	struct bare *b = user;
	int conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	(void)events;
	must(conn >= 0, "accept");
	loop_io(b->loop, conn, LOOP_READ, bare_request, b);
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

static void bare_serve(const char *dir, int ready)
{
	struct bare b = { 0 };
	char path[200];

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
	must(loop_new(&b.loop, NULL) == 0, "loop");
	snprintf(path, sizeof(path), "%s/bare.sock", dir);
	loop_io(b.loop, listen_on(path), LOOP_READ, bare_accept, &b);
	loop_after(b.loop, bare_commit, &b);
	must(write(ready, "ready\n", 6) == 6, "ready");
	close(ready);
	loop_run(b.loop);
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

static struct figure measure_bare(const char *dir, size_t clients, size_t total)
{
	char path[200];
	struct figure f;
	int ready[2];
	pid_t pid;

	must(pipe(ready) == 0, "pipe");
	pid = fork();
	if (pid == 0) {
		close(ready[0]);
		bare_serve(dir, ready[1]);
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

static bool compare(const char *dir, char **argv, int rounds, size_t clients, size_t total)
{
	struct figure bare = { 0, 1e9 }, ours = { 0, 1e9 };
	double ratio;

	for (int i = 0; i < rounds; i++) {
		best(&bare, measure_bare(dir, clients, total));
		best(&ours, measure_daemon(dir, argv[1], argv[2], clients, total));
	}
	ratio = ours.rate / bare.rate;
	fprintf(stderr, "# %zu clients: %.0f op/s with %.1f us of CPU each; bare %.0f with %.1f\n",
			clients, ours.rate, ours.cpu_us, bare.rate, bare.cpu_us);
	printf("{\"name\":\"durable_ops_%zu_clients_per_s\",\"value\":%.0f,\"unit\":\"op/"
	       "s\",\"budget\":null,\"ok\":true}\n",
			clients, ours.rate);
	printf("{\"name\":\"durable_ops_%zu_clients_vs_bare_sqlite\",\"value\":%.2f,\"unit\":"
	       "\"ratio\",\"budget\":%.1f,\"ok\":%s}\n",
			clients, ratio, budget, ratio >= budget ? "true" : "false");
	return ratio >= budget;
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/overseer-bench-XXXXXX", command[200];
	int rounds = argc == 4 ? atoi(argv[3]) : ROUNDS;
	bool ok;

	must(argc >= 3 && rounds > 0, "usage: bench_ops OVERSEERD SHIM [ROUNDS];");
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
