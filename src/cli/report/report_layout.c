#include "cli/report/report_layout.h"

#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "core/capacity/budget.h"

struct laying {
	struct arena *arena;
	struct buf *b;
	const struct report_sink *sink;
	const value *doc;
	const struct report_style *style;
	const struct report_column *column; /* of the next cell */
};

str report_time(struct arena *a, str rfc3339, const struct report_style *style)
{
	ov_time at;
	str s;

	if (!time_parse(rfc3339, &at))
		return STR("-");
	s = time_format(a, at + style->utc_offset_ms);
	return arena_printf(a, STR_FMT " " STR_FMT, STR_ARG(str_sub(s, 0, 10)),
			STR_ARG(str_sub(s, 11, 5)));
}

str report_percent(struct arena *a, int64_t centi)
{
	int64_t tenths = (centi + 5) / 10;

	return arena_printf(a, "%lld.%lld %%", (long long)tenths / 10, (long long)tenths % 10);
}

static str when(struct laying *l, const value *row, const char *key)
{
	return report_time(l->arena, value_str_at(row, key), l->style);
}

static void table_begin(struct laying *l, const struct report_column *columns, size_t n)
{
	l->sink->table_begin(l->b, columns, n);
	l->column = columns;
}

static void row_begin(struct laying *l, const struct report_column *columns)
{
	l->column = columns;
	l->sink->row_begin(l->b);
}

static void cell_of(struct laying *l, str text, const char *class)
{
	l->sink->cell(l->b, l->column++, text, class);
}

static void cell(struct laying *l, str text)
{
	cell_of(l, text, "");
}

static void cell_int(struct laying *l, int64_t n)
{
	cell(l, arena_printf(l->arena, "%lld", (long long)n));
}

/* A word of a table of ours is its own class. */
static void cell_word(struct laying *l, const struct status_table *t, str word)
{
	int at = status_parse(t, word);

	cell_of(l, word, at < 0 ? "" : status_name(t, at));
}

static const value *rows_of(const struct laying *l, const char *key)
{
	return value_at(value_at(l->doc, key), "rows");
}

static void say_newest(struct laying *l, const char *key)
{
	const value *list = value_at(l->doc, key);
	int64_t total = value_int_at(list, "total"),
		shown = (int64_t)value_count(value_at(list, "rows"));

	if (total > shown)
		l->sink->note(l->b,
				arena_printf(l->arena, "The newest %lld of %lld.", (long long)shown,
						(long long)total));
}

/* ---- sections ---- */

static void lay_title(struct laying *l)
{
	const value *g = value_at(l->doc, "goal");
	str reason = value_str_at(g, "status_reason"), ended = value_str_at(g, "ended_at");
	str line = arena_printf(l->arena,
			"Goal " STR_FMT ", created " STR_FMT "%s" STR_FMT "; as of " STR_FMT
			".%s" STR_FMT,
			STR_ARG(value_str_at(g, "id")), STR_ARG(when(l, g, "created_at")),
			ended.n ? ", ended " : "",
			STR_ARG(ended.n ? when(l, g, "ended_at") : STR("")),
			STR_ARG(when(l, l->doc, "at")), reason.n ? " " : "", STR_ARG(reason));

	l->sink->title(l->b, value_str_at(g, "title"), value_str_at(g, "status"),
			value_str_at(g, "health"), line);
}

static void item(struct laying *l, str text)
{
	l->sink->item(l->b, text, STR(""));
}

/* Tasks of the pool have one budget of 24 hours together: what the goal itself used stands apart. */
static str usage_text(struct laying *l, enum resource res, const value *u)
{
	int64_t estimate = value_int_at(u, "estimate");
	str text = budget_text(l->arena, res, value_int_at(u, "used"),
			value_int_or(value_at(u, "limit"), -1));

	if (value_bool_at(u, "shared"))
		return arena_printf(l->arena, STR_FMT " by this goal; auto mode in 24h: " STR_FMT,
				STR_ARG(budget_amount(l->arena, res, value_int_at(u, "spent"))),
				STR_ARG(text));
	if (!estimate)
		return text;
	return arena_printf(l->arena, STR_FMT "; expected: " STR_FMT, STR_ARG(text),
			STR_ARG(budget_amount(l->arena, res, estimate)));
}

static void lay_usage(struct laying *l)
{
	const value *usage = value_at(l->doc, "usage");

	for (int i = 0; i < RESOURCE_COUNT; i++) {
		const value *u = value_at(usage, status_name(&resources, i));

		if (u && (value_int_at(u, "used") || value_int_at(u, "spent")))
			item(l, usage_text(l, (enum resource)i, u));
	}
}

static str counts_text(struct laying *l, const value *counts)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	for (size_t i = 0; counts && i < counts->object.n; i++) {
		int64_t n = value_int_or(counts->object.members[i].value, 0);

		if (n)
			buf_addf(&b, "%s%lld " STR_FMT, b.n ? ", " : "", (long long)n,
					STR_ARG(counts->object.members[i].key));
	}
	return arena_str(l->arena, buf_str(&b));
}

static void lay_detections_line(struct laying *l)
{
	const value *d = value_at(l->doc, "detections"), *verdicts = value_at(d, "verdicts");
	int64_t total = value_int_at(d, "total");
	str how = counts_text(l, value_at(d, "by_level"));

	if (!total) {
		item(l, STR("Oversight found nothing."));
		return;
	}
	item(l,
			arena_printf(l->arena,
					"%lld detection%s, answered by: " STR_FMT
					". Helpful: %lld, unhelpful: %lld, unknown: %lld, still "
					"open: %lld.",
					(long long)total, total == 1 ? "" : "s", STR_ARG(how),
					(long long)value_int_at(verdicts, "helpful"),
					(long long)value_int_at(verdicts, "unhelpful"),
					(long long)value_int_at(verdicts, "unknown"),
					(long long)value_int_at(verdicts, "open")));
}

static void lay_standing(struct laying *l)
{
	const value *g = value_at(l->doc, "goal"), *its = value_at(l->doc, "iterations");
	int64_t total = value_int_at(its, "total");

	l->sink->heading(l->b, "Where it stands");
	l->sink->items_begin(l->b);
	item(l,
			arena_printf(l->arena,
					"%lld of %lld tasks done, %lld blocked, %lld "
					"cancelled: " STR_FMT,
					(long long)value_int_at(g, "leaves_done"),
					(long long)value_int_at(g, "leaves"),
					(long long)value_int_at(g, "leaves_blocked"),
					(long long)value_int_at(g, "leaves_cancelled"),
					STR_ARG(report_percent(l->arena,
							value_int_at(g, "progress_centi")))));
	if (value_int_at(g, "leaves_unchecked"))
		item(l,
				arena_printf(l->arena, "%lld accepted without a check or a review",
						(long long)value_int_at(g, "leaves_unchecked")));
	lay_usage(l);
	item(l,
			arena_printf(l->arena, "%lld iteration%s, %lld of them failed",
					(long long)total, total == 1 ? "" : "s",
					(long long)value_int_at(its, "failed")));
	lay_detections_line(l);
	l->sink->items_end(l->b);
}

static void lay_next(struct laying *l)
{
	const value *next = value_at(l->doc, "next");

	if (!value_count(next))
		return;
	l->sink->heading(l->b, "What is next");
	l->sink->items_begin(l->b);
	for (size_t i = 0; i < value_count(next); i++)
		l->sink->item(l->b, value_str_at(value_item(next, i), "text"),
				value_str_at(value_item(next, i), "command"));
	l->sink->items_end(l->b);
}

/* What else there is to say of a task than what became of it. */
static str task_notes(struct laying *l, const value *x)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	int64_t reverted = value_int_at(x, "reverted"), reopened = value_int_at(x, "reopened");
	str reason = value_str_at(x, "reason");

	if (reverted)
		buf_addf(&b, "taken back %lld time%s; ", (long long)reverted,
				reverted == 1 ? "" : "s");
	if (reopened)
		buf_addf(&b, "reopened %lld time%s; ", (long long)reopened,
				reopened == 1 ? "" : "s");
	buf_adds(&b, reason);
	return arena_str(l->arena, buf_str(&b));
}

static void lay_tasks(struct laying *l)
{
	static const struct report_column columns[] = { { "task", false }, { "name", false },
		{ "became", false }, { "when", false }, { "commit", false }, { "notes", false } };
	const value *tasks = value_at(l->doc, "tasks"), *rows = value_at(tasks, "rows");

	if (!value_count(rows))
		return;
	l->sink->heading(l->b, "Tasks");
	l->sink->note(l->b, counts_text(l, value_at(tasks, "by")));
	say_newest(l, "tasks");
	table_begin(l, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < value_count(rows); i++) {
		const value *x = value_item(rows, i);

		row_begin(l, columns);
		cell(l, value_str_at(x, "node"));
		cell(l, value_str_at(x, "name"));
		cell_word(l, &task_ends, value_str_at(x, "became"));
		cell_of(l, when(l, x, "at"), "time");
		cell(l, str_sub(value_str_at(x, "commit"), 0, 12));
		cell(l, task_notes(l, x));
		l->sink->row_end(l->b);
	}
	l->sink->table_end(l->b);
}

static void lay_detections(struct laying *l)
{
	static const struct report_column columns[] = { { "when", false }, { "where", false },
		{ "iteration", true }, { "found", false }, { "severity", false },
		{ "answer", false }, { "what was done", false }, { "did it help", false } };
	const value *rows = rows_of(l, "detections");

	l->sink->heading(l->b, "Detections and interventions");
	if (!value_count(rows)) {
		l->sink->note(l->b, STR("None."));
		return;
	}
	l->sink->chart(l->b, CHART_DETECTIONS, l->doc, l->style);
	say_newest(l, "detections");
	table_begin(l, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < value_count(rows); i++) {
		const value *x = value_item(rows, i);
		str where = value_str_at(x, "node"), because = value_str_at(x, "because"),
		    found = value_str_at(x, "effectiveness");

		row_begin(l, columns);
		cell_of(l, when(l, x, "at"), "time");
		cell(l, where.n ? where : STR("the whole goal"));
		cell_int(l, value_int_at(x, "iteration"));
		cell(l, value_str_at(x, "message"));
		cell_word(l, &severities, value_str_at(x, "severity"));
		cell_word(l, &levels, value_str_at(x, "level"));
		cell(l, value_str_at(x, "did"));
		cell(l,
				arena_printf(l->arena, STR_FMT "%s%s" STR_FMT, STR_ARG(found),
						value_bool_at(x, "false_positive")
								? " (false positive)"
								: "",
						because.n ? ": " : "", STR_ARG(because)));
		l->sink->row_end(l->b);
	}
	l->sink->table_end(l->b);
}

static str tests_text(struct laying *l, const value *x)
{
	int64_t passed = value_int_at(x, "tests_passed"), failed = value_int_at(x, "tests_failed");
	str tests = value_str_at(x, "tests");

	if (str_is(tests, "unknown"))
		return STR("");
	if (!passed && !failed)
		return tests;
	return arena_printf(l->arena, "%lld/%lld", (long long)passed,
			(long long)passed + (long long)failed);
}

static str result_text(struct laying *l, const value *x)
{
	str error = value_str_at(x, "error");

	if (!value_bool_at(x, "failed"))
		return STR("ok");
	return arena_printf(l->arena, STR_FMT "%s" STR_FMT,
			STR_ARG(value_str_at(x, "failure_class")), error.n ? ": " : "",
			STR_ARG(str_sub(error, 0, str_find_byte(error, '\n'))));
}

static void lay_iteration(struct laying *l, const value *x)
{
	bool covered = value_str_at(x, "coverage_format").n > 0;
	str source = value_str_at(x, "completion_source");
	int64_t cost = value_int_at(x, "cost_microusd"), tokens = value_int_at(x, "tokens");

	cell_int(l, value_int_at(x, "number"));
	cell(l, value_str_at(x, "node"));
	cell_of(l, when(l, x, "at"), "time");
	cell(l, value_str_at(x, "agent"));
	cell_of(l, result_text(l, x), value_bool_at(x, "failed") ? "failed" : "ok");
	cell_word(l, &tests_states, tests_text(l, x));
	cell(l, covered ? report_percent(l->arena, value_int_at(x, "coverage_centi")) : STR(""));
	cell(l,
			str_is(source, "unknown")
					? STR("")
					: arena_printf(l->arena, STR_FMT " " STR_FMT,
							  STR_ARG(report_percent(l->arena,
									  value_int_at(x,
											  "completi"
											  "on_cent"
											  "i"))),
							  STR_ARG(source)));
	cell(l, tokens ? budget_amount(l->arena, RES_TOKENS, tokens) : STR(""));
	cell(l, cost ? budget_amount(l->arena, RES_COST_MICROUSD, cost) : STR(""));
	cell(l, duration_format_short(l->arena, value_int_at(x, "duration_ms")));
}

static void lay_iterations(struct laying *l)
{
	static const struct report_column columns[] = { { "#", true }, { "task", false },
		{ "when", false }, { "agent", false }, { "result", false }, { "tests", false },
		{ "coverage", true }, { "complete", true }, { "tokens", true }, { "cost", true },
		{ "took", true } };
	const value *rows = rows_of(l, "iterations");

	l->sink->heading(l->b, "Iterations");
	if (!value_count(rows)) {
		l->sink->note(l->b, STR("None yet."));
		return;
	}
	say_newest(l, "iterations");
	table_begin(l, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < value_count(rows); i++) {
		row_begin(l, columns);
		lay_iteration(l, value_item(rows, i));
		l->sink->row_end(l->b);
	}
	l->sink->table_end(l->b);
}

static void lay_notices(struct laying *l)
{
	static const struct report_column columns[] = { { "when", false }, { "channel", false },
		{ "urgency", false }, { "subject", false }, { "status", false },
		{ "attempts", true }, { "reference or error", false } };
	const value *rows = rows_of(l, "notices");

	if (!value_count(rows))
		return;
	l->sink->heading(l->b, "Who was told");
	say_newest(l, "notices");
	table_begin(l, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < value_count(rows); i++) {
		const value *x = value_item(rows, i);
		str error = value_str_at(x, "error");

		row_begin(l, columns);
		cell_of(l, when(l, x, "at"), "time");
		cell(l, value_str_at(x, "channel"));
		cell_word(l, &urgencies, value_str_at(x, "urgency"));
		cell(l, value_str_at(x, "subject"));
		cell_word(l, &notice_statuses, value_str_at(x, "status"));
		cell_int(l, value_int_at(x, "attempts"));
		cell(l, error.n ? error : value_str_at(x, "ref"));
		l->sink->row_end(l->b);
	}
	l->sink->table_end(l->b);
}

static void lay_inbox(struct laying *l)
{
	static const struct report_column columns[] = { { "#", true }, { "asked", false },
		{ "about", false }, { "kind", false }, { "question", false }, { "status", false },
		{ "answer", false }, { "by", false } };
	const value *rows = rows_of(l, "inbox");

	if (!value_count(rows))
		return;
	l->sink->heading(l->b, "What people were asked");
	say_newest(l, "inbox");
	table_begin(l, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < value_count(rows); i++) {
		const value *x = value_item(rows, i);

		row_begin(l, columns);
		cell_int(l, value_int_at(x, "number"));
		cell_of(l, when(l, x, "at"), "time");
		cell(l, value_str_at(x, "node"));
		cell(l, value_str_at(x, "kind"));
		cell(l, value_str_at(x, "question"));
		cell_word(l, &esc_statuses, value_str_at(x, "status"));
		cell(l, value_str_at(x, "answer"));
		cell(l, value_str_at(x, "by"));
		l->sink->row_end(l->b);
	}
	l->sink->table_end(l->b);
}

static void lay_changes(struct laying *l)
{
	static const struct report_column columns[] = { { "when", false }, { "what", false },
		{ "became", false }, { "why", false }, { "by", false } };
	const value *rows = rows_of(l, "changes");

	if (!value_count(rows))
		return;
	l->sink->heading(l->b, "Changes of status, health and budget");
	say_newest(l, "changes");
	table_begin(l, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < value_count(rows); i++) {
		const value *x = value_item(rows, i);

		row_begin(l, columns);
		cell_of(l, when(l, x, "at"), "time");
		cell(l, value_str_at(x, "what"));
		cell_word(l, &goal_healths, value_str_at(x, "to"));
		cell(l, value_str_at(x, "reason"));
		cell(l, value_str_at(x, "by"));
		l->sink->row_end(l->b);
	}
	l->sink->table_end(l->b);
}

void report_layout(struct buf *b, const struct report_sink *sink, const value *doc,
		const struct report_style *style)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct laying l = { &a, b, sink, doc, style, NULL };

	lay_title(&l);
	lay_standing(&l);
	lay_next(&l);
	lay_tasks(&l);
	sink->heading(b, "Progress");
	sink->chart(b, CHART_PROGRESS, doc, style);
	sink->heading(b, "Spending");
	sink->chart(b, CHART_SPENDING, doc, style);
	lay_detections(&l);
	lay_iterations(&l);
	lay_notices(&l);
	lay_inbox(&l);
	lay_changes(&l);
}
