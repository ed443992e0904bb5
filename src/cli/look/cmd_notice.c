#include "base/str.h"
#include "cli/call/command.h"
#include "cli/look/inbox.h"

static str notice_about(struct out *o, const value *x)
{
	str goal = id_short(value_str_at(x, "goal_id")), node = value_str_at(x, "node_id");

	if (!goal.n)
		return STR("-");
	return node.n ? arena_printf(o->arena, STR_FMT "/" STR_FMT, STR_ARG(goal), STR_ARG(node))
		      : goal;
}

static str entry(struct out *o, const value *x)
{
	int64_t number = value_int_at(x, "escalation");

	return number ? arena_printf(o->arena, "#%lld", (long long)number) : STR("");
}

static str attempts(struct out *o, const value *x)
{
	int64_t n = value_int_at(x, "attempts");

	return arena_printf(o->arena, "%lld attempt%s", (long long)n, n == 1 ? "" : "s");
}

/* "waiting 4m: tried again then; last: no route" */
static str standing(struct out *o, const value *x)
{
	str status = value_str_at(x, "status"), why = value_str_at(x, "why"),
	    error = value_str_at(x, "error"), text = status;

	if (why.n)
		text = arena_printf(o->arena, STR_FMT " (" STR_FMT ", " STR_FMT ")",
				STR_ARG(status), STR_ARG(why),
				STR_ARG(out_until(o, value_str_at(x, "due_at"))));
	if (value_int_at(x, "attempts") > 1)
		text = arena_printf(o->arena, STR_FMT ", " STR_FMT, STR_ARG(text),
				STR_ARG(attempts(o, x)));
	if (error.n)
		text = arena_printf(o->arena, STR_FMT ": " STR_FMT, STR_ARG(text),
				STR_ARG(out_short(o, error, 100)));
	return text;
}

str notice_standing(struct out *o, const value *x)
{
	return arena_printf(o->arena, STR_FMT ": " STR_FMT, STR_ARG(value_str_at(x, "channel")),
			STR_ARG(standing(o, x)));
}

static enum style style_of(const value *x)
{
	str status = value_str_at(x, "status");

	if (str_is(status, "failed"))
		return value_bool_at(x, "lost") ? S_RED : S_DIM;
	return str_is(status, "waiting") ? S_YELLOW : S_PLAIN;
}

static void notice_row(struct out *o, const value *x, const struct ids *ids)
{
	cell(o, S_BOLD, ids_short(ids, value_str_at(x, "id")));
	cell(o, S_PLAIN, value_str_at(x, "channel"));
	cell(o, S_PLAIN, value_str_at(x, "urgency"));
	cell(o, S_PLAIN, notice_about(o, x));
	cell(o, S_YELLOW, entry(o, x));
	cell_f(o, S_PLAIN, "\"" STR_FMT "\"",
			STR_ARG(out_short(o, value_str_at(x, "subject"), 60)));
	cell_right(o, S_DIM, out_age(o, value_str_at(x, "created_at")));
	cell(o, style_of(x), standing(o, x));
	row_end(o);
}

void show_notice_list(struct cli *c, const value *res)
{
	struct ids ids = { 0 };
	const value *list;

	list = value_at(res, "notices");
	for (size_t i = 0; i < value_count(list); i++)
		ids_add(&ids, value_str_at(value_item(list, i), "id"));
	ids.partial = true;
	for (size_t i = 0; i < value_count(list); i++)
		notice_row(&c->out, value_item(list, i), &ids);
	table_end(&c->out, "");
	ids_done(&ids);
	if (value_count(list) == 0)
		out_f(&c->out, "Everybody was told.\n");
}

void show_notice_show(struct cli *c, const value *x)
{
	struct out *o = &c->out;

	out_text(o, value_str_at(x, "id"));
	out_f(o, " ");
	out_styled(o, style_of(x), value_str_at(x, "status"));
	out_f(o, "\n");
	out_lines(o, "  ", value_str_at(x, "subject"));
	out_field(o, "Channel", value_str_at(x, "channel"));
	out_field(o, "Urgency", value_str_at(x, "urgency"));
	out_field(o, "About", notice_about(o, x));
	out_field(o, "Inbox", entry(o, x));
	out_field(o, "Raised",
			arena_printf(o->arena, STR_FMT " ago",
					STR_ARG(out_age(o, value_str_at(x, "created_at")))));
	out_field(o, "Tried", attempts(o, x));
	out_field(o, "Error", value_str_at(x, "error"));
	out_field(o, "Became", value_str_at(x, "ref"));
	if (value_str_at(x, "due_at").n)
		out_field(o, "Next",
				arena_printf(o->arena, STR_FMT ": " STR_FMT,
						STR_ARG(out_until(o, value_str_at(x, "due_at"))),
						STR_ARG(value_str_at(x, "why"))));
	table_end(o, "");
	if (str_is(value_str_at(x, "status"), "failed"))
		out_f(o, "Next  overseer notice retry " STR_FMT "\n",
				STR_ARG(id_short(value_str_at(x, "id"))));
}

void show_notice_retry(struct cli *c, const value *res)
{
	out_f(&c->out, "The notice is tried again by ");
	out_text(&c->out, value_str_at(res, "channel"));
	out_f(&c->out, ", " STR_FMT ".\nNext  overseer notice show " STR_FMT "\n",
			STR_ARG(out_until(&c->out, value_str_at(res, "due_at"))),
			STR_ARG(id_short(value_str_at(res, "notice"))));
}
