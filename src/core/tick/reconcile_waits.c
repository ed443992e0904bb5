/* What waits for a moment: entries to be reminded of, raised or given up, and blocked nodes. */
#include <stdlib.h>

#include "core/policy/quiet_hours.h"
#include "core/tick/reconcile_impl.h"

static void check_escalation(struct tick *t, const struct escalation *x)
{
	const struct policy *p = t->w->policy;
	ov_time since = MAX(MAX(x->opened_at, x->reminded_at), MAX(x->notify_at, x->raised_at)), at;
	struct decision d = { .escalation = x };

	if (x->expires_at && t->now >= x->expires_at) {
		d.kind = DEC_EXPIRE;
		d.why = STR("nobody answered in time");
		tick_add(t, d);
		return;
	}
	if (x->expires_at)
		tick_wake(t, x->expires_at);
	if (x->snoozed_until && t->now < x->snoozed_until) {
		tick_wake(t, x->snoozed_until);
		return;
	}
	if (x->snoozed_until) {
		d.kind = DEC_RAISE;
		d.why = STR("it was put off until now");
		tick_add(t, d);
		return;
	}
	if (!p->remind_after || x->reminders >= p->max_reminders)
		return;
	at = since + p->remind_after;
	at = MAX(at, quiet_until(p, MAX(at, t->now)));
	if (t->now < at) {
		tick_wake(t, at);
		return;
	}
	d.kind = DEC_REMIND;
	d.why = STR("a person is still needed");
	tick_add(t, d);
}

void reconcile_waits(struct tick *t)
{
	VEC(const struct node *) due = { 0 };

	for (size_t i = 0; i < t->w->state->escalations.n; i++)
		if (t->w->state->escalations.p[i]->status == ESC_OPEN)
			check_escalation(t, t->w->state->escalations.p[i]);
	list_each (it, &t->w->state->waiting) {
		const struct node *n = list_entry(it, struct node, link);

		if (t->now >= n->block.until)
			vec_push(&due, n);
		else
			tick_wake(t, n->block.until);
	}
	/* The list is in the order in which they began to wait, which a snapshot does not keep. */
	if (due.n)
		qsort(due.p, due.n, sizeof(*due.p), node_order);
	for (size_t i = 0; i < due.n; i++)
		tick_add(t,
				(struct decision){ .kind = DEC_UNBLOCK,
						.goal = due.p[i]->goal,
						.node = due.p[i],
						.why = STR("the time that it waited for has "
							   "come") });
	vec_done(&due);
}
