/*
 * Rescue: everything in a worktree under one ref. The commit has the tree of the folder as it is,
 * HEAD as its first parent, then a commit of what the agent staged where that differs from both (as
 * git stash does), then whatever else would become unreachable. Folder and agent's index are not
 * touched: files are added to our own index. A ref that is there already is never lost: it becomes
 * a parent too. Ignored files are rescued only where that is asked for; callers that reset a
 * worktree leave them in place.
 */
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/gitrules/git_settings.h"
#include "drive/worktree/git_add.h"
#include "drive/worktree/git_embedded.h"
#include "drive/worktree/git_tree_steps.h"

int git_rescue_ref_check(str ref, struct ov_err *err)
{
	if (!str_starts(ref, STR("refs/overseer/")) || !git_ref_valid(ref))
		return ov_fail(err, OV_EINVALID,
				"rescue ref \"" STR_FMT
				"\" must be a valid name under refs/overseer/",
				STR_ARG(ref));
	return 0;
}

void git_rescue_prepare(struct git_call *c, str ref, str message)
{
	static const char *const files[] = {
		"MERGE_HEAD",
		"CHERRY_PICK_HEAD",
		"rebase-merge/autostash",
		"rebase-apply/autostash",
		"rebase-merge/orig-head",
		"rebase-apply/orig-head",
	};

	c->rescue.ref = ref;
	c->rescue.message = message;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		git_admin_commits(c, files[i]);
}

/* Is any of the commits not kept by what stays? */
static int kept_build(struct git_call *c, struct ov_err *err _unused_)
{
	struct git_rescue_state *rs = &c->rescue;

	rs->kept = true;
	if (!c->head.n && !rs->extra.n)
		return GIT_SKIP;
	git_run(c, AT_REPO, GIT_READS, "rev-list", "--max-count=1", "--ignore-missing", NULL);
	if (c->head.n)
		git_args(c, c->head.p, NULL);
	for (size_t i = 0; i < rs->extra.n; i++)
		git_args(c, rs->extra.p[i], NULL);
	if (rs->branch)
		git_args(c, c->branch_oid.p, NULL);
	git_args(c, "--not", NULL);
	for (size_t i = 0; i < ARRAY_LEN(rs->kept_by); i++)
		if (rs->kept_by[i].n)
			git_args(c, rs->kept_by[i].p, NULL);
	if (rs->kept_by_refs) {
		git_args(c, "--exclude=overseer/*", NULL);
		if (c->branch.n)
			git_args(c,
					arena_printf(&c->arena, "--exclude=" STR_FMT,
							STR_ARG(c->branch))
							.p,
					NULL);
		git_args(c, "--branches", "--remotes", "--tags", "--glob=refs/overseer", NULL);
	}
	git_args(c, "--", NULL);
	return GIT_NEXT;
}

static int kept_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	c->rescue.kept = !o->out.n;
	return GIT_NEXT;
}

/* Without a folder what was staged is all that there is to go by. */
static int rescue_begin(struct git_call *c, struct ov_err *err _unused_)
{
	struct git_rescue_state *rs = &c->rescue;

	rs->index_tree = c->agent_tree.n ? c->agent_tree : c->head_tree;
	if (c->folder && c->dirty)
		return GIT_SKIP;
	rs->tree = c->folder ? c->head_tree : rs->index_tree;
	return rs->kept && str_eq(rs->tree, c->head_tree) && !c->inner.n ? GIT_LEAVE : GIT_SKIP;
}

static void exclude(struct git_call *c, const char *name)
{
	git_args(c, arena_printf(&c->arena, ":(top,exclude,literal)%s", name).p, NULL);
}

void git_exclude_nested(struct git_call *c)
{
	for (size_t i = 0; i < c->nested.n; i++)
		exclude(c, c->nested.p[i]);
}

static int add_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->folder || !c->dirty)
		return GIT_SKIP;
	git_own_index_is(c, STR(""));
	git_add_command(c);
	if (c->partly)
		git_args(c, "--ignore-errors", NULL);
	if (c->keep_ignored == INT64_MAX)
		git_args(c, "--force", NULL);
	git_args(c, "--", ":(top)", NULL);
	git_exclude_nested(c);
	/* Otherwise git would not take them, and refuse to have them named. */
	for (size_t i = 0; c->keep_ignored == INT64_MAX && i < c->nested_ignored.n; i++)
		exclude(c, c->nested_ignored.p[i]);
	return GIT_NEXT;
}

static int links_build(struct git_call *c, struct ov_err *err _unused_)
{
	return c->folder && c->dirty ? git_links_build(c) : GIT_SKIP;
}

static int rescue_tree_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->folder || !c->dirty)
		return GIT_SKIP;
	return git_run(c, AT_ADMIN, 0, "write-tree", NULL);
}

/* Is it all in HEAD, which is kept: the folder, and the index as far as it can be told? */
static bool nothing_to_keep(const struct git_call *c)
{
	const struct git_rescue_state *rs = &c->rescue;

	if (!rs->kept || !str_eq(rs->tree, c->head_tree) || c->inner.n)
		return false;
	return !c->folder || !c->dirty || str_eq(rs->index_tree, c->head_tree);
}

static int rescue_tree_take(struct git_call *c, const struct git_out *o,
		struct ov_err *err _unused_)
{
	struct git_rescue_state *rs = &c->rescue;

	rs->tree = git_line(c, o);
	rs->added = true;
	return nothing_to_keep(c) ? GIT_LEAVE : GIT_NEXT;
}

/* The date is fixed, so that rescuing the same index twice gives the same commit. */
static int index_commit_build(struct git_call *c, struct ov_err *err _unused_)
{
	struct git_rescue_state *rs = &c->rescue;

	if (!rs->index_tree.n || str_eq(rs->index_tree, rs->tree) ||
			str_eq(rs->index_tree, c->head_tree))
		return GIT_SKIP;
	git_run(c, AT_REPO, 0, "commit-tree", rs->index_tree.p, NULL);
	if (c->head.n)
		git_args(c, "-p", c->head.p, NULL);
	git_env_add(c, "GIT_AUTHOR_DATE", "2000-01-01T00:00:00Z");
	git_env_add(c, "GIT_COMMITTER_DATE", "2000-01-01T00:00:00Z");
	c->input = STR("The index, as it differed from the folder\n");
	return GIT_NEXT;
}

static int index_commit_take(struct git_call *c, const struct git_out *o,
		struct ov_err *err _unused_)
{
	c->rescue.index_commit = git_line(c, o);
	return GIT_NEXT;
}

static void add_parent(struct git_rescue_state *rs, const char *oid)
{
	for (size_t i = 0; i < rs->parents.n; i++)
		if (strcmp(rs->parents.p[i], oid) == 0)
			return;
	vec_push(&rs->parents, oid);
}

static int ref_build(struct git_call *c, struct ov_err *err _unused_)
{
	struct git_rescue_state *rs = &c->rescue;

	vec_clear(&rs->parents);
	if (c->head.n)
		add_parent(rs, c->head.p);
	if (rs->index_commit.n)
		add_parent(rs, rs->index_commit.p);
	for (size_t i = 0; i < rs->extra.n; i++)
		add_parent(rs, rs->extra.p[i]);
	if (rs->branch && (!c->dirty || !str_eq(rs->tree, c->branch_tree)))
		add_parent(rs, c->branch_oid.p);
	return git_run(c, AT_REPO, GIT_READS, "for-each-ref",
			"--format=%(objectname) %(tree) %(parent)", arena_cstr(&c->arena, rs->ref),
			NULL);
}

/* What the commit is to hold: the folder, and what is in other repositories. */
static str whole(const struct git_rescue_state *rs)
{
	return rs->whole.n ? rs->whole : rs->tree;
}

/* A ref that holds just this, since the call is being repeated, is good as it is. */
static bool ref_is_same(const struct git_rescue_state *rs, str tree, str parents)
{
	str one;

	if (!str_eq(tree, whole(rs)))
		return false;
	for (size_t i = 0; i < rs->parents.n; i++)
		if (!str_split(&parents, ' ', &one) || !str_is(one, rs->parents.p[i]))
			return false;
	return true;
}

static int ref_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	struct git_rescue_state *rs = &c->rescue;
	str rest = git_line(c, o), tree = { 0 };

	if (str_split(&rest, ' ', &rs->old) && rs->old.n && str_split(&rest, ' ', &tree)) {
		rs->old = arena_str(&c->arena, rs->old);
		if (ref_is_same(rs, tree, rest)) {
			rs->commit = rs->old;
			return GIT_NEXT;
		}
	}
	/* The one commit that there is to keep needs no other around it. */
	if (rs->parents.n == 1 && (!rs->tree.n || str_eq(whole(rs), c->head_tree)) &&
			(!rs->old.n || str_is(rs->old, rs->parents.p[0])))
		rs->commit = str_from(rs->parents.p[0]);
	if (rs->old.n && !rs->commit.n)
		add_parent(rs, rs->old.p);
	return GIT_NEXT;
}

static int commit_build(struct git_call *c, struct ov_err *err _unused_)
{
	struct git_rescue_state *rs = &c->rescue;
	const char *tree = whole(rs).p;

	if (rs->commit.n)
		return GIT_SKIP;
	if (!tree)
		tree = arena_printf(&c->arena, "%s^{tree}", rs->parents.p[0]).p;
	git_run(c, AT_REPO, 0, "commit-tree", tree, NULL);
	for (size_t i = 0; i < rs->parents.n; i++)
		git_args(c, "-p", rs->parents.p[i], NULL);
	c->input = arena_printf(&c->arena, STR_FMT "\n",
			STR_ARG(rs->message.n ? rs->message : STR("Rescue")));
	return GIT_NEXT;
}

static int commit_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	c->rescue.commit = git_line(c, o);
	return GIT_NEXT;
}

static int keep_build(struct git_call *c, struct ov_err *err _unused_)
{
	struct git_rescue_state *rs = &c->rescue;

	c->res.rescue_ref = rs->ref;
	c->res.commit = rs->commit;
	if (str_eq(rs->commit, rs->old))
		return GIT_SKIP;
	/* The old value is checked; empty means that the ref must not exist. */
	return git_run(c, AT_REPO, GIT_WHOLE, "update-ref", "--no-deref", "-m", "overseer: rescue",
			rs->ref.p, rs->commit.p, rs->old.n ? rs->old.p : "", NULL);
}

static int look_begin(struct git_call *c, struct ov_err *err _unused_)
{
	c->look_ignored = c->keep_ignored > 0;
	return GIT_SKIP;
}

static int look_end(struct git_call *c, struct ov_err *err _unused_)
{
	c->look_ignored = false;
	return GIT_SKIP;
}

const struct git_step git_rescue_steps[] = {
	STEP_RUN("see what is uncommitted", look_begin, NULL),
	STEP_SUB("see what is uncommitted", NULL, git_status_steps),
	STEP_RUN("see what is uncommitted", look_end, NULL),
	STEP_SUB("move aside what is too large", NULL, git_oversize_steps),
	STEP_RUN("look into other repositories", git_embedded_list, NULL),
	STEP_TAKE("see which commits are kept", kept_build, kept_take),
	STEP_RUN("rescue", rescue_begin, NULL),
	STEP_SUB("read who commits", NULL, git_identity_steps),
	STEP_SUB("remove copies of large files", NULL, git_lfs_clear_steps),
	STEP_RUN("add the folder's files", add_build, git_add_judge),
	STEP_SUB("add some of what is ignored", NULL, git_ignored_some_steps),
	STEP_SUB("take over large files", NULL, git_lfs_own_steps),
	STEP_RUN("add the submodules' commits", links_build, NULL),
	STEP_TAKE("write the folder as a tree", rescue_tree_build, rescue_tree_take),
	STEP_SUB("keep the files of other repositories", NULL, git_embedded_keep_steps),
	STEP_TAKE("commit the index", index_commit_build, index_commit_take),
	STEP_TAKE("look at the rescue ref", ref_build, ref_take),
	STEP_TAKE("commit what is rescued", commit_build, commit_take),
	STEP_RUN("set the rescue ref", keep_build, NULL),
	STEP_END,
};
