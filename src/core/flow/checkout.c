/*
 * Finished work that waits for the user's checkout: the same files have uncommitted changes there,
 * or something of the user's is unfinished. It waits as long as that lasts, is tried again when the
 * checkout changes and every accept.dirty_wait, and a person is told once per wait.
 */
#include "core/flow/checkout.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/capacity/accept_queue.h"
#include "core/decide/ask.h"
#include "core/decide/move.h"
#include "core/flow/target.h"
#include "core/inbox/inbox.h"

enum { FILES_NAMED = 5, NAME_BYTES = 120 };

/* "your a, b and 3 more have uncommitted changes in the same files". */
static str files_text(struct decide_ctx *cx, struct texts files, int64_t total)
{
	int64_t named = MIN((int64_t)files.n, (int64_t)FILES_NAMED);
	str list = STR("");

	for (int64_t i = 0; i < named; i++) {
		str name = files.p[i];
		bool last = i > 0 && i == named - 1 && total == named;

		if (name.n > NAME_BYTES)
			name = arena_printf(cx->arena, STR_FMT "...",
					STR_ARG(utf8_truncate(name, NAME_BYTES)));
		list = arena_printf(cx->arena, STR_FMT "%s" STR_FMT, STR_ARG(list),
				last                ? " and "
						: i ? ", "
						    : "",
				STR_ARG(name));
	}
	if (total > named)
		list = arena_printf(cx->arena, STR_FMT " and %lld more", STR_ARG(list),
				(long long)(total - named));
	return arena_printf(cx->arena, "your " STR_FMT " %s", STR_ARG(list),
			total == 1 ? "has uncommitted changes in the same file"
				   : "have uncommitted changes in the same files");
}

static void put_wait(struct decide_ctx *cx, enum waiting waiting, ov_time since)
{
	struct ev_assignment_moved *e = emitted_assignment_moved(cx, cx->out->n - 1);

	e->waiting = str_from(status_name(&waitings, (int)waiting));
	MAYBE_SET(e, waiting_since_ms, since);
}

/* What it waited for before this attempt; a wait that goes on through its rebase is one for all. */
static enum waiting waited_for(const struct assignment *as)
{
	return as->waiting == WAITING_NONE && as->waiting_since ? WAITING_CHECKOUT : as->waiting;
}

void checkout_wait(struct decide_ctx *cx, const struct outcome *o, enum stage stage)
{
	const struct assignment *as = o->as;
	const struct worker *w = state_worker(cx->state, as->worker);
	struct texts files = o->git->files;
	bool named = files.n > 0;
	/*
	 * What something else did to the branch is in the checkout as if it were the user's:
	 * for all work.
	 */
	int64_t dispute = named ? target_dispute(cx) : 0;
	enum waiting before = waited_for(as),
		     waiting = named && !dispute ? WAITING_FILES : WAITING_CHECKOUT;
	str reason = dispute ? target_dispute_words(cx, dispute)
			: named
			? files_text(cx, files, MAX(o->git->files_changed, (int64_t)files.n))
			: o->detail.n ? o->detail
				      : STR("your checkout of the target branch is in the way");

	/* That is another matter than a person was told of. */
	if (before != WAITING_NONE && before != waiting)
		checkout_settled(cx, as);
	flow_move(cx, as, stage, flow_wait(cx->policy, CAUSE_DIRTY, 1), reason, STR(""), NULL);
	put_wait(cx, waiting, before == waiting ? as->waiting_since : cx->now);
	if (stage == STAGE_REBASE && w && str_eq(w->assignment_id, as->id))
		worker_to(cx, w, WORKER_NEEDS_REVIEW, reason);
}

/* The wait before the next attempt is over. */
static void again(struct decide_ctx *cx, const struct assignment *as, ov_time since)
{
	assignment_move(cx, as, as->status, as->stage, as->reason);
	put_wait(cx, as->waiting, since);
}

/* The user's checkout has changed, or nobody watched it: everything that waits for it is due. */
int decide_checkout_report(struct decide_ctx *cx, const struct msg_checkout_report *p,
		value **ret_result, struct ov_err *err)
{
	(void)p, (void)ret_result, (void)err;
	list_each (it, &cx->state->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (as->waiting != WAITING_NONE && !as->effect && as->not_before > cx->now)
			again(cx, as, as->waiting_since);
	}
	return 0;
}

void checkout_is_free(struct decide_ctx *cx, const struct assignment *but)
{
	list_each (it, &cx->state->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (as != but && as->waiting == WAITING_CHECKOUT && !as->effect)
			again(cx, as, cx->now);
	}
}

void checkout_answered(struct decide_ctx *cx, const struct node *n)
{
	const struct assignment *as = n ? n->assignment : NULL;

	if (!as || as->waiting == WAITING_NONE)
		return;
	if (!as->effect)
		again(cx, as, cx->now);
	if (as->waiting == WAITING_CHECKOUT)
		checkout_is_free(cx, as);
}

void checkout_settled(struct decide_ctx *cx, const struct assignment *as)
{
	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status == ESC_OPEN && x->ask == ASK_CHECKOUT &&
				str_eq(x->assignment_id, as->id))
			escalation_close(cx, x, ESC_DISMISSED,
					STR("nothing in your checkout is in its way any more"));
	}
}

void checkout_goes_on(struct decide_ctx *cx, const struct assignment *as, size_t at)
{
	if (as->waiting == WAITING_FILES)
		checkout_settled(cx, as);
	else if (as->waiting_since)
		MAYBE_SET(emitted_assignment_moved(cx, at), waiting_since_ms, as->waiting_since);
}

/* The same tick has told of it for another that waits. */
static bool told_just_now(const struct decide_ctx *cx, const struct assignment *as)
{
	for (size_t i = 0; as->waiting == WAITING_CHECKOUT && i < cx->out->n; i++) {
		const struct event *e = cx->out->p[i];
		const struct assignment *other = e->kind == EV_ESCALATION_OPENED &&
						status_parse(&ask_kinds,
								as_escalation_opened(e)->kind) ==
								ASK_CHECKOUT
				? state_assignment(cx->state, e->assignment)
				: NULL;

		if (other && other->waiting == WAITING_CHECKOUT)
			return true;
	}
	return false;
}

void tick_checkout(struct decide_ctx *cx, const struct decision *d)
{
	const struct assignment *as = d->assignment;
	const char *advice = target_dispute(cx)
			? "It is accepted automatically once the branch is moved back, or kept and "
			  "your checkout updated. Next: overseer inbox"
			: "It is accepted by itself as soon as that is committed, stashed or "
			  "undone. Next: git status";

	if (told_just_now(cx, as))
		return;
	escalate_about(cx, about_assignment(as),
			&(struct escalation_spec){ .ask = ASK_CHECKOUT,
					.question = arena_printf(cx->arena,
							"the finished work on \"" STR_FMT
							"\" waits: " STR_FMT ". %s",
							STR_ARG(as->node->def.name),
							STR_ARG(as->reason), advice) });
}
