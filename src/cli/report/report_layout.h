#pragma once
/*
 * The report of a goal for people, section by section, apart from the language that it is written
 * in: report_layout hands headings, items, tables and charts to a sink. All texts that a sink gets
 * may be anybody's words but for those that are const char *. Private to cli/report.
 */
#include "base/buf.h"
#include "base/ov.h"
#include "cli/report/report_page.h"

struct report_column {
	const char *name;
	bool number; /* aligned to the right */
};

enum report_chart { CHART_PROGRESS, CHART_SPENDING, CHART_DETECTIONS };

/* What a chart shows in time: a value holds until the next one. */
struct report_line {
	enum resource res; /* of spending: the cost, or the tokens while that is not known */
	size_t n;
	struct report_line_point {
		ov_time at;
		int64_t v;
	} * p;
};

struct report_line report_line(struct arena *a, enum report_chart chart,
		const struct report_goal_doc *doc);

struct report_sink {
	void (*title)(struct buf *b, const struct report_subject *goal, str line);
	void (*heading)(struct buf *b, const char *text);
	void (*note)(struct buf *b, str text);
	/* A list is a run of items. */
	void (*items_begin)(struct buf *b);
	void (*item)(struct buf *b, str text, str command);
	void (*items_end)(struct buf *b);
	void (*table_begin)(struct buf *b, const struct report_column *columns, size_t n);
	void (*row_begin)(struct buf *b);
	/* class: a word of ours that says what kind of thing it is, or "" */
	void (*cell)(struct buf *b, const struct report_column *column, str text,
			const char *class);
	void (*row_end)(struct buf *b);
	void (*table_end)(struct buf *b);
	void (*chart)(struct buf *b, enum report_chart chart, const struct report_goal_doc *doc,
			const struct report_style *style);
};

void report_layout(struct buf *b, const struct report_sink *sink, const struct report_goal_doc *doc,
		const struct report_style *style);

/* "2026-11-15 22:40", or "-" for 0 */
str report_time(struct arena *a, ov_time at, const struct report_style *style);
/* "12.5 %" of hundredths of a percent */
str report_percent(struct arena *a, int64_t centi);
/* What a resource has been expected to need, and used; zeros where nobody knows. */
struct report_usage report_usage_of(const struct report_goal_doc *doc, enum resource res);
