#include "core/decide/ask.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/decide/alarm.h"
#include "core/inbox/inbox.h"
#include "core/policy/quiet_hours.h"

/* Several may be opened by one batch; the state knows only those that were applied. */
static int64_t escalation_number(const struct decide_ctx *cx)
{
	for (size_t i = cx->out->n; i-- > 0;)
		if (cx->out->p[i]->kind == EV_ESCALATION_OPENED)
			return as_escalation_opened(cx->out->p[i])->escalation + 1;
	return cx->state->next_escalation;
}

int64_t escalate_about(struct decide_ctx *cx, struct subject s, const struct escalation_spec *x)
{
	int64_t number = x->fingerprint.n ? escalation_again(cx, s, x) : 0;
	struct ev_escalation_opened *e;
	ov_time quiet = quiet_until(cx->policy, cx->now);

	if (number)
		return number;
	number = escalation_number(cx);
	e = emit_escalation_opened(cx, s);
	e->escalation = number;
	e->kind = str_from(status_name(&ask_kinds, (int)x->ask));
	e->question = x->question;
	e->options = x->options.n
			? x->options
			: inbox_options(cx->arena, inbox_kind_for(x->ask, s.node.n > 0)->offers);
	if (x->default_answer.n && x->expires_at) {
		e->default_answer = x->default_answer;
		e->expires_at_ms = x->expires_at;
	}
	e->notify_at_ms = quiet;
	e->episode = x->episode;
	e->detection = x->detection;
	e->fingerprint = x->fingerprint;
	alarm_opened(cx, s, number, x);
	return number;
}

void escalate(struct decide_ctx *cx, const struct node *n, enum ask ask, str question)
{
	escalate_about(cx, about_node(n),
			&(struct escalation_spec){ .ask = ask, .question = question });
}

/* By an event of this very batch, which the state does not know yet. */
bool escalation_is_closing(const struct decide_ctx *cx, int64_t number)
{
	for (size_t i = 0; i < cx->out->n; i++)
		if (cx->out->p[i]->kind == EV_ESCALATION_CLOSED &&
				as_escalation_closed(cx->out->p[i])->escalation == number)
			return true;
	return false;
}

void escalation_close(struct decide_ctx *cx, const struct escalation *x, enum esc_status status,
		str answer)
{
	struct ev_escalation_closed *e;

	if (escalation_is_closing(cx, x->number))
		return;
	e = emit_escalation_closed(cx,
			(struct subject){ .goal = x->goal_id,
					.node = x->node_id,
					.assignment = x->assignment_id });
	e->escalation = x->number;
	e->status = status;
	e->answer = answer;
}

void close_escalations(struct decide_ctx *cx, const struct node *n, enum esc_status status,
		str answer)
{
	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status == ESC_OPEN && str_eq(x->goal_id, n->goal->id) &&
				str_eq(x->node_id, n->id))
			escalation_close(cx, x, status, answer);
	}
}
