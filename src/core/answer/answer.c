/*
 * Answers of people to escalations, and what each does: a node goes on with the answer, is done or
 * is cancelled by it; a run that waits for it is told; what is only a notice is acknowledged.
 */
#include "core/answer/answer.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/accept_queue.h"
#include "core/capacity/budget.h"
#include "core/decide/ask.h"
#include "core/decide/check.h"
#include "core/decide/dispatch.h"
#include "core/decide/move.h"
#include "core/flow/auto.h"
#include "core/flow/checkout.h"
#include "core/flow/review.h"
#include "core/goal/goal.h"
#include "core/goal/spending.h"
#include "core/inbox/inbox.h"
#include "core/intervene/oversee.h"
#include "core/life/session.h"
#include "core/model/limits.h"
#include "core/recovery/recovery.h"
#include "core/work/work.h"

static bool goal_is_over(const struct goal *g)
{
	return g->status != GOAL_ACTIVE && g->status != GOAL_PAUSED;
}

static str option_names(struct decide_ctx *cx, const struct escalation *x)
{
	str names = STR("");

	for (size_t i = 0; i < x->options.n; i++)
		names = arena_printf(cx->arena, STR_FMT "%s" STR_FMT, STR_ARG(names),
				names.n ? ", " : "", STR_ARG(x->options.p[i]));
	return names;
}

/* The run is told; it gets its time to go on with that, and may stall anew. */
static void tell_run(struct decide_ctx *cx, const struct answer *a, str text)
{
	note_life(cx, a->n->assignment, cx->now, LIFE_SESSION);
	dispatch_send(cx, a->n->assignment, "answer", text, said_fits(a->n, text) ? text : STR(""));
	episode_close(cx, a->n, STR("a person answered"));
}

/*
 * All rungs were taken and nobody is asked any more: if it does not go on, that is another stall.
 */
static void stall_anew(struct decide_ctx *cx, const struct node *n, str reason)
{
	if (n->assignment && n->assignment->status == AS_STALLED)
		note_life(cx, n->assignment, cx->now, LIFE_SESSION);
	episode_close(cx, n, reason);
}

/* One that nothing helped does not come to its next stop, at which others are told. */
static bool can_be_told(const struct decide_ctx *cx, const struct node *n, bool stuck)
{
	const struct policy_agent *agent = policy_agent(cx->policy, n->assignment->agent);

	return !run_deaf(cx, n) && (!stuck || (agent && agent->input));
}

/*
 * The node goes on: the run that waits for the answer is told, or the next one. A run that nothing
 * helped and that cannot be told makes way for one that can.
 */
static void go_on(struct decide_ctx *cx, const struct answer *a, str text)
{
	str reason = arena_printf(cx->arena, "#%lld was answered: " STR_FMT,
			(long long)a->x->number, STR_ARG(a->text));
	bool live = a->n->status == NODE_IN_PROGRESS && a->n->assignment && a->n->assignment->run &&
			a->n->assignment->run->status != RUN_ENDED &&
			a->n->assignment->stage == STAGE_RUNNING;
	bool stuck = ladder_is_over(a->n);
	struct ev_node_answered *e;

	if (text.n) {
		e = emit_node_answered(cx, about_node(a->n));
		e->escalation = a->x->number;
		e->answer = text;
	}
	/* Detectors look at what comes of the answer; who was blocked is renewed by going on. */
	if (a->n->status != NODE_BLOCKED && a->n->watch.iterations_n > a->n->watch.round_from)
		oversight_renew(cx, a->g, a->n, reason);
	if (a->n->status == NODE_BLOCKED)
		work_unblock(cx, a->n, reason);
	else if (live && text.n && can_be_told(cx, a->n, stuck))
		tell_run(cx, a, text);
	else if (live && (stuck || !text.n) && !a->n->assignment->stopping)
		work_rerun(cx, a->n, reason);
	else if (stuck)
		stall_anew(cx, a->n, STR("a person answered"));
}

static void answer_node(struct decide_ctx *cx, const struct answer *a)
{
	str reason = arena_printf(cx->arena, "answer to #%lld: " STR_FMT, (long long)a->x->number,
			STR_ARG(a->text));

	if (node_is_final(a->n) || !node_is_leaf(a->n))
		return;
	if (a->say == SAY_DONE)
		work_done(cx, a->n, reason);
	else if (a->say == SAY_CANCEL && accept_check(a->n, NULL) == 0)
		work_cancel(cx, a->n, reason);
	else
		go_on(cx, a, a->say == SAY_RETRY ? STR("") : a->text);
}

/* An agent's own words are never commands to us, even when a person chooses them. */
static void answer_question(struct decide_ctx *cx, const struct answer *a)
{
	if (!a->option)
		answer_node(cx, a);
	else if (!node_is_final(a->n) && node_is_leaf(a->n))
		go_on(cx, a, a->text);
}

static int check_node(struct decide_ctx *cx _unused_, const struct answer *a, struct ov_err *err)
{
	return a->say == SAY_CANCEL ? accept_check(a->n, err) : 0;
}

int answer_check_cancel(const struct goal *g, struct ov_err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < g->nodes.n; i++)
		r = accept_check(g->nodes.p[i], err);
	return r;
}

/* Nothing but a greater budget lets a goal go on. */
static int check_budget(struct decide_ctx *cx _unused_, const struct answer *a, struct ov_err *err)
{
	if (a->say == SAY_CANCEL)
		return answer_check_cancel(a->g, err);
	if (a->say == SAY_RAISE)
		return 0;
	ov_fail(err, OV_ESTATE,
			"the budget of goal " STR_FMT
			" is spent: answer \"raise\" for twice as much, with --budget for another "
			"amount, or \"cancel\" to give the goal up",
			STR_ARG(a->g->id));
	return ov_next(err, "overseer inbox answer %lld raise --budget NAME=AMOUNT",
			(long long)a->x->number);
}

/* A goal with nothing to do lies about for ever once nobody is asked about it any more. */
static int check_plan(struct decide_ctx *cx _unused_, const struct answer *a, struct ov_err *err)
{
	bool lacking = !a->g->plan_version || a->g->reopened;

	if (a->say == SAY_CANCEL)
		return answer_check_cancel(a->g, err);
	if (!lacking || goal_is_over(a->g))
		return 0;
	ov_fail(err, OV_ESTATE,
			"goal " STR_FMT
			" has nothing to do: give it a plan, or answer \"cancel\" to give it up",
			STR_ARG(a->g->id));
	return ov_next(err, "overseer plan apply --goal " STR_FMT " FILE", STR_ARG(a->g->id));
}

str answer_reason(struct decide_ctx *cx, const struct answer *a)
{
	return arena_printf(cx->arena, "answer to #%lld%s" STR_FMT, (long long)a->x->number,
			a->reason.n ? ": " : "", STR_ARG(a->reason));
}

void answer_cancel(struct decide_ctx *cx, const struct answer *a)
{
	value *ignored = NULL;

	if (a->g && !goal_is_over(a->g))
		(void)decide_goal_cancel(cx,
				&(struct pr_goal_cancel){ .goal = a->g->id,
						.reason = answer_reason(cx, a) },
				&ignored, NULL);
}

static void answer_goal(struct decide_ctx *cx, const struct answer *a)
{
	if (a->say == SAY_CANCEL)
		answer_cancel(cx, a);
}

/* What else could be said would leave it where it is, and nobody would be asked again. */
static int check_option(struct decide_ctx *cx, const struct answer *a, struct ov_err *err)
{
	if (a->option || a->x->options.n == 0)
		return 0;
	ov_fail(err, OV_EINVALID, "\"" STR_FMT "\" is no answer to this; the answers are: " STR_FMT,
			STR_ARG(a->text), STR_ARG(option_names(cx, a->x)));
	return ov_next(err, "overseer inbox show %lld", (long long)a->x->number);
}

/*
 * Its prompt is in its terminal and takes keys: a text would close the entry and leave it waiting.
 */
static int check_permission(struct decide_ctx *cx, const struct answer *a, struct ov_err *err)
{
	const struct assignment *as = a->n->assignment;

	if (inbox_has_answer(a->x, a->say))
		return check_node(cx, a, err);
	ov_fail(err, OV_EINVALID, "#%lld is answered in the agent's terminal, or with: " STR_FMT,
			(long long)a->x->number, STR_ARG(inbox_words(cx->arena, a->x)));
	return as ? ov_next(err, "overseer worker attach " STR_FMT, STR_ARG(as->worker))
		  : OV_EINVALID;
}

static void answer_login(struct decide_ctx *cx, const struct answer *a)
{
	login_answered(cx, a->x);
}

static void answer_outage(struct decide_ctx *cx, const struct answer *a _unused_)
{
	outage_denied(cx);
}

static void answer_auto(struct decide_ctx *cx, const struct answer *a)
{
	auto_pause_settle(cx, a->x, a->say, a->text);
}

static void answer_failing(struct decide_ctx *cx, const struct answer *a)
{
	failing_answered(cx, a->x);
}

static void answer_limit(struct decide_ctx *cx, const struct answer *a)
{
	limit_lifted(cx, a->x);
}

static int check_accept(struct decide_ctx *cx, const struct answer *a, struct ov_err *err)
{
	return accept_answer_check(cx, a->x, a->say, a->text, err);
}

static void answer_accept(struct decide_ctx *cx, const struct answer *a)
{
	accept_answered(cx, a->x, a->say, a->why);
}

static void answer_checkout(struct decide_ctx *cx, const struct answer *a)
{
	checkout_answered(cx, a->n);
}

static void acknowledge(struct decide_ctx *cx, const struct answer *a)
{
	(void)cx, (void)a;
}

/* The goal, or a node alone. */
static void answer_paused_any(struct decide_ctx *cx, const struct answer *a)
{
	struct answer b = *a;

	if (!a->n) {
		answer_paused(cx, a);
		return;
	}
	if (a->say == SAY_RESUME)
		b.say = SAY_RETRY, b.text = inbox_said(cx->arena, SAY_RETRY, STR(""));
	answer_node(cx, &b);
}

/* By kind of escalation; a kind that is not here goes by whether it is about a node. */
static const struct rule {
	/* May refuse; NULL: never. */
	int (*check)(struct decide_ctx *cx, const struct answer *a, struct ov_err *err);
	void (*answer)(struct decide_ctx *cx, const struct answer *a);
} rules[ASK_COUNT] = {
	[ASK_PAUSED] = { answer_check_paused, answer_paused_any },
	[ASK_ABORTED] = { answer_check_aborted, answer_aborted },
	[ASK_QUESTION] = { NULL, answer_question },
	[ASK_PERMISSION] = { check_permission, answer_node },
	[ASK_BUDGET] = { check_budget, answer_goal },
	[ASK_PLANNER] = { check_plan, answer_goal },
	[ASK_REOPENED] = { check_plan, answer_goal },
	[ASK_LOGIN] = { check_option, answer_login },
	[ASK_OUTAGE] = { check_option, answer_outage },
	[ASK_AUTO] = { check_option, answer_auto },
	[ASK_FAILING] = { check_option, answer_failing },
	[ASK_LIMIT] = { check_option, answer_limit },
	[ASK_INTERNAL] = { NULL, acknowledge },
	[ASK_REVIEW] = { check_accept, answer_accept },
	[ASK_CHECKOUT] = { check_option, answer_checkout },
	[ASK_PRE] = { check_accept, answer_accept },
	[ASK_POST] = { check_accept, answer_accept },
	[ASK_POST_WARNING] = { NULL, acknowledge },
}, node_rule = { check_node, answer_node }, goal_rule = { NULL, acknowledge };

/* Its node or goal may be gone: what is left of it is a note. */
static bool is_whole(const struct answer *a)
{
	enum inbox_about about = a->n ? ABOUT_NODE : a->g ? ABOUT_GOAL : ABOUT_ANY;

	return about >= inbox_kind_of(a->x)->about;
}

static const struct rule *rule_for(const struct answer *a)
{
	if (rules[a->x->ask].answer && is_whole(a))
		return &rules[a->x->ask];
	return a->n ? &node_rule : &goal_rule;
}

static enum inbox_takes takes(const struct answer *a)
{
	enum inbox_takes own = is_whole(a) ? inbox_kind_of(a->x)->takes : TAKES_ABOUT;

	return own != TAKES_ABOUT ? own : a->n ? TAKES_GUIDANCE : TAKES_NOTE;
}

static struct answer answer_of(const struct decide_ctx *cx, const struct escalation *x, str text)
{
	struct answer a = { .x = x, .text = text };

	a.g = x->goal_id.n ? state_goal(cx->state, x->goal_id) : NULL;
	a.n = x->node_id.n ? state_node(cx->state, x->goal_id, x->node_id) : NULL;
	a.option = inbox_offers(x, text);
	a.say = inbox_say(text, &a.why);
	return a;
}

void escalation_answer(struct decide_ctx *cx, const struct escalation *x, str answer,
		enum esc_status as)
{
	struct answer a = answer_of(cx, x, answer);

	escalation_close(cx, x, as, answer);
	rule_for(&a)->answer(cx, &a);
}

/* "text: cancel" is a text, unless an agent offered just that. */
static bool take_free(const struct escalation *x, str *text)
{
	if (inbox_offers(x, *text) || !str_starts(*text, STR(INBOX_TEXT)))
		return false;
	*text = str_trim(str_sub(*text, sizeof(INBOX_TEXT) - 1, text->n));
	return true;
}

/* An option by any prefix that fits only one; what fits none is an answer of its own. */
static int resolve(struct decide_ctx *cx, const struct escalation *x, str *text, struct ov_err *err)
{
	str found = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < x->options.n; i++) {
		if (str_eq(x->options.p[i], *text))
			return 0;
		if (!str_starts(x->options.p[i], *text))
			continue;
		found = x->options.p[i];
		count++;
	}
	if (count > 1)
		return ov_fail(err, OV_EINVALID,
				"\"" STR_FMT "\" fits %zu of the answers; they are: " STR_FMT,
				STR_ARG(*text), count, STR_ARG(option_names(cx, x)));
	if (count == 1)
		*text = found;
	return 0;
}

int inbox_read(struct decide_ctx *cx, int64_t number, const struct escalation **ret,
		struct ov_err *err)
{
	const struct escalation *x = state_escalation(cx->state, number);

	if (!x) {
		ov_fail(err, OV_ENOTFOUND, "there is no #%lld in the inbox", (long long)number);
		return ov_next(err, "overseer inbox");
	}
	if (x->status != ESC_OPEN) {
		ov_fail(err, OV_ESTATE,
				"#%lld is %s already, by " STR_FMT " at " STR_FMT ": " STR_FMT,
				(long long)number, status_name(&esc_statuses, (int)x->status),
				STR_ARG(x->answered_by),
				STR_ARG(time_format_near(cx->arena, x->closed_at, cx->now,
						cx->policy->utc_offset)),
				STR_ARG(x->answer));
		return ov_next(err, "overseer inbox show %lld", (long long)number);
	}
	*ret = x;
	return 0;
}

/* What is granted with the answer: as it says, or what "raise" stands for. */
static int grant(struct decide_ctx *cx, const struct answer *a, const struct pr_inbox_answer *p,
		struct ov_err *err)
{
	bool given = p->budget || p->estimate,
	     raise = a->x->ask == ASK_BUDGET && a->say == SAY_RAISE;
	const struct goal *g = a->g;

	if (!given && !raise)
		return 0;
	/* Of tasks of the pool the newest goal's budget counts, which the next one takes over. */
	if (a->g && raise && a->g->automatic)
		g = budget_newest(cx->state);
	if (g && (!goal_is_over(g) || (raise && g->automatic)) && a->say != SAY_CANCEL)
		return budget_grant(cx, g, given ? p->budget : budget_twice(cx, g), p->estimate,
				answer_reason(cx, a), err);
	ov_fail(err, OV_EINVALID,
			"#%lld gives no goal anything to go on with: a budget or an "
			"estimate says nothing here",
			(long long)a->x->number);
	return ov_next(err, "overseer inbox show %lld", (long long)a->x->number);
}

static void note_reason(struct decide_ctx *cx, size_t from, const struct answer *a)
{
	for (size_t i = from; a->reason.n && i < cx->out->n; i++)
		if (cx->out->p[i]->kind == EV_ESCALATION_CLOSED &&
				as_escalation_closed(cx->out->p[i])->escalation == a->x->number)
			emitted_escalation_closed(cx, i)->reason = a->reason;
}

/* As much of it as a message has room for; its characters stay whole. */
static str opening(str text)
{
	str s = str_sub(text, 0, 60);

	while (s.n < text.n && s.n && ((unsigned char)text.p[s.n] & 0xc0) == 0x80)
		s.n--;
	return s;
}

static int refuse_text(struct decide_ctx *cx, const struct answer *a, struct ov_err *err)
{
	str rest, list = inbox_entries(cx->arena, a->text, &rest), text = opening(a->text),
		  several = STR("");
	long long number = a->x->number;

	if (list.n)
		several = arena_printf(cx->arena,
				"; to answer several: overseer inbox answer %lld," STR_FMT
				" " STR_FMT,
				number, STR_ARG(opening(list)),
				STR_ARG(rest.n ? opening(rest) : STR("ANSWER")));
	ov_fail(err, OV_EINVALID,
			"\"" STR_FMT
			"\" is not an answer to #%lld and may be meant as a command, so "
			"nothing was done; the answers are: " STR_FMT
			", where a TEXT like this one is written as \"" INBOX_TEXT " " STR_FMT
			"\"" STR_FMT,
			STR_ARG(text), number, STR_ARG(inbox_words(cx->arena, a->x)), STR_ARG(text),
			STR_ARG(several));
	return ov_next(err, "overseer inbox show %lld", number);
}

/*
 * A refusal or a typo must not start an agent. Kinds that take no text look at the
 * answer themselves.
 */
static int check_text(struct decide_ctx *cx, const struct answer *a, struct ov_err *err)
{
	const struct rule *rule = rule_for(a);
	bool closed = inbox_kind_of(a->x)->closed;
	int r = 0;

	if (closed && a->free)
		return ov_fail(err, OV_EINVALID, "#%lld takes no text; its answers are: " STR_FMT,
				(long long)a->x->number, STR_ARG(inbox_words(cx->arena, a->x)));
	if (a->option || a->free || takes(a) == TAKES_ANY || inbox_has_answer(a->x, a->say))
		return rule->check ? rule->check(cx, a, err) : 0;
	if (!closed && inbox_doubt_of(a->text) == DOUBT_ENTRIES)
		return refuse_text(cx, a, err);
	if (rule->check)
		r = rule->check(cx, a, err);
	if (r == 0 && !closed && takes(a) == TAKES_GUIDANCE &&
			inbox_doubt_of(a->text) != DOUBT_NONE)
		r = refuse_text(cx, a, err);
	return r;
}

int inbox_answer(struct decide_ctx *cx, const struct escalation *x, str text,
		const struct pr_inbox_answer *p, struct ov_err *err)
{
	size_t before = cx->out->n;
	bool free = take_free(x, &text);
	struct answer a;
	int r = text_check(STR("answer"), text, LIMIT_NOTE, err);

	if (r == 0 && text.n == 0)
		r = ov_fail(err, OV_EINVALID, "an answer needs a text");
	if (r == 0 && !free)
		r = resolve(cx, x, &text, err);
	if (r < 0)
		return r;
	a = answer_of(cx, x, text);
	if (free)
		a.free = true, a.option = false, a.say = SAY_TEXT;
	a.reason = str_trim(p->reason);
	r = text_check(STR("reason"), a.reason, LIMIT_NOTE, err);
	/* Kinds that have words of their own look at them themselves. */
	if (r == 0 && p->only_options && inbox_kind_of(x)->says[0] == SAY_TEXT)
		r = check_option(cx, &a, err);
	if (r == 0)
		r = check_text(cx, &a, err);
	if (r == 0)
		r = grant(cx, &a, p, err);
	if (r < 0)
		return r;
	escalation_close(cx, x, ESC_ANSWERED, text);
	rule_for(&a)->answer(cx, &a);
	note_reason(cx, before, &a);
	return 0;
}

int decide_inbox_answer(struct decide_ctx *cx, const struct pr_inbox_answer *p, value **ret_result,
		struct ov_err *err)
{
	const struct escalation *x;
	size_t before = cx->out->n;
	int r = inbox_read(cx, p->number, &x, err);

	if (r == 0)
		r = inbox_answer(cx, x, str_trim(p->answer), p, err);
	if (r == 0)
		*ret_result = inbox_result(cx, x, before);
	return r;
}

/* Without an answer others would wait for it, and nobody would know. */
int inbox_check_dismiss(struct decide_ctx *cx, const struct escalation *x, struct ov_err *err)
{
	struct answer a = answer_of(cx, x, STR(""));

	return inbox_kind_of(x)->holds && rule_for(&a)->check ? rule_for(&a)->check(cx, &a, err)
							      : 0;
}

/* Nothing is done about it; who said so is the one whom a blocked node waits for. */
void inbox_dismiss(struct decide_ctx *cx, const struct escalation *x, str reason)
{
	struct answer a = answer_of(cx, x, STR(""));

	escalation_close(cx, x, ESC_DISMISSED, reason.n ? reason : STR("no reason was given"));
	if (a.n && a.n->status == NODE_BLOCKED && node_is_leaf(a.n))
		node_blocked_by(cx, a.n, cx->actor);
	else if (a.n && ladder_is_over(a.n) && x->episode == a.n->stall.episode)
		stall_anew(cx, a.n, STR("a person dismissed the question"));
}
