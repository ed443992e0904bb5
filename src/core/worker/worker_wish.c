/* Workers that a person wants reset or removed: the wish, the way there, and what came of it. */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/accept_queue.h"
#include "core/capacity/free_worker.h"
#include "core/decide/ask.h"
#include "core/decide/check.h"
#include "core/decide/move.h"
#include "core/model/limits.h"
#include "core/work/standing.h"
#include "core/work/work.h"
#include "core/worker/worker.h"

static void emit_wanted(struct decide_ctx *cx, const struct worker *w, str wanted, str reason,
		str rescue_ref)
{
	struct ev_worker_wanted *e = emit_worker_wanted(cx, (struct subject){ 0 });

	e->worker = w->name;
	e->wanted = wanted;
	e->reason = reason;
	if (rescue_ref.n)
		e->rescue_ref = rescue_ref;
}

/*
 * Its task lets go of it. What a person gave to this very worker waits for that person; any other
 * one is done anew by whoever is free, from what was made so far.
 */
static void settle(struct decide_ctx *cx, const struct worker *w, str wanted)
{
	const struct assignment *as = state_assignment(cx->state, w->assignment_id);
	str reason = arena_printf(cx->arena, "worker " STR_FMT " is to be %s", STR_ARG(w->name),
			str_is(wanted, "nuke") ? "removed" : "reset");
	const struct node *n = as->node;

	/* It goes on waiting, without a worker. */
	if (as->stage == STAGE_WAITING) {
		assignment_give_back(cx, as, reason);
		return;
	}
	if (n->next.worker.n) {
		work_block(cx, n, BLOCK_PERSON, reason, STR(""));
		return;
	}
	if (n->status == NODE_IN_PROGRESS)
		node_to(cx, n, NODE_QUEUED, reason);
	assignment_wind_down(cx, as, AS_CANCELLED, reason);
	work_settled(cx, n, reason);
}

/* Nobody else may do what was given to it alone and has not begun. */
static void block_waiting(struct decide_ctx *cx, const struct worker *w, const struct list *list)
{
	list_each (it, list) {
		const struct node *n = list_entry(it, struct node, link);

		if (!n->assignment && str_eq(n->next.worker, w->name))
			work_block(cx, n, BLOCK_PERSON,
					arena_printf(cx->arena,
							"worker " STR_FMT " is to be removed",
							STR_ARG(w->name)),
					arena_printf(cx->arena,
							"there is a worker " STR_FMT " again",
							STR_ARG(w->name)));
	}
}

static void wish(struct decide_ctx *cx, const struct worker *w, str wanted, str reason)
{
	struct worker then = *w;

	if (!str_eq(w->wanted, wanted))
		emit_wanted(cx, w, wanted, reason, STR(""));
	then.wanted = wanted;
	if (worker_next_step(cx->state, &then) == WORKER_STEP_SETTLE)
		settle(cx, w, wanted);
	if (str_is(wanted, "nuke")) {
		block_waiting(cx, w, &cx->state->queued);
		block_waiting(cx, w, &cx->state->ready);
	}
}

static value *wish_result(struct decide_ctx *cx, const struct worker *w, str wanted)
{
	const struct assignment *as = w->assignment_id.n
			? state_assignment(cx->state, w->assignment_id)
			: NULL;
	value *v = worker_result(cx, w, w->status);

	value_put(cx->arena, v, "wanted", value_str(cx->arena, wanted));
	value_put(cx->arena, v, "node",
			as && as->node ? value_str(cx->arena, arena_str(cx->arena, as->node->key))
				       : value_null(cx->arena));
	value_put(cx->arena, v, "accepting",
			value_bool(cx->arena, as && as->node && accept_is_committed(as)));
	return v;
}

/* Of one worker, or of all; the answer lists whom it is about. */
static int decide_wish(struct decide_ctx *cx, const struct pr_worker_reset *p, const char *wanted,
		value **ret_result, struct ov_err *err)
{
	str reason = str_trim(p->reason);
	value *list = value_array(cx->arena);
	struct worker *w = NULL;
	int r = text_check(STR("reason"), reason, LIMIT_NOTE, err);

	if (r == 0 && p->all == (p->worker.n > 0))
		r = ov_fail(err, OV_EINVALID, "name one worker, or all of them");
	if (r == 0 && !p->all)
		r = worker_find(cx, p->worker, &w, err);
	if (r < 0)
		return r;
	if (!reason.n)
		reason = STR("a person asked for it");
	for (size_t i = 0; i < cx->state->workers.n; i++) {
		const struct worker *each = cx->state->workers.p[i];

		if (w && w != each)
			continue;
		value_push(cx->arena, list, wish_result(cx, each, str_from(wanted)));
		wish(cx, each, str_from(wanted), reason);
	}
	*ret_result = value_object(cx->arena);
	value_put(cx->arena, *ret_result, "workers", list);
	return 0;
}

int decide_worker_reset(struct decide_ctx *cx, const struct pr_worker_reset *p, value **ret_result,
		struct ov_err *err)
{
	return decide_wish(cx, p, "reset", ret_result, err);
}

int decide_worker_nuke(struct decide_ctx *cx, const struct pr_worker_nuke *p, value **ret_result,
		struct ov_err *err)
{
	const struct pr_worker_reset all = { .worker = p->worker,
		.all = p->all,
		.reason = p->reason };

	return decide_wish(cx, &all, "nuke", ret_result, err);
}

struct ev_effect_intended *worker_intend(struct decide_ctx *cx, const struct worker *w, str purpose,
		struct subject about)
{
	struct ev_effect_intended *e = effect_intend(cx, FX_WORKER, make_id(cx, "X_"), about);

	MAYBE_SET(e, purpose, purpose);
	e->worker = w->name;
	return e;
}

void tick_worker(struct decide_ctx *cx, const struct decision *d)
{
	const struct worker *w = state_worker(cx->state, d->worker);

	if (worker_next_step(cx->state, w) == WORKER_STEP_SETTLE) {
		settle(cx, w, w->wanted);
		return;
	}
	worker_intend(cx, w, w->wanted, (struct subject){ 0 });
}

/* What was asked about it: the question begins with its name. */
static str question_start(struct decide_ctx *cx, const struct worker *w)
{
	return arena_printf(cx->arena, "worker " STR_FMT ": ", STR_ARG(w->name));
}

static void worker_asked_close(struct decide_ctx *cx, const struct worker *w, str answer)
{
	str start = question_start(cx, w);

	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status == ESC_OPEN && x->ask == ASK_WORKER && str_starts(x->question, start))
			escalation_close(cx, x, ESC_DISMISSED, answer);
	}
}

/* The worker cannot continue, and a person is asked. */
static void worker_failed(struct decide_ctx *cx, const struct worker *w, str reason)
{
	worker_asked_close(cx, w, reason);
	worker_to(cx, w, WORKER_ERROR, reason);
	escalate_about(cx, (struct subject){ 0 },
			&(struct escalation_spec){ .ask = ASK_WORKER,
					.question = arena_printf(cx->arena, STR_FMT STR_FMT,
							STR_ARG(question_start(cx, w)),
							STR_ARG(reason)) });
}

static void wish_ended(struct decide_ctx *cx, const struct worker *w, const struct effect *fx,
		const struct outcome *o)
{
	bool nuke = str_is(fx->purpose, "nuke");
	str ref = o->git->rescue_ref;
	struct ev_worker_removed *e;

	if (!o->ok) {
		if (str_eq(w->wanted, fx->purpose))
			emit_wanted(cx, w, STR(""), o->detail, STR(""));
		worker_failed(cx, w,
				arena_printf(cx->arena, "it could not be %s: " STR_FMT,
						nuke ? "removed" : "reset", STR_ARG(o->detail)));
		return;
	}
	worker_asked_close(cx, w, nuke ? STR("it was removed") : STR("it was reset"));
	if (nuke) {
		/* One in error still holds the task that waits for a person. */
		if (w->assignment_id.n)
			worker_to(cx, w, WORKER_IDLE, STR("it is removed"));
		e = emit_worker_removed(cx, (struct subject){ 0 });
		e->worker = w->name;
		e->reason = str_from("a person asked for it");
		if (ref.n)
			e->rescue_ref = ref;
		return;
	}
	/* Somebody may have asked for its removal meanwhile. */
	if (str_eq(w->wanted, fx->purpose))
		emit_wanted(cx, w, STR(""), STR("it was reset"), ref);
	worker_to(cx, w, WORKER_IDLE, STR("it was reset"));
}

void worker_ended(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o)
{
	static const struct {
		const char *purpose;
		void (*fn)(struct decide_ctx *cx, const struct worker *w, const struct effect *fx,
				const struct outcome *o);
	} rows[] = {
		{ "reset", wish_ended },
		{ "nuke", wish_ended },
		{ "rebase", worker_rebased },
	};
	const struct worker *w = state_worker(cx->state, fx->worker);

	for (size_t i = 0; w && i < ARRAY_LEN(rows); i++)
		if (str_is(fx->purpose, rows[i].purpose))
			rows[i].fn(cx, w, fx, o);
}
