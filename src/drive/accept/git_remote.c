/*
 * The remote: the target is brought up to date from it before work is rebased, fast-forward only,
 * and pushed to it afterwards. What is fetched goes to a ref of ours; the user's remote branches
 * and FETCH_HEAD are left alone. Nobody is asked for anything: a remote that wants a password which
 * no helper knows is one that cannot be reached.
 */
#include "base/utf8.h"
#include "drive/accept/git_target_steps.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"

int git_remote_check(str remote, struct ov_err *err)
{
	bool bad = remote.n > 1000 || (remote.n && remote.p[0] == '-');

	for (size_t i = 0; i < remote.n; i++)
		bad |= (unsigned char)remote.p[i] < ' ';
	return !bad ? 0
		    : ov_fail(err, OV_EINVALID, "\"" STR_FMT "\" is no name of a remote",
				      STR_ARG(remote));
}

static str fetched_ref(struct git_call *c)
{
	return arena_printf(&c->arena, "refs/overseer/remote/" STR_FMT, STR_ARG(c->target));
}

/* The user's own way to call ssh is left as it is; the plain one is told not to ask. */
static int ssh_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->remote.n)
		return GIT_LEAVE;
	for (size_t i = 0; i < c->g->env.n; i++)
		if (strncmp(c->g->env.p[i], "GIT_SSH_COMMAND=", 16) == 0)
			return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_READS, "config", "--get", "core.sshCommand", NULL);
}

static int ssh_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code > 1)
		return git_fail(c, o, err);
	c->plain_ssh = o->code == 1;
	return GIT_NEXT;
}

void git_ask_nobody(struct git_call *c)
{
	git_env_add(c, "GIT_ASKPASS", "true");
	git_env_add(c, "SSH_ASKPASS", "true");
	git_env_add(c, "SSH_ASKPASS_REQUIRE", "never");
	git_env_add(c, "GCM_INTERACTIVE", "never");
	if (c->plain_ssh)
		git_env_add(c, "GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
}

static int fetch_build(struct git_call *c, struct ov_err *err _unused_)
{
	str refspec = arena_printf(&c->arena, "+refs/heads/" STR_FMT ":" STR_FMT,
			STR_ARG(c->target), STR_ARG(fetched_ref(c)));

	git_drop_ref_lock(c, fetched_ref(c));
	git_run(c, AT_REPO, GIT_NET, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
			"--no-recurse-submodules", "--no-auto-maintenance", "--refmap=", "--",
			c->remote.p, refspec.p, NULL);
	git_ask_nobody(c);
	return GIT_NEXT;
}

/* A remote that does not have the branch yet has nothing to bring. */
static int fetch_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code == 0)
		return GIT_NEXT;
	if (str_contains(o->err, STR("couldn't find remote ref")))
		return GIT_LEAVE;
	ov_fail(err, OV_EUNAVAILABLE, STR_FMT, STR_ARG(utf8_truncate(str_trim(o->err), 700)));
	return ov_next(err, "git fetch " STR_FMT " " STR_FMT, STR_ARG(c->remote),
			STR_ARG(c->target));
}

static int apart_build(struct git_call *c, struct ov_err *err _unused_)
{
	return git_run(c, AT_REPO, GIT_READS, "rev-list", "--left-right", "--count",
			arena_printf(&c->arena, STR_FMT "..." STR_FMT, STR_ARG(c->target_oid),
					STR_ARG(fetched_ref(c)))
					.p,
			"--", NULL);
}

static int apart_take(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	str line = git_line(c, o), ours = { 0 };
	int64_t ahead, behind;

	if (!str_split(&line, '\t', &ours) || !str_to_i64(ours, &ahead) ||
			!str_to_i64(line, &behind))
		return ov_fail(err, OV_EIO, "git rev-list gave no numbers");
	if (!behind)
		return GIT_LEAVE;
	if (!ahead)
		return GIT_NEXT;
	ov_fail(err, OV_ECONFLICT,
			"branch " STR_FMT " and that of " STR_FMT
			" have gone apart: %lld commits here and %lld there are not in the other",
			STR_ARG(c->target), STR_ARG(c->remote), (long long)ahead,
			(long long)behind);
	return ov_next(err, "git pull --rebase " STR_FMT " " STR_FMT, STR_ARG(c->remote),
			STR_ARG(c->target));
}

static int fetched_build(struct git_call *c, struct ov_err *err _unused_)
{
	return git_run(c, AT_REPO, GIT_READS, "rev-parse", "--verify", "--quiet", fetched_ref(c).p,
			NULL);
}

static int fetched_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	c->commit = git_line(c, o);
	return GIT_NEXT;
}

static int forwarded(struct git_call *c, struct ov_err *err _unused_)
{
	c->commit = (str){ 0 };
	c->forwarded = true;
	return GIT_SKIP;
}

const struct git_step git_fetch_steps[] = {
	STEP_RUN("read how ssh is called", ssh_build, ssh_judge),
	STEP_RUN("fetch the target branch", fetch_build, fetch_judge),
	STEP_TAKE("compare with the remote", apart_build, apart_take),
	STEP_TAKE("read what was fetched", fetched_build, fetched_take),
	STEP_SUB("fast-forward the target branch", NULL, git_move_steps),
	STEP_RUN("fast-forward the target branch", forwarded, NULL),
	STEP_END,
};

static int push_build(struct git_call *c, struct ov_err *err _unused_)
{
	git_run(c, AT_REPO, GIT_NET, "push", "--quiet", "--no-verify", "--no-follow-tags",
			"--recurse-submodules=no", "--", c->remote.p,
			arena_printf(&c->arena, STR_FMT ":refs/heads/" STR_FMT, STR_ARG(c->commit),
					STR_ARG(c->target))
					.p,
			NULL);
	git_ask_nobody(c);
	return GIT_NEXT;
}

/* The accept has happened; the next one pushes this one, too. */
static int push_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	if (o->code != 0)
		c->res.detail = arena_printf(&c->arena,
				"could not be pushed to " STR_FMT ": " STR_FMT, STR_ARG(c->remote),
				STR_ARG(utf8_truncate(str_trim(o->err), 4096)));
	return GIT_NEXT;
}

const struct git_step git_push_steps[] = {
	STEP_RUN("read how ssh is called", ssh_build, ssh_judge),
	STEP_RUN("see where large files go", git_lfs_address_build, git_lfs_address_judge),
	STEP_RUN("push the large files", git_lfs_push_build, git_lfs_push_judge),
	STEP_RUN("push the target branch", push_build, push_judge),
	STEP_END,
};
