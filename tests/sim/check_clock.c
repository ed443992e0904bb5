/*
 * The books when the clock is set, or the machine slept: moments on the clock of the log go along.
 */
#include "tests/sim/check_impl.h"

static void move(ov_time *t, ov_time by)
{
	if (*t)
		*t += by;
}

/* A date or an hour stays; set back, it makes no wait longer. */
static void move_date(ov_time *t, ov_time by)
{
	move(t, MIN(by, (ov_time)0));
}

static void move_nodes(struct checker *c, ov_time by)
{
	for (size_t i = 0; i < c->node_list.n; i++) {
		struct node_book *n = c->node_list.p[i];

		move_date(&n->blocked_until, by);
		move(&n->reported_at, by);
		move(&n->rung_at, by);
		move(&n->recovered_at, by);
		move(&n->wait_from, by);
	}
}

static void move_work(struct checker *c, ov_time by)
{
	for (size_t i = 0; i < c->as_list.n; i++) {
		struct as_book *as = c->as_list.p[i];

		move(&as->not_before, by);
		move(&as->moved_at, by);
		if (!as->run)
			continue;
		move(&as->run->started_at, by);
		move(&as->run->sent_at, by);
	}
}

void book_clock_moved(struct checker *c, const struct event *e)
{
	ov_time by = value_int_at(e->data, "by_ms");

	for (size_t i = 0; i < c->goal_list.n; i++) {
		move(&c->goal_list.p[i]->planned_at, by);
		move(&c->goal_list.p[i]->detected_at, by);
	}
	move_nodes(c, by);
	move_work(c, by);
	for (size_t i = 0; i < c->escalations.n; i++) {
		move(&c->escalations.p[i]->last_at, by);
		move_date(&c->escalations.p[i]->notify_at, by);
	}
	for (size_t i = 0; i < c->lanes.n; i++) {
		move_date(&c->lanes.p[i]->resets_at, by);
		move(&c->lanes.p[i]->probe_at, by);
	}
	/* To the nearest whole hour, as hours are what is added up. */
	for (size_t i = 0; i < c->auto_spends.n; i++)
		c->auto_spends.p[i].at += (by + (by < 0 ? -OV_HOUR : OV_HOUR) / 2) / OV_HOUR *
				OV_HOUR;
	move(&c->outage_over_at, by);
	move(&c->outage_ignored_until, by);
}

/* No time of the runs that were under way, nor time in which they could have answered. */
void book_machine_slept(struct checker *c, const struct event *e)
{
	ov_time slept = value_int_at(e->data, "for_ms");

	for (size_t i = 0; i < c->live.n; i++) {
		struct as_book *as = c->live.p[i];

		if (!as->run || as->run->status == RUN_ENDED)
			continue;
		move(&as->run->started_at, slept);
		move(&as->run->sent_at, slept);
		move(&as->moved_at, slept);
		move(&as->node->recovered_at, slept);
		/* Silent for too long is what it was before. */
		if (as->status != AS_STALLED)
			as->quiet_t = c->s->t;
	}
}
