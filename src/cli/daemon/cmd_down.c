/* Stopping the daemon, and its agents with it where that is asked for. */
#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/str.h"
#include "cli/call/command.h"
#include "data/message/vital.h"
#include "data/value/json.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"

enum { STOP_MS = 60 * 1000 };

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

/* The rows of agents that are at work, of a status. */
static size_t agent_rows(struct out *o, const value *status)
{
	const value *running = value_at(status, "running");
	size_t n = 0;

	for (size_t i = 0; i < value_count(running); i++) {
		const value *r = value_item(running, i);

		if (!str_is(value_str_at(r, "stage"), "running") &&
				!str_is(value_str_at(r, "stage"), "stop"))
			continue;
		/* Without a daemon it is known whether the agent's process is there. */
		if (value_at(r, "alive") && !value_bool_at(r, "alive"))
			continue;
		cell(o, S_BOLD, value_str_at(r, "node"));
		cell(o, S_PLAIN, out_short(o, value_str_at(r, "name"), 50));
		cell_f(o, S_DIM, "run " STR_FMT, STR_ARG(id_short(value_str_at(r, "run"))));
		row_end(o);
		n++;
	}
	return n;
}

/* Who is still at work is known only now: by the store, which nobody writes any more. */
static void tell_left(struct cli *c, const value *before)
{
	struct ov_err ignored = { 0 };
	struct out *o = &c->out;
	const value *s = before;
	size_t n;

	(void)client_call(&c->client, OP_status_get, NULL, &s, &ignored);
	n = agent_rows(o, s);
	if (n && cli_has(c, "stop-runs"))
		out_f(o,
				"%zu agent%s not stopped within supervisor.drain_timeout; the next "
				"`overseer up` sees to that:\n",
				n, n == 1 ? " had" : "s had");
	else if (n)
		out_f(o,
				"%zu agent%s without it; the next `overseer up` takes up what %s. "
				"To stop %s: overseer up && overseer down --stop-runs\n",
				n, n == 1 ? " continues" : "s continue",
				n == 1 ? "it does" : "they do", n == 1 ? "it" : "them");
	table_end(o, "  ");
}

/* A daemon that was asked to stop is not started again by its watchdog, which lives on. */
static void tell_watchdog(struct cli *c, const value *status)
{
	const value *w = value_at(status, "watch");
	long long pid = (long long)value_int_at(w, "pid");

	if (!value_bool_at(w, "alive"))
		return;
	out_f(&c->out,
			"The watchdog (pid %lld) still runs. It does not start this daemon again; "
			"it watches the next one that is started.\n"
			"To end it: Ctrl-C where `overseer watch` runs, or kill %lld\n",
			pid, pid);
}

/* What its registration says after its end: one that stopped as asked has removed it. */
static bool ended_by_itself(struct cli *c)
{
	str text;
	value *v;

	return file_read(c->arena, path_join(c->arena, c->client.dir, VITAL_DAEMON), VITAL_FILE_MAX,
			       &text, NULL) != 0 ||
			json_parse(c->arena, text, NULL, &v, NULL) != 0 ||
			value_int_at(v, "pid") != c->client.peer_pid;
}

/*
 * It was killed or crashed before it was through: what it had stopped by then is all that is known.
 */
static int tell_killed(struct cli *c, struct ov_err *err)
{
	ov_fail(err, OV_EUNAVAILABLE,
			"the daemon (pid %d) was killed or crashed before it had stopped%s",
			c->client.peer_pid,
			cli_has(c, "stop-runs") ? "; agents may still be at work" : "");
	return ov_next(err, "overseer status");
}

static void tell_down(struct cli *c, const value *before)
{
	out_f(&c->out, "overseerd stopped (pid %d, was up " STR_FMT ").\n", c->client.peer_pid,
			STR_ARG(duration_format_short(c->arena,
					value_int_at(value_at(before, "daemon"), "uptime_ms") /
							OV_SECOND * OV_SECOND)));
	tell_left(c, before);
	tell_watchdog(c, before);
}

/* One event while the daemon stops its agents. */
static void tell_event(struct cli *c, const value *e)
{
	struct out *o = &c->out;
	str type = value_str_at(e, "type"), ref = value_str_at(value_at(e, "data"), "rescue_ref");

	if (str_is(type, "run.ended"))
		out_f(o, "  " STR_FMT "  stopped\n",
				STR_ARG(out_clean(o, value_str_at(e, "node"))));
	else if (str_is(type, "run.harvested"))
		out_f(o, "  " STR_FMT "  work kept%s" STR_FMT "\n",
				STR_ARG(out_clean(o, value_str_at(e, "node"))), ref.n ? ": " : "",
				STR_ARG(out_clean(o, ref)));
}

/* Shows what happens until the daemon hangs up, or it took too long. */
static void show_progress(struct cli *c, const value *res, int64_t ms)
{
	uint64_t deadline = clock_mono_us() + (uint64_t)ms * 1000, now;
	int64_t n = value_int_at(res, "stopping_runs");
	struct ov_err ignored = { 0 };
	struct arena a = ARENA_INIT;
	const value *e;
	int r = CLIENT_EVENT;

	if (n && !c->json)
		out_f(&c->out, "Stopping %lld agent%s, for up to " STR_FMT " ...\n", (long long)n,
				n == 1 ? "" : "s",
				STR_ARG(duration_format_short(c->arena,
						value_int_at(res, "drain_timeout_ms"))));
	while (r == CLIENT_EVENT && (now = clock_mono_us()) < deadline) {
		if (out_flush(&c->out, STDOUT_FILENO, &ignored) < 0)
			break;
		arena_reset(&a);
		r = client_next_event(&c->client, &a, (int)((deadline - now) / 1000) + 1, &e,
				&ignored);
		if (r == CLIENT_EVENT && !c->json)
			tell_event(c, e);
	}
	arena_done(&a);
}

static int ask_to_stop(struct cli *c, const value **ret, struct ov_err *err)
{
	const value *ignored;
	value *params;
	int r = cli_params(c, &params, err);

	if (r == 0 && cli_has(c, "stop-runs"))
		r = client_ask(&c->client, OP_events_follow, NULL, c->timeout_ms, &ignored, err);
	return r == 0 ? client_ask(&c->client, OP_daemon_stop, params, c->timeout_ms, ret, err) : r;
}

static int stop(struct cli *c, struct ov_err *err)
{
	const value *before, *res;
	int64_t wait;
	int pidfd, r = client_ask(&c->client, OP_status_get, NULL, c->timeout_ms, &before, err);

	if (r < 0)
		return r;
	/*
	 * Opened while it still answers, so that it is the daemon and no later process of
	 * that number.
	 */
	pidfd = (int)syscall(SYS_pidfd_open, c->client.peer_pid, 0);
	if (pidfd < 0)
		return ov_fail_errno(err, errno, "watching the daemon (pid %d)",
				c->client.peer_pid);
	r = ask_to_stop(c, &res, err);
	wait = cli_has(c, "timeout") || r < 0
			? c->timeout_ms
			: MAX(2 * value_int_at(res, "drain_timeout_ms"), (int64_t)STOP_MS);
	if (r == 0 && cli_has(c, "stop-runs"))
		show_progress(c, res, wait);
	if (r == 0)
		r = wait_end(c, pidfd, wait, err);
	close(pidfd);
	if (r == 0 && !ended_by_itself(c))
		r = tell_killed(c, err);
	if (r < 0)
		return r;
	if (c->json) {
		out_json(&c->out, res);
	} else {
		tell_down(c, before);
	}
	return 0;
}

/*
 * What was asked for is the case already; agents of the last daemon can be stopped by another one.
 */
static int not_running(struct cli *c, struct ov_err *err)
{
	struct ov_err ignored = { 0 };
	const value *s;
	size_t n = 0;
	int r = client_call(&c->client, OP_status_get, NULL, &s, &ignored);

	if (r == 0 && cli_has(c, "stop-runs")) {
		n = agent_rows(&c->out, s);
		table_end(&c->out, "  ");
		buf_clear(&c->out.buf);
	}
	if (n) {
		ov_fail(err, OV_ESTATE, "the daemon is not running, but %zu of its agents %s", n,
				n == 1 ? "is" : "are");
		return ov_next(err, "overseer up && overseer down --stop-runs");
	}
	out_f(&c->out, c->json ? "{\"stopping\":false}\n" : "The daemon is not running.\n");
	if (r == 0 && !c->json)
		tell_watchdog(c, s);
	return 0;
}

int cmd_daemon_stop(struct cli *c, struct ov_err *err)
{
	int r = cli_store(c, err);

	if (r == 0)
		r = client_connect(&c->client, err);
	if (r == OV_EUNAVAILABLE)
		return not_running(c, err);
	return r < 0 ? r : stop(c, err);
}
