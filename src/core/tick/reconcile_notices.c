/* Notices whose time has come: the most urgent first, a few at a time, not too many an hour. */
#include "base/arena.h"
#include "base/str.h"
#include "core/inbox/notices.h"
#include "core/tick/reconcile_impl.h"

/* Of one channel. */
struct tally {
	int64_t open, recent; /* attempts under way; sent within the last hour */
	ov_time oldest;       /* of the latter */
};

static struct tally *tally_all(struct tick *t)
{
	const struct policy *p = t->w->policy;
	struct tally *all = arena_array(t->a, struct tally, p->channels_n + 1);

	for (size_t i = 0; i < t->w->state->notices.n; i++) {
		const struct notice *x = t->w->state->notices.p[i];
		const struct policy_channel *c = notice_channel(p, x);
		struct tally *tally = c ? &all[c - p->channels] : NULL;

		if (!tally)
			continue;
		tally->open += x->effect != NULL;
		if (x->status != NOTICE_SENT || x->settled_at <= t->now - OV_HOUR)
			continue;
		tally->oldest = tally->recent ? MIN(tally->oldest, x->settled_at) : x->settled_at;
		tally->recent++;
	}
	return all;
}

/* False when it has to wait; the tick then knows for how long. */
static bool may_go(struct tick *t, const struct notice *x, const struct tally *c)
{
	const struct policy *p = t->w->policy;
	ov_time due = notice_due(p, x, t->now);

	if (t->now < due) {
		tick_wake(t, due);
		return false;
	}
	if (c->open >= NOTICES_OPEN)
		return false;
	if (x->urgency == URGENCY_EMERGENCY || c->recent + c->open < p->notices_per_hour)
		return true;
	if (c->recent)
		tick_wake(t, c->oldest + OV_HOUR);
	return false;
}

static void check_notice(struct tick *t, const struct notice *x, struct tally *all)
{
	const struct policy_channel *c = notice_channel(t->w->policy, x);
	struct tally *tally = c ? &all[c - t->w->policy->channels] : NULL;
	struct decision d = { .kind = DEC_NOTIFY, .notice = x };

	if (notice_is_needless(t->w->state, x))
		d.why = STR("what it is about is settled, or put off");
	else if (!tally)
		d.why = STR("its channel is not configured any more");
	else if (may_go(t, x, tally))
		d.why = STR("a person is to be told");
	else
		return;
	if (tally && !tick_held(t, &d))
		tally->open++;
	tick_add(t, d);
}

void reconcile_notices(struct tick *t)
{
	struct tally *all = NULL;

	for (int urgency = URGENCY_COUNT - 1; urgency >= 0; urgency--)
		for (size_t i = 0; i < t->w->state->notices.n && !tick_full(t); i++) {
			const struct notice *x = t->w->state->notices.p[i];

			if (x->status != NOTICE_WAITING || x->effect || (int)x->urgency != urgency)
				continue;
			if (!all)
				all = tally_all(t);
			check_notice(t, x, all);
		}
}
