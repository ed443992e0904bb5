/*
 * Before the target is pushed, its large files are: otherwise the remote would have pointers to
 * nothing. Git does it by a hook, and no hook of the user's runs for us. What accepted work says
 * about where they go (.lfsconfig) is for a person to look at before anything is sent there.
 */
#include "base/utf8.h"
#include "drive/accept/git_target_steps.h"
#include "drive/git/git_call.h"
#include "drive/git/git_lfs.h"

int git_lfs_address_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->ok = c->own && !c->g->no_lfs && git_lfs_used(c) && git_lfs_ruled(c);
	return !c->ok ? GIT_SKIP
		      : git_run(c, AT_REPO, GIT_READS, "diff-tree", "-r", "--no-commit-id",
					"--name-only", c->commit.p, "--", ".lfsconfig", NULL);
}

int git_lfs_address_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code != 0)
		return git_fail(c, o, err);
	if (!o->out.n)
		return GIT_NEXT;
	c->res.detail = arena_printf(&c->arena,
			"was not pushed to " STR_FMT ": it changes .lfsconfig, which says where "
			"large files are sent. Next: git lfs "
			"push " STR_FMT " " STR_FMT " && git push " STR_FMT " " STR_FMT,
			STR_ARG(c->remote), STR_ARG(c->remote), STR_ARG(c->target),
			STR_ARG(c->remote), STR_ARG(c->target));
	return GIT_LEAVE;
}

int git_lfs_push_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->ok)
		return GIT_SKIP;
	git_run(c, AT_REPO, GIT_NET, "lfs", "push", c->remote.p, c->commit.p, NULL);
	git_ask_nobody(c);
	return GIT_NEXT;
}

int git_lfs_push_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	if (o->code == 0)
		return GIT_NEXT;
	c->res.detail = arena_printf(&c->arena,
			"its large files could not be pushed to " STR_FMT ": " STR_FMT,
			STR_ARG(c->remote),
			STR_ARG(utf8_truncate(str_trim(o->err.n ? o->err : o->out), 4096)));
	return GIT_LEAVE;
}
