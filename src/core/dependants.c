#include "core/dependants.h"

#include "base/arena.h"

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

bool others_can_go_on(struct arena *a, const struct node *n)
{
	const struct goal *g = n->goal;
	size_t open = g->leaves - g->leaves_done - g->leaves_cancelled - g->leaves_blocked;

	return open > dependants_count(a, n) + 1;
}
