#include "core/decide/ask.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/decide/alarm.h"
#include "core/policy/quiet_hours.h"

/* Several may be opened by one batch; the state knows only those that were applied. */
static int64_t escalation_number(const struct decide_ctx *cx)
{
	for (size_t i = cx->out->n; i-- > 0;)
		if (cx->out->p[i]->kind == EV_ESCALATION_OPENED)
			return value_int_at(cx->out->p[i]->data, "escalation") + 1;
	return cx->state->next_escalation;
}

int64_t escalate_about(struct decide_ctx *cx, struct subject s, const struct escalation_spec *x)
{
	int64_t number = x->fingerprint.n ? escalation_again(cx, s, x) : 0;
	struct event *e;
	value *options = x->options ? value_array(cx->arena) : NULL;
	ov_time quiet = quiet_until(cx->policy, cx->now);

	if (number)
		return number;
	number = escalation_number(cx);
	e = emit(cx, EV_ESCALATION_OPENED, s);
	ev_int(cx, e, "escalation", number);
	ev_cstr(cx, e, "kind", x->kind);
	ev_note(cx, e, "question", x->question);
	for (size_t i = 0; options && x->options[i]; i++)
		value_push(cx->arena, options, value_cstr(cx->arena, x->options[i]));
	if (options)
		value_put(cx->arena, e->data, "options", options);
	if (x->default_answer.n && x->expires_at) {
		ev_note(cx, e, "default_answer", x->default_answer);
		ev_int(cx, e, "expires_at_ms", x->expires_at);
	}
	if (quiet)
		ev_int(cx, e, "notify_at_ms", quiet);
	if (x->episode)
		ev_int(cx, e, "episode", x->episode);
	if (x->detection.n)
		ev_str(cx, e, "detection", x->detection);
	if (x->fingerprint.n)
		ev_str(cx, e, "fingerprint", x->fingerprint);
	alarm_opened(cx, s, number, x);
	return number;
}

void escalate(struct decide_ctx *cx, const struct node *n, const char *kind, str question)
{
	escalate_about(cx, about_node(n),
			&(struct escalation_spec){ .kind = kind, .question = question });
}

/* By an event of this very batch, which the state does not know yet. */
bool escalation_is_closing(const struct decide_ctx *cx, int64_t number)
{
	for (size_t i = 0; i < cx->out->n; i++)
		if (cx->out->p[i]->kind == EV_ESCALATION_CLOSED &&
				value_int_at(cx->out->p[i]->data, "escalation") == number)
			return true;
	return false;
}

void escalation_close(struct decide_ctx *cx, const struct escalation *x, enum esc_status status,
		str answer)
{
	struct event *e;

	if (escalation_is_closing(cx, x->number))
		return;
	e = emit(cx, EV_ESCALATION_CLOSED,
			(struct subject){ .goal = x->goal_id,
					.node = x->node_id,
					.assignment = x->assignment_id });
	ev_int(cx, e, "escalation", x->number);
	ev_cstr(cx, e, "status", status_name(&esc_statuses, (int)status));
	ev_note(cx, e, "answer", answer);
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
