/* The operation that shows one node: its record, and what only the log has. */
#include "app/ops/ops.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/lane.h"
#include "core/event/event.h"
#include "core/policy/scope.h"
#include "core/tick/reconcile.h"
#include "core/view/view.h"

/* The text of the newest instruction is in the event that intended it, nowhere else. */
static int put_instruction(struct op_ctx *cx, value *assignment, struct ov_err *err)
{
	const value *list = value_at(assignment, "dispatches"),
		    *newest = value_item(list, value_count(list) - 1);
	struct store_record *rec;
	struct event e;
	size_t n;
	int r;

	if (!value_count(list))
		return 0;
	r = store_read(cx->store, (uint64_t)value_int_at(newest, "seq") - 1, 1, cx->arena, &rec, &n,
			err);
	if (r < 0 || n != 1)
		return r;
	r = event_decode(cx->arena, rec->seq, rec->at, rec->kind, rec->body, &e, err);
	if (r == 0)
		value_put(cx->arena, assignment, "last_instruction_text",
				value_str(cx->arena, as_dispatch_intended(&e)->instruction));
	return r;
}

/* The tools that whoever works on it next may use, or why there is nobody who could. */
static void put_scope(struct op_ctx *cx, const struct node *n, value *v)
{
	const struct assignment *as = n->assignment;
	const struct policy *p = &cx->config->policy;
	const struct policy_agent *agent = policy_agent(p, as ? as->agent : node_wants(p, n));
	struct tool_scope s;
	struct ov_err err;
	int r;

	if (!agent)
		return;
	r = as ? scope_for_run(cx->arena, agent, as, &s, &err)
	       : scope_for_node(cx->arena, agent, n, &s, &err);
	if (r == 0)
		value_put(cx->arena, v, "tools", tool_scope_value(cx->arena, &s));
	else
		value_put(cx->arena, v, "tools_problem",
				value_str(cx->arena, arena_str(cx->arena, str_from(err.msg))));
}

int op_work_show(struct op_ctx *cx, const struct pr_work_show *p, value **ret, struct ov_err *err)
{
	static const char *const keys[] = { "assignment", "last_assignment" };
	struct node *n;
	value *v;
	int r = state_find_node_to_read(cx->state, p->goal, p->node, &n, err);

	if (r < 0)
		return r;
	v = view_node(cx->arena, cx->state, n);
	if (n->assignment)
		op_put_now(cx, v, n->assignment->run_id);
	put_scope(cx, n, v);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(keys); i++) {
		value *as = value_edit_at(v, keys[i]);

		if (as->kind != V_OBJECT)
			continue;
		if (!value_int_at(as, "idle_after"))
			value_put(cx->arena, as, "idle_after",
					value_int(cx->arena, cx->config->policy.idle_after));
		r = put_instruction(cx, as, err);
	}
	if (r == 0)
		*ret = v;
	return r;
}
