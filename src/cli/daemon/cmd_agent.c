#include "base/str.h"
#include "cli/call/command.h"
#include "cli/out/lane.h"
#include "cli/out/say.h"

/* What keeps it from working, or that nothing does. */
static str state_text(struct out *o, const value *x, enum style *ret_style)
{
	str waits = lane_words(o, value_at(x, "limit"));

	*ret_style = waits.n ? S_YELLOW : value_str_at(x, "program").n ? S_GREEN : S_RED;
	if (waits.n)
		return waits;
	if (value_str_at(x, "program").n)
		return STR("ready");
	return say_text(o, value_item(value_at(x, "command"), 0), "{} is not found");
}

/* "read, edit; not web" */
static str tools_text(struct arena *a, const value *tools)
{
	str allow = out_joined(a, value_at(tools, "allow"), ", "),
	    deny = out_joined(a, value_at(tools, "deny"), ", ");

	if (!allow.n)
		allow = STR("all");
	return deny.n ? arena_printf(a, STR_FMT "; not " STR_FMT, STR_ARG(allow), STR_ARG(deny))
		      : allow;
}

static void state_cell(struct out *o, const value *x)
{
	enum style style;
	str state = state_text(o, x, &style);

	cell(o, style, state);
}

static void tools_cell(struct out *o, const value *x)
{
	cell(o, S_PLAIN, out_short(o, tools_text(o->arena, value_at(x, "tools")), 40));
}

static void purpose_cell(struct out *o, const value *x)
{
	cell(o, S_DIM, out_short(o, say_text(o, x, "[{capabilities:list}|{description}]"), 40));
}

static const struct column agent_columns[] = {
	{ "{name}[{?default} *]", .style = S_BOLD },
	{ .text = "{runtime}/{format}" },
	{ .text = "[{model:30}|-]" },
	{ .text = "{in_use:n} of {concurrency:n}" },
	{ .own = state_cell },
	{ .own = tools_cell },
	{ .own = purpose_cell },
};

static const struct column limit_columns[] = {
	{ "{name}", .style = S_BOLD },
	{ .text = "not given work since {limit.since:clock} ({limit.since:age} ago)" },
	{ "known by {limit.how:prose}", .style = S_DIM },
};

/* Since when, and how that is known, beneath the table: it would make each row too long. */
static void limit_lines(struct out *o, const value *list)
{
	for (size_t i = 0; i < value_count(list); i++)
		if (value_bool_at(value_at(value_item(list, i), "limit"), "waits"))
			say_row(o, value_item(list, i), limit_columns);
	table_end(o, "  ");
}

/* What its format cannot tell; `agent show` says why. */
static void gap_lines(struct out *o, const value *list)
{
	for (size_t i = 0; i < value_count(list); i++) {
		const value *gaps = value_at(value_item(list, i), "cannot_tell");
		str all = STR("");

		for (size_t k = 0; k < value_count(gaps); k++)
			all = arena_printf(o->arena, STR_FMT "%s" STR_FMT, STR_ARG(all),
					k ? ", " : "",
					STR_ARG(value_str_at(value_item(gaps, k), "about")));
		if (!all.n)
			continue;
		cell(o, S_BOLD, value_str_at(value_item(list, i), "name"));
		cell(o, S_DIM, STR("cannot tell"));
		cell(o, S_DIM, all);
		row_end(o);
	}
	table_end(o, "  ");
}

static const char *const heads[] = { "AGENT", "KIND", "MODEL", "IN USE", "STATE", "TOOLS", "FOR" };

void show_agent_list(struct cli *c, const value *res)
{
	const value *list = value_at(res, "agents");
	struct out *o = &c->out;

	if (value_count(list) == 0) {
		out_f(o,
				"No agent is configured.\nNext  add [agents.claude] with format = "
				"\"claude\" to .overseer/config.toml\n");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		cell(o, S_DIM, str_from(heads[i]));
	row_end(o);
	say_table(o, list, agent_columns, "");
	limit_lines(o, list);
	gap_lines(o, list);
}

static const struct column gap_columns[] = { { .text = "{about}" }, { "{why}", .style = S_DIM } };

static const struct shown_field agent_fields[] = {
	{ "Kind", .text = "{title}, {runtime}/{format}" },
	{ "Program", .text = "{program}" },
	{ "Model", .text = "{model}" },
	{ "In use", .text = "{in_use:n} of {concurrency:n}" },
};

void show_agent_show(struct cli *c, const value *x)
{
	struct out *o = &c->out;
	enum style style;
	str state = state_text(o, x, &style);

	say(o, x, "{name*bold}[{?default} *] ");
	out_styled(o, style, state);
	out_f(o, "\n");
	say_fields(o, x, agent_fields);
	out_field(o, "Tools", tools_text(o->arena, value_at(x, "tools")));
	say_field(o, x, "Roles", "{roles:list}");
	say_field(o, x, "Good for", "{capabilities:list}");
	say_field(o, x, "About", "{description}");
	table_end(o, "  ");
	say(o, x, "[{?cannot_tell}\nCANNOT TELL ({cannot_tell:count})\n]");
	say_table(o, value_at(x, "cannot_tell"), gap_columns, "  ");
}
