/* Entries of the inbox that are asked again: on new evidence, and when the time for it has come. */
#include "base/str.h"
#include "core/decide/alarm.h"
#include "core/decide/emit.h"
#include "core/inbox/notices.h"

/* An open entry, in the state or made by this very batch. */
struct open_entry {
	int64_t number;
	str fingerprint; /* of the newest evidence */
};

static bool is_about(struct subject s, str goal, str node)
{
	return str_eq(s.goal, goal) && str_eq(s.node, node);
}

/* What this batch has said of it: opened, or raised before. */
static void look_in_batch(const struct decide_ctx *cx, struct subject s, enum ask ask,
		struct open_entry *found)
{
	for (size_t i = 0; i < cx->out->n; i++) {
		const struct event *e = cx->out->p[i];
		const struct ev_escalation_opened *opened = e->kind == EV_ESCALATION_OPENED
				? as_escalation_opened(e)
				: NULL;
		const struct ev_escalation_raised *raised = e->kind == EV_ESCALATION_RAISED
				? as_escalation_raised(e)
				: NULL;

		if (opened && is_about(s, e->goal, e->node) &&
				status_parse(&ask_kinds, opened->kind) == (int)ask)
			*found = (struct open_entry){ opened->escalation, opened->fingerprint };
		else if (raised && raised->fingerprint.n && found->number &&
				raised->escalation == found->number)
			found->fingerprint = raised->fingerprint;
	}
}

static struct open_entry find_open(const struct decide_ctx *cx, struct subject s, enum ask ask)
{
	struct open_entry found = { 0 };

	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status == ESC_OPEN && x->ask == ask && is_about(s, x->goal_id, x->node_id) &&
				!escalation_is_closing(cx, x->number))
			found = (struct open_entry){ x->number, x->fingerprint };
	}
	look_in_batch(cx, s, ask, &found);
	return found;
}

static struct ev_escalation_raised *raise(struct decide_ctx *cx, struct subject s, int64_t number,
		str question, str reason)
{
	struct ev_escalation_raised *e = emit_escalation_raised(cx, s);

	e->escalation = number;
	e->question = question;
	e->reason = reason;
	return e;
}

int64_t escalation_again(struct decide_ctx *cx, struct subject s, const struct escalation_spec *x)
{
	struct open_entry found = find_open(cx, s, x->ask);
	struct ev_escalation_raised *e;

	if (!found.number || str_eq(found.fingerprint, x->fingerprint))
		return found.number;
	e = raise(cx, s, found.number, x->question, x->question);
	e->fingerprint = x->fingerprint;
	e->detection = x->detection;
	return found.number;
}

void tick_raise(struct decide_ctx *cx, const struct decision *d)
{
	const struct escalation *x = d->escalation;

	/* The same tick saw that nobody is needed any more. */
	if (escalation_is_closing(cx, x->number))
		return;
	(void)raise(cx, (struct subject){ .goal = x->goal_id, .node = x->node_id }, x->number,
			x->question, d->why);
	alarm_again(cx, x);
}
