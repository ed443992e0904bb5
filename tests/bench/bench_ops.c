/*
 * Durable operations per second: the daemon against a bare server that reads the same requests from
 * the same kind of socket and writes the same bytes to SQLite with the same group commit, but
 * without checking, deciding, folding, chaining or publishing anything. Same client, alternating
 * runs, the best of each. With 1 client and with 64.
 * Prints one JSON line per figure; the exit status says whether every budget was kept.
 * usage: bench_ops OVERSEERD SHIM
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "sys/loop.h"

enum { ROUNDS = 5, CLIENTS_MAX = 64, OPS_SERIAL = 2000, OPS_PARALLEL = 20000, BODY_BYTES = 110 };

static const double budget = 0.6;
static const char request[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"goal.create\",\"params\":{\"title\":\"A goal to measure with\"}}\n";

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
	static const char answer[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"goal\":\"goal_01M7EGJRNPH8A3JRNCRKMQM0KF\"}}\n";
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

static int listen_on(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	must(bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 && listen(fd, 256) == 0, "listen");
	return fd;
}

static void bare_serve(const char *dir, int ready)
{
	struct bare b = { 0 };
	char path[200];

	snprintf(path, sizeof(path), "%s/bare.db", dir);
	must(sqlite3_open(path, &b.db) == SQLITE_OK, "open");
	must(sqlite3_exec(b.db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE log(seq INTEGER PRIMARY KEY, at, kind, body, hash)",
			     NULL, NULL, NULL) == SQLITE_OK, "pragma");
	sqlite3_prepare_v2(b.db, "INSERT INTO log(at, kind, body, hash) VALUES(?,?,?,?)", -1, &b.insert, NULL);
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
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
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

static double measure_bare(const char *dir, size_t clients, size_t total)
{
	char path[200];
	int ready[2];
	double rate;
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
	rate = drive(path, clients, total);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	snprintf(path, sizeof(path), "rm -f %s/bare.*", dir);
	must(system(path) == 0, "rm");
	return rate;
}

static double measure_daemon(const char *dir, const char *daemon, const char *shim, size_t clients, size_t total)
{
	char path[200], fd_text[16];
	int ready[2], log;
	double rate;
	pid_t pid;

	snprintf(path, sizeof(path), "rm -rf %s/repo/.overseer && mkdir %s/repo/.overseer", dir, dir);
	must(system(path) == 0, "mkdir");
	snprintf(path, sizeof(path), "%s/repo/.overseer", dir);
	must(pipe(ready) == 0, "pipe");
	pid = fork();
	if (pid == 0) {
		close(ready[0]);
		log = open("/dev/null", O_WRONLY);
		dup2(log, 2);
		snprintf(fd_text, sizeof(fd_text), "%d", ready[1]);
		execl(daemon, daemon, "--dir", path, "--shim", shim, "--ready-fd", fd_text, (char *)NULL);
		_exit(127);
	}
	close(ready[1]);
	wait_ready(ready[0]);
	snprintf(path, sizeof(path), "%s/repo/.overseer/overseer.sock", dir);
	rate = drive(path, clients, total);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return rate;
}

static bool compare(const char *dir, char **argv, size_t clients, size_t total)
{
	double bare = 0, ours = 0, ratio;

	for (int i = 0; i < ROUNDS; i++) {
		double b = measure_bare(dir, clients, total), o = measure_daemon(dir, argv[1], argv[2], clients, total);

		bare = MAX(bare, b);
		ours = MAX(ours, o);
	}
	ratio = ours / bare;
	printf("{\"name\":\"durable_ops_%zu_clients_per_s\",\"value\":%.0f,\"unit\":\"op/s\",\"budget\":null,\"ok\":true}\n", clients, ours);
	printf("{\"name\":\"durable_ops_%zu_clients_vs_bare_sqlite\",\"value\":%.2f,\"unit\":\"ratio\",\"budget\":%.1f,\"ok\":%s}\n",
			clients, ratio, budget, ratio >= budget ? "true" : "false");
	return ratio >= budget;
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/overseer-bench-XXXXXX", command[200];
	bool ok;

	must(argc == 3, "usage: bench_ops OVERSEERD SHIM;");
	must(mkdtemp(dir) != NULL, "mkdtemp");
	snprintf(command, sizeof(command),
			"git init -q -b main %s/repo && git -C %s/repo -c user.name=b -c user.email=b@localhost commit -q --allow-empty -m start", dir, dir);
	must(system(command) == 0, "git init");
	signal(SIGPIPE, SIG_IGN);
	ok = compare(dir, argv, 1, OPS_SERIAL);
	ok &= compare(dir, argv, CLIENTS_MAX, OPS_PARALLEL);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	must(system(command) == 0, "rm");
	return ok ? 0 : 1;
}
