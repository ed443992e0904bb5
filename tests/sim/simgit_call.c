/* What the calls have in common: steps, where they are cut off, and the rescue of a worktree. */
#include "tests/sim/simgit_parts.h"

#include "drive/git/git_call.h"

int simgit_steps(const struct simgit *g)
{
	return g->steps;
}

void simgit_between(struct simgit *g, simgit_between_fn *fn, void *user)
{
	g->between = fn;
	g->between_user = user;
}

void simgit_fail_at(struct simgit *g, int step)
{
	g->fail_at = step;
}

int sg_begin(struct sg_call *c, struct simgit *g, const char *name, str path, int steps,
		struct arena *a, struct ov_err *err)
{
	*c = (struct sg_call){ .g = g, .name = name, .a = a, .limit = steps };
	if (path.n && path.p[0] == '/')
		c->path = arena_cstr(a, path);
	else
		c->path = arena_printf(a, "%s/" STR_FMT, g->repo, STR_ARG(path)).p;
	g->steps = 0;
	c->wt = sg_wt_find(g, str_from(c->path));
	if (c->wt && c->wt == g->wts.p[0])
		return ov_fail(err, OV_EINVALID,
				"%s is the user's own checkout, not a worktree of ours", c->path);
	return 0;
}

int sg_step(struct sg_call *c, const char *what, struct ov_err *err)
{
	struct simgit *g = c->g;

	if (g->between)
		g->between(g->between_user, g->steps);
	if (g->fail_at == g->steps) {
		g->fail_at = -1;
		return ov_fail(err, OV_EIO, "cannot %s: no space left on device", what);
	}
	if (g->steps >= c->limit)
		return ov_fail(err, OV_EUNAVAILABLE, "cut off before it could %s", what);
	g->steps++;
	g->doing = what;
	return 0;
}

int sg_end(struct sg_call *c, int r, struct git_result *ret, struct ov_err *err)
{
	if (r == 0)
		r = sg_step(c, "tell the outcome", err);
	for (size_t i = 0; i < c->held_n; i++)
		sg_commit_drop(c->g, c->held[i]);
	c->g->doing = "nothing";
	if (r < 0)
		return ov_wrap(err, r, "%s of %s", c->name, c->path);
	*ret = c->res;
	return 0;
}

uint32_t sg_hold(struct sg_call *c, uint32_t commit)
{
	assert(c->held_n < ARRAY_LEN(c->held));
	c->held[c->held_n++] = commit;
	return commit;
}

int sg_check_rescue_ref(str ref, struct ov_err *err)
{
	if (str_starts(ref, STR("refs/overseer/")) && git_ref_valid(ref))
		return 0;
	return ov_fail(err, OV_EINVALID,
			"rescue ref \"" STR_FMT "\" must be a valid name under refs/overseer/",
			STR_ARG(ref));
}

int sg_target_missing(struct simgit *g, str target, struct ov_err *err)
{
	for (size_t i = 0; i < g->refs.n; i++)
		if (g->refs.p[i]->commit && sg_ref_under(g->refs.p[i], "refs/heads/"))
			return ov_fail(err, OV_ENOTFOUND, "branch " STR_FMT " does not exist in %s",
					STR_ARG(target), g->repo);
	return ov_fail(err, OV_ESTATE, "%s has no commit yet, so there is nothing to build on",
			g->repo);
}

/* rescue: see drive/worktree/git_rescue.c, of which this keeps the order and the decisions */

struct parents {
	uint32_t id[SG_PARENTS];
	size_t n;
};

static void add_parent(struct parents *p, uint32_t id)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->id[i] == id)
			return;
	if (id) {
		assert(p->n < SG_PARENTS);
		p->id[p->n++] = id;
	}
}

static bool kept_elsewhere(struct simgit *g, uint32_t commit, const struct sg_rescue *want)
{
	if (!commit)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(want->kept_by); i++)
		if (want->kept_by[i] && sg_is_ancestor(g, commit, want->kept_by[i]))
			return true;
	for (size_t i = 0; want->by_all && i < g->refs.n; i++) {
		const struct sg_ref *r = g->refs.p[i];

		if (!r->commit || r == want->by_refs || sg_ref_under(r, "refs/heads/overseer/"))
			continue;
		if (sg_is_ancestor(g, commit, r->commit))
			return true;
	}
	return false;
}

/* Rescuing the same index twice gives the same commit: it is found by the ref that has it. */
static uint32_t index_commit(struct sg_call *c, const struct sg_tree *tree, uint32_t head,
		uint32_t old)
{
	struct simgit *g = c->g;
	uint32_t id;

	for (uint32_t i = 0; i < g->commits.p[old].parents; i++) {
		const struct sg_commit *p = &g->commits.p[g->commits.p[old].parent[i]];

		if (p->index && sg_same(&p->tree, tree) && p->parent[0] == head)
			return g->commits.p[old].parent[i];
	}
	id = sg_hold(c, sg_commit_new(g, tree, &head, 1));
	g->commits.p[id].index = true;
	return id;
}

static bool ref_is_same(const struct simgit *g, uint32_t old, const struct sg_tree *tree,
		const struct parents *p)
{
	const struct sg_commit *c = &g->commits.p[old];

	if (!old || !sg_same(&c->tree, tree) || c->parents < p->n)
		return false;
	for (size_t i = 0; i < p->n; i++)
		if (c->parent[i] != p->id[i])
			return false;
	return true;
}

static int rescue_to(struct sg_call *c, struct sg_ref *ref, const struct sg_tree *tree,
		struct parents *p, bool head_only, struct ov_err *err)
{
	struct simgit *g = c->g;
	uint32_t old = ref->commit, id = 0;
	int r;

	if (ref_is_same(g, old, tree, p))
		id = old;
	else if (p->n == 1 && head_only && (!old || old == p->id[0]))
		id = p->id[0];
	if (!id) {
		add_parent(p, old);
		id = sg_hold(c, sg_commit_new(g, tree, p->id, p->n));
	}
	if (id != old) {
		r = sg_step(c, "set the rescue ref", err);
		if (r < 0)
			return r;
		sg_ref_set(g, ref, id);
	}
	c->res.rescue_ref = arena_str(c->a, str_from(ref->name));
	c->res.commit = sg_oid(c->a, id);
	return 0;
}

/* With the files of repositories inside, which are no part of the work; the caller drops it. */
static struct sg_tree with_nested(struct simgit *g, const struct sg_wt *w,
		const struct sg_tree *tree)
{
	struct sg_tree none = { 0 }, whole = { 0 };
	sg_changes ch = { 0 };

	sg_tree_put(g, &whole, *tree);
	if (w && w->folder && w->nested.n)
		sg_diff(g, &none, &w->nested, &ch);
	for (size_t i = 0; i < ch.n; i++)
		sg_set(g, &whole, ch.p[i].path, ch.p[i].b);
	vec_done(&ch);
	return whole;
}

int sg_nested_aside(struct sg_call *c, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *w = c->wt;
	int r;

	if (!w || !w->folder || !w->nested.n)
		return 0;
	r = sg_step(c, "put other repositories aside", err);
	if (r < 0)
		return r;
	vec_push(&g->asides, w->nested);
	vec_push(&g->asides, (struct sg_tree){ 0 });
	w->nested = (struct sg_tree){ 0 };
	c->res.detail = arena_printf(c->a,
			"\"nested\" in %s, which no commit has, moved to %s.aside-%zu", c->path,
			c->path, g->asides.n / 2);
	return 0;
}

/* As drive/worktree/git_strays.c. */

static bool kept_by_a_ref(struct simgit *g, uint32_t commit)
{
	for (size_t i = 0; i < g->refs.n; i++)
		if (g->refs.p[i]->commit && sg_is_ancestor(g, commit, g->refs.p[i]->commit))
			return true;
	return false;
}

size_t sg_strays(struct simgit *g, const struct sg_wt *w, uint32_t ret[static SG_STRAYS])
{
	size_t n = 0;

	for (size_t i = w ? w->left.n : 0; i-- > 0 && n < SG_STRAYS;)
		if (!sg_is_ancestor(g, w->left.p[i], sg_head(w)) && !kept_by_a_ref(g, w->left.p[i]))
			ret[n++] = w->left.p[i];
	return n;
}

void sg_publish(struct simgit *g, struct sg_wt *w, struct sg_ref *branch)
{
	if (!w || !w->folder)
		return;
	w->lock = false;
	sg_head_set(g, w, branch, 0);
	sg_op_set(g, w, SG_NONE, NULL, 0);
	sg_left_clear(g, w);
}

static bool all_kept(struct simgit *g, const uint32_t *commits, size_t n,
		const struct sg_rescue *want)
{
	for (size_t i = 0; i < n; i++)
		if (!kept_elsewhere(g, commits[i], want))
			return false;
	return true;
}

int sg_rescue(struct sg_call *c, const struct sg_rescue *want, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *w = c->wt;
	struct sg_ref *ref = sg_ref_make(g, want->ref);
	uint32_t head = w ? sg_head(w) : 0, other = w ? w->other : 0;
	struct sg_tree none = { 0 }, tree = w ? g->commits.p[head].tree : none, whole;
	bool staged = false, gone = w && !w->folder, nested = w && w->folder && w->nested.n;
	struct parents p = { 0 };
	uint32_t strays[SG_STRAYS];
	size_t strays_n = want->strays ? sg_strays(g, w, strays) : 0;
	int r;

	c->kept = kept_elsewhere(g, head, want) && kept_elsewhere(g, other, want) &&
			kept_elsewhere(g, want->branch, want) &&
			all_kept(g, strays, strays_n, want);
	if (!gone && (!w || !sg_dirty(g, w)) && c->kept && !nested)
		return 0;
	if (gone && c->kept && !w->conflicts.n && sg_same(&w->index, &tree))
		return 0;
	if (w && (gone || sg_dirty(g, w))) {
		staged = !w->conflicts.n;
		if (!gone)
			tree = w->files;
		else if (staged)
			tree = w->index;
	}
	add_parent(&p, head);
	if (staged && !sg_same(&w->index, &tree) && !sg_same(&w->index, &g->commits.p[head].tree))
		add_parent(&p, index_commit(c, &w->index, head, ref->commit));
	add_parent(&p, other);
	for (size_t i = 0; i < strays_n; i++)
		add_parent(&p, strays[i]);
	add_parent(&p, want->branch);
	if (!w)
		tree = g->commits.p[p.id[0]].tree;
	whole = with_nested(g, w, &tree);
	r = rescue_to(c, ref, &whole, &p, sg_same(&whole, &g->commits.p[p.id[0]].tree), err);
	sg_tree_drop(g, &whole);
	return r;
}
