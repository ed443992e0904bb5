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
static void look_in_batch(const struct decide_ctx *cx, struct subject s, const char *kind,
		struct open_entry *found)
{
	for (size_t i = 0; i < cx->out->n; i++) {
		const struct event *e = cx->out->p[i];
		bool opened = e->kind == EV_ESCALATION_OPENED && is_about(s, e->goal, e->node) &&
				str_is(value_str_at(e->data, "kind"), kind),
		     raised = e->kind == EV_ESCALATION_RAISED && found->number &&
				value_int_at(e->data, "escalation") == found->number &&
				value_str_at(e->data, "fingerprint").n;

		if (!opened && !raised)
			continue;
		found->number = value_int_at(e->data, "escalation");
		found->fingerprint = value_str_at(e->data, "fingerprint");
	}
}

static struct open_entry find_open(const struct decide_ctx *cx, struct subject s, const char *kind)
{
	struct open_entry found = { 0 };

	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status == ESC_OPEN && str_is(x->kind, kind) &&
				is_about(s, x->goal_id, x->node_id) &&
				!escalation_is_closing(cx, x->number))
			found = (struct open_entry){ x->number, x->fingerprint };
	}
	look_in_batch(cx, s, kind, &found);
	return found;
}

static struct event *raise(struct decide_ctx *cx, struct subject s, int64_t number, str question,
		str reason)
{
	struct event *e = emit(cx, EV_ESCALATION_RAISED, s);

	ev_int(cx, e, "escalation", number);
	ev_note(cx, e, "question", question);
	ev_note(cx, e, "reason", reason);
	return e;
}

int64_t escalation_again(struct decide_ctx *cx, struct subject s, const struct escalation_spec *x)
{
	struct open_entry found = find_open(cx, s, x->kind);
	struct event *e;

	if (!found.number || str_eq(found.fingerprint, x->fingerprint))
		return found.number;
	e = raise(cx, s, found.number, x->question, x->question);
	ev_str(cx, e, "fingerprint", x->fingerprint);
	if (x->detection.n)
		ev_str(cx, e, "detection", x->detection);
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
