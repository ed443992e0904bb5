/* The report of a goal as one HTML file, which is well-formed XML too. */
#include "base/str.h"
#include "cli/report/report_layout.h"
#include "cli/report/report_svg.h"
#include "core/model/transition.h"

/*
 * No script, nothing from elsewhere: the page may be opened by anybody, with anybody's words in it.
 */
static const char head[] =
		("<!DOCTYPE html>\n"
		 "<html lang=\"en\">\n<head>\n"
		 "<meta charset=\"utf-8\"/>\n"
		 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		 "style-src 'unsafe-inline'\"/>\n"
		 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
		 "<meta name=\"color-scheme\" content=\"light dark\"/>\n");

static const char style_sheet[] =
		("<style>\n"
		 ":root{--fg:#1c2128;--dim:#57606a;--bg:#fff;--soft:#f3f5f7;--rule:#d5dae0;"
		 "--accent:#0b63c4;--ok:#1a7f37;--warn:#9a6700;--high:#bc4c00;--bad:#cf222e}\n"
		 "@media (prefers-color-scheme:dark){:root{--fg:#e3e8ee;--dim:#99a3af;"
		 "--bg:#14181d;--soft:#1d232a;--rule:#36404b;--accent:#6cb2ff;--ok:#4cc46a;"
		 "--warn:#dcaa33;--high:#f0883e;--bad:#ff7b72}}\n"
		 "body{margin:0 auto;max-width:72rem;padding:1.5rem;background:var(--bg);"
		 "color:var(--fg);font:15px/1.5 system-ui,sans-serif}\n"
		 "h1{font-size:1.6rem;line-height:1.25;margin:0 0 .5rem;overflow-wrap:anywhere}\n"
		 "h2{font-size:1.1rem;margin:2rem 0 .6rem;border-bottom:1px solid var(--rule);"
		 "padding-bottom:.25rem}\n"
		 ".lead{color:var(--dim);margin:.4rem 0 0;overflow-wrap:anywhere}\n"
		 ".note{color:var(--dim)}\n"
		 ".badge{display:inline-block;padding:.1rem .6rem;border-radius:1rem;"
		 "background:var(--soft);border:1px solid var(--rule);margin-right:.4rem}\n"
		 "ul{padding-left:1.2rem;margin:.3rem 0}li{overflow-wrap:anywhere}\n"
		 "code{background:var(--soft);padding:.1rem .35rem;border-radius:.25rem;"
		 "font-size:.9em;overflow-wrap:anywhere}\n"
		 ".scroll{overflow-x:auto}\n"
		 "table{border-collapse:collapse;width:100%;font-size:.87rem}\n"
		 "th{text-align:left;color:var(--dim);font-weight:600;white-space:nowrap}\n"
		 "th,td{padding:.3rem .6rem;border-bottom:1px solid var(--rule);"
		 "vertical-align:top;overflow-wrap:anywhere;min-width:3rem}\n"
		 ".n,.time{white-space:nowrap}.n{text-align:right}\n"
		 ".ok,.healthy,.passing,.sent,.completed{color:var(--ok)}\n"
		 ".warning,.medium,.warn,.waiting{color:var(--warn)}\n"
		 ".high,.redirect,.paused,.pause{color:var(--high)}\n"
		 ".critical,.abort,.aborted,.failed,.failing,.emergency{color:var(--bad)}\n"
		 "svg{width:100%;height:auto;display:block}\n"
		 ".axis,.grid{stroke:var(--rule);stroke-width:1}\n"
		 ".estimate{stroke:var(--warn);stroke-dasharray:5 4}\n"
		 ".line{fill:none;stroke:var(--accent);stroke-width:2}\n"
		 ".area{fill:var(--accent);opacity:.14}.dot{fill:var(--accent)}\n"
		 ".tick{fill:var(--dim);font-size:11px}\n"
		 ".change{stroke:var(--dim);stroke-width:1;stroke-dasharray:3 3}\n"
		 ".mark{fill:var(--dim);stroke:var(--bg);stroke-width:1.5}\n"
		 ".mark.medium{fill:var(--warn)}.mark.high{fill:var(--high)}"
		 ".mark.critical{fill:var(--bad)}\n"
		 "@media print{:root{--fg:#000;--dim:#444;--bg:#fff;--soft:#fff;--rule:#bbb}"
		 "body{max-width:none;padding:0;font-size:11px}table{font-size:9px}"
		 "tr,svg{break-inside:avoid}h2{break-after:avoid}.scroll{overflow:visible}}\n"
		 "</style>\n");

static void html_title(struct buf *b, const struct report_subject *goal, str line)
{
	const char *health = status_name(&goal_healths, (int)goal->health);

	buf_adds(b, str_from(head));
	buf_addf(b, "<title>");
	report_escape(b, goal->title);
	buf_addf(b, "</title>\n%s</head>\n<body>\n<h1>", style_sheet);
	report_escape(b, goal->title);
	buf_addf(b, "</h1>\n<span class=\"badge\">%s</span><span class=\"badge %s\">%s</span>\n",
			status_name(&goal_statuses, (int)goal->status), health, health);
	buf_addf(b, "<p class=\"lead\">");
	report_escape(b, line);
	buf_addf(b, "</p>\n");
}

static void html_heading(struct buf *b, const char *text)
{
	buf_addf(b, "<h2>%s</h2>\n", text);
}

static void html_note(struct buf *b, str text)
{
	buf_addf(b, "<p class=\"note\">");
	report_escape(b, text);
	buf_addf(b, "</p>\n");
}

static void html_items_begin(struct buf *b)
{
	buf_addf(b, "<ul>\n");
}

static void html_item(struct buf *b, str text, str command)
{
	buf_addf(b, "<li>");
	report_escape(b, text);
	if (command.n) {
		buf_addf(b, " <code>");
		report_escape(b, command);
		buf_addf(b, "</code>");
	}
	buf_addf(b, "</li>\n");
}

static void html_items_end(struct buf *b)
{
	buf_addf(b, "</ul>\n");
}

static void html_table_begin(struct buf *b, const struct report_column *columns, size_t n)
{
	buf_addf(b, "<div class=\"scroll\"><table>\n<thead><tr>");
	for (size_t i = 0; i < n; i++)
		buf_addf(b, "<th%s>%s</th>", columns[i].number ? " class=\"n\"" : "",
				columns[i].name);
	buf_addf(b, "</tr></thead>\n<tbody>\n");
}

static void html_row_begin(struct buf *b)
{
	buf_addf(b, "<tr>");
}

static void html_cell(struct buf *b, const struct report_column *column, str text,
		const char *class)
{
	buf_addf(b, "<td class=\"%s%s%s\">", column->number ? "n" : "",
			column->number && *class ? " " : "", class);
	report_escape(b, text);
	buf_addf(b, "</td>");
}

static void html_row_end(struct buf *b)
{
	buf_addf(b, "</tr>\n");
}

static void html_table_end(struct buf *b)
{
	buf_addf(b, "</tbody></table></div>\n");
}

void report_html(struct buf *out, const struct report_goal_doc *doc,
		const struct report_style *style)
{
	static const struct report_sink sink = {
		.title = html_title,
		.heading = html_heading,
		.note = html_note,
		.items_begin = html_items_begin,
		.item = html_item,
		.items_end = html_items_end,
		.table_begin = html_table_begin,
		.row_begin = html_row_begin,
		.cell = html_cell,
		.row_end = html_row_end,
		.table_end = html_table_end,
		.chart = report_svg,
	};

	report_layout(out, &sink, doc, style);
	buf_addf(out, "</body>\n</html>\n");
}
