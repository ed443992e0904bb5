/* Starting and stopping the daemon. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/str.h"
#include "cli/child.h"
#include "cli/command.h"
#include "data/json.h"
#include "data/vital.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "watch/remedy.h"

enum { STOP_MS = 60 * 1000, REPORT_MAX = 16 * 1024, LOG_TAIL = 2000, LOG_MAX = 64 * 1024 * 1024 };

/* The last lines of the log, for whoever must find out why the daemon died. */
static str log_tail(struct cli *c, const char *path)
{
	FILE *f = fopen(path, "re");
	char text[LOG_TAIL + 1];
	size_t n = 0, cut;

	if (f && fseek(f, -LOG_TAIL, SEEK_END) < 0)
		rewind(f);
	if (f) {
		n = fread(text, 1, LOG_TAIL, f);
		fclose(f);
	}
	cut = n == LOG_TAIL ? str_find_byte((str){ text, n }, '\n') : 0;
	return arena_str(c->arena, str_trim(str_sub((str){ text, n }, cut, n)));
}

/* What the daemon says on its pipe, to the end or the deadline. */
static int read_report(struct cli *c, int fd, str *ret, struct ov_err *err)
{
	uint64_t deadline = clock_mono_us() + (uint64_t)MAX(c->timeout_ms, (int64_t)0) * 1000;
	char *text = arena_alloc(c->arena, REPORT_MAX);
	size_t got = 0;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = clock_mono_us();
		int r = now < deadline ? poll(&p, 1, (int)((deadline - now) / 1000) + 1) : 0;
		ssize_t n;

		if (r < 0 && errno == EINTR)
			continue;
		if (r == 0) {
			ov_fail(err, OV_EUNAVAILABLE,
					"the daemon was started but is not ready after %s; it goes "
					"on starting",
					duration_format_short(c->arena, c->timeout_ms).p);
			ov_next(err, "overseer status");
			return OV_EUNAVAILABLE;
		}
		n = got < REPORT_MAX ? read(fd, text + got, REPORT_MAX - got) : 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	*ret = (str){ text, got };
	return 0;
}

/* "error E_CODE", the message, what to do next. */
static int take_error(str report, struct ov_err *err)
{
	str code, next, message = report;
	size_t at;

	(void)str_split(&message, '\n', &code);
	message = str_sub(message, 0, message.n ? message.n - 1 : 0);
	for (at = message.n; at > 0 && message.p[at - 1] != '\n'; at--)
		;
	next = str_sub(message, at, message.n);
	message = str_sub(message, 0, at ? at - 1 : 0);
	ov_fail(err, ov_code_from_name(str_sub(code, sizeof("error ") - 1, code.n)), STR_FMT,
			STR_ARG(message));
	return next.n ? ov_next(err, STR_FMT, STR_ARG(next)) : err->code;
}

static int died(struct cli *c, int pid, const char *log, struct ov_err *err)
{
	str tail = log_tail(c, log);
	int status = 0;

	(void)waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		ov_fail(err, OV_EUNAVAILABLE,
				"the daemon was killed by signal %d while starting\n" STR_FMT,
				WTERMSIG(status), STR_ARG(tail));
	else
		ov_fail(err, OV_EUNAVAILABLE,
				"the daemon ended with status %d while starting\n" STR_FMT,
				WEXITSTATUS(status), STR_ARG(tail));
	return ov_next(err, "less %s", log);
}

/* Flags of auto mode that stand for options. */
static const struct {
	const char *flag, *option;
} auto_flags[] = {
	{ "task-pool-command", "auto.task_pool_command" },
	{ "concurrency", "auto.concurrency" },
	{ "agent", "auto.agent" },
	{ "pre-accept-command", "auto.pre_accept_command" },
	{ "post-accept-command", "auto.post_accept_command" },
};

static int not_automatic(struct cli *c, const char *flag, struct ov_err *err)
{
	ov_fail(err, OV_EINVALID, "--%s is of auto mode: it needs --auto", flag);
	return ov_next(err, "overseer " STR_FMT " --auto --%s ...",
			STR_ARG(command_name(c->arena, c->command)), flag);
}

int daemon_options(struct cli *c, const char *const **ret, size_t *ret_n, struct ov_err *err)
{
	const value *sets = cli_list(c, "set");
	const char **words = arena_array(c->arena, const char *,
			2 * (ARRAY_LEN(auto_flags) + value_count(sets)) + 2);
	size_t n = 0;

	if (cli_has(c, "auto"))
		words[n++] = "--auto";
	for (size_t i = 0; i < value_count(sets); i++) {
		words[n++] = "--set";
		words[n++] = arena_cstr(c->arena, value_str_or(value_item(sets, i), STR("")));
	}
	for (size_t i = 0; i < ARRAY_LEN(auto_flags); i++) {
		if (!cli_has(c, auto_flags[i].flag))
			continue;
		if (!cli_has(c, "auto"))
			return not_automatic(c, auto_flags[i].flag, err);
		words[n++] = "--set";
		words[n++] = arena_printf(c->arena, "%s=" STR_FMT, auto_flags[i].option,
				STR_ARG(cli_flag(c, auto_flags[i].flag)))
					     .p;
	}
	*ret = words;
	*ret_n = n;
	return 0;
}

/* ready_fd: who waits for the daemon, or NULL. */
static int daemon_args(struct cli *c, const char *program, const char *ready_fd,
		const char *const **ret, struct ov_err *err)
{
	const char **argv, *const *options;
	size_t n = 0, options_n;
	int r = daemon_options(c, &options, &options_n, err);

	if (r < 0)
		return r;
	argv = arena_array(c->arena, const char *, options_n + 6);
	argv[n++] = program;
	argv[n++] = "--dir";
	argv[n++] = c->client.dir;
	if (ready_fd) {
		argv[n++] = "--ready-fd";
		argv[n++] = ready_fd;
	}
	for (size_t i = 0; i < options_n; i++)
		argv[n++] = options[i];
	*ret = argv;
	return 0;
}

static int start_background(struct cli *c, const char *program, struct ov_err *err)
{
	const char *const *argv;
	const char *logs = path_join(c->arena, c->client.dir, "logs"),
		   *log = path_join(c->arena, logs, "daemon.log");
	int pid, fd, r = daemon_args(c, program, "3", &argv, err);
	str report;

	if (r == 0)
		r = dir_make(logs, 0700, err);
	if (r == 0)
		r = spawn_daemon(argv, path_join(c->arena, c->client.dir, ".."), log, &pid, &fd,
				err);
	if (r < 0)
		return r;
	r = read_report(c, fd, &report, err);
	close(fd);
	if (r < 0 || str_is(report, "ready\n"))
		return r;
	if (!str_starts(report, STR("error ")))
		return died(c, pid, log, err);
	r = take_error(report, err);
	(void)waitpid(pid, NULL, 0);
	return r;
}

static void tell_up(struct cli *c, const value *s)
{
	const value *d = value_at(s, "daemon"), *goals = value_at(s, "goals");
	size_t open = 0, busy = value_count(value_at(s, "running"));
	str store = value_str_at(d, "store"), dir = value_str_at(d, "dir");
	struct out *o = &c->out;

	if (str_starts(store, STR("sqlite:")))
		store = str_sub(store, sizeof("sqlite:") - 1, store.n);
	if (str_starts(store, dir))
		store = arena_printf(c->arena, ".overseer" STR_FMT,
				STR_ARG(str_sub(store, dir.n, store.n)));
	out_f(o, "overseerd " STR_FMT " is up (pid %lld, store " STR_FMT,
			STR_ARG(value_str_at(d, "version")), (long long)value_int_at(d, "pid"),
			STR_ARG(out_clean(o, store)));
	if (value_int_at(d, "http_port"))
		out_f(o, ", http://127.0.0.1:%lld/", (long long)value_int_at(d, "http_port"));
	out_f(o, ")\n");
	if (value_count(value_at(s, "safe_mode"))) {
		out_f(o, "It is in safe mode: the store is damaged.  Next: overseer status\n");
		return;
	}
	for (size_t i = 0; i < value_count(goals); i++)
		open += str_is(value_str_at(value_item(goals, i), "status"), "active");
	if (value_bool_at(value_at(s, "auto"), "on"))
		out_f(o,
				"Auto mode is on, with up to %lld workers.  Next: overseer status "
				"--watch\n",
				(long long)value_int_at(value_at(s, "auto"), "concurrency"));
	else if (open || busy)
		out_f(o,
				"%zu goal%s open, %zu piece%s of work under way.  Next: overseer "
				"status --watch\n",
				open, open == 1 ? "" : "s", busy, busy == 1 ? "" : "s");
	else
		out_f(o,
				"Nothing to do yet.  Next: overseer goal create --title \"...\" "
				"[--plan plan.json]\n");
	tell_unchecked(o, s);
}

int cmd_up(struct cli *c, struct ov_err *err)
{
	const char *program, *const *argv;
	const value *s, *res;
	int r = cli_store(c, err);

	/* Whoever mends may start it to see: it is none of what is swept afterwards. */
	(void)unsetenv(REMEDY_MARK);
	if (r == 0)
		r = program_find(c->arena, "overseerd", "OVERSEERD", &program, err);
	if (r < 0)
		return r;
	if (cli_has(c, "foreground")) {
		r = daemon_args(c, program, NULL, &argv, err);
		if (r < 0)
			return r;
		execv(program, (char *const *)argv);
		return ov_fail_errno(err, errno, "starting %s", program);
	}
	r = start_background(c, program, err);
	if (r == 0)
		r = client_call(&c->client, CALL_WRITE, "status.get", NULL, &s, err);
	if (r < 0)
		return r;
	if (!c->json) {
		tell_up(c, s);
		return 0;
	}
	res = value_at(s, "daemon");
	json_write(&c->out.buf, res);
	buf_addc(&c->out.buf, '\n');
	return 0;
}

/* Where the daemon says that its log is; one under a service manager has it elsewhere. */
static int next_log(struct cli *c, struct ov_err *err)
{
	str text, log = STR("");
	value *v;

	if (file_read(c->arena, path_join(c->arena, c->client.dir, VITAL_DAEMON), VITAL_FILE_MAX,
			    &text, NULL) == 0 &&
			json_parse(c->arena, text, NULL, &v, NULL) == 0)
		log = value_str_at(v, "log_file");
	return log.n ? ov_next(err, "less " STR_FMT, STR_ARG(log))
		     : ov_next(err, "overseer explain daemon");
}

/* Waits for the end of the process that listened on the socket. */
static int wait_end(struct cli *c, int pidfd, int64_t ms, struct ov_err *err)
{
	uint64_t deadline = clock_mono_us() + (uint64_t)ms * 1000;
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int r;

	do {
		uint64_t now = clock_mono_us();

		r = poll(&p, 1, now < deadline ? (int)((deadline - now) / 1000) + 1 : 0);
	} while (r < 0 && errno == EINTR);
	if (r != 0)
		return r < 0 ? ov_fail_errno(err, errno, "waiting for the daemon's end") : 0;
	ov_fail(err, OV_EUNAVAILABLE,
			"the daemon (pid %d) was asked to stop but still runs after %s",
			c->client.peer_pid, duration_format_short(c->arena, ms).p);
	return next_log(c, err);
}

static void tell_down(struct cli *c, const value *s)
{
	const value *running = value_at(s, "running");
	struct out *o = &c->out;
	size_t n = 0;

	out_f(o, "overseerd stopped (pid %d, was up " STR_FMT ").\n", c->client.peer_pid,
			STR_ARG(duration_format_short(c->arena,
					value_int_at(value_at(s, "daemon"), "uptime_ms") /
							OV_SECOND * OV_SECOND)));
	for (size_t i = 0; i < value_count(running); i++) {
		const value *r = value_item(running, i);

		if (!str_is(value_str_at(r, "stage"), "running"))
			continue;
		cell(o, S_BOLD, value_str_at(r, "node"));
		cell(o, S_PLAIN, out_short(o, value_str_at(r, "name"), 50));
		cell_f(o, S_DIM, "run " STR_FMT, STR_ARG(id_short(value_str_at(r, "run"))));
		row_end(o);
		n++;
	}
	if (n)
		out_f(o,
				"%zu run%s on without it; what %s is kept and taken up by the next "
				"`overseer up`:\n",
				n, n == 1 ? " goes" : "s go", n == 1 ? "it does" : "they do");
	table_end(o, "  ");
}

static int stop(struct cli *c, struct ov_err *err)
{
	const value *s, *res;
	int64_t wait = cli_has(c, "timeout") ? c->timeout_ms : STOP_MS;
	int pidfd, r = client_ask(&c->client, "status.get", NULL, c->timeout_ms, &s, err);

	if (r < 0)
		return r;
	/* Opened while it still answers, so that it is the daemon and no later process of that number. */
	pidfd = (int)syscall(SYS_pidfd_open, c->client.peer_pid, 0);
	if (pidfd < 0)
		return ov_fail_errno(err, errno, "watching the daemon (pid %d)",
				c->client.peer_pid);
	r = client_ask(&c->client, "daemon.stop", NULL, c->timeout_ms, &res, err);
	if (r == 0)
		r = wait_end(c, pidfd, wait, err);
	close(pidfd);
	if (r < 0)
		return r;
	if (c->json) {
		json_write(&c->out.buf, res);
		buf_addc(&c->out.buf, '\n');
	} else {
		tell_down(c, s);
	}
	return 0;
}

int cmd_down(struct cli *c, struct ov_err *err)
{
	int r = cli_store(c, err);

	if (r == 0)
		r = client_connect(&c->client, err);
	if (r == OV_EUNAVAILABLE) {
		/* What was asked for is the case already. */
		out_f(&c->out, c->json ? "{\"stopping\":false}\n" : "The daemon is not running.\n");
		return 0;
	}
	return r < 0 ? r : stop(c, err);
}
