/*
 * How a goal went: progress, spending, iterations, detections, notices and questions, from the log.
 */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/capacity/budget.h"
#include "core/report/report.h"
#include "core/report/report_doc.h"
#include "core/report/report_rows.h"
#include "core/report/report_tasks.h"
#include "core/view/view.h"

enum { ROWS = 50, DETECTIONS = 200, SHORT = 300 };

/* The newest iteration of a node: recorded once more it counts once. */
struct node_note {
	int64_t number;
	bool failed;
};

struct report_goal {
	struct arena arena;
	str goal;
	bool begun; /* its creation was read */
	struct report_tasks *tasks;
	struct map nodes;    /* struct node_note, by the node's id */
	struct map verdicts; /* enum effectiveness, by the detection's id */
	struct report_curve progress, spending;
	int64_t cost, tokens, failed;
	int64_t by_level[LEVEL_COUNT], by_verdict[EFFECTIVENESS_COUNT];
	struct report_rows iterations, detections, changes, notices, inbox;
};

struct report_goal *report_goal_new(str goal)
{
	struct report_goal *r = mem_zalloc(1, sizeof(*r));

	r->goal = arena_str(&r->arena, goal);
	r->tasks = report_tasks_new();
	map_init(&r->nodes, 0);
	map_init(&r->verdicts, 0);
	report_rows_init(&r->iterations, report_iteration_shape(), ROWS);
	report_rows_init(&r->detections, report_detection_shape(), DETECTIONS);
	report_rows_init(&r->changes, report_change_shape(), ROWS);
	report_rows_init(&r->notices, report_notice_shape(), ROWS);
	report_rows_init(&r->inbox, report_question_shape(), ROWS);
	return r;
}

struct report_goal *report_goal_free(struct report_goal *r)
{
	if (!r)
		return NULL;
	report_rows_done(&r->iterations);
	report_rows_done(&r->detections);
	report_rows_done(&r->changes);
	report_rows_done(&r->notices);
	report_rows_done(&r->inbox);
	report_tasks_free(r->tasks);
	map_done(&r->nodes);
	map_done(&r->verdicts);
	arena_done(&r->arena);
	mem_free(r);
	return NULL;
}

static str word(const struct status_table *t, int at)
{
	return str_from(status_name(t, at));
}

/* ---- progress ---- */

static void on_tasks(struct report_goal *r, const struct event *e)
{
	const struct goal *g = report_tasks_add(r->tasks, e);

	if (g)
		report_curve_add(&r->progress, e->at, goal_progress_centi(g),
				(int64_t)g->leaves_done);
}

static void on_spent(struct report_goal *r, const struct event *e)
{
	const struct ev_goal_spent *d = as_goal_spent(e);
	const value *amounts = d->amounts;

	r->cost += value_int_at(amounts, status_name(&resources, RES_COST_MICROUSD));
	r->tokens += value_int_at(amounts, status_name(&resources, RES_TOKENS));
	report_curve_add(&r->spending, e->at, r->cost, r->tokens);
}

/* ---- iterations and detections ---- */

static struct node_note *node_of(struct report_goal *r, str node)
{
	struct node_note *n = map_get(&r->nodes, node);

	if (!n) {
		n = arena_new(&r->arena, struct node_note);
		map_put(&r->nodes, arena_str(&r->arena, node), n);
	}
	return n;
}

static void on_iteration(struct report_goal *r, const struct event *e)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const value *record = as_iteration_recorded(e)->iteration;
	const struct report_iteration *said = shape_fill(&a, r->iterations.shape, record);
	struct node_note *note = node_of(r, e->node);
	bool again = note->number == said->number; /* judged once more: the newest word counts */
	struct report_row *row = again
			? report_rows_find(&r->iterations, offsetof(struct report_iteration, run),
					  e->run)
			: NULL;
	struct report_iteration *it;

	if (!row) {
		row = report_rows_add(&r->iterations);
		r->iterations.total -= again; /* its row was dropped */
	}
	r->failed += said->failed - (again && note->failed);
	*note = (struct node_note){ said->number, said->failed };
	report_row_take(&r->iterations, row, record);
	it = row->is;
	it->at = e->at;
	it->node = report_row_text(row, e->node);
	it->run = report_row_text(row, e->run);
}

/* Of every detection, also of those whose row was dropped. */
static void note_verdict(struct report_goal *r, str detection, enum effectiveness to)
{
	enum effectiveness *v = map_get(&r->verdicts, detection);

	if (v) {
		r->by_verdict[*v]--;
	} else {
		v = arena_new(&r->arena, enum effectiveness);
		map_put(&r->verdicts, arena_str(&r->arena, detection), v);
	}
	*v = to;
	r->by_verdict[to]++;
}

static void on_detection(struct report_goal *r, const struct event *e)
{
	struct report_row *row = report_rows_add(&r->detections);
	struct report_detection *d;

	report_row_take(&r->detections, row, as_detection_made(e)->detection);
	d = row->is;
	d->at = e->at;
	d->node = report_row_text(row, e->node);
	d->level = word(&levels, LEVEL_NONE);
	d->effectiveness = word(&effectivenesses, EFFECT_OPEN);
	note_verdict(r, d->id, EFFECT_OPEN);
}

static struct report_row *detection_row(const struct report_goal *r, str id)
{
	return report_rows_find(&r->detections, offsetof(struct report_detection, id), id);
}

/* What is not said leaves what was said before. */
static void say(struct report_row *row, str *field, str s)
{
	if (s.n)
		*field = report_row_text(row, s);
}

static void on_intervention(struct report_goal *r, const struct event *e)
{
	const struct ev_intervention_applied *d = as_intervention_applied(e);
	struct report_row *row = detection_row(r, d->detection);
	struct report_detection *x;

	r->by_level[d->level]++;
	if (!row)
		return;
	x = row->is;
	x->level = word(&levels, (int)d->level);
	say(row, &x->did, d->did);
	if (d->escalation)
		x->escalation = d->escalation;
}

static void on_judged(struct report_goal *r, const struct event *e)
{
	const struct ev_detection_judged *d = as_detection_judged(e);
	struct report_row *row = detection_row(r, d->detection);
	struct report_detection *x;

	note_verdict(r, d->detection, d->effectiveness);
	if (!row)
		return;
	x = row->is;
	x->effectiveness = word(&effectivenesses, (int)d->effectiveness);
	say(row, &x->because, d->because);
	x->false_positive |= d->false_positive;
}

/* ---- what became of it, and who was told and asked ---- */

static void add_change(struct report_goal *r, const struct event *e, const char *what, str to,
		str reason)
{
	struct report_row *row = report_rows_add(&r->changes);

	*(struct report_change *)row->is = (struct report_change){ .at = e->at,
		.what = str_from(what),
		.to = report_row_text(row, to),
		.reason = report_row_text(row, reason),
		.by = report_row_text(row, e->actor) };
}

static void on_status(struct report_goal *r, const struct event *e)
{
	add_change(r, e, "status", word(&goal_statuses, (int)as_goal_status(e)->to),
			as_goal_status(e)->reason);
}

static void on_health(struct report_goal *r, const struct event *e)
{
	add_change(r, e, "health", word(&goal_healths, (int)as_goal_health(e)->to),
			as_goal_health(e)->reason);
}

/* The health of an active goal follows from it, without an event of its own. */
static void on_budget(struct report_goal *r, const struct event *e)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const struct ev_goal_budget *d = as_goal_budget(e);
	int res = status_parse(&resources, d->resource);

	add_change(r, e, "budget", word(&budget_levels, (int)d->level),
			res < 0 ? STR("") : budget_text(&a, (enum resource)res, d->used, d->limit));
}

static void on_notice(struct report_goal *r, const struct event *e)
{
	struct report_row *row = report_rows_add(&r->notices);
	struct report_notice *x;

	report_row_take(&r->notices, row, as_notice_opened(e)->notice);
	x = row->is;
	x->at = e->at;
	x->status = word(&notice_statuses, NOTICE_WAITING);
}

static struct report_row *notice_row(const struct report_goal *r, str id)
{
	return report_rows_find(&r->notices, offsetof(struct report_notice, id), id);
}

static void on_notice_tried(struct report_goal *r, const struct event *e)
{
	const struct ev_notice_tried *d = as_notice_tried(e);
	struct report_row *row = notice_row(r, d->notice);
	struct report_notice *x;

	if (!row)
		return;
	x = row->is;
	say(row, &x->status, d->status);
	MAYBE_SET(x, attempts, d->attempts);
	say(row, &x->ref, d->ref);
	say(row, &x->error, d->error);
}

static void set_notice(struct report_goal *r, str id, enum notice_status to)
{
	struct report_row *row = notice_row(r, id);
	struct report_notice *x;

	if (!row)
		return;
	x = row->is;
	x->status = word(&notice_statuses, (int)to);
	if (to == NOTICE_WAITING)
		MAYBE_SET(x, attempts, 0);
}

static void on_notice_withdrawn(struct report_goal *r, const struct event *e)
{
	set_notice(r, as_notice_withdrawn(e)->notice, NOTICE_WITHDRAWN);
}

static void on_notice_retried(struct report_goal *r, const struct event *e)
{
	set_notice(r, as_notice_retried(e)->notice, NOTICE_WAITING);
}

static void on_question(struct report_goal *r, const struct event *e)
{
	const struct ev_escalation_opened *d = as_escalation_opened(e);
	struct report_row *row = report_rows_add(&r->inbox);

	*(struct report_question *)row->is = (struct report_question){ .at = e->at,
		.number = d->escalation,
		.node = report_row_text(row, e->node),
		.kind = report_row_text(row, d->kind),
		.question = report_row_text(row, d->question),
		.status = word(&esc_statuses, ESC_OPEN) };
}

static struct report_row *question_row(const struct report_goal *r, int64_t number)
{
	return report_rows_find_int(&r->inbox, offsetof(struct report_question, number), number);
}

/* Something new was found about it: the question is another one now. */
static void on_question_raised(struct report_goal *r, const struct event *e)
{
	const struct ev_escalation_raised *d = as_escalation_raised(e);
	struct report_row *row = question_row(r, d->escalation);

	if (row)
		say(row, &((struct report_question *)row->is)->question, d->question);
}

static void on_answer(struct report_goal *r, const struct event *e)
{
	const struct ev_escalation_closed *d = as_escalation_closed(e);
	struct report_row *row = question_row(r, d->escalation);
	struct report_question *x;

	if (!row)
		return;
	x = row->is;
	x->status = word(&esc_statuses, (int)d->status);
	say(row, &x->answer, d->answer);
	say(row, &x->by, e->actor);
	x->closed_at = e->at;
}

/* ---- the fold ---- */

static void on_created(struct report_goal *r, const struct event *e)
{
	r->begun = true;
	on_tasks(r, e);
	report_curve_add(&r->spending, e->at, 0, 0);
}

typedef void add_fn(struct report_goal *r, const struct event *e);

static add_fn *const adders[EVENT_KIND_COUNT] = {
	[EV_GOAL_CREATED] = on_created,
	[EV_GOAL_SPENT] = on_spent,
	[EV_GOAL_BUDGET] = on_budget,
	[EV_GOAL_STATUS] = on_status,
	[EV_GOAL_HEALTH] = on_health,
	[EV_PLAN_APPLIED] = on_tasks,
	[EV_NODE_ADDED] = on_tasks,
	[EV_NODE_STATUS] = on_tasks,
	[EV_NODE_ACCEPTED] = on_tasks,
	[EV_NODE_REVERTED] = on_tasks,
	[EV_ITERATION_RECORDED] = on_iteration,
	[EV_DETECTION_MADE] = on_detection,
	[EV_INTERVENTION_APPLIED] = on_intervention,
	[EV_DETECTION_JUDGED] = on_judged,
	[EV_NOTICE_OPENED] = on_notice,
	[EV_NOTICE_TRIED] = on_notice_tried,
	[EV_NOTICE_WITHDRAWN] = on_notice_withdrawn,
	[EV_NOTICE_RETRIED] = on_notice_retried,
	[EV_ESCALATION_OPENED] = on_question,
	[EV_ESCALATION_RAISED] = on_question_raised,
	[EV_ESCALATION_CLOSED] = on_answer,
};

bool report_goal_wants(str kind)
{
	for (int i = 0; i < EVENT_KIND_COUNT; i++)
		if (adders[i] && str_is(kind, event_name((enum event_kind)i)))
			return true;
	return false;
}

void report_goal_add(struct report_goal *r, const struct event *e)
{
	/* What follows a notice or a question need not name the goal. */
	bool known = e->kind == EV_NOTICE_TRIED || e->kind == EV_NOTICE_WITHDRAWN ||
			e->kind == EV_NOTICE_RETRIED || e->kind == EV_ESCALATION_RAISED ||
			e->kind == EV_ESCALATION_CLOSED;

	if (adders[e->kind] && (known || str_eq(e->goal, r->goal)))
		adders[e->kind](r, e);
}

bool report_goal_begun(const struct report_goal *r)
{
	return r->begun;
}

/* ---- the document ---- */

static struct report_subject subject(const struct goal *g)
{
	return (struct report_subject){ .id = g->id,
		.title = g->title,
		.status = g->status,
		.health = g->health,
		.status_reason = g->status_reason,
		.created_at = g->created_at,
		.ended_at = g->ended_at,
		.leaves = (int64_t)g->leaves,
		.leaves_done = (int64_t)g->leaves_done,
		.leaves_cancelled = (int64_t)g->leaves_cancelled,
		.leaves_blocked = (int64_t)g->leaves_blocked,
		.leaves_unchecked = (int64_t)g->leaves_unchecked,
		.progress_centi = goal_progress_centi(g) };
}

/* It ends where the goal is now. */
static void put_progress(struct arena *a, struct report_goal_doc *d, const struct report_goal *r,
		const struct goal *g)
{
	struct report_curve *c = arena_new(a, struct report_curve);

	*c = r->progress;
	report_curve_add(c, g->updated_at, goal_progress_centi(g), (int64_t)g->leaves_done);
	d->progress.p = arena_array(a, struct report_progress, c->n);
	d->progress.n = c->n;
	for (size_t i = 0; i < c->n; i++)
		d->progress.p[i] = (struct report_progress){ c->p[i].at, c->p[i].v[0],
			c->p[i].v[1] };
}

static void put_spending(struct arena *a, struct report_goal_doc *d, const struct report_curve *c)
{
	d->spending.p = arena_array(a, struct report_spending, c->n);
	d->spending.n = c->n;
	for (size_t i = 0; i < c->n; i++)
		d->spending.p[i] = (struct report_spending){ c->p[i].at, c->p[i].v[0],
			c->p[i].v[1] };
}

static void put_questions(struct arena *a, struct report_goal_doc *d, const struct state *s,
		const struct goal *g)
{
	for (size_t i = 0; i < s->escalations.n && d->next.n < ROWS; i++) {
		const struct escalation *x = s->escalations.p[i];

		if (x->status == ESC_OPEN && str_eq(x->goal_id, g->id))
			d->next.p[d->next.n++] = (struct report_step){
				arena_printf(a, "#%lld waits for an answer: " STR_FMT,
						(long long)x->number,
						STR_ARG(utf8_truncate(x->question, SHORT))),
				arena_printf(a, "overseer inbox show %lld", (long long)x->number)
			};
	}
}

static str open_work(struct arena *a, const struct goal *g)
{
	size_t open = g->leaves - g->leaves_done - g->leaves_cancelled;

	if (!open)
		return STR("Nothing is left to do.");
	return arena_printf(a, "%zu of %zu tasks are open, %zu of them blocked.", open, g->leaves,
			g->leaves_blocked);
}

static void put_next(struct arena *a, struct report_goal_doc *d, const struct state *s,
		const struct goal *g)
{
	bool aborted = g->health == HEALTH_ABORTED;

	d->next.p = arena_array(a, struct report_step, ROWS + 2);
	put_questions(a, d, s, g);
	if (g->status == GOAL_PAUSED)
		d->next.p[d->next.n++] = (struct report_step){
			arena_printf(a, "It is %s until a person acts: " STR_FMT,
					aborted ? "aborted" : "paused", STR_ARG(g->status_reason)),
			arena_printf(a, "overseer goal %s " STR_FMT " --reason \"...\"",
					aborted ? "reopen" : "resume", STR_ARG(g->id))
		};
	if (g->status == GOAL_ACTIVE || g->status == GOAL_PAUSED)
		d->next.p[d->next.n++] = (struct report_step){ open_work(a, g),
			arena_printf(a, "overseer work list --goal " STR_FMT, STR_ARG(g->id)) };
}

#define LIST_OF(rows_of) \
	.total = (rows_of).total, .rows = { report_rows_list(a, &(rows_of)), (rows_of).n }

value *report_goal_view(struct arena *a, const struct report_goal *r, const struct state *s,
		const value *usage, ov_time now)
{
	const struct goal *g = state_goal(s, r->goal);
	struct report_goal_doc d = { .at = now,
		.goal = subject(g),
		.tasks = report_tasks_list(a, r->tasks, g),
		.iterations = { LIST_OF(r->iterations), .failed = r->failed },
		.detections = { LIST_OF(r->detections) },
		.changes = { LIST_OF(r->changes) },
		.notices = { LIST_OF(r->notices) },
		.inbox = { LIST_OF(r->inbox) },
		.usage = usage };

	memcpy(d.detections.by_level, r->by_level, sizeof(r->by_level));
	memcpy(d.detections.verdicts, r->by_verdict, sizeof(r->by_verdict));
	put_progress(a, &d, r, g);
	put_spending(a, &d, &r->spending);
	put_next(a, &d, s, g);
	return shape_data(a, report_goal_doc_shape(), &d);
}
