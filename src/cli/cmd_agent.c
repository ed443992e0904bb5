#include "base/str.h"
#include "cli/command.h"
#include "cli/lane.h"

static str joined(struct arena *a, const value *list, const char *between)
{
	str s = STR("");

	for (size_t i = 0; i < value_count(list); i++)
		s = arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(s), i ? between : "",
				STR_ARG(value_str_or(value_item(list, i), STR(""))));
	return s;
}

/* What keeps it from working, or that nothing does. */
static void state_cell(struct out *o, const value *x)
{
	str waits = lane_words(o, value_at(x, "limit"));

	if (waits.n)
		cell(o, S_YELLOW, waits);
	else if (!value_str_at(x, "program").n)
		cell_f(o, S_RED, STR_FMT " is not found",
				STR_ARG(out_clean(o,
						value_str_or(value_item(value_at(x, "command"), 0),
								STR("")))));
	else
		cell(o, S_GREEN, STR("ready"));
}

/* "read, edit; not web" */
static str tools_text(struct arena *a, const value *tools)
{
	str allow = joined(a, value_at(tools, "allow"), ", "),
	    deny = joined(a, value_at(tools, "deny"), ", ");

	if (!allow.n)
		allow = STR("all");
	return deny.n ? arena_printf(a, STR_FMT "; not " STR_FMT, STR_ARG(allow), STR_ARG(deny))
		      : allow;
}

static void agent_row(struct out *o, const value *x)
{
	str tags = joined(o->arena, value_at(x, "capabilities"), ", "),
	    model = value_str_at(x, "model"), about = value_str_at(x, "description");

	cell_f(o, S_BOLD, STR_FMT "%s", STR_ARG(value_str_at(x, "name")),
			value_bool_at(x, "default") ? " *" : "");
	cell_f(o, S_PLAIN, STR_FMT "/" STR_FMT, STR_ARG(value_str_at(x, "runtime")),
			STR_ARG(value_str_at(x, "format")));
	cell(o, S_PLAIN, model.n ? out_short(o, model, 30) : STR("-"));
	cell_f(o, S_PLAIN, "%lld of %lld", (long long)value_int_at(x, "in_use"),
			(long long)value_int_at(x, "concurrency"));
	state_cell(o, x);
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

static const char *const heads[] = { "AGENT", "KIND", "MODEL", "IN USE", "STATE", "TOOLS", "FOR" };

int cmd_agent_list(struct cli *c, struct ov_err *err)
{
	struct out *o = &c->out;
	const value *res, *list;
	bool done;
	int r = cli_call(c, CALL_READ, "agent.list", NULL, &res, &done, err);

	if (r != 0 || done)
		return r;
	list = value_at(res, "agents");
	if (value_count(list) == 0) {
		out_f(o,
				"No agent is configured.\nNext  add [agents.claude] with format = "
				"\"claude\" to .overseer/config.toml\n");
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		cell(o, S_DIM, str_from(heads[i]));
	row_end(o);
	for (size_t i = 0; i < value_count(list); i++)
		agent_row(o, value_item(list, i));
	table_end(o, "");
	limit_lines(o, list);
	return 0;
}
