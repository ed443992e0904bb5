/* The report of a goal as Markdown: what is written is shown as text, whoever wrote it. */
#include "base/arena.h"
#include "cli/report/report_layout.h"
#include "core/capacity/budget.h"

enum { CHART_ROWS = 12, BAR = 30 };

/* On one line, and without a meaning: what would be markup is escaped. */
static void add_text(struct buf *b, str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c < ' ' || c == 127) {
			buf_addc(b, ' ');
			continue;
		}
		if (strchr("\\`*[]<>|~", s.p[i]))
			buf_addc(b, '\\');
		buf_addc(b, s.p[i]);
	}
}

/* As code: a backtick would end it. */
static void add_code(struct buf *b, str s)
{
	buf_addc(b, '`');
	for (size_t i = 0; i < s.n; i++)
		buf_addc(b, (unsigned char)s.p[i] < ' ' ? ' ' : s.p[i] == '`' ? '\'' : s.p[i]);
	buf_addc(b, '`');
}

static void md_title(struct buf *b, str title, str status, str health, str line)
{
	buf_addf(b, "# ");
	add_text(b, title);
	buf_addf(b, "\n\n**" STR_FMT "**, health **" STR_FMT "**\n\n", STR_ARG(status),
			STR_ARG(health));
	add_text(b, line);
	buf_addf(b, "\n");
}

static void md_heading(struct buf *b, const char *text)
{
	buf_addf(b, "\n## %s\n\n", text);
}

static void md_note(struct buf *b, str text)
{
	add_text(b, text);
	buf_addf(b, "\n\n");
}

static void md_nothing(struct buf *b _unused_)
{
}

static void md_item(struct buf *b, str text, str command)
{
	buf_addf(b, "- ");
	add_text(b, text);
	if (command.n) {
		buf_addf(b, " ");
		add_code(b, command);
	}
	buf_addc(b, '\n');
}

static void md_table_begin(struct buf *b, const struct report_column *columns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_addf(b, "| %s ", columns[i].name);
	buf_addf(b, "|\n");
	for (size_t i = 0; i < n; i++)
		buf_addf(b, columns[i].number ? "|---:" : "|---");
	buf_addf(b, "|\n");
}

static void md_cell(struct buf *b, const struct report_column *column _unused_, str text,
		const char *class _unused_)
{
	buf_addf(b, "| ");
	add_text(b, text);
	buf_addc(b, ' ');
}

static void md_row_end(struct buf *b)
{
	buf_addf(b, "|\n");
}

static void bar(struct buf *b, int64_t n, int64_t all)
{
	int64_t full = all > 0 ? n * BAR / all : 0;

	buf_addc(b, '`');
	for (int64_t i = 0; i < BAR; i++)
		buf_addc(b, i < full ? '#' : '-');
	buf_addc(b, '`');
}

/* So many points of a curve, the last one among them. */
static size_t step_of(size_t n)
{
	return n > CHART_ROWS ? (n + CHART_ROWS - 1) / CHART_ROWS : 1;
}

static void chart_of(struct buf *b, struct arena *a, const value *curve, const char *key,
		enum report_chart chart, const struct report_style *style)
{
	size_t n = value_count(curve), step = step_of(n);
	int64_t most = chart == CHART_PROGRESS ? 10000
					       : value_int_at(value_item(curve, n - 1), key);
	enum resource res = strcmp(key, "tokens") == 0 ? RES_TOKENS : RES_COST_MICROUSD;

	buf_addf(b, "| when | | %s |\n|---|---|---:|\n",
			chart == CHART_PROGRESS             ? "progress"
					: res == RES_TOKENS ? "tokens"
							    : "cost");
	for (size_t i = (n - 1) % step; i < n; i += step) {
		const value *x = value_item(curve, i);
		int64_t v = value_int_at(x, key);

		buf_addf(b, "| " STR_FMT " | ",
				STR_ARG(report_time(a, value_str_at(x, "at"), style)));
		bar(b, v, most);
		buf_addf(b, " | " STR_FMT " |\n",
				STR_ARG(chart == CHART_PROGRESS ? report_percent(a, v)
								: budget_amount(a, res, v)));
	}
}

static void md_chart(struct buf *b, enum report_chart chart, const value *doc,
		const struct report_style *style)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const value *curve = value_at(doc, chart == CHART_PROGRESS ? "progress" : "spending");
	size_t n = value_count(curve);
	const value *last = n ? value_item(curve, n - 1) : NULL;
	const char *key = chart == CHART_PROGRESS             ? "progress_centi"
			: value_int_at(last, "cost_microusd") ? "cost_microusd"
							      : "tokens";

	if (chart == CHART_DETECTIONS) /* its table says it all */
		return;
	if (!last || (chart == CHART_SPENDING && !value_int_at(last, key)))
		md_note(b, STR("Nothing is known yet."));
	else
		chart_of(b, &a, curve, key, chart, style);
}

void report_markdown(struct buf *out, const value *doc, const struct report_style *style)
{
	static const struct report_sink sink = {
		.title = md_title,
		.heading = md_heading,
		.note = md_note,
		.items_begin = md_nothing,
		.item = md_item,
		.items_end = md_nothing,
		.table_begin = md_table_begin,
		.row_begin = md_nothing,
		.cell = md_cell,
		.row_end = md_row_end,
		.table_end = md_nothing,
		.chart = md_chart,
	};

	report_layout(out, &sink, doc, style);
}
