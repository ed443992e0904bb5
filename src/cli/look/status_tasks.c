#include "cli/look/status_tasks.h"

#include "base/str.h"
#include "cli/call/command.h"
#include "cli/out/lane.h"
#include "cli/out/say.h"

enum { WAIT_LINES = 1, BLOCKED_ROWS = 10 }; /* of what a failed agent wrote last; of tasks */

enum place { RUNNING, WAITING, ELSEWHERE };

/* What is stalled has a list of its own. */
static enum place status_tasks_place_of(const value *r)
{
	if (str_is(value_str_at(r, "status"), "stalled"))
		return ELSEWHERE;
	return value_str_at(r, "waiting").n || value_str_at(r, "not_before").n ? WAITING : RUNNING;
}

/* What it does, or what it waits for. */
static void doing_cell(struct out *o, const value *r)
{
	if (value_str_at(r, "waiting").n && !str_is(value_str_at(r, "waiting"), "backoff"))
		cell(o, S_YELLOW, value_str_at(r, "waiting_for"));
	else if (status_tasks_place_of(r) == WAITING)
		cell(o, S_YELLOW, say_text(o, r, "{stage} {not_before:until}: {reason:60}"));
	else if (value_at(r, "now"))
		cell(o, S_CYAN, say_text(o, r, "{now.text:60}[{?resumed}, session resumed]"));
	else if (str_is(value_str_at(r, "stage"), "review"))
		cell(o, S_YELLOW, say_text(o, r, "{reason:60}"));
	else if (value_int_at(r, "attempt") > 1)
		cell(o, S_CYAN,
				say_text(o, r,
						"{stage}, attempt {attempt:n}[{?resumed}, session "
						"resumed]"));
	else
		cell(o, S_CYAN, value_str_at(r, "stage"));
}

static const struct column running_columns[] = {
	{ .text = "{worker|-}" },
	{ .text = "{agent}" },
	{ "{node}", .style = S_BOLD },
	{ .text = "{name:40}" },
	{ "{since:age}", .style = S_DIM, .right = true },
	{ .own = doing_cell },
};

static void running_row(struct out *o, const value *r)
{
	say_cells(o, r, running_columns);
	if (value_int_at(r, "cost_microusd"))
		cell(o, S_PLAIN, say_text(o, r, "{cost_microusd:cost}"));
	row_end(o);
	if (status_tasks_place_of(r) == WAITING)
		last_line_rows(o, value_str_at(r, "last_lines"), WAIT_LINES);
}

/* "t3", or "t3, t4 and 9 more": those that wait for the same thing and have no worker. */
static void queued_row(struct out *o, const value *g)
{
	const value *nodes = value_at(g, "nodes"), *first = value_item(nodes, 0);
	size_t count = (size_t)value_int_at(g, "count"), named = MIN(value_count(nodes), (size_t)3);
	str ids = STR("");

	for (size_t i = 0; i < named; i++)
		ids = arena_printf(o->arena, STR_FMT "%s" STR_FMT, STR_ARG(ids), i ? ", " : "",
				STR_ARG(value_str_at(value_item(nodes, i), "node")));
	if (count > named)
		ids = arena_printf(o->arena, STR_FMT " and %zu more", STR_ARG(ids), count - named);
	cell(o, S_PLAIN, STR("-"));
	cell(o, S_PLAIN, value_str_at(first, "agent"));
	cell(o, S_BOLD, out_short(o, ids, 40));
	cell(o, S_PLAIN, count == 1 ? out_short(o, value_str_at(first, "name"), 40) : STR(""));
	cell_right(o, S_DIM, out_age(o, value_str_at(first, "since")));
	cell(o, S_YELLOW, value_str_at(g, "why"));
	row_end(o);
}

static void show_place(struct out *o, const value *s, enum place place)
{
	const value *list = value_at(s, "running"), *queued = value_at(s, "queued");
	size_t n = 0, groups = place == WAITING ? value_count(queued) : 0;

	for (size_t i = 0; i < value_count(list); i++)
		n += status_tasks_place_of(value_item(list, i)) == place;
	for (size_t i = 0; i < groups; i++)
		n += (size_t)value_int_at(value_item(queued, i), "count");
	out_heading(o, place == WAITING ? "WAITING" : "RUNNING", n);
	for (size_t i = 0; i < value_count(list); i++)
		if (status_tasks_place_of(value_item(list, i)) == place)
			running_row(o, value_item(list, i));
	for (size_t i = 0; i < groups; i++)
		queued_row(o, value_item(queued, i));
	table_end(o, "  ");
}

void show_running(struct out *o, const value *s)
{
	show_place(o, s, RUNNING);
}

void show_waiting(struct out *o, const value *s)
{
	show_place(o, s, WAITING);
}

static const struct column blocked_columns[] = {
	{ "{id}", .style = S_BOLD },
	{ .text = "{name:40}" },
	{ "{updated_at:age}", .style = S_DIM, .right = true },
	{ "{status_reason:80}", .style = S_RED },
	{ "[{?until}continues by itself {until:until}"
	  "|overseer work unblock|cancel {goal:id}/{id} --reason TEXT]",
			.style = S_DIM },
};

/* Blocked, and no entry of the inbox is about it: without this nobody would know. */
void show_blocked(struct out *o, const value *s)
{
	const value *list = value_at(s, "blocked");
	size_t n = value_count(list), shown = MIN(n, (size_t)BLOCKED_ROWS);
	size_t all = n + (size_t)value_int_at(s, "blocked_more");

	if (n)
		out_heading(o, "BLOCKED", all);
	for (size_t i = 0; i < shown; i++)
		say_row(o, value_item(list, i), blocked_columns);
	table_end(o, "  ");
	if (all > shown)
		out_f(o, "  and %zu more: overseer work list --status blocked\n", all - shown);
}

/* What was done about it, and when that goes on. */
static void nudged_cell(struct out *o, const value *n)
{
	int64_t nudges = value_int_at(value_at(n, "rungs"), "nudge");
	str next = say_text(o, n, "next: {next|you} [{?next_at}{next_at:until}]");

	if (nudges > 1)
		cell_f(o, S_YELLOW, "nudged %lld times, " STR_FMT, (long long)nudges,
				STR_ARG(next));
	else
		cell_f(o, S_YELLOW, "%s, " STR_FMT, nudges ? "nudged once" : "not nudged",
				STR_ARG(next));
}

static const struct column stalled_columns[] = {
	{ .text = "{worker|-}" },
	{ .text = "{agent}" },
	{ "{id}", .style = S_BOLD },
	{ .text = "{name:40}" },
	{ "{stalled_since:age}", .style = S_DIM, .right = true },
	{ .own = nudged_cell },
};

void show_stalled(struct out *o, const value *list)
{
	out_heading(o, "STALLED", value_count(list));
	say_table(o, list, stalled_columns, "  ");
}

static const struct column loop_columns[] = {
	{ .text = "{worker|-}" },
	{ .text = "{agent}" },
	{ "{id}", .style = S_BOLD },
	{ .text = "{name:40}" },
	{ "{at:age}", .style = S_DIM, .right = true },
	{ "{text}", .style = S_YELLOW },
};

/*
 * Runs that repeat themselves, with the order that was given; they are among those that run, too.
 */
void show_loops(struct out *o, const value *list)
{
	out_heading(o, "LOOPS", value_count(list));
	say_table(o, list, loop_columns, "  ");
}
