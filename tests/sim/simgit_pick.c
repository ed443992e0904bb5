/* revert, pick and predict, as drive/git/git.h says. */
#include "tests/sim/simgit_parts.h"

#include "drive/git/git_call.h"

/* Once the target is known; false: it is there already, or has to wait. */
static bool may_move(struct sg_call *c, struct sg_accept *ac, uint32_t since)
{
	struct simgit *g = c->g;
	struct sg_wt *holder;

	ac->commit = sg_key_search(g, ac->key, ac->onto, since);
	if (ac->commit) {
		c->res.outcome = GIT_ALREADY;
		c->res.commit = sg_oid(c->a, ac->commit);
		return false;
	}
	return sg_holder_ready(c, ac, &holder);
}

static int move(struct sg_call *c, struct sg_accept *ac, struct ov_err *err)
{
	int r = sg_forward(c, ac, err);

	if (r == 0 && !ac->done)
		c->res.commit = sg_oid(c->a, ac->commit);
	/* Nothing that comes after the target moved makes it a failure. */
	if (r == 0 && c->res.commit.n)
		simgit_fail_at(c->g, -1);
	return r;
}

static int revert_steps(struct sg_call *c, const struct git_revert *spec, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_accept ac = { .target = sg_branch(g, spec->target) };
	uint32_t what = sg_commit_known(g, spec->commit);

	/* Under another trailer: its key is no accept's. */
	ac.key = sg_name(&g->keys, arena_printf(c->a, "revert " STR_FMT, STR_ARG(spec->key)));
	if (!ac.target->commit)
		return sg_target_missing(g, spec->target, err);
	ac.onto = sg_hold(c, sg_commit_ref(g, ac.target->commit));
	if (!what || !g->commits.p[what].parents || !sg_is_ancestor(g, what, ac.onto))
		return ov_fail(err, OV_ESTATE, "commit " STR_FMT " is not on " STR_FMT,
				STR_ARG(spec->commit), STR_ARG(spec->target));
	if (!may_move(c, &ac, what))
		return 0;
	/* The way back is a merge of what was before, as seen from the commit. */
	if (!sg_squash(c, &ac, what, &g->commits.p[g->commits.p[what].parent[0]].tree)) {
		/* Somebody has taken it back by hand. */
		if (c->res.outcome == GIT_NO_CHANGES) {
			c->res.outcome = GIT_ALREADY;
			c->res.commit = sg_oid(c->a, ac.onto);
		}
		return 0;
	}
	return move(c, &ac, err);
}

int simgit_revert(struct simgit *g, const struct git_revert *spec, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err)
{
	struct sg_call c;
	int r;

	(void)sg_begin(&c, g, "revert", str_from(g->repo), steps, a, NULL);
	r = sg_check_key(spec->key, err);
	if (r == 0)
		r = revert_steps(&c, spec, err);
	return sg_end(&c, r, ret, err);
}

static int pick_steps(struct sg_call *c, const struct git_pick *spec, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_accept ac = {
		.target = sg_branch(g, spec->target),
		.key = sg_name(&g->keys, spec->key),
	};
	const struct sg_wt *w = c->wt;
	uint32_t base;
	int r;

	if (!w || !w->folder)
		return ov_fail(err, OV_ENOTFOUND, "%s is not a worktree of %s", c->path, g->repo);
	if (!ac.target->commit)
		return sg_target_missing(g, spec->target, err);
	ac.onto = sg_hold(c, sg_commit_ref(g, ac.target->commit));
	/* What is picked is what is kept. */
	r = sg_rescue(c, &(struct sg_rescue){ .ref = spec->rescue_ref, .kept_by = { ac.onto } },
			err);
	if (r < 0)
		return r;
	ac.at = c->res.commit.n ? sg_commit_known(g, c->res.commit) : sg_head(w);
	c->res.commit = (str){ 0 };
	if (w->conflicts.n)
		return ov_fail(err, OV_ESTATE, "%s has conflicts that are not resolved", c->path);
	base = sg_merge_base(g, sg_head(w), ac.onto);
	if (!may_move(c, &ac, base) || !sg_squash(c, &ac, base, &w->files))
		return 0;
	return move(c, &ac, err);
}

int simgit_pick(struct simgit *g, const struct git_pick *spec, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err)
{
	struct sg_call c;
	int r = sg_begin(&c, g, "pick", spec->path, steps, a, err);

	if (r == 0)
		r = sg_check_key(spec->key, err);
	if (r == 0)
		r = sg_check_rescue_ref(spec->rescue_ref, err);
	if (r == 0)
		r = pick_steps(&c, spec, err);
	return sg_end(&c, r, ret, err);
}

/* predict */

static int named(struct simgit *g, str name, uint32_t *ret, struct ov_err *err)
{
	uint32_t c = git_oid_valid(name) ? sg_commit_known(g, name) : sg_branch(g, name)->commit;

	if (!c)
		return ov_fail(err, OV_ENOTFOUND, "there is no commit or branch " STR_FMT,
				STR_ARG(name));
	*ret = c;
	return 0;
}

static int predict(struct sg_call *c, str one, str other, struct ov_err *err)
{
	struct simgit *g = c->g;
	sg_changes conflicts = { 0 };
	uint32_t a, b, base;
	struct sg_tree t;
	int r = named(g, one, &a, err);

	if (r == 0)
		r = named(g, other, &b, err);
	if (r < 0)
		return r;
	base = sg_merge_base(g, a, b);
	t = sg_merge(g, &g->commits.p[base].tree, &g->commits.p[a].tree, &g->commits.p[b].tree,
			&conflicts);
	if (conflicts.n)
		sg_tell_conflicts(c, &conflicts);
	sg_tree_drop(g, &t);
	vec_done(&conflicts);
	return 0;
}

int simgit_predict(struct simgit *g, str one, str other, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err)
{
	struct sg_call c;
	int r;

	(void)sg_begin(&c, g, "predict", str_from(g->repo), steps, a, NULL);
	r = predict(&c, one, other, err);
	return sg_end(&c, r, ret, err);
}
