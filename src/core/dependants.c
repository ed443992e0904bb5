#include "core/dependants.h"

#include "base/arena.h"

static void mark_leaves(const struct node *n, bool *marks);

/* Whoever waits for the node, and whoever waits for them. */
static void mark_dependants(const struct node *n, bool *marks)
{
	for (const struct node *at = n; at; at = at->parent)
		for (size_t i = 0; i < at->dependants.n; i++)
			mark_leaves(at->dependants.p[i], marks);
}

static void mark_leaves(const struct node *n, bool *marks)
{
	if (marks[n->position] || node_is_final(n))
		return;
	marks[n->position] = true;
	for (size_t i = 0; i < n->children.n; i++)
		mark_leaves(n->children.p[i], marks);
	mark_dependants(n, marks);
}

size_t dependants_count(struct arena *a, const struct node *n)
{
	size_t count = 0, all = n->goal->nodes.n;
	bool *marks = arena_array(a, bool, all + 1);

	marks[n->position] = true;
	mark_dependants(n, marks);
	marks[n->position] = false;
	for (size_t i = 0; i < all; i++)
		count += marks[i] && node_is_leaf(n->goal->nodes.p[i]);
	return count;
}

bool others_can_go_on(struct arena *a, const struct node *n)
{
	const struct goal *g = n->goal;
	size_t open = g->leaves - g->leaves_done - g->leaves_cancelled - g->leaves_blocked;

	return open > dependants_count(a, n) + 1;
}
