#pragma once
/*
 * The report of a goal for people: its document as Markdown, or as a page of HTML with charts.
 * Texts in it are anybody's: nothing of them is markup of ours.
 */
#include "base/buf.h"
#include "base/ov.h"
#include "core/report/report_doc.h"

/* How times are written: so far from UTC. */
struct report_style {
	int64_t utc_offset_ms;
};

void report_markdown(struct buf *out, const struct report_goal_doc *doc,
		const struct report_style *style);
/* One file that needs no other, nor a script. */
void report_html(struct buf *out, const struct report_goal_doc *doc,
		const struct report_style *style);
