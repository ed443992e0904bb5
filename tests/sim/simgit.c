/* The repository as a whole, and what is done to its worktrees whoever does it. */
#include "tests/sim/simgit_parts.h"

struct simgit *simgit_new(str repo, str target)
{
	struct simgit *g = mem_zalloc(1, sizeof(*g));
	struct sg_tree none = { 0 };
	struct sg_wt *w;
	uint32_t first;

	g->repo = mem_dup(repo.p, repo.n);
	g->doing = "nothing";
	g->fail_at = -1;
	g->actor = SG_USER;
	map_init(&g->refs_by_name, 1);
	map_init(&g->wts_by_path, 1);
	sg_names_init(&g->paths);
	sg_names_init(&g->authors);
	sg_names_init(&g->keys);
	/* Number 0 of each stands for none. */
	vec_push(&g->contents, (struct sg_content){ 0 });
	vec_push(&g->nodes, (struct sg_node){ 0 });
	vec_push(&g->commits, (struct sg_commit){ 0 });
	vec_push(&g->key_last, 0);
	g->target = sg_branch(g, target);
	first = sg_commit_new(g, &none, NULL, 0);
	sg_ref_set(g, g->target, first);
	sg_commit_drop(g, first);
	w = sg_wt_make(g, repo);
	w->there = w->folder = true;
	sg_head_set(g, w, g->target, 0);
	g->actor = SG_US;
	sg_shadow_take(g);
	return g;
}

void simgit_free(struct simgit *g)
{
	sg_shadow_done(g);
	for (size_t i = 0; i < g->refs.n; i++) {
		mem_free(g->refs.p[i]->name);
		mem_free(g->refs.p[i]);
	}
	for (size_t i = 0; i < g->wts.n; i++) {
		vec_done(&g->wts.p[i]->conflicts);
		vec_done(&g->wts.p[i]->left);
		mem_free(g->wts.p[i]->path);
		mem_free(g->wts.p[i]);
	}
	sg_names_done(&g->paths);
	sg_names_done(&g->authors);
	sg_names_done(&g->keys);
	map_done(&g->refs_by_name);
	map_done(&g->wts_by_path);
	vec_done(&g->contents);
	vec_done(&g->nodes);
	vec_done(&g->commits);
	vec_done(&g->key_last);
	vec_done(&g->refs);
	vec_done(&g->users);
	vec_done(&g->wts);
	vec_done(&g->asides);
	vec_done(&g->queue);
	vec_done(&g->ending);
	vec_done(&g->diff);
	buf_done(&g->lost);
	buf_done(&g->harm);
	mem_free(g->repo);
	mem_free(g);
}

struct sg_wt *sg_wt_find(const struct simgit *g, str path)
{
	struct sg_wt *w = path.n ? map_get(&g->wts_by_path, path) : NULL;

	return w && w->there ? w : NULL;
}

struct sg_wt *sg_wt_make(struct simgit *g, str path)
{
	struct sg_wt *w = map_get(&g->wts_by_path, path);

	if (w)
		return w;
	w = mem_zalloc(1, sizeof(*w));
	w->path = mem_dup(path.p, path.n);
	vec_push(&g->wts, w);
	map_put(&g->wts_by_path, str_from(w->path), w);
	return w;
}

void sg_left_clear(struct simgit *g, struct sg_wt *w)
{
	for (size_t i = 0; i < w->left.n; i++)
		sg_commit_drop(g, w->left.p[i]);
	vec_clear(&w->left);
}

void sg_wt_clear(struct simgit *g, struct sg_wt *w)
{
	sg_op_set(g, w, SG_NONE, NULL, 0);
	sg_head_set(g, w, NULL, 0);
	sg_tree_drop(g, &w->index);
	sg_tree_drop(g, &w->files);
	sg_tree_drop(g, &w->nested);
	vec_clear(&w->conflicts);
	sg_left_clear(g, w);
	w->there = w->folder = w->lock = false;
	w->branch = w->target = NULL;
}

uint32_t sg_head(const struct sg_wt *w)
{
	return w->on ? w->on->commit : w->at;
}

void sg_head_set(struct simgit *g, struct sg_wt *w, struct sg_ref *on, uint32_t at)
{
	uint32_t old = w->at;

	w->on = on;
	w->at = on ? 0 : sg_commit_ref(g, at);
	sg_commit_drop(g, old);
}

void sg_advance(struct simgit *g, struct sg_wt *w, uint32_t commit)
{
	if (w->on)
		sg_ref_set(g, w->on, commit);
	else
		sg_head_set(g, w, NULL, commit);
}

void sg_op_set(struct simgit *g, struct sg_wt *w, enum sg_op op, struct sg_ref *of, uint32_t other)
{
	uint32_t old = w->other;

	w->op = op;
	w->rebased = of;
	w->other = sg_commit_ref(g, other);
	sg_commit_drop(g, old);
}

bool sg_dirty(const struct simgit *g, const struct sg_wt *w)
{
	const struct sg_tree *head = &g->commits.p[sg_head(w)].tree;

	if (!w->folder)
		return false;
	return w->conflicts.n || !sg_same(&w->index, head) || !sg_same(&w->files, head);
}

bool sg_changed(struct simgit *g, const struct sg_wt *w)
{
	if (!w->folder)
		return false;
	if (w->conflicts.n || !sg_same(&w->index, &g->commits.p[sg_head(w)].tree))
		return true;
	sg_diff(g, &w->index, &w->files, &g->diff);
	for (size_t i = 0; i < g->diff.n; i++)
		if (g->diff.p[i].a)
			return true;
	return false;
}

/* Files that the index or the new tree knows become those of the new tree; others stay. */
void sg_hard(struct simgit *g, struct sg_wt *w, const struct sg_tree *to)
{
	struct sg_tree files = sg_tree_ref(g, w->files);

	sg_diff(g, &w->files, to, &g->diff);
	for (size_t i = 0; i < g->diff.n; i++) {
		struct sg_change *ch = &g->diff.p[i];

		if (ch->b || sg_get(g, &w->index, ch->path))
			sg_set(g, &files, ch->path, ch->b);
	}
	vec_clear(&w->conflicts);
	sg_tree_put(g, &w->index, *to);
	sg_tree_put(g, &w->files, files);
	sg_tree_drop(g, &files);
}

static bool movable(const struct simgit *g, const struct sg_wt *w, const struct sg_change *ch)
{
	uint32_t index = sg_get(g, &w->index, ch->path), file = sg_get(g, &w->files, ch->path);

	/* Staged just so; or gone already, if nothing that git does not know is there. */
	if (index == ch->b)
		return ch->b || !file;
	return index == ch->a && (!file || file == index);
}

void sg_overlap(struct simgit *g, const struct sg_wt *w, const struct sg_tree *from,
		const struct sg_tree *to, sg_changes *ret)
{
	sg_diff(g, from, to, &g->diff);
	for (size_t i = 0; i < g->diff.n; i++)
		if (!movable(g, w, &g->diff.p[i]))
			vec_push(ret, g->diff.p[i]);
	sg_by_name(g, ret);
}

bool sg_move(struct simgit *g, struct sg_wt *w, const struct sg_tree *from,
		const struct sg_tree *to)
{
	if (w->lock || w->conflicts.n)
		return false;
	sg_diff(g, from, to, &g->diff);
	for (size_t i = 0; i < g->diff.n; i++)
		if (!movable(g, w, &g->diff.p[i]))
			return false;
	for (size_t i = 0; i < g->diff.n; i++) {
		struct sg_change *ch = &g->diff.p[i];

		if (sg_get(g, &w->index, ch->path) == ch->b)
			continue;
		sg_set(g, &w->index, ch->path, ch->b);
		sg_set(g, &w->files, ch->path, ch->b);
	}
	return true;
}

struct sg_wt *sg_holder(const struct simgit *g, const struct sg_ref *branch)
{
	for (size_t i = 0; i < g->wts.n; i++) {
		struct sg_wt *w = g->wts.p[i];

		/*
		 * A worker's HEAD is in a git folder of its own, which holds no branch of the
		 * repository's.
		 */
		if (w->there && w->folder && w->on == branch && strcmp(w->path, g->repo) == 0)
			return w;
	}
	return NULL;
}

bool sg_commit_all(struct simgit *g, struct sg_wt *w, bool work)
{
	uint32_t parent[2] = { sg_head(w), w->op == SG_MERGE ? w->other : 0 }, c;

	sg_tree_put(g, &w->index, w->files);
	vec_clear(&w->conflicts);
	if (!parent[1] && sg_same(&w->index, &g->commits.p[parent[0]].tree))
		return false;
	c = sg_commit_new(g, &w->index, parent, parent[1] ? 2 : 1);
	g->commits.p[c].work = work;
	sg_advance(g, w, c);
	sg_commit_drop(g, c);
	if (parent[1])
		sg_op_set(g, w, SG_NONE, NULL, 0);
	return true;
}

bool simgit_ref(const struct simgit *g, str ref)
{
	const struct sg_ref *r = sg_ref_find(g, ref);

	return r && r->commit;
}

bool simgit_clean(const struct simgit *g, str tree)
{
	const struct sg_wt *w = sg_wt_find(g, tree);

	return w && w->folder && !sg_dirty(g, w) && w->op == SG_NONE && !w->lock;
}

str simgit_head(const struct simgit *g, str tree)
{
	const struct sg_wt *w = sg_wt_find(g, tree);
	str name = w && w->on ? str_from(w->on->name) : (str){ 0 };

	return str_sub(name, strlen("refs/heads/"), name.n);
}

uint32_t simgit_at_ref(const struct simgit *g, str ref, str path)
{
	const struct sg_ref *r = sg_ref_find(g, ref);

	return r ? sg_get(g, &g->commits.p[r->commit].tree, sg_known(&g->paths, path)) : 0;
}

uint32_t simgit_in_tree(const struct simgit *g, str tree, str path)
{
	const struct sg_wt *w = sg_wt_find(g, tree);

	return w ? sg_get(g, &w->files, sg_known(&g->paths, path)) : 0;
}

size_t simgit_files(const struct simgit *g, str ref)
{
	const struct sg_ref *r = sg_ref_find(g, ref);

	return r ? g->commits.p[r->commit].tree.n : 0;
}

str simgit_author(const struct simgit *g, uint32_t content)
{
	assert(content < g->contents.n);
	return sg_text(&g->authors, g->contents.p[content].author);
}
