/* What oversight saw: the iterations of a node, and what was found in a goal. */
#include "cli/work/oversight.h"

#include "base/duration.h"
#include "base/str.h"

static enum style severity_style(str severity)
{
	if (str_is(severity, "critical"))
		return S_RED;
	return str_is(severity, "high") || str_is(severity, "medium") ? S_YELLOW : S_DIM;
}

static str percent(struct out *o, int64_t centi)
{
	return arena_printf(o->arena, "%lld.%lld%%", (long long)centi / 100,
			(long long)centi % 100 / 10);
}

/* "4 of 6 tests pass, 81.5% covered" */
static str quality(struct out *o, const value *it)
{
	long long passed = value_int_at(it, "tests_passed"),
		  failed = value_int_at(it, "tests_failed");
	str tests = value_str_at(it, "tests");

	if (str_is(tests, "unknown"))
		tests = STR("");
	else if (passed || failed)
		tests = arena_printf(o->arena, "%lld of %lld tests pass", passed, passed + failed);
	else
		tests = arena_printf(o->arena, "tests " STR_FMT, STR_ARG(tests));
	if (!value_str_at(it, "coverage_format").n)
		return tests;
	return arena_printf(o->arena, STR_FMT "%s" STR_FMT " covered", STR_ARG(tests),
			tests.n ? ", " : "",
			STR_ARG(percent(o, value_int_at(it, "coverage_centi"))));
}

static void iteration_row(struct out *o, const value *it)
{
	bool failed = value_bool_at(it, "failed");
	str source = value_str_at(it, "completion_source");

	cell_f(o, S_BOLD, "%lld", (long long)value_int_at(it, "number"));
	cell(o, failed ? S_RED : S_GREEN, failed ? value_str_at(it, "failure_class") : STR("good"));
	cell_f(o, S_PLAIN, "%zu file%s", value_count(value_at(it, "files")),
			value_count(value_at(it, "files")) == 1 ? "" : "s");
	cell(o, S_PLAIN, quality(o, it));
	cell(o, S_PLAIN,
			str_is(source, "unknown")
					? STR("")
					: arena_printf(o->arena, STR_FMT " (" STR_FMT ")",
							  STR_ARG(percent(o,
									  value_int_at(it,
											  "completi"
											  "on_"
											  "cent"
											  "i"))),
							  STR_ARG(source)));
	cell_right(o, S_DIM, duration_format_short(o->arena, value_int_at(it, "duration_ms")));
	cell_right(o, S_DIM, out_age(o, value_str_at(it, "at")));
	cell(o, S_PLAIN, out_short(o, value_str_at(it, "error"), 70));
	row_end(o);
}

void show_iteration_list(struct cli *c, const value *res)
{
	struct out *o = &c->out;
	const value *list;
	int64_t count;

	list = value_at(res, "iterations");
	count = value_int_at(res, "count");
	for (size_t i = 0; i < value_count(list); i++)
		iteration_row(o, value_item(list, i));
	table_end(o, "");
	if (!count)
		out_f(o, "No run of it was judged yet.\n");
	else if ((size_t)count > value_count(list))
		out_f(o, "%s%lld in all; the log has them.\n",
				value_count(list) ? "These are the newest of " : "It took ",
				(long long)count);
	if (count)
		out_f(o, "Next  overseer report " STR_FMT "\n",
				STR_ARG(id_short(value_str_at(res, "goal"))));
}

static void detection_row(struct out *o, const value *d)
{
	str severity = value_str_at(d, "severity"), node = value_str_at(d, "node_id"),
	    said = value_str_at(d, "effectiveness");
	int64_t asked = value_int_at(d, "escalation");

	cell(o, S_BOLD, value_str_at(d, "type"));
	cell(o, severity_style(severity), severity);
	cell(o, S_PLAIN, node.n ? node : STR("(goal)"));
	cell_f(o, S_DIM, "#%lld", (long long)value_int_at(d, "iteration"));
	cell(o, S_PLAIN, value_str_at(d, "level"));
	cell_right(o, S_DIM, out_age(o, value_str_at(d, "at")));
	cell(o, S_PLAIN, out_short(o, value_str_at(d, "message"), 80));
	cell(o, S_DIM, str_is(said, "open") ? STR("") : said);
	cell(o, S_YELLOW,
			asked ? arena_printf(o->arena, "inbox #%lld", (long long)asked) : STR(""));
	row_end(o);
}

void show_detections(struct out *o, const value *list, size_t most)
{
	size_t n = value_count(list);

	if (!n)
		return;
	out_f(o, "\nFound by oversight\n");
	for (size_t i = 0; i < n && i < most; i++)
		detection_row(o, value_item(list, i));
	table_end(o, "  ");
	if (n > most)
		out_f(o, "  and %zu before that\n", n - most);
}

void show_detection_list(struct cli *c, const value *res)
{
	struct out *o = &c->out;
	const value *list;

	list = value_at(res, "detections");
	for (size_t i = 0; i < value_count(list); i++) {
		const value *d = value_item(list, i);

		detection_row(o, d);
		table_end(o, "");
		out_lines(o, "    ", value_str_at(d, "message"));
		out_f(o, "    ");
		out_text(o, value_str_at(d, "did"));
		if (value_str_at(d, "judged_because").n) {
			out_f(o, "; " STR_FMT ": ", STR_ARG(value_str_at(d, "effectiveness")));
			out_text(o, value_str_at(d, "judged_because"));
		}
		out_f(o, "\n");
	}
	if (value_count(list) == 0)
		out_f(o, "Nothing was found.\n");
	else
		out_f(o, "Next  overseer report " STR_FMT "\n",
				STR_ARG(id_short(value_str_at(res, "goal"))));
}
