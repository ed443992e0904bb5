/*
 * What `overseer status` costs a person who types it: the wall time of the whole program, against a
 * bare client that asks the same over the same socket and prints nothing, against `true`. And the
 * shim: a run of `true` under it, against `true` alone. And a hook, which stands between an agent
 * and each of its tools: in a run of this daemon's, and where there is no daemon. Alternating runs,
 * the median of each.
 * usage: bench_status OVERSEER SHIM DIR [ROUNDS]    with a daemon running in DIR
 *        bench_status --client SOCKET               is the bare client
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 101, ROUNDS_MAX = 1000, KINDS = 6 };

extern char **environ;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench_status: %s failed: %m\n", what);
	exit(2);
}

static double wall(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int client(const char *path)
{
	static const char request[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status.get\"}\n";
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char answer[65536];
	ssize_t n;

	must(strlen(path) < sizeof(addr.sun_path), "a short enough path");
	strcpy(addr.sun_path, path);
	must(connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0, "connect");
	must(write(fd, request, sizeof(request) - 1) > 0, "send");
	do {
		n = read(fd, answer, sizeof(answer));
		must(n > 0, "receive");
	} while (answer[n - 1] != '\n');
	return 0;
}

/* Runs a program to its end, its output to nowhere; the seconds that it took. */
static double run_with(const char *input, const char *const *argv)
{
	posix_spawn_file_actions_t actions;
	double begin = wall();
	int status;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	must(posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)argv, environ) == 0,
			argv[0]);
	must(waitpid(pid, &status, 0) == pid && status == 0, argv[0]);
	posix_spawn_file_actions_destroy(&actions);
	return wall() - begin;
}

static double run(const char *const *argv)
{
	return run_with("/dev/null", argv);
}

static void put_file(const char *dir, const char *name, const char *text)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	must(f && fputs(text, f) >= 0 && fclose(f) == 0, path);
}

/* A run's folder, with a scope and a call to be judged by it. */
static void make_run(const char *dir)
{
	char hooks[4096];

	snprintf(hooks, sizeof(hooks), "%s/hooks", dir);
	must(mkdir(dir, 0700) == 0 && mkdir(hooks, 0700) == 0, dir);
	put_file(hooks, "scope.json", "{\"format\":\"claude\",\"deny\":[\"WebFetch\",\"agents\"]}");
	put_file(dir, "call",
			"{\"hook_event_name\":\"PreToolUse\",\"session_id\":\"s\",\"tool_name\":"
			"\"Bash\","
			"\"tool_use_id\":\"t\",\"tool_input\":{\"command\":\"make test\"}}");
}

static double run_hook(const char *overseer, const char *dir)
{
	char call[4096];
	double t;

	snprintf(call, sizeof(call), "%s/call", dir);
	must(setenv("OVERSEER_RUN_DIR", dir, 1) == 0, "setenv");
	t = run_with(call, (const char *[]){ overseer, "hook", "PreToolUse", NULL });
	unsetenv("OVERSEER_RUN_DIR");
	return t;
}

/* Each call has left its line: what was measured is the whole work. */
static void check_hooks(const char *dir, int calls)
{
	char path[4096];
	int c, lines = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/hooks/events", dir);
	f = fopen(path, "r");
	must(f != NULL, path);
	while ((c = getc(f)) != EOF)
		lines += c == '\n';
	fclose(f);
	must(lines == calls, "a line for each hook");
}

static void remove_run(const char *dir)
{
	static const char *const names[] = { "hooks/scope.json", "hooks/events", "hooks", "call",
		"" };
	char path[4096];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		must(remove(path) == 0, path);
	}
}

static double run_shim(const char *shim, const char *dir, int i)
{
	char place[4096], id[16];
	const char *argv[] = { shim, "--dir", place, "--id", id, "--cwd", "/", "--max-output",
		"1000", "--stop-grace", "1000", "--", "/bin/true", NULL };

	snprintf(place, sizeof(place), "%s/bench-run-%d", dir, i);
	snprintf(id, sizeof(id), "R_%d", i);
	must(mkdir(place, 0700) == 0, "mkdir");
	return run(argv);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *times, int n)
{
	qsort(times, (size_t)n, sizeof(*times), by_size);
	return times[n / 2];
}

static int report_most(const char *name, double x, const char *unit, double budget)
{
	printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"%s\",\"budget\":%g,\"ok\":%s}\n", name,
			x, unit, budget, x <= budget ? "true" : "false");
	return x > budget;
}

static int report(const char *name, double ratio, double budget)
{
	return report_most(name, ratio, "ratio", budget);
}

static void report_ms(const char *name, double seconds)
{
	printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"ms\",\"budget\":null,\"ok\":true}\n",
			name, seconds * 1e3);
}

int main(int argc, char **argv)
{
	static double times[KINDS][ROUNDS_MAX];
	int rounds = argc == 5 ? atoi(argv[4]) : ROUNDS, missed;
	char socket_path[4096], self[4096] = "", here[4096], away[64];
	double t[KINDS];

	if (argc == 3 && strcmp(argv[1], "--client") == 0)
		return client(argv[2]);
	must(argc >= 4 && rounds > 0 && rounds <= ROUNDS_MAX, "usage: OVERSEER SHIM DIR [ROUNDS];");
	must(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0, "readlink");
	snprintf(socket_path, sizeof(socket_path), "%.4000s/overseer.sock", argv[3]);
	must(chdir(argv[3]) == 0, argv[3]);
	snprintf(here, sizeof(here), "%.4000s/bench-hook", argv[3]);
	snprintf(away, sizeof(away), "/tmp/bench-hook-%d", (int)getpid());
	make_run(here);
	make_run(away);
	for (int i = 0; i < rounds; i++) {
		times[0][i] = run((const char *[]){ "/bin/true", NULL });
		times[1][i] = run((const char *[]){ self, "--client", socket_path, NULL });
		times[2][i] = run((const char *[]){ argv[1], "status", NULL });
		times[3][i] = run_shim(argv[2], argv[3], i);
		times[4][i] = run_hook(argv[1], here);
		times[5][i] = run_hook(argv[1], away);
	}
	check_hooks(here, rounds);
	check_hooks(away, rounds);
	remove_run(away);
	for (int k = 0; k < KINDS; k++)
		t[k] = median(times[k], rounds);
	report_ms("status_ms", t[2]);
	missed = report("bare_client_wall_vs_true", t[1] / t[0], 2);
	missed += report("status_wall_vs_bare_client", t[2] / t[1], 3);
	report_ms("shim_start_to_end_ms", t[3]);
	report_ms("shim_adds_to_true_ms", t[3] - t[0]);
	missed += report_most("hook_ms", t[4] * 1e3, "ms", 3);
	missed += report_most("hook_without_daemon_ms", t[5] * 1e3, "ms", 3);
	missed += report_most("hook_wall_vs_true", t[4] / t[0], "ratio", 3);
	return missed ? 1 : 0;
}
