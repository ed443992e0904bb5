/* Making a worktree stand where it should (ensure), and taking it away (remove). */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drive/git/git_aside.h"
#include "drive/git/git_steps.h"
#include "drive/gitrules/git_settings.h"
#include "drive/worktree/git_embedded.h"
#include "drive/worktree/git_tree_steps.h"
#include "drive/worktree/worktree.h"
#include "sys/file/file.h"

#define BRANCH "branch"        /* a note: what ensure made the worktree for; written last */
#define FORMER "branch-former" /* and what it was for before that, until ensure is through */

static str full_ref(struct git_call *c, str branch)
{
	return arena_printf(&c->arena, "refs/heads/" STR_FMT, STR_ARG(branch));
}

static int pass(struct git_call *c _unused_, const struct git_out *o _unused_,
		struct ov_err *err _unused_)
{
	return GIT_NEXT;
}

/* ensure */

/*
 * The note is the last thing that ensure makes true, so a worktree that has it is complete and
 * somebody's work may have begun there. One of an earlier version has none: its HEAD tells.
 */
static bool is_for_branch(struct git_call *c)
{
	str ref = full_ref(c, c->branch);

	if (!c->folder)
		return false;
	if (!c->linked)
		return str_eq(git_own_line(c, BRANCH), c->branch);
	return str_eq(c->head_ref, ref) ||
			str_eq(git_admin_line(c, "rebase-merge/head-name"), ref) ||
			str_eq(git_admin_line(c, "rebase-apply/head-name"), ref);
}

static bool is_whole(struct git_call *c)
{
	static const char *const names[] = { "HEAD", "config", "commondir", "hooks", "info",
		"objects/info/alternates" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!git_admin_has(c, names[i]))
			return false;
	return true;
}

/* What agents break: the link from the folder, the git folder itself. */
static int settled_find(struct git_call *c, struct ov_err *err)
{
	int r;

	c->settled = is_for_branch(c) && (c->head.n || c->branch_oid.n);
	c->record = !c->settled;
	if (!c->settled || c->linked)
		return GIT_SKIP;
	if (!c->admin || !is_whole(c)) {
		c->publish = c->branch_oid;
		return c->publish.n ? GIT_NEXT : GIT_SKIP;
	}
	r = git_link(c, err);
	if (r == 0)
		r = git_publish_target(c,
				err); /* as it is now, for one that has to go on from it */
	return r < 0 ? r : GIT_SKIP;
}

static int settled_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->settled)
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_READS, "merge-base", c->head.n ? c->head.p : c->branch_oid.p,
			c->target_oid.p, NULL);
}

static int settled_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code > 1)
		return git_fail(c, o, err);
	/* No common commit: the agent began a history of its own. The target is the base. */
	c->res.base = o->code == 0 ? git_line(c, o) : c->target_oid;
	return GIT_FINISH;
}

/* git before 2.44 would move a branch that another worktree has checked out. */
static int held_take(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	git_holder_parse(c, o->out, c->branch);
	if (c->holder && !is_for_branch(c))
		return ov_fail(err, OV_ECONFLICT, "branch " STR_FMT " is checked out in %s",
				STR_ARG(c->branch), c->holder);
	return GIT_NEXT;
}

static int start_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->base = c->target_oid;
	if (c->start.n)
		return git_run(c, AT_REPO, GIT_READS, "merge-base", c->start.p, c->target_oid.p,
				NULL);
	c->start = c->target_oid;
	return GIT_SKIP;
}

/* 1: it has nothing in common with the target, which is then what to compare with. */
static int start_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	if (o->code == 0)
		c->base = git_line(c, o);
	else if (o->code != 1)
		c->res.detail = arena_printf(&c->arena,
				"commit " STR_FMT " that was left to go on from cannot be read",
				STR_ARG(c->start));
	/* All of it is on the target. */
	if ((o->code == 0 && str_eq(c->base, c->start)) || o->code > 1)
		c->start = c->base = c->target_oid;
	return GIT_NEXT;
}

static int ensure_rescue(struct git_call *c, struct ov_err *err _unused_)
{
	git_rescue_prepare(c, c->rescue_ref, c->message);
	git_rescue_extra(c, c->branch_oid);
	/* What it begins with is held by its branch from now on. */
	c->rescue.kept_by[0] = c->target_oid;
	c->rescue.kept_by[1] = c->start;
	return GIT_NEXT;
}

/* A folder that is no worktree of ours, or something else: it is not ours to empty. */
static int stray_build(struct git_call *c, struct ov_err *err)
{
	struct stat st;
	int r;

	if ((c->folder && !c->partly && !c->closed) || c->making || lstat(c->path, &st) < 0 ||
			rmdir(c->path) == 0)
		return GIT_SKIP;
	r = git_move_aside(c, c->path, err);
	c->folder = false;
	return r < 0 ? r : GIT_SKIP;
}

/* From here on nobody knows what it is for, until all is done. */
static int folder_build(struct git_call *c, struct ov_err *err)
{
	int r = 0;

	c->links_of = c->start;
	c->sparse = false; /* what comes is checked out whole */
	(void)rename(path_join(&c->arena, c->own, BRANCH), path_join(&c->arena, c->own, FORMER));
	if (!c->folder || c->making) {
		r = git_room_parent(c, err);
		if (r < 0)
			return r;
		c->making = true;
		r = git_own_note(c, GIT_MAKING, STR("yes"), err);
		if (r == 0)
			r = dir_make(c->path, 0777, err);
		if (r == 0)
			r = git_room_note_tree(c, err);
		unlink(path_join(&c->arena, c->own, "index"));
	}
	return r < 0 ? r : GIT_SKIP;
}

static int reset_build(struct git_call *c, struct ov_err *err _unused_)
{
	git_own_index_is(c, STR(""));
	return git_run(c, AT_TREE, 0, "checkout", "--quiet", "--force", "--detach", c->start.p,
			NULL);
}

static int reset_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code != 0 && git_loosen(c, o))
		return GIT_AGAIN;
	if (o->code != 0 && c->making) {
		git_fail(c, o, &c->refused);
		return GIT_NEXT;
	}
	git_own_index_is(c, c->start);
	return o->code == 0 ? GIT_NEXT : git_fail(c, o, err);
}

/* Half of a new worktree helps nobody, and may be what fills the disk. */
static int undo_build(struct git_call *c, struct ov_err *err _unused_)
{
	return c->refused.code ? git_rm(c, c->path) : GIT_SKIP;
}

static int undo_judge(struct git_call *c, const struct git_out *o _unused_, struct ov_err *err)
{
	*err = c->refused;
	return err->code;
}

static int clean_only(struct git_call *c, struct ov_err *err _unused_)
{
	c->head = c->start;
	return c->making ? GIT_SKIP : GIT_NEXT;
}

/* Not -x: ignored files, such as what a build made, stay. Not -ff: repositories stay, too. */
static int clean_build(struct git_call *c, struct ov_err *err _unused_)
{
	/* Of a clean one nothing is new, unless other files are ignored now. */
	if (c->making || (!c->dirty && !c->other_rules))
		return GIT_SKIP;
	return git_run(c, AT_TREE, 0, "clean", "--quiet", "-f", "-d", NULL);
}

static int branch_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->publish = c->start;
	if (str_eq(c->branch_oid, c->start))
		return GIT_SKIP;
	/* The old value is checked; empty means that the ref must not exist. */
	return git_run(c, AT_REPO, GIT_WHOLE, "update-ref", "--no-deref", "-m", "overseer: begin",
			full_ref(c, c->branch).p, c->start.p,
			c->branch_oid.n ? c->branch_oid.p : "", NULL);
}

static int ensured(struct git_call *c, struct ov_err *err)
{
	int r;

	unlink(path_join(&c->arena, c->own, GIT_MAKING));
	r = git_own_note(c, GIT_BASE, c->base, err);
	if (r == 0)
		r = git_own_note(c, BRANCH, c->branch, err);
	c->res.base = c->base;
	return r < 0 ? r : GIT_SKIP;
}

/* The branch of an earlier assignment whose work is on the target or in this one is not needed. */
static int former_find(struct git_call *c, struct ov_err *err _unused_)
{
	str branch = git_own_line(c, BRANCH);
	str ref = full_ref(c, branch.n ? branch : git_own_line(c, FORMER));

	if (git_ref_valid(ref) && str_starts(ref, STR(GIT_OURS)) &&
			!str_eq(ref, full_ref(c, c->branch)))
		c->former_ref = ref;
	return GIT_SKIP;
}

static int old_kept_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->former_ref.n || !c->former_oid.n)
		return GIT_LEAVE;
	if (str_eq(c->former_oid, c->target_oid) || str_eq(c->former_oid, c->start))
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_READS, "rev-list", "--max-count=1", c->former_oid.p, "--not",
			c->target_oid.p, c->start.p, "--", NULL);
}

static int old_kept_judge(struct git_call *c _unused_, const struct git_out *o,
		struct ov_err *err _unused_)
{
	return o->code == 0 && !o->out.n ? GIT_NEXT : GIT_LEAVE;
}

static int old_branch_build(struct git_call *c, struct ov_err *err _unused_)
{
	return git_run(c, AT_REPO, GIT_WHOLE, "update-ref", "--no-deref", "-d", c->former_ref.p,
			c->former_oid.p, NULL);
}

static const struct git_step old_branch_steps[] = {
	STEP_RUN("see whether it is kept", old_kept_build, old_kept_judge),
	STEP_RUN("remove the accepted branch", old_branch_build, pass),
	STEP_END,
};

static const struct git_step ensure_steps[] = {
	STEP_RUN("find the worktree", git_find_ours, NULL),
	STEP_SUB("make our own git folder", NULL, git_own_steps),
	STEP_RUN("find what it was for", former_find, NULL),
	STEP_SUB("read the branches", NULL, git_refs_steps),
	STEP_SUB("find the target branch", NULL, git_target_steps),
	STEP_SUB("repair the agent's git folder", settled_find, git_publish_steps),
	STEP_RUN("find where the branch began", settled_build, settled_judge),
	STEP_TAKE("see who has the branch", git_holder_build, held_take),
	STEP_RUN("find what to go on from", start_build, start_judge),
	STEP_SUB("find what was left behind", NULL, git_strays_steps),
	STEP_SUB("rescue what is in the worktree", ensure_rescue, git_rescue_steps,
			.inject = "git-ensure-rescued"),
	STEP_SUB("record the configuration", NULL, git_own_steps),
	STEP_SUB("see for which files programs run", NULL, git_programs_steps),
	STEP_RUN("put other repositories aside", git_embedded_aside, NULL),
	STEP_RUN("move a foreign folder aside", stray_build, NULL),
	STEP_RUN("make the folder", folder_build, NULL),
	STEP_SUB("put submodules aside", NULL, git_submodule_steps),
	STEP_SUB("keep what would be overwritten", NULL, git_ahead_steps),
	STEP_SUB("read what was committed", NULL, git_own_index_steps),
	STEP_RUN("reset the worktree", reset_build, reset_judge, .inject = "git-ensure-reset"),
	STEP_RUN("reset the worktree", undo_build, undo_judge),
	STEP_SUB("keep what was ignored", NULL, git_ignored_steps),
	STEP_SUB("read what was committed", clean_only, git_own_index_steps),
	STEP_RUN("clean the worktree", clean_build, NULL),
	STEP_RUN("set the branch", branch_build, NULL),
	STEP_SUB("make the agent's git folder", NULL, git_publish_steps),
	STEP_RUN("note what it is for", ensured, NULL),
	STEP_SUB("remove the accepted branch", NULL, old_branch_steps),
	STEP_END,
};

static int check_ref(str ref, const char *what, struct ov_err *err)
{
	if (git_ref_valid(ref))
		return 0;
	return ov_fail(err, OV_EINVALID, "%s \"" STR_FMT "\" is not a valid name for git", what,
			STR_ARG(ref));
}

void git_ensure(struct git *g, const struct git_ensure *spec, git_done_fn *done, void *user)
{
	struct git_call *c = git_call_new(g, "ensure", spec->path, done, user);
	struct ov_err err;
	int r;

	c->exclusive = true;
	c->branch = arena_str(&c->arena, spec->branch);
	c->target = arena_str(&c->arena, spec->target);
	c->start = arena_str(&c->arena, spec->start);
	c->rescue_ref = arena_str(&c->arena, spec->rescue_ref);
	c->message = arena_printf(&c->arena, "Rescue of %s before its use for " STR_FMT, c->path,
			STR_ARG(spec->branch));
	r = check_ref(spec->branch, "branch", &err);
	if (r == 0)
		r = check_ref(spec->target, "target branch", &err);
	if (r == 0 && str_eq(spec->branch, spec->target))
		r = ov_fail(&err, OV_EINVALID, "branch and target are both \"" STR_FMT "\"",
				STR_ARG(spec->branch));
	if (r == 0 && spec->start.n && !git_oid_valid(spec->start))
		r = ov_fail(&err, OV_EINVALID, "start \"" STR_FMT "\" is not a commit's name",
				STR_ARG(spec->start));
	if (r == 0)
		r = git_rescue_ref_check(spec->rescue_ref, &err);
	git_call_start(c, ensure_steps, r, &err);
}

/* rescue */

static int rescue_prepare(struct git_call *c, struct ov_err *err _unused_)
{
	git_rescue_prepare(c, c->rescue_ref, c->message);
	return GIT_NEXT;
}

static int rescue_since(struct git_call *c, struct ov_err *err)
{
	c->rescue.kept_by[0] = c->base;
	c->rescue.kept_by_refs = !c->base.n;
	return rescue_prepare(c, err);
}

static const struct git_step rescue_steps[] = {
	STEP_RUN("find the worktree", git_find_any, NULL),
	STEP_SUB("make our own git folder", NULL, git_own_steps),
	STEP_SUB("read the branches", NULL, git_refs_steps),
	STEP_SUB("rescue the worktree", rescue_since, git_rescue_steps),
	STEP_END,
};

void git_rescue(struct git *g, str path, str base, str ref, str message, git_done_fn *done,
		void *user)
{
	struct git_call *c = git_call_new(g, "rescue", path, done, user);
	struct ov_err err;
	int r = git_rescue_ref_check(ref, &err);

	if (git_oid_valid(base))
		c->base = arena_str(&c->arena, base);
	c->rescue_ref = arena_str(&c->arena, ref);
	c->message = arena_str(&c->arena, message);
	git_call_start(c, rescue_steps, r, &err);
}

/* restore */

static int dirty_only(struct git_call *c, struct ov_err *err _unused_)
{
	return c->dirty ? GIT_NEXT : GIT_SKIP;
}

static int restore_for(struct git_call *c, struct ov_err *err _unused_)
{
	c->branch = git_own_line(c, BRANCH);
	return GIT_SKIP;
}

/* The agent's git folder is made anew. */
static int renewed_only(struct git_call *c, struct ov_err *err _unused_)
{
	c->publish = c->head;
	if (!c->folder || !c->branch.n || !c->head.n)
		return GIT_SKIP;
	return c->dirty || c->embedded.n || git_admin_locked(c) ? GIT_NEXT : GIT_SKIP;
}

/* Its branch is where HEAD is then: so is the repository's, once it is harvested. */
static int restore_rescue(struct git_call *c, struct ov_err *err)
{
	c->rescue.kept_by[0] = c->head; /* it stays */
	if (renewed_only(c, err) == GIT_NEXT)
		git_rescue_extra(c, c->branch_oid);
	return c->dirty || c->embedded.n || c->rescue.extra.n ? rescue_prepare(c, err) : GIT_SKIP;
}

static int restore_ahead(struct git_call *c, struct ov_err *err _unused_)
{
	c->start = c->head;
	return GIT_SKIP;
}

static int restore_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->dirty)
		return GIT_SKIP;
	git_own_index_is(c, STR(""));
	return git_run(c, AT_TREE, 0, "reset", "--quiet", "--hard", c->head.p, NULL);
}

static int restore_clean(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->dirty)
		return GIT_SKIP;
	git_own_index_is(c, c->head);
	if (c->partly || c->closed)
		return GIT_SKIP; /* what git could not keep stays */
	return git_run(c, AT_TREE, 0, "clean", "--quiet", "-f", "-d", NULL);
}

static const struct git_step restore_steps[] = {
	STEP_RUN("find the worktree", git_find_any, NULL),
	STEP_SUB("make our own git folder", NULL, git_own_steps),
	STEP_RUN("find what it is for", restore_for, NULL),
	STEP_SUB("read the branches", NULL, git_refs_steps),
	STEP_SUB("see what is uncommitted", NULL, git_status_steps),
	STEP_SUB("find what was left behind", renewed_only, git_strays_steps),
	STEP_SUB("rescue what is uncommitted", restore_rescue, git_rescue_steps,
			.inject = "git-restore-rescued"),
	STEP_RUN("put other repositories aside", git_embedded_aside, NULL),
	STEP_RUN("see what comes", restore_ahead, NULL),
	STEP_SUB("keep what would be overwritten", dirty_only, git_ahead_steps),
	STEP_SUB("read what was committed", dirty_only, git_own_index_steps),
	STEP_RUN("restore the files", restore_build, NULL),
	STEP_SUB("keep what was ignored", dirty_only, git_ignored_steps),
	STEP_SUB("read what was committed", dirty_only, git_own_index_steps),
	STEP_RUN("remove what is new", restore_clean, NULL),
	STEP_SUB("make the agent's git folder", renewed_only, git_publish_steps),
	STEP_END,
};

void git_restore(struct git *g, str path, str rescue_ref, git_done_fn *done, void *user)
{
	struct git_call *c = git_call_new(g, "restore", path, done, user);
	struct ov_err err;
	int r = git_rescue_ref_check(rescue_ref, &err);

	c->rescue_ref = arena_str(&c->arena, rescue_ref);
	c->message = arena_printf(&c->arena, "Rescue of %s before it is restored", c->path);
	git_call_start(c, restore_steps, r, &err);
}

/* remove */

static int remove_find(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->admin && !c->folder && !file_exists(c->room))
		return stray_build(c, err) < 0 ? err->code : GIT_FINISH;
	c->branch = git_own_line(c, BRANCH);
	if (!git_ref_valid(c->branch))
		c->branch = (str){ 0 };
	git_drop_locks(c);
	return GIT_SKIP;
}

/* The branch of a linked worktree is the one that it stands on. */
static int remove_rescue(struct git_call *c, struct ov_err *err _unused_)
{
	if (c->linked && !c->branch.n && str_starts(c->head_ref, STR(GIT_OURS))) {
		c->branch = str_sub(c->head_ref, strlen("refs/heads/"), c->head_ref.n);
		c->branch_oid = c->head;
	}
	git_rescue_prepare(c, c->rescue_ref, c->message);
	git_rescue_extra(c, c->branch_oid);
	c->rescue.kept_by_refs = true;
	return GIT_NEXT;
}

/* What it holds of other repositories is kept, in a folder beside it. */
static int gone_build(struct git_call *c, struct ov_err *err)
{
	int r = git_publish_kept(c, err);
	bool modules = git_admin_has(c, "modules");
	bool others = c->nested.n > c->links_n || c->nested_ignored.n || c->embedded.n;

	if (r == 0 && c->folder && (others || c->inhabited || modules))
		r = git_move_aside(c, c->path, err);
	if (r == 0 && modules)
		r = git_move_aside(c, path_join(&c->arena, c->admin, "modules"), err);
	if (r == 0 && c->unnamed)
		r = git_publish_keep(c, c->admin, err);
	return r < 0 ? r : GIT_SKIP;
}

/* The branch goes before the folders, which know its name: a repeated call finds both or none. */
static int gone_branch_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->branch_oid.n)
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_WHOLE, "update-ref", "--no-deref", "-d",
			full_ref(c, c->branch).p, c->branch_oid.p, NULL);
}

static int gone_folder_build(struct git_call *c, struct ov_err *err _unused_)
{
	struct stat st;

	return c->folder && lstat(c->path, &st) == 0 ? git_rm(c, c->path) : GIT_SKIP;
}

static int gone_folder_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code != 0 && git_loosen(c, o))
		return GIT_AGAIN;
	return o->code == 0 ? GIT_NEXT : git_fail(c, o, err);
}

static int gone_linked_build(struct git_call *c, struct ov_err *err _unused_)
{
	return c->linked ? git_rm(c, c->admin) : GIT_SKIP;
}

static int gone_room_build(struct git_call *c, struct ov_err *err _unused_)
{
	return git_rm(c, c->room);
}

static const struct git_step remove_steps[] = {
	STEP_RUN("find the worktree", git_find_ours, NULL),
	STEP_RUN("read what it was for", remove_find, NULL),
	STEP_SUB("make our own git folder", NULL, git_own_steps),
	STEP_SUB("read the branches", NULL, git_refs_steps),
	STEP_SUB("find what was left behind", NULL, git_strays_steps),
	STEP_SUB("rescue what is in the worktree", remove_rescue, git_rescue_steps,
			.inject = "git-remove-rescued"),
	STEP_SUB("keep what is ignored by others", NULL, git_hidden_steps),
	STEP_RUN("move a foreign folder aside", stray_build, NULL),
	STEP_RUN("keep other repositories", gone_build, NULL),
	STEP_RUN("remove the branch", gone_branch_build, NULL, .inject = "git-remove-branch"),
	STEP_RUN("remove the worktree", gone_folder_build, gone_folder_judge),
	STEP_RUN("remove the worktree's entry", gone_linked_build, NULL),
	STEP_RUN("remove the git folders", gone_room_build, NULL),
	STEP_END,
};

/* Git cannot cope with what is there: it is kept as it is, with its branch and git folders. */
static int all_aside(struct git_call *c, struct ov_err *err)
{
	struct stat st;
	int r = lstat(c->path, &st) == 0 ? git_move_aside(c, c->path, err) : 0;

	if (r == 0 && lstat(c->room, &st) == 0)
		r = git_move_aside(c, c->room, err);
	return r < 0 ? r : GIT_SKIP;
}

static const struct git_step too_much_steps[] = {
	STEP_RUN("move the worktree aside", all_aside, NULL),
	STEP_END,
};

void git_remove(struct git *g, str path, str rescue_ref, git_done_fn *done, void *user)
{
	struct git_call *c = git_call_new(g, "remove", path, done, user);
	struct ov_err err;
	int r = git_rescue_ref_check(rescue_ref, &err);

	c->exclusive = c->leaves = true;
	c->rescue_ref = arena_str(&c->arena, rescue_ref);
	c->message = arena_printf(&c->arena, "Rescue of %s before its removal", c->path);
	c->otherwise = too_much_steps;
	git_call_start(c, remove_steps, r, &err);
}
