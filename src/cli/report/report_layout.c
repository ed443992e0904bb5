#include "cli/report/report_layout.h"

#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "core/capacity/budget.h"

struct laying {
	struct arena *arena;
	struct buf *b;
	const struct report_sink *sink;
	const struct report_goal_doc *doc;
	const struct report_style *style;
	const struct report_column *column; /* of the next cell */
};

str report_time(struct arena *a, ov_time at, const struct report_style *style)
{
	str s;

	if (!at)
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

struct report_usage report_usage_of(const struct report_goal_doc *doc, enum resource res)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const struct report_usage *u = shape_fill(&a, report_usage_shape(),
			value_at(doc->usage, status_name(&resources, (int)res)));

	return *u;
}

struct report_line report_line(struct arena *a, enum report_chart chart,
		const struct report_goal_doc *doc)
{
	bool progress = chart == CHART_PROGRESS;
	size_t n = progress ? doc->progress.n : doc->spending.n;
	bool cost = n && !progress && doc->spending.p[n - 1].cost_microusd;
	struct report_line line = { cost ? RES_COST_MICROUSD : RES_TOKENS, n,
		arena_array(a, struct report_line_point, n) };

	for (size_t i = 0; i < n; i++) {
		const struct report_spending *x = progress ? NULL : &doc->spending.p[i];

		line.p[i].at = progress ? doc->progress.p[i].at : x->at;
		line.p[i].v = progress ? doc->progress.p[i].progress_centi
				: cost ? x->cost_microusd
				       : x->tokens;
	}
	return line;
}

static str when(struct laying *l, ov_time at)
{
	return report_time(l->arena, at, l->style);
}

static void cell_of(struct laying *l, str text, const char *class)
{
	l->sink->cell(l->b, l->column++, text, class);
}

static void cell(struct laying *l, str text)
{
	cell_of(l, text, "");
}

static void cell_time(struct laying *l, ov_time at)
{
	cell_of(l, when(l, at), "time");
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

static void say_newest(struct laying *l, int64_t total, size_t shown)
{
	if (total > (int64_t)shown)
		l->sink->note(l->b,
				arena_printf(l->arena, "The newest %zu of %lld.", shown,
						(long long)total));
}

typedef void row_fn(struct laying *l, const void *row);

static void lay_table(struct laying *l, const struct report_column *columns, size_t columns_n,
		const void *rows, size_t n, size_t size, row_fn *row)
{
	l->sink->table_begin(l->b, columns, columns_n);
	for (size_t i = 0; i < n; i++) {
		l->column = columns;
		l->sink->row_begin(l->b);
		row(l, (const char *)rows + i * size);
		l->sink->row_end(l->b);
	}
	l->sink->table_end(l->b);
}

/* All that is shown of a list of the document. */
#define LAY_LIST(l, columns, list, row)                                                   \
	do {                                                                              \
		say_newest(l, (list)->total, (list)->rows.n);                             \
		lay_table(l, columns, ARRAY_LEN(columns), (list)->rows.p, (list)->rows.n, \
				sizeof(*(list)->rows.p), row);                            \
	} while (0)

/* ---- sections ---- */

static void lay_title(struct laying *l)
{
	const struct report_subject *g = &l->doc->goal;
	bool ended = g->ended_at, reason = g->status_reason.n;

	l->sink->title(l->b, g,
			arena_printf(l->arena,
					"Goal " STR_FMT ", created " STR_FMT "%s" STR_FMT
					"; as of " STR_FMT ".%s" STR_FMT,
					STR_ARG(g->id), STR_ARG(when(l, g->created_at)),
					ended ? ", ended " : "",
					STR_ARG(ended ? when(l, g->ended_at) : STR("")),
					STR_ARG(when(l, l->doc->at)), reason ? " " : "",
					STR_ARG(g->status_reason)));
}

static void item(struct laying *l, str text)
{
	l->sink->item(l->b, text, STR(""));
}

/*
 * Tasks of the pool have one budget of 24 hours together: what the goal itself used stands apart.
 */
static str usage_text(struct laying *l, enum resource res, const struct report_usage *u)
{
	str text = budget_text(l->arena, res, u->used, u->has_limit ? u->limit : -1);

	if (u->shared)
		return arena_printf(l->arena, STR_FMT " by this goal; auto mode in 24h: " STR_FMT,
				STR_ARG(budget_amount(l->arena, res, u->spent)), STR_ARG(text));
	if (!u->estimate)
		return text;
	return arena_printf(l->arena, STR_FMT "; expected: " STR_FMT, STR_ARG(text),
			STR_ARG(budget_amount(l->arena, res, u->estimate)));
}

static void lay_usage(struct laying *l)
{
	for (int i = 0; i < RESOURCE_COUNT; i++) {
		struct report_usage u = report_usage_of(l->doc, (enum resource)i);

		if (u.used || u.spent)
			item(l, usage_text(l, (enum resource)i, &u));
	}
}

static str counts_text(struct laying *l, const struct status_table *t, const int64_t *counts)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	for (int i = 0; i < t->n; i++)
		if (counts[i])
			buf_addf(&b, "%s%lld %s", b.n ? ", " : "", (long long)counts[i],
					t->names[i]);
	return arena_str(l->arena, buf_str(&b));
}

static void lay_detections_line(struct laying *l)
{
	const struct report_detection_list *d = &l->doc->detections;
	str how = counts_text(l, &levels, d->by_level);

	if (!d->total) {
		item(l, STR("Oversight found nothing."));
		return;
	}
	item(l,
			arena_printf(l->arena,
					"%lld detection%s, answered by: " STR_FMT
					". Helpful: %lld, unhelpful: %lld, unknown: %lld, still "
					"open: %lld.",
					(long long)d->total, d->total == 1 ? "" : "s", STR_ARG(how),
					(long long)d->verdicts[EFFECT_HELPFUL],
					(long long)d->verdicts[EFFECT_UNHELPFUL],
					(long long)d->verdicts[EFFECT_UNKNOWN],
					(long long)d->verdicts[EFFECT_OPEN]));
}

static void lay_standing(struct laying *l)
{
	const struct report_subject *g = &l->doc->goal;
	const struct report_iteration_list *its = &l->doc->iterations;

	l->sink->heading(l->b, "Where it stands");
	l->sink->items_begin(l->b);
	item(l,
			arena_printf(l->arena,
					"%lld of %lld tasks done, %lld blocked, %lld "
					"cancelled: " STR_FMT,
					(long long)g->leaves_done, (long long)g->leaves,
					(long long)g->leaves_blocked,
					(long long)g->leaves_cancelled,
					STR_ARG(report_percent(l->arena, g->progress_centi))));
	if (g->leaves_unchecked)
		item(l,
				arena_printf(l->arena, "%lld accepted without a check or a review",
						(long long)g->leaves_unchecked));
	lay_usage(l);
	item(l,
			arena_printf(l->arena, "%lld iteration%s, %lld of them failed",
					(long long)its->total, its->total == 1 ? "" : "s",
					(long long)its->failed));
	lay_detections_line(l);
	l->sink->items_end(l->b);
}

static void lay_next(struct laying *l)
{
	if (!l->doc->next.n)
		return;
	l->sink->heading(l->b, "What is next");
	l->sink->items_begin(l->b);
	for (size_t i = 0; i < l->doc->next.n; i++)
		l->sink->item(l->b, l->doc->next.p[i].text, l->doc->next.p[i].command);
	l->sink->items_end(l->b);
}

/* What else there is to say of a task than what became of it. */
static str task_notes(struct laying *l, const struct report_task *x)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	if (x->reverted)
		buf_addf(&b, "taken back %lld time%s; ", (long long)x->reverted,
				x->reverted == 1 ? "" : "s");
	if (x->reopened)
		buf_addf(&b, "reopened %lld time%s; ", (long long)x->reopened,
				x->reopened == 1 ? "" : "s");
	buf_adds(&b, x->reason);
	return arena_str(l->arena, buf_str(&b));
}

static void task_row(struct laying *l, const void *row)
{
	const struct report_task *x = row;

	cell(l, x->node);
	cell(l, x->name);
	cell_word(l, &task_ends, str_from(status_name(&task_ends, (int)x->became)));
	cell_time(l, x->at);
	cell(l, str_sub(x->commit, 0, 12));
	cell(l, task_notes(l, x));
}

static void lay_tasks(struct laying *l)
{
	static const struct report_column columns[] = { { "task", false }, { "name", false },
		{ "became", false }, { "when", false }, { "commit", false }, { "notes", false } };
	const struct report_task_list *tasks = &l->doc->tasks;

	if (!tasks->rows.n)
		return;
	l->sink->heading(l->b, "Tasks");
	l->sink->note(l->b, counts_text(l, &task_ends, tasks->by));
	LAY_LIST(l, columns, tasks, task_row);
}

static void detection_row(struct laying *l, const void *row)
{
	const struct report_detection *x = row;

	cell_time(l, x->at);
	cell(l, x->node.n ? x->node : STR("the whole goal"));
	cell_int(l, x->iteration);
	cell(l, x->message);
	cell_word(l, &severities, x->severity);
	cell_word(l, &levels, x->level);
	cell(l, x->did);
	cell(l,
			arena_printf(l->arena, STR_FMT "%s%s" STR_FMT, STR_ARG(x->effectiveness),
					x->false_positive ? " (false positive)" : "",
					x->because.n ? ": " : "", STR_ARG(x->because)));
}

static void lay_detections(struct laying *l)
{
	static const struct report_column columns[] = { { "when", false }, { "where", false },
		{ "iteration", true }, { "found", false }, { "severity", false },
		{ "answer", false }, { "what was done", false }, { "did it help", false } };

	l->sink->heading(l->b, "Detections and interventions");
	if (!l->doc->detections.rows.n) {
		l->sink->note(l->b, STR("None."));
		return;
	}
	l->sink->chart(l->b, CHART_DETECTIONS, l->doc, l->style);
	LAY_LIST(l, columns, &l->doc->detections, detection_row);
}

static str tests_text(struct laying *l, const struct report_iteration *x)
{
	if (str_is(x->tests, status_name(&tests_states, TESTS_UNKNOWN)))
		return STR("");
	if (!x->tests_passed && !x->tests_failed)
		return x->tests;
	return arena_printf(l->arena, "%lld/%lld", (long long)x->tests_passed,
			(long long)x->tests_passed + (long long)x->tests_failed);
}

static str result_text(struct laying *l, const struct report_iteration *x)
{
	if (!x->failed)
		return STR("ok");
	return arena_printf(l->arena, STR_FMT "%s" STR_FMT, STR_ARG(x->failure_class),
			x->error.n ? ": " : "",
			STR_ARG(str_sub(x->error, 0, str_find_byte(x->error, '\n'))));
}

static str completion_text(struct laying *l, const struct report_iteration *x)
{
	if (str_is(x->completion_source, status_name(&completion_sources, COMPLETION_UNKNOWN)))
		return STR("");
	return arena_printf(l->arena, STR_FMT " " STR_FMT,
			STR_ARG(report_percent(l->arena, x->completion_centi)),
			STR_ARG(x->completion_source));
}

static void iteration_row(struct laying *l, const void *row)
{
	const struct report_iteration *x = row;

	cell_int(l, x->number);
	cell(l, x->node);
	cell_time(l, x->at);
	cell(l, x->agent);
	cell_of(l, result_text(l, x), x->failed ? "failed" : "ok");
	cell_word(l, &tests_states, tests_text(l, x));
	cell(l, x->coverage_format.n ? report_percent(l->arena, x->coverage_centi) : STR(""));
	cell(l, completion_text(l, x));
	cell(l, x->tokens ? budget_amount(l->arena, RES_TOKENS, x->tokens) : STR(""));
	cell(l,
			x->cost_microusd ? budget_amount(l->arena, RES_COST_MICROUSD,
							   x->cost_microusd)
					 : STR(""));
	cell(l, duration_format_short(l->arena, x->duration_ms));
}

static void lay_iterations(struct laying *l)
{
	static const struct report_column columns[] = { { "#", true }, { "task", false },
		{ "when", false }, { "agent", false }, { "result", false }, { "tests", false },
		{ "coverage", true }, { "complete", true }, { "tokens", true }, { "cost", true },
		{ "took", true } };

	l->sink->heading(l->b, "Iterations");
	if (!l->doc->iterations.rows.n)
		l->sink->note(l->b, STR("None yet."));
	else
		LAY_LIST(l, columns, &l->doc->iterations, iteration_row);
}

static void notice_row(struct laying *l, const void *row)
{
	const struct report_notice *x = row;

	cell_time(l, x->at);
	cell(l, x->channel);
	cell_word(l, &urgencies, x->urgency);
	cell(l, x->subject);
	cell_word(l, &notice_statuses, x->status);
	cell_int(l, x->attempts);
	cell(l, x->error.n ? x->error : x->ref);
}

static void lay_notices(struct laying *l)
{
	static const struct report_column columns[] = { { "when", false }, { "channel", false },
		{ "urgency", false }, { "subject", false }, { "status", false },
		{ "attempts", true }, { "reference or error", false } };

	if (!l->doc->notices.rows.n)
		return;
	l->sink->heading(l->b, "Who was told");
	LAY_LIST(l, columns, &l->doc->notices, notice_row);
}

static void question_row(struct laying *l, const void *row)
{
	const struct report_question *x = row;

	cell_int(l, x->number);
	cell_time(l, x->at);
	cell(l, x->node);
	cell(l, x->kind);
	cell(l, x->question);
	cell_word(l, &esc_statuses, x->status);
	cell(l, x->answer);
	cell(l, x->by);
}

static void lay_inbox(struct laying *l)
{
	static const struct report_column columns[] = { { "#", true }, { "asked", false },
		{ "about", false }, { "kind", false }, { "question", false }, { "status", false },
		{ "answer", false }, { "by", false } };

	if (!l->doc->inbox.rows.n)
		return;
	l->sink->heading(l->b, "What people were asked");
	LAY_LIST(l, columns, &l->doc->inbox, question_row);
}

static void change_row(struct laying *l, const void *row)
{
	const struct report_change *x = row;

	cell_time(l, x->at);
	cell(l, x->what);
	cell_word(l, &goal_healths, x->to);
	cell(l, x->reason);
	cell(l, x->by);
}

static void lay_changes(struct laying *l)
{
	static const struct report_column columns[] = { { "when", false }, { "what", false },
		{ "became", false }, { "why", false }, { "by", false } };

	if (!l->doc->changes.rows.n)
		return;
	l->sink->heading(l->b, "Changes of status, health and budget");
	LAY_LIST(l, columns, &l->doc->changes, change_row);
}

void report_layout(struct buf *b, const struct report_sink *sink, const struct report_goal_doc *doc,
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
