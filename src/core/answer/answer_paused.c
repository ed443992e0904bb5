/*
 * Answers to what oversight stopped: a goal that was paused goes on, with what a person says about
 * it, or is aborted; one that was aborted is reopened, or given up. A false alarm is judged as one.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/answer/answer.h"
#include "core/decide/check.h"
#include "core/goal/goal.h"
#include "core/inbox/inbox.h"
#include "core/intervene/oversee.h"

static bool is_aborted(const struct goal *g)
{
	return g->status == GOAL_PAUSED && g->health == HEALTH_ABORTED;
}

/* Nobody else lets it go on, and nobody would be asked again. */
static int needs_answer(struct decide_ctx *cx, const struct answer *a, struct ov_err *err)
{
	if (a->text.n)
		return 0;
	ov_fail(err, OV_ESTATE,
			"#%lld cannot be dismissed: %s, and waits for your answer (" STR_FMT
			"); if there was nothing to find, say so",
			(long long)a->x->number, inbox_kind_of(a->x)->why,
			STR_ARG(inbox_words(cx->arena, a->x)));
	return ov_next(err, "overseer inbox dismiss %lld --false-positive",
			(long long)a->x->number);
}

int answer_check_paused(struct decide_ctx *cx, const struct answer *a, struct ov_err *err)
{
	int r = needs_answer(cx, a, err);

	if (r < 0)
		return r;
	if (a->n)
		return a->say == SAY_CANCEL ? accept_check(a->n, err) : 0;
	if (!is_aborted(a->g) || a->say == SAY_ABORT)
		return 0;
	ov_fail(err, OV_ESTATE,
			"goal " STR_FMT " was aborted meanwhile (" STR_FMT
			"): it goes on only when it is reopened",
			STR_ARG(a->g->id), STR_ARG(a->g->status_reason));
	return ov_next(err, "overseer goal reopen " STR_FMT " --reason TEXT", STR_ARG(a->g->id));
}

int answer_check_aborted(struct decide_ctx *cx, const struct answer *a, struct ov_err *err)
{
	int r = needs_answer(cx, a, err);

	return r == 0 && a->say == SAY_CANCEL ? answer_check_cancel(a->g, err) : r;
}

static void tell_node(struct decide_ctx *cx, const struct answer *a, const struct node *n)
{
	struct ev_node_answered *e;

	if (!node_is_leaf(n) || node_is_final(n))
		return;
	e = emit_node_answered(cx, about_node(n));
	e->escalation = a->x->number;
	e->answer = a->text;
}

/* A person's words for the next run of the node in which it was found; else of all that is open. */
static void tell(struct decide_ctx *cx, const struct answer *a)
{
	const struct detection *d = state_detection(a->g, a->x->detection);
	const struct node *n = d && d->node_id.n ? state_node(cx->state, a->g->id, d->node_id)
						 : NULL;

	if (n && node_is_leaf(n) && !node_is_final(n)) {
		tell_node(cx, a, n);
		return;
	}
	for (size_t i = 0; i < a->g->nodes.n; i++)
		tell_node(cx, a, a->g->nodes.p[i]);
}

void answer_paused(struct decide_ctx *cx, const struct answer *a)
{
	const struct pr_goal_resume p = { .goal = a->g->id, .reason = answer_reason(cx, a) };
	value *ignored = NULL;

	if (a->g->status != GOAL_PAUSED)
		return;
	if (a->say == SAY_ABORT) {
		if (!is_aborted(a->g))
			(void)goal_abort(cx, a->g, p.reason);
		return;
	}
	if (a->say != SAY_RESUME)
		tell(cx, a);
	(void)decide_goal_resume(cx, &p, &ignored, NULL);
}

void answer_aborted(struct decide_ctx *cx, const struct answer *a)
{
	value *ignored = NULL;

	if (a->say == SAY_CANCEL) {
		answer_cancel(cx, a);
		return;
	}
	if (!is_aborted(a->g))
		return;
	if (a->say != SAY_REOPEN)
		tell(cx, a);
	(void)decide_goal_reopen(cx,
			&(struct pr_goal_reopen){ .goal = a->g->id,
					.reason = answer_reason(cx, a) },
			&ignored, NULL);
}

void detections_denied(struct decide_ctx *cx, const struct escalation *x, str reason)
{
	const struct goal *g = state_goal(cx->state, x->goal_id);

	for (size_t i = 0; g && i < g->detections.n; i++) {
		const struct detection *d = g->detections.p[i];
		struct ev_detection_judged *e;

		if (d->false_positive ||
				(!str_eq(d->id, x->detection) && d->escalation != x->number))
			continue;
		e = emit_detection_judged(cx,
				(struct subject){ .goal = d->goal_id, .node = d->node_id });
		e->detection = d->id;
		e->effectiveness = EFFECT_UNHELPFUL;
		e->because = reason;
		e->false_positive = true;
	}
}
