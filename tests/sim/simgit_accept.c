/* accept: the order and the decisions of drive/git_accept.c, and what its parts share. */
#include "tests/sim/simgit_parts.h"

#include "data/id/sha256.h"
#include "drive/git/git_call.h"

int sg_check_key(str key, struct ov_err *err)
{
	bool ok = key.n > 0 && key.n <= 200;

	for (size_t i = 0; i < key.n; i++)
		ok = ok && key.p[i] > ' ' && key.p[i] <= '~';
	if (!ok)
		return ov_fail(err, OV_EINVALID,
				"accept key \"" STR_FMT "\" must be one word of visible ASCII",
				STR_ARG(key));
	return 0;
}

int sg_check_branches(str branch, str target, struct ov_err *err)
{
	if (git_ref_valid(branch) && git_ref_valid(target) && !str_eq(branch, target))
		return 0;
	return ov_fail(err, OV_EINVALID,
			"cannot accept branch \"" STR_FMT "\" into \"" STR_FMT "\"",
			STR_ARG(branch), STR_ARG(target));
}

uint32_t sg_key_search(struct simgit *g, uint32_t key, uint32_t target, uint32_t since)
{
	uint32_t found = 0;

	for (uint32_t id = key < g->key_last.n ? g->key_last.p[key] : 0; id;
			id = g->commits.p[id].same_key) {
		if (!g->commits.p[id].refs || !sg_is_ancestor(g, id, target))
			continue;
		if (!since || id == since || !sg_is_ancestor(g, id, since))
			found = id;
	}
	return found;
}

bool sg_holder_ready(struct sg_call *c, const struct sg_accept *ac, struct sg_wt **ret)
{
	struct simgit *g = c->g;

	*ret = sg_holder(g, ac->target);
	for (size_t i = 0; i < g->wts.n; i++)
		if (g->wts.p[i]->there && g->wts.p[i]->op == SG_REBASE &&
				g->wts.p[i]->rebased == ac->target) {
			c->res.outcome = GIT_DIRTY;
			c->res.detail = arena_printf(c->a, "branch %s is being rebased",
					ac->target->name + strlen("refs/heads/"));
			return false;
		}
	if (!*ret || (*ret)->op == SG_NONE)
		return true;
	c->res.outcome = GIT_DIRTY;
	c->res.detail = arena_printf(c->a, "something is not finished in %s", (*ret)->path);
	return false;
}

bool sg_beside(struct sg_call *c, const struct sg_accept *ac, struct sg_wt *holder)
{
	struct simgit *g = c->g;
	sg_changes found = { 0 };
	str *list;

	if (holder)
		sg_overlap(g, holder, &g->commits.p[ac->onto].tree, &g->commits.p[ac->commit].tree,
				&found);
	if (!found.n)
		return true;
	list = arena_array(c->a, str, found.n);
	for (size_t i = 0; i < found.n; i++)
		list[i] = arena_str(c->a, sg_text(&g->paths, found.p[i].path));
	c->res.outcome = GIT_DIRTY;
	c->res.files = list;
	c->res.files_n = MIN(found.n, (size_t)GIT_LISTED);
	c->res.files_changed = (int64_t)found.n;
	c->res.detail = arena_printf(c->a, "%s has uncommitted changes", holder->path);
	vec_done(&found);
	return false;
}

void sg_tell_conflicts(struct sg_call *c, sg_changes *ch)
{
	struct buf b = BUF_INIT;

	sg_by_name(c->g, ch);
	for (size_t i = 0; i < ch->n; i++) {
		str name = sg_text(&c->g->paths, ch->p[i].path);

		buf_addf(&b, "%s" STR_FMT, i ? "\n" : "", STR_ARG(name));
	}
	c->res.outcome = GIT_CONFLICT;
	c->res.detail = arena_str(c->a, buf_str(&b));
	buf_done(&b);
}

void sg_key_note(struct simgit *g, uint32_t key, uint32_t commit)
{
	while (g->key_last.n <= key)
		vec_push(&g->key_last, 0);
	g->commits.p[commit].key = key;
	g->commits.p[commit].same_key = g->key_last.p[key];
	g->key_last.p[key] = commit;
}

bool sg_squash(struct sg_call *c, struct sg_accept *ac, uint32_t base, const struct sg_tree *work)
{
	struct simgit *g = c->g;
	sg_changes conflicts = { 0 };
	struct sg_tree t = sg_merge(g, &g->commits.p[base].tree, &g->commits.p[ac->onto].tree, work,
			&conflicts);
	bool made = false;

	if (conflicts.n) {
		sg_tell_conflicts(c, &conflicts);
	} else if (sg_same(&t, &g->commits.p[ac->onto].tree)) {
		ac->commit = sg_key_search(g, ac->key, ac->onto, 0);
		c->res.outcome = ac->commit ? GIT_ALREADY : GIT_NO_CHANGES;
	} else {
		ac->commit = sg_hold(c, sg_commit_new(g, &t, &ac->onto, 1));
		sg_key_note(g, ac->key, ac->commit);
		g->commits.p[ac->commit].of = ac->at;
		g->commits.p[ac->commit].of_base = base;
		made = true;
	}
	sg_tree_drop(g, &t);
	vec_done(&conflicts);
	return made;
}

int sg_forward(struct sg_call *c, struct sg_accept *ac, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *holder;
	bool ok;
	int r = sg_step(c, "move the target branch", err);

	if (r < 0)
		return r;
	ac->done = true;
	if (!sg_holder_ready(c, ac, &holder))
		return 0;
	if (ac->target->commit != ac->onto) {
		c->res.outcome = GIT_MOVED;
		return 0;
	}
	if (!sg_beside(c, ac, holder))
		return 0;
	ok = !holder ||
			(holder->op != SG_MERGE &&
					sg_move(g, holder, &g->commits.p[ac->onto].tree,
							&g->commits.p[ac->commit].tree));
	if (!ok) {
		c->res.outcome = GIT_DIRTY;
		c->res.detail = arena_printf(c->a, "something is in the way in %s", holder->path);
		return 0;
	}
	sg_ref_set(g, ac->target, ac->commit);
	ac->done = false;
	return 0;
}

int sg_may_begin(struct sg_call *c, const struct sg_accept *ac, struct ov_err *err)
{
	if (!ac->at)
		return ov_fail(err, OV_ENOTFOUND, "branch %s does not exist", ac->branch->name);
	if (c->wt && c->wt->folder && sg_head(c->wt) != ac->at)
		return ov_fail(err, OV_ESTATE, "%s is not on branch %s: harvest it first", c->path,
				ac->branch->name);
	if (c->wt && sg_changed(c->g, c->wt))
		return ov_fail(err, OV_ESTATE, "%s has uncommitted changes", c->path);
	return 0;
}

static int make(struct sg_call *c, struct sg_accept *ac, uint32_t base, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *holder;
	int r;

	r = sg_may_begin(c, ac, err);
	if (r < 0)
		return r;
	ac->done = !sg_holder_ready(c, ac, &holder);
	if (ac->done)
		return 0;
	if (!sg_squash(c, ac, base, &g->commits.p[ac->at].tree)) {
		ac->done = c->res.outcome != GIT_ALREADY;
		return 0;
	}
	ac->done = !sg_beside(c, ac, holder);
	if (ac->done)
		return 0;
	if (ac->keep != ac->at) {
		r = sg_step(c, "keep the branch's commits", err);
		if (r < 0)
			return r;
		sg_ref_set(g, ac->kept, ac->at);
		ac->keep = ac->at;
	}
	return sg_forward(c, ac, err);
}

/* The branch follows, but not over work that came later, and not over anything in the folder. */
static int follow(struct sg_call *c, struct sg_accept *ac, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_wt *w = c->wt;
	bool bare = !w || !w->folder;
	int r;

	c->res.commit = sg_oid(c->a, ac->commit);
	if (ac->keep)
		c->res.rescue_ref = arena_str(c->a, str_from(ac->kept->name));
	if (!ac->at || ac->at != ac->keep || ac->at == ac->commit || (!bare && w->on != ac->branch))
		return 0;
	r = sg_step(c, "let the branch follow", err);
	/* The accept has happened; a worktree that cannot follow is reset by its next use. */
	if (r == OV_EIO)
		return 0;
	if (r < 0 || ac->branch->commit != ac->at)
		return r;
	if (bare || sg_move(g, w, &g->commits.p[ac->at].tree, &g->commits.p[ac->commit].tree))
		sg_ref_set(g, ac->branch, ac->commit);
	return 0;
}

str sg_kept_name(struct arena *a, str key)
{
	str name = arena_printf(a, "refs/overseer/accepted/" STR_FMT, STR_ARG(key));

	if (git_ref_valid(name))
		return name;
	return arena_printf(a, "refs/overseer/accepted/" STR_FMT, STR_ARG(sha256_hex(a, key)));
}

static int accept_steps(struct sg_call *c, const struct git_accept *spec, struct ov_err *err)
{
	struct simgit *g = c->g;
	struct sg_accept ac = {
		.branch = sg_branch(g, spec->branch),
		.target = sg_branch(g, spec->target),
		.kept = sg_ref_make(g, sg_kept_name(c->a, spec->key)),
		.key = sg_name(&g->keys, spec->key),
	};
	uint32_t base = 0;
	int r = 0;

	if (c->wt)
		c->wt->lock = false;
	if (!ac.target->commit)
		return sg_target_missing(g, spec->target, err);
	ac.at = sg_hold(c, sg_commit_ref(g, ac.branch->commit));
	ac.onto = sg_hold(c, sg_commit_ref(g, ac.target->commit));
	ac.keep = ac.kept->commit;
	if (ac.at)
		base = sg_merge_base(g, ac.at, ac.onto);
	/* An earlier accept kept the branch as it was; since then it may have merged its commit. */
	ac.commit = sg_key_search(g, ac.key, ac.onto,
			ac.keep ? sg_merge_base(g, ac.keep, ac.onto) : base);
	if (ac.commit)
		c->res.outcome = GIT_ALREADY;
	else
		r = make(c, &ac, base, err);
	return r < 0 || ac.done ? r : follow(c, &ac, err);
}

int simgit_accept(struct simgit *g, const struct git_accept *spec, int steps, struct arena *a,
		struct git_result *ret, struct ov_err *err)
{
	struct sg_call c;
	int r = sg_begin(&c, g, "accept", spec->path, steps, a, err);

	if (r == 0)
		r = sg_check_branches(spec->branch, spec->target, err);
	if (r == 0)
		r = sg_check_key(spec->key, err);
	if (r == 0)
		r = accept_steps(&c, spec, err);
	/* Nothing that comes after the target moved makes it a failure, as with the real one. */
	if (r == 0 && c.res.commit.n)
		simgit_fail_at(g, -1);
	return sg_end(&c, r, ret, err);
}
