/*
 * What is made of a log and its state: the export, the reports, and what people and programs
 * are shown.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/report/report_page.h"
#include "core/explain/explain_state.h"
#include "core/export/portable.h"
#include "core/report/report.h"
#include "core/state/usage.h"
#include "core/view/view.h"
#include "data/id/sha256.h"
#include "data/value/json.h"
#include "tests/golden/golden.h"

enum { HASH_HEX = 12 };

struct documents {
	struct buf *out;
	struct arena *arena;
	const struct golden_log *log;
	const struct policy *policy;
	ov_time now;
	bool whole;
};

static void write_text(struct documents *d, const char *name, str id, str text)
{
	buf_addf(d->out, "%s " STR_FMT, name, STR_ARG(id));
	if (d->whole)
		buf_addf(d->out, "\n" STR_FMT "\n", STR_ARG(text));
	else
		buf_addf(d->out, " " STR_FMT "\n",
				STR_ARG(str_sub(sha256_hex(d->arena, text), 0, HASH_HEX)));
}

static void write_value(struct documents *d, const char *name, str id, const value *v)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	(d->whole ? json_write_pretty : json_write)(&text, v);
	write_text(d, name, id, buf_str(&text));
}

/* ---- the export ---- */

static bool read_back(void *user, struct arena *a, uint64_t seq, struct event *ret)
{
	const struct golden_log *l = user;

	(void)a;
	if (seq < 1 || seq > l->events.n)
		return false;
	*ret = l->events.p[seq - 1];
	return true;
}

static int write_exported(void *user, int section, str key, const value *v, struct ov_err *err)
{
	(void)err;
	write_value(user, portable_sections[section], key, v);
	return 0;
}

/* Every event as it is exported, which comes back as it was. */
static int write_exported_events(struct documents *d, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf all = BUF_INIT;

	for (size_t i = 0; i < d->log->events.n; i++) {
		const struct event *e = &d->log->events.p[i];
		value *v = portable_event(d->arena, e);
		struct event back;
		int r = portable_event_read(v, &back, err);

		if (r < 0)
			return r;
		if (!value_equal(event_body(d->arena, &back), event_body(d->arena, e)))
			return ov_fail(err, OV_EINVALID, "event %llu is imported as another",
					(unsigned long long)e->seq);
		json_write(&all, v);
		json_write(&all, event_view(d->arena, e));
		buf_addc(&all, '\n');
	}
	write_text(d, "export", STR("events"), buf_str(&all));
	return 0;
}

static int write_export(struct documents *d, struct ov_err *err)
{
	struct portable_source source = { .read = read_back, .user = (void *)d->log };
	int r = portable_walk(d->log->state, &source, write_exported, d, err);

	return r < 0 ? r : write_exported_events(d, err);
}

/* ---- reports ---- */

static void report_on_goal(struct documents *d, const struct goal *g)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct report_goal *goal = report_goal_new(g->id);
	struct report_detectors *found = report_detectors_new(g->id);
	struct report_style style = { 0 };
	value *doc;

	for (size_t i = 0; i < d->log->events.n; i++) {
		const struct event *e = &d->log->events.p[i];
		str kind = str_from(event_name(e->kind));

		if (report_goal_wants(kind))
			report_goal_add(goal, e);
		if (report_detectors_wants(kind))
			report_detectors_add(found, e);
	}
	doc = report_goal_view(d->arena, goal, d->log->state, NULL, d->now);
	write_value(d, "report", g->id, doc);
	report_markdown(&text, shape_fill(d->arena, report_goal_doc_shape(), doc), &style);
	write_text(d, "report.md", g->id, buf_str(&text));
	write_value(d, "detectors", g->id,
			report_detectors_view(d->arena, found, &d->policy->oversight));
	report_detectors_free(found);
	report_goal_free(goal);
}

static void report_on_period(struct documents *d)
{
	struct report_period *period = report_period_new(d->log->events.p[0].at);

	for (size_t i = 0; i < d->log->events.n; i++)
		if (report_period_wants(str_from(event_name(d->log->events.p[i].kind))))
			report_period_add(period, &d->log->events.p[i]);
	write_value(d, "period", STR("all"),
			report_period_view(d->arena, period, d->log->state, d->policy, d->now));
	report_period_free(period);
}

/* ---- what is shown of the state, and how it is explained ---- */

static void show_goal(struct documents *d, const struct explain *x, const struct goal *g)
{
	write_value(d, "goal", g->id, view_goal(d->arena, d->log->state, g));
	write_value(d, "plan", g->id, view_plan(d->arena, d->log->state, g));
	write_value(d, "detections", g->id, view_detections(d->arena, g, NULL));
	write_value(d, "explain", g->id, explain_goal(x, g));
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = g->nodes.p[i];

		write_value(d, "node", n->id, view_node(d->arena, d->log->state, n));
		write_value(d, "iterations", n->id, view_iterations(d->arena, n));
		write_value(d, "explain", n->id, explain_node(x, n));
	}
}

static void show_runs(struct documents *d, const struct explain *x)
{
	list_each (it, &d->log->state->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		write_value(d, "explain", as->id, explain_assignment(x, as));
		for (size_t i = 0; i < as->dispatches.n; i++)
			write_value(d, "explain", as->dispatches.p[i]->id,
					explain_dispatch(x, as->dispatches.p[i]));
	}
	list_each (it, &d->log->state->runs) {
		const struct run *r = list_entry(it, struct run, link);

		write_value(d, "run", r->id, view_run(d->arena, r, d->now));
		write_value(d, "explain", r->id, explain_run(x, r));
	}
}

static void show_others(struct documents *d, const struct explain *x)
{
	const struct state *s = d->log->state;

	for (size_t i = 0; i < s->workers.n; i++) {
		write_value(d, "worker", s->workers.p[i]->name,
				view_worker(d->arena, s, s->workers.p[i]));
		write_value(d, "explain", s->workers.p[i]->name,
				explain_worker(x, s->workers.p[i]));
	}
	for (size_t i = 0; i < s->escalations.n; i++)
		write_value(d, "explain",
				arena_printf(d->arena, "#%lld",
						(long long)s->escalations.p[i]->number),
				explain_entry(x, s->escalations.p[i]));
	for (size_t i = 0; i < s->notices.n; i++)
		write_value(d, "explain", s->notices.p[i]->id, explain_notice(x, s->notices.p[i]));
}

static void show_all(struct documents *d)
{
	const struct state *s = d->log->state;
	struct world w = { .state = s, .policy = d->policy };
	struct usage_query usage = { .by = USAGE_AGENT, .now = d->now };
	str all = STR("all");

	write_value(d, "status", all, view_status(d->arena, &w, STR(""), d->now));
	write_value(d, "inbox", all, view_inbox(d->arena, s, STR(""), d->now, INBOX_ALL));
	write_value(d, "notices", all, view_notices(d->arena, &w, STR(""), true, d->now));
	write_value(d, "queue", all, view_queue(d->arena, s, d->policy, STR(""), d->now));
	write_value(d, "auto", all, view_auto_whole(d->arena, &w, NULL, d->now));
	write_value(d, "lanes", all, view_lanes(d->arena, &w, d->now));
	write_value(d, "usage", all, usage_view(d->arena, s, &usage));
}

int golden_documents(struct buf *out, const struct golden_log *l, const struct policy *p,
		bool whole, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	ov_time now = l->events.n ? vec_last(&l->events).at : 0;
	struct documents d = { out, &a, l, p, now, whole };
	struct explain x = { .arena = &a, .state = l->state, .policy = p, .now = now };
	int r = write_export(&d, err);

	if (r < 0)
		return ov_wrap(err, r, STR_FMT, STR_ARG(l->name));
	for (size_t i = 0; i < l->state->goals.n; i++) {
		report_on_goal(&d, l->state->goals.p[i]);
		show_goal(&d, &x, l->state->goals.p[i]);
	}
	if (l->events.n)
		report_on_period(&d);
	show_runs(&d, &x);
	show_others(&d, &x);
	show_all(&d);
	return 0;
}
