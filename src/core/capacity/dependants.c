#include "core/capacity/dependants.h"

#include "base/arena.h"
#include "core/capacity/lane.h"

/* Nodes to look at: a plan may be one long chain, too long for recursion. */
struct marking {
	bool *marks; /* per position */
	const struct node **left;
	size_t n;
};

static void mark(struct marking *m, const struct node *n)
{
	if (m->marks[n->position] || node_is_final(n))
		return;
	m->marks[n->position] = true;
	m->left[m->n++] = n;
}

/* Whoever waits for the node. */
static void mark_dependants(struct marking *m, const struct node *n)
{
	for (const struct node *at = n; at; at = at->parent)
		for (size_t i = 0; i < at->dependants.n; i++)
			mark(m, at->dependants.p[i]);
}

/* Per position in the plan: the node itself and everything that waits for it, directly or not. */
static bool *mark_all(struct arena *a, const struct node *n)
{
	size_t all = n->goal->nodes.n;
	struct marking m = { .marks = arena_array(a, bool, all + 1),
		.left = arena_array(a, const struct node *, all + 1) };

	m.marks[n->position] = true;
	mark_dependants(&m, n);
	while (m.n) {
		const struct node *at = m.left[--m.n];

		for (size_t i = 0; i < at->children.n; i++)
			mark(&m, at->children.p[i]);
		mark_dependants(&m, at);
	}
	return m.marks;
}

size_t dependants_count(struct arena *a, const struct node *n)
{
	const bool *marks = mark_all(a, n);
	size_t count = 0;

	for (size_t i = 0; i < n->goal->nodes.n; i++)
		count += marks[i] && i != n->position && node_is_leaf(n->goal->nodes.p[i]);
	return count;
}

/* A task that only waits for its agent continues when that is free again. */
static bool is_open(const struct node *n)
{
	return node_is_leaf(n) && !n->def.removed_in && !node_is_final(n) &&
			(n->status != NODE_BLOCKED || block_is_lane(n->block.kind));
}

bool others_can_go_on(struct arena *a, const struct node *n)
{
	const bool *marks = mark_all(a, n);

	for (size_t i = 0; i < n->goal->nodes.n; i++)
		if (!marks[i] && is_open(n->goal->nodes.p[i]))
			return true;
	return false;
}
