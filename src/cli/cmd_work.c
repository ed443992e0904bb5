#include "base/str.h"
#include "cli/command.h"

static void list_row(struct out *o, const value *n, const struct ids *goals, bool many)
{
	str status = value_str_at(n, "status"), commit = value_str_at(n, "commit");

	if (many)
		cell_f(o, S_BOLD, STR_FMT "/" STR_FMT,
				STR_ARG(ids_short(goals, value_str_at(n, "goal"))),
				STR_ARG(value_str_at(n, "id")));
	else
		cell(o, S_BOLD, value_str_at(n, "id"));
	cell(o, status_style(status), status);
	cell_right(o, S_DIM, out_age(o, value_str_at(n, "updated_at")));
	cell(o, S_PLAIN, out_short(o, value_str_at(n, "name"), 50));
	if (value_str_at(n, "worker").n)
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

int cmd_work_list(struct cli *c, struct ov_err *err)
{
	value *params = value_object(c->arena);
	const value *res, *nodes;
	struct ids goals = { 0 };
	bool done, many = false;
	int r;

	cli_param(c, params, "goal", "goal");
	cli_param(c, params, "status", "status");
	r = cli_call(c, CALL_READ, "work.list", params, &res, &done, err);
	if (r != 0 || done)
		return r;
	nodes = value_at(res, "nodes");
	for (size_t i = 0; i < value_count(nodes); i++) {
		str goal = value_str_at(value_item(nodes, i), "goal");

		if (goals.all.n && str_eq(vec_last(&goals.all), goal))
			continue;
		many = goals.all.n > 0;
		ids_add(&goals, goal);
	}
	goals.partial = params->object.n > 0;
	for (size_t i = 0; i < value_count(nodes); i++)
		list_row(&c->out, value_item(nodes, i), &goals, many);
	table_end(&c->out, "");
	ids_done(&goals);
	if (value_count(nodes) == 0)
		out_f(&c->out, "No work%s.\n", params->object.n ? " fits" : " yet");
	return 0;
}

static void field(struct out *o, const char *label, str s)
{
	if (s.n == 0)
		return;
	cell(o, S_DIM, str_from(label));
	cell(o, S_PLAIN, s);
	row_end(o);
}

static void texts(struct out *o, const char *label, const value *list)
{
	for (size_t i = 0; i < value_count(list); i++)
		field(o, i ? "" : label, value_str_or(value_item(list, i), STR("")));
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

static void show_node(struct cli *c, const value *n)
{
	const value *as = value_at(n, "assignment");
	struct out *o = &c->out;
	str status = value_str_at(n, "status");

	out_styled(o, S_BOLD, value_str_at(n, "id"));
	out_f(o, "  ");
	out_text(o, value_str_at(n, "name"));
	out_f(o, "\n");
	cell(o, S_DIM, STR("Status"));
	cell_f(o, status_style(status), STR_FMT "%s" STR_FMT, STR_ARG(status),
			value_str_at(n, "status_reason").n ? ": " : "",
			STR_ARG(value_str_at(n, "status_reason")));
	row_end(o);
	field(o, "Unblock", value_str_at(n, "unblock_when"));
	field(o, "Goal", value_str_at(n, "goal"));
	field(o, "Objective", value_str_at(n, "objective"));
	field(o, "Outcome", value_str_at(n, "outcome"));
	field(o, "Done when", value_str_at(n, "definition_of_done"));
	texts(o, "Accepted if", value_at(n, "acceptance"));
	texts(o, "After", value_at(n, "deps"));
	texts(o, "Parts", value_at(n, "children"));
	field(o, "Check", value_str_at(n, "check_command"));
	field(o, "Commit", value_str_at(n, "commit"));
	if (value_count(as)) {
		cell(o, S_DIM, STR("Assigned"));
		cell_f(o, S_PLAIN,
				STR_FMT " in " STR_FMT ", epoch %lld, attempt %lld, next: " STR_FMT,
				STR_ARG(value_str_at(as, "agent")),
				STR_ARG(value_str_at(as, "worker")),
				(long long)value_int_at(as, "epoch"),
				(long long)value_int_at(as, "attempt"),
				STR_ARG(value_str_at(as, "stage")));
		row_end(o);
	}
	table_end(o, "");
	show_runs(o, value_at(n, "runs"));
	out_f(o, "Next  overseer explain " STR_FMT "/" STR_FMT "\n",
			STR_ARG(id_short(value_str_at(n, "goal"))),
			STR_ARG(out_clean(o, value_str_at(n, "id"))));
}

int cmd_work_show(struct cli *c, struct ov_err *err)
{
	value *params = value_object(c->arena);
	const value *res;
	bool done;
	int r;

	value_put(c->arena, params, "node", value_str(c->arena, c->args[0]));
	cli_param(c, params, "goal", "goal");
	r = cli_call(c, CALL_READ, "work.show", params, &res, &done, err);
	if (r == 0 && !done)
		show_node(c, res);
	return r;
}

static int update(struct cli *c, const char *status, struct ov_err *err)
{
	value *params = value_object(c->arena);
	const value *res;
	bool done;
	int r;

	value_put(c->arena, params, "node", value_str(c->arena, c->args[0]));
	value_put(c->arena, params, "status", value_cstr(c->arena, status));
	cli_param(c, params, "goal", "goal");
	cli_param(c, params, "reason", "reason");
	cli_param(c, params, "unblock_when", "unblock-when");
	r = cli_call(c, CALL_WRITE, "work.update", params, &res, &done, err);
	if (r != 0 || done)
		return r;
	out_styled(&c->out, S_BOLD, value_str_at(res, "node"));
	out_f(&c->out, " is ");
	out_styled(&c->out, status_style(value_str_at(res, "status")), value_str_at(res, "status"));
	out_f(&c->out, ".\nNext  overseer explain " STR_FMT "\n",
			STR_ARG(out_clean(&c->out, value_str_at(res, "node"))));
	return 0;
}

int cmd_work_done(struct cli *c, struct ov_err *err)
{
	return update(c, "done", err);
}

int cmd_work_block(struct cli *c, struct ov_err *err)
{
	return update(c, "blocked", err);
}

int cmd_work_unblock(struct cli *c, struct ov_err *err)
{
	return update(c, "queued", err);
}
