/* rebase and advance: an accept in two parts, as drive/git/git.h says, with a gate between them. */
#include "tests/sim/simgit_parts.h"

#include "drive/git/git_call.h"

/* The branch is the candidate already: an earlier call got so far, and the target has not moved. */
static bool is_candidate(const struct simgit *g, const struct sg_accept *ac)
{
	const struct sg_commit *at = &g->commits.p[ac->at];

	return ac->keep && at->key == ac->key && at->parents == 1 && at->parent[0] == ac->onto;
}

/* What the ref keeps already is not let go of. */
static int keep(struct sg_call *c, struct sg_accept *ac, struct ov_err *err)
{
	struct simgit *g = c->g;
	uint32_t both[] = { ac->at, ac->keep }, id = ac->at;
	int r;

	if (ac->keep && sg_is_ancestor(g, ac->at, ac->keep))
		return 0;
	if (ac->keep)
		id = sg_hold(c, sg_commit_new(g, &g->commits.p[ac->at].tree, both, 2));
	r = sg_step(c, "keep the branch's commits", err);
	if (r == 0)
		sg_ref_set(g, ac->kept, id);
	return r;
}

/* New files that are in the way are rescued first. */
static int follow(struct sg_call *c, struct sg_accept *ac, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *w = c->wt;
	int r = sg_step(c, "let the branch follow", err);

	if (r < 0)
		return r;
	if (ac->branch->commit != ac->at)
		return ov_fail(err, OV_EIO, "branch %s moved meanwhile", ac->branch->name);
	if (w)
		w->lock = false; /* of the agent's index: ours is another */
	if (w && w->folder &&
			!sg_move(g, w, &g->commits.p[ac->at].tree,
					&g->commits.p[ac->commit].tree)) {
		r = sg_rescue(c, &(struct sg_rescue){ .ref = str_from(ac->kept->name) }, err);
		if (r == 0)
			r = sg_nested_aside(c, err);
		if (r == 0)
			r = sg_step(c, "let the branch follow by force", err);
		if (r < 0)
			return r;
		sg_diff(g, &g->commits.p[ac->at].tree, &g->commits.p[ac->commit].tree, &g->diff);
		for (size_t i = 0; i < g->diff.n; i++)
			sg_set(g, &w->files, g->diff.p[i].path, g->diff.p[i].b);
		sg_tree_put(g, &w->index, g->commits.p[ac->commit].tree);
	}
	/* Without a folder the agent's git folder stays as it is: it does not follow. */
	if (w && !w->folder && w->on == ac->branch)
		sg_head_set(g, w, NULL, ac->at);
	sg_ref_set(g, ac->branch, ac->commit);
	return 0;
}

/* The candidate, with the branch on it. */
static int make(struct sg_call *c, struct sg_accept *ac, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *holder;
	uint32_t base;
	int r = sg_may_begin(c, ac, err);

	if (r < 0)
		return r;
	ac->done = !sg_holder_ready(c, ac, &holder);
	if (ac->done)
		return 0;
	if (is_candidate(g, ac)) {
		ac->commit = ac->at;
		ac->done = !sg_beside(c, ac, holder);
		if (!ac->done)
			sg_publish(g, c->wt, ac->branch);
		return 0;
	}
	base = sg_merge_base(g, ac->at, ac->onto);
	if (!sg_squash(c, ac, base, &g->commits.p[ac->at].tree)) {
		if (c->res.outcome == GIT_CONFLICT)
			sg_publish(g, c->wt, ac->branch);
		ac->done = c->res.outcome != GIT_ALREADY;
		return 0;
	}
	ac->done = !sg_beside(c, ac, holder);
	if (ac->done)
		return 0;
	r = keep(c, ac, err);
	if (r == 0)
		r = follow(c, ac, err);
	if (r == 0)
		sg_publish(g, c->wt, ac->branch);
	return r;
}

static int rebase_steps(struct sg_call *c, const struct git_rebase *spec, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_accept ac = {
		.branch = sg_branch(g, spec->branch),
		.target = sg_branch(g, spec->target),
		.kept = sg_ref_make(g, spec->rescue_ref),
		.key = sg_name(&g->keys, spec->key),
	};
	uint32_t since;
	int r = 0;

	if (!ac.target->commit)
		return sg_target_missing(g, spec->target, err);
	ac.at = sg_hold(c, sg_commit_ref(g, ac.branch->commit));
	ac.onto = sg_hold(c, sg_commit_ref(g, ac.target->commit));
	ac.keep = ac.kept->commit;
	since = ac.keep ? ac.keep : ac.at;
	ac.commit = sg_key_search(g, ac.key, ac.onto, since ? sg_merge_base(g, since, ac.onto) : 0);
	if (ac.commit)
		c->res.outcome = GIT_ALREADY;
	else
		r = make(c, &ac, err);
	if (r < 0 || ac.done)
		return r;
	c->res.commit = sg_oid(c->a, ac.commit);
	c->res.base = sg_oid(c->a, ac.onto);
	c->res.rescue_ref = (str){ 0 };
	if (c->res.outcome == GIT_OK || ac.keep)
		c->res.rescue_ref = arena_str(c->a, spec->rescue_ref);
	return 0;
}

int simgit_rebase(struct simgit *g, const struct git_rebase *spec, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err)
{
	struct sg_call c;
	int r = sg_begin(&c, g, "rebase", spec->path, steps, a, err);

	if (r == 0)
		r = sg_check_branches(spec->branch, spec->target, err);
	if (r == 0)
		r = sg_check_key(spec->key, err);
	if (r == 0)
		r = sg_check_rescue_ref(spec->rescue_ref, err);
	if (r == 0)
		r = rebase_steps(&c, spec, err);
	return sg_end(&c, r, ret, err);
}

/* advance */

/* Of a candidate that is not next on the target, and of one that is gone. */
static void not_next(struct sg_call *c, struct sg_accept *ac)
{
	struct simgit *g = c->g;
	uint32_t since = ac->commit ? sg_merge_base(g, ac->commit, ac->onto) : 0;
	uint32_t found = sg_key_search(g, ac->key, ac->onto, since);

	c->res.outcome = found ? GIT_ALREADY : GIT_MOVED;
	if (found)
		c->res.commit = sg_oid(c->a, found);
	if (!ac->commit)
		c->res.detail = STR("the candidate is not in the repository any more");
}

static int advance_steps(struct sg_call *c, const struct git_advance *spec, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_accept ac = {
		.target = sg_branch(g, spec->target),
		.key = sg_name(&g->keys, spec->key),
		.commit = sg_commit_known(g, spec->candidate),
	};
	int r;

	if (!ac.target->commit)
		return sg_target_missing(g, spec->target, err);
	ac.onto = sg_hold(c, sg_commit_ref(g, ac.target->commit));
	if (ac.commit)
		sg_hold(c, sg_commit_ref(g, ac.commit));
	if (ac.commit && g->commits.p[ac.commit].key != ac.key)
		return ov_fail(err, OV_EINVALID, "commit " STR_FMT " is no candidate for " STR_FMT,
				STR_ARG(spec->candidate), STR_ARG(spec->key));
	if (!ac.commit || g->commits.p[ac.commit].parent[0] != ac.onto) {
		not_next(c, &ac);
		return 0;
	}
	r = sg_forward(c, &ac, err);
	if (r == 0 && !ac.done)
		c->res.commit = sg_oid(c->a, ac.commit);
	return r;
}

int simgit_advance(struct simgit *g, const struct git_advance *spec, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err)
{
	struct sg_call c;
	int r = sg_begin(&c, g, "advance", spec->path, steps, a, err);

	if (r == 0)
		r = sg_check_key(spec->key, err);
	if (r == 0 && !git_oid_valid(spec->candidate))
		r = ov_fail(err, OV_EINVALID, "\"" STR_FMT "\" is no commit",
				STR_ARG(spec->candidate));
	if (r == 0)
		r = advance_steps(&c, spec, err);
	/* Nothing that comes after the target moved makes it a failure. */
	if (r == 0 && c.res.commit.n)
		simgit_fail_at(g, -1);
	return sg_end(&c, r, ret, err);
}
