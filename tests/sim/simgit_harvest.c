/*
 * harvest: the order and the decisions of drive/worktree/git_harvest.c and
 * drive/worktree/git_unfinished.c.
 */
#include "tests/sim/simgit_parts.h"

#include "drive/git/git_call.h"

/* What either of two commits has becomes as `to` says; other files stay. */
static void go_back(struct simgit *g, struct sg_wt *w, uint32_t from, uint32_t to)
{
	const struct sg_tree *tree = &g->commits.p[to].tree;
	sg_changes ch = { 0 };

	sg_diff(g, &g->commits.p[from].tree, tree, &ch);
	for (size_t i = 0; i < ch.n; i++)
		sg_set(g, &w->files, ch.p[i].path, ch.p[i].b);
	vec_clear(&ch);
	sg_diff(g, &w->files, tree, &ch);
	for (size_t i = 0; i < ch.n; i++)
		if (ch.p[i].b)
			sg_set(g, &w->files, ch.p[i].path, ch.p[i].b);
	vec_done(&ch);
	sg_tree_put(g, &w->index, *tree);
	vec_clear(&w->conflicts);
}

/* Of a rebase the worktree's branch counts, also where it was one of another branch. */
static int abort_unfinished(struct sg_call *c, struct sg_ref *branch, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *w = c->wt;
	int r;

	/* A merge without conflicts left is concluded by the commit. */
	if (w->op == SG_NONE || (w->op == SG_MERGE && !w->conflicts.n))
		return 0;
	r = sg_nested_aside(c, err);
	if (r == 0)
		r = sg_step(c, "take back what was left unfinished", err);
	if (r < 0)
		return r;
	if (w->op == SG_MERGE) {
		go_back(g, w, w->other, sg_head(w));
	} else {
		if (!branch->commit)
			sg_ref_set(g, branch, w->other);
		go_back(g, w, sg_head(w), branch->commit);
		sg_head_set(g, w, branch, 0);
	}
	sg_op_set(g, w, SG_NONE, NULL, 0);
	return 0;
}

/* HEAD comes back to the branch with the branch moved to it. */
static int attach(struct sg_call *c, struct sg_ref *branch, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *w = c->wt;
	int r;

	if (w->on == branch)
		return 0;
	if (sg_head(w) != branch->commit) {
		r = sg_step(c, "move the branch to HEAD", err);
		if (r < 0)
			return r;
		sg_ref_set(g, branch, sg_head(w));
	}
	r = sg_step(c, "attach HEAD to the branch", err);
	if (r == 0)
		sg_head_set(g, w, branch, 0);
	return r;
}

static int commit_leftovers(struct sg_call *c, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *w = c->wt;
	int r;

	if (!c->res.leftovers)
		return 0;
	r = sg_step(c, "add the leftovers", err);
	if (r < 0)
		return r;
	sg_tree_put(g, &w->index, w->files);
	vec_clear(&w->conflicts);
	c->res.leftovers = !sg_same(&w->index, &g->commits.p[sg_head(w)].tree) || w->op == SG_MERGE;
	if (!c->res.leftovers)
		return 0;
	r = sg_step(c, "commit the leftovers", err);
	if (r == 0)
		sg_commit_all(g, w, true);
	return r;
}

static int find_base(struct sg_call *c, str given, uint32_t head, uint32_t *ret, struct ov_err *err)
{
	struct simgit *g = c->g;
	uint32_t base = sg_commit_known(g, given), found,
		 with = c->wt->target ? c->wt->target->commit : 0;

	*ret = base;
	if (base && sg_is_ancestor(g, base, head))
		return 0;
	if (!with)
		with = base;
	if (!with)
		return ov_fail(err, OV_ENOTFOUND, "the base commit of %s is not known", c->path);
	found = sg_merge_base(g, head, with);
	*ret = found ? found : base ? base : with;
	return 0;
}

/* The paths that differ, within the bounds of a list; all of them are counted. */
static size_t list_files(struct sg_call *c, uint32_t base, uint32_t head, const str **ret,
		size_t *ret_n)
{
	struct simgit *g = c->g;
	sg_changes ch = { 0 };
	size_t bytes = 0, n = 0, all;
	str *list;

	sg_diff(g, &g->commits.p[base].tree, &g->commits.p[head].tree, &ch);
	sg_by_name(g, &ch);
	list = arena_array(c->a, str, MIN(ch.n, (size_t)GIT_LISTED));
	for (size_t i = 0; i < ch.n && n < GIT_LISTED; i++) {
		str name = sg_text(&g->paths, ch.p[i].path);

		bytes += name.n;
		if (bytes > GIT_LISTED_BYTES)
			break;
		list[n++] = arena_str(c->a, name);
	}
	*ret = list;
	*ret_n = n;
	all = ch.n;
	vec_done(&ch);
	return all;
}

/* They are the last commit of the branch, also when a call that was cut off made it. */
static void list_leftovers(struct sg_call *c, uint32_t head)
{
	const struct sg_commit *last = &c->g->commits.p[head];

	if (c->res.leftovers && last->parents)
		(void)list_files(c, last->parent[0], head, &c->res.leftover_files,
				&c->res.leftover_files_n);
}

static void list_commits(struct sg_call *c, uint32_t base, uint32_t head)
{
	sg_ids ids = { 0 };
	str *list;

	sg_between(c->g, base, head, &ids);
	c->res.commits = (int64_t)ids.n;
	c->res.commit_ids_n = MIN(ids.n, (size_t)GIT_LISTED);
	list = arena_array(c->a, str, c->res.commit_ids_n);
	for (size_t i = 0; i < c->res.commit_ids_n; i++)
		list[i] = sg_oid(c->a, ids.p[i]);
	c->res.commit_ids = list;
	vec_done(&ids);
}

static int harvest_told(struct sg_call *c, str base_oid, str rescue_ref, uint32_t was,
		struct ov_err *err)
{
	struct simgit *g = c->g;
	const struct sg_ref *ref = sg_ref_find(g, rescue_ref);
	uint32_t head = sg_head(c->wt), kept = ref ? ref->commit : 0, base;
	int r = find_base(c, base_oid, head, &base, err);

	if (r < 0)
		return r;
	c->res.base = sg_oid(c->a, base);
	c->res.head = sg_oid(c->a, head);
	c->res.tree = arena_printf(c->a, "%08x%016llx%016llx", g->commits.p[head].tree.n,
			(unsigned long long)g->commits.p[head].tree.sum,
			(unsigned long long)~g->commits.p[head].tree.sum);
	/* A repeated call: the one that was cut off rescued and committed the leftovers. */
	if (!c->res.rescue_ref.n && kept && kept != head &&
			sg_same(&g->commits.p[kept].tree, &g->commits.p[head].tree)) {
		c->res.rescue_ref = arena_str(c->a, rescue_ref);
		c->res.leftovers = true;
	}
	/* So it is where the files of a repository inside were rescued with them. */
	if (c->res.rescue_ref.n && was && was != kept && c->wt->nested.n &&
			sg_same(&g->commits.p[was].tree, &g->commits.p[kept].tree))
		c->res.leftovers = true;
	list_commits(c, base, head);
	c->res.files_changed = (int64_t)list_files(c, base, head, &c->res.files, &c->res.files_n);
	list_leftovers(c, head);
	return 0;
}

static int harvest_steps(struct sg_call *c, str base, str rescue_ref, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *w = c->wt;
	uint32_t strays[SG_STRAYS];
	const struct sg_ref *ref = sg_ref_find(g, rescue_ref);
	uint32_t was = ref ? ref->commit : 0;
	struct sg_ref *branch;
	bool moved, settled;
	int r = 0;

	if (!w || !w->folder)
		return ov_fail(err, OV_ENOTFOUND, "%s is not a worktree of %s", c->path, g->repo);
	branch = w->branch ? w->branch : w->on;
	if (!branch)
		return ov_fail(err, OV_ESTATE, "%s stands on no branch, and none is noted for it",
				c->path);
	moved = w->on != branch && branch->commit && !sg_is_ancestor(g, branch->commit, sg_head(w));
	c->res.leftovers = sg_dirty(g, w);
	settled = w->on == branch && w->op == SG_NONE && !c->res.leftovers && !w->lock;
	if (c->res.leftovers || moved || w->op != SG_NONE || sg_strays(g, w, strays) || w->nested.n)
		r = sg_rescue(c,
				&(struct sg_rescue){ .ref = rescue_ref,
						.branch = branch->commit,
						.strays = true,
						.kept_by = { sg_commit_known(g, base) } },
				err);
	if (r == 0 && w->nested.n)
		c->res.detail = STR("not part of the work, since each is a repository of its own: "
				    "\"nested\"");
	if (r == 0)
		r = abort_unfinished(c, branch, err);
	if (r == 0)
		r = attach(c, branch, err);
	if (r == 0)
		r = commit_leftovers(c, err);
	/* Who committed all of it has the folder that we would make. */
	if (r == 0 && !settled)
		sg_publish(g, w, branch);
	return r < 0 ? r : harvest_told(c, base, rescue_ref, was, err);
}

int simgit_harvest(struct simgit *g, str path, str base, str rescue_ref, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err)
{
	struct sg_call c;
	int r = sg_begin(&c, g, "harvest", path, steps, a, err);

	if (r == 0 && base.n && !git_oid_valid(base))
		r = ov_fail(err, OV_EINVALID, "base \"" STR_FMT "\" is not a commit's name",
				STR_ARG(base));
	if (r == 0)
		r = sg_check_rescue_ref(rescue_ref, err);
	if (r == 0)
		r = harvest_steps(&c, base, rescue_ref, err);
	return sg_end(&c, r, ret, err);
}
