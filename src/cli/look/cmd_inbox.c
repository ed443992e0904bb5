#include "base/str.h"
#include "cli/look/inbox.h"
#include "cli/out/lane.h"
#include "cli/out/say.h"

str inbox_unanswered(struct out *o, const value *x)
{
	bool answered = value_str_at(x, "expires_at").n && value_str_at(x, "default_answer").n;

	return answered ? say_text(o, x, "default {expires_at:until}: {default_answer}")
			: STR("waits for you");
}

/* All that can be typed about it, on one line beneath it. */
static void commands_row(struct out *o, const value *x)
{
	str next = value_str_at(x, "next"),
	    more = out_joined(o->arena, value_at(x, "commands"), "    ");

	cell(o, S_PLAIN, STR(""));
	cell_f(o, S_DIM, STR_FMT "%s" STR_FMT, STR_ARG(out_prose(o, next)),
			next.n && more.n ? "    " : "", STR_ARG(out_prose(o, more)));
	row_end(o);
}

static enum style number_style(const value *x)
{
	str urgency = value_str_at(x, "urgency");

	if (!str_is(value_str_at(x, "status"), "open") || value_bool_at(x, "snoozed"))
		return S_DIM;
	return str_is(urgency, "critical") || str_is(urgency, "emergency") ? S_RED : S_YELLOW;
}

static void number_cell(struct out *o, const value *x)
{
	cell(o, number_style(x), say_text(o, x, "#{number:n}"));
}

static void answer_cell(struct out *o, const value *x)
{
	if (!str_is(value_str_at(x, "status"), "open"))
		cell(o, status_style(value_str_at(x, "status")),
				say_text(o, x, "{status}: {answer:40}"));
	else if (value_bool_at(x, "snoozed"))
		cell(o, S_DIM, say_text(o, x, "put off, back {snoozed_until:until}"));
	else
		cell(o, S_YELLOW, inbox_unanswered(o, x));
}

static const struct column entry_columns[] = {
	{ .own = number_cell },
	{ "{kind}", .style = S_BOLD },
	{ .text = ABOUT_TEXT },
	{ .text = "\"{question:70}\"" },
	{ "{opened_at:age}", .style = S_DIM, .right = true },
	{ .own = answer_cell },
};

void show_inbox_list(struct cli *c, const value *res)
{
	const value *list = value_at(res, "inbox");

	for (size_t i = 0; i < value_count(list); i++) {
		say_row(&c->out, value_item(list, i), entry_columns);
		if (str_is(value_str_at(value_item(list, i), "status"), "open"))
			commands_row(&c->out, value_item(list, i));
	}
	table_end(&c->out, "");
	say(&c->out, res, "[{!inbox}Nothing needs you.\n]");
	if (!cli_has(c, "all"))
		say(&c->out, res,
				"[{?snoozed}{snoozed:n} more put off.  Next  overseer inbox "
				"--all\n]");
}

void show_inbox(struct cli *c, const value *res)
{
	show_inbox_list(c, res);
}

static void fact_cell(struct out *o, const value *f)
{
	cell(o, S_PLAIN, out_short(o, out_prose(o, value_str_at(f, "text")), 120));
}

static const struct column fact_columns[] = {
	{ "{at:clock}", .style = S_DIM },
	{ .own = fact_cell },
};

static const struct shown_field entry_fields[] = {
	{ "About", .text = ABOUT_TEXT },
	{ "Why", .text = "{why}" },
	{ "Check", .text = "{check_now}" },
	{ "Found", .text = "[{detection.type}, {detection.severity}: {detection.message}]" },
	{ "Opened", .text = "{opened_at:age} ago, reminded {reminders:#time}" },
	{ "Raised", .text = "[{?raised}again, {raised:#time}; last {raised_at:age} ago]" },
	/* The pool gave out the same task again, which was counted and not run. */
	{ "Repeated", .text = "[{?repeats}given out {repeats:#time} since]" },
};

static void show_state(struct out *o, const value *x)
{
	const value *told = value_at(x, "notices");
	bool open = str_is(value_str_at(x, "status"), "open");

	say_fields(o, x, entry_fields);
	if (open)
		say_field(o, x, "Put off", "[{?snoozed}comes back {snoozed_until:until}]");
	out_fields(o, "Options", value_at(x, "options"));
	if (open)
		out_field(o, "Otherwise", inbox_unanswered(o, x));
	say_field(o, x, "Holds up", "[{blocks:#more piece} of work]");
	if (!open)
		say_field(o, x, "Answer",
				"{status} by {answered_by}, {closed_at:age} ago: {answer}");
	for (size_t i = 0; i < value_count(told); i++)
		out_field(o, i ? "" : "Told", notice_standing(o, value_item(told, i)));
	say_field(o, x, "Reason", "{reason}");
	say_field(o, x, "Now", "{now:prose}");
	table_end(o, "");
}

void show_inbox_show(struct cli *c, const value *x)
{
	const value *next = value_at(x, "commands");
	struct out *o = &c->out;

	say(o, x, "#{number:n} {kind*bold}\n");
	out_lines(o, "  ", value_str_at(x, "question"));
	show_state(o, x);
	say(o, x, "[{?last_lines}The agent wrote last\n]");
	show_last_lines(o, "  | ", value_str_at(x, "last_lines"), SIZE_MAX);
	say(o, x, "[{?facts}What led to it\n]");
	say_table(o, value_at(x, "facts"), fact_columns, "  ");
	for (size_t i = 0; i < value_count(next); i++)
		say(o, value_item(next, i), i ? "      {}\n" : "Next  {}\n");
	say(o, x, "[{?commands}      overseer inbox snooze {number:n} 4h\n]");
}
