/*
 * Rebase: the branch's work becomes one commit on top of the target, the candidate, and branch and
 * worktree follow to it. Up to that last step nothing that anybody can see changes. The step is
 * announced by a note in our own git folder, so that a repeated call can tell the half of
 * a checkout that was cut off from changes that somebody made.
 */
#include <unistd.h>

#include "base/utf8.h"
#include "drive/accept/git_accept.h"
#include "drive/accept/git_target_steps.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/gitrules/git_settings.h"
#include "drive/worktree/git_embedded.h"
#include "drive/worktree/git_tree_steps.h"
#include "sys/file/file.h"

#define FOLLOWING "following"

static str branch_ref(struct git_call *c)
{
	return arena_printf(&c->arena, "refs/heads/" STR_FMT, STR_ARG(c->branch));
}

static int side(struct git_call *c, struct ov_err *err _unused_)
{
	c->side = c->branch_oid;
	return GIT_SKIP;
}

/* May it begin? */

static int rebase_begin(struct git_call *c, struct ov_err *err)
{
	if (c->res.outcome == GIT_ALREADY)
		return GIT_LEAVE;
	if (!c->branch_oid.n)
		return ov_fail(err, OV_ENOTFOUND, "branch " STR_FMT " does not exist",
				STR_ARG(c->branch));
	c->forced = c->folder && git_own_line(c, FOLLOWING).n;
	if (c->folder && !c->forced && c->head.n && !str_eq(c->head, c->branch_oid))
		return ov_fail(err, OV_ESTATE, "%s is not on branch " STR_FMT ": harvest it first",
				c->path, STR_ARG(c->branch));
	/* It may have followed already, and its agent's folder not yet. */
	c->head = c->branch_oid;
	c->head_tree = c->branch_tree;
	return GIT_SKIP;
}

/* New files are what a check built since the harvest: no part of this, and they stay. */
static int clean_check(struct git_call *c, struct ov_err *err)
{
	if (c->changed && !c->forced)
		return ov_fail(err, OV_ESTATE,
				"%s has uncommitted changes, made after its harvest or by the "
				"check command",
				c->path);
	return GIT_SKIP;
}

static int forwarded(struct git_call *c, struct ov_err *err _unused_)
{
	return c->forwarded ? GIT_NEXT : GIT_SKIP;
}

/*
 * A call that is repeated may find its candidate on the branch, and must not make another: the
 * first may be known by name already.
 */
static int made_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->kept_oid.n)
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_READS, "log", "-1", "--format=%P%n%an%n%ae%n%B",
			c->branch_oid.p, "--", NULL);
}

static bool is(str have, str want)
{
	return !want.n || str_eq(have, want);
}

static int made_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	str rest = o->out, parents = { 0 }, name = { 0 }, email = { 0 };

	str_split(&rest, '\n', &parents);
	str_split(&rest, '\n', &name);
	str_split(&rest, '\n', &email);
	if (str_eq(parents, c->target_oid) && is(name, c->author_name) &&
			is(email, c->author_email) && str_eq(str_trim(rest), str_trim(c->message)))
		c->commit = c->branch_oid;
	return GIT_NEXT;
}

static int squash(struct git_call *c, struct ov_err *err _unused_)
{
	return c->commit.n ? GIT_SKIP : GIT_NEXT;
}

static int changed_only(struct git_call *c, struct ov_err *err _unused_)
{
	if (c->res.outcome == GIT_NO_CHANGES || c->res.outcome == GIT_CONFLICT)
		return GIT_FINISH;
	return c->res.outcome == GIT_ALREADY ? GIT_LEAVE : GIT_SKIP;
}

/* Keeping the branch as it was; what the ref keeps already is not let go of. */

static int kept_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->kept_oid.n || str_eq(c->commit, c->branch_oid))
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_READS, "merge-base", "--is-ancestor", c->branch_oid.p,
			c->kept_oid.p, NULL);
}

static int kept_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code > 1)
		return git_fail(c, o, err);
	c->keeps = o->code == 0;
	return GIT_NEXT;
}

static int both_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->side = c->branch_oid;
	if (!c->kept_oid.n || c->keeps || str_eq(c->commit, c->branch_oid))
		return GIT_SKIP;
	git_run(c, AT_REPO, 0, "commit-tree",
			arena_printf(&c->arena, "%s^{tree}", c->branch_oid.p).p, "-p",
			c->branch_oid.p, "-p", c->kept_oid.p, NULL);
	c->input = arena_printf(&c->arena, "What " STR_FMT " held, and what was kept before\n",
			STR_ARG(c->branch));
	return GIT_NEXT;
}

static int both_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	c->side = git_line(c, o);
	return GIT_NEXT;
}

static int keep_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (c->keeps || str_eq(c->commit, c->branch_oid))
		return GIT_SKIP;
	/* The old value is checked; empty means that the ref must not exist. */
	return git_run(c, AT_REPO, GIT_WHOLE, "update-ref", "--no-deref", "-m", "overseer: rebase",
			c->rescue_ref.p, c->side.p, c->kept_oid.n ? c->kept_oid.p : "", NULL);
}

static const struct git_step keep_steps[] = {
	STEP_RUN("see what is kept", kept_build, kept_judge),
	STEP_TAKE("keep the branch's commits", both_build, both_take),
	STEP_RUN("keep the branch's commits", keep_build, NULL),
	STEP_END,
};

/* Following. */

static int checkout(struct git_call *c, const char *force)
{
	git_own_index_is(c, STR(""));
	return git_run(c, AT_TREE, 0, "checkout", "--quiet", force, "--detach", c->commit.p, NULL);
}

static int follow_build(struct git_call *c, struct ov_err *err)
{
	int r;

	c->ok = true;
	if (!c->folder)
		return GIT_SKIP;
	if (c->forced || str_eq(c->commit, c->branch_oid)) {
		c->ok = !c->forced;
		return GIT_SKIP;
	}
	r = git_own_note(c, FOLLOWING, c->commit, err);
	return r < 0 ? r : checkout(c, "--no-overwrite-ignore");
}

/* New files are in the way, or not all could be written: they are rescued first. */
static int follow_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	c->ok = o->code == 0 && !git_loosen(c, o);
	return GIT_NEXT;
}

static int follow_rescue(struct git_call *c, struct ov_err *err _unused_)
{
	if (c->ok)
		return GIT_SKIP;
	git_rescue_prepare(c, c->rescue_ref,
			arena_printf(&c->arena, "Rescue of %s before its rebase", c->path));
	return GIT_NEXT;
}

/* By now the ref keeps the branch, too. */
static int aside_build(struct git_call *c, struct ov_err *err)
{
	if (c->ok)
		return GIT_SKIP;
	c->start = c->commit;
	if (!c->keeps && !str_eq(c->commit, c->branch_oid))
		c->rescue_oid = c->side;
	return git_embedded_aside(c, err);
}

static int again_only(struct git_call *c, struct ov_err *err _unused_)
{
	return c->ok ? GIT_SKIP : GIT_NEXT;
}

static int force_build(struct git_call *c, struct ov_err *err _unused_)
{
	return c->ok ? GIT_SKIP : checkout(c, "--force");
}

static int branch_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (c->folder)
		git_own_index_is(c, c->commit);
	c->publish = c->links_of = c->commit;
	if (str_eq(c->commit, c->branch_oid))
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_WHOLE, "update-ref", "--no-deref", "-m", "overseer: rebase",
			branch_ref(c).p, c->commit.p, c->branch_oid.p, NULL);
}

static int folder_only(struct git_call *c, struct ov_err *err _unused_)
{
	return c->folder ? GIT_NEXT : GIT_SKIP;
}

static int followed(struct git_call *c, struct ov_err *err _unused_)
{
	if (c->folder)
		(void)git_own_note(c, GIT_BASE, c->target_oid, NULL); /* the former one says more */
	unlink(path_join(&c->arena, c->own, FOLLOWING));
	return GIT_SKIP;
}

static const struct git_step follow_steps[] = {
	STEP_RUN("let the worktree follow", follow_build, follow_judge),
	STEP_SUB("rescue what is in the way", follow_rescue, git_rescue_steps),
	STEP_RUN("put other repositories aside", aside_build, NULL),
	STEP_SUB("keep what would be overwritten", again_only, git_ahead_steps),
	STEP_SUB("read what was committed", again_only, git_own_index_steps),
	STEP_RUN("let the worktree follow", force_build, NULL),
	STEP_RUN("let the branch follow", branch_build, NULL),
	STEP_SUB("put submodules aside", folder_only, git_submodule_steps),
	STEP_SUB("make the agent's git folder", folder_only, git_publish_steps),
	STEP_RUN("let the branch follow", followed, NULL),
	STEP_END,
};

/* The agent is to see what it conflicts with. */
static int conflict_only(struct git_call *c, struct ov_err *err _unused_)
{
	c->publish = c->branch_oid;
	return c->res.outcome == GIT_CONFLICT && c->folder && !c->forced ? GIT_NEXT : GIT_SKIP;
}

static const struct git_step make_steps[] = {
	STEP_RUN("rebase_begin", rebase_begin, NULL),
	STEP_SUB("see what is uncommitted", NULL, git_status_steps),
	STEP_RUN("begin", clean_check, NULL),
	STEP_SUB("bring the target up to date", NULL, git_fetch_steps,
			.inject = "git-rebase-fetched"),
	STEP_SUB("read the branches", forwarded, git_refs_steps),
	STEP_SUB("look at the user's checkout", NULL, git_holder_steps),
	STEP_TAKE("look for an earlier candidate", made_build, made_take),
	STEP_SUB("rebase onto the target", squash, git_squash_steps,
			.inject = "git-rebase-squashed"),
	STEP_SUB("tell the agent where the target is", conflict_only, git_publish_steps),
	STEP_RUN("go on", changed_only, NULL),
	STEP_SUB("see what is in the way in the user's checkout", NULL, git_overlap_steps),
	STEP_SUB("keep the branch's commits", NULL, keep_steps, .inject = "git-rebase-kept"),
	STEP_SUB("let the branch follow", NULL, follow_steps, .inject = "git-rebase-followed"),
	STEP_END,
};

static int result(struct git_call *c, struct ov_err *err _unused_)
{
	c->res.commit = c->commit;
	c->res.base = c->target_oid;
	c->res.rescue_ref = c->res.outcome == GIT_OK || c->kept_oid.n ? c->rescue_ref : (str){ 0 };
	return GIT_SKIP;
}

static const struct git_step rebase_steps[] = {
	STEP_RUN("find the worktree", git_find_ours, NULL),
	STEP_SUB("make our own git folder", NULL, git_own_steps),
	STEP_SUB("read the branches", NULL, git_refs_steps),
	STEP_SUB("find the target branch", NULL, git_target_steps),
	STEP_RUN("find the branch", side, NULL),
	STEP_SUB("look for an earlier accept", NULL, git_earlier_steps),
	STEP_SUB("rebase", NULL, make_steps),
	STEP_RUN("rebase", result, NULL),
	STEP_END,
};

static int check_spec(const struct git_rebase *spec, struct ov_err *err)
{
	int r;

	if (!git_ref_valid(spec->branch) || !git_ref_valid(spec->target) ||
			str_eq(spec->branch, spec->target))
		return ov_fail(err, OV_EINVALID,
				"cannot rebase branch \"" STR_FMT "\" onto \"" STR_FMT "\"",
				STR_ARG(spec->branch), STR_ARG(spec->target));
	r = git_rescue_ref_check(spec->rescue_ref, err);
	if (r == 0)
		r = git_remote_check(spec->remote, err);
	return r < 0 ? r : git_key_check(spec->key, err);
}

void git_rebase(struct git *g, const struct git_rebase *spec, git_done_fn *done, void *user)
{
	struct git_call *c = git_call_new(g, "rebase", spec->path, done, user);
	struct arena *a = &c->arena;
	struct ov_err err;
	int r = check_spec(spec, &err);

	c->exclusive = true;
	c->branch = arena_str(a, spec->branch);
	c->target = arena_str(a, spec->target);
	c->remote = arena_str(a, spec->remote);
	c->rescue_ref = c->kept_ref = arena_str(a, spec->rescue_ref);
	c->trailer = GIT_ACCEPT;
	c->key = arena_str(a, spec->key);
	c->message = git_message_squash(a, spec->message,
			arena_printf(a, "Work of " STR_FMT, STR_ARG(spec->branch)), GIT_ACCEPT,
			spec->key);
	c->author_name = utf8_clean(a, spec->author_name);
	c->author_email = utf8_clean(a, spec->author_email);
	git_call_start(c, rebase_steps, r, &err);
}
