/* How a goal went: progress, spending, iterations, detections, notices and questions, from the log. */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/capacity/budget.h"
#include "core/report/report.h"
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
	report_rows_init(&r->iterations, ROWS);
	report_rows_init(&r->detections, DETECTIONS);
	report_rows_init(&r->changes, ROWS);
	report_rows_init(&r->notices, ROWS);
	report_rows_init(&r->inbox, ROWS);
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

/* ---- rows ---- */

static void put(struct report_row *row, const char *key, str s)
{
	if (s.n)
		value_put(&row->arena, row->v, key,
				value_str(&row->arena,
						arena_str(&row->arena, utf8_truncate(s, SHORT))));
}

static void put_word(struct report_row *row, const char *key, const struct status_table *t, int at)
{
	value_put(&row->arena, row->v, key, value_cstr(&row->arena, status_name(t, at)));
}

static void put_int(struct report_row *row, const char *key, int64_t n)
{
	value_put(&row->arena, row->v, key, value_int(&row->arena, n));
}

static void put_time(struct report_row *row, const char *key, ov_time at)
{
	value_put(&row->arena, row->v, key, value_time(&row->arena, at));
}

/* Members of a record as they are, where it has them. */
static void take(struct report_row *row, const value *from, const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const value *v = value_at(from, keys[i]);

		if (v && v->kind == V_STR)
			put(row, keys[i], v->s);
		else if (v)
			value_put(&row->arena, row->v, keys[i], value_copy(&row->arena, v));
	}
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
	const struct ev_iteration_recorded *d = as_iteration_recorded(e);
	static const char *const keys[] = { "number", "agent", "failed", "failure_class", "error",
		"tests", "tests_format", "tests_passed", "tests_failed", "coverage_format",
		"coverage_centi", "completion_source", "completion_centi", "tokens",
		"cost_microusd", "duration_ms", "tree" };
	const value *it = d->iteration;
	struct node_note *note = node_of(r, e->node);
	int64_t number = value_int_at(it, "number");
	bool again = note->number == number; /* judged once more: the newest word counts */
	struct report_row *row = again ? report_rows_find(&r->iterations, "run", e->run) : NULL;

	if (row) {
		arena_reset(&row->arena);
		row->v = value_object(&row->arena);
	} else {
		row = report_rows_add(&r->iterations);
		r->iterations.total -= again; /* its row was dropped */
	}
	r->failed += value_bool_at(it, "failed") - (again && note->failed);
	*note = (struct node_note){ number, value_bool_at(it, "failed") };
	put_time(row, "at", e->at);
	put(row, "node", e->node);
	put(row, "run", e->run);
	take(row, it, keys, ARRAY_LEN(keys));
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
	const struct ev_detection_made *made = as_detection_made(e);
	static const char *const keys[] = { "id", "type", "severity", "message", "iteration" };
	struct report_row *row = report_rows_add(&r->detections);
	const value *d = made->detection;

	put_time(row, "at", e->at);
	put(row, "node", e->node);
	take(row, d, keys, ARRAY_LEN(keys));
	put(row, "level", str_from(status_name(&levels, LEVEL_NONE)));
	put(row, "effectiveness", str_from(status_name(&effectivenesses, EFFECT_OPEN)));
	note_verdict(r, value_str_at(d, "id"), EFFECT_OPEN);
}

static void on_intervention(struct report_goal *r, const struct event *e)
{
	const struct ev_intervention_applied *d = as_intervention_applied(e);
	struct report_row *row = report_rows_find(&r->detections, "id", d->detection);

	r->by_level[d->level]++;
	if (!row)
		return;
	put_word(row, "level", &levels, (int)d->level);
	put(row, "did", d->did);
	if (d->escalation)
		put_int(row, "escalation", d->escalation);
}

static void on_judged(struct report_goal *r, const struct event *e)
{
	const struct ev_detection_judged *d = as_detection_judged(e);
	struct report_row *row = report_rows_find(&r->detections, "id", d->detection);

	note_verdict(r, d->detection, d->effectiveness);
	if (!row)
		return;
	put_word(row, "effectiveness", &effectivenesses, (int)d->effectiveness);
	put(row, "because", d->because);
	if (d->false_positive)
		value_put(&row->arena, row->v, "false_positive", value_bool(&row->arena, true));
}

/* ---- what became of it, and who was told and asked ---- */

static void on_change(struct report_goal *r, const struct event *e)
{
	struct report_row *row = report_rows_add(&r->changes);
	bool health = e->kind == EV_GOAL_HEALTH;

	put_time(row, "at", e->at);
	put(row, "what", health ? STR("health") : STR("status"));
	if (health)
		put_word(row, "to", &goal_healths, (int)as_goal_health(e)->to);
	else
		put_word(row, "to", &goal_statuses, (int)as_goal_status(e)->to);
	put(row, "reason", health ? as_goal_health(e)->reason : as_goal_status(e)->reason);
	put(row, "by", e->actor);
}

/* The health of an active goal follows from it, without an event of its own. */
static void on_budget(struct report_goal *r, const struct event *e)
{
	const struct ev_goal_budget *d = as_goal_budget(e);
	struct report_row *row = report_rows_add(&r->changes);
	int res = status_parse(&resources, d->resource);

	put_time(row, "at", e->at);
	put(row, "what", STR("budget"));
	put_word(row, "to", &budget_levels, (int)d->level);
	if (res >= 0)
		put(row, "reason", budget_text(&row->arena, (enum resource)res, d->used, d->limit));
	put(row, "by", e->actor);
}

static void on_notice(struct report_goal *r, const struct event *e)
{
	const struct ev_notice_opened *d = as_notice_opened(e);
	static const char *const keys[] = { "id", "channel", "urgency", "subject" };
	struct report_row *row = report_rows_add(&r->notices);

	put_time(row, "at", e->at);
	take(row, d->notice, keys, ARRAY_LEN(keys));
	put(row, "status", str_from(status_name(&notice_statuses, NOTICE_WAITING)));
}

static void on_notice_tried(struct report_goal *r, const struct event *e)
{
	const struct ev_notice_tried *d = as_notice_tried(e);
	struct report_row *row = report_rows_find(&r->notices, "id", d->notice);

	if (!row)
		return;
	put(row, "status", d->status);
	put_int(row, "attempts", d->attempts);
	put(row, "ref", d->ref);
	put(row, "error", d->error);
}

static void on_notice_moved(struct report_goal *r, const struct event *e)
{
	bool withdrawn = e->kind == EV_NOTICE_WITHDRAWN;
	struct report_row *row = report_rows_find(&r->notices, "id",
			withdrawn ? as_notice_withdrawn(e)->notice : as_notice_retried(e)->notice);

	if (!row)
		return;
	put(row, "status",
			str_from(status_name(&notice_statuses,
					withdrawn ? NOTICE_WITHDRAWN : NOTICE_WAITING)));
	if (!withdrawn)
		put_int(row, "attempts", 0);
}

static void on_question(struct report_goal *r, const struct event *e)
{
	const struct ev_escalation_opened *d = as_escalation_opened(e);
	struct report_row *row = report_rows_add(&r->inbox);

	put_time(row, "at", e->at);
	put_int(row, "number", d->escalation);
	put(row, "node", e->node);
	put(row, "kind", d->kind);
	put(row, "question", d->question);
	put(row, "status", str_from(status_name(&esc_statuses, ESC_OPEN)));
}

/* Something new was found about it: the question is another one now. */
static void on_question_raised(struct report_goal *r, const struct event *e)
{
	const struct ev_escalation_raised *d = as_escalation_raised(e);
	struct report_row *row = report_rows_find_int(&r->inbox, "number", d->escalation);

	if (row)
		put(row, "question", d->question);
}

static void on_answer(struct report_goal *r, const struct event *e)
{
	const struct ev_escalation_closed *d = as_escalation_closed(e);
	struct report_row *row = report_rows_find_int(&r->inbox, "number", d->escalation);

	if (!row)
		return;
	put_word(row, "status", &esc_statuses, (int)d->status);
	put(row, "answer", d->answer);
	put(row, "by", e->actor);
	put_time(row, "closed_at", e->at);
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
	[EV_GOAL_STATUS] = on_change,
	[EV_GOAL_HEALTH] = on_change,
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
	[EV_NOTICE_WITHDRAWN] = on_notice_moved,
	[EV_NOTICE_RETRIED] = on_notice_moved,
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

static value *goal_view(struct arena *a, const struct goal *g)
{
	value *v = value_object(a);

	value_put(a, v, "id", value_str(a, g->id));
	value_put(a, v, "title", value_str(a, g->title));
	value_put(a, v, "status", value_cstr(a, status_name(&goal_statuses, (int)g->status)));
	value_put(a, v, "health", value_cstr(a, status_name(&goal_healths, (int)g->health)));
	value_put(a, v, "status_reason", value_str(a, g->status_reason));
	value_put(a, v, "created_at", value_time(a, g->created_at));
	value_put(a, v, "ended_at", value_time(a, g->ended_at));
	value_put(a, v, "leaves", value_int(a, (int64_t)g->leaves));
	value_put(a, v, "leaves_done", value_int(a, (int64_t)g->leaves_done));
	value_put(a, v, "leaves_cancelled", value_int(a, (int64_t)g->leaves_cancelled));
	value_put(a, v, "leaves_blocked", value_int(a, (int64_t)g->leaves_blocked));
	value_put(a, v, "leaves_unchecked", value_int(a, (int64_t)g->leaves_unchecked));
	value_put(a, v, "progress_centi", value_int(a, goal_progress_centi(g)));
	return v;
}

/* It ends where the goal is now. */
static value *progress_view(struct arena *a, const struct report_goal *r, const struct goal *g)
{
	struct report_curve *c = arena_new(a, struct report_curve);

	*c = r->progress;
	report_curve_add(c, g->updated_at, goal_progress_centi(g), (int64_t)g->leaves_done);
	return report_curve_view(a, c, "progress_centi", "done");
}

static void add_next(struct arena *a, value *list, str text, str command)
{
	value *v = value_object(a);

	value_put(a, v, "text", value_str(a, text));
	if (command.n)
		value_put(a, v, "command", value_str(a, command));
	value_push(a, list, v);
}

static void next_questions(struct arena *a, value *list, const struct state *s,
		const struct goal *g)
{
	for (size_t i = 0; i < s->escalations.n && value_count(list) < ROWS; i++) {
		const struct escalation *x = s->escalations.p[i];

		if (x->status == ESC_OPEN && str_eq(x->goal_id, g->id))
			add_next(a, list,
					arena_printf(a, "#%lld waits for an answer: " STR_FMT,
							(long long)x->number,
							STR_ARG(utf8_truncate(x->question, SHORT))),
					arena_printf(a, "overseer inbox show %lld",
							(long long)x->number));
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

static value *next_view(struct arena *a, const struct state *s, const struct goal *g)
{
	value *list = value_array(a);
	bool aborted = g->health == HEALTH_ABORTED;

	next_questions(a, list, s, g);
	if (g->status == GOAL_PAUSED)
		add_next(a, list,
				arena_printf(a, "It is %s until a person acts: " STR_FMT,
						aborted ? "aborted" : "paused",
						STR_ARG(g->status_reason)),
				arena_printf(a, "overseer goal %s " STR_FMT " --reason \"...\"",
						aborted ? "reopen" : "resume", STR_ARG(g->id)));
	if (g->status == GOAL_ACTIVE || g->status == GOAL_PAUSED)
		add_next(a, list, open_work(a, g),
				arena_printf(a, "overseer work list --goal " STR_FMT,
						STR_ARG(g->id)));
	return list;
}

value *report_goal_view(struct arena *a, const struct report_goal *r, const struct state *s,
		ov_time now)
{
	const struct goal *g = state_goal(s, r->goal);
	value *v = value_object(a), *iterations, *detections, *by_level = value_object(a),
	      *verdicts = value_object(a);

	assert(g);
	value_put(a, v, "at", value_time(a, now));
	value_put(a, v, "goal", goal_view(a, g));
	value_put(a, v, "progress", progress_view(a, r, g));
	value_put(a, v, "tasks", report_tasks_view(a, r->tasks, g));
	value_put(a, v, "spending", report_curve_view(a, &r->spending, "cost_microusd", "tokens"));
	iterations = report_rows_view(a, &r->iterations);
	value_put(a, iterations, "failed", value_int(a, r->failed));
	value_put(a, v, "iterations", iterations);
	detections = report_rows_view(a, &r->detections);
	for (int i = LEVEL_LOG; i < LEVEL_COUNT; i++)
		value_put(a, by_level, status_name(&levels, i), value_int(a, r->by_level[i]));
	value_put(a, detections, "by_level", by_level);
	for (int i = 0; i < EFFECTIVENESS_COUNT; i++)
		value_put(a, verdicts, status_name(&effectivenesses, i),
				value_int(a, r->by_verdict[i]));
	value_put(a, detections, "verdicts", verdicts);
	value_put(a, v, "detections", detections);
	value_put(a, v, "changes", report_rows_view(a, &r->changes));
	value_put(a, v, "notices", report_rows_view(a, &r->notices));
	value_put(a, v, "inbox", report_rows_view(a, &r->inbox));
	value_put(a, v, "next", next_view(a, s, g));
	return v;
}
