/* Commands about a node's live run that people give: ask it, stop it, start over. */
#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "core/decide/check.h"
#include "core/decide/dispatch.h"
#include "core/decide/emit.h"
#include "core/decide/move.h"
#include "core/life/session.h"
#include "core/model/limits.h"
#include "core/prompt/prompt.h"
#include "core/work/work.h"
#include "data/id/sha256.h"

static bool run_is_live(const struct node *n)
{
	return n->assignment && n->assignment->run && n->assignment->run->status != RUN_ENDED;
}

/* 0, or OV_ESTATE: nobody is at work on the node. */
static int live_check(const struct node *n, struct ov_err *err)
{
	const struct assignment *as = n->assignment;
	/* Told to stop, or settled without it: its node may even have parts by now. */
	bool ending = as &&
			(as->stage == STAGE_STOP || as->stopping || assignment_is_final(as) ||
					as->status == AS_BLOCKED);

	if (run_is_live(n) && !ending)
		return 0;
	if (run_is_live(n))
		ov_fail(err, OV_ESTATE, "run " STR_FMT " of node " STR_FMT " is being stopped",
				STR_ARG(as->run_id), STR_ARG(n->id));
	else
		ov_fail(err, OV_ESTATE, "no run of node " STR_FMT " is alive; next step: %s",
				STR_ARG(n->id), status_name(&stages, as ? (int)as->stage : 0));
	return ov_next(err, "overseer explain " STR_FMT, STR_ARG(n->key));
}

/* Once more, on purpose: this run is stopped, its work kept; the same assignment gets a new one. */
void work_rerun(struct decide_ctx *cx, const struct node *n, str reason)
{
	struct ev_assignment_moved *e = assignment_move(cx, n->assignment, AS_QUEUED, STAGE_STOP,
			reason);

	e->stopping = true;
	MAYBE_SET(e, feedback,
			arena_printf(cx->arena, "A person ended your last run: " STR_FMT,
					STR_ARG(reason)));
	node_to(cx, n, NODE_QUEUED, reason);
	work_settled(cx, n, reason);
}

int decide_work_rerun(struct decide_ctx *cx, const struct pr_work_rerun *p, value **ret_result,
		struct ov_err *err)
{
	struct work w = WORK_OF(p);
	int r = work_read(cx, &w, "rerun", true, err);

	if (r == 0)
		r = live_check(w.n, err);
	if (r < 0)
		return r;
	work_rerun(cx, w.n, w.reason);
	*ret_result = work_result(cx, w.n, NODE_QUEUED);
	value_put(cx->arena, *ret_result, "run",
			value_str(cx->arena, arena_str(cx->arena, w.n->assignment->run_id)));
	return 0;
}

/* The node of a live run that is its newest one; anything older has no say any more. */
static int run_node(struct decide_ctx *cx, const struct run *x, struct node **ret,
		struct ov_err *err)
{
	struct node *n = state_node(cx->state, x->goal_id, x->node_id);
	const struct run *newest = n && n->assignment ? n->assignment->run : NULL;

	if (!n || x->epoch < n->work.epoch || (newest && newest != x)) {
		ov_fail(err, OV_EFENCED,
				"run " STR_FMT " is not the newest of node " STR_FMT
				" (its epoch is %lld, the node's %lld)",
				STR_ARG(x->id), STR_ARG(x->node_id), (long long)x->epoch,
				(long long)(n ? n->work.epoch : 0));
		return ov_next(err, "overseer run list --node " STR_FMT "/" STR_FMT,
				STR_ARG(x->goal_id), STR_ARG(x->node_id));
	}
	if (x->status == RUN_ENDED || !newest) {
		ov_fail(err, OV_ESTATE, "run " STR_FMT " has ended already", STR_ARG(x->id));
		return ov_next(err, "overseer run show " STR_FMT, STR_ARG(x->id));
	}
	*ret = n;
	return 0;
}

int decide_run_stop(struct decide_ctx *cx, const struct pr_run_stop *p, value **ret_result,
		struct ov_err *err)
{
	str reason = str_trim(p->reason);
	struct node *n;
	struct run *x;
	int r = state_find_run(cx->state, p->run, &x, err);

	if (r == 0)
		r = text_check(STR("reason"), reason, LIMIT_NOTE, err);
	if (r < 0)
		return r;
	if (reason.n == 0)
		reason = asked_by(cx);
	r = run_node(cx, x, &n, err);
	if (r == 0)
		r = live_check(n, err);
	if (r == 0)
		r = work_check(cx, "block", n, err);
	if (r < 0)
		return r;
	work_block(cx, n, BLOCK_PAUSED, reason,
			arena_printf(cx->arena, "overseer work unblock " STR_FMT " --reason TEXT",
					STR_ARG(n->key)));
	*ret_result = work_result(cx, n, NODE_BLOCKED);
	value_put(cx->arena, *ret_result, "run", value_str(cx->arena, arena_str(cx->arena, x->id)));
	return 0;
}

static const char *run_busy(const struct node *n)
{
	const struct assignment *as = n->assignment;

	if (as->effect || as->stage != STAGE_RUNNING || as->run->status != RUN_RUNNING)
		return "something else is being done about its run right now";
	return NULL;
}

const char *run_deaf(const struct decide_ctx *cx, const struct node *n)
{
	if (!run_is_live(n))
		return "no run of it is alive";
	if (!session_hears(cx->policy, n->assignment))
		return "the agent takes no input while it runs";
	return run_busy(n);
}

/* A node, or the newest run of one: an older run has no say, and nobody is told for it. */
static int nudge_read(struct decide_ctx *cx, const struct pr_work_nudge *p, struct node **ret,
		struct ov_err *err)
{
	struct work w = { .goal = p->goal, .node = p->node };
	struct run *x;
	int r;

	if (str_starts(p->node, STR("R_"))) {
		r = state_find_run(cx->state, p->node, &x, err);
		return r < 0 ? r : run_node(cx, x, ret, err);
	}
	r = work_read(cx, &w, "nudge", false, err);
	if (r == 0)
		*ret = w.n;
	return r;
}

/* The same text was sent to this very run: so long ago, or -1. */
static ov_time sent_ago(const struct decide_ctx *cx, const struct assignment *as, str hash)
{
	for (size_t i = as->dispatches.n; i-- > 0;) {
		const struct dispatch *d = as->dispatches.p[i];

		if (d->mode == MODE_SEND && str_eq(d->run_id, as->run_id) &&
				str_eq(d->instruction_hash, hash))
			return MAX(cx->now - d->at, (ov_time)0);
	}
	return -1;
}

/* How it is to be told, and in which words. */
struct nudge {
	struct node *n;
	str message, text;
	bool force, now;
};

/* May it be told, in this way? */
static int reach_check(struct decide_ctx *cx, const struct nudge *x, struct ov_err *err)
{
	bool resumes = session_resumes(cx->policy, x->n->assignment);
	const char *deaf = x->now ? run_busy(x->n) : run_deaf(cx, x->n);

	if (x->now && !resumes)
		deaf = "no session of its agent is known that could go on";
	if (deaf) {
		ov_fail(err, OV_ESTATE, "node " STR_FMT " cannot be nudged: %s", STR_ARG(x->n->id),
				deaf);
		if (resumes && !session_hears(cx->policy, x->n->assignment))
			return ov_next(err, "overseer work nudge " STR_FMT " --now",
					STR_ARG(x->n->key));
		return ov_next(err, "overseer work rerun " STR_FMT " --reason TEXT",
				STR_ARG(x->n->key));
	}
	if (said_fits(x->n, x->message))
		return 0;
	ov_fail(err, OV_ELIMIT, "node " STR_FMT " has not taken what it was told before",
			STR_ARG(x->n->id));
	return ov_next(err, "overseer explain " STR_FMT, STR_ARG(x->n->key));
}

static int nudge_check(struct decide_ctx *cx, const struct nudge *x, struct ov_err *err)
{
	ov_time ago;
	int r = reach_check(cx, x, err);

	if (r < 0)
		return r;
	ago = sent_ago(cx, x->n->assignment, sha256_hex(cx->arena, x->text));
	if (x->force || ago < 0 || ago >= cx->policy->min_resend_interval)
		return 0;
	ov_fail(err, OV_ESTATE,
			"the same was sent to node " STR_FMT " " STR_FMT
			" ago (supervisor.min_resend_interval is " STR_FMT ")",
			STR_ARG(x->n->id), STR_ARG(duration_format_short(cx->arena, ago)),
			STR_ARG(duration_format_short(cx->arena, cx->policy->min_resend_interval)));
	return ov_next(err, "overseer work nudge " STR_FMT " --force", STR_ARG(x->n->key));
}

static int nudge_prepare(struct decide_ctx *cx, const struct pr_work_nudge *p, struct nudge *x,
		struct ov_err *err)
{
	int r = text_check(STR("message"), x->message, LIMIT_NOTE, err);

	if (r == 0)
		r = nudge_read(cx, p, &x->n, err);
	if (r == 0)
		r = work_check(cx, "nudge", x->n, err);
	if (r == 0)
		r = live_check(x->n, err);
	if (r < 0)
		return r;
	x->text = prompt_nudge(cx->arena, x->n->assignment, STR(""));
	if (x->message.n)
		x->text = arena_printf(cx->arena, "A person says: " STR_FMT "\n\n" STR_FMT,
				STR_ARG(x->message), STR_ARG(x->text));
	return nudge_check(cx, x, err);
}

/*
 * Asks the run for its status, with a word of the person's own if there is one: as soon as it can
 * be told, or at once, for which the run is ended and its session goes on with the word.
 */
int decide_work_nudge(struct decide_ctx *cx, const struct pr_work_nudge *p, value **ret_result,
		struct ov_err *err)
{
	struct nudge x = { .message = str_trim(p->message), .force = p->force, .now = p->now };
	int r = nudge_prepare(cx, p, &x, err);

	if (r < 0)
		return r;
	if (x.now) {
		if (x.message.n)
			dispatch_say(cx, x.n->assignment, "nudge", x.text, x.message);
		session_interrupt(cx, x.n->assignment, "nudge",
				prompt_interrupted(cx->arena, "a person wants to be told now",
						prompt_nudge(cx->arena, x.n->assignment, STR(""))),
				STR("a person interrupts it; its session goes on"));
	} else {
		dispatch_send(cx, x.n->assignment, "nudge", x.text, x.message);
	}
	*ret_result = work_result(cx, x.n, x.n->status);
	value_put(cx->arena, *ret_result, "run",
			value_str(cx->arena, arena_str(cx->arena, x.n->assignment->run_id)));
	return 0;
}
