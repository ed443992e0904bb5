/* Commits, their ancestry, and refs. */
#include <stdio.h>

#include "tests/sim/simgit_parts.h"

uint32_t sg_commit_ref(struct simgit *g, uint32_t c)
{
	if (c)
		g->commits.p[c].refs++;
	return c;
}

/* Down from the parent by strides that double: any ancestor is a few jumps away. */
static uint32_t jump_of(const struct simgit *g, uint32_t parent)
{
	const struct sg_commit *p = &g->commits.p[parent], *j = &g->commits.p[p->jump],
			       *jj = &g->commits.p[j->jump];

	return p->depth - j->depth == j->depth - jj->depth ? j->jump : parent;
}

uint32_t sg_commit_new(struct simgit *g, const struct sg_tree *tree, const uint32_t *parent,
		size_t parents)
{
	struct sg_commit c = { .refs = 1, .parents = (uint32_t)parents };
	uint32_t id = (uint32_t)g->commits.n;

	assert(parents <= SG_PARENTS);
	c.tree = sg_tree_ref(g, *tree);
	c.jump = id;
	for (size_t i = 0; i < parents; i++) {
		c.parent[i] = sg_commit_ref(g, parent[i]);
		c.gen = MAX(c.gen, g->commits.p[parent[i]].gen + 1);
	}
	if (parents) {
		c.depth = g->commits.p[parent[0]].depth + 1;
		c.jump = jump_of(g, parent[0]);
	}
	vec_push(&g->commits, c);
	return id;
}

static void commit_end(struct simgit *g, uint32_t id)
{
	struct sg_commit *c = &g->commits.p[id];

	if (g->actor == SG_US && c->work && !c->given_up && !g->lost.n)
		buf_addf(&g->lost, "commit %u of an agent was lost: %s", id, g->doing);
	for (uint32_t i = 0; i < c->parents; i++)
		vec_push(&g->ending, c->parent[i]);
	sg_tree_drop(g, &c->tree);
}

void sg_commit_drop(struct simgit *g, uint32_t c)
{
	if (!c)
		return;
	vec_push(&g->ending, c);
	while (g->ending.n) {
		uint32_t id = g->ending.p[--g->ending.n];

		assert(g->commits.p[id].refs);
		if (--g->commits.p[id].refs == 0)
			commit_end(g, id);
	}
}

/* A walk from the youngest to the oldest; what came by has the stamp. */

static void walk_begin(struct simgit *g)
{
	g->stamp++;
	vec_clear(&g->queue);
}

static void walk_add(struct simgit *g, uint32_t id, uint32_t colour)
{
	struct sg_commit *c = &g->commits.p[id];

	if (c->stamp != g->stamp) {
		c->stamp = g->stamp;
		c->colour = 0;
		vec_push(&g->queue, id);
	}
	c->colour |= colour;
}

static uint32_t walk_next(struct simgit *g)
{
	size_t best = 0;
	uint32_t id;

	if (!g->queue.n)
		return 0;
	for (size_t i = 1; i < g->queue.n; i++) {
		const struct sg_commit *a = &g->commits.p[g->queue.p[i]],
				       *b = &g->commits.p[g->queue.p[best]];

		if (a->gen > b->gen || (a->gen == b->gen && g->queue.p[i] > g->queue.p[best]))
			best = i;
	}
	id = g->queue.p[best];
	vec_remove_swap(&g->queue, best);
	return id;
}

bool sg_is_ancestor(struct simgit *g, uint32_t a, uint32_t b)
{
	const struct sg_commit *ca = &g->commits.p[a];
	uint32_t x = b;

	if (a == b)
		return true;
	if (!a || !b || ca->gen >= g->commits.p[b].gen)
		return false;
	while (g->commits.p[x].depth > ca->depth) {
		const struct sg_commit *c = &g->commits.p[x];

		x = g->commits.p[c->jump].depth >= ca->depth ? c->jump : c->parent[0];
	}
	if (x == a)
		return true;
	walk_begin(g);
	walk_add(g, b, 1);
	while ((x = walk_next(g)) && x != a)
		for (uint32_t i = 0; i < g->commits.p[x].parents; i++)
			if (g->commits.p[g->commits.p[x].parent[i]].gen >= ca->gen)
				walk_add(g, g->commits.p[x].parent[i], 1);
	return x == a;
}

/* Youngest first, so the first that both have is the best; the model has no criss-cross merges. */
uint32_t sg_merge_base(struct simgit *g, uint32_t a, uint32_t b)
{
	uint32_t x;

	if (sg_is_ancestor(g, a, b))
		return a;
	if (sg_is_ancestor(g, b, a))
		return b;
	walk_begin(g);
	walk_add(g, a, 1);
	walk_add(g, b, 2);
	while ((x = walk_next(g)) && g->commits.p[x].colour != 3)
		for (uint32_t i = 0; i < g->commits.p[x].parents; i++)
			walk_add(g, g->commits.p[x].parent[i], g->commits.p[x].colour);
	return x;
}

void sg_between(struct simgit *g, uint32_t base, uint32_t head, sg_ids *ret)
{
	vec_clear(ret);
	walk_begin(g);
	walk_add(g, head, 1);
	if (base)
		walk_add(g, base, 2);
	for (;;) {
		bool more = false;
		uint32_t x, colour;

		for (size_t i = 0; i < g->queue.n && !more; i++)
			more = g->commits.p[g->queue.p[i]].colour == 1;
		if (!more)
			return;
		x = walk_next(g);
		colour = g->commits.p[x].colour;
		if (colour == 1)
			vec_push(ret, x);
		for (uint32_t i = 0; i < g->commits.p[x].parents; i++)
			walk_add(g, g->commits.p[x].parent[i], colour);
	}
}

void sg_give_up(struct simgit *g, uint32_t old, uint32_t now)
{
	sg_changes ch = { 0 };
	sg_ids ids = { 0 };

	sg_between(g, now, old, &ids);
	for (size_t i = 0; i < ids.n; i++) {
		g->commits.p[ids.p[i]].given_up = true;
		sg_diff(g, &g->commits.p[ids.p[i]].tree, &g->commits.p[now].tree, &ch);
		for (size_t j = 0; j < ch.n; j++)
			if (ch.p[j].a)
				g->contents.p[ch.p[j].a].given_up = true;
	}
	vec_done(&ids);
	vec_done(&ch);
}

/* The number, and a tail that only that number has. */
static void oid_print(uint32_t commit, char to[static 41])
{
	uint64_t z = commit * 0x9e3779b97f4a7c15u;

	snprintf(to, 41, "%08x%016llx%016llx", commit, (unsigned long long)z,
			(unsigned long long)(z ^ z >> 29));
}

str sg_oid(struct arena *a, uint32_t commit)
{
	char text[41];

	if (!commit)
		return (str){ 0 };
	oid_print(commit, text);
	return arena_str(a, str_from(text));
}

uint32_t sg_commit_known(const struct simgit *g, str oid)
{
	char text[41];
	uint32_t id = 0;

	if (oid.n != 40)
		return 0;
	for (size_t i = 0; i < 8; i++) {
		char c = oid.p[i];

		id = id << 4 | (uint32_t)(c >= 'a' ? c - 'a' + 10 : c - '0');
	}
	if (!id || id >= g->commits.n || !g->commits.p[id].refs)
		return 0;
	oid_print(id, text);
	return str_is(oid, text) ? id : 0;
}

struct sg_ref *sg_ref_find(const struct simgit *g, str name)
{
	return name.n ? map_get(&g->refs_by_name, name) : NULL;
}

struct sg_ref *sg_ref_make(struct simgit *g, str name)
{
	struct sg_ref *r = sg_ref_find(g, name);

	if (r)
		return r;
	r = mem_zalloc(1, sizeof(*r));
	r->name = mem_dup(name.p, name.n);
	vec_push(&g->refs, r);
	map_put(&g->refs_by_name, str_from(r->name), r);
	return r;
}

struct sg_ref *sg_branch(struct simgit *g, str branch)
{
	char name[300];
	int n = snprintf(name, sizeof(name), "refs/heads/" STR_FMT, STR_ARG(branch));

	assert(n > 0 && (size_t)n < sizeof(name));
	return sg_ref_make(g, str_from(name));
}

void sg_ref_set(struct simgit *g, struct sg_ref *r, uint32_t commit)
{
	uint32_t old = r->commit;

	if (!old)
		r->users = g->actor == SG_USER;
	if (r->users && !r->listed) {
		r->listed = true;
		vec_push(&g->users, r);
	}
	r->commit = sg_commit_ref(g, commit);
	sg_commit_drop(g, old);
}

bool sg_ref_under(const struct sg_ref *r, const char *prefix)
{
	return r && str_starts(str_from(r->name), str_from(prefix));
}
