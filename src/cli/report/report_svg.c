#include "cli/report/report_svg.h"

#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/capacity/budget.h"

/* In units of the view box. */
enum { WIDTH = 860, LEFT = 76, RIGHT = 16, TOP = 12, PLOT = 150, LANE = 30, FOOT = 24, TICKS = 5 };

static bool is_steering(int32_t c)
{
	return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x200e ||
			c == 0x200f;
}

void report_escape(struct buf *b, str s)
{
	while (s.n) {
		str before = s;
		int32_t c = utf8_next(&s);

		if (c < 0 || (c < ' ' && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) ||
				is_steering(c) || (c & 0xfffe) == 0xfffe)
			buf_adds(b, STR("\xef\xbf\xbd"));
		else if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
			buf_addf(b, "&#%d;", (int)c);
		else
			buf_add(b, before.p, before.n - s.n);
	}
}

struct axis {
	ov_time from, to;
	int64_t most;
	int height; /* of the plot */
};

static int64_t at_x(const struct axis *x, ov_time at)
{
	ov_time span = MAX(x->to - x->from, (ov_time)1),
		off = MIN(MAX(at - x->from, (ov_time)0), span);

	return LEFT + off * (WIDTH - LEFT - RIGHT) / span;
}

static int64_t at_y(const struct axis *x, int64_t v)
{
	int64_t most = MAX(x->most, (int64_t)1), in = MIN(MAX(v, (int64_t)0), most);

	/* Not in * height: what was used may be large. */
	return TOP + x->height - (int64_t)((double)in / (double)most * x->height + 0.5);
}

static struct axis axis_of(const struct report_goal_doc *doc, int height)
{
	const struct report_subject *g = &doc->goal;
	struct axis x = { .from = g->created_at, .height = height };

	x.to = g->ended_at ? g->ended_at : doc->at ? doc->at : x.from;
	/* Runs go on for a moment after a goal has ended. */
	if (doc->spending.n)
		x.to = MAX(x.to, doc->spending.p[doc->spending.n - 1].at);
	if (doc->progress.n)
		x.to = MAX(x.to, doc->progress.p[doc->progress.n - 1].at);
	x.to = MAX(x.to, x.from + 1000);
	return x;
}

static void open_svg(struct buf *b, const struct axis *x, const char *label)
{
	int all = TOP + x->height + FOOT;

	buf_addf(b, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", WIDTH, all,
			label);
}

/* Times along the bottom: the date only where the span is longer than a day. */
static void time_axis(struct buf *b, const struct axis *x, const struct report_style *style)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	bool days = x->to - x->from > (ov_time)24 * 3600 * 1000;
	bool seconds = x->to - x->from < (ov_time)10 * 60 * 1000;
	int64_t bottom = TOP + x->height;

	buf_addf(b, "<line class=\"axis\" x1=\"%d\" y1=\"%lld\" x2=\"%d\" y2=\"%lld\"/>\n", LEFT,
			(long long)bottom, WIDTH - RIGHT, (long long)bottom);
	for (int i = 0; i <= TICKS; i++) {
		ov_time at = x->from + (x->to - x->from) * i / TICKS;
		str s = time_format(&a, at + style->utc_offset_ms);

		buf_addf(b,
				"<text class=\"tick\" x=\"%lld\" y=\"%lld\" "
				"text-anchor=\"%s\">" STR_FMT "</text>\n",
				(long long)at_x(x, at), (long long)bottom + 16,
				i == 0                       ? "start"
						: i == TICKS ? "end"
							     : "middle",
				STR_ARG(days ? arena_printf(&a, STR_FMT " " STR_FMT,
							       STR_ARG(str_sub(s, 5, 5)),
							       STR_ARG(str_sub(s, 11, 5)))
					     : str_sub(s, 11, seconds ? 8 : 5)));
	}
}

static void level_line(struct buf *b, const struct axis *x, int64_t v, const char *class, str label)
{
	long long y = (long long)at_y(x, v);

	buf_addf(b, "<line class=\"%s\" x1=\"%d\" y1=\"%lld\" x2=\"%d\" y2=\"%lld\"/>\n", class,
			LEFT, y, WIDTH - RIGHT, y);
	buf_addf(b,
			"<text class=\"tick\" x=\"%d\" y=\"%lld\" text-anchor=\"end\">" STR_FMT
			"</text>\n",
			LEFT - 6, y + 4, STR_ARG(label));
}

/* A value holds until the next one: steps, and the area beneath them. */
static void steps(struct buf *b, const struct axis *x, const struct report_line *line)
{
	_cleanup_(buf_done) struct buf path = BUF_INIT;
	int64_t last = at_y(x, 0), end = at_x(x, x->to);

	buf_addf(&path, "M%lld %lld", (long long)at_x(x, x->from), (long long)last);
	for (size_t i = 0; i < line->n; i++) {
		last = at_y(x, line->p[i].v);
		buf_addf(&path, "H%lldV%lld", (long long)at_x(x, line->p[i].at), (long long)last);
	}
	buf_addf(&path, "H%lld", (long long)end);
	buf_addf(b, "<path class=\"area\" d=\"" STR_FMT "V%lldH%dZ\"/>\n", STR_ARG(buf_str(&path)),
			(long long)at_y(x, 0), LEFT);
	buf_addf(b, "<path class=\"line\" d=\"" STR_FMT "\"/>\n", STR_ARG(buf_str(&path)));
	buf_addf(b, "<circle class=\"dot\" cx=\"%lld\" cy=\"%lld\" r=\"3\"/>\n", (long long)end,
			(long long)last);
}

static void chart_progress(struct buf *b, const struct report_goal_doc *doc,
		const struct report_style *style)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct report_line line = report_line(&a, CHART_PROGRESS, doc);
	struct axis x = axis_of(doc, PLOT);

	x.most = 10000;
	open_svg(b, &x, "Progress in percent over time");
	for (int i = 0; i <= 4; i++) {
		static const char *const labels[] = { "0 %", "25 %", "50 %", "75 %", "100 %" };

		level_line(b, &x, (int64_t)2500 * i, "grid", str_from(labels[i]));
	}
	steps(b, &x, &line);
	time_axis(b, &x, style);
	buf_addf(b, "</svg>\n");
}

/* A round number that is not less. */
static int64_t round_up(int64_t n)
{
	static const int64_t steps_of_ten[] = { 10, 20, 25, 50, 100 };
	int64_t unit = 1;

	while (n / unit >= 100 && unit < INT64_MAX / 1000)
		unit *= 10;
	for (size_t i = 0; i < ARRAY_LEN(steps_of_ten); i++)
		if (n <= steps_of_ten[i] * unit)
			return steps_of_ten[i] * unit;
	return n;
}

static void chart_spending(struct buf *b, const struct report_goal_doc *doc,
		const struct report_style *style)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct report_line line = report_line(&a, CHART_SPENDING, doc);
	enum resource res = line.res;
	int64_t used = line.n ? line.p[line.n - 1].v : 0,
		estimate = report_usage_of(doc, res).estimate;
	struct axis x = axis_of(doc, PLOT);

	if (!used) {
		buf_addf(b, "<p class=\"note\">What it cost is not known.</p>\n");
		return;
	}
	/* What was expected is shown where it does not make what was used too small to see. */
	if (estimate > 4 * used)
		estimate = 0;
	x.most = round_up(MAX(used, estimate));
	open_svg(b, &x, res == RES_TOKENS ? "Tokens used over time" : "Cost over time");
	for (int i = 0; i <= 2; i++)
		level_line(b, &x, x.most / 2 * i, "grid", budget_amount(&a, res, x.most / 2 * i));
	if (estimate) {
		level_line(b, &x, estimate, "estimate", STR(""));
		buf_addf(b,
				"<text class=\"tick\" x=\"%d\" y=\"%lld\">expected " STR_FMT
				"</text>\n",
				LEFT + 6, (long long)at_y(&x, estimate) - 4,
				STR_ARG(budget_amount(&a, res, estimate)));
	}
	steps(b, &x, &line);
	time_axis(b, &x, style);
	buf_addf(b, "</svg>\n");
}

static void change_marks(struct buf *b, const struct axis *x, const struct report_change_list *list)
{
	for (size_t i = 0; i < list->rows.n; i++) {
		const struct report_change *c = &list->rows.p[i];
		int to = status_parse(&goal_healths, c->to);
		int64_t px = at_x(x, c->at);

		buf_addf(b,
				"<line class=\"change %s\" x1=\"%lld\" y1=\"%d\" x2=\"%lld\" "
				"y2=\"%d\"><title>",
				to < 0 ? "" : status_name(&goal_healths, to), (long long)px, TOP,
				(long long)px, TOP + x->height);
		report_escape(b, c->to);
		buf_addf(b, ": ");
		report_escape(b, c->reason);
		buf_addf(b, "</title></line>\n");
	}
}

/* A lane for each level, the mildest lowest; a mark for each detection that it answered. */
static void chart_detections(struct buf *b, const struct report_goal_doc *doc,
		const struct report_style *style)
{
	struct axis x = axis_of(doc, LANE * (LEVEL_COUNT - LEVEL_LOG));

	open_svg(b, &x, "Detections over time, by the level of the answer");
	for (int i = LEVEL_LOG; i < LEVEL_COUNT; i++) {
		int y = TOP + LANE * (LEVEL_COUNT - 1 - i) + LANE / 2;

		buf_addf(b,
				"<line class=\"grid\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n"
				"<text class=\"tick\" x=\"%d\" y=\"%d\" "
				"text-anchor=\"end\">%s</text>\n",
				LEFT, y, WIDTH - RIGHT, y, LEFT - 6, y + 4,
				status_name(&levels, i));
	}
	change_marks(b, &x, &doc->changes);
	for (size_t i = 0; i < doc->detections.rows.n; i++) {
		const struct report_detection *d = &doc->detections.rows.p[i];
		int level = status_parse(&levels, d->level),
		    severity = status_parse(&severities, d->severity);

		level = MAX(level, (int)LEVEL_LOG);
		buf_addf(b, "<circle class=\"mark %s\" cx=\"%lld\" cy=\"%d\" r=\"6\"><title>",
				severity < 0 ? "" : status_name(&severities, severity),
				(long long)at_x(&x, d->at),
				TOP + LANE * (LEVEL_COUNT - 1 - level) + LANE / 2);
		report_escape(b, d->type);
		buf_addf(b, ": ");
		report_escape(b, d->message);
		buf_addf(b, "</title></circle>\n");
	}
	time_axis(b, &x, style);
	buf_addf(b, "</svg>\n");
}

void report_svg(struct buf *b, enum report_chart chart, const struct report_goal_doc *doc,
		const struct report_style *style)
{
	typedef void chart_fn(struct buf * b, const struct report_goal_doc *doc,
			const struct report_style *style);
	static chart_fn *const charts[] = { [CHART_PROGRESS] = chart_progress,
		[CHART_SPENDING] = chart_spending,
		[CHART_DETECTIONS] = chart_detections };

	charts[chart](b, doc, style);
}
