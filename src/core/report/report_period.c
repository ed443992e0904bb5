/* What happened since a moment, counted: for whoever comes back to it. */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "core/capacity/auto_mode.h"
#include "core/capacity/budget.h"
#include "core/report/report.h"
#include "core/report/report_doc.h"
#include "core/report/report_tasks.h"

/* What happened to a task in this period; what became of it in the end is the state's to say. */
enum mark {
	MARK_ACCEPTED = 1 << 0,
	MARK_REVERTED = 1 << 1,
	MARK_DONE = 1 << 2,
	MARK_OVERRIDDEN = 1 << 3, /* when it was last done */
	MARK_CANCELLED = 1 << 4,
	MARK_REOPENED = 1 << 5,
	MARK_REJECTED = 1 << 6, /* and not accepted since */
	MARK_CONFLICT = 1 << 7,
	MARK_FIXED = 1 << 8, /* accepted after it was rejected */
	MARK_RESOLVED = 1 << 9,
};

struct task_note {
	str goal, node;
	unsigned marks;
	bool stalled; /* since a moment of this period */
	int rung;     /* the last one that was taken in that stall; -1: none */
};

struct goal_note {
	str id;
	bool planned;
	bool completed;
	int64_t cost;
};

struct report_period {
	struct arena arena;
	ov_time since, people_at;
	struct map tasks, goals;
	struct map plans; /* "GOAL/VERSION" of those that were applied in this period */
	int64_t people, runs, rejected, conflicts, stalls;
	int64_t recovered[RUNG_COUNT], by_itself;
	int64_t starts, crashes, detections, interventions[LEVEL_COUNT];
	int64_t cost, tokens;
	ov_time crashed_at;
	bool up; /* a daemon was started, and has not stopped by itself since */
};

struct report_period *report_period_new(ov_time since)
{
	struct report_period *r = mem_zalloc(1, sizeof(*r));

	r->since = since;
	map_init(&r->tasks, 0);
	map_init(&r->goals, 0);
	map_init(&r->plans, 0);
	return r;
}

struct report_period *report_period_free(struct report_period *r)
{
	if (!r)
		return NULL;
	map_done(&r->tasks);
	map_done(&r->goals);
	map_done(&r->plans);
	arena_done(&r->arena);
	mem_free(r);
	return NULL;
}

static struct task_note *task_of(struct report_period *r, const struct event *e)
{
	str key = arena_printf(&r->arena, STR_FMT "/" STR_FMT, STR_ARG(e->goal), STR_ARG(e->node));
	struct task_note *n = map_get(&r->tasks, key);

	if (!n) {
		n = arena_new(&r->arena, struct task_note);
		*n = (struct task_note){ .goal = arena_str(&r->arena, e->goal),
			.node = arena_str(&r->arena, e->node),
			.rung = -1 };
		map_put(&r->tasks, key, n);
	}
	return n;
}

static struct goal_note *goal_of(struct report_period *r, str goal)
{
	struct goal_note *n = map_get(&r->goals, goal);

	if (!n) {
		n = arena_new(&r->arena, struct goal_note);
		n->id = arena_str(&r->arena, goal);
		map_put(&r->goals, n->id, n);
	}
	return n;
}

static void on_run_ended(struct report_period *r, const struct event *e _unused_)
{
	r->runs++;
}

static void on_accepted(struct report_period *r, const struct event *e)
{
	struct task_note *n = task_of(r, e);

	if (n->marks & MARK_REJECTED)
		n->marks |= MARK_FIXED;
	if (n->marks & MARK_CONFLICT)
		n->marks |= MARK_RESOLVED;
	n->marks = (n->marks & ~(unsigned)(MARK_REJECTED | MARK_CONFLICT)) | MARK_ACCEPTED;
}

static void on_reverted(struct report_period *r, const struct event *e)
{
	task_of(r, e)->marks |= MARK_REVERTED;
}

static void on_node_status(struct report_period *r, const struct event *e)
{
	const struct ev_node_status *d = as_node_status(e);
	bool done = d->to == NODE_DONE, cancelled = d->to == NODE_CANCELLED;
	struct task_note *n;

	if (!done && !cancelled && d->from != NODE_DONE)
		return;
	n = task_of(r, e);
	n->marks &= ~(unsigned)MARK_OVERRIDDEN;
	if (done && d->override)
		n->marks |= MARK_OVERRIDDEN;
	n->marks |= done ? MARK_DONE : cancelled ? MARK_CANCELLED : MARK_REOPENED;
}

static str plan_key(struct arena *a, str goal, int64_t version)
{
	return arena_printf(a, STR_FMT "/%lld", STR_ARG(goal), (long long)version);
}

static void on_plan(struct report_period *r, const struct event *e)
{
	const struct ev_plan_applied *d = as_plan_applied(e);
	struct goal_note *g = goal_of(r, e->goal);

	g->planned = true;
	map_put(&r->plans, plan_key(&r->arena, e->goal, d->version), g);
}

static void on_verified(struct report_period *r, const struct event *e)
{
	const struct ev_run_verified *d = as_run_verified(e);

	if (d->verdict != VERIFY_FAILED && d->verdict != VERIFY_REFUSED)
		return;
	r->rejected++;
	task_of(r, e)->marks |= MARK_REJECTED;
}

static void on_failed(struct report_period *r, const struct event *e)
{
	if (as_node_failed(e)->cause != CAUSE_CONFLICT)
		return;
	r->conflicts++;
	task_of(r, e)->marks |= MARK_CONFLICT;
}

static void on_stall(struct report_period *r, const struct event *e)
{
	struct task_note *n = task_of(r, e);

	r->stalls++;
	n->stalled = true;
	n->rung = -1;
}

static void on_rung(struct report_period *r, const struct event *e)
{
	const struct ev_episode_rung *d = as_episode_rung(e);

	if (!d->skipped)
		task_of(r, e)->rung = (int)d->rung;
}

/* Of a stall that began before nobody here knows what was done about it. */
static void on_stall_over(struct report_period *r, const struct event *e)
{
	struct task_note *n = task_of(r, e);

	if (n->stalled && n->rung >= 0)
		r->recovered[n->rung]++;
	else if (n->stalled)
		r->by_itself++;
	n->stalled = false;
}

static void on_started(struct report_period *r, const struct event *e)
{
	r->starts++;
	if (r->up) { /* the one before did not say that it ended */
		r->crashes++;
		r->crashed_at = e->at;
	}
	r->up = true;
}

static void on_stopped(struct report_period *r, const struct event *e _unused_)
{
	r->up = false;
}

static void on_goal_status(struct report_period *r, const struct event *e)
{
	if (as_goal_status(e)->to == GOAL_COMPLETED)
		goal_of(r, e->goal)->completed = true;
}

static void on_spent(struct report_period *r, const struct event *e)
{
	const struct ev_goal_spent *d = as_goal_spent(e);
	const value *amounts = d->amounts;

	int64_t cost = value_int_at(amounts, status_name(&resources, RES_COST_MICROUSD));

	r->cost += cost;
	goal_of(r, e->goal)->cost += cost;
	r->tokens += value_int_at(amounts, status_name(&resources, RES_TOKENS));
}

static void on_detection(struct report_period *r, const struct event *e _unused_)
{
	r->detections++;
}

static void on_intervention(struct report_period *r, const struct event *e)
{
	r->interventions[as_intervention_applied(e)->level]++;
}

typedef void add_fn(struct report_period *r, const struct event *e);

static add_fn *const adders[EVENT_KIND_COUNT] = {
	[EV_DAEMON_STARTED] = on_started,
	[EV_DAEMON_STOPPED] = on_stopped,
	[EV_GOAL_STATUS] = on_goal_status,
	[EV_GOAL_SPENT] = on_spent,
	[EV_PLAN_APPLIED] = on_plan,
	[EV_NODE_STATUS] = on_node_status,
	[EV_NODE_ACCEPTED] = on_accepted,
	[EV_NODE_REVERTED] = on_reverted,
	[EV_NODE_FAILED] = on_failed,
	[EV_RUN_ENDED] = on_run_ended,
	[EV_RUN_VERIFIED] = on_verified,
	[EV_EPISODE_OPENED] = on_stall,
	[EV_EPISODE_RUNG] = on_rung,
	[EV_EPISODE_CLOSED] = on_stall_over,
	[EV_DETECTION_MADE] = on_detection,
	[EV_INTERVENTION_APPLIED] = on_intervention,
};

/* All: whoever did something was there. */
bool report_period_wants(str kind _unused_)
{
	return true;
}

void report_period_up(struct report_period *r)
{
	r->up = true;
}

void report_period_add(struct report_period *r, const struct event *e)
{
	if (e->at < r->since) { /* the clock was set back */
		if (e->kind == EV_DAEMON_STARTED || e->kind == EV_DAEMON_STOPPED)
			r->up = e->kind == EV_DAEMON_STARTED;
		return;
	}
	if (str_starts(e->actor, STR("human"))) {
		r->people++;
		r->people_at = e->at;
	}
	if (adders[e->kind])
		adders[e->kind](r, e);
}

/* ---- the document ---- */

/* Each task once, by what finally became of it. */
static void count_task(struct report_period_doc *x, const struct task_note *t, const struct node *n)
{
	enum task_end end = task_end_of(n, t->marks & MARK_OVERRIDDEN);

	if (end == END_CANCELLED && (t->marks & MARK_CANCELLED)) {
		x->cancelled++;
		x->cancelled_on_target += n->work.commit.n > 0;
	} else if (end == END_ACCEPTED && (t->marks & MARK_ACCEPTED)) {
		x->accepted++;
		x->accepted_unchecked += str_is(n->work.checked_by, "nothing");
		x->fixed_on_retry += (t->marks & MARK_FIXED) != 0;
		x->conflicts_resolved += (t->marks & MARK_RESOLVED) != 0;
	} else if (end == END_DONE && (t->marks & MARK_DONE)) {
		x->done++;
	} else if (end == END_OVERRIDDEN && (t->marks & MARK_DONE)) {
		x->overridden++;
	} else if (end < END_DONE && (t->marks & MARK_REVERTED) && !n->work.commit.n) {
		x->reverted++;
	} else if (end < END_DONE && (t->marks & MARK_REOPENED)) {
		x->reopened++;
	}
}

/* Nobody is a part of it, nor was when it went. */
static bool had_no_parts(const struct goal *g, const struct node *n)
{
	for (size_t i = 0; i < g->nodes.n; i++)
		if (str_eq(g->nodes.p[i]->parent_id, n->id))
			return false;
	return true;
}

static int64_t count_removed(const struct report_period *r, const struct goal *g)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	int64_t count = 0;

	for (size_t i = g->nodes.n; i-- > 0 && g->nodes.p[i]->def.removed_in;) {
		const struct node *n = g->nodes.p[i];

		count += map_get(&r->plans, plan_key(&a, g->id, n->def.removed_in)) &&
				had_no_parts(g, n);
	}
	return count;
}

static void count_ends(struct report_period_doc *x, const struct report_period *r,
		const struct state *s)
{
	void *p;
	str key;

	for (size_t i = 0; map_next(&r->tasks, &i, &key, &p);) {
		const struct task_note *t = p;
		const struct node *n = state_node(s, t->goal, t->node);

		if (n)
			count_task(x, t, n);
	}
	for (size_t i = 0; map_next(&r->goals, &i, &key, &p);) {
		const struct goal_note *t = p;
		const struct goal *g = state_goal(s, t->id);

		if (g && t->planned)
			x->removed += count_removed(r, g);
	}
}

static int64_t count_completed(const struct report_period *r, const struct state *s)
{
	int64_t count = 0;
	void *p;
	str key;

	for (size_t i = 0; map_next(&r->goals, &i, &key, &p);) {
		const struct goal_note *t = p;
		const struct goal *g = state_goal(s, t->id);

		count += t->completed && g &&
				(g->status == GOAL_COMPLETED || g->status == GOAL_ARCHIVED);
	}
	return count;
}

/*
 * What the goal could spend in the period: its budget less what it had spent before. The budget of
 * auto mode is one for all of its goals, and of every 24 hours. -1: there is no limit.
 */
static int64_t could_spend(const struct report_period *r, const struct goal_note *t,
		const struct goal *g, const struct policy *policy, ov_time now)
{
	int64_t limit = budget_limit(policy, g, RES_COST_MICROUSD), days, most;

	if (limit < 0)
		return -1;
	if (!g->automatic)
		return MAX(limit - MAX(g->spent[RES_COST_MICROUSD] - t->cost, (int64_t)0),
				(int64_t)0);
	days = MAX((now - r->since + OV_DAY - 1) / OV_DAY, (int64_t)1);
	return __builtin_mul_overflow(limit, days, &most) ? -1 : most;
}

/* Of those that spent something, together. False where one of them has no limit. */
static bool budget_of(const struct report_period *r, const struct state *s,
		const struct policy *policy, ov_time now, int64_t *ret)
{
	bool limited = false, with_auto = false;
	int64_t sum = 0;
	void *p;
	str key;

	for (size_t i = 0; map_next(&r->goals, &i, &key, &p);) {
		const struct goal_note *t = p;
		const struct goal *g = state_goal(s, t->id);
		int64_t most;

		if (!t->cost || (g && g->automatic && with_auto))
			continue;
		most = g ? could_spend(r, t, g, policy, now) : -1;
		if (most < 0 || __builtin_add_overflow(sum, most, &sum))
			return false;
		with_auto |= g->automatic != NULL;
		limited = true;
	}
	*ret = sum;
	return limited;
}

static struct nums waiting(struct arena *a, const struct state *s)
{
	struct nums list = { arena_array(a, int64_t, s->escalations.n), 0 };

	for (size_t i = 0; i < s->escalations.n; i++)
		if (s->escalations.p[i]->status == ESC_OPEN)
			list.p[list.n++] = s->escalations.p[i]->number;
	return list;
}

value *report_period_view(struct arena *a, const struct report_period *r, const struct state *s,
		const struct policy *policy, ov_time now)
{
	struct report_period_doc d = { .since = r->since,
		.at = now,
		.period_ms = now - r->since,
		.unattended_ms = MAX(now - MAX(r->since, r->people_at), (ov_time)0),
		.people = r->people,
		.runs = r->runs,
		.rejected = r->rejected,
		.conflicts = r->conflicts,
		.goals_completed = count_completed(r, s),
		.stalls = r->stalls,
		.stalls_over_by_themselves = r->by_itself,
		.daemon_starts = r->starts,
		.daemon_crashes = r->crashes,
		.detections = r->detections,
		.cost_microusd = r->cost,
		.tokens = r->tokens,
		.same_task_in_a_row = auto_same_tasks(s, r->since).longest,
		.people_at = r->people_at,
		.crashed_at = r->crashed_at,
		.waiting = waiting(a, s) };

	count_ends(&d, r, s);
	d.has_budget_microusd = budget_of(r, s, policy, now, &d.budget_microusd);
	memcpy(d.stalls_recovered_by, r->recovered, sizeof(r->recovered));
	memcpy(d.interventions, r->interventions, sizeof(r->interventions));
	return shape_data(a, report_period_doc_shape(), &d);
}
