/*
 * Tasks that are blocked and about which nobody is asked: people see them in status, with what
 * to type.
 */
#include "base/arena.h"
#include "base/str.h"
#include "core/capacity/lane.h"
#include "core/view/view.h"

static bool is_asked_about(const struct state *s, const struct node *n)
{
	for (size_t i = 0; i < s->escalations.n; i++) {
		const struct escalation *x = s->escalations.p[i];

		if (x->status == ESC_OPEN && str_eq(x->goal_id, n->goal->id) &&
				str_eq(x->node_id, n->id))
			return true;
	}
	return false;
}

/* It is listed with those that wait for their agent. */
static bool waits_for_agent(const struct state *s, const struct node *n, ov_time now)
{
	return lane_is_shut(lane_blocking(s, n), now);
}

static value *row(struct arena *a, const struct node *n)
{
	value *v = view_node_brief(a, n);

	value_put(a, v, "unblock_when", value_str(a, n->block.when));
	value_put(a, v, "blocked_by", value_str(a, n->block.by));
	value_put(a, v, "until", value_time(a, n->block.until));
	value_put(a, v, "next",
			value_strf(a, "overseer work unblock " STR_FMT " --reason TEXT",
					STR_ARG(n->key)));
	return v;
}

value *view_blocked(struct arena *a, const struct state *s, ov_time now, int64_t *ret_more)
{
	value *list = value_array(a);

	*ret_more = 0;
	for (size_t i = 0; i < s->goals.n; i++) {
		const struct goal *g = s->goals.p[i];
		bool open = g->status == GOAL_ACTIVE || g->status == GOAL_PAUSED;

		for (size_t k = 0; open && g->leaves_blocked && k < g->nodes.n; k++) {
			const struct node *n = g->nodes.p[k];

			if (n->status != NODE_BLOCKED || !node_is_leaf(n) || n->def.removed_in ||
					is_asked_about(s, n) || waits_for_agent(s, n, now))
				continue;
			if (value_count(list) < BLOCKED_SHOWN)
				value_push(a, list, row(a, n));
			else
				(*ret_more)++;
		}
	}
	return list;
}
