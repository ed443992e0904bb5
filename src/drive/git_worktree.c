/* Making a worktree stand where it should (ensure), and taking it away (remove). */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drive/git_call.h"
#include "drive/git_steps.h"
#include "sys/file.h"

#define OURS "refs/heads/overseer/"

static str full_ref(struct git_call *c, str branch)
{
	return arena_printf(&c->arena, "refs/heads/" STR_FMT, STR_ARG(branch));
}

/* Finding it, and mending the link between folder and repository, which agents break. */

static int look(struct git_call *c, struct ov_err *err)
{
	int r = git_find(c, err);

	if (r < 0)
		return r;
	if (git_is_checkout(c))
		return ov_fail(err, OV_EINVALID,
				"%s is the user's own checkout, not a worktree of ours", c->path);
	return GIT_SKIP;
}

static int repair_build(struct git_call *c, struct ov_err *err)
{
	const char *link = path_join(&c->arena, c->path, ".git");
	struct stat st;
	int r;

	if (!c->folder)
		return GIT_SKIP;
	if (lstat(link, &st) < 0) {
		if (!c->admin)
			return GIT_SKIP;
		return git_run(c, AT_REPO, 0, "worktree", "repair",
				NULL); /* rewrites a lost .git file */
	}
	if (S_ISREG(st.st_mode) && c->admin)
		return git_link_is_right(c, link)
				? GIT_SKIP
				: git_run(c, AT_REPO, 0, "worktree", "repair", NULL);
	if (S_ISREG(st.st_mode))
		return git_run(c, AT_REPO, 0, "worktree", "repair", c->path, NULL);
	/* Somebody made a repository of its own here; it is kept beside the worktree. */
	r = c->admin ? git_move_aside(c, link, err) : 0;
	if (r < 0)
		return r;
	return c->admin ? git_run(c, AT_REPO, 0, "worktree", "repair", NULL) : GIT_SKIP;
}

/* Whether it helped is seen by looking again. */
static int repair_judge(struct git_call *c _unused_, const struct git_out *o _unused_,
		struct ov_err *err _unused_)
{
	return GIT_NEXT;
}

static const struct git_step find_steps[] = {
	STEP_RUN("find the worktree", look, NULL),
	STEP_RUN("repair the worktree's link", repair_build, repair_judge),
	STEP_RUN("find the worktree", look, NULL),
	STEP_END,
};

/* ensure */

/*
 * HEAD on the branch is the last thing that ensure makes true, so a worktree that has it is complete
 * and somebody's work may have begun there. A rebase of the branch detaches HEAD meanwhile.
 */
static bool stands_on_branch(struct git_call *c)
{
	str ref = full_ref(c, c->branch);

	if (!c->admin || !c->folder)
		return false;
	return str_eq(c->head_ref, ref) ||
			str_eq(git_admin_line(c, "rebase-merge/head-name"), ref) ||
			str_eq(git_admin_line(c, "rebase-apply/head-name"), ref);
}

static int settled_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!stands_on_branch(c) || !c->head.n)
		return GIT_SKIP;
	return git_run(c, AT_ADMIN, GIT_READS, "merge-base", c->head.p, c->target_oid.p, NULL);
}

static int settled_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code > 1)
		return git_fail(c, o, err);
	/* No common commit: the agent began a history of its own. The target is what to compare with. */
	c->res.base = o->code == 0 ? git_line(c, o) : c->target_oid;
	return GIT_FINISH;
}

/* git before 2.44 would move a branch that another worktree has checked out. */
static int held_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code != 0)
		return git_fail(c, o, err);
	git_holder_parse(c, o->out, c->branch);
	if (c->holder && !stands_on_branch(c))
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
	git_drop_locks(c);
	/* git worktree add that was cut off: nobody has worked in it yet. */
	c->fresh = c->admin && str_starts(git_admin_line(c, "locked"), STR("initializing"));
	if (c->fresh) {
		c->admin = NULL; /* only the branch is rescued; the next step looks again */
		c->folder = false;
		c->head = c->head_tree = c->head_ref = (str){ 0 };
	}
	git_rescue_prepare(c, c->rescue_ref, c->message);
	git_rescue_extra(c, c->branch_oid);
	/* What it begins with is held by its branch from now on. */
	c->rescue.kept_by[0] = c->target_oid;
	c->rescue.kept_by[1] = c->start;
	return GIT_NEXT;
}

/* A folder that is no worktree: whatever it is, it is not ours to empty. */
static int stray_build(struct git_call *c, struct ov_err *err)
{
	int r;

	if (c->admin || !file_exists(c->path) || rmdir(c->path) == 0)
		return GIT_SKIP;
	r = git_move_aside(c, c->path, err);
	return r < 0 ? r : GIT_SKIP;
}

static int unregister_build(struct git_call *c, struct ov_err *err)
{
	int r;

	if (!c->admin || (c->folder && !c->fresh))
		return GIT_SKIP;
	r = git_submodule_aside(c, err);
	if (r < 0)
		return r;
	return git_run(c, AT_REPO, 0, "worktree", "remove", "--force", "--force", c->path, NULL);
}

static int quit_needed(struct git_call *c, struct ov_err *err _unused_)
{
	return c->admin && git_unfinished(c) ? GIT_NEXT : GIT_SKIP;
}

static int add_build(struct git_call *c, struct ov_err *err)
{
	int r = git_find(c, err); /* it may have been unregistered */

	if (r < 0)
		return r;
	if (c->admin)
		return GIT_SKIP;
	c->fresh = true;
	return git_run(c, AT_REPO, 0, "worktree", "add", "--quiet", "--detach", c->path, c->start.p,
			NULL);
}

static int reset_build(struct git_call *c, struct ov_err *err)
{
	int r = git_find(c, err);

	if (r < 0)
		return r;
	if (!c->admin || !c->folder)
		return ov_fail(err, OV_EIO, "git made no worktree at %s", c->path);
	if (c->fresh)
		return GIT_SKIP;
	return git_run(c, AT_TREE, 0, "checkout", "--quiet", "--force", "--detach", c->start.p,
			NULL);
}

/* Not -x: ignored files, such as what a build made, stay. Not -ff: repositories inside stay. */
static int clean_build(struct git_call *c, struct ov_err *err _unused_)
{
	return c->fresh ? GIT_SKIP : git_run(c, AT_TREE, 0, "clean", "--quiet", "-f", "-d", NULL);
}

static int switch_build(struct git_call *c, struct ov_err *err)
{
	int r = git_note_write(c, err);

	if (r < 0)
		return r;
	c->res.base = c->base;
	return git_run(c, AT_TREE, 0, "checkout", "--quiet", "--no-track", "-B",
			arena_cstr(&c->arena, c->branch), c->start.p, NULL);
}

/* The branch of an earlier assignment whose work is on the target, or in this one, has nothing left to say. */
static int old_branch_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->rescue.kept || !c->head.n || !str_starts(c->head_ref, STR(OURS)) ||
			str_eq(c->head_ref, full_ref(c, c->branch)))
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_WHOLE, "update-ref", "-d", c->head_ref.p, c->head.p, NULL);
}

static const struct git_step ensure_steps[] = {
	STEP_SUB("find the worktree", NULL, find_steps),
	STEP_SUB("read the branches", NULL, git_refs_steps),
	STEP_SUB("find the target branch", NULL, git_target_steps),
	STEP_RUN("find where the branch began", settled_build, settled_judge),
	STEP_RUN("see who has the branch", git_holder_build, held_judge),
	STEP_RUN("find what to go on from", start_build, start_judge),
	STEP_SUB("rescue what is in the worktree", ensure_rescue, git_rescue_steps,
			.inject = "git-ensure-rescued"),
	STEP_RUN("find the worktree", look, NULL),
	STEP_RUN("move a foreign folder aside", stray_build, NULL),
	STEP_RUN("unregister the lost worktree", unregister_build, NULL),
	STEP_SUB("forget what was left unfinished", quit_needed, git_quit_steps),
	STEP_RUN("add the worktree", add_build, NULL, .inject = "git-ensure-added"),
	STEP_RUN("reset the worktree", reset_build, NULL, .inject = "git-ensure-reset"),
	STEP_RUN("clean the worktree", clean_build, NULL, .inject = "git-ensure-cleaned"),
	STEP_SUB("let the submodules follow", NULL, git_submodule_steps),
	STEP_RUN("switch to the branch", switch_build, NULL),
	STEP_RUN("remove the accepted branch", old_branch_build, repair_judge),
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

/* The folder may be gone, and with it what there was to restore; a killed git's lock may be left. */
static int restore_find(struct git_call *c, struct ov_err *err)
{
	int r = look(c, err);

	if (r < 0)
		return r;
	git_drop_locks(c);
	return git_find_any(c, err);
}

static int dirty_only(struct git_call *c, struct ov_err *err _unused_)
{
	return c->dirty ? GIT_NEXT : GIT_SKIP;
}

static int restore_rescue(struct git_call *c, struct ov_err *err)
{
	c->rescue.kept_by[0] = c->head; /* it stays */
	return c->dirty ? rescue_prepare(c, err) : GIT_SKIP;
}

static int restore_build(struct git_call *c, struct ov_err *err _unused_)
{
	return c->dirty ? git_run(c, AT_TREE, 0, "reset", "--quiet", "--hard", NULL) : GIT_SKIP;
}

static int restore_clean(struct git_call *c, struct ov_err *err)
{
	return c->dirty ? clean_build(c, err) : GIT_SKIP;
}

static const struct git_step restore_steps[] = {
	STEP_RUN("find the worktree", restore_find, NULL),
	STEP_SUB("see what is uncommitted", NULL, git_status_steps),
	STEP_SUB("read the branches", dirty_only, git_refs_steps),
	STEP_SUB("rescue what is uncommitted", restore_rescue, git_rescue_steps,
			.inject = "git-restore-rescued"),
	STEP_RUN("restore the files", restore_build, NULL),
	STEP_RUN("remove what is new", restore_clean, NULL),
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
	str target;

	if (!c->admin)
		return GIT_SKIP;
	git_note_read(c, &c->branch, &target);
	git_drop_locks(c);
	return GIT_SKIP;
}

static int remove_rescue(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->admin)
		return GIT_SKIP;
	if (!c->branch.n && str_starts(c->head_ref, STR(OURS))) {
		c->branch = str_sub(c->head_ref, strlen("refs/heads/"), c->head_ref.n);
		c->branch_oid = c->head;
	}
	git_rescue_prepare(c, c->rescue_ref, c->message);
	git_rescue_extra(c, c->branch_oid);
	c->rescue.kept_by_refs = true;
	return GIT_NEXT;
}

static int gone_build(struct git_call *c, struct ov_err *err)
{
	int r;

	if (!c->admin)
		return stray_build(c, err) < 0 ? err->code : GIT_FINISH;
	if (c->folder && (c->nested.n || !c->ok)) {
		r = git_move_aside(c, c->path, err); /* it holds repositories of their own */
		if (r < 0)
			return r;
		c->folder = false;
	}
	r = c->ok ? 0 : git_submodule_aside(c, err);
	return r < 0 ? r : GIT_SKIP;
}

/* The branch goes before the worktree, which knows its name: a repeated call finds both or none. */
static int detach_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->branch.n || !c->head.n || !str_eq(c->head_ref, full_ref(c, c->branch)))
		return GIT_SKIP;
	return git_run(c, AT_ADMIN, GIT_WHOLE, "update-ref", "--no-deref", "HEAD", c->head.p, NULL);
}

static int branch_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->branch_oid.n)
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_WHOLE, "update-ref", "-d", full_ref(c, c->branch).p,
			c->branch_oid.p, NULL);
}

static int remove_build(struct git_call *c, struct ov_err *err _unused_)
{
	return git_run(c, AT_REPO, 0, "worktree", "remove", "--force", "--force", c->path, NULL);
}

static const struct git_step remove_steps[] = {
	STEP_SUB("find the worktree", NULL, find_steps),
	STEP_RUN("read what it was for", remove_find, NULL),
	STEP_SUB("read the branches", NULL, git_refs_steps),
	STEP_SUB("rescue what is in the worktree", remove_rescue, git_rescue_steps,
			.inject = "git-remove-rescued"),
	STEP_SUB("see what the submodules hold", NULL, git_submodule_hold_steps),
	STEP_RUN("move the folder aside", gone_build, NULL),
	STEP_RUN("leave the branch", detach_build, NULL),
	STEP_RUN("remove the branch", branch_build, NULL, .inject = "git-remove-branch"),
	STEP_RUN("remove the worktree", remove_build, NULL),
	STEP_END,
};

void git_remove(struct git *g, str path, str rescue_ref, git_done_fn *done, void *user)
{
	struct git_call *c = git_call_new(g, "remove", path, done, user);
	struct ov_err err;
	int r = git_rescue_ref_check(rescue_ref, &err);

	c->exclusive = true;
	c->rescue_ref = arena_str(&c->arena, rescue_ref);
	c->message = arena_printf(&c->arena, "Rescue of %s before its removal", c->path);
	git_call_start(c, remove_steps, r, &err);
}
