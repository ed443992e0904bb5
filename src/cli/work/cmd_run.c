#include "base/duration.h"
#include "base/str.h"
#include "cli/call/command.h"
#include "cli/out/say.h"

/* How it ended, in a word or two: by its own words where it has some, else by its process. */
static str outcome(struct arena *a, const value *x)
{
	str verdict = value_str_at(x, "verdict"), trouble = value_str_at(x, "trouble");

	if (!str_is(value_str_at(x, "status"), "ended"))
		return value_str_at(x, "status");
	if (value_bool_at(x, "lost"))
		return STR("lost");
	if (value_int_at(x, "signal"))
		return arena_printf(a, "signal %lld", (long long)value_int_at(x, "signal"));
	if (str_is(verdict, "failed") && trouble.n && !str_is(trouble, "none"))
		return arena_printf(a, "failed, " STR_FMT, STR_ARG(trouble));
	if (verdict.n)
		return verdict;
	return arena_printf(a, "exit %lld", (long long)value_int_at(x, "exit_code"));
}

static enum style outcome_style(const value *x)
{
	str verdict = value_str_at(x, "verdict");
	bool bad = verdict.n ? !str_is(verdict, "ok")
			     : value_bool_at(x, "lost") || value_int_at(x, "signal") ||
					value_int_at(x, "exit_code");

	return !str_is(value_str_at(x, "status"), "ended") ? S_CYAN : bad ? S_RED : S_GREEN;
}

static str run_time(struct arena *a, const value *x)
{
	int64_t ms = value_int_at(x, "duration_ms");

	return duration_format_short(a, ms >= OV_SECOND ? ms / OV_SECOND * OV_SECOND : ms);
}

/* "pending" only where there is work that can still be verified. */
static str verification(const value *x)
{
	str word = value_str_at(x, "verification");
	bool waits = str_is(value_str_at(x, "status"), "ended") && outcome_style(x) == S_GREEN &&
			str_is(value_str_at(x, "cause"), "none") &&
			value_int_at(x, "files_changed") > 0;

	return str_is(word, "pending") && !waits ? STR("") : word;
}

static void outcome_cell(struct out *o, const value *x)
{
	cell(o, outcome_style(x), outcome(o->arena, x));
}

static void check_cell(struct out *o, const value *x)
{
	cell(o, status_style(value_str_at(x, "verification")), verification(x));
}

static void took_cell(struct out *o, const value *x)
{
	cell_right(o, S_DIM, run_time(o->arena, x));
}

static const struct column run_columns[] = {
	{ .text = "{node_id}" },
	{ .text = "{attempt:n}" },
	{ .text = "{agent}" },
	{ .own = outcome_cell },
	{ .own = check_cell },
	{ .own = took_cell },
	{ "{created_at:age} ago", .style = S_DIM },
};

static const char *const heads[] = { "RUN", "TASK", "ATTEMPT", "AGENT", "RESULT", "CHECK" };

static void run_heads(struct out *o)
{
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		cell(o, S_DIM, str_from(heads[i]));
	cell_right(o, S_DIM, STR("TOOK"));
	cell(o, S_DIM, STR("STARTED"));
	row_end(o);
}

void show_run_list(struct cli *c, const value *res)
{
	const value *runs = value_at(res, "runs");
	struct ids ids = { 0 };
	struct out *o = &c->out;

	for (size_t i = 0; i < value_count(runs); i++)
		ids_add(&ids, value_str_at(value_item(runs, i), "id"));
	if (value_count(runs))
		run_heads(o);
	for (size_t i = 0; i < value_count(runs); i++) {
		cell(o, S_BOLD, ids_short(&ids, value_str_at(value_item(runs, i), "id")));
		say_row(o, value_item(runs, i), run_columns);
	}
	table_end(o, "");
	ids_done(&ids);
	if (value_count(runs) == 0)
		out_f(o, "No runs%s.\n", cli_narrowed(c) ? " fit" : " yet");
}

/* What held its processes together; nothing before it has ended. */
static str containment(const value *x)
{
	str by = value_str_at(x, "containment");

	return str_is(by, "cgroup")           ? STR("in a control group of its own")
			: str_is(by, "sweep") ? STR("by its shim and the sweep")
					      : STR("");
}

static const struct shown_field run_fields[] = {
	{ "Node", .text = "{goal_id:id}/{node_id}, attempt {attempt:n}, epoch {epoch:n}" },
	{ "Agent", .text = "{agent} in {worker}" },
	{ "Session", .text = "[{?session}[{?resumed}resumed ]{session}[{?model}, model {model}]]" },
	{ "Started", .text = "[{started_at:clock} ({started_at:age} ago)|not yet]" },
	{ "Now", .text = "{now.text}" },
	{ "Ended by", .text = "{ended_by}" },
	{ "Message", .text = "{message}" },
	{ "Denied",
			.text = "[{denied}; agents.{agent}.permission_mode and .tools, and the "
				"agent's own settings, allow tools]" },
};

static const struct shown_field work_fields[] = {
	{ "Kept",
			.text = "{commits:#commit}, {files_changed:#file} changed"
				"[{?leftovers}; uncommitted work was committed for it]" },
	{ "Not in work", .text = "{left_out}" },
	{ "Rescue", .text = "{rescue_ref}" },
};

/* Tokens and cost, as far as they are known. */
#define USED_TEXT                                                                         \
	"{tokens:tokens} tokens ({tokens_input:tokens} in, {tokens_output:tokens} out), " \
	"[{?cost_source}{cost_microusd:cost}|cost unknown]"

static const struct shown_field end_fields[] = {
	{ "Sandbox", .text = "{sandbox}" },
	{ "Used", .text = "[{?tokens}" USED_TEXT "|[{?cost_source}" USED_TEXT "]]" },
	{ "Output",
			.text = "{output_bytes:bytes}[{?dropped_bytes} ({dropped_bytes:bytes} more "
				"left out)] in {dir}" },
};

void show_run_show(struct cli *c, const value *x)
{
	struct out *o = &c->out;
	struct arena *a = c->arena;

	say(o, x, "{id*bold}  ");
	out_styled(o, outcome_style(x), outcome(a, x));
	out_f(o, " after " STR_FMT "\n", STR_ARG(run_time(a, x)));
	say_fields(o, x, run_fields);
	out_field(o, "Verified",
			arena_printf(a, STR_FMT STR_FMT, STR_ARG(verification(x)),
					STR_ARG(say_text(o, x,
							"[{?verification_detail}: "
							"{verification_detail}]"))));
	say_fields(o, x, work_fields);
	out_field(o, "Contained", containment(x));
	say_fields(o, x, end_fields);
	table_end(o, "");
	say(o, x, "Next  overseer run log {id:id}\n");
}

void show_run_stop(struct cli *c, const value *res)
{
	say(&c->out, res,
			"Run {run:id} is being stopped; its work is kept. {node} is blocked until "
			"you unblock it.\nNext  overseer work unblock {node} --reason TEXT\n");
}
