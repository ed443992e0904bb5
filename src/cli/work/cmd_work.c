#include "base/str.h"
#include "cli/call/command.h"
#include "cli/out/say.h"
#include "cli/work/oversight.h"
#include "cli/work/work.h"

static void state_cell(struct out *o, const value *n)
{
	str status = value_str_at(n, "status"), block = value_str_at(n, "block");

	if (value_str_at(n, "stalled_since").n)
		cell(o, S_YELLOW, say_text(o, n, "{status}, stalled {stalled_since:age}"));
	else if (value_str_at(n, "waiting").n)
		cell(o, S_YELLOW, STR("waiting"));
	else if (block.n && !str_is(block, "none"))
		cell(o, status_style(status), say_text(o, n, "{status} ({block})"));
	else
		cell(o, status_style(status), status);
}

/* Who works on it, what it waits for, or what came of it. */
static void work_cell(struct out *o, const value *n)
{
	str commit = value_str_at(n, "commit");

	if (value_str_at(n, "waiting").n)
		cell(o, S_YELLOW, value_str_at(n, "waiting_for"));
	else if (value_str_at(n, "worker").n)
		cell(o, S_CYAN, say_text(o, n, "{agent} in {worker}: {stage}"));
	else if (commit.n)
		cell_f(o, S_DIM, "commit " STR_FMT, STR_ARG(str_sub(commit, 0, 10)));
	else
		cell(o, S_DIM, say_text(o, n, "{status_reason:60}"));
}

static const struct column node_columns[] = {
	{ .own = state_cell },
	{ "{updated_at:age}", .style = S_DIM, .right = true },
	{ .text = "{name:50}" },
	{ .own = work_cell },
};

static void list_row(struct out *o, const value *n, const struct ids *goals, bool many)
{
	str goal = many ? ids_short(goals, value_str_at(n, "goal")) : STR("");

	cell_f(o, S_BOLD, STR_FMT "%s" STR_FMT, STR_ARG(goal), many ? "/" : "",
			STR_ARG(value_str_at(n, "id")));
	say_row(o, n, node_columns);
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

static const struct column run_columns[] = {
	{ "{id:id}", .style = S_BOLD },
	{ .text = "attempt {attempt:n}" },
	{ "{status}", .status = "status" },
	{ "{verification}", .status = "verification" },
	{ "{message:60}", .style = S_DIM },
};

static const struct column dispatch_columns[] = {
	{ "{id:id}", .style = S_BOLD },
	{ .text = "{purpose} ({mode})" },
	{ "{result}", .status = "result" },
	{ "{at:age}", .style = S_DIM, .right = true },
	{ "{notes:60}", .style = S_DIM },
};

#define COUNTS_TEXT "epoch {epoch:n}, attempt {attempt:n}, retries {retry_count:n}"

static const struct shown_field assignment_fields[] = {
	{ "Session", .text = "{session_key}" },
	{ "Branch", .text = "{branch}" },
	{ "Activity",
			.text = "[{?last_activity_at}[{?activity}{activity}, "
				"]{last_activity_at:age} ago]" },
};

static void show_assignment(struct out *o, const value *as)
{
	str stage = value_str_at(as, "stage");

	if (value_count(as) == 0)
		return;
	say_field(o, as, "Assigned",
			str_is(stage, "none") ? "to {agent} in {worker}: {status}; " COUNTS_TEXT
					      : "to {agent} in {worker}: {status}, step: "
						"{stage}; " COUNTS_TEXT);
	say_fields(o, as, assignment_fields);
	if (str_is(stage, "running"))
		say_field(o, as, "Expected", "[{expected_at:until}]");
	say_field(o, as, "Recovery",
			"stalled after {idle_after:took} of silence; after nudges: "
			"{recovery_policy}");
	say_field(o, as, "Backoff", "[{?backoff_until}until {backoff_until:clock}]");
}

/* Where it stands: what we hold to be true, and beside it what the agent says. */
static void show_standing(struct out *o, const value *n)
{
	str status = value_str_at(n, "status"), reported = value_str_at(n, "reported_status");
	bool claims = str_is(reported, "done") && !str_is(status, "done");

	cell(o, S_DIM, STR("Status"));
	cell(o, status_style(status),
			say_text(o, n, "{status}[{?status_reason}: {status_reason}]"));
	row_end(o);
	if (str_is(status, "blocked"))
		say_field(o, n, "Blocked", "by {blocked_by} ({block})");
	say_field(o, n, "Unblock", "{unblock_when}");
	if (reported.n)
		say_field(o, n, "Reported",
				claims ? "[{?reported_at}{reported_status} by the agent; not "
					 "accepted yet, {reported_at:age} ago]"
				       : "[{?reported_at}{reported_status} by the agent, "
					 "{reported_at:age} ago]");
	say_field(o, n, "Answer", "{answer}");
	if (value_bool_at(n, "episode_open"))
		say_field(o, n,
				str_is(value_str_at(value_at(n, "assignment"), "status"), "stalled")
						? "Stalled"
						: "Had stalled",
				"[{?episode_at}[{?episode_reason}{episode_reason}, "
				"]{episode_at:age} ago]");
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

static const struct shown_field node_fields[] = {
	{ "Objective", .text = "{objective}" },
	{ "Outcome", .text = "{outcome}" },
	{ "Done when", .text = "{definition_of_done}" },
	{ "Accepted if", "acceptance", true },
	{ "After", .text = "{deps:list}" },
	{ "Blocks", .text = "{blocks:list}" },
	{ "Parts", .text = "{children:list}" },
	{ "Agent", .text = "{suggested_agent}" },
	{ "Needs", .text = "{required_tools:list}" },
};

void show_work_show(struct cli *c, const value *n)
{
	const value *as = value_at(n, "last_assignment");
	struct out *o = &c->out;

	say(o, n, "{id*bold}  {name}\n");
	show_standing(o, n);
	say_field(o, n, "Now", "{now.text}");
	say_field(o, n, "Goal", "{goal}");
	out_field(o, "Path", out_joined(o->arena, value_at(n, "path"), " > "));
	say_fields(o, n, node_fields);
	out_field(o, "Tools",
			value_str_at(n, "tools_problem").n
					? value_str_at(n, "tools_problem")
					: tools_text(o->arena, value_at(n, "tools")));
	say_field(o, n, "Effort", "{effort}[{?risk}[{?effort}, ]risk {risk}]");
	say_field(o, n, "Check", "{check_command}");
	say_field(o, n, "Commit", "{commit}");
	out_field(o, "Not in work", left_out(value_at(n, "runs")));
	show_assignment(o, as);
	table_end(o, "");
	say(o, as, "[{?dispatches}\nDispatches\n]");
	say_table(o, value_at(as, "dispatches"), dispatch_columns, "  ");
	say(o, n, "[{?runs}\nRuns\n]");
	say_table(o, value_at(n, "runs"), run_columns, "  ");
	show_detections(o, value_at(n, "detections"), 5);
	say(o, n,
			"Next  overseer explain {goal:id}/{id}"
			"[{?iterations_n}      overseer work iterations {id}]\n");
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
	if (left && left->kind == V_OBJECT)
		say(o, left,
				"[{?run_stops}Its run is stopped. What it made is"
				"|Its commits were not merged. They are] kept on branch "
				"{branch}.\n");
}

/* The answer in a line, what else there is to know, and where to look. */
static void tell_node(struct cli *c, const value *res, const char *more)
{
	say(&c->out, res, "{node*bold} is {status*status}.");
	out_f(&c->out, "%s", more);
	say(&c->out, res, "[{?goal_reopened} Its goal is active again.]\n");
	show_consequences(&c->out, res);
	say(&c->out, res, "Next  overseer explain {node}\n");
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
	say(&c->out, res,
			cli_has(c, "now") ? "{node*bold} is interrupted; its session goes on.\n"
					    "Next  overseer work show {node}\n"
					  : "{node*bold} is asked for its status.\n"
					    "Next  overseer run log {run:id} --follow\n");
}

void show_work_scope(struct cli *c, const value *res)
{
	say(&c->out, res, "{node*bold} may use: ");
	out_text(&c->out, tools_text(c->arena, value_at(res, "tools")));
	say(&c->out, res, ". This holds from its next turn on.\nNext  overseer work show {node}\n");
}
