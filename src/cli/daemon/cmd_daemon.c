/* Starting the daemon. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/str.h"
#include "cli/call/child.h"
#include "cli/call/command.h"
#include "cli/daemon/daemon.h"
#include "cli/daemon/trust.h"
#include "cli/out/status_watch.h"
#include "cli/out/unchecked.h"
#include "core/config/config.h"
#include "data/message/vital.h"
#include "data/value/json.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"
#include "watch/remedy/remedy.h"

enum {
	CONFIG_MAX = 1024 * 1024,
	REPORT_MAX = 16 * 1024,
	LOG_TAIL = 2000,
	LOG_MAX = 64 * 1024 * 1024,
	/*
	 * A killed daemon needs a moment until it is gone: its socket and its lock outlive
	 * the signal.
	 */
	DYING_MS = 5000,
	UP_TRIES = 4
};

/* The last lines of the log, for whoever must find out why the daemon died. */
static str log_tail(struct cli *c, const char *path)
{
	int fd = file_open(path, O_RDONLY, 0);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
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
			return ov_next(err, "overseer status");
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

/* What is set on the command line: each as it was typed, and as the daemon takes it. */
struct sets {
	const char **values; /* "KEY=VALUE" */
	const char **typed;  /* "--concurrency 0" */
	size_t n;
};

static const char *typed(struct cli *c, const char *flag, str text)
{
	const char *quote = str_find_byte(text, ' ') < text.n ? "'" : "";

	return arena_printf(c->arena, "--%s %s" STR_FMT "%s", flag, quote, STR_ARG(text), quote).p;
}

static int take_sets(struct cli *c, struct sets *ret, struct ov_err *err)
{
	const value *given = cli_list(c, "set");
	size_t most = ARRAY_LEN(auto_flags) + value_count(given);
	struct sets s = { .values = arena_array(c->arena, const char *, most + 1),
		.typed = arena_array(c->arena, const char *, most + 1) };

	for (size_t i = 0; i < value_count(given); i++) {
		str text = value_str_or(value_item(given, i), STR(""));

		s.values[s.n] = arena_cstr(c->arena, text);
		s.typed[s.n++] = typed(c, "set", text);
	}
	for (size_t i = 0; i < ARRAY_LEN(auto_flags); i++) {
		str text = cli_flag(c, auto_flags[i].flag);

		if (!cli_has(c, auto_flags[i].flag))
			continue;
		if (!cli_has(c, "auto"))
			return not_automatic(c, auto_flags[i].flag, err);
		s.values[s.n] = arena_printf(c->arena, "%s=" STR_FMT, auto_flags[i].option,
				STR_ARG(text))
						.p;
		s.typed[s.n++] = typed(c, auto_flags[i].flag, text);
	}
	*ret = s;
	return 0;
}

/*
 * The configuration with the first n of what is set; with a bad file the daemon is the one
 * to complain.
 */
static int try_config(struct cli *c, const struct sets *s, size_t n, struct config **ret,
		struct ov_err *err)
{
	str text = STR("");
	int r = file_read(c->arena, path_join(c->arena, c->client.dir, "config.toml"), CONFIG_MAX,
			&text, err);

	if (r == OV_ENOTFOUND)
		r = 0;
	return r == 0 ? config_parse_with(text, s->values, n, ret, err) : r;
}

/* What is wrong with an option is said of the option, not of a file that does not have it. */
static int check_sets(struct cli *c, const struct sets *s, struct ov_err *err)
{
	struct ov_err why = { 0 };
	struct config *config;
	int r = s->n ? try_config(c, s, 0, &config, &why) : OV_ENOTFOUND;

	for (size_t i = 0; r == 0; i++) {
		config_free(config);
		if (i == s->n)
			return 0;
		r = try_config(c, s, i + 1, &config, &why);
		if (r == 0)
			continue;
		ov_fail(err, r, "%s: %s", s->typed[i], why.msg);
		return ov_next(err, "overseer " STR_FMT " --help",
				STR_ARG(command_name(c->arena, c->command)));
	}
	return 0;
}

int daemon_options(struct cli *c, const char *const **ret, size_t *ret_n, struct ov_err *err)
{
	const char **words;
	struct sets s;
	size_t n = 0;
	int r = take_sets(c, &s, err);

	if (r == 0)
		r = check_sets(c, &s, err);
	if (r < 0)
		return r;
	words = arena_array(c->arena, const char *, 2 * s.n + 2);
	if (cli_has(c, "auto"))
		words[n++] = "--auto";
	for (size_t i = 0; i < s.n; i++) {
		words[n++] = "--set";
		words[n++] = s.values[i];
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
	const value *d = value_at(s, "daemon");
	str store = value_str_at(d, "store"), dir = value_str_at(d, "dir");
	struct out *o = &c->out;

	if (str_starts(store, STR("sqlite:")))
		store = str_sub(store, sizeof("sqlite:") - 1, store.n);
	if (str_starts(store, dir))
		store = arena_printf(c->arena, ".overseer" STR_FMT,
				STR_ARG(str_sub(store, dir.n, store.n)));
	out_f(o, "overseerd " STR_FMT " is up (pid %lld, store " STR_FMT ")\n",
			STR_ARG(value_str_at(d, "version")), (long long)value_int_at(d, "pid"),
			STR_ARG(out_clean(o, store)));
	for (size_t i = 0; i < value_count(value_at(d, "config_notes")); i++)
		out_f(o, "config.toml: " STR_FMT "\n",
				STR_ARG(value_str_or(value_item(value_at(d, "config_notes"), i),
						STR(""))));
	show_unfenced(o, s);
	status_outlook(o, s);
	tell_unchecked(o, s);
}

/* With --json: the daemon, and whether it was up before. */
static void write_daemon(struct cli *c, const value *s, bool before)
{
	value *v = value_copy(c->arena, value_at(s, "daemon"));

	value_put(c->arena, v, "already_up", value_bool(c->arena, before));
	out_json(&c->out, v);
}

/* The options that the daemon that runs does not have, as typed; empty when it has all of them. */
static int missing_options(struct cli *c, const value *status, str *ret, struct ov_err *err)
{
	const value *shown, *theirs, *ours;
	struct config *config;
	struct sets s;
	str missing = STR("");
	int r = take_sets(c, &s, err);

	if (r == 0)
		r = client_ask_daemon(&c->client, OP_config_show, NULL, &shown, err);
	if (r == 0)
		r = try_config(c, &s, s.n, &config, err);
	if (r < 0)
		return r;
	theirs = value_at(shown, "options");
	ours = config_view(c->arena, config);
	if (cli_has(c, "auto") && !value_bool_at(value_at(status, "auto"), "on"))
		missing = STR("--auto");
	for (size_t i = 0; i < s.n; i++) {
		str key = str_sub(str_from(s.values[i]), 0,
				str_find_byte(str_from(s.values[i]), '='));

		if (!value_equal(value_at(value_get(theirs, key), "value"),
				    value_at(value_get(ours, key), "value")))
			missing = arena_printf(c->arena, STR_FMT "%s%s", STR_ARG(missing),
					missing.n ? " " : "", s.typed[i]);
	}
	config_free(config);
	*ret = missing;
	return 0;
}

/* Auto mode can be had from the daemon that runs, with these of its options. */
static int next_options(str missing, struct ov_err *err)
{
	static const char *const live[] = { "--task-pool-command ", "--concurrency " };
	bool starts = str_is(missing, "--auto");
	str rest = STR("");

	if (str_starts(missing, STR("--auto ")))
		rest = str_sub(missing, sizeof("--auto ") - 1, missing.n);
	for (size_t i = 0; i < ARRAY_LEN(live); i++)
		starts |= str_starts(rest, str_from(live[i])) && !str_contains(rest, STR(" --"));
	if (starts)
		return ov_next(err, "overseer auto start%s" STR_FMT, rest.n ? " " : "",
				STR_ARG(rest));
	return ov_next(err, "overseer down && overseer up " STR_FMT, STR_ARG(missing));
}

/* What was asked for is the case already, unless it was asked for with options that are not. */
static int already_up(struct cli *c, struct ov_err *err)
{
	const value *s, *d;
	str missing = STR(""), since;
	int r = client_ask_daemon(&c->client, OP_status_get, NULL, &s, err);

	if (r == 0)
		r = missing_options(c, s, &missing, err);
	if (r < 0)
		return r;
	d = value_at(s, "daemon");
	since = out_age(&c->out, value_str_at(d, "started_at"));
	if (missing.n) {
		ov_fail(err, OV_ESTATE,
				"overseerd is already up (pid %lld, up " STR_FMT
				"), so these options have no effect: " STR_FMT,
				(long long)value_int_at(d, "pid"), STR_ARG(since),
				STR_ARG(missing));
		return next_options(missing, err);
	}
	if (c->json) {
		write_daemon(c, s, true);
		return 0;
	}
	out_f(&c->out, "overseerd is already up (pid %lld, up " STR_FMT ").\n",
			(long long)value_int_at(d, "pid"), STR_ARG(since));
	status_outlook(&c->out, s);
	return 0;
}

static int stay_in_foreground(struct cli *c, const char *program, struct ov_err *err)
{
	const char *const *argv;
	int r = daemon_args(c, program, NULL, &argv, err);

	if (r < 0)
		return r;
	execv(program, (char *const *)argv);
	return ov_fail_errno(err, errno, "starting %s", program);
}

/* The process that registered itself last, so that its end can be awaited; negative: it is gone. */
static int registered_daemon(struct cli *c)
{
	value *v;
	str text;

	if (file_read(c->arena, path_join(c->arena, c->client.dir, VITAL_DAEMON), VITAL_FILE_MAX,
			    &text, NULL) < 0 ||
			json_parse(c->arena, text, NULL, &v, NULL) < 0 ||
			value_int_at(v, "pid") <= 0)
		return -1;
	return (int)syscall(SYS_pidfd_open, (pid_t)value_int_at(v, "pid"), 0);
}

static bool ends_soon(int pidfd)
{
	uint64_t deadline = clock_mono_us() + (uint64_t)DYING_MS * 1000, now;
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int r;

	do {
		now = clock_mono_us();
		r = poll(&p, 1, now < deadline ? (int)((deadline - now) / 1000) + 1 : 0);
	} while (r < 0 && errno == EINTR);
	return r > 0;
}

/* One try; ret_again: what was in the way is gone, or somebody else was faster. */
static int try_up(struct cli *c, const char *program, bool *ret_started, bool *ret_again,
		struct ov_err *err)
{
	_cleanup_(fd_closep) int pidfd = registered_daemon(c);
	bool up = client_connect(&c->client, NULL) == 0;
	int r = up ? already_up(c, err) : start_background(c, program, err);

	*ret_started = r == 0 && !up;
	*ret_again = false;
	if (up && r == OV_EUNAVAILABLE && c->client.fd < 0)
		*ret_again = pidfd < 0 || ends_soon(pidfd);
	else if (!up && r == OV_ECONFLICT)
		*ret_again = client_connect(&c->client, NULL) == 0 ||
				(pidfd >= 0 && ends_soon(pidfd));
	return r;
}

int cmd_up(struct cli *c, struct ov_err *err)
{
	const char *program, *const *options;
	bool again = true, started = false;
	const value *s;
	size_t options_n;
	int r = cli_store(c, err);

	/* A remediation may start the daemon to try it out; the sweep after it must not end it. */
	(void)unsetenv(REMEDY_MARK);
	if (r == 0)
		r = store_trusted(c->arena, c->client.dir, err);
	if (r == 0)
		r = program_find(c->arena, "overseerd", "OVERSEERD", &program, err);
	if (r < 0)
		return r;
	/* A service manager wants its own daemon, or to be told that it cannot have one. */
	if (cli_has(c, "foreground"))
		return stay_in_foreground(c, program, err);
	r = daemon_options(c, &options, &options_n, err);
	if (r < 0)
		return r;
	for (int i = 0; again && i < UP_TRIES; i++)
		r = try_up(c, program, &started, &again, err);
	if (r < 0 || !started)
		return r;
	r = client_ask_daemon(&c->client, OP_status_get, NULL, &s, err);
	if (r < 0)
		return r;
	if (c->json)
		write_daemon(c, s, false);
	else
		tell_up(c, s);
	return 0;
}
