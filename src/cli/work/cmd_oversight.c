/* What oversight saw: the iterations of a node, and what was found in a goal. */
#include "cli/work/oversight.h"

#include "base/str.h"
#include "cli/out/say.h"

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

static void judged_cell(struct out *o, const value *it)
{
	bool failed = value_bool_at(it, "failed");

	cell(o, failed ? S_RED : S_GREEN, failed ? value_str_at(it, "failure_class") : STR("good"));
}

static void files_cell(struct out *o, const value *it)
{
	size_t n = value_count(value_at(it, "files"));

	cell_f(o, S_PLAIN, "%zu file%s", n, n == 1 ? "" : "s");
}

static void quality_cell(struct out *o, const value *it)
{
	cell(o, S_PLAIN, quality(o, it));
}

static void completion_cell(struct out *o, const value *it)
{
	str source = value_str_at(it, "completion_source"),
	    done = percent(o, value_int_at(it, "completion_centi"));

	if (str_is(source, "unknown"))
		cell(o, S_PLAIN, STR(""));
	else
		cell_f(o, S_PLAIN, STR_FMT " (" STR_FMT ")", STR_ARG(done), STR_ARG(source));
}

static const struct column iteration_columns[] = {
	{ "{number:n}", .style = S_BOLD },
	{ .own = judged_cell },
	{ .own = files_cell },
	{ .own = quality_cell },
	{ .own = completion_cell },
	{ "{duration_ms:took}", .style = S_DIM, .right = true },
	{ "{at:age}", .style = S_DIM, .right = true },
	{ .text = "{error:70}" },
};

void show_iteration_list(struct cli *c, const value *res)
{
	const value *list = value_at(res, "iterations");
	struct out *o = &c->out;

	say_table(o, list, iteration_columns, "");
	if ((size_t)value_int_at(res, "count") > value_count(list))
		say(o, res,
				"[{?iterations}These are the newest of |It took ]{count:n} in all; "
				"the log has them.\n");
	say(o, res, "[{?count}Next  overseer report {goal:id}\n|No run of it was judged yet.\n]");
}

static void severity_cell(struct out *o, const value *d)
{
	cell(o, severity_style(value_str_at(d, "severity")), value_str_at(d, "severity"));
}

static void effect_cell(struct out *o, const value *d)
{
	str said = value_str_at(d, "effectiveness");

	cell(o, S_DIM, str_is(said, "open") ? STR("") : said);
}

static const struct column detection_columns[] = {
	{ "{type}", .style = S_BOLD },
	{ .own = severity_cell },
	{ .text = "{node_id|(goal)}" },
	{ "#{iteration:n}", .style = S_DIM },
	{ .text = "{level}" },
	{ "{at:age}", .style = S_DIM, .right = true },
	{ .text = "{message:80}" },
	{ .own = effect_cell },
	{ "[{?escalation}inbox #{escalation:n}]", .style = S_YELLOW },
};

void show_detections(struct out *o, const value *list, size_t most)
{
	size_t n = value_count(list);

	if (!n)
		return;
	out_f(o, "\nFound by oversight\n");
	for (size_t i = 0; i < n && i < most; i++)
		say_row(o, value_item(list, i), detection_columns);
	table_end(o, "  ");
	if (n > most)
		out_f(o, "  and %zu before that\n", n - most);
}

void show_detection_list(struct cli *c, const value *res)
{
	const value *list = value_at(res, "detections");
	struct out *o = &c->out;

	for (size_t i = 0; i < value_count(list); i++) {
		const value *d = value_item(list, i);

		say_row(o, d, detection_columns);
		table_end(o, "");
		out_lines(o, "    ", value_str_at(d, "message"));
		say(o, d, "    {did}[{?judged_because}; {effectiveness}: {judged_because}]\n");
	}
	say(o, res, "[{?detections}Next  overseer report {goal:id}\n|Nothing was found.\n]");
}
