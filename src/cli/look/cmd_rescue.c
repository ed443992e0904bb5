/* What was kept of agents' work before a worktree was used again: looking at it, getting it back. */
#include "base/str.h"
#include "cli/call/command.h"

static str whose(struct out *o, const value *x)
{
	if (!value_str_at(x, "node").n)
		return STR("-");
	return arena_printf(o->arena, STR_FMT "/" STR_FMT,
			STR_ARG(id_short(value_str_at(x, "goal"))),
			STR_ARG(value_str_at(x, "node")));
}

static str amount(struct out *o, const value *x)
{
	long long commits = (long long)value_int_at(x, "commits"),
		  files = (long long)value_int_at(x, "files");

	if (!value_at(x, "files"))
		return STR("");
	return arena_printf(o->arena, "%lld commit%s, %lld file%s", commits,
			commits == 1 ? "" : "s", files, files == 1 ? "" : "s");
}

static void show_rows(struct out *o, const value *list)
{
	for (size_t i = 0; i < value_count(list); i++) {
		const value *x = value_item(list, i);

		cell_right(o, S_DIM, out_age(o, value_str_at(x, "at")));
		cell(o, S_BOLD, value_str_at(x, "id"));
		cell(o, S_PLAIN,
				value_str_at(x, "worker").n ? value_str_at(x, "worker") : STR("-"));
		cell(o, S_PLAIN, whose(o, x));
		cell(o, S_PLAIN, amount(o, x));
		cell(o, S_DIM, out_short(o, value_str_at(x, "why"), 70));
		row_end(o);
	}
	table_end(o, "  ");
}

void show_rescue_list(struct cli *c, const value *res)
{
	const value *list = value_at(res, "rescued");
	struct out *o = &c->out;

	if (value_str_at(res, "problem").n)
		out_f(o, "Whose it is could not be found out: " STR_FMT "\n",
				STR_ARG(out_clean(o, value_str_at(res, "problem"))));
	if (value_count(list) == 0) {
		out_f(o, "Nothing was rescued.\n");
		return;
	}
	show_rows(o, list);
	if (value_int_at(res, "matching") > (int64_t)value_count(list))
		out_f(o, "and %lld older ones: --limit N\n",
				(long long)value_int_at(res, "matching") -
						(long long)value_count(list));
	out_styled(o, S_BOLD, STR("Next"));
	out_f(o, "  overseer rescue show ID     overseer rescue restore ID\n");
}

void show_rescue_show(struct cli *c, const value *x)
{
	struct out *o = &c->out;
	const value *log;

	out_field(o, "Ref", value_str_at(x, "ref"));
	out_field(o, "Rescued",
			arena_printf(o->arena, STR_FMT " ago, " STR_FMT,
					STR_ARG(out_age(o, value_str_at(x, "at"))),
					STR_ARG(out_clean(o, value_str_at(x, "why")))));
	out_field(o, "Worker", value_str_at(x, "worker"));
	out_field(o, "Node", value_str_at(x, "node").n ? whose(o, x) : STR(""));
	out_field(o, "Run", value_str_at(x, "run"));
	out_field(o, "Holds", amount(o, x));
	table_end(o, "");
	log = value_at(x, "log");
	for (size_t i = 0; i < value_count(log); i++) {
		out_f(o, "  ");
		out_text(o, value_str_or(value_item(log, i), STR("")));
		out_f(o, "\n");
	}
	out_f(o, "\n");
	out_lines(o, "", value_str_at(x, "stat"));
	if (!cli_has(c, "stat")) {
		out_f(o, "\n");
		out_lines(o, "", value_str_at(x, "patch"));
		if (value_bool_at(x, "cut"))
			out_f(o, "... cut here; all of it: git diff " STR_FMT " " STR_FMT "\n",
					STR_ARG(out_clean(o, value_str_at(x, "base"))),
					STR_ARG(out_clean(o, value_str_at(x, "ref"))));
	}
}

void show_rescue_restore(struct cli *c, const value *res)
{
	struct out *o = &c->out;

	out_f(o, "Branch ");
	out_styled(o, S_BOLD, value_str_at(res, "branch"));
	out_f(o, " has it; nothing else was changed.\nNext  git switch " STR_FMT "\n",
			STR_ARG(out_clean(o, value_str_at(res, "branch"))));
}

int cmd_rescue_prune(struct cli *c, struct ov_err *err)
{
	struct out *o = &c->out;
	const value *res;
	value *params;
	bool done;
	int r = cli_params(c, &params, err);

	if (r == 0)
		r = cli_ask(c, params, &res, &done, err);
	if (r != 0)
		return r;
	if (!done) {
		show_rows(o, value_at(res, "rescued"));
		out_f(o, "%lld %s, %lld kept\n", (long long)value_int_at(res, "removed"),
				value_bool_at(res, "dry_run") ? "would be removed" : "removed",
				(long long)value_int_at(res, "kept"));
	}
	if (value_int_at(res, "failed") == 0)
		return 0;
	return ov_fail(err, OV_EIO, "%lld could not be removed: " STR_FMT,
			(long long)value_int_at(res, "failed"),
			STR_ARG(out_clean(o, value_str_at(res, "reason"))));
}
