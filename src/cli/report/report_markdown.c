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

static void md_title(struct buf *b, const struct report_subject *goal, str line)
{
	buf_addf(b, "# ");
	add_text(b, goal->title);
	buf_addf(b, "\n\n**%s**, health **%s**\n\n", status_name(&goal_statuses, (int)goal->status),
			status_name(&goal_healths, (int)goal->health));
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

static void chart_of(struct buf *b, struct arena *a, const struct report_line *line,
		enum report_chart chart, const struct report_style *style)
{
	bool progress = chart == CHART_PROGRESS;
	size_t n = line->n, step = step_of(n);
	int64_t most = progress ? 10000 : line->p[n - 1].v;

	buf_addf(b, "| when | | %s |\n|---|---|---:|\n",
			progress                                  ? "progress"
					: line->res == RES_TOKENS ? "tokens"
								  : "cost");
	for (size_t i = (n - 1) % step; i < n; i += step) {
		int64_t v = line->p[i].v;

		buf_addf(b, "| " STR_FMT " | ", STR_ARG(report_time(a, line->p[i].at, style)));
		bar(b, v, most);
		buf_addf(b, " | " STR_FMT " |\n",
				STR_ARG(progress ? report_percent(a, v)
						 : budget_amount(a, line->res, v)));
	}
}

static void md_chart(struct buf *b, enum report_chart chart, const struct report_goal_doc *doc,
		const struct report_style *style)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct report_line line = report_line(&a, chart, doc);

	if (chart == CHART_DETECTIONS) /* its table says it all */
		return;
	if (!line.n || (chart == CHART_SPENDING && !line.p[line.n - 1].v))
		md_note(b, STR("Nothing is known yet."));
	else
		chart_of(b, &a, &line, chart, style);
}

void report_markdown(struct buf *out, const struct report_goal_doc *doc,
		const struct report_style *style)
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
