#include "cli/call/command.h"
#include "cli/out/say.h"

static const struct column queue_columns[] = {
	{ "{goal:id}/{node}", .style = S_BOLD },
	{ .text = "{name:40}" },
	{ "priority {priority:n}", .style = S_DIM },
	{ .text = "{agent}" },
	{ .text = "{step}" },
	{ "{since:age}", .style = S_DIM, .right = true },
};

static void show_queue(struct out *o, const char *title, const value *list)
{
	out_heading(o, title, value_count(list));
	for (size_t i = 0; i < value_count(list); i++) {
		const value *x = value_item(list, i);
		bool waits = value_str_at(x, "not_before").n > 0;

		cell_right(o, S_DIM, arena_printf(o->arena, "%zu", i + 1));
		say_cells(o, x, queue_columns);
		cell(o, waits ? S_YELLOW : S_CYAN,
				say_text(o, x,
						"[{?not_before}again {not_before:until}: "
						"]{why:120}"));
		row_end(o);
	}
	table_end(o, "  ");
}

void show_queue_list(struct cli *c, const value *res)
{
	show_queue(&c->out, "TO BE ACCEPTED", value_at(res, "accept"));
	show_queue(&c->out, "TO BE BEGUN", value_at(res, "dispatch"));
	if (value_count(value_at(res, "accept")) + value_count(value_at(res, "dispatch")) == 0)
		out_f(&c->out, "Nothing waits.\n");
}

void show_queue_retry(struct cli *c, const value *res)
{
	say(&c->out, res,
			"{node} waits no longer; next step: {stage}\nNext  overseer queue list\n");
}

void show_queue_drop(struct cli *c, const value *res)
{
	say(&c->out, res,
			"{node} is out of the queue and blocked.[{?branch} Its work is on branch "
			"{branch}.]\n"
			"Next  overseer work unblock {node} --reason TEXT\n");
}
