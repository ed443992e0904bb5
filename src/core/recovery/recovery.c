/*
 * Recovery, as events: stalls and signs of life, the rungs of the ladder, runs that agents could
 * not do for want of quota or login, and the time that passes for those who wait.
 */
#include "core/recovery/recovery.h"
#include "base/arena.h"
#include "base/str.h"
#include "core/capacity/budget.h"
#include "core/decide/alarm.h"
#include "core/decide/dispatch.h"
#include "core/decide/emit.h"
#include "core/decide/move.h"
#include "core/inbox/notices.h"
#include "core/life/ladder.h"
#include "core/life/liveness.h"
#include "core/life/session.h"
#include "core/prompt/prompt.h"
#include "data/id/sha256.h"
#include "data/value/json.h"

/* Opens an episode unless one is open. evidence: an array of texts, or NULL. */
static void episode_open(struct decide_ctx *cx, const struct assignment *as, str reason,
		const value *evidence)
{
	struct ev_episode_opened *e;

	if (as->node->stall.open)
		return;
	e = emit_episode_opened(cx, about_assignment(as));
	e->episode = as->node->stall.episode + 1;
	e->reason = reason;
	if (evidence)
		e->evidence = texts_from(cx->arena, value_copy(cx->arena, evidence));
}

bool ladder_is_over(const struct node *n)
{
	return n->stall.open && n->stall.rungs[RUNG_ESCALATE] > 0;
}

void ladder_begin(struct decide_ctx *cx, const struct assignment *as, str reason)
{
	assignment_move(cx, as, AS_STALLED, STAGE_NONE, reason);
	worker_to(cx, state_worker(cx->state, as->worker), WORKER_IDLE,
			STR("its assignment waits for recovery"));
	episode_open(cx, as, reason, NULL);
}

static void emit_activity(struct decide_ctx *cx, const struct assignment *as, ov_time at,
		enum life_sign sign, ov_time due_at)
{
	struct ev_assignment_activity *e = emit_assignment_activity(cx, about_assignment(as));

	e->at_ms = at;
	e->sign = str_from(status_name(&life_signs, (int)sign));
	e->due_at_ms = due_at;
}

/* Something moves; whether the work goes forward with it decides about the episode. */
void note_life(struct decide_ctx *cx, const struct assignment *as, ov_time at, enum life_sign sign)
{
	ov_time idle = as->idle_after ? as->idle_after : cx->policy->idle_after;

	/* Words of a run that is over and judged: the ladder goes on with its node. */
	if (as->stage == STAGE_NONE)
		return;
	emit_activity(cx, as, at, sign, at + idle);
	if (as->status == AS_STALLED && as->stage == STAGE_RUNNING)
		assignment_move(cx, as, AS_ACTIVE, as->stage,
				arena_printf(cx->arena, "sign of life: %s",
						status_name(&life_signs, (int)sign)));
	if (!life_is_progress(sign) || !as->node->stall.open)
		return;
	episode_end(cx, as->node, STR("progress was seen"));
}

static void tick_life(struct decide_ctx *cx, const struct decision *d)
{
	note_life(cx, d->assignment, d->at, d->sign);
}

static void tick_stall(struct decide_ctx *cx, const struct decision *d)
{
	if (d->at > d->assignment->last_activity_at)
		emit_activity(cx, d->assignment, d->at, d->sign, cx->now);
	assignment_move(cx, d->assignment, AS_STALLED, STAGE_RUNNING, d->why);
	episode_open(cx, d->assignment, d->why, d->evidence);
}

static struct ev_episode_rung *emit_rung(struct decide_ctx *cx, const struct decision *d)
{
	const struct node *n = d->node;
	struct ev_episode_rung *e = emit_episode_rung(cx, about_assignment(d->assignment));

	e->episode = n->stall.episode;
	e->rung = d->rung;
	/* What cannot help now will not help later in this episode: its whole cap is used up. */
	e->count = d->skip && d->rung == RUNG_NUDGE ? MAX(cx->policy->max_nudges, (int64_t)1)
						    : n->stall.rungs[d->rung] + 1;
	e->skipped = d->skip;
	e->reason = d->why;
	if (!d->skip)
		e->backoff_until_ms = cx->now +
				recovery_backoff(cx->policy, n->stall.recoveries + 1);
	return e;
}

/* What a model advised about this rung, or NULL. */
static const value *advice_for(struct decide_ctx *cx, const struct decision *d)
{
	value *advice;

	if (!d->node->stall.advice.n ||
			json_parse(cx->arena, d->node->stall.advice, NULL, &advice, NULL) < 0 ||
			!str_is(value_str_at(advice, "type"), status_name(&rungs, (int)d->rung)))
		return NULL;
	return advice;
}

static void rung_nudge(struct decide_ctx *cx, const struct decision *d)
{
	struct world w = { cx->state, cx->policy };
	str text = prompt_nudge(cx->arena, d->assignment,
			value_str_at(advice_for(cx, d), "message"));
	bool resume = nudge_resumes(&w, d->assignment);

	if (!resume)
		dispatch_send(cx, d->assignment, "nudge", text, STR(""));
	emit_rung(cx, d)->instruction_hash = sha256_hex(cx->arena, text);
	if (resume)
		session_interrupt(cx, d->assignment, "nudge",
				prompt_interrupted(cx->arena, "nothing was heard of you", text),
				STR("it is silent: its session goes on with a request for its "
				    "status"));
}

static void rung_resend(struct decide_ctx *cx, const struct decision *d)
{
	const struct dispatch *last = dispatch_in_doubt(d->assignment);

	emit_rung(cx, d)->instruction_hash = last->instruction_hash;
	dispatch_settle(cx, last->id, RESULT_PENDING, STR("sent again: its delivery is in doubt"));
	effect_intend(cx, FX_SEND, make_id(cx, "X_"), about_assignment(d->assignment))->dispatch =
			last->id;
}

static void rung_replan(struct decide_ctx *cx, const struct decision *d)
{
	struct ev_effect_intended *e;

	emit_rung(cx, d);
	e = effect_intend(cx, FX_PLAN, make_id(cx, "X_"), about_node(d->node));
	MAYBE_SET(e, purpose, STR("split"));
}

/* Another configured agent that may take over from this one; empty when it stays where it is. */
static str other_agent(const struct decide_ctx *cx, str from)
{
	for (size_t i = 0; i < cx->policy->agents_n; i++) {
		str to = cx->policy->agents[i].name;

		if (!str_eq(from, to) && agent_allowed(cx->policy, to) &&
				cross_allowed(cx->policy, from, to) && !state_lane(cx->state, to))
			return to;
	}
	return STR("");
}

/* Gives the node to another session: what there is is kept and handed over. agent may be empty. */
static void node_reassign(struct decide_ctx *cx, const struct assignment *as, str agent, str reason)
{
	struct ev_node_wanted *e;

	if (agent.n) {
		e = emit_node_wanted(cx, about_node(as->node));
		e->agent = agent;
		e->reason = reason;
	}
	assignment_wind_down(cx, as, AS_CANCELLED, reason);
	node_to(cx, as->node, NODE_QUEUED, reason);
}

static void rung_reassign(struct decide_ctx *cx, const struct decision *d)
{
	emit_rung(cx, d);
	node_reassign(cx, d->assignment, other_agent(cx, d->assignment->agent), d->why);
}

/* A model's question in its own words; an answer to it is a text for the agent, never a command. */
static void ask_as_advised(struct decide_ctx *cx, const value *advice, struct escalation_spec *x)
{
	if (!value_str_at(advice, "question").n)
		return;
	x->ask = ASK_QUESTION;
	x->question = value_str_at(advice, "question");
	x->options = texts_from(cx->arena, value_at(advice, "options"));
}

/*
 * Whoever waits for a permission is not given it by us: the tools of its agent are the person's
 * to set.
 */
static str stall_question(struct decide_ctx *cx, const struct decision *d)
{
	if (d->waiting_for.n)
		return arena_printf(cx->arena,
				"agent " STR_FMT " waits for a permission that only a person can "
				"give: " STR_FMT
				". Allow that in the configuration of the agent and answer retry, "
				"or say how it shall go on without it.",
				STR_ARG(d->assignment->agent), STR_ARG(d->waiting_for));
	return arena_printf(cx->arena, "nothing helped: " STR_FMT ". How shall it go on?",
			STR_ARG(d->node->stall.reason));
}

static void rung_escalate(struct decide_ctx *cx, const struct decision *d)
{
	const struct assignment *as = d->assignment;
	bool running = as->run && as->run->status != RUN_ENDED;
	struct escalation_spec spec = { .ask = running ? ASK_STALLED : ASK_FAILED,
		.question = stall_question(cx, d),
		.episode = d->node->stall.episode };

	emit_rung(cx, d);
	ask_as_advised(cx, advice_for(cx, d), &spec);
	escalate_about(cx, about_assignment(as), &spec);
	/*
	 * It is ended only on the word of two signals; otherwise it goes on until a person decides.
	 */
	if (running && d->quiet < 2)
		return;
	node_block_as(cx, d->node, running ? BLOCK_STALLED : BLOCK_FAILED, d->node->stall.reason,
			STR("overseer"), STR("a person answers, unblocks it or declares it done"),
			0);
	assignment_wind_down(cx, as, AS_BLOCKED, d->node->stall.reason);
}

static void tick_rung(struct decide_ctx *cx, const struct decision *d)
{
	static void (*const table[RUNG_COUNT])(struct decide_ctx * cx, const struct decision *d) = {
		[RUNG_NUDGE] = rung_nudge,
		[RUNG_RESEND] = rung_resend,
		[RUNG_REPLAN] = rung_replan,
		[RUNG_REASSIGN] = rung_reassign,
		[RUNG_ESCALATE] = rung_escalate,
	};
	const struct dispatch *last = dispatch_in_doubt(d->assignment);

	if (d->skip) {
		emit_rung(cx, d);
		return;
	}
	/* The wait for its answer is over. */
	if (last && last->result == RESULT_ACCEPTED && d->rung != RUNG_RESEND)
		dispatch_settle(cx, last->id, RESULT_TIMEOUT, STR("no answer"));
	table[d->rung](cx, d);
}

static void tick_diagnose(struct decide_ctx *cx, const struct decision *d)
{
	struct ev_effect_intended *e = effect_intend(cx, FX_PLAN, make_id(cx, "X_"),
			about_node(d->node));

	MAYBE_SET(e, purpose, STR("diagnose"));
	e->evidence_hash = d->diagnosis;
}

void run_finish(struct decide_ctx *cx, const struct assignment *as, str reason)
{
	struct ev_assignment_moved *e = assignment_move(cx, as,
			as->status == AS_STALLED ? AS_ACTIVE : as->status, STAGE_STOP, reason);

	e->stopping = true;
}

static void tick_finish(struct decide_ctx *cx, const struct decision *d)
{
	run_finish(cx, d->assignment, d->why);
}

static void tick_overdue(struct decide_ctx *cx, const struct decision *d)
{
	escalate_about(cx, about_assignment(d->assignment),
			&(struct escalation_spec){ .ask = ASK_OVERDUE, .question = d->why });
}

static void tick_mute(struct decide_ctx *cx, const struct decision *d)
{
	escalate_about(cx, about_assignment(d->assignment),
			&(struct escalation_spec){ .ask = ASK_MUTE, .question = d->why });
}

static void tick_ask(struct decide_ctx *cx, const struct decision *d)
{
	escalate_about(cx, about_assignment(d->assignment),
			&(struct escalation_spec){ .ask = ASK_PERMISSION, .question = d->why });
}

static void tick_outage(struct decide_ctx *cx, const struct decision *d)
{
	struct ev_outage_suspected *e = emit_outage_suspected(cx, (struct subject){ 0 });

	e->silent = (int64_t)d->silent;
	e->live = (int64_t)d->live;
	escalate_about(cx, (struct subject){ 0 },
			&(struct escalation_spec){ .ask = ASK_OUTAGE,
					.question = arena_printf(cx->arena,
							"%zu of %zu runs fell silent at once. "
							"None of them is touched until one moves "
							"or you say that they really hang.",
							d->silent, d->live) });
}

void outage_denied(struct decide_ctx *cx)
{
	struct ev_outage_over *e;

	if (!cx->state->outage_since)
		return;
	e = emit_outage_over(cx, (struct subject){ 0 });
	e->reason = str_from("a person says that they really hang");
	e->ignore_until_ms = cx->now + cx->policy->idle_after;
}

static void close_outage(struct decide_ctx *cx, str answer)
{
	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status == ESC_OPEN && x->ask == ASK_OUTAGE)
			escalation_close(cx, x, ESC_DISMISSED, answer);
	}
}

static void tick_outage_over(struct decide_ctx *cx, const struct decision *d)
{
	emit_outage_over(cx, (struct subject){ 0 })->reason = d->why;
	close_outage(cx, d->why);
}

static void tick_unblock(struct decide_ctx *cx, const struct decision *d)
{
	bool resumed = assignment_resume(cx, d->node, d->why);

	node_to(cx, d->node, node_is_ready(cx->state, d->node) ? NODE_QUEUED : NODE_TODO, d->why);
	if (!d->node->assignment || resumed)
		return;
	assignment_wind_down(cx, d->node->assignment, AS_CANCELLED, d->why);
	session_keep(cx, d->node->assignment);
}

static void tick_yield(struct decide_ctx *cx, const struct decision *d)
{
	if (d->assignment->stage == STAGE_WAITING) {
		assignment_give_back(cx, d->assignment, d->why);
		return;
	}
	node_reassign(cx, d->assignment, STR(""), d->why);
	session_keep(cx, d->assignment);
}

static void tick_remind(struct decide_ctx *cx, const struct decision *d)
{
	const struct escalation *x = d->escalation;
	struct ev_escalation_reminded *e;

	/* The same tick saw that nobody is needed any more. */
	if (escalation_is_closing(cx, x->number))
		return;
	e = emit_escalation_reminded(cx,
			(struct subject){ .goal = x->goal_id, .node = x->node_id });
	e->escalation = x->number;
	e->count = x->reminders + 1;
	alarm_again(cx, x);
}

void tick_recover(struct decide_ctx *cx, const struct decision *d)
{
	static void (*const table[DECISION_KIND_COUNT])(struct decide_ctx * cx,
			const struct decision *d) = {
		[DEC_ACTIVITY] = tick_life,
		[DEC_REVIVE] = tick_life,
		[DEC_STALL] = tick_stall,
		[DEC_RUNG] = tick_rung,
		[DEC_DIAGNOSE] = tick_diagnose,
		[DEC_FINISH] = tick_finish,
		[DEC_OVERDUE] = tick_overdue,
		[DEC_MUTE] = tick_mute,
		[DEC_ASK] = tick_ask,
		[DEC_OUTAGE] = tick_outage,
		[DEC_OUTAGE_OVER] = tick_outage_over,
		[DEC_UNBLOCK] = tick_unblock,
		[DEC_REMIND] = tick_remind,
		[DEC_YIELD] = tick_yield,
	};

	assert(table[d->kind]);
	table[d->kind](cx, d);
}
