#include "base/buf.h"
#include "base/str.h"
#include "cli/out/say.h"
#include "cli/work/plan_file.h"
#include "core/op/params.h"
#include "data/value/json.h"

/* Only as much of it as can be shown: a plan may have 10,000 nodes. */
static str id_list(struct cli *c, const value *ids)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	for (size_t i = 0; i < value_count(ids) && b.n < 200; i++)
		buf_addf(&b, "%s" STR_FMT, i ? ", " : "",
				STR_ARG(value_str_or(value_item(ids, i), STR(""))));
	return arena_str(c->arena, buf_str(&b));
}

static size_t how_many(const value *ids)
{
	return ids && ids->kind == V_INT ? (size_t)ids->i : value_count(ids);
}

/* One line per kind of change: "  added    2  T4, T5". */
static void print_changes(struct cli *c, const value *v)
{
	static const char *const kinds[] = { "added", "changed", "removed", "kept" };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const value *ids = value_at(v, kinds[i]);
		bool named = i < 3 && ids && ids->kind == V_ARRAY;

		cell(&c->out, S_PLAIN, str_from(kinds[i]));
		cell_right(&c->out, S_BOLD, arena_printf(c->arena, "%zu", how_many(ids)));
		cell(&c->out, S_DIM, named ? out_short(&c->out, id_list(c, ids), 90) : STR(""));
		row_end(&c->out);
	}
	table_end(&c->out, "  ");
}

/* Members as people read them: texts as they are, everything else as JSON. */
static str member_text(struct cli *c, const value *v)
{
	if (!v || v->kind == V_NULL)
		return STR("(none)");
	return out_short(&c->out, v->kind == V_STR ? v->s : json_text(c->arena, v), 70);
}

static void print_nodes(struct cli *c, const value *list, const char *sign, enum style style)
{
	struct out *o = &c->out;

	for (size_t i = 0; i < value_count(list); i++) {
		const value *n = value_item(list, i), *changes = value_at(n, "changes");

		out_styled(o, style,
				out_clean(o,
						arena_printf(c->arena, "%s " STR_FMT, sign,
								STR_ARG(value_str_at(n, "id")))));
		say(o, n, "  {name}\n");
		for (size_t k = 0; k < value_count(changes); k++) {
			const value *x = value_item(changes, k);

			say(o, x, "    {key}: ");
			out_text(o, member_text(c, value_at(x, "from")));
			out_f(o, o->utf8 ? " → " : " -> ");
			out_text(o, member_text(c, value_at(x, "to")));
			out_f(o, "\n");
		}
	}
}

static void print_diff(struct cli *c, const value *d)
{
	const value *order = value_at(d, "sequential");

	if (order)
		out_f(&c->out, "~ plan\n    sequential: %s %s %s\n",
				value_bool_at(order, "from") ? "true" : "false",
				c->out.utf8 ? "→" : "->",
				value_bool_at(order, "to") ? "true" : "false");
	print_nodes(c, value_at(d, "added"), "+", S_GREEN);
	print_nodes(c, value_at(d, "changed"), "~", S_YELLOW);
	print_nodes(c, value_at(d, "removed"), "-", S_RED);
	out_f(&c->out, "%zu added, %zu changed, %zu removed, %zu kept\n",
			how_many(value_at(d, "added")), how_many(value_at(d, "changed")),
			how_many(value_at(d, "removed")), how_many(value_at(d, "kept")));
}

/*
 * The plan as the goal's next one, judged by whoever knows the goal. Prints what is wrong or
 * would change.
 */
static int check_for_goal(struct cli *c, const value *plan, struct ov_err *err)
{
	const value *res;
	bool done;
	int r = cli_call(c, OP_plan_check,
			OP_ASK(c->arena, plan_check, .has_goal = true, .goal = cli_flag(c, "goal"),
					.plan = plan),
			&res, &done, err);

	if (r != 0)
		return r;
	if (!done && value_count(value_at(res, "problems")))
		plan_print_problems(c, c->args[0], value_at(res, "problems"));
	else if (!done) {
		out_text(&c->out, c->args[0]);
		out_f(&c->out, ": a good plan; it would be version %lld of " STR_FMT "\n",
				(long long)value_int_at(res, "version") + 1,
				STR_ARG(id_short(value_str_at(res, "goal"))));
		print_diff(c, value_at(res, "diff"));
	}
	if (!done)
		plan_print_warnings(c, value_at(res, "warnings"));
	return value_bool_at(res, "valid") ? 0 : ov_code_info(OV_EINVALID_PLAN)->exit_status;
}

int cmd_plan_check(struct cli *c, struct ov_err *err)
{
	const value *plan;
	int r;

	if (!cli_has(c, "goal"))
		return plan_load(c, c->args[0], &plan, err);
	r = plan_read(c, c->args[0], &plan, err);
	return r < 0 ? r : check_for_goal(c, plan, err);
}

int cmd_plan_apply(struct cli *c, struct ov_err *err)
{
	const value *plan, *res;
	value *params;
	bool done;
	int r = plan_load(c, c->args[0], &plan, err);

	if (r == 0)
		r = cli_params(c, &params, err);
	if (r != 0)
		return r;
	value_put(c->arena, params, "plan", value_share(plan));
	r = cli_ask(c, params, &res, &done, err);
	/* The error names the first problem; people get all of them. */
	if (r == OV_EINVALID_PLAN && !c->json) {
		int checked = check_for_goal(c, plan, NULL);

		return checked > 0 ? checked : r;
	}
	if (r != 0 || done)
		return r;
	say(&c->out, res, "Plan version {version:n} of {goal:id} is in force.\n");
	print_changes(c, res);
	plan_print_warnings(c, value_at(res, "warnings"));
	say(&c->out, res, "Next  overseer plan show {goal:id}      overseer status --watch\n");
	return 0;
}

/* What it waits for: "after T1, T2; after P1 (sequential)". */
static str after_text(struct cli *c, const value *n)
{
	str deps = id_list(c, value_at(n, "deps")), before = value_str_at(n, "follows");

	return arena_printf(c->arena, "%s" STR_FMT "%s%s" STR_FMT "%s", deps.n ? "after " : "",
			STR_ARG(deps), deps.n && before.n ? "; " : "", before.n ? "after " : "",
			STR_ARG(before), before.n ? " (sequential)" : "");
}

/* What a row of the tree says beyond its status. */
static str remark(struct cli *c, const value *n)
{
	str status = value_str_at(n, "status"), commit = value_str_at(n, "commit"),
	    worker = value_str_at(n, "worker");

	if (commit.n)
		return arena_printf(c->arena, "commit " STR_FMT, STR_ARG(str_sub(commit, 0, 10)));
	if (worker.n)
		return say_text(&c->out, n,
				value_int_at(n, "attempt") > 1
						? "{agent} in {worker}, retry, {stage}"
						: "{agent} in {worker}, {stage}");
	if (str_is(status, "blocked") || str_is(status, "cancelled"))
		return out_short(&c->out, value_str_at(n, "status_reason"), 60);
	if (value_bool_at(n, "ready"))
		return STR("ready");
	if (str_is(status, "todo"))
		return after_text(c, n);
	return STR("");
}

/* "3/5  60%" of a node with parts. */
static str progress_text(struct cli *c, const value *p)
{
	if (!p)
		return STR("");
	return arena_printf(c->arena, "%lld/%lld  %lld%%", (long long)value_int_at(p, "done"),
			(long long)(value_int_at(p, "leaves") - value_int_at(p, "cancelled")),
			(long long)value_int_at(p, "done_pct"));
}

void plan_tree_rows(struct cli *c, const value *nodes, str lead, int depth)
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
		cell_right(o, S_PLAIN, progress_text(c, value_at(node, "progress")));
		cell(o, S_DIM, remark(c, node));
		row_end(o);
		plan_tree_rows(c, value_at(node, "children"),
				arena_printf(c->arena, STR_FMT "%s", STR_ARG(lead), below),
				depth + 1);
	}
}

void show_plan_show(struct cli *c, const value *res)
{
	const value *progress;
	struct out *o = &c->out;

	if (cli_has(c, "document")) {
		json_write_pretty(&o->buf, value_at(res, "document"));
		out_f(o, "\n");
		return;
	}
	progress = value_at(res, "progress");
	say(o, res, "{id:id*bold}  {title}\n");
	out_text(o,
			out_bar(o, value_int_at(progress, "done"), value_int_at(progress, "leaves"),
					10));
	say(o, res,
			"  {progress.done:n}/{progress.leaves:n} done   {status*status}, "
			"{health*status}   plan version {plan_version:n}\n\n");
	plan_tree_rows(c, value_at(res, "phases"), STR(""), 0);
	table_end(o, "");
	say(o, res,
			"[{?removed}\n{removed:count} removed by later versions: overseer plan "
			"history {id:id}\n]");
}

static void changes_cell(struct out *o, const value *v)
{
	cell_f(o, S_PLAIN, "+%zu ~%zu -%zu =%zu", how_many(value_at(v, "added")),
			how_many(value_at(v, "changed")), how_many(value_at(v, "removed")),
			how_many(value_at(v, "kept")));
}

static const struct column version_columns[] = {
	{ "v{version:n}", .style = S_BOLD },
	{ .text = "{at:clock}" },
	{ .text = "{source}" },
	{ .own = changes_cell },
	{ "{actor}", .style = S_DIM },
	{ .text = "{reason}" },
};

void show_plan_history(struct cli *c, const value *res)
{
	const value *list = value_at(res, "versions");

	say_table(&c->out, list, version_columns, "");
	if (value_count(list) > 1)
		say(&c->out, res, "\nNext  overseer plan diff {goal:id}\n");
}

void show_plan_diff(struct cli *c, const value *res)
{
	say(&c->out, res, "Plan of {goal:id}, version {from:n} to {to:n}\n");
	print_diff(c, res);
}
