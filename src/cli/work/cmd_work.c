#include "base/duration.h"
#include "base/str.h"
#include "cli/call/command.h"
#include "cli/work/oversight.h"
#include "cli/work/work.h"

static void list_row(struct out *o, const value *n, const struct ids *goals, bool many)
{
	str status = value_str_at(n, "status"), commit = value_str_at(n, "commit");

	if (many)
		cell_f(o, S_BOLD, STR_FMT "/" STR_FMT,
				STR_ARG(ids_short(goals, value_str_at(n, "goal"))),
				STR_ARG(value_str_at(n, "id")));
	else
		cell(o, S_BOLD, value_str_at(n, "id"));
	if (value_str_at(n, "stalled_since").n)
		cell_f(o, S_YELLOW, STR_FMT ", stalled " STR_FMT, STR_ARG(status),
				STR_ARG(out_age(o, value_str_at(n, "stalled_since"))));
	else if (value_str_at(n, "waiting").n)
		cell(o, S_YELLOW, STR("waiting"));
	else if (value_str_at(n, "block").n && !str_is(value_str_at(n, "block"), "none"))
		cell_f(o, status_style(status), STR_FMT " (" STR_FMT ")", STR_ARG(status),
				STR_ARG(value_str_at(n, "block")));
	else
		cell(o, status_style(status), status);
	cell_right(o, S_DIM, out_age(o, value_str_at(n, "updated_at")));
	cell(o, S_PLAIN, out_short(o, value_str_at(n, "name"), 50));
	if (value_str_at(n, "waiting").n)
		cell(o, S_YELLOW, value_str_at(n, "waiting_for"));
	else if (value_str_at(n, "worker").n)
		cell_f(o, S_CYAN, STR_FMT " in " STR_FMT ": " STR_FMT,
				STR_ARG(value_str_at(n, "agent")),
				STR_ARG(value_str_at(n, "worker")),
				STR_ARG(value_str_at(n, "stage")));
	else if (commit.n)
		cell_f(o, S_DIM, "commit " STR_FMT, STR_ARG(str_sub(commit, 0, 10)));
	else
		cell(o, S_DIM, out_short(o, value_str_at(n, "status_reason"), 60));
	row_end(o);
}

void show_work_list(struct cli *c, const value *res)
{
	const value *nodes;
	struct ids goals = { 0 };
	bool many = false;

	nodes = value_at(res, "nodes");
	for (size_t i = 0; i < value_count(nodes); i++) {
		str goal = value_str_at(value_item(nodes, i), "goal");

		if (goals.all.n && str_eq(vec_last(&goals.all), goal))
			continue;
		many = goals.all.n > 0;
		ids_add(&goals, goal);
	}
	goals.partial = cli_narrowed(c);
	for (size_t i = 0; i < value_count(nodes); i++)
		list_row(&c->out, value_item(nodes, i), &goals, many);
	table_end(&c->out, "");
	ids_done(&goals);
	if (value_count(nodes) == 0)
		out_f(&c->out, "No work%s.\n", cli_narrowed(c) ? " fits" : " yet");
}

static void show_runs(struct out *o, const value *runs)
{
	if (value_count(runs))
		out_f(o, "\nRuns\n");
	for (size_t i = 0; i < value_count(runs); i++) {
		const value *x = value_item(runs, i);

		cell(o, S_BOLD, id_short(value_str_at(x, "id")));
		cell_f(o, S_PLAIN, "attempt %lld", (long long)value_int_at(x, "attempt"));
		cell(o, status_style(value_str_at(x, "status")), value_str_at(x, "status"));
		cell(o, status_style(value_str_at(x, "verification")),
				value_str_at(x, "verification"));
		cell(o, S_DIM, out_short(o, value_str_at(x, "message"), 60));
		row_end(o);
	}
	table_end(o, "  ");
}

static str ago(struct out *o, str at, str what)
{
	if (!at.n)
		return STR("");
	return arena_printf(o->arena, STR_FMT "%s" STR_FMT " ago", STR_ARG(what),
			what.n ? ", " : "", STR_ARG(out_age(o, at)));
}

static void show_dispatches(struct out *o, const value *list)
{
	if (value_count(list))
		out_f(o, "\nDispatches\n");
	for (size_t i = 0; i < value_count(list); i++) {
		const value *d = value_item(list, i);

		cell(o, S_BOLD, id_short(value_str_at(d, "id")));
		cell_f(o, S_PLAIN, STR_FMT " (" STR_FMT ")", STR_ARG(value_str_at(d, "purpose")),
				STR_ARG(value_str_at(d, "mode")));
		cell(o, status_style(value_str_at(d, "result")), value_str_at(d, "result"));
		cell_right(o, S_DIM, out_age(o, value_str_at(d, "at")));
		cell(o, S_DIM, out_short(o, value_str_at(d, "notes"), 60));
		row_end(o);
	}
	table_end(o, "  ");
}

static void show_assignment(struct out *o, const value *as)
{
	struct arena *a = o->arena;
	str stage = value_str_at(as, "stage");
	bool idle = str_is(stage, "none");

	if (value_count(as) == 0)
		return;
	out_field(o, "Assigned",
			arena_printf(a,
					"to " STR_FMT " in " STR_FMT ": " STR_FMT "%s" STR_FMT
					"; epoch %lld, attempt %lld, retries %lld",
					STR_ARG(value_str_at(as, "agent")),
					STR_ARG(value_str_at(as, "worker")),
					STR_ARG(value_str_at(as, "status")),
					idle ? "" : ", step: ", STR_ARG(idle ? STR("") : stage),
					(long long)value_int_at(as, "epoch"),
					(long long)value_int_at(as, "attempt"),
					(long long)value_int_at(as, "retry_count")));
	out_field(o, "Session", value_str_at(as, "session_key"));
	out_field(o, "Branch", value_str_at(as, "branch"));
	out_field(o, "Activity",
			ago(o, value_str_at(as, "last_activity_at"), value_str_at(as, "activity")));
	if (value_str_at(as, "expected_at").n && str_is(stage, "running"))
		out_field(o, "Expected", out_until(o, value_str_at(as, "expected_at")));
	out_field(o, "Recovery",
			arena_printf(a,
					"stalled after " STR_FMT
					" of silence; after nudges: " STR_FMT,
					STR_ARG(duration_format_short(a,
							value_int_at(as, "idle_after"))),
					STR_ARG(value_str_at(as, "recovery_policy"))));
	if (value_str_at(as, "backoff_until").n)
		out_field(o, "Backoff",
				arena_printf(a, "until " STR_FMT,
						STR_ARG(out_clock(o,
								value_str_at(as,
										"backoff_"
										"until")))));
}

/* Where it stands: what we hold to be true, and beside it what the agent says. */
static void show_standing(struct out *o, const value *n)
{
	str status = value_str_at(n, "status"), reported = value_str_at(n, "reported_status");
	bool claims = str_is(reported, "done") && !str_is(status, "done");

	cell(o, S_DIM, STR("Status"));
	cell_f(o, status_style(status), STR_FMT "%s" STR_FMT, STR_ARG(status),
			value_str_at(n, "status_reason").n ? ": " : "",
			STR_ARG(value_str_at(n, "status_reason")));
	row_end(o);
	if (str_is(status, "blocked"))
		out_field(o, "Blocked",
				arena_printf(o->arena, "by " STR_FMT " (" STR_FMT ")",
						STR_ARG(value_str_at(n, "blocked_by")),
						STR_ARG(value_str_at(n, "block"))));
	out_field(o, "Unblock", value_str_at(n, "unblock_when"));
	if (reported.n)
		out_field(o, "Reported",
				ago(o, value_str_at(n, "reported_at"),
						arena_printf(o->arena, STR_FMT " by the agent%s",
								STR_ARG(reported),
								claims ? "; not accepted yet"
								       : "")));
	out_field(o, "Answer", value_str_at(n, "answer"));
	if (value_bool_at(n, "episode_open"))
		out_field(o,
				str_is(value_str_at(value_at(n, "assignment"), "status"), "stalled")
						? "Stalled"
						: "Had stalled",
				ago(o, value_str_at(n, "episode_at"),
						value_str_at(n, "episode_reason")));
}

static void show_hints(struct out *o, str effort, str risk)
{
	out_field(o, "Effort",
			arena_printf(o->arena, STR_FMT "%s" STR_FMT, STR_ARG(effort),
					risk.n ? effort.n ? ", risk " : "risk " : "",
					STR_ARG(risk)));
}

/* "read, edit, not Bash"; empty: all. */
static str tools_text(struct arena *a, const value *tools)
{
	str allow = out_joined(a, value_at(tools, "allow"), ", "),
	    deny = out_joined(a, value_at(tools, "deny"), ", ");

	if (!deny.n)
		return allow;
	return arena_printf(a, STR_FMT " but not " STR_FMT, STR_ARG(allow.n ? allow : STR("all")),
			STR_ARG(deny));
}

/* What the newest run that left any made beside its work. */
static str left_out(const value *runs)
{
	str last = STR("");

	for (size_t i = 0; i < value_count(runs); i++) {
		str s = value_str_at(value_item(runs, i), "left_out");

		last = s.n ? s : last;
	}
	return last;
}

static void show_node(struct cli *c, const value *n)
{
	const value *as = value_at(n, "last_assignment");
	struct out *o = &c->out;

	out_styled(o, S_BOLD, value_str_at(n, "id"));
	out_f(o, "  ");
	out_text(o, value_str_at(n, "name"));
	out_f(o, "\n");
	show_standing(o, n);
	out_field(o, "Now", value_str_at(value_at(n, "now"), "text"));
	out_field(o, "Goal", value_str_at(n, "goal"));
	out_field(o, "Path", out_joined(o->arena, value_at(n, "path"), " > "));
	out_field(o, "Objective", value_str_at(n, "objective"));
	out_field(o, "Outcome", value_str_at(n, "outcome"));
	out_field(o, "Done when", value_str_at(n, "definition_of_done"));
	out_fields(o, "Accepted if", value_at(n, "acceptance"));
	out_field(o, "After", out_joined(o->arena, value_at(n, "deps"), ", "));
	out_field(o, "Blocks", out_joined(o->arena, value_at(n, "blocks"), ", "));
	out_field(o, "Parts", out_joined(o->arena, value_at(n, "children"), ", "));
	out_field(o, "Agent", value_str_at(n, "suggested_agent"));
	out_field(o, "Needs", out_joined(o->arena, value_at(n, "required_tools"), ", "));
	out_field(o, "Tools",
			value_str_at(n, "tools_problem").n
					? value_str_at(n, "tools_problem")
					: tools_text(o->arena, value_at(n, "tools")));
	show_hints(o, value_str_at(n, "effort"), value_str_at(n, "risk"));
	out_field(o, "Check", value_str_at(n, "check_command"));
	out_field(o, "Commit", value_str_at(n, "commit"));
	out_field(o, "Not in work", left_out(value_at(n, "runs")));
	show_assignment(o, as);
	table_end(o, "");
	show_dispatches(o, value_at(as, "dispatches"));
	show_runs(o, value_at(n, "runs"));
	show_detections(o, value_at(n, "detections"), 5);
	out_f(o, "Next  overseer explain " STR_FMT "/" STR_FMT,
			STR_ARG(id_short(value_str_at(n, "goal"))),
			STR_ARG(out_clean(o, value_str_at(n, "id"))));
	if (value_int_at(n, "iterations_n"))
		out_f(o, "      overseer work iterations " STR_FMT,
				STR_ARG(out_clean(o, value_str_at(n, "id"))));
	out_f(o, "\n");
}

void show_work_show(struct cli *c, const value *res)
{
	show_node(c, res);
}

static void show_released(struct out *o, const value *res)
{
	const value *list = value_at(res, "released");
	size_t count = (size_t)value_int_at(res, "released_count"),
	       shown = MIN(value_count(list), (size_t)5);
	str node = value_str_at(res, "node");

	if (!count)
		return;
	for (size_t i = 0; i < shown; i++) {
		out_f(o, "%s", i ? ", " : "");
		out_text(o, value_str_or(value_item(list, i), STR("")));
	}
	if (count > shown)
		out_f(o, " and %zu more", count - shown);
	out_f(o, " no longer wait%s for ", count == 1 ? "s" : "");
	out_text(o,
			str_sub(node,
					str_find_byte(node, '/') < node.n
							? str_find_byte(node, '/') + 1
							: 0,
					node.n));
	out_f(o, " and %s.\n",
			value_bool_at(res, "goal_active") ? "will start"
							  : "will start when the goal is resumed");
}

void show_consequences(struct out *o, const value *res)
{
	const value *left = value_at(res, "unmerged");

	show_released(o, res);
	if (!left || left->kind != V_OBJECT)
		return;
	out_f(o, "%s ",
			value_bool_at(left, "run_stops")
					? "Its run is stopped. What it made is kept on branch"
					: "Its commits were not merged. They are kept on branch");
	out_text(o, value_str_at(left, "branch"));
	out_f(o, ".\n");
}

/* The answer in a line, what else there is to know, and where to look. */
static void tell_node(struct cli *c, const value *res, const char *more)
{
	out_styled(&c->out, S_BOLD, value_str_at(res, "node"));
	out_f(&c->out, " is ");
	out_styled(&c->out, status_style(value_str_at(res, "status")), value_str_at(res, "status"));
	out_f(&c->out, ".%s%s\n", more,
			value_bool_at(res, "goal_reopened") ? " Its goal is active again." : "");
	show_consequences(&c->out, res);
	out_f(&c->out, "Next  overseer explain " STR_FMT "\n",
			STR_ARG(out_clean(&c->out, value_str_at(res, "node"))));
}

void show_work_done(struct cli *c, const value *res)
{
	tell_node(c, res, "");
}

void show_work_block(struct cli *c, const value *res)
{
	tell_node(c, res, "");
}

void show_work_unblock(struct cli *c, const value *res)
{
	tell_node(c, res, "");
}

void show_work_cancel(struct cli *c, const value *res)
{
	tell_node(c, res, " What was made is kept.");
}

void show_work_reopen(struct cli *c, const value *res)
{
	tell_node(c, res, "");
}

void show_work_reassign(struct cli *c, const value *res)
{
	tell_node(c, res, " What was made is kept and handed over.");
}

void show_work_rerun(struct cli *c, const value *res)
{
	tell_node(c, res, " Its run is stopped, its work kept; a new run follows.");
}

void show_work_nudge(struct cli *c, const value *res)
{
	out_styled(&c->out, S_BOLD, value_str_at(res, "node"));
	if (cli_has(c, "now"))
		out_f(&c->out,
				" is interrupted; its session goes on.\nNext  overseer work "
				"show " STR_FMT "\n",
				STR_ARG(value_str_at(res, "node")));
	else
		out_f(&c->out,
				" is asked for its status.\nNext  overseer run log " STR_FMT
				" --follow\n",
				STR_ARG(id_short(value_str_at(res, "run"))));
}

void show_work_scope(struct cli *c, const value *res)
{
	out_styled(&c->out, S_BOLD, value_str_at(res, "node"));
	out_f(&c->out, " may use: ");
	out_text(&c->out, tools_text(c->arena, value_at(res, "tools")));
	out_f(&c->out,
			". This holds from its next turn on.\nNext  overseer work "
			"show " STR_FMT "\n",
			STR_ARG(out_clean(&c->out, value_str_at(res, "node"))));
}
