/*
 * Agents that cannot work for a while: out of quota, or logged out. That is nobody's failure and no
 * stall: the slot is freed, the node waits until the limit resets or a person has logged in again,
 * and meanwhile nothing else is given to the same agent.
 */
#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "core/decide_impl.h"
#include "core/recover.h"
#include "core/session.h"

static enum block_kind exit_limit(const struct policy *p, str name, int64_t exit_code)
{
	for (size_t i = 0; i < p->agents_n; i++) {
		const struct policy_agent *agent = &p->agents[i];

		if (!str_eq(agent->name, name))
			continue;
		if (agent->rate_limit_exit && exit_code == agent->rate_limit_exit)
			return BLOCK_RATE_LIMITED;
		if (agent->login_exit && exit_code == agent->login_exit)
			return BLOCK_LOGIN;
	}
	return BLOCK_NONE;
}

static enum block_kind limit_of(const struct policy *p, const struct assignment *as)
{
	if (as->run->limit != BLOCK_NONE)
		return as->run->limit;
	if (as->run->lost || as->run->signal)
		return BLOCK_NONE;
	return exit_limit(p, as->agent, as->run->exit_code);
}

bool end_is_limit(const struct policy *p, const struct assignment *as, const value *ended)
{
	if (value_str_at(ended, "limit").n)
		return true;
	return !value_bool_at(ended, "lost") && !value_int_at(ended, "signal") &&
			exit_limit(p, as->agent, value_int_at(ended, "exit_code")) != BLOCK_NONE;
}

static void emit_limited(struct decide_ctx *cx, const struct assignment *as, enum block_kind kind,
		int64_t times, ov_time resets_at, str detail)
{
	struct event *e = emit(cx, EV_AGENT_LIMITED, about_assignment(as));

	ev_str(cx, e, "agent", as->agent);
	ev_cstr(cx, e, "kind", status_name(&block_kinds, (int)kind));
	ev_note(cx, e, "detail", detail);
	ev_int(cx, e, "times", times);
	if (resets_at)
		ev_int(cx, e, "resets_at_ms", resets_at);
}

static str login_question(struct decide_ctx *cx, str agent)
{
	return arena_printf(cx->arena, "agent " STR_FMT " is logged out. Log it in, then say so.",
			STR_ARG(agent));
}

/* Asked once for the agent, however many of its nodes wait. */
static void ask_for_login(struct decide_ctx *cx, const struct assignment *as)
{
	static const char *const options[] = { "done", NULL };
	str question = login_question(cx, as->agent);

	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status == ESC_OPEN && str_is(x->kind, "login") &&
				str_eq(x->question, question))
			return;
	}
	escalate_about(cx, (struct subject){ 0 },
			&(struct escalation_spec){ .kind = "login",
					.question = question,
					.options = options });
}

void lane_clear(struct decide_ctx *cx, str agent, str reason)
{
	struct event *e;

	if (!state_lane(cx->state, agent))
		return;
	/* By an event of this very batch, which the state does not know yet. */
	for (size_t i = 0; i < cx->out->n; i++)
		if (cx->out->p[i]->kind == EV_AGENT_CLEARED &&
				str_eq(value_str_at(cx->out->p[i]->data, "agent"), agent))
			return;
	e = emit(cx, EV_AGENT_CLEARED, (struct subject){ 0 });
	ev_str(cx, e, "agent", agent);
	ev_note(cx, e, "reason", reason);
}

static bool asks_for(struct decide_ctx *cx, const struct escalation *x, str agent)
{
	return str_eq(x->question, login_question(cx, agent));
}

/* The nodes that wait for the agent that an escalation asks to be logged in. */
static void unblock_waiting(struct decide_ctx *cx, const struct escalation *x, str reason)
{
	static const str by = STR_INIT("agent ");

	for (size_t g = 0; g < cx->state->goals.n; g++)
		for (size_t i = 0; i < cx->state->goals.p[g]->nodes.n; i++) {
			const struct node *n = cx->state->goals.p[g]->nodes.p[i];

			if (node_is_leaf(n) && n->status == NODE_BLOCKED &&
					n->block == BLOCK_LOGIN && str_starts(n->blocked_by, by) &&
					asks_for(cx, x,
							str_sub(n->blocked_by, by.n,
									n->blocked_by.n)))
				work_unblock(cx, n, reason);
		}
}

static void login_is_back(struct decide_ctx *cx, const struct escalation *x, str reason)
{
	for (size_t i = 0; i < cx->state->lanes.n; i++)
		if (cx->state->lanes.p[i]->kind == BLOCK_LOGIN &&
				asks_for(cx, x, cx->state->lanes.p[i]->agent))
			lane_clear(cx, cx->state->lanes.p[i]->agent, reason);
	unblock_waiting(cx, x, reason);
}

void login_answered(struct decide_ctx *cx, const struct escalation *x)
{
	login_is_back(cx, x, STR("a person says that it is logged in"));
}

/* A run that began after the limit was seen worked: it is over, and nobody needs to say so. */
static void works_again(struct decide_ctx *cx, const struct assignment *as)
{
	const struct lane *lane = state_lane(cx->state, as->agent);
	str reason = STR("it works again");

	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status != ESC_OPEN || !str_is(x->kind, "login") ||
				x->opened_at >= as->run->created_at || !asks_for(cx, x, as->agent))
			continue;
		escalation_close(cx, x, ESC_DISMISSED, reason);
		login_is_back(cx, x, reason);
	}
	if (lane && lane->since < as->run->created_at)
		lane_clear(cx, as->agent, reason);
}

/* As the agent said it, if it did. */
static str limit_words(const struct run *r, enum block_kind kind)
{
	if (trouble_rules[r->trouble].limit == kind)
		return str_from(trouble_rules[r->trouble].people);
	return str_from(trouble_rules[kind == BLOCK_LOGIN ? TROUBLE_LOGIN : TROUBLE_RATE_LIMITED]
					.people);
}

bool run_was_limited(struct decide_ctx *cx, const struct assignment *as)
{
	const struct lane *lane = state_lane(cx->state, as->agent);
	enum block_kind kind = limit_of(cx->policy, as);
	int64_t times = lane ? lane->times + 1 : 1;
	ov_time resets_at = 0;
	str why, when;

	if (kind == BLOCK_NONE) {
		works_again(cx, as);
		return false;
	}
	/* When the agent does not say when: later each time. */
	if (as->run->resets_at > cx->now)
		resets_at = as->run->resets_at;
	else if (kind == BLOCK_RATE_LIMITED)
		resets_at = cx->now + recovery_backoff(cx->policy, times);
	why = limit_words(as->run, kind);
	when = kind == BLOCK_LOGIN ? STR("a person logs the agent in")
				   : STR("the limit resets, or the next try finds that it did");
	emit_limited(cx, as, kind, times, resets_at, why);
	assignment_move(cx, as, AS_BLOCKED, STAGE_NONE, why);
	node_block_as(cx, as->node, kind, why,
			arena_printf(cx->arena, "agent " STR_FMT, STR_ARG(as->agent)), when,
			resets_at);
	worker_to(cx, state_worker(cx->state, as->worker), WORKER_IDLE, why);
	if (kind == BLOCK_LOGIN)
		ask_for_login(cx, as);
	return true;
}
