/* What the user does in his checkout and with his branches. */
#include "tests/sim/simgit_parts.h"

static struct sg_wt *checkout(const struct simgit *g)
{
	return g->wts.p[0];
}

static int put(struct simgit *g, str path, bool there)
{
	struct sg_wt *w = checkout(g);
	enum sg_actor before = sg_act_begin(g, SG_USER, "the user writes");
	uint32_t id = sg_name(&g->paths, path);

	sg_set(g, &w->files, id, there ? sg_content_new(g, id, 0) : 0);
	return sg_act_end(g, before, 0);
}

int simgit_user_write(struct simgit *g, str path)
{
	return put(g, path, true);
}

int simgit_user_delete(struct simgit *g, str path)
{
	return put(g, path, false);
}

int simgit_user_stage(struct simgit *g)
{
	struct sg_wt *w = checkout(g);
	enum sg_actor before;

	if (w->lock)
		return OV_ESTATE;
	before = sg_act_begin(g, SG_USER, "the user stages");
	sg_tree_put(g, &w->index, w->files);
	return sg_act_end(g, before, 0);
}

int simgit_user_commit(struct simgit *g)
{
	struct sg_wt *w = checkout(g);
	enum sg_actor before;

	if (w->lock || w->op != SG_NONE)
		return OV_ESTATE;
	before = sg_act_begin(g, SG_USER, "the user commits");
	sg_commit_all(g, w, false);
	return sg_act_end(g, before, 0);
}

/* Has anybody the branch checked out, or in the middle of a rebase? */
static bool in_use(const struct simgit *g, const struct sg_ref *ref)
{
	for (size_t i = 0; i < g->wts.n; i++) {
		const struct sg_wt *w = g->wts.p[i];

		if (w->there && (w->on == ref || (w->op == SG_REBASE && w->rebased == ref)))
			return true;
	}
	return false;
}

int simgit_user_commit_on(struct simgit *g, str branch, str path)
{
	struct sg_ref *ref = sg_branch(g, branch);
	struct sg_tree t;
	enum sg_actor before;
	uint32_t id, c;

	if (!ref->commit)
		return OV_ENOTFOUND;
	if (in_use(g, ref))
		return OV_ESTATE;
	before = sg_act_begin(g, SG_USER, "the user commits on another branch");
	id = sg_name(&g->paths, path);
	t = sg_tree_ref(g, g->commits.p[ref->commit].tree);
	sg_set(g, &t, id, sg_content_new(g, id, 0));
	c = sg_commit_new(g, &t, &ref->commit, 1);
	sg_ref_set(g, ref, c);
	g->silent = c;
	sg_commit_drop(g, c);
	sg_tree_drop(g, &t);
	return sg_act_end(g, before, 0);
}

int simgit_user_branch(struct simgit *g, str branch)
{
	struct sg_wt *w = checkout(g);
	struct sg_ref *ref = sg_branch(g, branch);
	enum sg_actor before;

	if (ref->commit || w->op != SG_NONE || w->lock)
		return OV_ESTATE;
	before = sg_act_begin(g, SG_USER, "the user makes a branch");
	sg_ref_set(g, ref, sg_head(w));
	sg_head_set(g, w, ref, 0);
	return sg_act_end(g, before, 0);
}

int simgit_user_switch(struct simgit *g, str branch)
{
	struct sg_wt *w = checkout(g);
	struct sg_ref *ref = sg_branch(g, branch);
	enum sg_actor before;
	int r = OV_ESTATE;

	if (!ref->commit)
		return OV_ENOTFOUND;
	if (w->lock)
		return OV_ESTATE;
	if (w->on == ref)
		return 0;
	if (w->op != SG_NONE || in_use(g, ref))
		return OV_ESTATE;
	before = sg_act_begin(g, SG_USER, "the user switches branches");
	if (sg_move(g, w, &g->commits.p[sg_head(w)].tree, &g->commits.p[ref->commit].tree)) {
		sg_head_set(g, w, ref, 0);
		r = 0;
	}
	return sg_act_end(g, before, r);
}

int simgit_user_lock(struct simgit *g)
{
	enum sg_actor before = sg_act_begin(g, SG_USER, "the user's git is killed");

	checkout(g)->lock = true;
	return sg_act_end(g, before, 0);
}

int simgit_user_rebase(struct simgit *g)
{
	struct sg_wt *w = checkout(g);
	enum sg_actor before;
	uint32_t head = sg_head(w);

	if (w->op != SG_NONE || !w->on || w->lock || sg_changed(g, w) ||
			!g->commits.p[head].parents)
		return OV_ESTATE;
	before = sg_act_begin(g, SG_USER, "the user rebases");
	sg_op_set(g, w, SG_REBASE, w->on, head);
	sg_head_set(g, w, NULL, head);
	return sg_act_end(g, before, 0);
}

int simgit_user_clean(struct simgit *g)
{
	struct sg_wt *w = checkout(g);
	enum sg_actor before = sg_act_begin(g, SG_USER, "the user cleans up");

	w->lock = false;
	if (w->op == SG_REBASE) {
		sg_ref_set(g, w->rebased, w->other);
		sg_head_set(g, w, w->rebased, 0);
	}
	sg_op_set(g, w, SG_NONE, NULL, 0);
	sg_hard(g, w, &g->commits.p[sg_head(w)].tree);
	sg_tree_put(g, &w->files, w->index);
	return sg_act_end(g, before, 0);
}

int simgit_user_rename(struct simgit *g, str from, str to)
{
	struct sg_ref *a = sg_branch(g, from), *b = sg_branch(g, to);
	enum sg_actor before;

	if (!a->commit)
		return OV_ENOTFOUND;
	if (b->commit)
		return OV_ESTATE;
	for (size_t i = 0; i < g->wts.n; i++)
		if (g->wts.p[i]->op == SG_REBASE && g->wts.p[i]->rebased == a)
			return OV_ESTATE;
	before = sg_act_begin(g, SG_USER, "the user renames a branch");
	sg_ref_set(g, b, a->commit);
	for (size_t i = 0; i < g->wts.n; i++)
		if (g->wts.p[i]->there && g->wts.p[i]->on == a)
			sg_head_set(g, g->wts.p[i], b, 0);
	sg_ref_set(g, a, 0);
	return sg_act_end(g, before, 0);
}

int simgit_user_delete_branch(struct simgit *g, str branch)
{
	struct sg_ref *ref = sg_branch(g, branch);
	enum sg_actor before;

	if (!ref->commit)
		return OV_ENOTFOUND;
	if (in_use(g, ref))
		return OV_ESTATE;
	before = sg_act_begin(g, SG_USER, "the user deletes a branch");
	sg_ref_set(g, ref, 0);
	return sg_act_end(g, before, 0);
}

str simgit_target(const struct simgit *g, struct arena *a, bool *ret_silent)
{
	uint32_t head = g->target->commit;

	*ret_silent = head && head == g->silent;
	return head ? sg_oid(a, head) : STR("");
}
