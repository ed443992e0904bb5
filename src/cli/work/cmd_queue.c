#include "base/str.h"
#include "cli/call/command.h"

static void queue_row(struct out *o, const value *x, const struct ids *goals, size_t place)
{
	str until = value_str_at(x, "not_before");

	cell_right(o, S_DIM, arena_printf(o->arena, "%zu", place));
	cell_f(o, S_BOLD, STR_FMT "/" STR_FMT, STR_ARG(ids_short(goals, value_str_at(x, "goal"))),
			STR_ARG(value_str_at(x, "node")));
	cell(o, S_PLAIN, out_short(o, value_str_at(x, "name"), 40));
	cell_f(o, S_DIM, "priority %lld", (long long)value_int_at(x, "priority"));
	cell(o, S_PLAIN, value_str_at(x, "agent"));
	cell(o, S_PLAIN, value_str_at(x, "step"));
	cell_right(o, S_DIM, out_age(o, value_str_at(x, "since")));
	if (until.n)
		cell_f(o, S_YELLOW, "again " STR_FMT ": " STR_FMT, STR_ARG(out_until(o, until)),
				STR_ARG(out_short(o, value_str_at(x, "why"), 120)));
	else
		cell(o, S_CYAN, out_short(o, value_str_at(x, "why"), 120));
	row_end(o);
}

static void show_queue(struct out *o, const char *title, const value *list)
{
	struct ids goals = { 0 };

	if (value_count(list) == 0)
		return;
	out_styled(o, S_BOLD, str_from(title));
	out_f(o, " (%zu)\n", value_count(list));
	for (size_t i = 0; i < value_count(list); i++)
		ids_add(&goals, value_str_at(value_item(list, i), "goal"));
	goals.partial = true;
	for (size_t i = 0; i < value_count(list); i++)
		queue_row(o, value_item(list, i), &goals, i + 1);
	table_end(o, "  ");
	ids_done(&goals);
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
	out_text(&c->out, value_str_at(res, "node"));
	out_f(&c->out, " waits no longer; next step: ");
	out_text(&c->out, value_str_at(res, "stage"));
	out_f(&c->out, "\nNext  overseer queue list\n");
}

void show_queue_drop(struct cli *c, const value *res)
{
	out_text(&c->out, value_str_at(res, "node"));
	out_f(&c->out, " is out of the queue and blocked.");
	if (value_str_at(res, "branch").n) {
		out_f(&c->out, " Its work is on branch ");
		out_text(&c->out, value_str_at(res, "branch"));
		out_f(&c->out, ".");
	}
	out_f(&c->out, "\nNext  overseer work unblock " STR_FMT " --reason TEXT\n",
			STR_ARG(out_clean(&c->out, value_str_at(res, "node"))));
}
