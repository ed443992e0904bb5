/*
 * Advance: the target moves to a candidate that was checked. Revert: what a commit brought to the
 * target is taken back by another one. Either happens at most once: the candidate is a commit, and
 * is on the target or is not; a revert is known by the key in its trailer.
 */
#include "drive/accept/git_accept.h"
#include "drive/accept/git_target_steps.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/gitrules/git_programs.h"
#include "drive/gitrules/git_settings.h"
#include "drive/worktree/git_tree_steps.h"

/* advance */

static int candidate_build(struct git_call *c, struct ov_err *err _unused_)
{
	return git_run(c, AT_REPO, GIT_READS, "log", "-1",
			("--format=%P%n%(trailers:key=" GIT_ACCEPT ",valueonly,separator=%x20)"),
			c->commit.p, "--", NULL);
}

/* Of one that is gone another has to be made, as of one whose parent is no longer the head. */
static int candidate_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	str rest = o->out, parents = { 0 }, keys = { 0 };

	c->side = c->commit;
	if (o->code != 0) {
		c->commit = c->side = (str){ 0 };
		c->res.detail = STR("the candidate is not in the repository any more");
		return GIT_NEXT;
	}
	str_split(&rest, '\n', &parents);
	str_split(&rest, '\n', &keys);
	if (!str_eq(keys, c->key))
		return ov_fail(err, OV_EINVALID, "commit %s is no candidate for " STR_FMT,
				c->commit.p, STR_ARG(c->key));
	c->ok = str_eq(parents, c->target_oid);
	return GIT_NEXT;
}

static int moved_only(struct git_call *c, struct ov_err *err _unused_)
{
	return c->ok ? GIT_SKIP : GIT_NEXT;
}

static int advance_begin(struct git_call *c, struct ov_err *err _unused_)
{
	if (c->ok || c->res.outcome == GIT_ALREADY)
		return GIT_SKIP;
	c->res.outcome = GIT_MOVED;
	return GIT_FINISH;
}

static int advance_move(struct git_call *c, struct ov_err *err _unused_)
{
	return c->res.outcome == GIT_ALREADY ? GIT_SKIP : GIT_NEXT;
}

static int result(struct git_call *c, struct ov_err *err _unused_)
{
	c->res.commit = c->commit;
	return GIT_SKIP;
}

static int push_wanted(struct git_call *c, struct ov_err *err _unused_)
{
	return c->push ? GIT_NEXT : GIT_SKIP;
}

static const struct git_step advance_steps[] = {
	STEP_RUN("find the worktree", git_find_ours, NULL),
	STEP_SUB("read the branches", NULL, git_refs_steps),
	STEP_SUB("find the target branch", NULL, git_target_steps),
	STEP_RUN("look at the candidate", candidate_build, candidate_judge),
	STEP_SUB("look for an earlier accept", moved_only, git_earlier_steps),
	STEP_RUN("begin", advance_begin, NULL),
	STEP_SUB("look for names that may not be committed", advance_move, git_names_move_steps),
	STEP_SUB("look for content that is not there", advance_move, git_lfs_move_steps),
	STEP_SUB("look for new rules", advance_move, git_filters_move_steps),
	STEP_SUB("move the target branch", advance_move, git_move_steps,
			.inject = "git-advance-moved"),
	STEP_SUB("move the target branch", NULL, git_moved_steps),
	STEP_RUN("advance", result, NULL),
	STEP_SUB("push the target branch", push_wanted, git_push_steps,
			.inject = "git-advance-pushed"),
	STEP_END,
};

void git_advance(struct git *g, const struct git_advance *spec, git_done_fn *done, void *user)
{
	struct git_call *c = git_call_new(g, "advance", spec->path, done, user);
	struct ov_err err;
	int r = git_key_check(spec->key, &err);

	c->exclusive = true;
	c->target = arena_str(&c->arena, spec->target);
	c->commit = arena_str(&c->arena, spec->candidate);
	c->trailer = GIT_ACCEPT;
	c->key = arena_str(&c->arena, spec->key);
	c->remote = arena_str(&c->arena, spec->remote);
	c->push = spec->push && spec->remote.n;
	if (r == 0 && (!git_ref_valid(spec->target) || !git_oid_valid(spec->candidate)))
		r = ov_fail(&err, OV_EINVALID,
				"cannot move branch \"" STR_FMT "\" to \"" STR_FMT "\"",
				STR_ARG(spec->target), STR_ARG(spec->candidate));
	if (r == 0)
		r = git_remote_check(spec->remote, &err);
	git_call_start(c, advance_steps, r, &err);
}

/* revert */

static int find_checkout(struct git_call *c, struct ov_err *err)
{
	int r = git_find(c, err);

	return r < 0 ? r : GIT_SKIP;
}

static int on_target_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->merge_base = c->base;
	return git_run(c, AT_REPO, GIT_READS, "merge-base", "--is-ancestor", c->base.p,
			c->target_oid.p, NULL);
}

static int on_target_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code == 0)
		return GIT_NEXT;
	if (o->code == 1)
		return ov_fail(err, OV_ESTATE, "commit %s is not on branch " STR_FMT, c->base.p,
				STR_ARG(c->target));
	return git_fail(c, o, err);
}

/*
 * A commit on top of the one to be taken back, with the tree from before it: merged with the
 * target, the two have just that commit in common, and what it brought goes out again.
 */
static int back_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (c->res.outcome == GIT_ALREADY)
		return GIT_SKIP;
	git_run(c, AT_REPO, 0, "commit-tree", arena_printf(&c->arena, "%s^1^{tree}", c->base.p).p,
			"-p", c->base.p, NULL);
	c->input = STR("As it was before\n");
	return GIT_NEXT;
}

static int back_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	c->side = git_line(c, o);
	return GIT_NEXT;
}

static int unless_already(struct git_call *c, struct ov_err *err _unused_)
{
	return c->res.outcome == GIT_ALREADY ? GIT_SKIP : GIT_NEXT;
}

/* Nothing of it is left there: somebody has taken it back by hand. */
static int gone_already(struct git_call *c, struct ov_err *err _unused_)
{
	if (c->res.outcome == GIT_CONFLICT)
		return GIT_FINISH;
	if (c->res.outcome != GIT_NO_CHANGES)
		return GIT_SKIP;
	c->res.outcome = GIT_ALREADY;
	c->commit = c->target_oid;
	return GIT_SKIP;
}

static const struct git_step revert_steps[] = {
	STEP_RUN("find the checkout", find_checkout, NULL),
	STEP_SUB("read the branches", NULL, git_refs_steps),
	STEP_SUB("find the target branch", NULL, git_target_steps),
	STEP_RUN("find the commit", on_target_build, on_target_judge),
	STEP_SUB("look for an earlier revert", NULL, git_earlier_steps),
	STEP_SUB("move the target branch", NULL, git_moved_steps),
	STEP_SUB("look at the user's checkout", unless_already, git_holder_steps),
	STEP_SUB("read who commits", unless_already, git_identity_steps),
	STEP_TAKE("take it back", back_build, back_take),
	STEP_SUB("take it back", unless_already, git_squash_steps, .inject = "git-revert-made"),
	STEP_RUN("take it back", gone_already, NULL),
	STEP_SUB("move the target branch", unless_already, git_move_steps,
			.inject = "git-revert-moved"),
	STEP_RUN("take it back", result, NULL),
	STEP_END,
};

void git_revert(struct git *g, const struct git_revert *spec, git_done_fn *done, void *user)
{
	struct git_call *c = git_call_new(g, "revert", str_from(g->repo), done, user);
	struct ov_err err;
	int r = git_key_check(spec->key, &err);

	c->exclusive = true;
	c->target = arena_str(&c->arena, spec->target);
	c->base = arena_str(&c->arena, spec->commit);
	c->trailer = GIT_REVERT;
	c->key = arena_str(&c->arena, spec->key);
	c->message = git_message_squash(&c->arena, spec->message,
			arena_printf(&c->arena, "Revert " STR_FMT, STR_ARG(spec->commit)),
			GIT_REVERT, spec->key);
	if (r == 0 && (!git_ref_valid(spec->target) || !git_oid_valid(spec->commit)))
		r = ov_fail(&err, OV_EINVALID,
				"cannot take \"" STR_FMT "\" back from \"" STR_FMT "\"",
				STR_ARG(spec->commit), STR_ARG(spec->target));
	git_call_start(c, revert_steps, r, &err);
}
