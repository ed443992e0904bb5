#include "core/capacity/accept_queue.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/capacity/free_worker.h"
#include "core/inbox/inbox.h"

int accept_order(const struct policy *p, const struct assignment *a, const struct assignment *b)
{
	/*
	 * The moment at which it would be due had all the same priority: later by each step of it.
	 */
	ov_time x = a->good_at + node_priority(a->node) * p->ageing,
		y = b->good_at + node_priority(b->node) * p->ageing;

	if (x != y)
		return x < y ? -1 : 1;
	if (a->good_at != b->good_at)
		return a->good_at < b->good_at ? -1 : 1;
	return str_cmp(a->id, b->id);
}

static bool is_after(enum stage stage)
{
	return stage == STAGE_POST || stage == STAGE_REVERT;
}

/* How firmly it holds its turn; 0: not at all. */
static int hold(const struct state *s, const struct assignment *as)
{
	if (!as->node)
		return 0;
	if (as->effect && assignment_is_accepting(as))
		return 3;
	if (is_after(as->stage) || (as->stage == STAGE_GATE && accept_question(s, as)))
		return 2;
	return stage_is_accepting(as->stage) && as->node->goal->status == GOAL_ACTIVE;
}

const struct assignment *accept_holder(const struct state *s, const struct policy *p)
{
	const struct assignment *found = NULL;
	int best = 0;

	list_each (it, &s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);
		int h = hold(s, as);

		if (h > best || (h && h == best && accept_order(p, as, found) < 0)) {
			found = as;
			best = h;
		}
	}
	return found;
}

bool accept_waits(const struct assignment *as)
{
	return as->stage == STAGE_REBASE && as->node && !assignment_is_final(as) &&
			as->status != AS_BLOCKED;
}

const struct escalation *accept_question(const struct state *s, const struct assignment *as)
{
	const struct escalation *x;

	if (!stage_is_accepting(as->stage))
		return NULL;
	x = state_asked(s, ASK_PRE, as->id);
	return x ? x : state_asked(s, ASK_POST, as->id);
}

const struct escalation *review_question(const struct state *s, const struct assignment *as)
{
	return state_asked(s, ASK_REVIEW, as->id);
}

/* What is in the way of all is told once: by an open entry that is not about files of one work. */
static bool told_for_all(const struct state *s, const struct escalation *x)
{
	const struct assignment *other = state_assignment(s, x->assignment_id);

	return x->status == ESC_OPEN && other && other->waiting != WAITING_FILES;
}

bool checkout_told(const struct state *s, const struct assignment *as)
{
	for (size_t i = 0; i < s->escalations.n; i++) {
		const struct escalation *x = s->escalations.p[i];

		if (x->ask != ASK_CHECKOUT)
			continue;
		if (as->waiting == WAITING_CHECKOUT && told_for_all(s, x))
			return true;
		if (str_eq(x->assignment_id, as->id) &&
				(x->status == ESC_OPEN || x->opened_at > as->waiting_since))
			return true;
	}
	return false;
}

bool accept_is_committed(const struct assignment *as)
{
	return as && (is_after(as->stage) || (as->effect && as->effect->kind == FX_ACCEPT));
}

str accept_key(struct arena *a, const struct assignment *as)
{
	if (!as->node || !as->node->work.reverts)
		return as->id;
	return arena_printf(a, STR_FMT ".%lld", STR_ARG(as->id), (long long)as->node->work.reverts);
}

str accept_checked_by(const struct assignment *as)
{
	if (as->run && as->run->verification == VERIFY_PASSED)
		return STR("check");
	return as->approved_by.n ? as->approved_by : STR("nothing");
}

const char *accept_words(str checked_by)
{
	if (str_is(checked_by, "nothing"))
		return ", not checked";
	return str_is(checked_by, "review") ? ", not checked but reviewed" : "";
}
