#include "base/str.h"
#include "cli/call/command.h"
#include "cli/out/lane.h"

/* What keeps it from working, or that nothing does. */
static str state_text(struct out *o, const value *x, enum style *ret_style)
{
	str waits = lane_words(o, value_at(x, "limit"));

	*ret_style = waits.n ? S_YELLOW : value_str_at(x, "program").n ? S_GREEN : S_RED;
	if (waits.n)
		return waits;
	if (value_str_at(x, "program").n)
		return STR("ready");
	return arena_printf(o->arena, STR_FMT " is not found",
			STR_ARG(out_clean(o,
					value_str_or(value_item(value_at(x, "command"), 0),
							STR("")))));
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

static void agent_row(struct out *o, const value *x)
{
	str tags = out_joined(o->arena, value_at(x, "capabilities"), ", "),
	    model = value_str_at(x, "model"), about = value_str_at(x, "description");
	enum style style;
	str state = state_text(o, x, &style);

	cell_f(o, S_BOLD, STR_FMT "%s", STR_ARG(value_str_at(x, "name")),
			value_bool_at(x, "default") ? " *" : "");
	cell_f(o, S_PLAIN, STR_FMT "/" STR_FMT, STR_ARG(value_str_at(x, "runtime")),
			STR_ARG(value_str_at(x, "format")));
	cell(o, S_PLAIN, model.n ? out_short(o, model, 30) : STR("-"));
	cell_f(o, S_PLAIN, "%lld of %lld", (long long)value_int_at(x, "in_use"),
			(long long)value_int_at(x, "concurrency"));
	cell(o, style, state);
	cell(o, S_PLAIN, out_short(o, tools_text(o->arena, value_at(x, "tools")), 40));
	cell(o, S_DIM, out_short(o, tags.n ? tags : about, 40));
	row_end(o);
}

/* Since when, and how that is known, beneath the table: it would make each row too long. */
static void limit_lines(struct out *o, const value *list)
{
	for (size_t i = 0; i < value_count(list); i++) {
		const value *limit = value_at(value_item(list, i), "limit");

		if (!value_bool_at(limit, "waits"))
			continue;
		cell(o, S_BOLD, value_str_at(value_item(list, i), "name"));
		cell_f(o, S_PLAIN, "%s since " STR_FMT " (" STR_FMT " ago)", "not given work",
				STR_ARG(out_clock(o, value_str_at(limit, "since"))),
				STR_ARG(out_age(o, value_str_at(limit, "since"))));
		cell_f(o, S_DIM, "known by " STR_FMT,
				STR_ARG(out_prose(o, value_str_at(limit, "how"))));
		row_end(o);
	}
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
	struct out *o = &c->out;
	const value *list;

	list = value_at(res, "agents");
	if (value_count(list) == 0) {
		out_f(o,
				"No agent is configured.\nNext  add [agents.claude] with format = "
				"\"claude\" to .overseer/config.toml\n");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		cell(o, S_DIM, str_from(heads[i]));
	row_end(o);
	for (size_t i = 0; i < value_count(list); i++)
		agent_row(o, value_item(list, i));
	table_end(o, "");
	limit_lines(o, list);
	gap_lines(o, list);
}

static void show_gaps(struct out *o, const value *gaps)
{
	if (value_count(gaps) == 0)
		return;
	out_f(o, "\nCANNOT TELL (%zu)\n", value_count(gaps));
	for (size_t i = 0; i < value_count(gaps); i++) {
		cell(o, S_PLAIN, value_str_at(value_item(gaps, i), "about"));
		cell(o, S_DIM, value_str_at(value_item(gaps, i), "why"));
		row_end(o);
	}
	table_end(o, "  ");
}

void show_agent_show(struct cli *c, const value *x)
{
	struct out *o = &c->out;
	enum style style;
	str state;

	state = state_text(o, x, &style);
	out_styled(o, S_BOLD, value_str_at(x, "name"));
	out_f(o, "%s ", value_bool_at(x, "default") ? " *" : "");
	out_styled(o, style, state);
	out_f(o, "\n");
	out_field(o, "Kind",
			arena_printf(o->arena, STR_FMT ", " STR_FMT "/" STR_FMT,
					STR_ARG(value_str_at(x, "title")),
					STR_ARG(value_str_at(x, "runtime")),
					STR_ARG(value_str_at(x, "format"))));
	out_field(o, "Program", value_str_at(x, "program"));
	out_field(o, "Model", value_str_at(x, "model"));
	out_field(o, "In use",
			arena_printf(o->arena, "%lld of %lld", (long long)value_int_at(x, "in_use"),
					(long long)value_int_at(x, "concurrency")));
	out_field(o, "Tools", tools_text(o->arena, value_at(x, "tools")));
	out_field(o, "Roles", out_joined(o->arena, value_at(x, "roles"), ", "));
	out_field(o, "Good for", out_joined(o->arena, value_at(x, "capabilities"), ", "));
	out_field(o, "About", value_str_at(x, "description"));
	table_end(o, "  ");
	show_gaps(o, value_at(x, "cannot_tell"));
}
