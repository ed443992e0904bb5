/*
 * From good work to the target branch: rebase, gate, accept, post_accept, revert. What goes wrong
 * before the target has moved lets go of the turn and is tried again, or goes back to the agent.
 * After that the change is there, and stays there unless it is taken back by a commit of its own.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/accept_queue.h"
#include "core/capacity/auto_mode.h"
#include "core/decide/ask.h"
#include "core/decide/move.h"
#include "core/flow/auto.h"
#include "core/flow/checkout.h"
#include "core/flow/flow.h"
#include "core/flow/review.h"
#include "core/inbox/inbox.h"
#include "core/prompt/prompt.h"
#include "core/state/state.h"
#include "core/work/standing.h"

static const struct worker *worker_of(const struct decide_ctx *cx, const struct assignment *as)
{
	return state_worker(cx->state, as->worker);
}

static bool is_automatic(const struct node *n)
{
	return str_is(n->goal->standing, STANDING_AUTO);
}

void accept_begin(struct decide_ctx *cx, const struct assignment *as, enum verification verdict,
		str detail, const struct out_command *evidence)
{
	run_verified(cx, as, verdict, detail, evidence);
	if (review_begin(cx, as, verdict == VERIFY_PASSED ? CHECK_SAID_GOOD : CHECK_SAID_NOTHING,
			    STR("")))
		return;
	assignment_move(cx, as, as->status, STAGE_REBASE, detail);
	worker_to(cx, worker_of(cx, as), WORKER_NEEDS_REVIEW,
			STR("its work waits for its turn to be accepted"));
}

void accept_refuse(struct decide_ctx *cx, const struct assignment *as, str why)
{
	run_verified(cx, as, VERIFY_REFUSED, arena_printf(cx->arena, STR_FMT ".", STR_ARG(why)),
			NULL);
	flow_fail(cx, as, CAUSE_CHECK,
			arena_printf(cx->arena, "the work was refused: " STR_FMT, STR_ARG(why)),
			prompt_refused(cx->arena, why));
}

/* ---- before the target has moved ---- */

static void step_failed(struct decide_ctx *cx, const struct outcome *o)
{
	static const struct {
		enum effect_outcome outcome;
		enum cause cause;
		const char *detail;
	} failures[] = {
		{ ENDED_CONFLICT, CAUSE_CONFLICT, "the work conflicts with the target branch" },
		{ ENDED_MOVED, CAUSE_MOVED, "the target branch moved meanwhile" },
		{ ENDED_NO_CHANGES, CAUSE_NO_CHANGES,
				"the work changes nothing on the target branch" },
		{ ENDED_REFUSED, CAUSE_CHECK, "the work cannot be accepted" },
	};
	str target = cx->policy->target_branch, feedback = STR("");

	if (o->is == ENDED_DIRTY) {
		checkout_wait(cx, o, STAGE_REBASE);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
		if (o->is != failures[i].outcome)
			continue;
		if (failures[i].cause == CAUSE_CONFLICT)
			feedback = prompt_conflict(cx->arena, target, o->detail);
		else if (failures[i].cause == CAUSE_NO_CHANGES)
			feedback = prompt_no_effect(cx->arena, target);
		else if (failures[i].cause == CAUSE_CHECK)
			feedback = prompt_refused(cx->arena, o->detail);
		flow_fail(cx, o->as, failures[i].cause,
				arena_printf(cx->arena, "%s%s" STR_FMT, failures[i].detail,
						o->detail.n ? ": " : "", STR_ARG(o->detail)),
				feedback);
		return;
	}
	flow_fail(cx, o->as, CAUSE_ACCEPT, o->detail, STR(""));
}

static void finish(struct decide_ctx *cx, const struct assignment *as, str commit)
{
	assignment_move(cx, as, AS_DONE, STAGE_NONE, STR("accepted"));
	node_to(cx, as->node, NODE_DONE,
			arena_printf(cx->arena, "accepted as " STR_FMT,
					STR_ARG(str_sub(commit, 0, 12))));
	close_escalations(cx, as->node, ESC_DISMISSED, STR("its work was accepted"));
	worker_to(cx, worker_of(cx, as), WORKER_IDLE, STR("its work was accepted"));
}

void accept_go_on(struct decide_ctx *cx, const struct assignment *as)
{
	finish(cx, as, as->node->work.commit);
}

/*
 * The change is on the target: who waits for the node still waits for the command that comes after.
 */
static void accepted(struct decide_ctx *cx, const struct outcome *o)
{
	const struct assignment *as = o->as;
	str commit = o->git->commit;
	struct ev_node_accepted *e = emit_node_accepted(cx, about_assignment(as));

	e->commit = commit;
	e->target = o->git->target;
	e->checked_by = accept_checked_by(as);
	e->rescue_ref = o->git->rescue_ref;
	checkout_is_free(cx, as);
	if (flow_winding_down(as)) {
		flow_release(cx, as);
	} else if (policy_accept(cx->policy, as->node->goal).post.n) {
		close_escalations(cx, as->node, ESC_DISMISSED, STR("its work was accepted"));
		assignment_move(cx, as, as->status, STAGE_POST,
				o->detail.n ? o->detail
					    : STR("its change is on the target branch; now comes "
						  "the post_accept command"));
	} else {
		finish(cx, as, commit);
	}
}

void rebase_ended(struct decide_ctx *cx, const struct outcome *o)
{
	bool gate = policy_accept(cx->policy, o->as->node->goal).pre.n > 0;
	size_t at;

	if (flow_winding_down(o->as) || (!o->ok && o->is != ENDED_DIRTY))
		checkout_settled(cx, o->as);
	/* An accept of before, whose outcome nobody heard of. */
	if (o->is == ENDED_ALREADY) {
		accepted(cx, o);
		return;
	}
	if (flow_winding_down(o->as)) {
		flow_release(cx, o->as);
		return;
	}
	if (!o->ok) {
		step_failed(cx, o);
		return;
	}
	at = cx->out->n;
	if (gate || !review_overlooked(cx, o->as)) {
		assignment_move(cx, o->as, o->as->status, gate ? STAGE_GATE : STAGE_ACCEPT,
				STR("rebased onto the target branch"));
		MAYBE_SET(emitted_assignment_moved(cx, at), candidate, o->git->commit);
		checkout_goes_on(cx, o->as, at);
	} else {
		checkout_settled(cx, o->as);
	}
	if (o->git->base.n)
		MAYBE_SET(emitted_assignment_moved(cx, at), base, o->git->base);
}

/*
 * Nobody's turn comes before a person has said what is to be done. Auto mode waits for that, too,
 * or ends, where the configuration says that it is to.
 */
static void ask(struct decide_ctx *cx, const struct assignment *as, enum ask kind, str question)
{
	struct accept_commands c = policy_accept(cx->policy, as->node->goal);
	bool pre = kind == ASK_PRE;
	int64_t entry = escalate_about(cx, about_assignment(as),
			&(struct escalation_spec){ .ask = kind, .question = question });

	if (!is_automatic(as->node))
		return;
	if (pre ? c.pre_on_failure == PRE_FAIL : c.post_on_failure == POST_FAIL)
		auto_fail(cx,
				(struct msg_daemon_fail){ .text = question,
						.worker = as->worker,
						.command = pre ? c.pre : c.post });
	else
		auto_pause(cx, PAUSE_ACCEPT, question, entry);
}

static void ask_pre(struct decide_ctx *cx, const struct assignment *as, str feedback, str detail)
{
	flow_move(cx, as, STAGE_GATE, 0, STR("the pre_accept command failed; a person is asked"),
			feedback, NULL);
	ask(cx, as, ASK_PRE,
			arena_printf(cx->arena,
					"nothing more is accepted: the pre_accept command failed "
					"on the work of " STR_FMT " (" STR_FMT "). " STR_FMT,
					STR_ARG(as->node->key), STR_ARG(as->node->def.name),
					STR_ARG(detail)));
}

static bool pre_asks(enum pre_failure how)
{
	return how == PRE_FAIL || how == PRE_PAUSE;
}

void gate_ended(struct decide_ctx *cx, const struct outcome *o)
{
	const struct assignment *as = o->as;
	str feedback = prompt_gate(cx->arena, cx->policy->target_branch, o->detail);
	size_t at = cx->out->n;

	if (!o->ok || flow_winding_down(as))
		checkout_settled(cx, as);
	if (flow_winding_down(as)) {
		flow_release(cx, as);
	} else if (o->ok) {
		assignment_move(cx, as, as->status, STAGE_ACCEPT,
				STR("the pre_accept command passed"));
		checkout_goes_on(cx, as, at);
	} else if (o->is == ENDED_ERROR) {
		/* We could not run it: that says nothing about the work. */
		flow_fail(cx, as, CAUSE_ACCEPT, o->detail, STR(""));
	} else if (pre_asks(policy_accept(cx->policy, as->node->goal).pre_on_failure)) {
		ask_pre(cx, as, feedback, o->detail);
	} else {
		flow_fail(cx, as, CAUSE_GATE,
				arena_printf(cx->arena, "the pre_accept command failed: " STR_FMT,
						STR_ARG(o->detail)),
				feedback);
	}
}

void accept_ended(struct decide_ctx *cx, const struct outcome *o)
{
	/* Before it finds that the target has moved it does not look at the checkout. */
	if (flow_winding_down(o->as) || (!o->ok && o->is != ENDED_DIRTY && o->is != ENDED_MOVED))
		checkout_settled(cx, o->as);
	if (o->ok)
		accepted(cx, o);
	else if (flow_winding_down(o->as))
		flow_release(cx, o->as);
	else
		step_failed(cx, o);
}

/* ---- after it ---- */

static void ask_post(struct decide_ctx *cx, const struct assignment *as, const char *what,
		str detail)
{
	ask(cx, as, ASK_POST,
			arena_printf(cx->arena,
					"nothing more is accepted: %s; the change of " STR_FMT
					" (" STR_FMT ") is commit " STR_FMT " on " STR_FMT
					". " STR_FMT,
					what, STR_ARG(as->node->key), STR_ARG(as->node->def.name),
					STR_ARG(str_sub(as->node->work.commit, 0, 12)),
					STR_ARG(cx->policy->target_branch), STR_ARG(detail)));
}

static void warn_post(struct decide_ctx *cx, const struct assignment *as, str detail)
{
	escalate_about(cx, about_node(as->node),
			&(struct escalation_spec){ .ask = ASK_POST_WARNING,
					.question = arena_printf(cx->arena,
							"the post_accept command failed after the "
							"change of " STR_FMT " (" STR_FMT
							") was accepted as " STR_FMT ". " STR_FMT,
							STR_ARG(as->node->key),
							STR_ARG(as->node->def.name),
							STR_ARG(str_sub(as->node->work.commit, 0,
									12)),
							STR_ARG(detail)) });
}

void accept_take_back(struct decide_ctx *cx, const struct assignment *as, str feedback)
{
	flow_move(cx, as, STAGE_REVERT, 0, STR("its change is taken back from the target branch"),
			feedback, NULL);
}

static void post_failed(struct decide_ctx *cx, const struct outcome *o)
{
	const struct assignment *as = o->as;
	str feedback = prompt_post(cx->arena, cx->policy->target_branch, o->detail);

	switch (policy_accept(cx->policy, as->node->goal).post_on_failure) {
	case POST_WARN:
		warn_post(cx, as, o->detail);
		accept_go_on(cx, as);
		return;
	case POST_REVERT: accept_take_back(cx, as, feedback); return;
	case POST_FAIL:
	case POST_PAUSE:
	case POST_AS_ACCEPT:
		flow_move(cx, as, STAGE_POST, 0,
				STR("the post_accept command failed; a person is asked"), feedback,
				NULL);
		ask_post(cx, as, "the post_accept command failed", o->detail);
		return;
	}
}

/* Tried again where it stands, after the wait of the cause; false: that was done often enough. */
static bool again(struct decide_ctx *cx, const struct outcome *o, enum cause cause)
{
	int64_t count = flow_count(cx, o->as, cause, o->detail);

	if (count >= flow_max(cx->policy, cause))
		return false;
	flow_move(cx, o->as, o->as->stage, flow_wait(cx->policy, cause, count), o->detail, STR(""),
			NULL);
	return true;
}

void post_ended(struct decide_ctx *cx, const struct outcome *o)
{
	const struct assignment *as = o->as;

	if (flow_winding_down(as)) {
		if (!o->ok)
			warn_post(cx, as, o->detail);
		flow_release(cx, as);
	} else if (o->ok) {
		accept_go_on(cx, as);
	} else if (o->is != ENDED_ERROR) {
		post_failed(cx, o);
	} else if (!again(cx, o, CAUSE_ACCEPT)) {
		ask_post(cx, as, "the post_accept command could not be run", o->detail);
	}
}

static void reverted(struct decide_ctx *cx, const struct outcome *o)
{
	const struct assignment *as = o->as;
	str reason = arena_printf(cx->arena, "its change was taken back: " STR_FMT,
			STR_ARG(as->feedback));
	struct ev_node_reverted *e = emit_node_reverted(cx, about_assignment(as));
	int64_t count;

	e->commit = as->node->work.commit;
	e->by = o->git->commit;
	e->reason = reason;
	/*
	 * Its own commits, not the one that was taken back: that one's changes would count
	 * as known.
	 */
	if (as->head.n)
		e->handover = as->head;
	if (as->feedback.n)
		e->feedback = as->feedback;
	if (flow_winding_down(as)) {
		flow_release(cx, as);
		return;
	}
	count = flow_count(cx, as, CAUSE_POST, reason);
	if (count < flow_max(cx->policy, CAUSE_POST)) {
		assignment_move(cx, as, AS_CANCELLED, STAGE_NONE,
				STR("its change was taken back from the target branch"));
		node_to(cx, as->node, NODE_QUEUED, reason);
	} else {
		assignment_move(cx, as, AS_BLOCKED, STAGE_NONE, reason);
		node_block_as(cx, as->node, BLOCK_FAILED, reason, STR("overseer"),
				STR("a person unblocks it or declares it done"), 0);
		escalate(cx, as->node, ASK_REVERTED, reason);
	}
	worker_to(cx, worker_of(cx, as), WORKER_IDLE, STR("its change was taken back"));
}

void revert_ended(struct decide_ctx *cx, const struct outcome *o)
{
	if (o->is != ENDED_DIRTY)
		checkout_settled(cx, o->as);
	if (o->ok || o->is == ENDED_NO_CHANGES)
		reverted(cx, o);
	else if (flow_winding_down(o->as))
		flow_release(cx, o->as);
	else if (o->is == ENDED_DIRTY)
		checkout_wait(cx, o, STAGE_REVERT);
	else if (o->is != ENDED_MOVED || !again(cx, o, CAUSE_MOVED))
		ask_post(cx, o->as, "the change could not be taken back", o->detail);
}
