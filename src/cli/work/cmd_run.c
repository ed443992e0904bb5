#include "base/duration.h"
#include "base/str.h"
#include "cli/call/command.h"
#include "cli/out/cost.h"
#include "data/value/json.h"

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
	struct ids ids = { 0 };
	struct out *o = &c->out;
	const value *runs;

	runs = value_at(res, "runs");
	for (size_t i = 0; i < value_count(runs); i++)
		ids_add(&ids, value_str_at(value_item(runs, i), "id"));
	if (value_count(runs))
		run_heads(o);
	for (size_t i = 0; i < value_count(runs); i++) {
		const value *x = value_item(runs, i);

		cell(o, S_BOLD, ids_short(&ids, value_str_at(x, "id")));
		cell(o, S_PLAIN, value_str_at(x, "node_id"));
		cell_f(o, S_PLAIN, "%lld", (long long)value_int_at(x, "attempt"));
		cell(o, S_PLAIN, value_str_at(x, "agent"));
		cell(o, outcome_style(x), outcome(c->arena, x));
		cell(o, status_style(value_str_at(x, "verification")), verification(x));
		cell_right(o, S_DIM, run_time(c->arena, x));
		cell_f(o, S_DIM, STR_FMT " ago",
				STR_ARG(out_age(o, value_str_at(x, "created_at"))));
		row_end(o);
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

static str started(struct out *o, str at)
{
	if (at.n == 0)
		return STR("not yet");
	return arena_printf(o->arena, STR_FMT " (" STR_FMT " ago)", STR_ARG(out_clock(o, at)),
			STR_ARG(out_age(o, at)));
}

/* Tokens and cost, as far as they are known. */
static str used(struct arena *a, const value *x)
{
	bool priced = value_str_at(x, "cost_source").n > 0;

	if (value_int_at(x, "tokens") == 0 && !priced)
		return STR("");
	return arena_printf(a, STR_FMT " tokens (" STR_FMT " in, " STR_FMT " out), " STR_FMT,
			STR_ARG(tokens_text(a, value_int_at(x, "tokens"))),
			STR_ARG(tokens_text(a, value_int_at(x, "tokens_input"))),
			STR_ARG(tokens_text(a, value_int_at(x, "tokens_output"))),
			STR_ARG(priced ? cost_text(a, value_int_at(x, "cost_microusd"))
				       : STR("cost unknown")));
}

static str denied(struct arena *a, const value *x)
{
	str tools = value_str_at(x, "denied");

	return !tools.n ? tools
			: arena_printf(a,
					  STR_FMT
					  "; agents." STR_FMT
					  ".permission_mode and .tools, and the agent's own "
					  "settings, allow tools",
					  STR_ARG(tools), STR_ARG(value_str_at(x, "agent")));
}

static void show_run(struct cli *c, const value *x)
{
	struct out *o = &c->out;
	struct arena *a = c->arena;
	int64_t dropped = value_int_at(x, "dropped_bytes"), commits = value_int_at(x, "commits"),
		files = value_int_at(x, "files_changed");

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
	out_field(o, "Started", started(o, value_str_at(x, "started_at")));
	out_field(o, "Now", value_str_at(value_at(x, "now"), "text"));
	out_field(o, "Ended by", value_str_at(x, "ended_by"));
	out_field(o, "Message", value_str_at(x, "message"));
	out_field(o, "Denied", denied(a, x));
	out_field(o, "Verified",
			arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(verification(x)),
					value_str_at(x, "verification_detail").n ? ": " : "",
					STR_ARG(value_str_at(x, "verification_detail"))));
	out_field(o, "Kept",
			arena_printf(a, "%lld commit%s, %lld file%s changed%s", (long long)commits,
					commits == 1 ? "" : "s", (long long)files,
					files == 1 ? "" : "s",
					value_bool_at(x, "leftovers")
							? "; uncommitted work was committed for it"
							: ""));
	out_field(o, "Not in work", value_str_at(x, "left_out"));
	out_field(o, "Rescue", value_str_at(x, "rescue_ref"));
	out_field(o, "Contained", containment(x));
	out_field(o, "Sandbox", value_str_at(x, "sandbox"));
	out_field(o, "Used", used(a, x));
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

void show_run_show(struct cli *c, const value *res)
{
	show_run(c, res);
}

void show_run_stop(struct cli *c, const value *res)
{
	out_f(&c->out, "Run " STR_FMT " is being stopped; its work is kept. ",
			STR_ARG(id_short(value_str_at(res, "run"))));
	out_text(&c->out, value_str_at(res, "node"));
	out_f(&c->out,
			" is blocked until you unblock it.\nNext  overseer work unblock " STR_FMT
			" --reason TEXT\n",
			STR_ARG(out_clean(&c->out, value_str_at(res, "node"))));
}
