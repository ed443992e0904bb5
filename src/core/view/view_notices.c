/* Notices as people see them: what was told by whom, what waits and why, what could not be told. */
#include "base/arena.h"
#include "base/str.h"
#include "core/inbox/notices.h"
#include "core/view/view.h"

/* How long one that failed is shown when no question that it is about is open. */
#define LOST_FOR OV_DAY

static bool is_lost(const struct state *s, const struct notice *x, ov_time now)
{
	if (x->status != NOTICE_FAILED)
		return false;
	return x->escalation ? !notice_is_needless(s, x) : now < x->settled_at + LOST_FOR;
}

static str why_waiting(const struct policy *p, const struct notice *x, ov_time now)
{
	if (x->effect)
		return STR("being sent");
	if (!notice_channel(p, x))
		return STR("its channel is not configured any more");
	if (now < x->not_before && x->attempts)
		return STR("tried again then");
	if (now < notice_due(p, x, now))
		return STR("quiet hours");
	return STR("others go first");
}

value *view_notice(struct arena *a, const struct world *w, const struct notice *x, ov_time now)
{
	value *v = record_to_value(a, &notice_record, x);
	bool waits = x->status == NOTICE_WAITING;

	value_put(a, v, "due_at",
			waits ? value_time(a, notice_due(w->policy, x, now)) : value_null(a));
	value_put(a, v, "why",
			waits ? value_str(a, why_waiting(w->policy, x, now)) : value_null(a));
	value_put(a, v, "lost", value_bool(a, is_lost(w->state, x, now)));
	return v;
}

value *view_notices(struct arena *a, const struct world *w, str goal, bool all, ov_time now)
{
	value *list = value_array(a);

	for (size_t i = w->state->notices.n; i-- > 0;) {
		const struct notice *x = w->state->notices.p[i];

		if (goal.n && !str_eq(goal, x->goal_id))
			continue;
		if (all || x->status == NOTICE_WAITING || is_lost(w->state, x, now))
			value_push(a, list, view_notice(a, w, x, now));
	}
	return list;
}

value *view_notices_about(struct arena *a, const struct world *w, int64_t escalation, ov_time now)
{
	value *list = value_array(a);

	for (size_t i = 0; i < w->state->notices.n; i++)
		if (w->state->notices.p[i]->escalation == escalation)
			value_push(a, list, view_notice(a, w, w->state->notices.p[i], now));
	return list;
}

value *view_notices_lost(struct arena *a, const struct world *w, ov_time now)
{
	value *list = value_array(a);

	for (size_t i = w->state->notices.n; i-- > 0;)
		if (is_lost(w->state, w->state->notices.p[i], now))
			value_push(a, list, view_notice(a, w, w->state->notices.p[i], now));
	return list;
}
