#include "base/str.h"
#include "cli/look/inbox.h"
#include "cli/out/lane.h"

str inbox_unanswered(struct out *o, const value *x)
{
	str at = value_str_at(x, "expires_at");

	if (!at.n || !value_str_at(x, "default_answer").n)
		return STR("waits for you");
	return arena_printf(o->arena, "default " STR_FMT ": " STR_FMT, STR_ARG(out_until(o, at)),
			STR_ARG(value_str_at(x, "default_answer")));
}

static str about(struct out *o, const value *x)
{
	str goal = id_short(value_str_at(x, "goal_id")), node = value_str_at(x, "node_id");

	if (!goal.n)
		return STR("-");
	return node.n ? arena_printf(o->arena, STR_FMT "/" STR_FMT, STR_ARG(goal), STR_ARG(node))
		      : goal;
}

/* All that can be typed about it, on one line beneath it. */
static void commands_row(struct out *o, const value *x)
{
	const value *list = value_at(x, "commands");
	str line = value_str_at(x, "next");

	for (size_t i = 0; i < value_count(list); i++)
		line = arena_printf(o->arena, STR_FMT "%s" STR_FMT, STR_ARG(line),
				line.n ? "    " : "",
				STR_ARG(value_str_or(value_item(list, i), STR(""))));
	cell(o, S_PLAIN, STR(""));
	cell(o, S_DIM, out_prose(o, line));
	row_end(o);
}

static enum style number_style(const value *x)
{
	str urgency = value_str_at(x, "urgency");

	if (!str_is(value_str_at(x, "status"), "open") || value_bool_at(x, "snoozed"))
		return S_DIM;
	return str_is(urgency, "critical") || str_is(urgency, "emergency") ? S_RED : S_YELLOW;
}

static void entry_rows(struct out *o, const value *x)
{
	str status = value_str_at(x, "status");
	bool open = str_is(status, "open");

	cell_f(o, number_style(x), "#%lld", (long long)value_int_at(x, "number"));
	cell(o, S_BOLD, value_str_at(x, "kind"));
	cell(o, S_PLAIN, about(o, x));
	cell_f(o, S_PLAIN, "\"" STR_FMT "\"",
			STR_ARG(out_short(o, value_str_at(x, "question"), 70)));
	cell_right(o, S_DIM, out_age(o, value_str_at(x, "opened_at")));
	if (open && value_bool_at(x, "snoozed"))
		cell_f(o, S_DIM, "put off, back " STR_FMT,
				STR_ARG(out_until(o, value_str_at(x, "snoozed_until"))));
	else if (!open)
		cell_f(o, status_style(status), STR_FMT ": " STR_FMT, STR_ARG(status),
				STR_ARG(out_short(o, value_str_at(x, "answer"), 40)));
	else
		cell(o, S_YELLOW, inbox_unanswered(o, x));
	row_end(o);
	if (open)
		commands_row(o, x);
}

void show_inbox_list(struct cli *c, const value *res)
{
	const value *list;

	list = value_at(res, "inbox");
	for (size_t i = 0; i < value_count(list); i++)
		entry_rows(&c->out, value_item(list, i));
	table_end(&c->out, "");
	if (value_count(list) == 0)
		out_f(&c->out, "Nothing needs you.\n");
	if (value_int_at(res, "snoozed") > 0 && !cli_has(c, "all"))
		out_f(&c->out, "%lld more put off.  Next  overseer inbox --all\n",
				(long long)value_int_at(res, "snoozed"));
}

void show_inbox(struct cli *c, const value *res)
{
	show_inbox_list(c, res);
}

static void show_facts(struct out *o, const value *facts)
{
	for (size_t i = 0; i < value_count(facts); i++) {
		const value *f = value_item(facts, i);

		cell(o, S_DIM, out_clock(o, value_str_at(f, "at")));
		cell(o, S_PLAIN, out_short(o, out_prose(o, value_str_at(f, "text")), 120));
		row_end(o);
	}
	table_end(o, "  ");
}

/* The pool gave out the same task again, which was counted and not run. */
static void show_repeats(struct out *o, const value *x)
{
	if (value_int_at(x, "repeats"))
		out_field(o, "Repeated",
				arena_printf(o->arena, "given out %lld time%s since",
						(long long)value_int_at(x, "repeats"),
						value_int_at(x, "repeats") == 1 ? "" : "s"));
}

static void show_state(struct out *o, const value *x)
{
	const value *options = value_at(x, "options"), *told = value_at(x, "notices"),
		    *found = value_at(x, "detection");
	bool open = str_is(value_str_at(x, "status"), "open");

	out_field(o, "About", about(o, x));
	out_field(o, "Why", value_str_at(x, "why"));
	out_field(o, "Check", value_str_at(x, "check_now"));
	if (value_str_at(found, "type").n)
		out_field(o, "Found",
				arena_printf(o->arena, STR_FMT ", " STR_FMT ": " STR_FMT,
						STR_ARG(value_str_at(found, "type")),
						STR_ARG(value_str_at(found, "severity")),
						STR_ARG(value_str_at(found, "message"))));
	out_field(o, "Opened",
			arena_printf(o->arena, STR_FMT " ago, reminded %lld time%s",
					STR_ARG(out_age(o, value_str_at(x, "opened_at"))),
					(long long)value_int_at(x, "reminders"),
					value_int_at(x, "reminders") == 1 ? "" : "s"));
	if (value_int_at(x, "raised"))
		out_field(o, "Raised",
				arena_printf(o->arena, "again, %lld time%s; last " STR_FMT " ago",
						(long long)value_int_at(x, "raised"),
						value_int_at(x, "raised") == 1 ? "" : "s",
						STR_ARG(out_age(o, value_str_at(x, "raised_at")))));
	show_repeats(o, x);
	if (open && value_bool_at(x, "snoozed"))
		out_field(o, "Put off",
				arena_printf(o->arena, "comes back " STR_FMT,
						STR_ARG(out_until(o,
								value_str_at(x,
										"snoozed_"
										"until")))));
	for (size_t i = 0; i < value_count(options); i++)
		out_field(o, i ? "" : "Options", value_str_or(value_item(options, i), STR("")));
	if (open)
		out_field(o, "Otherwise", inbox_unanswered(o, x));
	if (value_int_at(x, "blocks"))
		out_field(o, "Holds up",
				arena_printf(o->arena, "%lld more piece%s of work",
						(long long)value_int_at(x, "blocks"),
						value_int_at(x, "blocks") == 1 ? "" : "s"));
	if (!open)
		out_field(o, "Answer",
				arena_printf(o->arena,
						STR_FMT " by " STR_FMT ", " STR_FMT
							" ago: " STR_FMT,
						STR_ARG(value_str_at(x, "status")),
						STR_ARG(value_str_at(x, "answered_by")),
						STR_ARG(out_age(o, value_str_at(x, "closed_at"))),
						STR_ARG(value_str_at(x, "answer"))));
	for (size_t i = 0; i < value_count(told); i++)
		out_field(o, i ? "" : "Told", notice_standing(o, value_item(told, i)));
	if (value_str_at(x, "reason").n)
		out_field(o, "Reason", value_str_at(x, "reason"));
	out_field(o, "Now", out_prose(o, value_str_at(x, "now")));
	table_end(o, "");
}

void show_inbox_show(struct cli *c, const value *x)
{
	struct out *o = &c->out;
	const value *next;

	out_f(o, "#%lld ", (long long)value_int_at(x, "number"));
	out_styled(o, S_BOLD, value_str_at(x, "kind"));
	out_f(o, "\n");
	out_lines(o, "  ", value_str_at(x, "question"));
	show_state(o, x);
	if (value_str_at(x, "last_lines").n)
		out_f(o, "The agent wrote last\n");
	show_last_lines(o, "  | ", value_str_at(x, "last_lines"), SIZE_MAX);
	if (value_count(value_at(x, "facts")))
		out_f(o, "What led to it\n");
	show_facts(o, value_at(x, "facts"));
	next = value_at(x, "commands");
	for (size_t i = 0; i < value_count(next); i++) {
		out_f(o, "%s  ", i ? "    " : "Next");
		out_text(o, value_str_or(value_item(next, i), STR("")));
		out_f(o, "\n");
	}
	if (value_count(next))
		out_f(o, "      overseer inbox snooze %lld 4h\n",
				(long long)value_int_at(x, "number"));
}
