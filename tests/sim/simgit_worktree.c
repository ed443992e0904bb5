/*
 * ensure, restore, remove and fingerprint: the order and the decisions of
 * drive/worktree/git_worktree.c.
 */
#include <stdio.h>

#include "tests/sim/simgit_parts.h"

#include "drive/git/git_call.h"
#include "drive/worktree/worktree.h"

/* ensure */

static bool stands_on(const struct sg_wt *w, const struct sg_ref *branch)
{
	return w && w->folder && w->branch == branch;
}

static int check_ensure(const struct git_ensure *spec, struct ov_err *err)
{
	if (!git_ref_valid(spec->branch) || !git_ref_valid(spec->target) ||
			str_eq(spec->branch, spec->target))
		return ov_fail(err, OV_EINVALID,
				"branch \"" STR_FMT "\" and target \"" STR_FMT
				"\" must be two valid names",
				STR_ARG(spec->branch), STR_ARG(spec->target));
	if (spec->start.n && !git_oid_valid(spec->start))
		return ov_fail(err, OV_EINVALID, "start \"" STR_FMT "\" is not a commit's name",
				STR_ARG(spec->start));
	return sg_check_rescue_ref(spec->rescue_ref, err);
}

/* What to go on from, and the base that goes with it. */
static uint32_t find_start(struct sg_call *c, str start, uint32_t target, uint32_t *ret_base)
{
	uint32_t from = sg_commit_known(c->g, start), base;

	*ret_base = target;
	if (start.n && !from)
		c->res.detail = arena_printf(c->a,
				"commit " STR_FMT " that was left to go on from cannot be read",
				STR_ARG(start));
	if (!from)
		return target;
	base = sg_merge_base(c->g, from, target);
	if (base == from)
		return target;
	if (base)
		*ret_base = base;
	return from;
}

static int add_worktree(struct sg_call *c, uint32_t start, struct ov_err *err)
{
	struct simgit *g = c->g;
	int r = sg_step(c, "add the worktree", err);

	if (r < 0)
		return r;
	c->wt = sg_wt_make(g, str_from(c->path));
	c->wt->there = c->wt->folder = true;
	sg_head_set(g, c->wt, NULL, start);
	sg_tree_put(g, &c->wt->index, g->commits.p[start].tree);
	sg_tree_put(g, &c->wt->files, g->commits.p[start].tree);
	return 0;
}

static int reset_worktree(struct sg_call *c, uint32_t start, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *w = c->wt;
	int r;

	if (w->op != SG_NONE) {
		r = sg_step(c, "forget what was left unfinished", err);
		if (r < 0)
			return r;
		sg_op_set(g, w, SG_NONE, NULL, 0);
	}
	r = sg_step(c, "reset the worktree", err);
	if (r < 0)
		return r;
	sg_hard(g, w, &g->commits.p[start].tree);
	sg_head_set(g, w, NULL, start);
	r = sg_step(c, "clean the worktree", err);
	if (r < 0)
		return r;
	sg_tree_put(g, &w->files, w->index);
	return 0;
}

static int ensure_worktree(struct sg_call *c, uint32_t start, struct ov_err *err)
{
	int r;

	if (c->wt && !c->wt->folder) {
		r = sg_step(c, "unregister the lost worktree", err);
		if (r < 0)
			return r;
		sg_wt_clear(c->g, c->wt);
		c->wt = NULL;
	}
	return c->wt ? reset_worktree(c, start, err) : add_worktree(c, start, err);
}

static int ensure_branch(struct sg_call *c, const struct git_ensure *spec, uint32_t start,
		struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *w = c->wt;
	struct sg_ref *branch = sg_branch(g, spec->branch);
	int r = sg_step(c, "set the branch", err);

	if (r < 0)
		return r;
	sg_ref_set(g, branch, start);
	r = sg_step(c, "make the agent's git folder", err);
	if (r < 0)
		return r;
	sg_publish(g, w, branch);
	r = sg_step(c, "note what it is for", err);
	if (r < 0)
		return r;
	w->branch = branch;
	w->target = sg_branch(g, spec->target);
	return 0;
}

static int ensure_steps(struct sg_call *c, const struct git_ensure *spec, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_ref *branch = sg_branch(g, spec->branch), *target = sg_branch(g, spec->target);
	struct sg_wt *w = c->wt, *holder;
	struct sg_ref *was = !w ? NULL : w->branch ? w->branch : w->former;
	uint32_t head = w ? sg_head(w) : 0, start, base;
	int r;

	if (!target->commit)
		return sg_target_missing(g, spec->target, err);
	if (stands_on(w, branch)) {
		base = sg_merge_base(g, head, target->commit);
		c->res.base = sg_oid(c->a, base ? base : target->commit);
		return 0;
	}
	holder = sg_holder(g, branch);
	if (holder)
		return ov_fail(err, OV_ECONFLICT, "branch " STR_FMT " is checked out in %s",
				STR_ARG(spec->branch), holder->path);
	start = sg_hold(c, sg_commit_ref(g, find_start(c, spec->start, target->commit, &base)));
	if (w)
		w->lock = false;
	r = sg_rescue(c,
			&(struct sg_rescue){ .ref = spec->rescue_ref,
					.branch = branch->commit,
					.strays = true,
					.kept_by = { target->commit, start } },
			err);
	if (r == 0)
		r = sg_nested_aside(c, err);
	if (r == 0 && w) {
		w->former = was;
		w->branch = NULL;
	}
	if (r == 0)
		r = ensure_worktree(c, start, err);
	if (r == 0)
		c->wt->former = was;
	if (r == 0)
		r = ensure_branch(c, spec, start, err);
	if (r < 0)
		return r;
	c->res.base = sg_oid(c->a, base);
	if (!sg_ref_under(was, "refs/heads/overseer/") || was == branch || !was->commit ||
			!(sg_is_ancestor(g, was->commit, target->commit) ||
					sg_is_ancestor(g, was->commit, start)))
		return 0;
	r = sg_step(c, "remove the accepted branch", err);
	if (r == 0)
		sg_ref_set(g, was, 0);
	return r;
}

int simgit_ensure(struct simgit *g, const struct git_ensure *spec, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err)
{
	struct sg_call c;
	int r = sg_begin(&c, g, "ensure", spec->path, steps, a, err);

	if (r == 0)
		r = check_ensure(spec, err);
	if (r == 0)
		r = ensure_steps(&c, spec, err);
	return sg_end(&c, r, ret, err);
}

/* rescue */

int simgit_rescue(struct simgit *g, str path, str base, str ref, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err)
{
	struct sg_call c;
	int r = sg_begin(&c, g, "rescue", path, steps, a, err);

	if (r == 0)
		r = sg_check_rescue_ref(ref, err);
	if (r == 0 && (!c.wt || !c.wt->folder))
		r = ov_fail(err, OV_ENOTFOUND, "%s is not a worktree of %s", c.path, g->repo);
	if (r == 0)
		r = sg_rescue(&c,
				&(struct sg_rescue){ .ref = ref,
						.kept_by = { sg_commit_known(g, base) },
						.by_all = !base.n },
				err);
	return sg_end(&c, r, ret, err);
}

/* restore */

static int restore_files(struct sg_call *c, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *w = c->wt;
	int r = sg_step(c, "restore the files", err);

	if (r < 0)
		return r;
	sg_hard(g, w, &g->commits.p[sg_head(w)].tree);
	r = sg_step(c, "remove what is new", err);
	if (r == 0)
		sg_tree_put(g, &w->files, w->index);
	return r;
}

static int restore_steps(struct sg_call *c, str rescue_ref, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *w = c->wt;
	bool dirty, nested, renewed;
	int r;

	if (!w)
		return ov_fail(err, OV_ENOTFOUND, "%s is not a worktree of %s", c->path, g->repo);
	dirty = sg_dirty(g, w);
	nested = w->folder && w->nested.n;
	renewed = w->folder && w->branch && (dirty || w->lock || nested);
	if (!dirty && !renewed && !w->nested.n)
		return 0;
	r = sg_rescue(c,
			&(struct sg_rescue){ .ref = rescue_ref,
					.branch = renewed ? w->branch->commit : 0,
					.strays = renewed,
					.kept_by = { sg_head(w) } },
			err);
	if (r == 0)
		r = sg_nested_aside(c, err);
	if (r == 0 && (dirty || nested))
		r = restore_files(c, err);
	if (r == 0 && renewed)
		r = sg_step(c, "make the agent's git folder", err);
	if (r < 0 || !renewed)
		return r;
	sg_ref_set(g, w->branch, sg_head(w));
	sg_publish(g, w, w->branch);
	return 0;
}

int simgit_restore(struct simgit *g, str path, str rescue_ref, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err)
{
	struct sg_call c;
	int r = sg_begin(&c, g, "restore", path, steps, a, err);

	if (r == 0)
		r = sg_check_rescue_ref(rescue_ref, err);
	if (r == 0)
		r = restore_steps(&c, rescue_ref, err);
	return sg_end(&c, r, ret, err);
}

/* remove */

/* A folder with repositories of their own goes beside the worktree, as it is. */
static int move_aside(struct sg_call *c, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *w = c->wt;
	int r = sg_step(c, "move the folder aside", err);

	if (r < 0)
		return r;
	vec_push(&g->asides, w->nested);
	vec_push(&g->asides, w->files);
	w->nested = w->files = (struct sg_tree){ 0 };
	w->folder = false;
	c->res.detail = arena_printf(c->a, "%s was moved to %s.aside-%zu", c->path, c->path,
			g->asides.n / 2);
	return 0;
}

static int remove_branch(struct sg_call *c, struct sg_ref *branch, uint32_t was, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *w = c->wt;
	int r;

	if (w->on == branch) {
		r = sg_step(c, "leave the branch", err);
		if (r < 0)
			return r;
		sg_head_set(g, w, NULL, sg_head(w));
	}
	if (!was)
		return 0;
	r = sg_step(c, "remove the branch", err);
	if (r < 0)
		return r;
	if (branch->commit != was)
		return ov_fail(err, OV_EIO, "cannot remove the branch: it moved");
	sg_ref_set(g, branch, 0);
	return 0;
}

static int remove_steps(struct sg_call *c, str rescue_ref, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *w = c->wt;
	struct sg_ref *branch;
	uint32_t was;
	int r;

	if (!w)
		return 0;
	w->lock = false;
	branch = w->branch;
	if (!branch && sg_ref_under(w->on, "refs/heads/overseer/"))
		branch = w->on;
	was = branch ? branch->commit : 0;
	r = sg_rescue(c,
			&(struct sg_rescue){ .ref = rescue_ref,
					.branch = was,
					.strays = true,
					.by_all = true,
					.by_refs = branch },
			err);
	if (r == 0 && w->folder && w->nested.n)
		r = move_aside(c, err);
	if (r == 0 && branch)
		r = remove_branch(c, branch, was, err);
	if (r == 0)
		r = sg_step(c, "remove the worktree", err);
	if (r == 0)
		sg_wt_clear(g, w);
	return r;
}

int simgit_remove(struct simgit *g, str path, str rescue_ref, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err)
{
	struct sg_call c;
	int r = sg_begin(&c, g, "remove", path, steps, a, err);

	if (r == 0)
		r = sg_check_rescue_ref(rescue_ref, err);
	if (r == 0)
		r = remove_steps(&c, rescue_ref, err);
	return sg_end(&c, r, ret, err);
}

/* fingerprint */

int simgit_fingerprint(struct simgit *g, str path, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err)
{
	struct sg_call c;
	const struct sg_wt *w;
	uint64_t on;
	int r = 0;

	/* Looking is allowed in the user's checkout too. */
	(void)sg_begin(&c, g, "fingerprint", path, steps, a, NULL);
	w = c.wt;
	if (!w || !w->folder)
		r = ov_fail(err, OV_ENOTFOUND, "%s is not a worktree of %s", c.path, g->repo);
	if (r == 0) {
		on = str_hash(str_from(w->on ? w->on->name : "detached"), 1);
		c.res.fingerprint = arena_printf(a, "%016llx%016llx%016llx%08x%08x",
				(unsigned long long)on, (unsigned long long)w->index.sum,
				(unsigned long long)(w->files.sum + 3 * w->nested.sum), sg_head(w),
				(unsigned)w->conflicts.n);
	}
	return sg_end(&c, r, ret, err);
}
