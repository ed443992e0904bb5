/*
 * Pick: all that is in a worktree at this moment, onto the target, while somebody may be at work in
 * it. It is read by way of a rescue, which touches nothing, and merged as a tree.
 */
#include "drive/accept/git_accept.h"
#include "drive/accept/git_target_steps.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/gitrules/git_programs.h"
#include "drive/gitrules/git_settings.h"
#include "drive/worktree/git_add.h"
#include "drive/worktree/git_tree_steps.h"
#include "drive/worktree/worktree.h"

static int rescue(struct git_call *c, struct ov_err *err _unused_)
{
	git_rescue_prepare(c, c->rescue_ref,
			arena_printf(&c->arena, "What was in %s when it was picked", c->path));
	c->rescue.kept_by[0] = c->target_oid;
	return GIT_NEXT;
}

/*
 * Of the rescue only the tree counts, on top of HEAD: its other parents may reach back to where a
 * merge would begin in the wrong place.
 */
static int whole_build(struct git_call *c, struct ov_err *err)
{
	if (c->unmerged)
		return ov_fail(err, OV_ESTATE, "%s has conflicts that are not resolved", c->path);
	if (!c->head.n)
		return ov_fail(err, OV_ESTATE, "%s has no commit", c->path);
	c->side = c->head;
	if (!c->rescue.tree.n || str_eq(c->rescue.tree, c->head_tree))
		return GIT_SKIP;
	git_run(c, AT_REPO, 0, "commit-tree", c->rescue.tree.p, "-p", c->head.p, NULL);
	c->input = STR("What was there\n");
	return GIT_NEXT;
}

static int whole_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	c->side = git_line(c, o);
	return GIT_NEXT;
}

static int unless_already(struct git_call *c, struct ov_err *err _unused_)
{
	return c->res.outcome == GIT_OK ? GIT_NEXT : GIT_SKIP;
}

static int result(struct git_call *c, struct ov_err *err _unused_)
{
	if (c->res.outcome == GIT_CONFLICT)
		return GIT_FINISH;
	c->res.commit = c->commit;
	return GIT_SKIP;
}

static const struct git_step pick_steps[] = {
	STEP_RUN("find the worktree", git_find_any, NULL),
	STEP_SUB("make our own git folder", NULL, git_own_steps),
	STEP_SUB("read the branches", NULL, git_refs_steps),
	STEP_SUB("find the target branch", NULL, git_target_steps),
	STEP_SUB("keep what is in the worktree", rescue, git_rescue_steps),
	STEP_RUN("store what is uncommitted", git_filtered, NULL),
	STEP_TAKE("gather what is in the worktree", whole_build, whole_take),
	STEP_SUB("look for an earlier pick", NULL, git_earlier_steps),
	STEP_SUB("move the target branch", NULL, git_moved_steps),
	STEP_SUB("look at the user's checkout", unless_already, git_holder_steps),
	STEP_SUB("merge with the target", unless_already, git_squash_steps,
			.inject = "git-pick-squashed"),
	STEP_SUB("look for names that may not be committed", unless_already, git_names_move_steps),
	STEP_SUB("look for content that is not there", unless_already, git_lfs_move_steps),
	STEP_SUB("look for new rules", unless_already, git_filters_move_steps),
	STEP_SUB("move the target branch", unless_already, git_move_steps,
			.inject = "git-pick-moved"),
	STEP_RUN("pick", result, NULL),
	STEP_END,
};

void git_pick(struct git *g, const struct git_pick *spec, git_done_fn *done, void *user)
{
	struct git_call *c = git_call_new(g, "pick", spec->path, done, user);
	struct ov_err err;
	int r = git_key_check(spec->key, &err);

	c->exclusive = true;
	c->keep_ignored = 0; /* what is kept is what is picked */
	c->target = arena_str(&c->arena, spec->target);
	c->rescue_ref = arena_str(&c->arena, spec->rescue_ref);
	c->trailer = GIT_ACCEPT;
	c->key = arena_str(&c->arena, spec->key);
	c->message = git_message_squash(&c->arena, spec->message,
			arena_printf(&c->arena, "Work of %s", c->path), GIT_ACCEPT, spec->key);
	if (r == 0 && !git_ref_valid(spec->target))
		r = ov_fail(&err, OV_EINVALID, "cannot pick onto \"" STR_FMT "\"",
				STR_ARG(spec->target));
	if (r == 0)
		r = git_rescue_ref_check(spec->rescue_ref, &err);
	git_call_start(c, pick_steps, r, &err);
}

static const struct git_step take_steps[] = {
	STEP_RUN("find the worktree", git_find_any, NULL),
	STEP_SUB("make our own git folder", NULL, git_own_steps),
	STEP_SUB("read the branches", NULL, git_refs_steps),
	STEP_END,
};

void git_take(struct git *g, str path, git_done_fn *done, void *user)
{
	struct git_call *c = git_call_new(g, "taking over", path, done, user);

	git_call_start(c, take_steps, 0, NULL);
}
