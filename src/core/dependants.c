#include "core/dependants.h"

#include "base/arena.h"
#include "core/lane.h"

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

size_t dependants_count(struct arena *a, const struct node *n)
{
	size_t count = 0, all = n->goal->nodes.n;
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
	m.marks[n->position] = false;
	for (size_t i = 0; i < all; i++)
		count += m.marks[i] && node_is_leaf(n->goal->nodes.p[i]);
	return count;
}

/* A task that only waits for its agent continues when that is free again. */
static bool is_open(const struct node *n)
{
	return node_is_leaf(n) && !n->removed_in && !node_is_final(n) &&
			(n->status != NODE_BLOCKED || block_is_lane(n->block));
}

bool others_can_go_on(struct arena *a, const struct node *n)
{
	size_t all = n->goal->nodes.n;
	bool *marks = arena_array(a, bool, all + 1);

	marks[n->position] = true;
	mark_dependants(n, marks);
	for (size_t i = 0; i < all; i++)
		if (!marks[i] && is_open(n->goal->nodes.p[i]))
			return true;
	return false;
}
