#include "core/auto_mode.h"

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

bool task_was_given_up(const struct node *n)
{
	if (!n->goal->automatic || n->status != NODE_BLOCKED)
		return false;
	return n->block == BLOCK_FAILED || n->block == BLOCK_STALLED || n->block == BLOCK_BUDGET ||
			(n->block == BLOCK_PAUSED && !str_starts(n->blocked_by, STR("human:")));
}
