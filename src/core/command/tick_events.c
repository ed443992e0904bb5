/*
 * What a tick decided, as events: nodes are queued and assigned, runs and other effects intended.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/answer/answer.h"
#include "core/capacity/budget.h"
#include "core/capacity/lane.h"
#include "core/command/command_impl.h"
#include "core/command/decide.h"
#include "core/daemon/daemon.h"
#include "core/decide/alarm.h"
#include "core/decide/dispatch.h"
#include "core/decide/emit.h"
#include "core/decide/move.h"
#include "core/flow/auto.h"
#include "core/flow/checkout.h"
#include "core/goal/spending.h"
#include "core/inbox/notices.h"
#include "core/intervene/aftermath.h"
#include "core/intervene/oversee.h"
#include "core/life/session.h"
#include "core/model/limits.h"
#include "core/policy/scope.h"
#include "core/prompt/prompt.h"
#include "core/recovery/recovery.h"
#include "core/text/redact.h"
#include "core/tick/conflict.h"
#include "core/work/work.h"
#include "core/worker/worker.h"
#include "data/id/sha256.h"

static enum rung first_rung(const struct policy *p, str agent)
{
	for (size_t i = 0; i < p->agents_n; i++)
		if (str_eq(p->agents[i].name, agent))
			return p->agents[i].recovery;
	return RUNG_RESEND;
}

static void tick_assign(struct decide_ctx *cx, const struct decision *d)
{
	struct subject about = about_node(d->node);
	const struct worker *w = state_worker(cx->state, d->worker);
	struct tool_scope scope;
	struct ov_err err;
	struct ev_worker_created *created;
	struct ev_worker_status *status;
	struct ev_assignment_created *e;

	if (scope_for_node(cx->arena, policy_agent(cx->policy, d->agent), d->node, &scope, &err) <
			0) {
		scope_refused(cx, d->node, NULL, &err);
		return;
	}
	if (d->new_worker) {
		created = emit_worker_created(cx, (struct subject){ 0 });
		created->worker = d->worker;
		created->path = arena_printf(cx->arena, "worktrees/" STR_FMT, STR_ARG(d->worker));
		created->pool = d->worker_kind == WORKER_POOL;
		if (d->worker_kind != WORKER_POOL)
			created->kind = str_from(status_name(&worker_kinds, (int)d->worker_kind));
	}
	about.assignment = make_id(cx, "A_");
	e = emit_assignment_created(cx, about);
	e->agent = d->agent;
	e->worker = d->worker;
	e->session_key = arena_printf(cx->arena, "agent:" STR_FMT ":" STR_FMT, STR_ARG(d->agent),
			STR_ARG(about.assignment));
	e->recovery_policy = str_from(status_name(&rungs, (int)first_rung(cx->policy, d->agent)));
	e->branch = arena_printf(cx->arena, "overseer/" STR_FMT "/" STR_FMT "/" STR_FMT "-%lld",
			STR_ARG(d->worker), STR_ARG(d->goal->id), STR_ARG(d->node->id),
			(long long)d->node->work.epoch + 1);
	e->epoch = d->node->work.epoch + 1;
	e->tools = scope_value(cx->arena, &scope);
	e->reason = d->why;
	e->session_taken = d->node->session.id.n && str_eq(d->node->session.agent, d->agent) &&
			str_eq(d->node->session.worker, d->worker);
	status = emit_worker_status(cx, (struct subject){ 0 });
	status->worker = d->worker;
	status->from = w ? w->status : WORKER_IDLE;
	status->to = WORKER_WORKING;
	status->reason = about.node;
}

static void tick_start(struct decide_ctx *cx, const struct decision *d)
{
	const struct assignment *as = d->assignment;
	struct subject about = about_assignment(as);
	/* As it is recorded, and so as it is given: the hash is of that. */
	str dispatch, prompt, notes, session;
	const struct policy_agent *agent = policy_agent(cx->policy, as->agent);
	const struct worker *w = state_worker(cx->state, as->worker);
	struct tool_scope scope = { 0 };
	struct ov_err err;
	struct ev_dispatch_intended *sent;
	struct ev_run_created *run;
	bool resume;

	/* An agent that is not configured any more is found out when it is to be started. */
	if (agent && scope_for_run(cx->arena, agent, as, &scope, &err) < 0) {
		scope_refused(cx, as->node, as, &err);
		return;
	}
	dispatch = make_id(cx, "D_");
	about.run = make_id(cx, "R_");
	session = session_for_run(cx, as, &resume);
	prompt = resume ? prompt_resume(cx->arena, as) : prompt_build(cx->arena, as);
	notes = conflict_notes(cx->arena, cx->state, as, cx->policy->target_branch);
	if (prompt.n + notes.n <= LIMIT_INSTRUCTION)
		prompt = arena_printf(cx->arena, STR_FMT STR_FMT, STR_ARG(prompt), STR_ARG(notes));
	prompt = redact(cx->arena, prompt);
	sent = emit_dispatch_intended(cx, about);
	sent->dispatch = dispatch;
	sent->mode = str_from(status_name(&dispatch_modes, resume ? MODE_RESUME : MODE_SPAWN));
	sent->session = session;
	sent->resume = resume;
	sent->purpose = as->purpose.n ? as->purpose : as->attempt ? STR("retry") : STR("start");
	sent->target = as->session_key;
	sent->instruction = prompt;
	sent->instruction_hash = sha256_hex(cx->arena, prompt);
	run = emit_run_created(cx, about);
	run->dispatch = dispatch;
	run->agent = as->agent;
	run->worker = as->worker;
	run->attempt = as->attempt + 1;
	run->epoch = as->epoch;
	run->instruction_hash = sent->instruction_hash;
	run->session = session;
	run->resume = resume;
	run->tools = scope_value(cx->arena, &scope);
	effect_intend(cx, FX_RUN_START, dispatch, about);
	assignment_move(cx, as, AS_DISPATCHED, STAGE_START, d->why);
	node_to(cx, as->node, NODE_IN_PROGRESS, d->why);
	/* Whoever resolves a conflict is rebasing until that is over. */
	if (w && w->status != WORKER_REBASING)
		worker_to(cx, w, WORKER_WORKING, as->node->id);
}

static void tick_effect(struct decide_ctx *cx, const struct decision *d)
{
	const struct worker *w = state_worker(cx->state, d->assignment->worker);

	/* A person may have begun to look at it; what is not in review is not theirs to stop. */
	if (d->effect == FX_REBASE || stage_is_accepting(d->assignment->stage))
		worker_to(cx, w, WORKER_REBASING, d->why);
	effect_intend(cx, d->effect, make_id(cx, "X_"), about_assignment(d->assignment));
}

static void tick_goal_end(struct decide_ctx *cx, const struct decision *d)
{
	enum goal_status to = d->goal->leaves_done ? GOAL_COMPLETED : GOAL_CANCELLED;
	struct ev_goal_status *e = emit_goal_status(cx, about_goal(d->goal));

	e->from = d->goal->status;
	e->to = to;
	e->reason = d->why;
}

static void tick_no_agent(struct decide_ctx *cx, const struct decision *d)
{
	str reason = policy_no_agent(cx->arena, cx->policy, node_wants(cx->policy, d->node));

	node_block_as(cx, d->node, BLOCK_NO_AGENT, reason, STR("overseer"),
			STR("config.toml names the agent; then unblock the node"), 0);
	escalate(cx, d->node, ASK_NO_AGENT, reason);
}

/* It was removed after the task was given to it, or before somebody opened the task again. */
static void tick_no_worker(struct decide_ctx *cx, const struct decision *d)
{
	str name = d->node->next.worker;
	str reason = arena_printf(cx->arena,
			"it was given to worker " STR_FMT
			", which is gone: `overseer worker add " STR_FMT "` makes it again",
			STR_ARG(name), STR_ARG(name));

	node_block_as(cx, d->node, BLOCK_PERSON, reason, STR("overseer"),
			STR("there is a worker of that name again; then unblock the node"), 0);
	escalate(cx, d->node, ASK_NO_WORKER, reason);
}

static void tick_queue(struct decide_ctx *cx, const struct decision *d)
{
	node_to(cx, d->node, d->kind == DEC_QUEUE ? NODE_QUEUED : NODE_TODO, d->why);
}

typedef void tick_fn(struct decide_ctx *cx, const struct decision *d);

static tick_fn *const tick_table[DECISION_KIND_COUNT] = {
	[DEC_QUEUE] = tick_queue,
	[DEC_UNQUEUE] = tick_queue,
	[DEC_ASSIGN] = tick_assign,
	[DEC_NO_AGENT] = tick_no_agent,
	[DEC_NO_WORKER] = tick_no_worker,
	[DEC_START] = tick_start,
	[DEC_EFFECT] = tick_effect,
	[DEC_GOAL_END] = tick_goal_end,
	[DEC_ACTIVITY] = tick_recover,
	[DEC_STALL] = tick_recover,
	[DEC_REVIVE] = tick_recover,
	[DEC_RUNG] = tick_recover,
	[DEC_DIAGNOSE] = tick_recover,
	[DEC_FINISH] = tick_recover,
	[DEC_OVERDUE] = tick_recover,
	[DEC_MUTE] = tick_recover,
	[DEC_ASK] = tick_recover,
	[DEC_OUTAGE] = tick_recover,
	[DEC_OUTAGE_OVER] = tick_recover,
	[DEC_UNBLOCK] = tick_recover,
	[DEC_REMIND] = tick_recover,
	[DEC_RAISE] = tick_raise,
	[DEC_EXPIRE] = tick_expire,
	[DEC_YIELD] = tick_recover,
	[DEC_BUDGET] = tick_budget,
	[DEC_BUDGET_STOP] = tick_budget_stop,
	[DEC_SETTLED] = tick_settled,
	[DEC_WORKER] = tick_worker,
	[DEC_POOL] = tick_pool,
	[DEC_AUTO_PAUSE] = tick_auto_pause,
	[DEC_AUTO_ABSORB] = tick_auto_absorb,
	[DEC_AUTO_RESUME] = tick_auto_resume,
	[DEC_TASK_BUDGET] = tick_task_budget,
	[DEC_AGENT_FAILING] = tick_agent_failing,
	[DEC_AGENT_ABSORB] = tick_agent_absorb,
	[DEC_HALT] = tick_halt,
	[DEC_REVIEW] = tick_review,
	[DEC_LOOP] = tick_loop,
	[DEC_CHECKOUT] = tick_checkout,
	[DEC_NOTIFY] = tick_notify,
	[DEC_HEALTH] = tick_health,
};

void decide_tick(struct decide_ctx *cx, const struct decisions *ds)
{
	size_t before = cx->out->n;

	for (size_t i = 0; i < ds->n; i++)
		tick_table[ds->p[i].kind](cx, &ds->p[i]);
	aftermath_settle(cx, before);
	handoffs_write(cx, before);
	events_seal(cx, before);
}
