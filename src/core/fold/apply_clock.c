/*
 * The machine's clock is set, or the machine sleeps.
 *
 * All moments of the state are on one clock, the wall clock as it is now, and are compared with
 * each other and with it. So when it is set all of them go along, of finished things too: what
 * happened an hour ago did so on the new clock as well. Exceptions are in the tables of the records
 * (core/model/record.h). The log keeps the times as they were written.
 *
 * A machine that sleeps is another matter: the clock goes on, and so do the waits of people. But
 * its runs did nothing meanwhile, and could not answer.
 */
#include "core/fold/apply_impl.h"

#include "core/model/spend_window.h"

/* 0 would be absent: what lies before 1970 by the new clock was long ago. */
static void move(ov_time *t, int64_t by)
{
	ov_time to;

	if (!*t)
		return;
	if (__builtin_add_overflow(*t, by, &to))
		to = by < 0 ? 1 : OV_TIME_MAX;
	*t = MAX(to, (ov_time)1);
}

static void move_record(const struct record_type *t, void *record, int64_t by)
{
	for (size_t i = 0; record && i < t->n; i++) {
		ov_time *at = (ov_time *)(void *)((char *)record + t->fields[i].offset);

		if (t->fields[i].type == F_TIME || (t->fields[i].type == F_CALENDAR && by < 0))
			move(at, by);
	}
}

#define MOVE_VEC(v, type)                                    \
	do {                                                 \
		for (size_t _i = 0; _i < (v).n; _i++)        \
			move_record(&(type), (v).p[_i], by); \
	} while (0)

static void move_goal(struct goal *g, int64_t by)
{
	move_record(&goal_record, g, by);
	move_record(&crystallization_record, g->handoff, by);
	MOVE_VEC(g->detections, detection_record);
	for (size_t i = 0; i < g->nodes.n; i++) {
		struct node *n = g->nodes.p[i];

		move_record(&node_record, n, by);
		move_record(&crystallization_record, n->handoff, by);
		MOVE_VEC(n->iterations, iteration_record);
	}
}

static void move_assignments(const struct list *head, int64_t by)
{
	list_each (it, head) {
		struct assignment *as = list_entry(it, struct assignment, link);

		move_record(&assignment_record, as, by);
		MOVE_VEC(as->dispatches, dispatch_record);
	}
}

static void move_runs(const struct list *head, int64_t by)
{
	list_each (it, head)
		move_record(&run_record, list_entry(it, struct run, link), by);
}

static void move_lane(struct lane *l, int64_t by)
{
	move_record(&lane_record, l, by);
	/* Nobody told when it resets: it is tried again after a wait, not at an hour. */
	if (l->guessed && by > 0)
		move(&l->resets_at, by);
}

/* What is of the state as a whole. */
static void move_state(struct state *s, int64_t by)
{
	ov_time *const moments[] = { &s->target_seen_at, &s->outage_since, &s->outage_over_at,
		&s->outage_ignored_until };

	for (size_t i = 0; i < ARRAY_LEN(moments); i++)
		move(moments[i], by);
	move_record(&auto_mode_record, &s->automatic, by);
	window_move(&s->automatic.window, by);
}

APPLY(clock_moved)
{
	int64_t by = d->by_ms;

	for (size_t i = 0; i < s->goals.n; i++)
		move_goal(s->goals.p[i], by);
	move_assignments(&s->live, by);
	move_assignments(&s->finished, by);
	move_runs(&s->runs, by);
	move_runs(&s->retired_runs, by);
	list_each (it, &s->effects)
		move_record(&effect_record, list_entry(it, struct effect, link), by);
	MOVE_VEC(s->workers, worker_record);
	MOVE_VEC(s->escalations, escalation_record);
	MOVE_VEC(s->notices, notice_record);
	MOVE_VEC(s->streaks, streak_record);
	MOVE_VEC(s->conflicts, conflict_record);
	for (size_t i = 0; i < s->habits.n; i++)
		MOVE_VEC(s->habits.p[i]->rows, habit_record);
	for (size_t i = 0; i < s->lanes.n; i++)
		move_lane(s->lanes.p[i], by);
	move_state(s, by);
	s->clock.set_ms += by;
	return 0;
}

/* ---- sleep ---- */

/* A request to a run that sleeps is none that it leaves unanswered. */
static void sleep_recovery(struct assignment *as, int64_t slept, ov_time now)
{
	struct node *n = as->node;
	ov_time *const moments[] = { &n->stall.at, &n->stall.recovered_at, &n->stall.backoff_until,
		&n->stall.sent_at, &as->updated_at };

	for (size_t i = 0; i < ARRAY_LEN(moments); i++)
		move(moments[i], slept);
	as->updated_at = MIN(as->updated_at, now);
	for (size_t i = 0; i < as->dispatches.n; i++)
		move(&as->dispatches.p[i]->at, slept);
}

static void sleep_run(struct assignment *as, struct run *r, int64_t slept, ov_time now)
{
	/* While it is frozen no time counts anyway. */
	if (!r->frozen)
		r->slept_ms += slept;
	r->awake_at = now;
	move(&r->patience_from, slept);
	move(&r->mute_at, slept);
	move(&r->asked_at, slept);
	/* One that was silent for too long before is no better for it. */
	if (as->status == AS_STALLED)
		move(&as->last_activity_at, slept);
	else
		as->last_activity_at = now;
	as->expected_at = 0;
}

APPLY(machine_slept)
{
	int64_t slept = MAX(d->for_ms, (int64_t)0);

	list_each (it, &s->live) {
		struct assignment *as = list_entry(it, struct assignment, link);

		if (!as->run || as->run->status == RUN_ENDED)
			continue;
		if (as->node)
			sleep_recovery(as, slept, e->at);
		sleep_run(as, as->run, slept, e->at);
	}
	/* Nor do steps of ours get on. */
	list_each (it, &s->effects)
		move(&list_entry(it, struct effect, link)->created_at, slept);
	s->clock.slept_ms += slept;
	return 0;
}
