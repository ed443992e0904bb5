/*
 * What is done to the target branch: finding out whether something is on it already, merging with
 * it as trees (so that neither a worktree nor the user's checkout is in between states), and moving
 * it. It moves in a single step that checks its old value; the trailer with the key, looked for
 * first, makes that step happen at most once.
 */
#include <sys/stat.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "drive/accept/git_target_steps.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/worktree/git_tree_steps.h"
#include "sys/file/file.h"
#include "sys/proc/proc.h"

/* How long another git in the user's checkout is waited for; older ones wait for something else. */
enum { LATE_WAIT_MS = 2000, GIT_FRESH_S = 10 };

/* One word of visible ASCII: it is a trailer's value and, mostly, a part of a ref's name. */
int git_key_check(str key, struct ov_err *err)
{
	bool valid = key.n > 0 && key.n <= 200;

	for (size_t i = 0; i < key.n; i++)
		valid &= key.p[i] > ' ' && key.p[i] <= '~';
	return valid ? 0
		     : ov_fail(err, OV_EINVALID,
				       "accept key \"" STR_FMT "\" must be one word of visible "
				       "ASCII",
				       STR_ARG(key));
}

/* Is it there already? */

static int merge_base_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->side.n)
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_READS, "merge-base", c->side.p, c->target_oid.p, NULL);
}

static int merge_base_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code == 1)
		return ov_fail(err, OV_ESTATE,
				"what %s holds has no commit in common with branch " STR_FMT,
				c->path, STR_ARG(c->target));
	if (o->code != 0)
		return git_fail(c, o, err);
	c->merge_base = git_line(c, o);
	return GIT_NEXT;
}

/*
 * An earlier call for this key kept the branch as it was, and its commit is younger than where that
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

/* `since` is included: after a call that was cut off late the branch stands on its commit. */
static int search(struct git_call *c, str since)
{
	git_run(c, AT_REPO, GIT_READS, "log", "--fixed-strings",
			arena_printf(&c->arena, "--grep=%s: " STR_FMT, c->trailer, STR_ARG(c->key))
					.p,
			arena_printf(&c->arena,
					"--format=%%H "
					"%%(trailers:key=%s,valueonly,separator=%%x20)",
					c->trailer)
					.p,
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

const struct git_step git_earlier_steps[] = {
	STEP_RUN("find where the branch began", merge_base_build, merge_base_judge),
	STEP_RUN("find where an earlier accept began", kept_base_build, kept_base_judge),
	STEP_RUN("look for an earlier accept", search_build, search_judge),
	STEP_END,
};

/* The checkout that has the target, usually the user's. */

static int holder_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	const char *busy, *op;

	git_holder_parse(c, o->out, c->target);
	if (c->holder)
		git_holder_admin(c);
	busy = git_branch_busy(c, c->target);
	op = c->holder ? git_unfinished_at(c, c->res.admin.p) : NULL;
	if (busy)
		c->res.detail = arena_printf(&c->arena, "branch " STR_FMT " is being %s",
				STR_ARG(c->target), busy);
	else if (op)
		c->res.detail = arena_printf(&c->arena, "a git %s is not finished in %s", op,
				c->holder);
	else if (c->other_holder)
		/* One of them could follow; the other would seem to take everything back. */
		c->res.detail = arena_printf(&c->arena,
				"branch " STR_FMT " is checked out twice, in %s and in %s",
				STR_ARG(c->target), c->other_holder, c->holder);
	else
		return GIT_NEXT;
	c->res.outcome = GIT_DIRTY;
	return GIT_FINISH;
}

const struct git_step git_holder_steps[] = {
	STEP_TAKE("see who has the target branch", git_holder_build, holder_take),
	STEP_END,
};

/* One commit on the target: the merge of its tree and that of c->side. */

static int merge_build(struct git_call *c, struct ov_err *err _unused_)
{
	bool tree = c->own && c->folder; /* there attributes are found */

	return git_run(c, tree ? AT_TREE : AT_REPO, 0, "merge-tree", "--write-tree", "-z",
			"--name-only", "--no-messages", c->target_oid.p, c->side.p, NULL);
}

int git_merge_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf files = BUF_INIT;
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
	return GIT_LEAVE;
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
	return r < 0 ? r : GIT_LEAVE;
}

static int squash_build(struct git_call *c, struct ov_err *err _unused_)
{
	git_run(c, AT_REPO, 0, "commit-tree", c->tree.p, "-p", c->target_oid.p, NULL);
	if (c->author_name.n)
		git_env_add(c, "GIT_AUTHOR_NAME", c->author_name.p);
	if (c->author_email.n)
		git_env_add(c, "GIT_AUTHOR_EMAIL", c->author_email.p);
	c->input = c->message;
	return GIT_NEXT;
}

static int squash_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	c->commit = git_line(c, o);
	return GIT_NEXT;
}

const struct git_step git_squash_steps[] = {
	STEP_RUN("merge with the target", merge_build, git_merge_judge),
	STEP_RUN("look for an earlier accept", nothing_build, nothing_judge),
	STEP_SUB("read who commits", NULL, git_identity_steps),
	STEP_TAKE("squash", squash_build, squash_take),
	STEP_END,
};

/* The one step that counts. */

static int forward_build(struct git_call *c, struct ov_err *err _unused_)
{
	const char *why = arena_printf(&c->arena, "overseer: %s", c->name).p;

	if (!c->holder)
		return git_run(c, AT_REPO, GIT_WHOLE, "update-ref", "-m", why, git_target_ref(c).p,
				c->commit.p, c->target_oid.p, NULL);
	git_run(c, AT_REPO, GIT_WHOLE, "merge", "--quiet", "--ff-only", "--no-stat",
			"--no-autostash", "--no-overwrite-ignore", "--no-verify-signatures",
			c->commit.p, NULL);
	return git_at_holder(c);
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
	return git_run(c, AT_REPO, GIT_READS, "rev-parse", "--verify", "--quiet",
			git_target_ref(c).p, NULL);
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
		c->res.target_left = c->commit;
		c->res.detail = (str){ 0 };
		return GIT_NEXT;
	}
	if (c->ok)
		return ov_fail(err, OV_EIO,
				"git said that the target branch moved, but it did not");
	if (!str_eq(now, c->target_oid))
		c->res.outcome = GIT_MOVED;
	else if (c->holder)
		/* Something is in the way there; git's words say what. */
		c->res.outcome = GIT_DIRTY;
	else
		return ov_fail(err, OV_EIO, STR_FMT, STR_ARG(c->res.detail));
	return c->holder ? GIT_NEXT : GIT_FINISH;
}

static int refused_only(struct git_call *c, struct ov_err *err _unused_)
{
	return c->res.outcome == GIT_DIRTY ? GIT_NEXT : GIT_SKIP;
}

static int refused_end(struct git_call *c _unused_, struct ov_err *err _unused_)
{
	return GIT_FINISH;
}

static const struct git_step refused_steps[] = {
	STEP_SUB("take back what was left in the checkout", NULL, git_undo_steps),
	STEP_SUB("see what is in the way there", refused_only, git_overlap_steps),
	STEP_RUN("move the target branch", refused_end, NULL),
	STEP_END,
};

static int unless_moved(struct git_call *c, struct ov_err *err _unused_)
{
	return c->res.outcome == GIT_MOVED || c->res.outcome == GIT_DIRTY ? GIT_NEXT : GIT_SKIP;
}

/*
 * A user who goes to the target in the moment between our look and its move stands on a branch that
 * moved under his feet: his checkout would seem to take the change back. It is taken along, as git
 * itself would have done a moment later; what he changed there stays, or stops it.
 */

/*
 * Is another git just at work in the user's checkout, perhaps going to the target? While it writes
 * the files it holds a lock; before that it has read where the target is, and after it points HEAD
 * there, so one without a lock is waited for, too.
 */
static bool checkout_is_busy(struct git_call *c)
{
	struct stat st;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (stat(path_join(&c->arena, c->g->git_dir, "index.lock"), &st) == 0 &&
			now.tv_sec - st.st_mtim.tv_sec < GIT_FRESH_S)
		return true;
	return proc_find_at(STR("git"), str_from(c->g->repo), STR(GIT_MARK), GIT_FRESH_S);
}

static bool may_wait(struct git_call *c)
{
	struct timespec now;
	int64_t ms;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	if (!c->late_from_ms)
		c->late_from_ms = ms;
	return ms - c->late_from_ms < LATE_WAIT_MS;
}

/* Who was at work before the list is made may be missing in it: then it is made again. */
static int late_build(struct git_call *c, struct ov_err *err)
{
	if (c->holder)
		return GIT_LEAVE;
	c->ok = !may_wait(c) || !checkout_is_busy(c);
	return git_holder_build(c, err);
}

static int late_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	if (o->code != 0)
		return GIT_LEAVE; /* it moved, which is what counts */
	if (!c->ok)
		return GIT_AGAIN;
	git_holder_parse(c, o->out, c->target);
	return c->holder ? GIT_NEXT : GIT_LEAVE;
}

static int along_build(struct git_call *c, struct ov_err *err _unused_)
{
	git_run(c, AT_REPO, GIT_WHOLE, "read-tree", "-m", "-u", c->target_oid.p, c->commit.p, NULL);
	return git_at_holder(c);
}

static int along_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	if (o->code != 0)
		c->res.detail = arena_printf(&c->arena,
				"%s was switched to branch " STR_FMT
				" while that moved, and could not be brought along: " STR_FMT,
				c->holder, STR_ARG(c->target),
				STR_ARG(utf8_truncate(str_trim(o->err), 2000)));
	return GIT_NEXT;
}

static const struct git_step late_steps[] = {
	STEP_RUN("see who came to the target branch meanwhile", late_build, late_judge),
	STEP_RUN("bring that checkout along", along_build, along_judge),
	STEP_END,
};

/*
 * A call that was cut off between the move and that left it to the one that is made again: the
 * checkout stands on the new commit, and its index is to the last entry that of the commit
 * before it.
 */
static int behind_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!str_eq(c->target_oid, c->commit))
		return GIT_LEAVE;
	c->target_oid = arena_printf(&c->arena, "%s^", c->commit.p);
	git_run(c, AT_REPO, GIT_READS, "diff-index", "--cached", "--quiet", c->target_oid.p, "--",
			NULL);
	return git_at_holder(c);
}

static int behind_judge(struct git_call *c _unused_, const struct git_out *o,
		struct ov_err *err _unused_)
{
	return o->code == 0 ? GIT_NEXT : GIT_LEAVE;
}

static const struct git_step behind_steps[] = {
	STEP_RUN("see who came to the target branch meanwhile", late_build, late_judge),
	STEP_RUN("see whether that checkout stayed behind", behind_build, behind_judge),
	STEP_RUN("bring that checkout along", along_build, along_judge),
	STEP_END,
};

static int already_only(struct git_call *c, struct ov_err *err _unused_)
{
	return c->res.outcome == GIT_ALREADY ? GIT_NEXT : GIT_SKIP;
}

const struct git_step git_moved_steps[] = {
	STEP_SUB("bring along who came meanwhile", already_only, behind_steps),
	STEP_END,
};

const struct git_step git_move_steps[] = {
	STEP_SUB("look at the user's checkout", NULL, git_holder_steps),
	STEP_SUB("see what is in the way there", NULL, git_overlap_steps),
	STEP_RUN("move the target branch", forward_build, forward_judge),
	STEP_RUN("read the target branch", check_build, check_judge),
	STEP_SUB("see what stopped it", unless_moved, refused_steps),
	STEP_SUB("bring along who came meanwhile", NULL, late_steps),
	STEP_END,
};
