#include "base/str.h"
#include "cli/input.h"

int cmd_plan_check(struct cli *c, struct ov_err *err)
{
	const value *plan;

	return plan_load(c, c->args[0], &plan, err);
}

int cmd_plan_apply(struct cli *c, struct ov_err *err)
{
	value *params = value_object(c->arena);
	const value *plan, *res;
	bool done;
	int r = plan_load(c, c->args[0], &plan, err);

	if (r != 0)
		return r;
	cli_param(c, params, "goal", "goal");
	value_put(c->arena, params, "plan", (value *)plan);
	r = cli_call(c, CALL_WRITE, "plan.apply", params, &res, &done, err);
	if (r != 0 || done)
		return r;
	out_f(&c->out, "Plan version %lld of " STR_FMT " is in force.\n",
			(long long)value_int_at(res, "version"),
			STR_ARG(id_short(value_str_at(res, "goal"))));
	out_f(&c->out, "Next  overseer plan show " STR_FMT "      overseer status --watch\n",
			STR_ARG(id_short(value_str_at(res, "goal"))));
	return 0;
}

/* What a row of the tree says beyond its status. */
static str remark(struct cli *c, const value *n)
{
	str status = value_str_at(n, "status"), commit = value_str_at(n, "commit"),
	    worker = value_str_at(n, "worker");

	if (commit.n)
		return arena_printf(c->arena, "commit " STR_FMT, STR_ARG(str_sub(commit, 0, 10)));
	if (worker.n)
		return arena_printf(c->arena, STR_FMT " in " STR_FMT ", %s" STR_FMT,
				STR_ARG(value_str_at(n, "agent")), STR_ARG(worker),
				value_int_at(n, "attempt") > 1 ? "retry, " : "",
				STR_ARG(value_str_at(n, "stage")));
	if (str_is(status, "blocked") || str_is(status, "cancelled"))
		return out_short(&c->out, value_str_at(n, "status_reason"), 60);
	if (str_is(status, "todo") && value_count(value_at(n, "deps"))) {
		str s = STR("after");

		for (size_t i = 0; i < value_count(value_at(n, "deps")); i++)
			s = arena_printf(c->arena, STR_FMT "%s" STR_FMT, STR_ARG(s), i ? ", " : " ",
					STR_ARG(value_str_or(value_item(value_at(n, "deps"), i),
							STR(""))));
		return s;
	}
	return STR("");
}

static void tree_rows(struct cli *c, const value *nodes, str lead, int depth)
{
	struct out *o = &c->out;
	size_t n = value_count(nodes);

	for (size_t i = 0; i < n && depth < 8; i++) {
		const value *node = value_item(nodes, i);
		str status = value_str_at(node, "status");
		bool last = i + 1 == n;
		const char *branch = "", *below = "";

		if (depth) {
			branch = o->utf8 ? (last ? "└─ " : "├─ ") : (last ? "`- " : "|- ");
			below = last ? "   " : o->utf8 ? "│  " : "|  ";
		}
		cell_f(o, depth ? S_PLAIN : S_BOLD, STR_FMT "%s" STR_FMT "  " STR_FMT,
				STR_ARG(lead), branch, STR_ARG(value_str_at(node, "id")),
				STR_ARG(out_short(o, value_str_at(node, "name"), 60)));
		cell(o, status_style(status), status);
		cell(o, S_DIM, remark(c, node));
		row_end(o);
		tree_rows(c, value_at(node, "children"),
				arena_printf(c->arena, STR_FMT "%s", STR_ARG(lead), below),
				depth + 1);
	}
}

int cmd_plan_show(struct cli *c, struct ov_err *err)
{
	value *params = value_object(c->arena);
	const value *res, *progress;
	struct out *o = &c->out;
	bool done;
	int r;

	value_put(c->arena, params, "goal", value_str(c->arena, c->args[0]));
	r = cli_call(c, CALL_READ, "plan.show", params, &res, &done, err);
	if (r != 0 || done)
		return r;
	progress = value_at(res, "progress");
	out_styled(o, S_BOLD, id_short(value_str_at(res, "id")));
	out_f(o, "  ");
	out_text(o, value_str_at(res, "title"));
	out_f(o, "\n" STR_FMT "  %lld/%lld done   ",
			STR_ARG(out_bar(o, value_int_at(progress, "done"),
					value_int_at(progress, "leaves"), 10)),
			(long long)value_int_at(progress, "done"),
			(long long)value_int_at(progress, "leaves"));
	out_styled(o, status_style(value_str_at(res, "status")), value_str_at(res, "status"));
	out_f(o, ", ");
	out_styled(o, status_style(value_str_at(res, "health")), value_str_at(res, "health"));
	out_f(o, "   plan version %lld\n\n", (long long)value_int_at(res, "plan_version"));
	tree_rows(c, value_at(res, "phases"), STR(""), 0);
	table_end(o, "");
	return 0;
}
