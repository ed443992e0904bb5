/* Commands about nodes and runs that people give: what they may do to a piece of work, and when. */
#include "core/work/work.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/accept_queue.h"
#include "core/capacity/budget.h"
#include "core/capacity/lane.h"
#include "core/decide/ask.h"
#include "core/decide/check.h"
#include "core/decide/dispatch.h"
#include "core/decide/emit.h"
#include "core/decide/move.h"
#include "core/life/session.h"
#include "core/model/limits.h"
#include "core/state/state.h"

/* What a person can do about a node, and while it is what. */
static const struct work_verb {
	const char *verb;
	uint32_t from; /* bits of enum node_status */
	int to;        /* the status that it gives; -1: none of its own */
	const char *more;
} verbs[] = {
#define B(s) (1u << (s))
#define OPEN (B(NODE_TODO) | B(NODE_QUEUED) | B(NODE_IN_PROGRESS) | B(NODE_BLOCKED))
	{ "unblock", B(NODE_BLOCKED), NODE_QUEUED, " --reason TEXT" },
	{ "reopen", B(NODE_DONE), NODE_QUEUED, " --reason TEXT" },
	{ "nudge", B(NODE_IN_PROGRESS), -1, "" },
	{ "rerun", B(NODE_IN_PROGRESS), -1, " --reason TEXT" },
	{ "reassign", OPEN, -1, " --reason TEXT" },
	{ "block", OPEN & ~B(NODE_BLOCKED), NODE_BLOCKED, " --reason TEXT" },
	{ "done", OPEN, NODE_DONE, " --reason TEXT" },
	{ "cancel", OPEN, NODE_CANCELLED, " --reason TEXT" },
	{ "scope", OPEN, -1, " --deny TOOL --reason TEXT" },
#undef OPEN
#undef B
};

static const struct work_verb *verb_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (strcmp(verbs[i].verb, name) == 0)
			return &verbs[i];
	return NULL;
}

/* What can be typed instead, about a node as it is now. */
static int next_instead(const struct node *n, struct ov_err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (verbs[i].from & (1u << n->status))
			return ov_next(err, "overseer work %s " STR_FMT "%s", verbs[i].verb,
					STR_ARG(n->key), verbs[i].more);
	return ov_next(err, "overseer plan show " STR_FMT, STR_ARG(n->goal->id));
}

/*
 * 0, or OV_ESTATE with a message that names what the node can become or what can be done about it.
 */
int work_check(struct decide_ctx *cx, const char *verb, const struct node *n, struct ov_err *err)
{
	const struct work_verb *v = verb_find(verb);
	str others = STR("");

	if (v->from & (1u << n->status))
		return 0;
	/* To be queued is legal for more than this verb. */
	if (v->to >= 0 && !status_may(&node_statuses, (int)n->status, v->to, true)) {
		status_check(&node_statuses, n->id, (int)n->status, v->to, true, err);
		next_instead(n, err);
		return OV_ESTATE;
	}
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (verbs[i].from & (1u << n->status))
			others = arena_printf(cx->arena, STR_FMT "%s%s", STR_ARG(others),
					others.n ? ", " : "", verbs[i].verb);
	ov_fail(err, OV_ESTATE,
			"node " STR_FMT
			" is %s, so there is nothing to %s; what can be done: " STR_FMT,
			STR_ARG(n->id), status_name(&node_statuses, (int)n->status), v->verb,
			STR_ARG(others.n ? others : STR("nothing, it is final")));
	next_instead(n, err);
	return OV_ESTATE;
}

static struct ev_node_status *told_status(struct decide_ctx *cx, const struct node *n,
		enum node_status to, str reason, bool override_given)
{
	struct ev_node_status *e = node_moves(cx, n, to, reason);

	e->override = override_given;
	return e;
}

str asked_by(struct decide_ctx *cx)
{
	return arena_printf(cx->arena, "asked by " STR_FMT, STR_ARG(cx->actor));
}

void work_settled(struct decide_ctx *cx, const struct node *n, str reason)
{
	episode_close(cx, n, reason);
	close_escalations(cx, n, ESC_ANSWERED, reason);
}

void work_done(struct decide_ctx *cx, const struct node *n, str reason)
{
	told_status(cx, n, NODE_DONE, reason, true);
	if (n->assignment)
		assignment_wind_down(cx, n->assignment, AS_DONE,
				STR("a person declared the node done"));
	work_settled(cx, n, reason);
}

void work_cancel(struct decide_ctx *cx, const struct node *n, str reason)
{
	told_status(cx, n, NODE_CANCELLED, reason, false);
	if (n->assignment)
		assignment_wind_down(cx, n->assignment, AS_CANCELLED,
				STR("the node was cancelled"));
	work_settled(cx, n, reason);
}

/*
 * Blocked no more: one that kept its worker continues there. Of any other what was begun is kept,
 * and a new assignment starts afresh.
 */
struct ev_node_status *work_unblock(struct decide_ctx *cx, const struct node *n, str reason)
{
	bool resumed = assignment_resume(cx, n, reason);
	struct ev_node_status *e;

	/*
	 * Whoever lets it go on says that its agent can work again; a quota comes back by itself.
	 */
	if (lane_rules[n->block.kind].person && n->assignment)
		lane_clear(cx, n->assignment->agent, reason);
	e = node_to(cx, n, node_is_ready(cx->state, n) ? NODE_QUEUED : NODE_TODO, reason);
	if (n->assignment && !resumed)
		assignment_wind_down(cx, n->assignment, AS_CANCELLED,
				STR("the node was unblocked"));
	/* It only had to wait. */
	if (n->assignment && !resumed &&
			(n->block.kind == BLOCK_PAUSED || block_is_lane(n->block.kind)))
		session_keep(cx, n->assignment);
	/* A task that only had to wait for its agent was not looked at by anybody. */
	if (!block_is_lane(n->block.kind) && n->watch.iterations_n > n->watch.round_from)
		oversight_renew(cx, n->goal, n, reason);
	work_settled(cx, n, reason);
	return e;
}

void work_block(struct decide_ctx *cx, const struct node *n, enum block_kind kind, str reason,
		str unblock_when)
{
	node_block_as(cx, n, kind, reason, cx->actor,
			unblock_when.n ? unblock_when : STR("a person says so"), 0);
	if (n->assignment)
		assignment_wind_down(cx, n->assignment, AS_BLOCKED, reason);
	work_settled(cx, n, reason);
}

int work_read(struct decide_ctx *cx, struct work *w, const char *verb, bool reason_needed,
		struct ov_err *err)
{
	int r = state_find_node(cx->state, w->goal, w->node, &w->n, err);

	w->reason = str_trim(w->reason);
	if (r == 0)
		r = text_check(STR("reason"), w->reason, LIMIT_NOTE, err);
	if (r == 0)
		r = leaf_check(w->n, err);
	if (r < 0)
		return r;
	if (reason_needed && w->reason.n == 0)
		return ov_fail(err, OV_EINVALID,
				"a reason is needed: it is recorded with your name");
	return work_check(cx, verb, w->n, err);
}

value *work_result(struct decide_ctx *cx, const struct node *n, enum node_status status)
{
	value *v = value_object(cx->arena);

	value_put(cx->arena, v, "node", value_str(cx->arena, arena_str(cx->arena, n->key)));
	value_put(cx->arena, v, "status",
			value_cstr(cx->arena, status_name(&node_statuses, (int)status)));
	work_consequences(cx, n, status, v);
	return v;
}

/*
 * The kind of block that a person may set, and the whole reason: a credential's says what
 * and where.
 */
static int block_read(struct decide_ctx *cx, const struct pr_work_update *p,
		enum block_kind *ret_kind, str *reason, str *unblock_when, struct ov_err *err)
{
	str kind = p->kind, needs = str_trim(p->needs), where = str_trim(p->configure);
	bool credential = str_is(kind, "credential");
	int r = text_check(STR("unblock_when"), *unblock_when, LIMIT_NOTE, err);

	if (r == 0)
		r = text_check(STR("needs"), needs, LIMIT_NAME, err);
	if (r == 0)
		r = text_check(STR("configure"), where, LIMIT_NAME, err);
	if (r < 0)
		return r;
	if (kind.n && !credential && !str_is(kind, "person") && !str_is(kind, "paused"))
		return ov_fail(err, OV_EINVALID,
				"kind \"" STR_FMT "\" is not one of person, paused, credential",
				STR_ARG(kind));
	if (credential != (needs.n && where.n) || (!credential && (needs.n || where.n)))
		return ov_fail(err, OV_EINVALID,
				"kind credential goes with needs (which credential) and configure "
				"(where to put it), and they go with it; never give the credential "
				"itself");
	*ret_kind = credential                   ? BLOCK_CREDENTIAL
			: str_is(kind, "paused") ? BLOCK_PAUSED
						 : BLOCK_PERSON;
	if (!credential)
		return 0;
	*reason = arena_printf(cx->arena,
			"needs " STR_FMT ", to be configured in " STR_FMT ": " STR_FMT,
			STR_ARG(needs), STR_ARG(where), STR_ARG(*reason));
	if (!unblock_when->n)
		*unblock_when = arena_printf(cx->arena, STR_FMT " is configured in " STR_FMT,
				STR_ARG(needs), STR_ARG(where));
	return 0;
}

static int update_block(struct decide_ctx *cx, const struct pr_work_update *p, struct work *w,
		struct ov_err *err)
{
	str unblock_when = p->unblock_when;
	enum block_kind kind = BLOCK_PERSON;
	int r = accept_check(w->n, err);

	if (r == 0)
		r = block_read(cx, p, &kind, &w->reason, &unblock_when, err);
	if (r == 0)
		work_block(cx, w->n, kind, w->reason, unblock_when);
	return r;
}

int decide_work_update(struct decide_ctx *cx, const struct pr_work_update *p, value **ret_result,
		struct ov_err *err)
{
	static const struct {
		const char *status, *verb;
		enum node_status to;
	} kinds[] = { { "done", "done", NODE_DONE }, { "blocked", "block", NODE_BLOCKED },
		{ "queued", "unblock", NODE_QUEUED } };
	str status = p->status;
	struct work w = WORK_OF(p);
	size_t k = 0;
	int r;

	while (k < ARRAY_LEN(kinds) && !str_is(status, kinds[k].status))
		k++;
	if (k == ARRAY_LEN(kinds))
		return ov_fail(err, OV_EINVALID,
				"status \"" STR_FMT "\" is not one of done, blocked, queued",
				STR_ARG(status));
	r = work_read(cx, &w, kinds[k].verb, true, err);
	if (r == 0 && kinds[k].to == NODE_BLOCKED)
		r = update_block(cx, p, &w, err);
	/* What is being taken back is not done, whoever says so. */
	if (r == 0 && w.n->assignment && w.n->assignment->stage == STAGE_REVERT)
		r = accept_check(w.n, err);
	if (r < 0)
		return r;
	if (kinds[k].to == NODE_DONE)
		work_done(cx, w.n, w.reason);
	else if (kinds[k].to == NODE_QUEUED)
		work_unblock(cx, w.n, w.reason)->words = true;
	*ret_result = work_result(cx, w.n, kinds[k].to);
	return 0;
}

int decide_work_cancel(struct decide_ctx *cx, const struct pr_work_cancel *p, value **ret_result,
		struct ov_err *err)
{
	struct work w = WORK_OF(p);
	int r = work_read(cx, &w, "cancel", true, err);

	if (r == 0)
		r = accept_check(w.n, err);
	if (r < 0)
		return r;
	work_cancel(cx, w.n, w.reason);
	*ret_result = work_result(cx, w.n, NODE_CANCELLED);
	return 0;
}

/* done -> queued, past the ordinary rules; a goal that was completed by it is active again, too. */
int decide_work_reopen(struct decide_ctx *cx, const struct pr_work_reopen *p, value **ret_result,
		struct ov_err *err)
{
	struct goal *g;
	struct work w = WORK_OF(p);
	int r = work_read(cx, &w, "reopen", true, err);

	if (r < 0)
		return r;
	g = w.n->goal;
	if (g->status == GOAL_CANCELLED || g->status == GOAL_ARCHIVED)
		return status_check(&goal_statuses, g->id, (int)g->status, GOAL_ACTIVE, true, err);
	if (g->status == GOAL_COMPLETED)
		goal_to(cx, g, GOAL_ACTIVE, w.reason, true, ret_result);
	told_status(cx, w.n, NODE_QUEUED, w.reason, true)->words = true;
	/* What was found in it before was of work that is over. */
	if (w.n->watch.iterations_n > w.n->watch.round_from)
		oversight_renew(cx, g, w.n, w.reason);
	*ret_result = work_result(cx, w.n, NODE_QUEUED);
	value_put(cx->arena, *ret_result, "goal_reopened",
			value_bool(cx->arena, g->status == GOAL_COMPLETED));
	return 0;
}

static str agent_names(struct decide_ctx *cx)
{
	str names = STR("");

	for (size_t i = 0; i < cx->policy->agents_n; i++)
		names = arena_printf(cx->arena, STR_FMT "%s" STR_FMT, STR_ARG(names),
				names.n ? ", " : "", STR_ARG(cx->policy->agents[i].name));
	return names;
}

/*
 * A person may hand work from any agent to any other one: the list of crossings binds us, not them.
 */
int agent_check(struct decide_ctx *cx, str agent, struct ov_err *err)
{
	if (!policy_agent(cx->policy, agent))
		ov_fail(err, OV_EINVALID,
				"agent \"" STR_FMT "\" is not configured; these are: " STR_FMT,
				STR_ARG(agent), STR_ARG(agent_names(cx)));
	else if (!agent_allowed(cx->policy, agent))
		ov_fail(err, OV_EUNAUTHORIZED,
				"agent \"" STR_FMT "\" may not be given work (policy.allow_agents)",
				STR_ARG(agent));
	else
		return 0;
	return ov_next(err, "overseer config show");
}

/* Somebody else shall do it: the run is stopped, its work kept, and a new assignment begins. */
int decide_work_reassign(struct decide_ctx *cx, const struct pr_work_reassign *p,
		value **ret_result, struct ov_err *err)
{
	str agent = p->agent;
	enum node_status to;
	struct ev_node_wanted *e;
	struct work w = WORK_OF(p);
	int r = work_read(cx, &w, "reassign", true, err);

	if (r == 0)
		r = accept_check(w.n, err);
	if (r == 0 && agent.n)
		r = agent_check(cx, agent, err);
	if (r < 0)
		return r;
	to = w.n->status;
	if (to != NODE_TODO)
		to = node_is_ready(cx->state, w.n) || to == NODE_IN_PROGRESS ? NODE_QUEUED
									     : NODE_TODO;
	e = emit_node_wanted(cx, about_node(w.n));
	e->agent = agent;
	e->reason = w.reason;
	node_to(cx, w.n, to, w.reason);
	if (w.n->assignment)
		assignment_wind_down(cx, w.n->assignment, AS_CANCELLED, w.reason);
	work_settled(cx, w.n, w.reason);
	*ret_result = work_result(cx, w.n, to);
	value_put(cx->arena, *ret_result, "agent", value_str(cx->arena, agent));
	return 0;
}
