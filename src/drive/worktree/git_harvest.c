/*
 * Harvest: what an agent left in its worktree becomes commits on the worktree's branch, wherever
 * the agent went meanwhile: uncommitted files, another branch, a detached HEAD, half a rebase. The
 * branch is the one that the caller names; it moves once, from the value that it had.
 */
#include "drive/git/git_aside.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/gitrules/git_programs.h"
#include "drive/gitrules/git_settings.h"
#include "drive/worktree/git_add.h"
#include "drive/worktree/git_embedded.h"
#include "drive/worktree/git_tree_steps.h"
#include "drive/worktree/worktree.h"

static str branch_ref(struct git_call *c)
{
	return arena_printf(&c->arena, "refs/heads/" STR_FMT, STR_ARG(c->branch));
}

static int yes_no_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code > 1)
		return git_fail(c, o, err);
	c->ok = o->code == 0;
	return GIT_NEXT;
}

/* Without a commit of its own, or a git folder, it goes on from where the branch is, or began. */
static int harvest_settle(struct git_call *c, struct ov_err *err)
{
	if (!c->head.n && c->branch_oid.n) {
		c->head = c->branch_oid;
		c->head_tree = c->branch_tree;
	}
	if (!c->head.n && c->base.n) {
		c->head = c->base;
		return git_run(c, AT_REPO, GIT_READS, "rev-parse", "--verify",
				arena_printf(&c->arena, STR_FMT "^{tree}", STR_ARG(c->base)).p,
				NULL);
	}
	return c->head.n ? GIT_SKIP : ov_fail(err, OV_ESTATE, "%s has no commit", c->path);
}

static int settle_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code != 0)
		return ov_fail(err, OV_ESTATE, "%s has no commit", c->path);
	c->head_tree = git_line(c, o);
	return GIT_NEXT;
}

/* Would moving the branch to HEAD lose commits of the branch? */
static int moved_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->op = git_unfinished(c);
	c->ok = true;
	if (!c->branch_oid.n || str_eq(c->head, c->branch_oid) ||
			str_eq(c->head_parent, c->branch_oid))
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_READS, "merge-base", "--is-ancestor", c->branch_oid.p,
			c->head.p, NULL);
}

static int rescue_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->went_on = c->ok;
	if (!c->dirty && c->ok && !c->op && !c->rescue.extra.n && !c->embedded.n)
		return GIT_SKIP;
	c->res.leftovers = c->dirty;
	/* Words of its own: the same commit as that of the leftovers could not be told from it. */
	git_rescue_prepare(c, c->rescue_ref,
			arena_printf(&c->arena, "Rescue of %s before its harvest", c->path));
	/* On top of HEAD it may be what a call that was cut off made: the files will tell. */
	c->rescue.branch = !c->ok && str_eq(c->branch_parent, c->head);
	if (!c->ok && !c->rescue.branch)
		git_rescue_extra(c, c->branch_oid);
	c->rescue.kept_by[0] = c->base; /* what it began with is no work of its own */
	return GIT_NEXT;
}

/* What no commit has is no part of the work; a link that is in one is a reason to refuse it. */
static int left_out(struct git_call *c, struct ov_err *err _unused_)
{
	if (c->embedded.n)
		git_say(c,
				arena_printf(&c->arena,
						"not part of the work, since each is a repository "
						"of its own: " STR_FMT,
						STR_ARG(git_embedded_names(c))));
	return GIT_SKIP;
}

/* What was left halfway: the files go back to the last commit, or to the branch. */
static int back_only(struct git_call *c, struct ov_err *err _unused_)
{
	str own;

	if (c->op != GIT_OP_STUCK && c->op != GIT_OP_DETACHED)
		return GIT_SKIP;
	c->rescue.added = false;
	own = c->op == GIT_OP_DETACHED ? git_room_branch(c) : (str){ 0 };
	for (size_t i = 0; i < c->named.n; i++)
		if (own.n && str_is(own, c->named.p[i]))
			c->commit = own;
	if (!c->commit.n)
		c->commit = c->head;
	return GIT_NEXT;
}

/* What a merge brought is no work: seen from what was merged, it goes again. */
static int brought_build(struct git_call *c, struct ov_err *err _unused_)
{
	static const char *const files[] = { "MERGE_HEAD", "CHERRY_PICK_HEAD" };

	if (c->op != GIT_OP_STUCK)
		return GIT_SKIP;
	vec_clear(&c->rescue.extra);
	for (size_t i = 0; i < ARRAY_LEN(files) && !c->rescue.extra.n; i++)
		git_admin_commits(c, files[i]);
	if (!c->rescue.extra.n)
		return GIT_SKIP;
	git_own_index_is(c, STR(""));
	return git_run(c, AT_TREE, 0, "read-tree", c->rescue.extra.p[0], NULL);
}

static int back_build(struct git_call *c, struct ov_err *err _unused_)
{
	git_own_index_is(c, STR(""));
	return git_run(c, AT_TREE, 0, "checkout", "--quiet", "--force", "--detach", c->commit.p,
			NULL);
}

static int back_head(struct git_call *c, struct ov_err *err _unused_)
{
	git_own_index_is(c, c->commit);
	c->head = c->commit;
	return git_run(c, AT_REPO, GIT_READS, "rev-parse", "--verify",
			arena_printf(&c->arena, STR_FMT "^{tree}", STR_ARG(c->head)).p, NULL);
}

static int back_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	c->head_tree = git_line(c, o);
	c->commit = (str){ 0 };
	return GIT_NEXT;
}

static const struct git_step back_steps[] = {
	STEP_RUN("put other repositories aside", git_embedded_aside, NULL),
	STEP_SUB("read what was committed", NULL, git_own_index_steps),
	STEP_RUN("see what was merged", brought_build, NULL),
	STEP_RUN("leave what was unfinished", back_build, NULL),
	STEP_TAKE("leave what was unfinished", back_head, back_take),
	STEP_END,
};

/* The leftovers: as they were rescued, unless that was too much, or some of them went back. */
static int add_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->tree = c->rescue.added && !c->keep_ignored ? c->rescue.tree : (str){ 0 };
	if (!c->res.leftovers)
		c->tree = c->head_tree;
	if (c->tree.n)
		return GIT_SKIP;
	git_own_index_is(c, STR(""));
	git_add_command(c);
	git_args(c, "--", ":(top)", NULL);
	git_exclude_nested(c);
	return GIT_NEXT;
}

static int links_build(struct git_call *c, struct ov_err *err _unused_)
{
	return c->tree.n ? GIT_SKIP : git_links_build(c);
}

static int leftovers_only(struct git_call *c, struct ov_err *err _unused_)
{
	return c->res.leftovers || c->op == GIT_OP_RESOLVED ? GIT_NEXT : GIT_SKIP;
}

static int again_only(struct git_call *c, struct ov_err *err _unused_)
{
	return c->rescue.added ? (c->keep_ignored ? GIT_NEXT : GIT_SKIP)
			       : (c->res.leftovers ? GIT_NEXT : GIT_SKIP);
}

static int tree_build(struct git_call *c, struct ov_err *err _unused_)
{
	return c->tree.n ? GIT_SKIP : git_run(c, AT_ADMIN, 0, "write-tree", NULL);
}

static int tree_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	c->tree = git_line(c, o);
	return GIT_NEXT;
}

static int commit_build(struct git_call *c, struct ov_err *err _unused_)
{
	bool merge = c->op == GIT_OP_RESOLVED && git_admin_has(c, "MERGE_HEAD");

	c->res.leftovers = !str_eq(c->tree, c->head_tree) || merge;
	c->commit = c->head;
	if (!c->res.leftovers)
		return GIT_SKIP;
	/* A call that was cut off made it. */
	if (!merge && str_eq(c->tree, c->branch_tree) && str_eq(c->branch_parent, c->head)) {
		c->commit = c->branch_oid;
		return GIT_SKIP;
	}
	git_run(c, AT_REPO, 0, "commit-tree", c->tree.p, "-p", c->head.p, NULL);
	if (merge) {
		vec_clear(&c->rescue.extra);
		git_admin_commits(c, "MERGE_HEAD");
		for (size_t i = 0; i < c->rescue.extra.n; i++)
			git_args(c, "-p", c->rescue.extra.p[i], NULL);
	}
	c->input = arena_printf(&c->arena, STR_FMT "\n",
			STR_ARG(c->message.n ? c->message : STR("Leftovers")));
	return GIT_NEXT;
}

static int commit_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	c->commit = git_line(c, o);
	return GIT_NEXT;
}

static int branch_build(struct git_call *c, struct ov_err *err _unused_)
{
	git_own_index_is(c, c->commit); /* it holds just these files */
	c->publish = c->commit;
	if (str_eq(c->commit, c->branch_oid))
		return GIT_SKIP;
	if (!c->branch_oid.n)
		git_drop_damaged_ref(c, branch_ref(c));
	/* The old value is checked; empty means that the ref must not exist. */
	return git_run(c, AT_REPO, GIT_WHOLE, "update-ref", "--no-deref", "-m", "overseer: harvest",
			branch_ref(c).p, c->commit.p, c->branch_oid.n ? c->branch_oid.p : "", NULL);
}

static int followed(struct git_call *c, struct ov_err *err _unused_)
{
	c->head = c->commit;
	c->head_tree = c->tree;
	return GIT_SKIP;
}

static int base_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->ok = true;
	/* Of its own branch, which HEAD goes on from, that was seen already. */
	if (!c->base.n || str_eq(c->base, c->head) ||
			(c->went_on && str_eq(c->base, c->branch_oid)))
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_READS, "merge-base", "--is-ancestor", c->base.p, c->head.p,
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
	return git_run(c, AT_REPO, GIT_READS, "merge-base", c->head.p, with.p, NULL);
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

/* A repeated call: the leftovers were rescued and committed by the one that was cut off. */
static bool was_rescued(const struct git_call *c)
{
	if (!c->rescue_tree.n || c->res.leftovers)
		return false;
	if (!c->res.rescue_ref.n)
		return str_eq(c->rescue_tree, c->head_tree) && !str_eq(c->rescue_oid, c->head);
	/* What is in other repositories was rescued with them: on another commit than now. */
	return str_eq(c->rescue_tree, c->rescue.whole) && !str_eq(c->res.commit, c->rescue_oid);
}

static int count_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->res.base = c->base;
	c->res.head = c->head;
	c->res.tree = c->head_tree;
	if (was_rescued(c)) {
		c->res.rescue_ref = c->rescue_ref;
		c->res.leftovers = true;
	}
	return git_run(c, AT_REPO, GIT_READS, "rev-list", c->head.p, "--not", c->base.p, "--",
			NULL);
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

static int count_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	for (size_t i = 0; i < o->out.n; i++)
		c->res.commits += o->out.p[i] == '\n';
	if (c->res.commits)
		c->res.commit_ids = listed(c, o->out, '\n', &c->res.commit_ids_n);
	return GIT_NEXT;
}

static int files_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (str_eq(c->base, c->head))
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_READS, "diff-tree", "-r", "-z", "--no-renames", "--raw",
			"--numstat", "--ignore-submodules=none", c->base.p, c->head.p, "--", NULL);
}

/* First what changes and how, then "4\t1\tNAME" each; dashes in place of numbers: it is no text. */
static int files_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	str *list = arena_array(&c->arena, str, GIT_LISTED), rest = o->out, entry, added, removed,
	    reason;
	struct git_change change;
	size_t bytes = 0;
	int64_t n;

	reason = git_names_reason(c, rest);
	if (reason.n)
		c->res.refused = reason;
	while (git_change_next(&rest, &change))
		;
	while (str_split(&rest, '\0', &entry)) {
		if (!str_split(&entry, '\t', &added) || !str_split(&entry, '\t', &removed))
			continue;
		c->res.files_changed++;
		if (str_to_i64(added, &n))
			c->res.lines_added += n;
		if (str_to_i64(removed, &n))
			c->res.lines_removed += n;
		bytes += entry.n;
		if (c->res.files_n < GIT_LISTED && bytes <= GIT_LISTED_BYTES)
			list[c->res.files_n++] = arena_str(&c->arena, entry);
	}
	c->res.files = list;
	return GIT_NEXT;
}

/* They are the last commit of the branch, also when a call that was cut off made it. */
static int leftovers_build(struct git_call *c, struct ov_err *err _unused_)
{
	str parent = arena_printf(&c->arena, STR_FMT "^", STR_ARG(c->head));

	if (!c->res.leftovers)
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_READS, "diff-tree", "-r", "-z", "--no-renames",
			"--ignore-submodules=none", "--name-only", parent.p, c->head.p, "--", NULL);
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
	return git_run(c, AT_REPO, GIT_READS, "merge-base", "--is-ancestor", c->start.p, c->head.p,
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
	return git_run(c, AT_REPO, GIT_READS, "diff-tree", "-r", "-z", "--no-renames",
			"--ignore-submodules=none", "--name-only", c->start.p, c->head.p, "--",
			NULL);
}

static bool is_listed(const str *list, size_t n, str path)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(list[i], path))
			return true;
	return false;
}

/*
 * After a move there is more between the two than the run's own: of that, what differs from
 * the base.
 */
static int touched_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	const str *all;
	str *own;
	size_t n;

	all = listed(c, o->out, '\0', &n);
	own = arena_array(&c->arena, str, n);
	for (size_t i = 0; i < n; i++)
		if (c->ok || is_listed(c->res.files, c->res.files_n, all[i]))
			own[c->res.touched_n++] = all[i];
	c->res.touched = own;
	return GIT_NEXT;
}

/* Who committed all of it, as agents should, has the folder that we would make. */
static int changed_only(struct git_call *c, struct ov_err *err)
{
	if (!git_is_published(c))
		return GIT_NEXT;
	git_staged_is_settled(c);
	return git_link(c, err) < 0 ? err->code : GIT_SKIP;
}

static const struct git_step harvest_steps[] = {
	STEP_RUN("find the worktree", git_find_required, NULL),
	STEP_SUB("make our own git folder", NULL, git_own_steps),
	STEP_SUB("read the branches", NULL, git_refs_steps),
	STEP_RUN("find HEAD", harvest_settle, settle_judge),
	STEP_SUB("see what is uncommitted", NULL, git_status_steps),
	STEP_RUN("see whether HEAD left the branch", moved_build, yes_no_judge),
	STEP_SUB("find what was left behind", NULL, git_strays_steps),
	STEP_SUB("rescue what is in the worktree", rescue_build, git_rescue_steps,
			.inject = "git-harvest-rescued"),
	STEP_RUN("store what is uncommitted", git_filtered, NULL),
	STEP_RUN("leave other repositories out", left_out, NULL),
	STEP_SUB("leave what was unfinished", back_only, back_steps),
	STEP_SUB("read who commits", leftovers_only, git_identity_steps),
	STEP_SUB("read what was committed", again_only, git_own_index_steps),
	STEP_SUB("remove copies of large files", NULL, git_lfs_clear_steps),
	STEP_RUN("add the leftovers", add_build, NULL),
	STEP_SUB("take over large files", NULL, git_lfs_own_steps),
	STEP_RUN("add the submodules' commits", links_build, NULL),
	STEP_TAKE("write the leftovers as a tree", tree_build, tree_take),
	STEP_TAKE("commit the leftovers", commit_build, commit_take),
	STEP_RUN("move the branch", branch_build, NULL, .inject = "git-harvest-committed"),
	STEP_RUN("follow", followed, NULL),
	STEP_SUB("read what was committed", NULL, git_own_index_steps),
	STEP_SUB("make the agent's git folder", changed_only, git_publish_steps),
	STEP_RUN("check the base", base_build, base_judge),
	STEP_RUN("find where the branch began", fork_build, fork_judge),
	STEP_TAKE("count the commits", count_build, count_take),
	STEP_TAKE("count the files", files_build, files_take),
	STEP_SUB("look for content that is not there", NULL, git_lfs_harvest_steps),
	STEP_SUB("look for new rules", NULL, git_filters_harvest_steps),
	STEP_RUN("list the leftovers", leftovers_build, leftovers_judge),
	STEP_RUN("see where the run began", since_build, since_judge),
	STEP_TAKE("list what the run changed", touched_build, touched_take),
	STEP_END,
};

void git_harvest(struct git *g, const struct git_harvest *spec, git_done_fn *done, void *user)
{
	struct git_call *c = git_call_new(g, "harvest", spec->path, done, user);
	struct ov_err err;
	int r = 0;

	c->branch = arena_str(&c->arena, spec->branch);
	c->target = arena_str(&c->arena, spec->target);
	c->base = arena_str(&c->arena, spec->base);
	if (git_oid_valid(spec->since))
		c->start = arena_str(&c->arena, spec->since);
	c->rescue_ref = arena_str(&c->arena, spec->rescue_ref);
	c->message = arena_str(&c->arena, spec->message);
	if (!git_ref_valid(spec->branch) || !git_ref_valid(spec->target))
		r = ov_fail(&err, OV_EINVALID,
				"cannot harvest to \"" STR_FMT "\" for \"" STR_FMT "\"",
				STR_ARG(spec->branch), STR_ARG(spec->target));
	else if (spec->base.n && !git_oid_valid(spec->base))
		r = ov_fail(&err, OV_EINVALID, "base \"" STR_FMT "\" is not a commit's name",
				STR_ARG(spec->base));
	else
		r = git_rescue_ref_check(spec->rescue_ref, &err);
	git_call_start(c, harvest_steps, r, &err);
}
