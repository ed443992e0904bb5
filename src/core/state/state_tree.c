/*
 * A goal's nodes as a tree: what waits for what, which of them are ready, and what follows from
 * the leaves.
 */
#include "base/str.h"
#include "core/state/state.h"

bool node_is_ready(const struct state *s, const struct node *n)
{
	for (const struct node *at = n; at; at = at->parent) {
		if (at->before && !node_is_final(at->before))
			return false;
		for (size_t i = 0; i < at->def.deps.n; i++) {
			const struct node *d = state_node(s, n->goal->id, at->def.deps.p[i]);

			if (d && !node_is_final(d))
				return false;
		}
	}
	return true;
}

bool node_waits(const struct node *n)
{
	for (const struct node *at = n; at; at = at->parent)
		if (at->before || at->def.deps.n)
			return true;
	return false;
}

/*
 * One link to the sibling before says it all: that one is final only when all that is in it is, and
 * it waited for its own predecessor.
 */
static void link_before(struct goal *g, struct node *n, struct node *sibling)
{
	bool ordered = n->parent ? n->parent->def.sequential : g->sequential, named = false;

	n->before = ordered ? sibling : NULL;
	for (size_t i = 0; n->before && i < n->def.deps.n; i++)
		named |= str_eq(n->def.deps.p[i], n->before->id);
	if (n->before && !named)
		vec_push(&n->before->dependants, n);
}

void state_link_nodes(struct state *s, struct goal *g)
{
	struct node *phase = NULL;

	for (size_t i = 0; i < g->nodes.n; i++) {
		vec_clear(&g->nodes.p[i]->children);
		vec_clear(&g->nodes.p[i]->dependants);
	}
	for (size_t i = 0; i < g->nodes.n; i++) {
		struct node *n = g->nodes.p[i];

		n->position = i;
		n->parent = n->before = NULL;
		/*
		 * Who was removed stands for itself: no parent, nobody that waits for it or for
		 * whom it waits.
		 */
		if (n->def.removed_in)
			continue;
		if (n->parent_id.n)
			n->parent = state_node(s, g->id, n->parent_id);
		link_before(g, n,
				!n->parent ? phase
						: n->parent->children.n
						? vec_last(&n->parent->children)
						: NULL);
		if (n->parent)
			vec_push(&n->parent->children, n);
		else
			phase = n;
		for (size_t k = 0; k < n->def.deps.n; k++) {
			struct node *d = state_node(s, g->id, n->def.deps.p[k]);

			if (d)
				vec_push(&d->dependants, n);
		}
	}
}

static void state_index_node(struct state *s, struct node *n)
{
	list_remove(&n->link);
	if (!node_is_leaf(n) || n->def.removed_in || n->goal->status != GOAL_ACTIVE)
		return;
	if (n->status == NODE_TODO && node_is_ready(s, n))
		list_append(&s->ready, &n->link);
	else if (n->status == NODE_QUEUED)
		list_append(&s->queued, &n->link);
	else if (n->status == NODE_BLOCKED && n->block.until)
		list_append(&s->waiting, &n->link);
}

/* The rule for a node with children: it is never set, always derived from them. */
static enum node_status derived_status(const struct node *n)
{
	size_t count[NODE_STATUS_COUNT] = { 0 }, total = n->children.n;

	for (size_t i = 0; i < total; i++)
		count[n->children.p[i]->status]++;
	if (count[NODE_CANCELLED] == total)
		return NODE_CANCELLED;
	if (count[NODE_DONE] + count[NODE_CANCELLED] == total)
		return NODE_DONE;
	if (count[NODE_IN_PROGRESS])
		return NODE_IN_PROGRESS;
	if (count[NODE_QUEUED])
		return count[NODE_DONE] ? NODE_IN_PROGRESS : NODE_QUEUED;
	if (count[NODE_BLOCKED])
		return NODE_BLOCKED;
	return count[NODE_DONE] ? NODE_IN_PROGRESS : NODE_TODO;
}

static void index_leaves(struct state *s, struct node *n)
{
	if (node_is_leaf(n))
		state_index_node(s, n);
	for (size_t i = 0; i < n->children.n; i++)
		index_leaves(s, n->children.p[i]);
}

static void index_dependants(struct state *s, struct node *n)
{
	for (size_t i = 0; i < n->dependants.n; i++)
		index_leaves(s, n->dependants.p[i]);
}

/* Sets the status that follows from the children; true when that changed it. */
static bool derive(struct state *s, struct node *p)
{
	enum node_status before = p->status;

	p->status = derived_status(p);
	if (p->status == before)
		return false;
	p->updated_at = s->at;
	if (p->status == NODE_IN_PROGRESS && !p->started_at)
		p->started_at = s->at;
	p->ended_at = node_is_final(p) ? s->at : 0;
	return true;
}

/* The count of the goal's leaves that such a one is in besides, or NULL. */
static size_t *leaf_count(struct goal *g, enum node_status status)
{
	switch (status) {
	case NODE_DONE: return &g->leaves_done;
	case NODE_CANCELLED: return &g->leaves_cancelled;
	case NODE_BLOCKED: return &g->leaves_blocked;
	default: return NULL;
	}
}

/*
 * Each leaf remembers as what it was counted, so that one that changes costs no look at the others.
 */
static void recount_leaf(struct node *n)
{
	bool counts = node_is_leaf(n) && !n->def.removed_in;
	size_t *count;

	if (n->counted) {
		n->goal->leaves--;
		n->goal->leaves_unchecked -= n->counted_unchecked;
		count = leaf_count(n->goal, n->counted_as);
		if (count)
			--*count;
	}
	n->counted = counts;
	n->counted_as = n->status;
	n->counted_unchecked = counts && n->status == NODE_DONE &&
			str_is(n->work.checked_by, "nothing");
	if (counts) {
		n->goal->leaves++;
		n->goal->leaves_unchecked += n->counted_unchecked;
		count = leaf_count(n->goal, n->status);
		if (count)
			++*count;
	}
}

void state_roll_up(struct state *s, struct node *leaf)
{
	state_index_node(s, leaf);
	index_dependants(s, leaf);
	for (struct node *p = leaf->parent; p; p = p->parent)
		if (derive(s, p))
			index_dependants(s, p);
	recount_leaf(leaf);
}

void state_index_goal(struct state *s, struct goal *g)
{
	for (size_t i = g->nodes.n; i-- > 0;)
		if (!node_is_leaf(g->nodes.p[i]))
			(void)derive(s, g->nodes.p[i]);
	for (size_t i = 0; i < g->nodes.n; i++) {
		state_index_node(s, g->nodes.p[i]);
		recount_leaf(g->nodes.p[i]);
	}
}

const char *goal_word(const struct goal *g)
{
	return g->status == GOAL_PAUSED && g->health == HEALTH_ABORTED
			? status_name(&goal_healths, HEALTH_ABORTED)
			: status_name(&goal_statuses, (int)g->status);
}
