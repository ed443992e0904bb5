#pragma once
/*
 * The report of a goal for people: its document (core/report) as Markdown, or as a page of HTML with
 * charts.
 */
#include "base/buf.h"
#include "base/ov.h"
#include "data/value/value.h"

/* How times are written: so far from UTC. */
struct report_style {
	int64_t utc_offset_ms;
};

/* The document of a goal. Texts in it are anybody's: nothing of them is markup of ours. */
void report_markdown(struct buf *out, const value *doc, const struct report_style *style);
/* One file that needs no other, nor a script. */
void report_html(struct buf *out, const value *doc, const struct report_style *style);
