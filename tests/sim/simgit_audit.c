/* Everything counted anew from what is there, against the counts that the model keeps. */
#include "tests/sim/simgit_parts.h"

struct audit {
	struct simgit *g;
	uint32_t *content, *node, *commit;
	sg_ids todo; /* commits that were reached and not yet looked into */
};

static void count_child(struct audit *au, int level, uint32_t id)
{
	if (!id)
		return;
	if (level == SG_LEVELS) {
		au->content[id]++;
		return;
	}
	if (au->node[id]++)
		return;
	for (size_t i = 0; i < SG_FAN; i++)
		count_child(au, level + 1, au->g->nodes.p[id].child[i]);
}

static void count_commit(struct audit *au, uint32_t id)
{
	if (id && !au->commit[id]++)
		vec_push(&au->todo, id);
}

static void count_roots(struct audit *au)
{
	struct simgit *g = au->g;

	for (size_t i = 0; i < g->refs.n; i++)
		count_commit(au, g->refs.p[i]->commit);
	for (size_t i = 0; i < g->wts.n; i++) {
		const struct sg_wt *w = g->wts.p[i];

		count_commit(au, w->at);
		count_commit(au, w->other);
		for (size_t k = 0; k < w->left.n; k++)
			count_commit(au, w->left.p[k]);
		count_child(au, 0, w->index.root);
		count_child(au, 0, w->files.root);
		count_child(au, 0, w->nested.root);
	}
	for (size_t i = 0; i < g->asides.n; i++)
		count_child(au, 0, g->asides.p[i].root);
	for (size_t i = 0; i < g->shadow.commits.n; i++)
		count_commit(au, g->shadow.commits.p[i]);
	count_commit(au, g->shadow.at);
	count_child(au, 0, g->shadow.index.root);
	count_child(au, 0, g->shadow.files.root);
}

static void compare(const struct audit *au, struct buf *why)
{
	const struct simgit *g = au->g;

	for (size_t i = 1; i < g->commits.n && !why->n; i++)
		if (g->commits.p[i].refs != au->commit[i])
			buf_addf(why, "commit %zu has %u references, not %u", i, au->commit[i],
					g->commits.p[i].refs);
	for (size_t i = 1; i < g->nodes.n && !why->n; i++)
		if (g->nodes.p[i].refs != au->node[i])
			buf_addf(why, "node %zu has %u references, not %u", i, au->node[i],
					g->nodes.p[i].refs);
	for (size_t i = 1; i < g->contents.n && !why->n; i++)
		if (g->contents.p[i].refs != au->content[i])
			buf_addf(why, "content %zu has %u references, not %u", i, au->content[i],
					g->contents.p[i].refs);
}

bool simgit_audit(struct simgit *g, struct buf *ret_why)
{
	struct audit au = { .g = g };
	struct buf why = BUF_INIT;
	bool ok;

	au.content = mem_zalloc(g->contents.n, sizeof(uint32_t));
	au.node = mem_zalloc(g->nodes.n, sizeof(uint32_t));
	au.commit = mem_zalloc(g->commits.n, sizeof(uint32_t));
	count_roots(&au);
	while (au.todo.n) {
		const struct sg_commit *c = &g->commits.p[au.todo.p[--au.todo.n]];

		count_child(&au, 0, c->tree.root);
		for (uint32_t i = 0; i < c->parents; i++)
			count_commit(&au, c->parent[i]);
	}
	compare(&au, &why);
	ok = !why.n;
	if (ret_why)
		buf_adds(ret_why, buf_str(&why));
	buf_done(&why);
	vec_done(&au.todo);
	mem_free(au.content);
	mem_free(au.node);
	mem_free(au.commit);
	return ok;
}
