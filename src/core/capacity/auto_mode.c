#include "core/capacity/auto_mode.h"

#include "base/str.h"

bool auto_pause_holds(const struct auto_mode *m)
{
	return m->pause_cause.n && !str_is(m->pause_cause, PAUSE_POOL);
}

bool auto_pause_due(const struct policy *p, const struct auto_mode *m)
{
	return m->on && !m->pause_cause.n && p->auto_failures &&
			m->failed_in_a_row >= p->auto_failures;
}

struct same_tasks auto_same_tasks(const struct state *s, ov_time since)
{
	struct same_tasks same = { 0 };
	str last = STR("");

	for (size_t g = 0; g < s->goals.n; g++)
		for (size_t i = 0; s->goals.p[g]->automatic && i < s->goals.p[g]->nodes.n; i++) {
			const struct node *n = s->goals.p[g]->nodes.p[i];

			if (n->def.tier != TIER_TASK || n->created_at < since)
				continue;
			same.now = same.now && str_eq(n->def.objective, last) ? same.now + 1 : 1;
			same.longest = MAX(same.longest, same.now);
			last = n->def.objective;
		}
	return same;
}

bool task_was_given_up(const struct node *n)
{
	if (!n->goal->automatic || n->status != NODE_BLOCKED)
		return false;
	return n->block.kind == BLOCK_FAILED || n->block.kind == BLOCK_STALLED ||
			n->block.kind == BLOCK_BUDGET ||
			(n->block.kind == BLOCK_PAUSED && !str_starts(n->block.by, STR("human:")));
}
