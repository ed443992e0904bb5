/* rebase and advance: an accept in two parts, as drive/git.h says, with a gate between them. */
#include "tests/sim/simgit_parts.h"

/* The branch is the candidate already: an earlier call got so far, and the target has not moved. */
static bool is_candidate(const struct simgit *g, const struct sg_accept *ac)
{
	const struct sg_commit *at = &g->commits.p[ac->at];

	return at->key == ac->key && at->parents == 1 && at->parent[0] == ac->onto &&
			!sg_same(&at->tree, &g->commits.p[ac->onto].tree);
}

static int follow(struct sg_call *c, struct sg_accept *ac, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *w = c->wt;
	int r = sg_step(c, "let the branch follow", err);

	if (r < 0)
		return r;
	if (ac->branch->commit != ac->at)
		return ov_fail(err, OV_EIO, "branch %s moved meanwhile", ac->branch->name);
	if (w && w->folder &&
			!sg_move(g, w, &g->commits.p[ac->at].tree, &g->commits.p[ac->commit].tree))
		return ov_fail(err, OV_ESTATE, "something is in the way in %s", c->path);
	sg_ref_set(g, ac->branch, ac->commit);
	return 0;
}

/* The candidate, with the branch on it. */
static int make(struct sg_call *c, struct sg_accept *ac, str rescue_ref, struct ov_err *err)
{
	struct simgit *g = c->g;
	uint32_t base = sg_merge_base(g, ac->at, ac->onto);
	int r;

	if (is_candidate(g, ac)) {
		ac->commit = ac->at;
		return 0;
	}
	if (!sg_squash(c, ac, &g->commits.p[base].tree, &g->commits.p[ac->at].tree)) {
		ac->done = true;
		return 0;
	}
	r = sg_rescue(c, &(struct sg_rescue){ .ref = rescue_ref, .branch = ac->at }, err);
	return r < 0 ? r : follow(c, ac, err);
}

static int rebase_steps(struct sg_call *c, const struct git_rebase *spec, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_accept ac = {
		.branch = sg_branch(g, spec->branch),
		.target = sg_branch(g, spec->target),
		.key = sg_name(&g->keys, spec->key),
	};
	struct sg_wt *holder;
	int r;

	if (c->wt)
		c->wt->lock = false;
	if (!ac.target->commit)
		return sg_target_missing(g, spec->target, err);
	ac.at = sg_hold(c, sg_commit_ref(g, ac.branch->commit));
	ac.onto = sg_hold(c, sg_commit_ref(g, ac.target->commit));
	ac.commit = sg_key_search(g, ac.key, ac.onto, 0);
	if (ac.commit) {
		c->res.outcome = GIT_ALREADY;
		c->res.commit = sg_oid(c->a, ac.commit);
		return 0;
	}
	r = sg_may_begin(c, &ac, err);
	if (r < 0 || !sg_holder_ready(c, &ac, &holder))
		return r;
	r = make(c, &ac, spec->rescue_ref, err);
	if (r == 0 && !ac.done) {
		c->res.commit = sg_oid(c->a, ac.commit);
		c->res.base = sg_oid(c->a, ac.onto);
	}
	return r;
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

static int advance_steps(struct sg_call *c, const struct git_advance *spec, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_accept ac = {
		.target = sg_branch(g, spec->target),
		.key = sg_name(&g->keys, spec->key),
		.commit = sg_commit_known(g, spec->candidate),
	};
	struct sg_wt *holder;
	uint32_t found;
	int r;

	if (!ac.target->commit)
		return sg_target_missing(g, spec->target, err);
	ac.onto = sg_hold(c, sg_commit_ref(g, ac.target->commit));
	found = sg_key_search(g, ac.key, ac.onto, 0);
	if (found) {
		c->res.outcome = GIT_ALREADY;
		c->res.commit = sg_oid(c->a, found);
		return 0;
	}
	if (!ac.commit)
		return ov_fail(err, OV_ENOTFOUND, "commit " STR_FMT " does not exist",
				STR_ARG(spec->candidate));
	sg_hold(c, sg_commit_ref(g, ac.commit));
	if (!sg_holder_ready(c, &ac, &holder))
		return 0;
	if (g->commits.p[ac.commit].parent[0] != ac.onto) {
		c->res.outcome = GIT_MOVED;
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
	if (r == 0)
		r = advance_steps(&c, spec, err);
	/* Nothing that comes after the target moved makes it a failure. */
	if (r == 0 && c.res.commit.n)
		simgit_fail_at(g, -1);
	return sg_end(&c, r, ret, err);
}
