#include "base/str.h"
#include "cli/call/command.h"
#include "cli/look/inbox.h"
#include "cli/out/say.h"

/* "waiting (tried again then, in 4m), 2 attempts: no route" */
static str standing(struct out *o, const value *x)
{
	bool tried = value_int_at(x, "attempts") > 1;

	return say_text(o, x,
			tried ? "{status}[{?why} ({why}, {due_at:until})], "
				"{attempts:#attempt}[{?error}: {error:100}]"
			      : "{status}[{?why} ({why}, {due_at:until})][{?error}: {error:100}]");
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

static void standing_cell(struct out *o, const value *x)
{
	cell(o, style_of(x), standing(o, x));
}

static const struct column notice_columns[] = {
	{ "{id:id}", .style = S_BOLD },
	{ .text = "{channel}" },
	{ .text = "{urgency}" },
	{ .text = ABOUT_TEXT },
	{ "[{?escalation}#{escalation:n}]", .style = S_YELLOW },
	{ .text = "\"{subject:60}\"" },
	{ "{created_at:age}", .style = S_DIM, .right = true },
	{ .own = standing_cell },
};

void show_notice_list(struct cli *c, const value *res)
{
	say_table(&c->out, value_at(res, "notices"), notice_columns, "");
	say(&c->out, res, "[{!notices}Everybody was told.\n]");
}

static const struct shown_field notice_fields[] = {
	{ "Channel", .text = "{channel}" },
	{ "Urgency", .text = "{urgency}" },
	{ "About", .text = ABOUT_TEXT },
	{ "Inbox", .text = "[{?escalation}#{escalation:n}]" },
	{ "Raised", .text = "{created_at:age} ago" },
	{ "Tried", .text = "{attempts:#attempt}" },
	{ "Error", .text = "{error}" },
	{ "Became", .text = "{ref}" },
	{ "Next", .text = "[{due_at:until}: {why}]" },
};

void show_notice_show(struct cli *c, const value *x)
{
	struct out *o = &c->out;

	out_text(o, value_str_at(x, "id"));
	out_f(o, " ");
	out_styled(o, style_of(x), value_str_at(x, "status"));
	out_f(o, "\n");
	out_lines(o, "  ", value_str_at(x, "subject"));
	say_fields(o, x, notice_fields);
	table_end(o, "");
	if (str_is(value_str_at(x, "status"), "failed"))
		say(o, x, "Next  overseer notice retry {id:id}\n");
}

void show_notice_retry(struct cli *c, const value *res)
{
	say(&c->out, res,
			"The notice is tried again by {channel}, {due_at:until}.\n"
			"Next  overseer notice show {notice:id}\n");
}
