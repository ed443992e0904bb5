#include "core/view/view.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/capacity/slots.h"
#include "core/life/ladder.h"
#include "core/view/waiting.h"

int64_t progress_centi(int64_t done, int64_t counted)
{
	return counted ? done * 10000 / counted : 0;
}

int64_t goal_progress_centi(const struct goal *g)
{
	return progress_centi((int64_t)g->leaves_done, (int64_t)(g->leaves - g->leaves_cancelled));
}

static value *progress(struct arena *a, const struct goal *g)
{
	value *v = value_object(a);

	value_put(a, v, "unchecked", value_int(a, (int64_t)g->leaves_unchecked));
	value_put(a, v, "leaves", value_int(a, (int64_t)g->leaves));
	value_put(a, v, "done", value_int(a, (int64_t)g->leaves_done));
	value_put(a, v, "cancelled", value_int(a, (int64_t)g->leaves_cancelled));
	value_put(a, v, "blocked", value_int(a, (int64_t)g->leaves_blocked));
	value_put(a, v, "done_pct", value_int(a, goal_progress_centi(g) / 100));
	return v;
}

value *view_goal_brief(struct arena *a, const struct goal *g)
{
	value *v = value_object(a);

	value_put(a, v, "id", value_str(a, g->id));
	value_put(a, v, "title", value_str(a, g->title));
	value_put(a, v, "status", value_cstr(a, status_name(&goal_statuses, (int)g->status)));
	value_put(a, v, "health", value_cstr(a, status_name(&goal_healths, (int)g->health)));
	value_put(a, v, "priority", value_int(a, g->priority));
	value_put(a, v, "plan_version", value_int(a, g->plan_version));
	value_put(a, v, "created_at", value_time(a, g->created_at));
	value_put(a, v, "ended_at", value_time(a, g->ended_at));
	value_put(a, v, "progress", progress(a, g));
	return v;
}

value *view_goal(struct arena *a, const struct state *s, const struct goal *g)
{
	value *v = record_to_value(a, &goal_record, g);

	value_put(a, v, "progress", progress(a, g));
	value_put(a, v, "escalations", view_inbox(a, s, g->id, s->at, INBOX_OPEN));
	value_put(a, v, "detections", view_detections(a, g, NULL));
	value_put(a, v, "handoff",
			g->handoff ? record_to_value(a, &crystallization_record, g->handoff)
				   : value_null(a));
	return v;
}

value *view_run(struct arena *a, const struct run *r, ov_time now)
{
	value *v = record_to_value(a, &run_record, r);
	ov_time from = r->started_at ? r->started_at : r->created_at,
		to = r->ended_at ? r->ended_at : now;

	value_put(a, v, "duration_ms", value_int(a, MAX(to - from, (ov_time)0)));
	return v;
}

value *view_worker(struct arena *a, const struct state *s, const struct worker *w)
{
	value *v = record_to_value(a, &worker_record, w);
	const struct assignment *as = w->assignment_id.n ? state_assignment(s, w->assignment_id)
							 : NULL;

	/* Why it came to rest says nothing about now; the log has it. */
	if (w->status == WORKER_IDLE && !as)
		value_put(a, v, "reason", value_cstr(a, ""));
	value_put(a, v, "node", as && as->node ? value_str(a, as->node->key) : value_null(a));
	value_put(a, v, "task", value_str(a, as && as->node ? as->node->def.name : STR("")));
	value_put(a, v, "stage",
			value_cstr(a, status_name(&stages, as ? (int)as->stage : STAGE_NONE)));
	value_put(a, v, "run", value_str(a, as ? as->run_id : STR("")));
	value_put(a, v, "works_as", value_str(a, as ? as->agent : STR("")));
	value_put(a, v, "branch", value_str(a, as ? as->branch : STR("")));
	value_put(a, v, "waiting_for",
			as && as->waiting != WAITING_NONE && !as->effect ? value_str(a, as->reason)
									 : value_null(a));
	value_put(a, v, "under_way", w->effect ? value_str(a, w->effect->purpose) : value_null(a));
	return v;
}

static value *running(struct arena *a, const struct state *s, struct queue *q, ov_time now)
{
	value *list = value_array(a);

	list_each (it, &s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);
		value *v;

		if (as->stage == STAGE_NONE || !as->node)
			continue;
		v = value_object(a);
		value_put(a, v, "worker", value_str(a, as->worker));
		value_put(a, v, "agent", value_str(a, as->agent));
		value_put(a, v, "goal", value_str(a, as->goal_id));
		value_put(a, v, "node", value_str(a, as->node_id));
		value_put(a, v, "name", value_str(a, as->node->def.name));
		value_put(a, v, "status",
				value_cstr(a, status_name(&as_statuses, (int)as->status)));
		value_put(a, v, "stage", value_cstr(a, status_name(&stages, (int)as->stage)));
		value_put(a, v, "attempt", value_int(a, as->attempt));
		value_put(a, v, "reason", value_str(a, as->reason));
		value_put(a, v, "run", value_str(a, as->run_id));
		value_put(a, v, "session", value_str(a, as->run ? as->run->session : STR("")));
		value_put(a, v, "resumed", value_bool(a, as->run && as->run->resumed));
		value_put(a, v, "not_before",
				value_time(a, as->not_before > now ? as->not_before : 0));
		value_put(a, v, "since", value_time(a, as->updated_at));
		value_put(a, v, "last_lines", value_str(a, node_last_lines(s, as->node)));
		queue_put_waiting(q, v, as->node);
		value_push(a, list, v);
	}
	return list;
}

/* The next rung that is not skipped, and when; on copies, since those before it count as taken. */
static void put_next_rung(struct arena *a, const struct world *w, value *v, const struct node *n,
		ov_time now)
{
	struct observation seen = { 0 };
	struct assignment as;
	struct node copy = *n;
	struct rung_choice c = { .nothing = true };
	bool running;

	if (n->assignment) {
		as = *n->assignment;
		as.node = &copy;
		running = as.run && as.run->status != RUN_ENDED;
		for (int i = 0; i < RUNG_COUNT; i++) {
			c = rung_next(a, w, &as, running ? &seen : NULL, now);
			if (c.nothing || !c.skip)
				break;
			copy.stall.rungs[c.rung] = INT32_MAX;
		}
	}
	value_put(a, v, "next", value_cstr(a, c.nothing ? "" : status_name(&rungs, (int)c.rung)));
	value_put(a, v, "next_at", value_time(a, c.nothing ? 0 : c.due_at));
}

/* Stalls that are being recovered from: what was done about them so far, and when that goes on. */
static void push_stalled(struct arena *a, const struct world *w, value *list, const struct node *n,
		ov_time now)
{
	value *v, *rungs_taken;

	if (!node_is_stalled(n))
		return;
	v = view_node_brief(a, n);
	rungs_taken = value_object(a);
	for (int i = 0; i < RUNG_COUNT; i++)
		value_put(a, rungs_taken, status_name(&rungs, i),
				value_int(a, n->stall.rungs[i] - n->stall.skipped[i]));
	value_put(a, v, "episode", value_int(a, n->stall.episode));
	value_put(a, v, "reason", value_str(a, n->stall.reason));
	value_put(a, v, "rungs", rungs_taken);
	value_put(a, v, "backoff_until", value_time(a, n->stall.backoff_until));
	put_next_rung(a, w, v, n, now);
	value_push(a, list, v);
}

static value *stalled(struct arena *a, const struct world *w, ov_time now)
{
	const struct state *s = w->state;
	value *list = value_array(a);

	list_each (it, &s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (as->node && as->node->assignment == as)
			push_stalled(a, w, list, as->node, now);
	}
	return list;
}

/* Why nothing new is started though there is work: so much of it waits. */
static value *held(struct arena *a, const struct slots *sl)
{
	str pool = slots_text(a, sl, WORKER_POOL), automatic = slots_text(a, sl, WORKER_AUTO);
	value *list = value_array(a);

	if (pool.n)
		value_push(a, list, value_str(a, pool));
	if (automatic.n)
		value_push(a, list, value_strf(a, "auto mode: " STR_FMT, STR_ARG(automatic)));
	return list;
}

value *view_status(struct arena *a, const struct world *w, str no_capacity, ov_time now)
{
	const struct state *s = w->state;
	value *v = value_object(a), *goals = value_array(a), *workers = value_array(a);
	struct slots sl = slots_init(s, w->policy, now);
	const struct slot_count *pool = &sl.of[WORKER_POOL];
	struct queue *q = queue_look(a, w, no_capacity, now);
	size_t archived = 0, max = slots_max(s, w->policy, WORKER_POOL), busy;
	int64_t more;

	for (size_t i = 0; i < s->goals.n; i++) {
		archived += s->goals.p[i]->status == GOAL_ARCHIVED;
		if (s->goals.p[i]->status != GOAL_ARCHIVED)
			value_push(a, goals, view_goal_brief(a, s->goals.p[i]));
	}
	for (size_t i = 0; i < s->workers.n; i++)
		value_push(a, workers, view_worker(a, s, s->workers.p[i]));
	slots_count(&sl);
	value_put(a, v, "seq", value_int(a, (int64_t)s->seq));
	value_put(a, v, "notices_lost", view_notices_lost(a, w, now));
	value_put(a, v, "needs_you", view_inbox(a, s, STR(""), now, INBOX_DUE));
	value_put(a, v, "snoozed", value_int(a, view_inbox_later(s, STR(""), now)));
	value_put(a, v, "running", running(a, s, q, now));
	value_put(a, v, "queued", queue_groups(q));
	value_put(a, v, "stalled", stalled(a, w, now));
	value_put(a, v, "loops", view_loops(a, s));
	value_put(a, v, "blocked", view_blocked(a, s, now, &more));
	value_put(a, v, "blocked_more", value_int(a, more));
	value_put(a, v, "lanes", view_lanes(a, w, now));
	value_put(a, v, "workers", workers);
	busy = pool->busy + MIN(pool->starts, max > pool->busy ? max - pool->busy : 0);
	value_put(a, v, "workers_busy", value_int(a, (int64_t)busy));
	/* Whose wait is over, and who has no slot yet, waits on. */
	value_put(a, v, "workers_waiting",
			value_int(a, (int64_t)(pool->busy + pool->starts - busy + pool->waiting)));
	value_put(a, v, "held", held(a, &sl));
	value_put(a, v, "auto", view_auto(a, w, now));
	value_put(a, v, "goals", goals);
	value_put(a, v, "goals_archived", value_int(a, (int64_t)archived));
	return v;
}
