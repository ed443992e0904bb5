/*
 * What people do with entries of the inbox besides answering in words: approve and deny, which
 * stand for an answer of the kind; put off; close without an answer, or as a false alarm.
 */
#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "core/answer/answer.h"
#include "core/decide/check.h"
#include "core/inbox/inbox.h"
#include "core/model/limits.h"
#include "core/work/work.h"

#define SNOOZE_MAX ((ov_time)365 * OV_DAY)

/* The answer that the word stands for. */
static int stands_for(struct decide_ctx *cx, const struct escalation *x, const char *verb,
		enum say say, str reason, str *ret, struct ov_err *err)
{
	if (say == SAY_TEXT) {
		str words = inbox_words(cx->arena, x);

		ov_fail(err, OV_EINVALID,
				"there is nothing to %s in #%lld (" STR_FMT
				"); it can be answered with: " STR_FMT,
				verb, (long long)x->number, STR_ARG(x->kind), STR_ARG(words));
		return ov_next(err, "overseer inbox answer %lld " STR_FMT, (long long)x->number,
				STR_ARG(words));
	}
	if (inbox_needs_why(say) && !reason.n) {
		ov_fail(err, OV_EINVALID, "to %s #%lld a reason is needed: its agent is told", verb,
				(long long)x->number);
		return ov_next(err, "overseer inbox %s %lld --reason TEXT", verb,
				(long long)x->number);
	}
	*ret = inbox_said(cx->arena, say, reason);
	return 0;
}

static int judge(struct decide_ctx *cx, const struct pr_inbox_answer *p, bool approved,
		value **ret_result, struct ov_err *err)
{
	const struct escalation *x;
	size_t before = cx->out->n;
	str text;
	int r = inbox_read(cx, p->number, &x, err);

	if (r == 0)
		r = stands_for(cx, x, approved ? "approve" : "deny",
				approved ? inbox_kind_of(x)->approve : inbox_kind_of(x)->deny,
				str_trim(p->reason), &text, err);
	if (r == 0)
		r = inbox_answer(cx, x, text, p, err);
	if (r == 0)
		*ret_result = inbox_result(cx, x, before);
	return r;
}

int decide_inbox_approve(struct decide_ctx *cx, const struct pr_inbox_approve *p,
		value **ret_result, struct ov_err *err)
{
	const struct pr_inbox_answer said = { .number = p->number, .reason = p->reason };

	return judge(cx, &said, true, ret_result, err);
}

int decide_inbox_deny(struct decide_ctx *cx, const struct pr_inbox_deny *p, value **ret_result,
		struct ov_err *err)
{
	const struct pr_inbox_answer said = { .number = p->number, .reason = p->reason };

	return judge(cx, &said, false, ret_result, err);
}

int decide_inbox_snooze(struct decide_ctx *cx, const struct pr_inbox_snooze *p, value **ret_result,
		struct ov_err *err)
{
	str reason = str_trim(p->reason);
	ov_time wait = p->for_ms;
	const struct escalation *x;
	struct ev_escalation_snoozed *e;
	int r = inbox_read(cx, p->number, &x, err);

	if (r == 0)
		r = text_check(STR("reason"), reason, LIMIT_NOTE, err);
	if (r == 0 && (wait <= 0 || wait > SNOOZE_MAX))
		r = ov_fail(err, OV_EINVALID,
				"it can be put off for some time up to " STR_FMT ", not " STR_FMT,
				STR_ARG(duration_format_short(cx->arena, SNOOZE_MAX)),
				STR_ARG(duration_format_short(cx->arena, wait)));
	if (r < 0)
		return r;
	e = emit_escalation_snoozed(cx, (struct subject){ .goal = x->goal_id, .node = x->node_id });
	e->escalation = x->number;
	e->until_ms = cx->now + wait;
	e->reason = reason.n ? reason : STR("no reason was given");
	*ret_result = inbox_result(cx, x, cx->out->n);
	value_put(cx->arena, *ret_result, "status", value_cstr(cx->arena, "open"));
	value_put(cx->arena, *ret_result, "snoozed_until", value_time(cx->arena, cx->now + wait));
	value_put(cx->arena, *ret_result, "expires_at", value_time(cx->arena, x->expires_at));
	return 0;
}

/* There was nothing to find: what was stopped for it goes on. */
static int false_alarm(struct decide_ctx *cx, const struct escalation *x, str reason,
		struct ov_err *err)
{
	enum say go_on = inbox_kind_of(x)->approve;
	int r = 0;

	if (!x->detection.n) {
		ov_fail(err, OV_EINVALID,
				"#%lld (" STR_FMT ") is no finding of oversight, so that it can be "
				"no false one",
				(long long)x->number, STR_ARG(x->kind));
		return ov_next(err, "overseer inbox show %lld", (long long)x->number);
	}
	if (inbox_kind_of(x)->holds && go_on)
		r = inbox_answer(cx, x, inbox_said(cx->arena, go_on, STR("")),
				&(struct pr_inbox_answer){ .reason = reason }, err);
	else
		inbox_dismiss(cx, x, reason);
	if (r == 0)
		detections_denied(cx, x,
				reason.n ? reason
					 : STR("a person says that there was nothing to find"));
	return r;
}

int decide_inbox_dismiss(struct decide_ctx *cx, const struct pr_inbox_dismiss *p,
		value **ret_result, struct ov_err *err)
{
	str reason = str_trim(p->reason), became;
	const struct escalation *x;
	const struct node *n;
	size_t before = cx->out->n;
	int r = inbox_read(cx, p->number, &x, err);

	if (r == 0)
		r = text_check(STR("reason"), reason, LIMIT_NOTE, err);
	if (r == 0 && p->false_positive) {
		r = false_alarm(cx, x, reason, err);
	} else if (r == 0) {
		r = inbox_check_dismiss(cx, x, err);
		if (r == 0)
			inbox_dismiss(cx, x, reason);
	}
	if (r < 0)
		return r;
	*ret_result = inbox_result(cx, x, before);
	n = x->node_id.n ? state_node(cx->state, x->goal_id, x->node_id) : NULL;
	became = value_str_at(*ret_result, "node_status");
	if (n && (!became.n || str_is(became, "blocked")))
		work_left_blocked(cx, n, *ret_result);
	return 0;
}

void tick_expire(struct decide_ctx *cx, const struct decision *d)
{
	escalation_answer(cx, d->escalation, d->escalation->default_answer, ESC_EXPIRED);
}

static void tell_consequences(struct decide_ctx *cx, const struct event *e, value *ret)
{
	const struct node *n = state_node(cx->state, e->goal, e->node);

	if (n)
		work_consequences(cx, n, as_node_status(e)->to, ret);
}

value *inbox_result(struct decide_ctx *cx, const struct escalation *x, size_t before)
{
	struct arena *a = cx->arena;
	value *v = value_object(a);

	value_put(a, v, "escalation", value_int(a, x->number));
	value_put(a, v, "goal", value_str(a, arena_str(a, x->goal_id)));
	value_put(a, v, "node", value_str(a, arena_str(a, x->node_id)));
	for (size_t i = before; i < cx->out->n; i++) {
		const struct event *e = cx->out->p[i];

		if (e->kind == EV_ESCALATION_CLOSED &&
				as_escalation_closed(e)->escalation == x->number) {
			value_put(a, v, "status",
					value_cstr(a,
							status_name(&esc_statuses,
									(int)as_escalation_closed(e)
											->status)));
			value_put(a, v, "answer", value_str(a, as_escalation_closed(e)->answer));
		} else if (e->kind == EV_NODE_STATUS) {
			value_put(a, v, "node_status",
					value_cstr(a,
							status_name(&node_statuses,
									(int)as_node_status(e)
											->to)));
			tell_consequences(cx, e, v);
		} else if (e->kind == EV_GOAL_STATUS) {
			value_put(a, v, "goal_status",
					value_cstr(a,
							status_name(&goal_statuses,
									(int)as_goal_status(e)
											->to)));
		} else if (e->kind == EV_DISPATCH_INTENDED) {
			value_put(a, v, "dispatch",
					value_str(a, as_dispatch_intended(e)->dispatch));
		}
	}
	return v;
}
