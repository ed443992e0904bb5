/*
 * Tools that a piece of work may use: what holds for what begins now, and what a person takes away.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/lane.h"
#include "core/decide/ask.h"
#include "core/decide/emit.h"
#include "core/decide/move.h"
#include "core/policy/scope.h"
#include "core/work/work.h"

void scope_refused(struct decide_ctx *cx, const struct node *n, const struct assignment *as,
		const struct ov_err *err)
{
	str reason = arena_str(cx->arena, str_from(err->msg));

	if (as)
		assignment_move(cx, as, AS_BLOCKED, STAGE_NONE, reason);
	node_block_as(cx, n, BLOCK_NO_AGENT, reason, STR("overseer"),
			STR("the plan, config.toml or another agent fits; then unblock the node"),
			0);
	if (as)
		worker_to(cx, state_worker(cx->state, as->worker), WORKER_IDLE,
				STR("its assignment waits for a person"));
	escalate(cx, n, ASK_NO_AGENT, reason);
}

/* What holds for the node now, and for whom. */
static int present(struct decide_ctx *cx, const struct node *n,
		const struct policy_agent **ret_agent, struct tool_scope *ret, struct ov_err *err)
{
	const struct assignment *as = n->assignment;
	str name = as ? as->agent : node_wants(cx->policy, n);
	const struct policy_agent *agent = policy_agent(cx->policy, name);
	int r;

	if (!agent) {
		ov_fail(err, OV_ESTATE,
				"node " STR_FMT " has no agent whose tools could be narrowed",
				STR_ARG(n->id));
		return ov_next(err, "overseer config show");
	}
	if (!agent->format || !agent->format->scoped) {
		ov_fail(err, OV_ESTATE,
				"the tools of agent \"" STR_FMT
				"\" cannot be narrowed: its format is \"%s\"",
				STR_ARG(agent->name), agent->format ? agent->format->name : "raw");
		return ov_next(err, "overseer config show");
	}
	r = as ? scope_for_run(cx->arena, agent, as, ret, err)
	       : scope_for_node(cx->arena, agent, n, ret, err);
	if (r == 0)
		*ret_agent = agent;
	return r;
}

static int read_asked(const struct pr_work_scope *p, struct tool_scope *ret, struct ov_err *err)
{
	const struct tool_scope s = { p->allow.p, p->allow.n, p->deny.p, p->deny.n };
	int r = 0;

	if (p->has_allow && (r = scope_names_check(s.allow, s.allow_n, err)) < 0)
		return ov_wrap(err, r, "allow");
	if (p->has_deny && (r = scope_names_check(s.deny, s.deny_n, err)) < 0)
		return ov_wrap(err, r, "deny");
	if (scope_is_all(&s))
		return ov_fail(err, OV_EINVALID, "say which tools: allow, deny, or both");
	*ret = s;
	return 0;
}

/* The person's own narrowing so far and this one, as one. */
static int add_up(struct decide_ctx *cx, const struct agent_format *f, const struct node *n,
		const struct tool_scope *asked, struct tool_scope *ret, struct ov_err *err)
{
	struct tool_scope so_far, s;
	int r = scope_parse(cx->arena, n->def.tools_narrowed, &so_far, err);

	if (r == 0)
		r = scope_meet(cx->arena, f, &so_far, asked, &s, err);
	if (r < 0)
		return r;
	if (s.allow_n > SCOPE_LIST || s.deny_n > SCOPE_LIST)
		return ov_fail(err, OV_ELIMIT,
				"at most %d tools of a node can be named; use classes", SCOPE_LIST);
	*ret = s;
	return 0;
}

/*
 * Takes tools away from a node, for every later turn of whoever works on it; none is ever
 * given back.
 */
int decide_work_scope(struct decide_ctx *cx, const struct pr_work_scope *p, value **ret_result,
		struct ov_err *err)
{
	struct tool_scope asked, before, after, whole;
	const struct policy_agent *agent = NULL;
	struct ev_node_scoped *e;
	struct work w = WORK_OF(p);
	int r = work_read(cx, &w, "scope", true, err);

	if (r == 0)
		r = read_asked(p, &asked, err);
	if (r == 0)
		r = present(cx, w.n, &agent, &before, err);
	if (r == 0)
		r = scope_narrow(cx->arena, agent->format, &before, &asked, &after, err);
	if (r == 0)
		r = add_up(cx, agent->format, w.n, &asked, &whole, err);
	if (r < 0)
		return r;
	e = emit_node_scoped(cx, about_node(w.n));
	e->tools = scope_value(cx->arena, &whole);
	e->reason = w.reason;
	*ret_result = work_result(cx, w.n, w.n->status);
	value_put(cx->arena, *ret_result, "agent", value_str(cx->arena, agent->name));
	value_put(cx->arena, *ret_result, "tools", tool_scope_value(cx->arena, &after));
	return 0;
}
