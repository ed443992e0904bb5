#include "cli/look/status_tasks.h"

#include "base/str.h"
#include "cli/call/command.h"
#include "cli/out/cost.h"
#include "cli/out/lane.h"

enum { WAIT_LINES = 1, BLOCKED_ROWS = 10 }; /* of what a failed agent wrote last; of tasks */

void status_heading(struct out *o, const char *title, size_t n)
{
	out_styled(o, S_BOLD, str_from(title));
	out_f(o, " (%zu)\n", n);
}

enum place { RUNNING, WAITING, ELSEWHERE };

/* What is stalled has a list of its own. */
static enum place status_tasks_place_of(const value *r)
{
	if (str_is(value_str_at(r, "status"), "stalled"))
		return ELSEWHERE;
	return value_str_at(r, "waiting").n || value_str_at(r, "not_before").n ? WAITING : RUNNING;
}

static void running_row(struct out *o, const value *r)
{
	str stage = value_str_at(r, "stage");
	const char *resumed = value_bool_at(r, "resumed") ? ", session resumed" : "";

	cell(o, S_PLAIN, value_str_at(r, "worker").n ? value_str_at(r, "worker") : STR("-"));
	cell(o, S_PLAIN, value_str_at(r, "agent"));
	cell(o, S_BOLD, value_str_at(r, "node"));
	cell(o, S_PLAIN, out_short(o, value_str_at(r, "name"), 40));
	cell_right(o, S_DIM, out_age(o, value_str_at(r, "since")));
	if (value_str_at(r, "waiting").n && !str_is(value_str_at(r, "waiting"), "backoff"))
		cell(o, S_YELLOW, value_str_at(r, "waiting_for"));
	else if (status_tasks_place_of(r) == WAITING)
		cell_f(o, S_YELLOW, STR_FMT " " STR_FMT ": " STR_FMT, STR_ARG(stage),
				STR_ARG(out_until(o, value_str_at(r, "not_before"))),
				STR_ARG(out_short(o, value_str_at(r, "reason"), 60)));
	else if (value_at(r, "now"))
		cell_f(o, S_CYAN, STR_FMT "%s",
				STR_ARG(out_short(o, value_str_at(value_at(r, "now"), "text"), 60)),
				resumed);
	else if (str_is(stage, "review"))
		cell(o, S_YELLOW, out_short(o, value_str_at(r, "reason"), 60));
	else if (value_int_at(r, "attempt") > 1)
		cell_f(o, S_CYAN, STR_FMT ", attempt %lld%s", STR_ARG(stage),
				(long long)value_int_at(r, "attempt"), resumed);
	else
		cell(o, S_CYAN, stage);
	if (value_int_at(r, "cost_microusd"))
		cell(o, S_PLAIN, cost_text(o->arena, value_int_at(r, "cost_microusd")));
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
	if (n)
		status_heading(o, place == WAITING ? "WAITING" : "RUNNING", n);
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

static str times(struct out *o, int64_t n)
{
	return n == 1 ? STR("once") : arena_printf(o->arena, "%lld times", (long long)n);
}

/* Blocked, and no entry of the inbox is about it: without this nobody would know. */
void show_blocked(struct out *o, const value *s)
{
	const value *list = value_at(s, "blocked");
	size_t n = value_count(list), shown = MIN(n, (size_t)BLOCKED_ROWS);
	size_t all = n + (size_t)value_int_at(s, "blocked_more");

	if (n)
		status_heading(o, "BLOCKED", all);
	for (size_t i = 0; i < shown; i++) {
		const value *b = value_item(list, i);
		str until = value_str_at(b, "until");

		cell(o, S_BOLD, value_str_at(b, "id"));
		cell(o, S_PLAIN, out_short(o, value_str_at(b, "name"), 40));
		cell_right(o, S_DIM, out_age(o, value_str_at(b, "updated_at")));
		cell(o, S_RED, out_short(o, value_str_at(b, "status_reason"), 80));
		if (until.n)
			cell_f(o, S_DIM, "continues by itself " STR_FMT,
					STR_ARG(out_until(o, until)));
		else
			cell_f(o, S_DIM,
					"overseer work unblock|cancel " STR_FMT "/" STR_FMT
					" --reason TEXT",
					STR_ARG(id_short(value_str_at(b, "goal"))),
					STR_ARG(value_str_at(b, "id")));
		row_end(o);
	}
	table_end(o, "  ");
	if (all > shown)
		out_f(o, "  and %zu more: overseer work list --status blocked\n", all - shown);
}

/* Stalls, with what was done about them and when that goes on. */
void show_stalled(struct out *o, const value *list)
{
	if (value_count(list))
		status_heading(o, "STALLED", value_count(list));
	for (size_t i = 0; i < value_count(list); i++) {
		const value *n = value_item(list, i), *rungs = value_at(n, "rungs");
		int64_t nudges = value_int_at(rungs, "nudge");
		str next = value_str_at(n, "next"), until = value_str_at(n, "next_at");

		cell(o, S_PLAIN,
				value_str_at(n, "worker").n ? value_str_at(n, "worker") : STR("-"));
		cell(o, S_PLAIN, value_str_at(n, "agent"));
		cell(o, S_BOLD, value_str_at(n, "id"));
		cell(o, S_PLAIN, out_short(o, value_str_at(n, "name"), 40));
		cell_right(o, S_DIM, out_age(o, value_str_at(n, "stalled_since")));
		cell_f(o, S_YELLOW, "%s" STR_FMT ", next: " STR_FMT " " STR_FMT,
				nudges ? "nudged " : "not nudged",
				STR_ARG(nudges ? times(o, nudges) : STR("")),
				STR_ARG(next.n ? next : STR("you")),
				STR_ARG(until.n ? out_until(o, until) : STR("")));
		row_end(o);
	}
	table_end(o, "  ");
}

/* Runs that repeat themselves, with the order that was given; they are among those that run, too. */
void show_loops(struct out *o, const value *list)
{
	if (value_count(list))
		status_heading(o, "LOOPS", value_count(list));
	for (size_t i = 0; i < value_count(list); i++) {
		const value *n = value_item(list, i);

		cell(o, S_PLAIN,
				value_str_at(n, "worker").n ? value_str_at(n, "worker") : STR("-"));
		cell(o, S_PLAIN, value_str_at(n, "agent"));
		cell(o, S_BOLD, value_str_at(n, "id"));
		cell(o, S_PLAIN, out_short(o, value_str_at(n, "name"), 40));
		cell_right(o, S_DIM, out_age(o, value_str_at(n, "at")));
		cell(o, S_YELLOW, value_str_at(n, "text"));
		row_end(o);
	}
	table_end(o, "  ");
}
