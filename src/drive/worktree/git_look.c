/*
 * Steps that only look: where HEAD and the branches are, what is uncommitted, who holds a branch.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/gitrules/git_settings.h"
#include "drive/worktree/git_add.h"
#include "drive/worktree/git_embedded.h"
#include "drive/worktree/git_tree_steps.h"
#include "sys/file/file.h"

enum {
	LOOK_HEAD,
	LOOK_HEAD_TREE,
	LOOK_HEAD_PARENT,
	LOOK_BRANCH,
	LOOK_BRANCH_TREE,
	LOOK_BRANCH_PARENT,
	LOOK_TARGET,
	LOOK_TARGET_TREE,
	LOOK_KEPT,
	LOOK_RESCUE,
	LOOK_RESCUE_TREE,
	LOOK_FORMER,
	LOOK_COUNT
};

/* One child answers for all names, and an absent one is an answer, not a failure. */
static int refs_build(struct git_call *c, struct ov_err *err _unused_)
{
	str none = STR("refs/.."), heads = STR("refs/heads/");
	str branch = c->branch.n ? c->branch : STR(".."),
	    target = c->target.n ? c->target : STR("..");
	str kept = c->kept_ref.n ? c->kept_ref : none;
	str rescue = c->rescue_ref.n ? c->rescue_ref : none, head;
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	if (c->own) {
		git_room_head(c);
		git_room_names(c);
	}
	head = c->own ? c->head_name : STR("HEAD");
	/* What is not asked for is a name that cannot exist. */
	if (!head.n)
		head = none;
	buf_addf(&b, STR_FMT "^{commit}\n", STR_ARG(head));
	buf_addf(&b, STR_FMT "^{tree}\n", STR_ARG(head));
	buf_addf(&b, STR_FMT "^1^{commit}\n", STR_ARG(head));
	buf_addf(&b, STR_FMT STR_FMT "^{commit}\n", STR_ARG(heads), STR_ARG(branch));
	buf_addf(&b, STR_FMT STR_FMT "^{tree}\n", STR_ARG(heads), STR_ARG(branch));
	buf_addf(&b, STR_FMT STR_FMT "^1^{commit}\n", STR_ARG(heads), STR_ARG(branch));
	buf_addf(&b, STR_FMT STR_FMT "^{commit}\n", STR_ARG(heads), STR_ARG(target));
	buf_addf(&b, STR_FMT STR_FMT "^{tree}\n", STR_ARG(heads), STR_ARG(target));
	buf_addf(&b, STR_FMT "^{commit}\n", STR_ARG(kept));
	buf_addf(&b, STR_FMT "^{commit}\n", STR_ARG(rescue));
	buf_addf(&b, STR_FMT "^{tree}\n", STR_ARG(rescue));
	buf_addf(&b, STR_FMT "^{commit}\n", STR_ARG(c->former_ref.n ? c->former_ref : none));
	for (size_t i = 0; i < c->named.n; i++)
		buf_addf(&b, "%s^{commit}\n", c->named.p[i]);
	git_run(c, AT_REPO, GIT_READS, "cat-file", "--batch-check=%(objectname)", NULL);
	c->input = arena_str(&c->arena, buf_str(&b));
	return GIT_NEXT;
}

/*
 * Of the commits that the agent's folder names, those that the repository has; others are wanted.
 */
static void sort_named(struct git_call *c, str answers)
{
	size_t n = 0;
	str line;

	vec_clear(&c->wanted);
	if (c->head_name.n && git_oid_valid(c->head_name) && !c->head.n)
		vec_push(&c->wanted, c->head_name.p);
	for (size_t i = 0; i < c->named.n && str_split(&answers, '\n', &line); i++)
		if (git_oid_valid(line))
			c->named.p[n++] = c->named.p[i];
		else
			vec_push(&c->wanted, c->named.p[i]);
	c->named.n = n;
}

static int refs_take(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	str *const to[LOOK_COUNT] = {
		[LOOK_HEAD] = &c->head,
		[LOOK_HEAD_TREE] = &c->head_tree,
		[LOOK_HEAD_PARENT] = &c->head_parent,
		[LOOK_BRANCH] = &c->branch_oid,
		[LOOK_BRANCH_TREE] = &c->branch_tree,
		[LOOK_BRANCH_PARENT] = &c->branch_parent,
		[LOOK_TARGET] = &c->target_oid,
		[LOOK_TARGET_TREE] = &c->target_tree,
		[LOOK_KEPT] = &c->kept_oid,
		[LOOK_RESCUE] = &c->rescue_oid,
		[LOOK_RESCUE_TREE] = &c->rescue_tree,
		[LOOK_FORMER] = &c->former_oid,
	};
	str rest = o->out, line;
	size_t i = 0;

	for (; i < LOOK_COUNT && str_split(&rest, '\n', &line); i++)
		*to[i] = git_oid_valid(line) ? arena_str(&c->arena, line) : (str){ 0 };
	if (!c->res.target_seen.n)
		c->res.target_seen = c->target_oid;
	if (i < LOOK_COUNT)
		return ov_fail(err, OV_EIO, "git cat-file answered %zu of %d questions", i,
				LOOK_COUNT);
	if (c->own)
		sort_named(c, rest);
	return GIT_NEXT;
}

static int take_only(struct git_call *c, struct ov_err *err _unused_)
{
	return c->own && c->wanted.n && !c->taken ? GIT_NEXT : GIT_LEAVE;
}

static int taken(struct git_call *c, struct ov_err *err _unused_)
{
	c->taken = true;
	return GIT_SKIP;
}

const struct git_step git_refs_steps[] = {
	STEP_SUB("take over large files", NULL, git_lfs_agent_steps),
	STEP_TAKE("read the branches", refs_build, refs_take),
	STEP_SUB("take over what was committed", take_only, git_take_steps),
	STEP_RUN("take over what was committed", taken, NULL),
	STEP_TAKE("read the branches", refs_build, refs_take),
	STEP_END,
};

/* Runs only when the target is missing, to say why. */
static int target_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (c->target_oid.n)
		return GIT_LEAVE;
	return git_run(c, AT_REPO, GIT_READS, "for-each-ref", "--count=1", "refs/heads", NULL);
}

static int target_take(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->out.n) {
		ov_fail(err, OV_ENOTFOUND, "branch " STR_FMT " does not exist in %s",
				STR_ARG(c->target), c->g->repo);
		return ov_next(err, "git branch " STR_FMT, STR_ARG(c->target));
	}
	ov_fail(err, OV_ESTATE, "%s has no commit yet, so there is nothing to build on",
			c->g->repo);
	return ov_next(err, "git commit --allow-empty -m 'Start'");
}

const struct git_step git_target_steps[] = {
	STEP_TAKE("find the target branch", target_build, target_take),
	STEP_END,
};

/*
 * By our own index, and without a look into other repositories: what is not the base's is left out,
 * and what is keeps the commit that the agent's commits say.
 */
int git_status_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->dirty = c->changed = c->unmerged = false;
	c->found = 0;
	c->found_bytes = 0;
	vec_clear(&c->nested);
	vec_clear(&c->embedded);
	vec_clear(&c->nested_ignored);
	if (!c->folder || c->making)
		return GIT_SKIP;
	git_run(c, AT_TREE, GIT_READS, "status", "--porcelain=v1", "-z", "--untracked-files=all",
			"--ignore-submodules=all", "--no-renames", NULL);
	if (c->look_ignored)
		git_args(c, "--ignored", NULL);
	return GIT_NEXT;
}

/* In the place of a file of the commit's, for which git would take it. */
static bool is_repository(struct git_call *c, str name)
{
	_cleanup_(fd_closep) int fd = -1;

	return file_open_beneath(c->path, arena_cstr(&c->arena, name), O_PATH | O_DIRECTORY, &fd,
			       NULL) == 0;
}

/*
 * Repositories inside the worktree, the only folders that are listed, are no work of the
 * worktree's: git would keep the mere name of their commit, or refuse when they have none. They
 * are left alone.
 */
int git_status_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf absent = BUF_INIT, oversize = BUF_INIT;
	str rest = o->out, e;
	struct stat st;
	bool fresh;

	if (o->code != 0)
		return git_fail(c, o, err);
	while (str_split(&rest, '\0', &e)) {
		str xy = str_sub(e, 0, 2), name = str_sub(e, 3, e.n);

		if (!name.n)
			continue;
		fresh = str_is(xy, "??") || str_is(xy, "!!");
		if (fresh && name.p[name.n - 1] == '/') {
			const char *found = arena_cstr(&c->arena, name);

			/* What is ignored stays, whatever it is. */
			if (xy.p[0] == '!') {
				vec_push(&c->nested_ignored, found);
				continue;
			}
			vec_push(&c->nested, found);
			vec_push(&c->embedded, found);
			continue;
		}
		c->dirty = true;
		c->found++;
		if (xy.p[1] != 'D' &&
				fstatat(c->tree_fd, arena_cstr(&c->arena, name), &st,
						AT_SYMLINK_NOFOLLOW) == 0) {
			if (git_is_oversize(&st)) {
				buf_adds(&oversize, name);
				buf_addc(&oversize, '\0');
			} else {
				c->found_bytes += st.st_size;
			}
		}
		if (xy.p[1] == 'T' && is_repository(c, name)) {
			vec_push(&c->nested, arena_cstr(&c->arena, name));
			vec_push(&c->embedded,
					path_join(&c->arena, c->nested.p[c->nested.n - 1], ""));
			continue;
		}
		c->changed |= !fresh;
		if (xy.p[1] == 'D') {
			buf_adds(&absent, name);
			buf_addc(&absent, '\0');
		}
	}
	c->absent = arena_str(&c->arena, buf_str(&absent));
	c->oversize = arena_str(&c->arena, buf_str(&oversize));
	return GIT_NEXT;
}

const struct git_step git_status_steps[] = {
	STEP_SUB("read what was committed", NULL, git_own_index_steps),
	STEP_SUB("see for which files programs run", NULL, git_rules_steps),
	STEP_RUN("see what is uncommitted", git_status_build, git_status_judge),
	STEP_SUB("see what is not checked out", NULL, git_sparse_steps),
	STEP_SUB("see what is staged", NULL, git_staged_steps),
	STEP_SUB("find other repositories", NULL, git_links_steps),
	STEP_SUB("find other repositories", NULL, git_embedded_find_steps),
	STEP_END,
};

int git_holder_build(struct git_call *c, struct ov_err *err _unused_)
{
	return git_run(c, AT_REPO, GIT_READS, "worktree", "list", "--porcelain", "-z", NULL);
}

void git_holder_parse(struct git_call *c, str list, str branch)
{
	str want = arena_printf(&c->arena, "branch refs/heads/" STR_FMT, STR_ARG(branch)), field,
	    folder = { 0 };

	c->holder = c->other_holder = NULL;
	while (str_split(&list, '\0', &field)) {
		if (str_starts(field, STR("worktree ")))
			folder = str_sub(field, 9, field.n);
		if (!str_eq(field, want) || !file_exists(arena_cstr(&c->arena, folder)))
			continue;
		c->other_holder = c->holder;
		c->holder = arena_cstr(&c->arena, folder);
	}
}
