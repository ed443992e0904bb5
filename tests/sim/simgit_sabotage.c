/* Breaking each truth on purpose, so that tests can show that it would be seen. */
#include "tests/sim/simgit_parts.h"

bool simgit_sabotage_drop_ref(struct simgit *g, str ref)
{
	struct sg_ref *r = sg_ref_find(g, ref);

	g->doing = "sabotage: a ref is dropped";
	if (!r || !r->commit)
		return false;
	sg_ref_set(g, r, 0);
	return true;
}

bool simgit_sabotage_reset(struct simgit *g, str tree)
{
	struct sg_wt *w = sg_wt_find(g, tree);

	g->doing = "sabotage: a reset without a rescue";
	if (!w || !w->folder || !sg_dirty(g, w))
		return false;
	sg_hard(g, w, &g->commits.p[sg_head(w)].tree);
	sg_tree_put(g, &w->files, w->index);
	return true;
}

bool simgit_sabotage_overwrite_user(struct simgit *g)
{
	struct sg_wt *w = g->wts.p[0];

	g->doing = "sabotage: a file of the user's is overwritten";
	sg_diff(g, &w->files, &g->commits.p[sg_head(w)].tree, &g->diff);
	if (!g->diff.n)
		return false;
	sg_set(g, &w->files, g->diff.p[0].path, g->diff.p[0].b);
	return true;
}

bool simgit_sabotage_index(struct simgit *g)
{
	struct sg_wt *w = g->wts.p[0];
	const struct sg_tree *head = &g->commits.p[sg_head(w)].tree;

	g->doing = "sabotage: the user's index is reset";
	if (sg_same(&w->index, head))
		return false;
	sg_tree_put(g, &w->index, *head);
	return true;
}

bool simgit_sabotage_branch(struct simgit *g, str branch)
{
	struct sg_ref *r = sg_branch(g, branch);

	g->doing = "sabotage: a branch is moved back";
	if (!r->commit || !r->users || !g->commits.p[r->commit].parents)
		return false;
	sg_ref_set(g, r, g->commits.p[r->commit].parent[0]);
	return true;
}

/* The tree of the branch (or of what an earlier accept kept of it) merged into the target's. */
static bool force(struct simgit *g, const struct git_accept *spec, bool part)
{
	struct arena a = ARENA_INIT;
	struct sg_ref *branch = sg_branch(g, spec->branch), *target = sg_branch(g, spec->target),
		      *kept = sg_ref_make(g, sg_kept_name(&a, spec->key));
	uint32_t from = kept->commit ? kept->commit : branch->commit, base, c;
	sg_changes conflicts = { 0 };
	struct sg_wt *holder = sg_holder(g, target);
	struct sg_tree t;

	arena_done(&a);
	g->doing = "sabotage: an accept of its own kind";
	if (!from || !target->commit)
		return false;
	base = sg_merge_base(g, from, target->commit);
	t = sg_merge(g, &g->commits.p[base].tree, &g->commits.p[target->commit].tree,
			&g->commits.p[from].tree, &conflicts);
	vec_done(&conflicts);
	sg_diff(g, &g->commits.p[target->commit].tree, &t, &g->diff);
	if (part && g->diff.n)
		sg_set(g, &t, g->diff.p[0].path, g->diff.p[0].a);
	c = sg_commit_new(g, &t, &target->commit, 1);
	sg_key_note(g, sg_name(&g->keys, spec->key), c);
	g->commits.p[c].of = from;
	g->commits.p[c].of_base = base;
	sg_ref_set(g, kept, from);
	if (!holder || sg_move(g, holder, &g->commits.p[target->commit].tree, &t))
		sg_ref_set(g, target, c);
	sg_commit_drop(g, c);
	sg_tree_drop(g, &t);
	return true;
}

bool simgit_sabotage_accept(struct simgit *g, const struct git_accept *spec)
{
	return force(g, spec, false);
}

bool simgit_sabotage_accept_part(struct simgit *g, const struct git_accept *spec)
{
	return force(g, spec, true);
}
