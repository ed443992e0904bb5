#pragma once
/*
 * Charts of a report as SVG, to stand in its HTML: progress, spending, and detections with the
 * answers to them, all on the same axis of time. Colours are classes of the page's style. Private
 * to cli/report.
 */
#include "base/buf.h"
#include "cli/report/report_layout.h"

void report_svg(struct buf *b, enum report_chart chart, const struct report_goal_doc *doc,
		const struct report_style *style);
/* Anybody's text as text of HTML or XML, also within an attribute; without what steers a reader. */
void report_escape(struct buf *b, str s);
