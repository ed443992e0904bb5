/* One node with everything that is kept of it: its place, its assignment, dispatches and runs. */
#include "base/arena.h"
#include "base/str.h"
#include "core/view/view.h"

bool node_is_stalled(const struct node *n)
{
	return n->stall.open && n->assignment && n->assignment->status == AS_STALLED;
}

value *view_node_brief(struct arena *a, const struct node *n)
{
	value *v = value_object(a);

	value_put(a, v, "id", value_str(a, n->id));
	value_put(a, v, "goal", value_str(a, n->goal->id));
	value_put(a, v, "tier", value_cstr(a, status_name(&node_tiers, (int)n->def.tier)));
	value_put(a, v, "name", value_str(a, n->def.name));
	value_put(a, v, "status", value_cstr(a, status_name(&node_statuses, (int)n->status)));
	value_put(a, v, "status_reason", value_str(a, n->status_reason));
	value_put(a, v, "deps", strs_to_value(a, &n->def.deps));
	value_put(a, v, "commit", value_str(a, n->work.commit));
	if (n->work.checked_by.n)
		value_put(a, v, "checked_by", value_str(a, n->work.checked_by));
	value_put(a, v, "updated_at", value_time(a, n->updated_at));
	if (n->status == NODE_BLOCKED && node_is_leaf(n))
		value_put(a, v, "block",
				value_cstr(a, status_name(&block_kinds, (int)n->block.kind)));
	if (node_is_stalled(n))
		value_put(a, v, "stalled_since", value_time(a, n->stall.at));
	if (n->assignment) {
		value_put(a, v, "agent", value_str(a, n->assignment->agent));
		/* Between two steps, and while it waits for a person, it has none. */
		if (n->assignment->stage != STAGE_NONE) {
			value_put(a, v, "worker", value_str(a, n->assignment->worker));
			value_put(a, v, "stage",
					value_cstr(a,
							status_name(&stages,
									(int)n->assignment
											->stage)));
		}
		value_put(a, v, "attempt", value_int(a, n->assignment->attempt));
	}
	return v;
}

int64_t assignment_retries(const struct assignment *as)
{
	return MAX(as->attempt - 1, (int64_t)0);
}

ov_time assignment_last_retry(const struct assignment *as)
{
	ov_time at = 0;

	for (size_t i = 0; assignment_retries(as) && i < as->dispatches.n; i++)
		if (as->dispatches.p[i]->mode == MODE_SPAWN ||
				as->dispatches.p[i]->mode == MODE_RESUME)
			at = as->dispatches.p[i]->at;
	return at;
}

ov_time assignment_backoff(const struct assignment *as)
{
	return MAX(as->not_before, as->live && as->node ? as->node->stall.backoff_until : 0);
}

static value *assignment_view(struct arena *a, const struct assignment *as)
{
	value *v = record_to_value(a, &assignment_record, as), *list = value_array(a);

	for (size_t i = 0; i < as->dispatches.n; i++)
		value_push(a, list, record_to_value(a, &dispatch_record, as->dispatches.p[i]));
	value_put(a, v, "live", value_bool(a, as->live));
	value_put(a, v, "retry_count", value_int(a, assignment_retries(as)));
	value_put(a, v, "last_retry_at", value_time(a, assignment_last_retry(as)));
	value_put(a, v, "backoff_until", value_time(a, assignment_backoff(as)));
	value_put(a, v, "dispatches", list);
	return v;
}

void view_put_place(struct arena *a, value *v, const struct node *n)
{
	value *blocks = value_array(a), *path = value_array(a);
	const struct node *up[NODE_TIER_COUNT];
	size_t depth = 0;

	for (const struct node *at = n; at && depth < ARRAY_LEN(up); at = at->parent)
		up[depth++] = at;
	while (depth-- > 0)
		value_push(a, path, value_str(a, up[depth]->id));
	for (size_t i = 0; i < n->dependants.n; i++)
		value_push(a, blocks, value_str(a, n->dependants.p[i]->id));
	value_put(a, v, "path", path);
	value_put(a, v, "blocks", blocks);
}

str node_last_lines(const struct state *s, const struct node *n)
{
	const struct assignment *as = newest_assignment(s, n);

	return as && as->run && as->run->status == RUN_ENDED ? as->run->last_lines : STR("");
}

value *view_node(struct arena *a, const struct state *s, const struct node *n)
{
	value *v = record_to_value(a, &node_record, n), *runs = value_array(a),
	      *children = value_array(a);
	const struct list *lists[] = { &s->retired_runs, &s->runs };
	const struct assignment *newest = newest_assignment(s, n);

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		list_each (it, lists[i]) {
			const struct run *r = list_entry(it, struct run, link);

			if (str_eq(r->goal_id, n->goal->id) && str_eq(r->node_id, n->id))
				value_push(a, runs, record_to_value(a, &run_record, r));
		}
	value_put(a, v, "goal", value_str(a, n->goal->id));
	view_put_place(a, v, n);
	for (size_t i = 0; i < n->children.n; i++)
		value_push(a, children, value_str(a, n->children.p[i]->id));
	value_put(a, v, "children", children);
	value_put(a, v, "ready", value_bool(a, node_is_ready(s, n)));
	value_put(a, v, "assignment",
			n->assignment ? assignment_view(a, n->assignment) : value_null(a));
	value_put(a, v, "last_assignment", newest ? assignment_view(a, newest) : value_null(a));
	value_put(a, v, "runs", runs);
	value_put(a, v, "iterations", view_iterations(a, n));
	value_put(a, v, "detections", view_detections(a, n->goal, n));
	value_put(a, v, "handoff",
			n->handoff ? record_to_value(a, &crystallization_record, n->handoff)
				   : value_null(a));
	return v;
}
