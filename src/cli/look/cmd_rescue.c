/*
 * What was kept of agents' work before a worktree was used again: looking at it, getting it back.
 */
#include "cli/call/command.h"
#include "cli/out/say.h"

#define WHOSE_TEXT "[{?node}{goal:id}/{node}|-]"

static str amount(struct out *o, const value *x)
{
	return value_at(x, "files") ? say_text(o, x, "{commits:#commit}, {files:#file}") : STR("");
}

static void amount_cell(struct out *o, const value *x)
{
	cell(o, S_PLAIN, amount(o, x));
}

static const struct column rescue_columns[] = {
	{ "{at:age}", .style = S_DIM, .right = true },
	{ "{id}", .style = S_BOLD },
	{ .text = "{worker|-}" },
	{ .text = WHOSE_TEXT },
	{ .own = amount_cell },
	{ "{why:70}", .style = S_DIM },
};

void show_rescue_list(struct cli *c, const value *res)
{
	const value *list = value_at(res, "rescued");
	struct out *o = &c->out;

	say(o, res, "[{?problem}Whose it is could not be found out: {problem}\n]");
	if (value_count(list) == 0) {
		out_f(o, "Nothing was rescued.\n");
		return;
	}
	say_table(o, list, rescue_columns, "  ");
	if (value_int_at(res, "matching") > (int64_t)value_count(list))
		out_f(o, "and %lld older ones: --limit N\n",
				(long long)value_int_at(res, "matching") -
						(long long)value_count(list));
	out_styled(o, S_BOLD, STR("Next"));
	out_f(o, "  overseer rescue show ID     overseer rescue restore ID\n");
}

void show_rescue_show(struct cli *c, const value *x)
{
	const value *log = value_at(x, "log");
	struct out *o = &c->out;

	say_field(o, x, "Ref", "{ref}");
	say_field(o, x, "Rescued", "{at:age} ago, {why}");
	say_field(o, x, "Worker", "{worker}");
	say_field(o, x, "Node", "[{?node}" WHOSE_TEXT "]");
	say_field(o, x, "Run", "{run}");
	out_field(o, "Holds", amount(o, x));
	table_end(o, "");
	for (size_t i = 0; i < value_count(log); i++)
		say(o, value_item(log, i), "  {}\n");
	out_f(o, "\n");
	out_lines(o, "", value_str_at(x, "stat"));
	if (!cli_has(c, "stat")) {
		out_f(o, "\n");
		out_lines(o, "", value_str_at(x, "patch"));
		say(o, x, "[{?cut}... cut here; all of it: git diff {base} {ref}\n]");
	}
}

void show_rescue_restore(struct cli *c, const value *res)
{
	say(&c->out, res,
			"Branch {branch*bold} has it; nothing else was changed.\n"
			"Next  git switch {branch}\n");
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
		say_table(o, value_at(res, "rescued"), rescue_columns, "  ");
		say(o, res, "{removed:n} [{?dry_run}would be ]removed, {kept:n} kept\n");
	}
	if (value_int_at(res, "failed") == 0)
		return 0;
	return ov_fail(err, OV_EIO, "%lld could not be removed: " STR_FMT,
			(long long)value_int_at(res, "failed"),
			STR_ARG(out_clean(o, value_str_at(res, "reason"))));
}
