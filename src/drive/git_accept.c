/*
 * Accept: the branch's work becomes one commit on top of the target, in one call. A crash leaves at
 * most an unused commit behind. What the branch held before is kept under refs/overseer/accepted/.
 */
#include "base/sha256.h"
#include "base/utf8.h"
#include "drive/git_call.h"
#include "drive/git_steps.h"

static int side(struct git_call *c, struct ov_err *err _unused_)
{
	c->side = c->branch_oid;
	return GIT_SKIP;
}

static int begin(struct git_call *c, struct ov_err *err)
{
	str ref = arena_printf(&c->arena, "refs/heads/" STR_FMT, STR_ARG(c->branch));

	if (c->res.outcome == GIT_ALREADY)
		return GIT_LEAVE;
	if (!c->branch_oid.n)
		return ov_fail(err, OV_ENOTFOUND, "branch " STR_FMT " does not exist",
				STR_ARG(c->branch));
	if (c->admin && c->folder && !str_eq(c->head_ref, ref))
		return ov_fail(err, OV_ESTATE, "%s is not on branch " STR_FMT ": harvest it first",
				c->path, STR_ARG(c->branch));
	return GIT_SKIP;
}

/* New files are what a check built since the harvest: not part of this, and rescued by the next use. */
static int clean_check(struct git_call *c, struct ov_err *err)
{
	if (c->changed)
		return ov_fail(err, OV_ESTATE,
				"%s has uncommitted changes, made after its harvest or by the "
				"check command",
				c->path);
	return GIT_SKIP;
}

static int keep_build(struct git_call *c, struct ov_err *err _unused_)
{
	str old = c->kept_oid;

	c->kept_oid = c->branch_oid;
	if (str_eq(old, c->branch_oid))
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_WHOLE, "update-ref", "-m", "overseer: accept", c->kept_ref.p,
			c->branch_oid.p, NULL);
}

/* Nothing to accept, or it was found after all: the branch still follows. */
static int changed_only(struct git_call *c, struct ov_err *err _unused_)
{
	if (c->res.outcome == GIT_NO_CHANGES)
		return GIT_FINISH;
	return c->res.outcome == GIT_ALREADY ? GIT_LEAVE : GIT_SKIP;
}

static const struct git_step make_steps[] = {
	STEP_RUN("begin", begin, NULL),
	STEP_SUB("see what is uncommitted", NULL, git_status_steps),
	STEP_RUN("begin", clean_check, NULL),
	STEP_SUB("look at the user's checkout", NULL, git_holder_steps),
	STEP_SUB("rebase onto the target", NULL, git_squash_steps, .inject = "git-accept-squashed"),
	STEP_RUN("go on", changed_only, NULL),
	STEP_RUN("keep the branch's commits", keep_build, NULL, .inject = "git-accept-kept"),
	STEP_SUB("move the target branch", NULL, git_move_steps, .inject = "git-accept-merged"),
	STEP_END,
};

/*
 * The branch follows, so that the next use of the worktree finds nothing to rescue; but not over
 * work that came after the accept, and not over anything in the folder (no --force).
 */
static int follow_build(struct git_call *c, struct ov_err *err _unused_)
{
	str ref = arena_printf(&c->arena, "refs/heads/" STR_FMT, STR_ARG(c->branch));

	c->res.commit = c->commit;
	c->res.rescue_ref = c->kept_oid.n ? c->kept_ref : (str){ 0 };
	if (!c->branch_oid.n || !str_eq(c->branch_oid, c->kept_oid) ||
			str_eq(c->branch_oid, c->commit))
		return GIT_SKIP;
	if (!c->admin || !c->folder)
		return git_run(c, AT_REPO, GIT_WHOLE, "update-ref", ref.p, c->commit.p,
				c->branch_oid.p, NULL);
	if (!str_eq(c->head_ref, ref))
		return GIT_SKIP;
	return git_run(c, AT_TREE, 0, "checkout", "--quiet", "--no-track", "-B",
			arena_cstr(&c->arena, c->branch), c->commit.p, NULL);
}

/* The accept has happened; a worktree that cannot follow is reset by its next use. */
static int follow_judge(struct git_call *c _unused_, const struct git_out *o _unused_,
		struct ov_err *err _unused_)
{
	return GIT_NEXT;
}

static const struct git_step accept_steps[] = {
	STEP_RUN("find the worktree", git_find_ours, NULL),
	STEP_SUB("read the branches", NULL, git_refs_steps),
	STEP_SUB("find the target branch", NULL, git_target_steps),
	STEP_RUN("find the branch", side, NULL),
	STEP_SUB("look for an earlier accept", NULL, git_earlier_steps),
	STEP_SUB("accept", NULL, make_steps),
	STEP_RUN("let the branch follow", follow_build, follow_judge,
			.inject = "git-accept-followed"),
	STEP_END,
};

static int check_spec(const struct git_accept *spec, struct ov_err *err)
{
	if (!git_ref_valid(spec->branch) || !git_ref_valid(spec->target) ||
			str_eq(spec->branch, spec->target))
		return ov_fail(err, OV_EINVALID,
				"cannot accept branch \"" STR_FMT "\" into \"" STR_FMT "\"",
				STR_ARG(spec->branch), STR_ARG(spec->target));
	return git_key_check(spec->key, err);
}

void git_accept(struct git *g, const struct git_accept *spec, git_done_fn *done, void *user)
{
	struct git_call *c = git_call_new(g, "accept", spec->path, done, user);
	struct arena *a = &c->arena;
	struct ov_err err;
	int r = check_spec(spec, &err);

	c->exclusive = true;
	c->branch = arena_str(a, spec->branch);
	c->target = arena_str(a, spec->target);
	c->trailer = GIT_ACCEPT;
	c->message = git_message_squash(a, spec->message,
			arena_printf(a, "Work of " STR_FMT, STR_ARG(spec->branch)), GIT_ACCEPT,
			spec->key);
	c->key = arena_str(a, spec->key);
	c->author_name = utf8_clean(a, spec->author_name);
	c->author_email = utf8_clean(a, spec->author_email);
	c->kept_ref = arena_printf(a, "refs/overseer/accepted/" STR_FMT, STR_ARG(spec->key));
	if (!git_ref_valid(c->kept_ref))
		c->kept_ref = arena_printf(a, "refs/overseer/accepted/" STR_FMT,
				STR_ARG(sha256_hex(a, spec->key)));
	git_call_start(c, accept_steps, r, &err);
}
