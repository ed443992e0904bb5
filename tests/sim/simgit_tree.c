/* Names, contents, and trees as tries with shared nodes: see simgit_impl.h. */
#include <stdlib.h>

#include "tests/sim/simgit_parts.h"

void sg_names_init(struct sg_names *names)
{
	map_init(&names->by_name, 1);
}

void sg_names_done(struct sg_names *names)
{
	map_done(&names->by_name);
	for (size_t i = 0; i < names->list.n; i++)
		mem_free(names->list.p[i]);
	vec_done(&names->list);
}

uint32_t sg_known(const struct sg_names *names, str s)
{
	return s.n ? (uint32_t)(uintptr_t)map_get(&names->by_name, s) : 0;
}

uint32_t sg_name(struct sg_names *names, str s)
{
	uint32_t id = sg_known(names, s);

	if (id || !s.n)
		return id;
	vec_push(&names->list, mem_dup(s.p, s.n));
	id = (uint32_t)names->list.n;
	map_put(&names->by_name, str_from(vec_last(&names->list)), (void *)(uintptr_t)id);
	return id;
}

str sg_text(const struct sg_names *names, uint32_t id)
{
	return id ? str_from(names->list.p[id - 1]) : (str){ 0 };
}

uint32_t sg_content_new(struct simgit *g, uint32_t path, uint32_t author)
{
	struct sg_content ct = { .path = path, .author = author };

	assert(path && path < SG_PATHS);
	vec_push(&g->contents, ct);
	return (uint32_t)g->contents.n - 1;
}

static void content_end(struct simgit *g, uint32_t id)
{
	const struct sg_content *ct = &g->contents.p[id];
	str path, run;

	if (g->actor != SG_US || !ct->author || ct->given_up || g->lost.n)
		return;
	path = sg_text(&g->paths, ct->path);
	run = sg_text(&g->authors, ct->author);
	buf_addf(&g->lost, "content %u of " STR_FMT ", written by " STR_FMT ", was lost: %s", id,
			STR_ARG(path), STR_ARG(run), g->doing);
}

static void child_ref(struct simgit *g, int level, uint32_t id)
{
	if (!id)
		return;
	if (level == SG_LEVELS)
		g->contents.p[id].refs++;
	else
		g->nodes.p[id].refs++;
}

/* `level` of a node counts from 0, its root, so that contents are on SG_LEVELS. */
static void child_drop(struct simgit *g, int level, uint32_t id)
{
	if (!id)
		return;
	if (level == SG_LEVELS) {
		assert(g->contents.p[id].refs);
		if (--g->contents.p[id].refs == 0)
			content_end(g, id);
		return;
	}
	assert(g->nodes.p[id].refs);
	if (--g->nodes.p[id].refs)
		return;
	for (size_t i = 0; i < SG_FAN; i++)
		child_drop(g, level + 1, g->nodes.p[id].child[i]);
	g->nodes.p[id] = (struct sg_node){ .child = { g->free_node } };
	g->free_node = id;
}

static uint32_t node_new(struct simgit *g)
{
	uint32_t id = g->free_node;

	if (id) {
		g->free_node = g->nodes.p[id].child[0];
		g->nodes.p[id].child[0] = 0;
	} else {
		vec_push(&g->nodes, (struct sg_node){ 0 });
		id = (uint32_t)g->nodes.n - 1;
	}
	g->nodes.p[id].refs = 1;
	return id;
}

/* A node that is not shared: this one, or a copy in its place. */
static uint32_t node_own(struct simgit *g, int level, uint32_t id)
{
	uint32_t copy;

	if (id && g->nodes.p[id].refs == 1)
		return id;
	copy = node_new(g);
	if (!id)
		return copy;
	memcpy(g->nodes.p[copy].child, g->nodes.p[id].child, sizeof(g->nodes.p[id].child));
	for (size_t i = 0; i < SG_FAN; i++)
		child_ref(g, level + 1, g->nodes.p[copy].child[i]);
	g->nodes.p[id].refs--;
	return copy;
}

static size_t slot(uint32_t path, int level)
{
	return path >> (SG_BITS * (SG_LEVELS - 1 - level)) & (SG_FAN - 1);
}

uint32_t sg_get(const struct simgit *g, const struct sg_tree *t, uint32_t path)
{
	uint32_t id = t->root;

	if (!path)
		return 0;
	for (int level = 0; id && level < SG_LEVELS; level++)
		id = g->nodes.p[id].child[slot(path, level)];
	return id;
}

static uint64_t mixed(uint32_t path, uint32_t content)
{
	uint64_t z = ((uint64_t)path << 32 | content) + 0x9e3779b97f4a7c15u;

	if (!content)
		return 0;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void sg_set(struct simgit *g, struct sg_tree *t, uint32_t path, uint32_t content)
{
	uint32_t old = sg_get(g, t, path), id, *leaf;

	if (old == content)
		return;
	id = t->root = node_own(g, 0, t->root);
	for (int level = 0; level + 1 < SG_LEVELS; level++) {
		uint32_t next = node_own(g, level + 1, g->nodes.p[id].child[slot(path, level)]);

		g->nodes.p[id].child[slot(path, level)] = next;
		id = next;
	}
	leaf = &g->nodes.p[id].child[slot(path, SG_LEVELS - 1)];
	*leaf = content;
	child_ref(g, SG_LEVELS, content);
	child_drop(g, SG_LEVELS, old);
	t->n += (content != 0) - (old != 0);
	t->sum += mixed(path, content) - mixed(path, old);
}

struct sg_tree sg_tree_ref(struct simgit *g, struct sg_tree t)
{
	child_ref(g, 0, t.root);
	return t;
}

void sg_tree_drop(struct simgit *g, struct sg_tree *t)
{
	uint32_t root = t->root;

	*t = (struct sg_tree){ 0 };
	child_drop(g, 0, root);
}

void sg_tree_put(struct simgit *g, struct sg_tree *t, struct sg_tree to)
{
	struct sg_tree old = *t;

	*t = sg_tree_ref(g, to);
	sg_tree_drop(g, &old);
}

bool sg_same(const struct sg_tree *a, const struct sg_tree *b)
{
	return a->n == b->n && a->sum == b->sum;
}

static void diff_nodes(const struct simgit *g, int level, uint32_t path, uint32_t a, uint32_t b,
		sg_changes *ret)
{
	if (a == b)
		return;
	if (level == SG_LEVELS) {
		vec_push(ret, ((struct sg_change){ .path = path, .a = a, .b = b }));
		return;
	}
	for (uint32_t i = 0; i < SG_FAN; i++)
		diff_nodes(g, level + 1, path << SG_BITS | i, a ? g->nodes.p[a].child[i] : 0,
				b ? g->nodes.p[b].child[i] : 0, ret);
}

void sg_diff(const struct simgit *g, const struct sg_tree *a, const struct sg_tree *b,
		sg_changes *ret)
{
	vec_clear(ret);
	if (!sg_same(a, b))
		diff_nodes(g, 0, 0, a->root, b->root, ret);
}

struct sg_tree sg_merge(struct simgit *g, const struct sg_tree *base, const struct sg_tree *ours,
		const struct sg_tree *theirs, sg_changes *ret_conflicts)
{
	struct sg_tree t = sg_tree_ref(g, *ours);

	vec_clear(ret_conflicts);
	sg_diff(g, base, theirs, &g->diff);
	for (size_t i = 0; i < g->diff.n; i++) {
		struct sg_change *ch = &g->diff.p[i];
		uint32_t mine = sg_get(g, ours, ch->path);

		if (mine == ch->a)
			sg_set(g, &t, ch->path, ch->b);
		else if (mine != ch->b)
			vec_push(ret_conflicts, ((struct sg_change){ ch->path, mine, ch->b }));
	}
	return t;
}

void sg_by_name(const struct simgit *g, sg_changes *ch)
{
	/* By insertion: the lists are short, and numbers of paths come mostly in order. */
	for (size_t i = 1; i < ch->n; i++) {
		struct sg_change one = ch->p[i];
		str name = sg_text(&g->paths, one.path);
		size_t j = i;

		for (; j && str_cmp(sg_text(&g->paths, ch->p[j - 1].path), name) > 0; j--)
			ch->p[j] = ch->p[j - 1];
		ch->p[j] = one;
	}
}
