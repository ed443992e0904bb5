/* Workers: what each does, tasks and words for them, and their end. */
#include "base/str.h"
#include "cli/call/command.h"
#include "cli/out/say.h"
#include "cli/work/worker.h"
#include "core/model/model_worker.h"

/* What is being done to it, or to be done, comes before what it does. */
static void status_cell(struct out *o, const value *w)
{
	if (value_str_at(w, "under_way").n || value_str_at(w, "wanted").n)
		cell(o, S_YELLOW,
				say_text(o, w,
						"{status}, [{?under_way}under way: "
						"{under_way}|then {wanted}]"));
	else if (value_str_at(w, "waiting_for").n)
		cell(o, S_YELLOW, STR("waiting"));
	else
		cell(o, status_style(value_str_at(w, "status")), value_str_at(w, "status"));
}

static void task_cell(struct out *o, const value *w)
{
	cell(o, value_str_at(w, "task").n ? S_PLAIN : S_DIM,
			say_text(o, w, "[{task:50}|{reason:50}]"));
}

static const struct column worker_columns[] = {
	{ "{name}", .style = S_BOLD },
	{ .own = status_cell },
	{ "{since:age}", .style = S_DIM, .right = true },
	{ .text = "{works_as}" },
	{ .own = task_cell },
};

static void worker_row(struct out *o, const value *w)
{
	say_cells(o, w, worker_columns);
	if (value_str_at(w, "waiting_for").n)
		cell(o, S_YELLOW, value_str_at(w, "waiting_for"));
	row_end(o);
}

static void auto_summary(struct out *o, const value *mode)
{
	say(o, mode,
			"Auto Mode: {workers:n} workers, {completed:n} tasks completed, {errors:n} "
			"errors");
	if (value_bool_at(mode, "on"))
		say(o, mode, "[{?waits}\n  {waits}]\n");
	else if (value_bool_at(mode, "interrupted"))
		say(o, mode, " (off; it was on until {stopped_at})\n");
	else
		say(o, mode, " ([{?failed}it could not go on|off]: {stop_reason:60})\n");
}

void auto_was_on(struct out *o, const value *mode)
{
	say(o, mode,
			"Auto mode was on until {stopped_at}. It is off: the daemon was not "
			"started with --auto again.\n");
}

static bool auto_was_used(const value *mode)
{
	return value_bool_at(mode, "on") || value_str_at(mode, "since").n ||
			value_int_at(mode, "workers");
}

static size_t count_kind(const value *list, const char *kind)
{
	size_t n = 0;

	for (size_t i = 0; i < value_count(list); i++)
		n += str_is(value_str_at(value_item(list, i), "kind"), kind);
	return n;
}

static void list_kind(struct out *o, const char *title, const value *list, const char *kind)
{
	out_heading(o, title, count_kind(list, kind));
	for (size_t i = 0; i < value_count(list); i++)
		if (str_is(value_str_at(value_item(list, i), "kind"), kind))
			worker_row(o, value_item(list, i));
	table_end(o, "  ");
}

/*
 * Manual workers, and those that wait for a person: the runs of the others say what they do or
 * wait for.
 */
static bool is_worth_a_row(const value *w)
{
	static const char *const seen[] = { "idle", "offline", "working", "rebasing" };
	bool quiet = false;

	if (str_is(value_str_at(w, "kind"), "auto"))
		return false;
	if (str_is(value_str_at(w, "kind"), "manual") || value_str_at(w, "wanted").n)
		return true;
	quiet = value_str_at(w, "waiting_for").n > 0;
	for (size_t i = 0; i < ARRAY_LEN(seen); i++)
		quiet |= str_is(value_str_at(w, "status"), seen[i]);
	return !quiet;
}

/* What patrols had to repair there since the worker last got on. */
static void show_repairs(struct out *o, const value *list)
{
	for (size_t i = 0; i < value_count(list); i++) {
		const value *w = value_item(list, i), *repairs = value_at(w, "repairs");

		for (int k = 0; k < PATROL_FACT_COUNT; k++) {
			const char *name = status_name(&patrol_facts, k);
			int64_t n = value_int_at(repairs, name);

			if (!n)
				continue;
			cell(o, S_BOLD, value_str_at(w, "name"));
			cell_f(o, S_YELLOW, "found amiss: %s, %lld time%s", name, (long long)n,
					n == 1 ? "" : "s");
			cell_right(o, S_DIM, out_age(o, value_str_at(w, "repaired_at")));
			row_end(o);
		}
	}
	table_end(o, "  ");
}

void show_workers(struct out *o, const value *status)
{
	const value *list = value_at(status, "workers"), *mode = value_at(status, "auto");
	size_t n = 0;

	for (size_t i = 0; i < value_count(list); i++)
		n += is_worth_a_row(value_item(list, i));
	out_heading(o, "WORKERS", n);
	for (size_t i = 0; i < value_count(list); i++)
		if (is_worth_a_row(value_item(list, i)))
			worker_row(o, value_item(list, i));
	table_end(o, "  ");
	list_kind(o, "Auto Workers", list, "auto");
	show_repairs(o, list);
	if (auto_was_used(mode))
		auto_summary(o, mode);
}

void show_worker_list(struct cli *c, const value *res)
{
	const value *list = value_at(res, "workers");

	list_kind(&c->out, "Workers of the pool", list, "pool");
	list_kind(&c->out, "Workers of people", list, "manual");
	list_kind(&c->out, "Auto Workers", list, "auto");
	if (auto_was_used(value_at(res, "auto")))
		auto_summary(&c->out, value_at(res, "auto"));
	if (value_count(list) == 0)
		out_f(&c->out,
				"No workers yet: they are made when there is work.\n"
				"Next  overseer worker add NAME, for one of your own\n");
}

void show_worker_add(struct cli *c, const value *res _unused_)
{
	out_f(&c->out,
			"Worker " STR_FMT " was added%s.\nNext  overseer worker start " STR_FMT
			" --task TEXT\n",
			STR_ARG(out_clean(&c->out, c->args[0])),
			cli_has(c, "excluded-from-pool") ? "; goals leave it alone" : "",
			STR_ARG(out_clean(&c->out, c->args[0])));
}

void show_worker_start(struct cli *c, const value *res)
{
	str name = out_clean(&c->out, c->args[0]);

	out_f(&c->out, "Worker " STR_FMT " begins with ", STR_ARG(name));
	say(&c->out, res, "{node}.\nNext  overseer worker peek ");
	out_f(&c->out, STR_FMT ", overseer explain ", STR_ARG(name));
	say(&c->out, res, "{node}\n");
}

void show_worker_message(struct cli *c, const value *res)
{
	out_f(&c->out, "%s\n",
			str_is(value_str_at(res, "told"), "now")
					? "Its agent is told."
					: "Its agent cannot be told while it runs: it is told with "
					  "its next run.");
}
