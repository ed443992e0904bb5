/* Commands about a node's live run that people give: ask it, stop it, start over. */
#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "core/decide_impl.h"
#include "core/limits.h"
#include "core/prompt.h"
#include "core/recover.h"

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
	ov_next(err, "overseer explain " STR_FMT, STR_ARG(n->key));
	return OV_ESTATE;
}

/* Once more, on purpose: this run is stopped, its work kept; the same assignment gets a new one. */
void work_rerun(struct decide_ctx *cx, const struct node *n, str reason)
{
	struct event *e;

	assignment_move(cx, n->assignment, AS_QUEUED, STAGE_STOP, reason);
	e = cx->out->p[cx->out->n - 1];
	ev_flag(cx, e, "stopping", true);
	ev_note(cx, e, "feedback",
			arena_printf(cx->arena, "A person ended your last run: " STR_FMT,
					STR_ARG(reason)));
	node_to(cx, n, NODE_QUEUED, reason);
	work_settled(cx, n, reason);
}

int decide_work_rerun(struct decide_ctx *cx, const value *params, value **ret_result,
		struct ov_err *err)
{
	struct work w;
	int r = work_read(cx, params, "rerun", true, &w, err);

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

	if (!n || x->epoch < n->epoch || (newest && newest != x)) {
		ov_fail(err, OV_EFENCED,
				"run " STR_FMT " is not the newest of node " STR_FMT
				" (its epoch is %lld, the node's %lld)",
				STR_ARG(x->id), STR_ARG(x->node_id), (long long)x->epoch,
				(long long)(n ? n->epoch : 0));
		ov_next(err, "overseer run list --node " STR_FMT "/" STR_FMT, STR_ARG(x->goal_id),
				STR_ARG(x->node_id));
		return OV_EFENCED;
	}
	if (x->status == RUN_ENDED || !newest) {
		ov_fail(err, OV_ESTATE, "run " STR_FMT " has ended already", STR_ARG(x->id));
		ov_next(err, "overseer run show " STR_FMT, STR_ARG(x->id));
		return OV_ESTATE;
	}
	*ret = n;
	return 0;
}

int decide_run_stop(struct decide_ctx *cx, const value *params, value **ret_result,
		struct ov_err *err)
{
	str reason = str_trim(value_str_at(params, "reason"));
	struct node *n;
	struct run *x;
	int r = state_find_run(cx->state, value_str_at(params, "run"), &x, err);

	if (r == 0)
		r = text_check(STR("reason"), reason, LIMIT_NOTE, err);
	if (r < 0)
		return r;
	if (reason.n == 0)
		return ov_fail(err, OV_EINVALID,
				"a reason is needed: it is recorded with your name");
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

const char *run_deaf(const struct decide_ctx *cx, const struct node *n)
{
	struct world w = { cx->state, cx->policy };
	const char *why;

	if (!run_is_live(n))
		return "no run of it is alive";
	why = rung_hindrance(&w, n->assignment, RUNG_NUDGE, 0);
	if (!why && (n->assignment->effect || n->assignment->stage != STAGE_RUNNING))
		why = "something else is being done about its run right now";
	return why;
}

/* A node, or the newest run of one: an older run has no say, and nobody is told for it. */
static int nudge_read(struct decide_ctx *cx, const value *params, struct node **ret,
		struct ov_err *err)
{
	str id = value_str_at(params, "node");
	struct work w;
	struct run *x;
	int r;

	if (str_starts(id, STR("R_"))) {
		r = state_find_run(cx->state, id, &x, err);
		return r < 0 ? r : run_node(cx, x, ret, err);
	}
	r = work_read(cx, params, "nudge", false, &w, err);
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

static int nudge_check(struct decide_ctx *cx, const struct node *n, str text, bool force,
		struct ov_err *err)
{
	const char *deaf;
	ov_time ago;
	int r = live_check(n, err);

	if (r < 0)
		return r;
	deaf = run_deaf(cx, n);
	if (deaf) {
		ov_fail(err, OV_ESTATE, "node " STR_FMT " cannot be nudged: %s", STR_ARG(n->id),
				deaf);
		ov_next(err, "overseer work rerun " STR_FMT " --reason TEXT", STR_ARG(n->key));
		return OV_ESTATE;
	}
	ago = sent_ago(cx, n->assignment, prompt_hash(cx->arena, text));
	if (force || ago < 0 || ago >= cx->policy->min_resend_interval)
		return 0;
	ov_fail(err, OV_ESTATE,
			"the same was sent to node " STR_FMT " " STR_FMT
			" ago (supervisor.min_resend_interval is " STR_FMT ")",
			STR_ARG(n->id), STR_ARG(duration_format_short(cx->arena, ago)),
			STR_ARG(duration_format_short(cx->arena, cx->policy->min_resend_interval)));
	ov_next(err, "overseer work nudge " STR_FMT " --force", STR_ARG(n->key));
	return OV_ESTATE;
}

/* Asks the run for its status now, with a word of the person's own if there is one. */
int decide_work_nudge(struct decide_ctx *cx, const value *params, value **ret_result,
		struct ov_err *err)
{
	str message = str_trim(value_str_at(params, "message")), text;
	struct node *n;
	int r = text_check(STR("message"), message, LIMIT_NOTE, err);

	if (r == 0)
		r = nudge_read(cx, params, &n, err);
	if (r == 0)
		r = work_check(cx, "nudge", n, err);
	if (r == 0)
		r = live_check(n, err);
	if (r < 0)
		return r;
	text = prompt_nudge(cx->arena, n->assignment, STR(""));
	if (message.n)
		text = arena_printf(cx->arena, "A person says: " STR_FMT "\n\n" STR_FMT,
				STR_ARG(message), STR_ARG(text));
	r = nudge_check(cx, n, text, value_bool_at(params, "force"), err);
	if (r < 0)
		return r;
	dispatch_send(cx, n->assignment, "nudge", text);
	*ret_result = work_result(cx, n, n->status);
	value_put(cx->arena, *ret_result, "run",
			value_str(cx->arena, arena_str(cx->arena, n->assignment->run_id)));
	return 0;
}
