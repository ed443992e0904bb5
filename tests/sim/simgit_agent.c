/* What agents do in their worktrees, as git would do it for them. */
#include "tests/sim/simgit_parts.h"

enum sg_actor sg_act_begin(struct simgit *g, enum sg_actor actor, const char *doing)
{
	enum sg_actor before = g->actor;

	if (actor == SG_USER)
		simgit_user_intact(g, NULL); /* judged before he changes it himself */
	g->actor = actor;
	g->doing = doing;
	return before;
}

int sg_act_end(struct simgit *g, enum sg_actor before, int r)
{
	if (g->actor == SG_USER)
		sg_shadow_take(g);
	g->actor = before;
	return r;
}

static struct sg_wt *worktree(const struct simgit *g, str tree)
{
	struct sg_wt *w = sg_wt_find(g, tree);

	return w && w->folder && w != g->wts.p[0] ? w : NULL;
}

/* git does not go elsewhere, begin a rebase or a merge in the middle of another. */
static int settled(const struct sg_wt *w)
{
	if (!w)
		return OV_ENOTFOUND;
	return w->op != SG_NONE || w->conflicts.n ? OV_ESTATE : 0;
}

/* The content that the file shall have: 0, none. */
static int put(struct simgit *g, str tree, uint32_t id, uint32_t content)
{
	struct sg_wt *w = worktree(g, tree);
	enum sg_actor before;
	uint32_t old;

	if (!w)
		return OV_ENOTFOUND;
	before = sg_act_begin(g, SG_AGENT, "an agent writes");
	old = sg_get(g, &w->files, id);
	/* An index with conflicts cannot be kept, so what it alone has is the agent's loss. */
	if (w->conflicts.n && old)
		g->contents.p[old].given_up = true;
	sg_set(g, &w->files, id, content);
	return sg_act_end(g, before, 0);
}

int simgit_agent_write(struct simgit *g, str tree, str path, str run)
{
	uint32_t id;

	if (!worktree(g, tree))
		return OV_ENOTFOUND;
	id = sg_name(&g->paths, path);
	return put(g, tree, id, sg_content_new(g, id, sg_name(&g->authors, run)));
}

int simgit_agent_delete(struct simgit *g, str tree, str path)
{
	return put(g, tree, sg_name(&g->paths, path), 0);
}

int simgit_agent_restore(struct simgit *g, str tree, str path, uint32_t content)
{
	uint32_t id = sg_name(&g->paths, path);

	assert(content && content < g->contents.n && g->contents.p[content].path == id);
	return put(g, tree, id, content);
}

int simgit_agent_stage(struct simgit *g, str tree)
{
	struct sg_wt *w = worktree(g, tree);
	enum sg_actor before;

	if (!w)
		return OV_ENOTFOUND;
	if (w->lock)
		return OV_ESTATE;
	before = sg_act_begin(g, SG_AGENT, "an agent stages");
	sg_tree_put(g, &w->index, w->files);
	vec_clear(&w->conflicts);
	return sg_act_end(g, before, 0);
}

int simgit_agent_commit(struct simgit *g, str tree, str run)
{
	struct sg_wt *w = worktree(g, tree);
	enum sg_actor before;

	(void)sg_name(&g->authors, run);
	if (!w)
		return OV_ENOTFOUND;
	if (w->lock)
		return OV_ESTATE;
	before = sg_act_begin(g, SG_AGENT, "an agent commits");
	sg_commit_all(g, w, true);
	return sg_act_end(g, before, 0);
}

int simgit_agent_checkout(struct simgit *g, str tree, str branch)
{
	struct sg_wt *w = worktree(g, tree);
	enum sg_actor before;
	struct sg_ref *ref = NULL;
	int r = settled(w);

	if (r < 0 || w->lock)
		return r < 0 ? r : OV_ESTATE;
	if (branch.n) {
		ref = sg_branch(g, branch);
		if (ref->commit)
			return OV_ESTATE;
	}
	before = sg_act_begin(g, SG_AGENT, "an agent goes to another branch");
	if (ref)
		sg_ref_set(g, ref, sg_head(w));
	sg_head_set(g, w, ref, sg_head(w));
	return sg_act_end(g, before, 0);
}

int simgit_agent_leave(struct simgit *g, str tree, str branch)
{
	struct sg_wt *w = worktree(g, tree);
	struct sg_ref *ref = sg_branch(g, branch);
	enum sg_actor before;
	int r = settled(w);

	if (r < 0)
		return r;
	if (!ref->commit || w->lock || sg_dirty(g, w))
		return OV_ESTATE;
	before = sg_act_begin(g, SG_AGENT, "an agent leaves its branch");
	if (!w->on)
		vec_push(&w->left, sg_commit_ref(g, w->at));
	sg_hard(g, w, &g->commits.p[ref->commit].tree);
	sg_head_set(g, w, NULL, ref->commit);
	return sg_act_end(g, before, 0);
}

int simgit_agent_reset(struct simgit *g, str tree)
{
	struct sg_wt *w = worktree(g, tree);
	enum sg_actor before;
	uint32_t to, head;
	int r = settled(w);

	if (r < 0)
		return r;
	head = sg_head(w);
	to = g->commits.p[head].parent[0];
	if (!to || w->lock)
		return OV_ESTATE;
	before = sg_act_begin(g, SG_AGENT, "an agent resets its branch");
	sg_give_up(g, head, to);
	vec_push(&w->left, sg_commit_ref(g, head));
	sg_hard(g, w, &g->commits.p[to].tree);
	sg_advance(g, w, to);
	return sg_act_end(g, before, 0);
}

/* What a merge left: its tree in the index, and for each conflict a word of the run's. */
static void show_merge(struct simgit *g, struct sg_wt *w, const struct sg_tree *merged,
		const sg_changes *conflicts, uint32_t author, bool resolve)
{
	sg_tree_put(g, &w->index, *merged);
	sg_tree_put(g, &w->files, *merged);
	vec_clear(&w->conflicts);
	for (size_t i = 0; i < conflicts->n; i++) {
		const struct sg_change *ch = &conflicts->p[i];
		uint32_t one = ch->a ? ch->a : ch->b; /* changed here, deleted there: it stays */

		if (resolve || (ch->a && ch->b))
			one = sg_content_new(g, ch->path, author);
		sg_set(g, &w->files, ch->path, one);
		sg_set(g, &w->index, ch->path, resolve ? one : ch->a ? ch->a : ch->b);
		if (!resolve)
			vec_push(&w->conflicts, ch->path);
	}
}

/* One commit on top of HEAD, which is detached; false: it stopped at conflicts. */
static bool pick(struct simgit *g, struct sg_wt *w, uint32_t commit, uint32_t author, bool resolve)
{
	uint32_t head = sg_head(w), parent = g->commits.p[commit].parent[0], made;
	sg_changes conflicts = { 0 };
	struct sg_tree t = sg_merge(g, &g->commits.p[parent].tree, &g->commits.p[head].tree,
			&g->commits.p[commit].tree, &conflicts);
	bool ok = resolve || !conflicts.n;

	show_merge(g, w, &t, &conflicts, author, resolve);
	if (ok && !sg_same(&w->index, &g->commits.p[head].tree)) {
		made = sg_commit_new(g, &w->index, &head, 1);
		g->commits.p[made].work = true;
		sg_head_set(g, w, NULL, made);
		sg_commit_drop(g, made);
	}
	sg_tree_drop(g, &t);
	vec_done(&conflicts);
	return ok;
}

/* Would a rebase onto it find no merges? */
static bool linear(struct simgit *g, uint32_t head, uint32_t onto)
{
	sg_ids ids = { 0 };
	bool ok = true;

	sg_between(g, onto, head, &ids);
	for (size_t i = 0; i < ids.n; i++)
		ok = ok && g->commits.p[ids.p[i]].parents == 1;
	vec_done(&ids);
	return ok;
}

static void rebase(struct simgit *g, struct sg_wt *w, uint32_t onto, uint32_t author, bool resolve)
{
	struct sg_ref *branch = w->on;
	uint32_t head = sg_head(w);
	sg_ids ids = { 0 };
	bool ok = true;

	sg_between(g, onto, head, &ids);
	sg_op_set(g, w, SG_REBASE, branch, head);
	sg_head_set(g, w, NULL, onto);
	sg_hard(g, w, &g->commits.p[onto].tree);
	for (size_t i = ids.n; ok && i-- > 0;)
		ok = pick(g, w, ids.p[i], author, resolve);
	vec_done(&ids);
	if (!ok)
		return;
	sg_give_up(g, head, sg_head(w));
	vec_push(&w->left, sg_commit_ref(g, head));
	sg_ref_set(g, branch, sg_head(w));
	sg_head_set(g, w, branch, 0);
	sg_op_set(g, w, SG_NONE, NULL, 0);
}

int simgit_agent_rebase(struct simgit *g, str tree, str onto, str run, enum simgit_left left)
{
	struct sg_wt *w = worktree(g, tree);
	struct sg_ref *with = sg_branch(g, onto);
	enum sg_actor before;
	int r = settled(w);

	if (r < 0)
		return r;
	if (!w->on || !with->commit || w->lock || !linear(g, sg_head(w), with->commit))
		return OV_ESTATE;
	before = sg_act_begin(g, SG_AGENT, "an agent rebases");
	sg_commit_all(g, w, true);
	if (!sg_is_ancestor(g, with->commit, sg_head(w)))
		rebase(g, w, with->commit, sg_name(&g->authors, run), left != SIMGIT_UNFINISHED);
	return sg_act_end(g, before, 0);
}

static void merge(struct simgit *g, struct sg_wt *w, uint32_t with, uint32_t author,
		enum simgit_left left)
{
	uint32_t head = sg_head(w), base = sg_merge_base(g, head, with);
	sg_changes conflicts = { 0 };
	struct sg_tree t;

	if (base == with)
		return;
	if (base == head) {
		sg_hard(g, w, &g->commits.p[with].tree);
		sg_advance(g, w, with);
		return;
	}
	t = sg_merge(g, &g->commits.p[base].tree, &g->commits.p[head].tree,
			&g->commits.p[with].tree, &conflicts);
	show_merge(g, w, &t, &conflicts, author, left != SIMGIT_UNFINISHED);
	sg_op_set(g, w, SG_MERGE, NULL, with);
	if (!conflicts.n || left == SIMGIT_FINISHED)
		sg_commit_all(g, w, true);
	sg_tree_drop(g, &t);
	vec_done(&conflicts);
}

int simgit_agent_merge(struct simgit *g, str tree, str with, str run, enum simgit_left left)
{
	struct sg_wt *w = worktree(g, tree);
	struct sg_ref *ref = sg_branch(g, with);
	enum sg_actor before;
	int r = settled(w);

	if (r < 0)
		return r;
	if (!ref->commit || w->lock)
		return OV_ESTATE;
	before = sg_act_begin(g, SG_AGENT, "an agent merges");
	sg_commit_all(g, w, true);
	merge(g, w, ref->commit, sg_name(&g->authors, run), left);
	return sg_act_end(g, before, 0);
}

int simgit_agent_nested(struct simgit *g, str tree, str run)
{
	struct sg_wt *w = worktree(g, tree);
	enum sg_actor before;
	uint32_t path;

	if (!w)
		return OV_ENOTFOUND;
	before = sg_act_begin(g, SG_AGENT, "an agent makes a repository inside");
	path = sg_name(&g->paths, STR(SG_NESTED));
	sg_set(g, &w->nested, path, sg_content_new(g, path, sg_name(&g->authors, run)));
	return sg_act_end(g, before, 0);
}

int simgit_agent_lock(struct simgit *g, str tree)
{
	struct sg_wt *w = worktree(g, tree);

	if (!w)
		return OV_ENOTFOUND;
	w->lock = true;
	return 0;
}

int simgit_agent_vanish(struct simgit *g, str tree)
{
	struct sg_wt *w = worktree(g, tree);
	enum sg_actor before;

	if (!w)
		return OV_ENOTFOUND;
	before = sg_act_begin(g, SG_AGENT, "an agent removes its folder");
	sg_tree_drop(g, &w->files);
	sg_tree_drop(g, &w->nested);
	w->folder = false;
	return sg_act_end(g, before, 0);
}
