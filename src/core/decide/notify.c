/* The attempts to tell people outside, and what came of them. */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/decide/alarm.h"
#include "core/decide/check.h"
#include "core/decide/move.h"
#include "core/model/limits.h"

static struct subject about_notice(const struct notice *x)
{
	return (struct subject){ .goal = x->goal_id, .node = x->node_id };
}

/* What came of an attempt, or of none. */
struct tried {
	enum notice_status status;
	int64_t attempts;
	str ref, error;
	ov_time not_before;
};

static void emit_tried(struct decide_ctx *cx, const struct notice *x, const struct tried *t)
{
	struct ev_notice_tried *e = emit_notice_tried(cx, about_notice(x));

	e->notice = x->id;
	e->channel = x->channel;
	e->status = str_from(status_name(&notice_statuses, (int)t->status));
	e->attempts = t->attempts;
	if (t->ref.n)
		e->ref = t->ref;
	if (t->error.n)
		e->error = t->error;
	if (t->not_before)
		e->not_before_ms = t->not_before;
}

static void withdraw(struct decide_ctx *cx, const struct notice *x)
{
	struct ev_notice_withdrawn *e = emit_notice_withdrawn(cx, about_notice(x));

	e->notice = x->id;
	e->channel = x->channel;
	e->reason = arena_printf(cx->arena, "#%lld in the inbox is settled, or put off",
			(long long)x->escalation);
}

void tick_notify(struct decide_ctx *cx, const struct decision *d)
{
	const struct notice *x = d->notice;
	struct ev_effect_intended *e;

	if (notice_is_needless(cx->state, x) || escalation_is_closing(cx, x->escalation)) {
		withdraw(cx, x);
	} else if (!notice_channel(cx->policy, x)) {
		emit_tried(cx, x,
				&(struct tried){ .status = NOTICE_FAILED,
						.attempts = x->attempts,
						.error = STR("this channel is not configured any "
							     "more") });
	} else {
		e = effect_intend(cx, FX_NOTIFY, make_id(cx, "X_"), (struct subject){ 0 });
		MAYBE_SET(e, purpose, x->id);
	}
}

/* The other side may ask for more time than we would give it, but not for ever. */
static ov_time next_attempt(const struct decide_ctx *cx, const struct notice *x, int64_t attempts,
		ov_time asked)
{
	ov_time wait = notice_backoff(cx->policy, attempts);
	struct notice next = { .urgency = x->urgency };

	next.not_before = cx->now + MAX(wait, MIN(asked, OV_DAY));
	return notice_due(cx->policy, &next, cx->now);
}

void notify_ended(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o)
{
	const struct notice *x = state_notice(cx->state, fx->purpose);
	struct tried t = { .status = NOTICE_SENT };

	if (!x || x->status != NOTICE_WAITING)
		return;
	t.attempts = x->attempts + 1;
	if (o->ok) {
		t.ref = utf8_truncate(o->notify->ref, LIMIT_NOTE);
	} else {
		t.error = o->detail.n ? o->detail : STR("it was not sent");
		t.status = NOTICE_FAILED;
		if (!o->notify->permanent && t.attempts < cx->policy->notice_attempts) {
			t.status = NOTICE_WAITING;
			t.not_before = next_attempt(cx, x, t.attempts, o->notify->retry_after_ms);
		}
	}
	emit_tried(cx, x, &t);
}

int decide_notice_retry(struct decide_ctx *cx, const struct pr_notice_retry *p, value **ret_result,
		struct ov_err *err)
{
	str reason = str_trim(p->reason);
	struct notice *x, now;
	struct ev_notice_retried *e;
	int r = state_find_notice(cx->state, p->notice, &x, err);

	if (r == 0)
		r = text_check(STR("reason"), reason, LIMIT_NOTE, err);
	if (r == 0 && x->status != NOTICE_WAITING)
		r = status_check(&notice_statuses, x->id, (int)x->status, NOTICE_WAITING, true,
				err);
	if (r == 0 && x->effect)
		r = ov_fail(err, OV_ESTATE, "notice " STR_FMT " is being sent right now",
				STR_ARG(x->id));
	if (r == 0 && notice_is_needless(cx->state, x))
		r = ov_fail(err, OV_ESTATE,
				"notice " STR_FMT
				" is about #%lld in the inbox, which is settled or put off: nobody "
				"needs to hear of it now",
				STR_ARG(x->id), (long long)x->escalation);
	if (r < 0)
		return r;
	e = emit_notice_retried(cx, about_notice(x));
	e->notice = x->id;
	e->channel = x->channel;
	e->reason = reason.n ? reason : STR("no reason was given");
	*ret_result = value_object(cx->arena);
	value_put(cx->arena, *ret_result, "notice",
			value_str(cx->arena, arena_str(cx->arena, x->id)));
	value_put(cx->arena, *ret_result, "channel",
			value_str(cx->arena, arena_str(cx->arena, x->channel)));
	now = *x;
	now.not_before = cx->now;
	value_put(cx->arena, *ret_result, "due_at",
			value_time(cx->arena, notice_due(cx->policy, &now, cx->now)));
	return 0;
}
