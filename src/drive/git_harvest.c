/*
 * Harvest: what an agent left in its worktree becomes commits on the worktree's branch, wherever
 * the agent went meanwhile: uncommitted files, another branch, a detached HEAD, half a rebase.
 */
#include "drive/git_call.h"
#include "drive/git_steps.h"

static int find(struct git_call *c, struct ov_err *err)
{
	int r = git_find_required(c, err);

	if (r < 0)
		return r;
	git_note_read(c, &c->branch, &c->target);
	git_drop_locks(c); /* the branch's too, now that it is known */
	return r;
}

/* A worktree that ensure did not make: its branch is the one it stands on. */
static int name_branch(struct git_call *c, struct ov_err *err)
{
	str heads = STR("refs/heads/");

	if (c->branch.n)
		return GIT_SKIP;
	if (!str_starts(c->head_ref, heads))
		return ov_fail(err, OV_ESTATE, "%s stands on no branch, and none is noted for it",
				c->path);
	c->branch = arena_str(&c->arena, str_sub(c->head_ref, heads.n, c->head_ref.n));
	c->branch_oid = c->head;
	return GIT_SKIP;
}

static bool on_branch(struct git_call *c)
{
	return str_starts(c->head_ref, STR("refs/heads/")) &&
			str_eq(str_sub(c->head_ref, 11, c->head_ref.n), c->branch);
}

/* Would moving the branch to HEAD lose commits of the branch? */
static int moved_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->ok = true;
	if (on_branch(c) || !c->head.n || !c->branch_oid.n)
		return GIT_SKIP;
	return git_run(c, AT_ADMIN, GIT_READS, "merge-base", "--is-ancestor", c->branch_oid.p,
			c->head.p, NULL);
}

static int yes_no_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code > 1)
		return git_fail(c, o, err);
	c->ok = o->code == 0;
	return GIT_NEXT;
}

static int rescue_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->dirty && c->ok && !git_unfinished(c) && !c->rescue.extra.n)
		return GIT_SKIP;
	c->res.leftovers = c->dirty;
	/* Words of its own: the same commit as that of the leftovers could not be told from it. */
	git_rescue_prepare(c, c->rescue_ref,
			arena_printf(&c->arena, "Rescue of %s before its harvest", c->path));
	git_rescue_extra(c, c->branch_oid);
	c->rescue.kept_by[0] = c->base; /* what it began with is no work of its own */
	return GIT_NEXT;
}

static int abort_needed(struct git_call *c, struct ov_err *err _unused_)
{
	return git_unfinished(c) ? GIT_NEXT : GIT_SKIP;
}

/* HEAD comes back to the branch with the branch moved to it; index and folder stay as they are. */
static int adopt_build(struct git_call *c, struct ov_err *err _unused_)
{
	str ref = arena_printf(&c->arena, "refs/heads/" STR_FMT, STR_ARG(c->branch));

	if (on_branch(c) || !c->head.n || str_eq(c->head, c->branch_oid))
		return GIT_SKIP;
	return git_run(c, AT_ADMIN, GIT_WHOLE, "update-ref", "-m", "overseer: harvest", ref.p,
			c->head.p, c->branch_oid.p, NULL);
}

static int attach_build(struct git_call *c, struct ov_err *err _unused_)
{
	str ref = arena_printf(&c->arena, "refs/heads/" STR_FMT, STR_ARG(c->branch));

	if (on_branch(c))
		return GIT_SKIP;
	return git_run(c, AT_ADMIN, 0, "symbolic-ref", "-m", "overseer: harvest", "HEAD", ref.p,
			NULL);
}

static int add_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->res.leftovers)
		return GIT_SKIP;
	git_run(c, AT_TREE, 0, "add", "-A", "--", ":(top)", NULL);
	git_exclude_nested(c);
	return GIT_NEXT;
}

static int staged_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->res.leftovers)
		return GIT_SKIP;
	return git_run(c, AT_ADMIN, GIT_READS, "diff-index", "--cached", "--quiet", "HEAD", "--",
			NULL);
}

static int staged_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code > 1)
		return git_fail(c, o, err);
	c->res.leftovers = o->code == 1 || git_admin_has(c, "MERGE_HEAD");
	return GIT_NEXT;
}

static int commit_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->res.leftovers)
		return GIT_SKIP;
	git_run(c, AT_TREE, 0, "commit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-status",
			"--allow-empty", "--cleanup=whitespace", "-F", "-", NULL);
	c->input = arena_printf(&c->arena, STR_FMT "\n",
			STR_ARG(c->message.n ? c->message : STR("Leftovers")));
	return GIT_NEXT;
}

static int base_build(struct git_call *c, struct ov_err *err)
{
	if (!c->head.n)
		return ov_fail(err, OV_ESTATE, "%s has no commit", c->path);
	c->ok = true;
	if (!c->base.n)
		return GIT_SKIP;
	return git_run(c, AT_ADMIN, GIT_READS, "merge-base", "--is-ancestor", c->base.p, c->head.p,
			NULL);
}

/* 128: no such commit here, as good as no base. */
static int base_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	if (o->code == 0)
		return GIT_NEXT;
	if (o->code != 1)
		c->base = (str){ 0 };
	c->ok = false;
	return GIT_NEXT;
}

/* The agent took its branch away from where it began: what it shares with the target counts. */
static int fork_build(struct git_call *c, struct ov_err *err)
{
	str with = c->target_oid.n ? c->target_oid : c->base;

	if (c->ok && c->base.n)
		return GIT_SKIP;
	if (!with.n)
		return ov_fail(err, OV_ENOTFOUND, "the base commit of %s is not known", c->path);
	return git_run(c, AT_ADMIN, GIT_READS, "merge-base", c->head.p, with.p, NULL);
}

static int fork_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code > 1)
		return git_fail(c, o, err);
	if (o->code == 0)
		c->base = git_line(c, o);
	else if (!c->base.n)
		c->base = c->target_oid;
	return GIT_NEXT;
}

static int count_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->res.base = c->base;
	c->res.head = c->head;
	c->res.tree = c->head_tree;
	/* A repeated call: the leftovers were rescued and committed by the one that was cut off. */
	if (!c->res.rescue_ref.n && c->rescue_tree.n && str_eq(c->rescue_tree, c->head_tree) &&
			!str_eq(c->rescue_oid, c->head)) {
		c->res.rescue_ref = c->rescue_ref;
		c->res.leftovers = true;
	}
	return git_run(c, AT_ADMIN, GIT_READS, "rev-list", "--count", c->head.p, "--not", c->base.p,
			"--", NULL);
}

static int count_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code != 0)
		return git_fail(c, o, err);
	if (!str_to_i64(git_line(c, o), &c->res.commits))
		return ov_fail(err, OV_EIO, "git rev-list gave no number");
	return GIT_NEXT;
}

static int files_build(struct git_call *c, struct ov_err *err _unused_)
{
	return git_run(c, AT_ADMIN, GIT_READS, "diff-tree", "-r", "--no-renames", "--shortstat",
			c->base.p, c->head.p, "--", NULL);
}

/* " 3 files changed, 4 insertions(+), 1 deletion(-)"; nothing when nothing changed. */
static int files_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	str line = str_trim(o->out), part;

	if (o->code != 0)
		return git_fail(c, o, err);
	while (line.n && str_split(&line, ',', &part)) {
		str trimmed = str_trim(part);
		int64_t n;

		if (!str_to_i64(str_sub(trimmed, 0, str_find_byte(trimmed, ' ')), &n))
			return ov_fail(err, OV_EIO, "git diff-tree gave no number");
		if (str_contains(trimmed, STR("(+)")))
			c->res.lines_added = n;
		else if (str_contains(trimmed, STR("(-)")))
			c->res.lines_removed = n;
		else
			c->res.files_changed = n;
	}
	return GIT_NEXT;
}

/* The parts of an output up to each separator, within the bounds of a list. */
static const str *listed(struct git_call *c, str out, char sep, size_t *ret_n)
{
	str *list = arena_array(&c->arena, str, GIT_LISTED), part;
	size_t n = 0, bytes = 0;

	while (n < GIT_LISTED && str_split(&out, sep, &part)) {
		bytes += part.n;
		if (bytes > GIT_LISTED_BYTES)
			break;
		if (part.n)
			list[n++] = arena_str(&c->arena, part);
	}
	*ret_n = n;
	return list;
}

static int paths_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->res.files_changed)
		return GIT_SKIP;
	return git_run(c, AT_ADMIN, GIT_READS, "diff-tree", "-r", "-z", "--no-renames",
			"--name-only", c->base.p, c->head.p, "--", NULL);
}

static int paths_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code != 0)
		return git_fail(c, o, err);
	c->res.files = listed(c, o->out, '\0', &c->res.files_n);
	return GIT_NEXT;
}

/* They are the last commit of the branch, also when a call that was cut off made it. */
static int leftovers_build(struct git_call *c, struct ov_err *err _unused_)
{
	str parent = arena_printf(&c->arena, STR_FMT "^", STR_ARG(c->head));

	if (!c->res.leftovers)
		return GIT_SKIP;
	return git_run(c, AT_ADMIN, GIT_READS, "diff-tree", "-r", "-z", "--no-renames",
			"--name-only", parent.p, c->head.p, "--", NULL);
}

/* 128: the first commit of all has no parent; then there is no list, only the fact. */
static int leftovers_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	if (o->code == 0)
		c->res.leftover_files = listed(c, o->out, '\0', &c->res.leftover_files_n);
	return GIT_NEXT;
}

/* Did this run go on from there? Otherwise the branch was moved: rebased, amended, taken back. */
static int since_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->ok = true;
	if (!c->start.n || str_eq(c->start, c->base) || str_eq(c->start, c->head))
		return GIT_SKIP;
	return git_run(c, AT_ADMIN, GIT_READS, "merge-base", "--is-ancestor", c->start.p, c->head.p,
			NULL);
}

/* 128: no such commit here any more, so everything counts. */
static int since_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	if (o->code > 1)
		c->start = (str){ 0 };
	c->ok = o->code == 0;
	return GIT_NEXT;
}

static int touched_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->start.n || str_eq(c->start, c->base)) {
		c->res.touched = c->res.files;
		c->res.touched_n = c->res.files_n;
		return GIT_SKIP;
	}
	if (str_eq(c->start, c->head))
		return GIT_SKIP;
	return git_run(c, AT_ADMIN, GIT_READS, "diff-tree", "-r", "-z", "--no-renames",
			"--name-only", c->start.p, c->head.p, "--", NULL);
}

static bool is_listed(const str *list, size_t n, str path)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(list[i], path))
			return true;
	return false;
}

/* After a move there is more between the two than the run's own: of that, what differs from the base. */
static int touched_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	const str *all;
	str *own;
	size_t n;

	if (o->code != 0)
		return git_fail(c, o, err);
	all = listed(c, o->out, '\0', &n);
	own = arena_array(&c->arena, str, n);
	for (size_t i = 0; i < n; i++)
		if (c->ok || is_listed(c->res.files, c->res.files_n, all[i]))
			own[c->res.touched_n++] = all[i];
	c->res.touched = own;
	return GIT_NEXT;
}

static int commits_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->res.commits)
		return GIT_SKIP;
	git_run(c, AT_ADMIN, GIT_READS, "rev-list", NULL);
	git_args(c, arena_cstr(&c->arena, arena_printf(&c->arena, "--max-count=%d", GIT_LISTED)),
			c->head.p, "--not", c->base.p, "--", NULL);
	return GIT_NEXT;
}

static int commits_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code != 0)
		return git_fail(c, o, err);
	c->res.commit_ids = listed(c, o->out, '\n', &c->res.commit_ids_n);
	return GIT_NEXT;
}

static const struct git_step harvest_steps[] = {
	STEP_RUN("find the worktree", find, NULL),
	STEP_SUB("read the branches", NULL, git_refs_steps),
	STEP_RUN("name the branch", name_branch, NULL),
	STEP_SUB("see what is uncommitted", NULL, git_status_steps),
	STEP_RUN("see whether HEAD left the branch", moved_build, yes_no_judge),
	STEP_SUB("find what was left behind", NULL, git_strays_steps),
	STEP_SUB("rescue what is in the worktree", rescue_build, git_rescue_steps,
			.inject = "git-harvest-rescued"),
	STEP_SUB("take back what was left unfinished", abort_needed, git_abort_steps),
	STEP_SUB("read the branches", NULL, git_refs_steps),
	STEP_RUN("move the branch to HEAD", adopt_build, NULL),
	STEP_RUN("attach HEAD to the branch", attach_build, NULL, .inject = "git-harvest-attached"),
	STEP_SUB("read who commits", NULL, git_identity_steps),
	STEP_RUN("add the leftovers", add_build, NULL, .inject = "git-harvest-added"),
	STEP_RUN("see whether there is anything to commit", staged_build, staged_judge),
	STEP_RUN("commit the leftovers", commit_build, NULL, .inject = "git-harvest-committed"),
	STEP_SUB("read the branches", NULL, git_refs_steps),
	STEP_RUN("check the base", base_build, base_judge),
	STEP_RUN("find where the branch began", fork_build, fork_judge),
	STEP_RUN("count the commits", count_build, count_judge),
	STEP_RUN("count the files", files_build, files_judge),
	STEP_RUN("list the files", paths_build, paths_judge),
	STEP_RUN("list the leftovers", leftovers_build, leftovers_judge),
	STEP_RUN("see where the run began", since_build, since_judge),
	STEP_RUN("list what the run changed", touched_build, touched_judge),
	STEP_RUN("list the commits", commits_build, commits_judge),
	STEP_END,
};

void git_harvest(struct git *g, str path, str base, str since, str rescue_ref, str message,
		git_done_fn *done, void *user)
{
	struct git_call *c = git_call_new(g, "harvest", path, done, user);
	struct ov_err err;
	int r = 0;

	c->base = arena_str(&c->arena, base);
	if (git_oid_valid(since))
		c->start = arena_str(&c->arena, since);
	c->rescue_ref = arena_str(&c->arena, rescue_ref);
	c->message = arena_str(&c->arena, message);
	if (base.n && !git_oid_valid(base))
		r = ov_fail(&err, OV_EINVALID, "base \"" STR_FMT "\" is not a commit's name",
				STR_ARG(base));
	else
		r = git_rescue_ref_check(rescue_ref, &err);
	git_call_start(c, harvest_steps, r, &err);
}
