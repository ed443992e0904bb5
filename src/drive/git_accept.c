/*
 * Accept: the branch's work becomes one commit on top of the target. The rebase and the squash are
 * done on trees (git merge-tree, git commit-tree), so neither the worktree nor the user's checkout
 * is in between states, and a crash leaves at most an unused commit behind. The target moves in a
 * single step that checks its old value; the trailer with the key, looked for first, makes that
 * step happen at most once. What the branch held before is kept under refs/overseer/accepted/.
 */
#include "base/buf.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "drive/git_call.h"
#include "drive/git_steps.h"

#define TRAILER "Overseer-Accept"

static int find(struct git_call *c, struct ov_err *err)
{
	int r = git_find(c, err);

	if (r < 0)
		return r;
	if (git_is_checkout(c))
		return ov_fail(err, OV_EINVALID,
				"%s is the user's own checkout, not a worktree of ours", c->path);
	git_drop_locks(c);
	return GIT_SKIP;
}

static str target_ref(struct git_call *c)
{
	return arena_printf(&c->arena, "refs/heads/" STR_FMT, STR_ARG(c->target));
}

/* Is it there already? */

static int merge_base_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->branch_oid.n)
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_READS, "merge-base", c->branch_oid.p, c->target_oid.p, NULL);
}

static int merge_base_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code == 1)
		return ov_fail(err, OV_ESTATE,
				"branch " STR_FMT " has no commit in common with " STR_FMT,
				STR_ARG(c->branch), STR_ARG(c->target));
	if (o->code != 0)
		return git_fail(c, o, err);
	c->merge_base = git_line(c, o);
	return GIT_NEXT;
}

/*
 * An earlier accept of this key kept the branch as it was, and its commit is younger than where that
 * began. The branch itself may have merged it since, and then begins after it.
 */
static int kept_base_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->kept_oid.n)
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_READS, "merge-base", c->kept_oid.p, c->target_oid.p, NULL);
}

static int kept_base_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code > 1)
		return git_fail(c, o, err);
	c->merge_base = o->code == 0 ? git_line(c, o) : (str){ 0 };
	return GIT_NEXT;
}

/* `since` is included: after an accept that was cut off late the branch stands on its commit. */
static int search(struct git_call *c, str since)
{
	git_run(c, AT_REPO, GIT_READS, "log", "--fixed-strings",
			arena_printf(&c->arena, "--grep=" TRAILER ": " STR_FMT, STR_ARG(c->key)).p,
			"--format=%H %(trailers:key=" TRAILER ",valueonly,separator=%x20)",
			c->target_oid.p, NULL);
	if (since.n)
		git_args(c, "--not", arena_printf(&c->arena, STR_FMT "^@", STR_ARG(since)).p, NULL);
	git_args(c, "--", NULL);
	return GIT_NEXT;
}

static int search_build(struct git_call *c, struct ov_err *err _unused_)
{
	return search(c, c->merge_base);
}

static int search_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	str lines = o->out, line, oid, key;

	if (o->code != 0)
		return git_fail(c, o, err);
	while (str_split(&lines, '\n', &line)) {
		str_split(&line, ' ', &oid);
		while (str_split(&line, ' ', &key))
			if (str_eq(key, c->key)) {
				c->commit = arena_str(&c->arena, oid);
				c->res.outcome = GIT_ALREADY;
			}
	}
	return GIT_NEXT;
}

/* May it begin? */

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

/* The checkout that has the target, usually the user's. */

static int holder_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code != 0)
		return git_fail(c, o, err);
	git_holder_parse(c, o->out, c->target);
	if (!git_branch_rebasing(c, target_ref(c)))
		return GIT_NEXT;
	c->res.outcome = GIT_DIRTY;
	c->res.detail = arena_printf(&c->arena, "branch " STR_FMT " is being rebased",
			STR_ARG(c->target));
	return GIT_FINISH;
}

static int holder_status_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->holder)
		return GIT_SKIP;
	git_run(c, AT_REPO, GIT_READS, "status", "--porcelain=v1", "--untracked-files=no",
			"--ignore-submodules=dirty", NULL);
	c->cwd = c->holder;
	return GIT_NEXT;
}

static int holder_status_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code != 0)
		return git_fail(c, o, err);
	if (!o->out.n)
		return GIT_NEXT;
	c->res.outcome = GIT_DIRTY;
	c->res.detail = arena_printf(&c->arena, "%s has uncommitted changes:\n" STR_FMT, c->holder,
			STR_ARG(utf8_truncate(o->out, 8192)));
	return GIT_FINISH;
}

static const struct git_step holder_steps[] = {
	STEP_RUN("see who has the target branch", git_holder_build, holder_judge),
	STEP_RUN("see whether that checkout is clean", holder_status_build, holder_status_judge),
	STEP_END,
};

/* The rebased and squashed commit. */

static int merge_build(struct git_call *c, struct ov_err *err _unused_)
{
	bool tree = c->admin && c->folder; /* there attributes and merge drivers are found */

	return git_run(c, tree ? AT_TREE : AT_REPO, 0, "merge-tree", "--write-tree", "-z",
			"--name-only", "--no-messages", c->target_oid.p, c->branch_oid.p, NULL);
}

static int merge_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	_cleanup_(buf_done)
	struct buf files = BUF_INIT;
	str rest = o->out, name;

	if (o->code > 1 || !str_split(&rest, '\0', &name) || !git_oid_valid(name))
		return git_fail(c, o, err);
	c->tree = arena_str(&c->arena, name);
	if (o->code == 0)
		return GIT_NEXT;
	while (str_split(&rest, '\0', &name) && name.n)
		buf_addf(&files, "%s" STR_FMT, files.n ? "\n" : "", STR_ARG(name));
	c->res.outcome = GIT_CONFLICT;
	c->res.detail = arena_str(&c->arena, buf_str(&files));
	return GIT_FINISH;
}

/* Before "nothing to do" is said, the key is looked for in all of the target's history. */
static int nothing_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!str_eq(c->tree, c->target_tree))
		return GIT_SKIP;
	return search(c, (str){ 0 });
}

static int nothing_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	int r;

	c->res.outcome = GIT_NO_CHANGES;
	r = search_judge(c, o, err);
	if (r < 0)
		return r;
	return c->res.outcome == GIT_ALREADY ? GIT_LEAVE : GIT_FINISH;
}

static int squash_build(struct git_call *c, struct ov_err *err _unused_)
{
	git_run(c, AT_REPO, 0, "commit-tree", c->tree.p, "-p", c->target_oid.p, NULL);
	if (c->author_name.n)
		git_env_add(c, "GIT_AUTHOR_NAME", c->author_name.p);
	if (c->author_email.n)
		git_env_add(c, "GIT_AUTHOR_EMAIL", c->author_email.p);
	c->input = git_message_squash(&c->arena, c->message,
			arena_printf(&c->arena, "Work of " STR_FMT, STR_ARG(c->branch)), c->key);
	return GIT_NEXT;
}

static int squash_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code != 0)
		return git_fail(c, o, err);
	c->commit = git_line(c, o);
	return GIT_NEXT;
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

/* The one step that counts. */

static int forward_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->holder)
		return git_run(c, AT_REPO, GIT_WHOLE, "update-ref", "-m", "overseer: accept",
				target_ref(c).p, c->commit.p, c->target_oid.p, NULL);
	git_run(c, AT_REPO, GIT_WHOLE, "merge", "--quiet", "--ff-only", "--no-stat",
			"--no-autostash", "--no-overwrite-ignore", "--no-verify-signatures",
			c->commit.p, NULL);
	c->cwd = c->holder;
	return GIT_NEXT;
}

static int forward_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	c->ok = o->code == 0;
	c->res.detail = arena_str(&c->arena, utf8_truncate(str_trim(o->err), 8192));
	return GIT_NEXT;
}

/* Where the target is now says what happened, whatever the command said. */
static int check_build(struct git_call *c, struct ov_err *err _unused_)
{
	return git_run(c, AT_REPO, GIT_READS, "rev-parse", "--verify", "--quiet", target_ref(c).p,
			NULL);
}

static int check_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	str now = git_line(c, o);

	/* It cannot be read; but it moved, as the command that moved it said. */
	if (o->code > 1 && c->ok)
		now = c->commit;
	else if (o->code > 1)
		return git_fail(c, o, err);
	if (str_eq(now, c->commit)) {
		c->res.detail = (str){ 0 };
		return GIT_NEXT;
	}
	if (c->ok)
		return ov_fail(err, OV_EIO,
				"git said that the target branch moved, but it did not");
	if (!str_eq(now, c->target_oid))
		c->res.outcome = GIT_MOVED;
	else if (c->holder)
		c->res.outcome =
				GIT_DIRTY; /* something is in the way there; git's words say what */
	else
		return ov_fail(err, OV_EIO, STR_FMT, STR_ARG(c->res.detail));
	return GIT_FINISH;
}

static const struct git_step make_steps[] = {
	STEP_RUN("begin", begin, NULL),
	STEP_SUB("see what is uncommitted", NULL, git_status_steps),
	STEP_RUN("begin", clean_check, NULL),
	STEP_SUB("look at the user's checkout", NULL, holder_steps),
	STEP_RUN("rebase onto the target", merge_build, merge_judge,
			.inject = "git-accept-rebased"),
	STEP_RUN("look for an earlier accept", nothing_build, nothing_judge),
	STEP_SUB("read who commits", NULL, git_identity_steps),
	STEP_RUN("squash", squash_build, squash_judge, .inject = "git-accept-squashed"),
	STEP_RUN("keep the branch's commits", keep_build, NULL, .inject = "git-accept-kept"),
	STEP_SUB("look at the user's checkout again", NULL, holder_steps),
	STEP_RUN("move the target branch", forward_build, forward_judge,
			.inject = "git-accept-merged"),
	STEP_RUN("read the target branch", check_build, check_judge),
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
	STEP_RUN("find the worktree", find, NULL),
	STEP_SUB("read the branches", NULL, git_refs_steps),
	STEP_SUB("find the target branch", NULL, git_target_steps),
	STEP_RUN("find where the branch began", merge_base_build, merge_base_judge),
	STEP_RUN("find where an earlier accept began", kept_base_build, kept_base_judge),
	STEP_RUN("look for an earlier accept", search_build, search_judge),
	STEP_SUB("accept", NULL, make_steps),
	STEP_RUN("let the branch follow", follow_build, follow_judge,
			.inject = "git-accept-followed"),
	STEP_END,
};

/* One word of visible ASCII: it is a trailer's value and, mostly, a part of a ref's name. */
static bool key_valid(str key)
{
	for (size_t i = 0; i < key.n; i++)
		if (key.p[i] <= ' ' || key.p[i] > '~')
			return false;
	return key.n > 0 && key.n <= 200;
}

static int check_spec(const struct git_accept *spec, struct ov_err *err)
{
	if (!git_ref_valid(spec->branch) || !git_ref_valid(spec->target) ||
			str_eq(spec->branch, spec->target))
		return ov_fail(err, OV_EINVALID,
				"cannot accept branch \"" STR_FMT "\" into \"" STR_FMT "\"",
				STR_ARG(spec->branch), STR_ARG(spec->target));
	if (!key_valid(spec->key))
		return ov_fail(err, OV_EINVALID,
				"accept key \"" STR_FMT "\" must be one word of visible ASCII",
				STR_ARG(spec->key));
	return 0;
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
	c->message = arena_str(a, spec->message);
	c->key = arena_str(a, spec->key);
	c->author_name = utf8_clean(a, spec->author_name);
	c->author_email = utf8_clean(a, spec->author_email);
	c->kept_ref = arena_printf(a, "refs/overseer/accepted/" STR_FMT, STR_ARG(spec->key));
	if (!git_ref_valid(c->kept_ref))
		c->kept_ref = arena_printf(a, "refs/overseer/accepted/" STR_FMT,
				STR_ARG(sha256_hex(a, spec->key)));
	git_call_start(c, accept_steps, r, &err);
}
