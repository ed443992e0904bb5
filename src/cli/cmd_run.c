#include <unistd.h>

#include "base/duration.h"
#include "base/str.h"
#include "cli/command.h"
#include "data/json.h"

enum { LOG_PAGE = 256 * 1024, LOG_WAIT_MS = 25 * 1000 };

/* How it ended, in a word or two. */
static str outcome(struct arena *a, const value *x)
{
	if (!str_is(value_str_at(x, "status"), "ended"))
		return value_str_at(x, "status");
	if (value_bool_at(x, "lost"))
		return STR("lost");
	if (value_int_at(x, "signal"))
		return arena_printf(a, "signal %lld", (long long)value_int_at(x, "signal"));
	return arena_printf(a, "exit %lld", (long long)value_int_at(x, "exit_code"));
}

static enum style outcome_style(const value *x)
{
	bool bad = value_bool_at(x, "lost") || value_int_at(x, "signal") ||
			value_int_at(x, "exit_code");

	return !str_is(value_str_at(x, "status"), "ended") ? S_CYAN : bad ? S_RED : S_GREEN;
}

static str run_time(struct arena *a, const value *x)
{
	int64_t ms = value_int_at(x, "duration_ms");

	return duration_format_short(a, ms >= OV_SECOND ? ms / OV_SECOND * OV_SECOND : ms);
}

int cmd_run_list(struct cli *c, struct ov_err *err)
{
	value *params = value_object(c->arena);
	struct ids ids = { 0 };
	struct out *o = &c->out;
	const value *res, *runs;
	bool done;
	int r;

	cli_param(c, params, "goal", "goal");
	cli_param(c, params, "node", "node");
	cli_param(c, params, "status", "status");
	ids.partial = params->object.n > 0;
	r = cli_call(c, CALL_READ, "run.list", params, &res, &done, err);
	if (r != 0 || done)
		return r;
	runs = value_at(res, "runs");
	for (size_t i = 0; i < value_count(runs); i++)
		ids_add(&ids, value_str_at(value_item(runs, i), "id"));
	for (size_t i = 0; i < value_count(runs); i++) {
		const value *x = value_item(runs, i);

		cell(o, S_BOLD, ids_short(&ids, value_str_at(x, "id")));
		cell(o, S_PLAIN, value_str_at(x, "node_id"));
		cell_f(o, S_PLAIN, "attempt %lld", (long long)value_int_at(x, "attempt"));
		cell(o, S_PLAIN, value_str_at(x, "agent"));
		cell(o, outcome_style(x), outcome(c->arena, x));
		cell(o, status_style(value_str_at(x, "verification")),
				value_str_at(x, "verification"));
		cell_right(o, S_DIM, run_time(c->arena, x));
		cell_f(o, S_DIM, STR_FMT " ago",
				STR_ARG(out_age(o, value_str_at(x, "created_at"))));
		row_end(o);
	}
	table_end(o, "");
	ids_done(&ids);
	if (value_count(runs) == 0)
		out_f(o, "No runs%s.\n", params->object.n ? " fit" : " yet");
	return 0;
}

/* What held its processes together; nothing before it has ended. */
static str containment(const value *x)
{
	str by = value_str_at(x, "containment");

	return str_is(by, "cgroup")           ? STR("in a control group of its own")
			: str_is(by, "sweep") ? STR("by its shim and the sweep")
					      : STR("");
}

static void show_run(struct cli *c, const value *x)
{
	struct out *o = &c->out;
	struct arena *a = c->arena;
	int64_t dropped = value_int_at(x, "dropped_bytes");

	out_styled(o, S_BOLD, value_str_at(x, "id"));
	out_f(o, "  ");
	out_styled(o, outcome_style(x), outcome(a, x));
	out_f(o, " after " STR_FMT "\n", STR_ARG(run_time(a, x)));
	out_field(o, "Node",
			arena_printf(a, STR_FMT "/" STR_FMT ", attempt %lld, epoch %lld",
					STR_ARG(id_short(value_str_at(x, "goal_id"))),
					STR_ARG(value_str_at(x, "node_id")),
					(long long)value_int_at(x, "attempt"),
					(long long)value_int_at(x, "epoch")));
	out_field(o, "Agent",
			arena_printf(a, STR_FMT " in " STR_FMT, STR_ARG(value_str_at(x, "agent")),
					STR_ARG(value_str_at(x, "worker"))));
	if (value_str_at(x, "session").n)
		out_field(o, "Session",
				arena_printf(a, "%s" STR_FMT "%s" STR_FMT,
						value_bool_at(x, "resumed") ? "resumed " : "",
						STR_ARG(value_str_at(x, "session")),
						value_str_at(x, "model").n ? ", model " : "",
						STR_ARG(value_str_at(x, "model"))));
	out_field(o, "Started",
			value_str_at(x, "started_at").n
					? arena_printf(a, STR_FMT " (" STR_FMT " ago)",
							  STR_ARG(out_clock(o,
									  value_str_at(x,
											  "started_"
											  "at"))),
							  STR_ARG(out_age(o,
									  value_str_at(x,
											  "started_"
											  "at"))))
					: STR("not yet"));
	out_field(o, "Now", value_str_at(value_at(x, "now"), "text"));
	out_field(o, "Message", value_str_at(x, "message"));
	out_field(o, "Verified",
			arena_printf(a, STR_FMT "%s" STR_FMT,
					STR_ARG(value_str_at(x, "verification")),
					value_str_at(x, "verification_detail").n ? ": " : "",
					STR_ARG(value_str_at(x, "verification_detail"))));
	out_field(o, "Kept",
			arena_printf(a, "%lld commits, %lld files changed%s",
					(long long)value_int_at(x, "commits"),
					(long long)value_int_at(x, "files_changed"),
					value_bool_at(x, "leftovers")
							? "; uncommitted work was committed for it"
							: ""));
	out_field(o, "Rescue", value_str_at(x, "rescue_ref"));
	out_field(o, "Contained", containment(x));
	out_field(o, "Output",
			arena_printf(a, STR_FMT "%s" STR_FMT "%s in " STR_FMT,
					STR_ARG(out_bytes(o, value_int_at(x, "output_bytes"))),
					dropped ? " (" : "",
					STR_ARG(dropped ? out_bytes(o, dropped) : STR("")),
					dropped ? " more left out)" : "",
					STR_ARG(value_str_at(x, "dir"))));
	table_end(o, "");
	out_f(o, "Next  overseer run log " STR_FMT "\n", STR_ARG(id_short(value_str_at(x, "id"))));
}

int cmd_run_show(struct cli *c, struct ov_err *err)
{
	value *params = value_object(c->arena);
	const value *res;
	bool done;
	int r;

	value_put(c->arena, params, "run", value_str(c->arena, c->args[0]));
	r = cli_call(c, CALL_READ, "run.show", params, &res, &done, err);
	if (r == 0 && !done)
		show_run(c, res);
	return r;
}

static void print_page(struct cli *c, const value *page)
{
	str text = value_str_at(page, "text");
	int64_t left_out = value_int_at(page, "left_out_bytes");

	if (c->json) {
		json_write(&c->out.buf, page);
		buf_addc(&c->out.buf, '\n');
		return;
	}
	if (left_out && !cli_has(c, "raw")) {
		const char *dots = c->out.utf8 ? "\xe2\x80\xa6" : "...";

		out_f(&c->out, "\n%s " STR_FMT " left out %s\n", dots,
				STR_ARG(out_bytes(&c->out, left_out)), dots);
	}
	buf_adds(&c->out.buf, cli_has(c, "raw") ? text : out_clean_lines(&c->out, text));
}

/* One page from the offset on; while following, the daemon waits for more. */
static int read_page(struct cli *c, struct arena *a, int64_t offset, bool follow, const value **ret,
		struct ov_err *err)
{
	value *params = value_object(a);

	value_put(a, params, "run", value_str(a, c->args[0]));
	value_put(a, params, "offset", value_int(a, offset));
	value_put(a, params, "max_bytes", value_int(a, LOG_PAGE));
	if (!follow)
		return client_call(&c->client, CALL_READ, "run.log", params, ret, err);
	value_put(a, params, "wait_ms", value_int(a, LOG_WAIT_MS));
	return client_ask(&c->client, "run.log", params, LOG_WAIT_MS + c->timeout_ms, ret, err);
}

static int log_loop(struct cli *c, struct arena *a, bool follow, struct ov_err *err)
{
	int64_t offset = 0;

	for (;;) {
		const value *page;
		int64_t next;
		bool ended;
		int r;

		arena_reset(a);
		r = read_page(c, a, offset, follow, &page, err);
		if (r != 0)
			return r;
		next = value_int_at(page, "next_offset");
		ended = value_bool_at(page, "ended");
		if (next > offset || (c->json && offset == 0 && !follow))
			print_page(c, page);
		r = out_flush(&c->out, STDOUT_FILENO, err);
		if (r < 0)
			return r;
		if (next <= offset && (ended || !follow))
			return 0;
		/* Without --follow a run that writes faster than we read must not hold us for ever. */
		if (!follow && next >= value_int_at(page, "size"))
			return 0;
		offset = MAX(next, offset);
	}
}

int cmd_run_log(struct cli *c, struct ov_err *err)
{
	struct arena *whole = c->arena, a = ARENA_INIT;
	bool follow = cli_has(c, "follow");
	int r = cli_store(c, err);

	if (r == 0 && follow)
		r = client_connect(&c->client, err);
	if (r == 0 && follow)
		r = client_catch_signals(&c->client, err);
	if (r < 0)
		return r;
	c->client.arena = c->out.arena = &a;
	r = log_loop(c, &a, follow, err);
	c->client.arena = c->out.arena = whole;
	arena_done(&a);
	return r == CLIENT_SIGNAL ? 130 : r;
}

int cmd_run_stop(struct cli *c, struct ov_err *err)
{
	value *params = value_object(c->arena);
	const value *res;
	bool done;
	int r;

	value_put(c->arena, params, "run", value_str(c->arena, c->args[0]));
	cli_param(c, params, "reason", "reason");
	r = cli_call(c, CALL_WRITE, "run.stop", params, &res, &done, err);
	if (r != 0 || done)
		return r;
	out_f(&c->out, "Run " STR_FMT " is being stopped; its work is kept. ",
			STR_ARG(id_short(value_str_at(res, "run"))));
	out_text(&c->out, value_str_at(res, "node"));
	out_f(&c->out,
			" is blocked until you unblock it.\nNext  overseer work unblock " STR_FMT
			" --reason TEXT\n",
			STR_ARG(out_clean(&c->out, value_str_at(res, "node"))));
	return 0;
}
