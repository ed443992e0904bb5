/*
 * The graded answers to what detectors find: log, warn, redirect, pause, abort. Each is recorded
 * with what it did; what stops work asks a person, and only a person lets it go on.
 */
#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/capacity/accept_queue.h"
#include "core/capacity/dependants.h"
#include "core/decide/alarm.h"
#include "core/decide/dispatch.h"
#include "core/decide/move.h"
#include "core/goal/goal.h"
#include "core/inbox/inbox.h"
#include "core/inbox/notices.h"
#include "core/intervene/oversee.h"
#include "core/life/session.h"
#include "core/prompt/prompt.h"
#include "core/work/work.h"

enum { QUOTE_BYTES = 200 };

/* What came of an intervention. */
struct done {
	str text; /* for people */
	int64_t escalation;
	bool goal_wide;
};

bool goal_is_stopping(const struct decide_ctx *cx, const struct goal *g)
{
	for (size_t i = 0; i < cx->out->n; i++)
		if (cx->out->p[i]->kind == EV_GOAL_STATUS && str_eq(cx->out->p[i]->goal, g->id))
			return true;
	return false;
}

/* NULL, or why there is nothing left to stop. */
static const char *is_stopped(const struct decide_ctx *cx, const struct goal *g)
{
	if (g->health == HEALTH_ABORTED)
		return "the goal is aborted already";
	return goal_is_stopping(cx, g) ? "the goal was stopped for something else at the same time"
				       : NULL;
}

/* For people: where it was found, what, and the words by which they know it again. */
static str full_reason(struct decide_ctx *cx, const struct intervention *x)
{
	return arena_printf(cx->arena, STR_FMT "%s" STR_FMT "%s" STR_FMT "%s",
			STR_ARG(x->node ? x->node->id : STR("")), x->node ? ": " : "",
			STR_ARG(x->message), x->quote.n ? " (" : "",
			STR_ARG(utf8_truncate(x->quote, QUOTE_BYTES)), x->quote.n ? ")" : "");
}

static int64_t ask(struct decide_ctx *cx, const struct intervention *x, struct subject about,
		enum ask kind)
{
	return escalate_about(cx, about,
			&(struct escalation_spec){ .ask = kind,
					.question = full_reason(cx, x),
					.detection = x->detection,
					.fingerprint = x->fingerprint });
}

int64_t goal_abort(struct decide_ctx *cx, const struct goal *g, str reason)
{
	int64_t stopped = goal_stop_runs(cx, g, reason);
	value *ignored = NULL;

	oversight_close(cx, g, NULL, ASK_PAUSED, ESC_DISMISSED, STR("the goal was aborted"));
	goal_to(cx, g, GOAL_PAUSED, reason, false, &ignored)->health = STR("aborted");
	return stopped;
}

static void do_log(struct decide_ctx *cx, const struct intervention *x, struct done *ret)
{
	(void)cx, (void)x;
	ret->text = STR("recorded");
}

static void do_warn(struct decide_ctx *cx, const struct intervention *x, struct done *ret)
{
	(void)cx, (void)x;
	ret->text = STR("a warning stands in front of the next instruction");
}

/*
 * A run that goes on is interrupted only where its session can: otherwise its work would be lost.
 */
static void do_redirect(struct decide_ctx *cx, const struct intervention *x, struct done *ret)
{
	if (!x->live) {
		ret->text = STR("the next instruction demands another strategy");
		return;
	}
	if (!session_resumes(cx->policy, x->live)) {
		ret->text = STR("the run is left to finish, as its session cannot go on; the next "
				"instruction demands another strategy");
		return;
	}
	session_interrupt(cx, x->live, "redirect",
			prompt_interrupted(cx->arena, "you made the same call again and again",
					STR("Look at what you have, and go on in another way.")),
			STR("it goes in circles: its session goes on with another strategy"));
	ret->text = STR("the run is interrupted; its session goes on with an order for another "
			"strategy");
}

/* By this very batch, for something else that was found at the same time. */
static bool node_is_blocking(const struct decide_ctx *cx, const struct node *n)
{
	for (size_t i = 0; i < cx->out->n; i++)
		if (cx->out->p[i]->kind == EV_NODE_STATUS &&
				str_eq(cx->out->p[i]->goal, n->goal->id) &&
				str_eq(cx->out->p[i]->node, n->id))
			return true;
	return false;
}

/* Work that is good, or that waits for a person anyway, is not stopped. */
static const char *why_not_paused(const struct decide_ctx *cx, const struct node *n)
{
	if (node_is_blocking(cx, n))
		return "the node was stopped for something else at the same time";
	if (n->status == NODE_BLOCKED)
		return "the node is blocked already";
	if (node_is_final(n))
		return "the node is finished";
	if (n->assignment && stage_is_good(n->assignment->stage))
		return "the work is about to be accepted: nothing was stopped";
	return NULL;
}

static void pause_node(struct decide_ctx *cx, const struct intervention *x, struct done *ret)
{
	const char *why_not = why_not_paused(cx, x->node);

	if (why_not) {
		ret->text = str_from(why_not);
		return;
	}
	work_block(cx, x->node, BLOCK_PAUSED, full_reason(cx, x),
			STR("a person lets it go on: `overseer work unblock`, or an answer in the "
			    "inbox"));
	ret->escalation = ask(cx, x, about_node(x->node), ASK_PAUSED);
	ret->text = STR("the node is paused until a person lets it go on");
}

static void pause_goal(struct decide_ctx *cx, const struct intervention *x, struct done *ret)
{
	value *ignored = NULL;

	ret->goal_wide = true;
	if (x->goal->status == GOAL_ACTIVE) {
		goal_to(cx, x->goal, GOAL_PAUSED, full_reason(cx, x), false, &ignored)->freezes =
				true;
	}
	ret->escalation = ask(cx, x, about_goal(x->goal), ASK_PAUSED);
	ret->text = x->goal->status == GOAL_ACTIVE
			? STR("the goal is paused until a person resumes it")
			: STR("the goal is paused already; a person is asked");
}

/*
 * What an agent got stuck in need not hold up those who do something else. Tasks of the pool have
 * nothing to do with each other, and the next one is drawn only while their goal is active.
 */
static bool holds_node(struct decide_ctx *cx, const struct intervention *x)
{
	return x->goal->automatic || x->pause == PAUSE_NODE ||
			(x->pause == PAUSE_AUTO && others_can_go_on(cx->arena, x->node));
}

static void do_pause(struct decide_ctx *cx, const struct intervention *x, struct done *ret)
{
	const char *stopped = is_stopped(cx, x->goal);

	if (stopped)
		ret->text = str_from(stopped);
	else if (x->node && holds_node(cx, x))
		pause_node(cx, x, ret);
	else
		pause_goal(cx, x, ret);
}

static void do_abort(struct decide_ctx *cx, const struct intervention *x, struct done *ret)
{
	const char *before = is_stopped(cx, x->goal);
	int64_t stopped;

	if (x->node && x->goal->automatic) {
		do_pause(cx, x, ret);
		return;
	}
	ret->goal_wide = true;
	if (before) {
		ret->text = str_from(before);
		return;
	}
	stopped = goal_abort(cx, x->goal, full_reason(cx, x));
	ret->escalation = ask(cx, x, about_goal(x->goal), ASK_ABORTED);
	ret->text = arena_printf(cx->arena,
			"the goal is aborted until a person reopens it; %lld %s stopped, the work "
			"is kept",
			(long long)stopped, stopped == 1 ? "run is" : "runs are");
}

static void (*const levels_do[LEVEL_COUNT])(struct decide_ctx *cx, const struct intervention *x,
		struct done *ret) = {
	[LEVEL_NONE] = do_log,
	[LEVEL_LOG] = do_log,
	[LEVEL_WARN] = do_warn,
	[LEVEL_REDIRECT] = do_redirect,
	[LEVEL_PAUSE] = do_pause,
	[LEVEL_ABORT] = do_abort,
};

void intervene(struct decide_ctx *cx, const struct intervention *x)
{
	struct done done = { 0 };
	struct ev_intervention_applied *e;

	levels_do[x->level](cx, x, &done);
	e = emit_intervention_applied(cx, x->about);
	e->detection = x->detection;
	e->level = x->level;
	e->reason = x->reason;
	e->did = done.text;
	if (x->text.n)
		e->text = x->text;
	e->goal_wide = done.goal_wide;
	if (done.escalation)
		e->escalation = done.escalation;
	if (alarm_wanted(cx->policy, x->level))
		alarm_raise(cx,
				&(struct alarm){ .goal = x->goal,
						.node = x->node,
						.detection = x->detection,
						.escalation = done.escalation,
						.urgency = urgency_of(x->level, x->severity),
						.fingerprint = x->fingerprint,
						.subject = full_reason(cx, x) });
}

/* {"run", "frozen"}: its processes are held, or go on. */
int decide_run_frozen(struct decide_ctx *cx, const struct msg_run_frozen *p, value **ret_result,
		struct ov_err *err)
{
	const struct run *r = state_run(cx->state, p->run);
	bool frozen = p->frozen;
	struct ev_run_frozen *e;

	(void)ret_result, (void)err;
	/* It ended meanwhile, or it is known: both change nothing. */
	if (!r || r->status == RUN_ENDED || r->frozen == frozen)
		return 0;
	e = emit_run_frozen(cx,
			(struct subject){ r->goal_id, r->node_id, r->assignment_id, r->id });
	e->frozen = frozen;
	e->reason = frozen ? STR("its goal is paused") : STR("its goal goes on");
	return 0;
}
