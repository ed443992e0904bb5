/*
 * Moved: the target branch is not where it was when the caller last knew it. Who moved it? A person
 * leaves a line in the log of HEAD of the checkout, or of another worktree that is not ours; what
 * came from a remote stands on a remote branch, too. Only files and short reading commands, and
 * only after a move: nothing is watched.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "drive/accept/git_accept.h"
#include "drive/accept/git_target_steps.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "sys/file/file.h"

enum { LOG_TAIL = 256 * 1024, SUBJECT_BYTES = 200 };

static int now_build(struct git_call *c, struct ov_err *err _unused_)
{
	return git_run(c, AT_REPO, GIT_READS, "rev-parse", "--verify", "--quiet",
			git_target_ref(c).p, NULL);
}

static int now_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code > 1)
		return git_fail(c, o, err);
	/* Gone, or as the caller knows it: a call that looked earlier was overtaken. */
	if (o->code == 1)
		return GIT_FINISH;
	c->commit = c->res.target_seen = git_line(c, o);
	return str_eq(c->commit, c->base) ? GIT_FINISH : GIT_NEXT;
}

/* The end of a log of HEAD, which is where the newest lines are; false: there is none. */
static bool log_tail(struct git_call *c, const char *path, str *ret)
{
	_cleanup_(fd_closep) int fd = file_open(path, O_RDONLY | O_NOFOLLOW, 0);
	struct stat st;
	char *text;
	off_t from;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	from = st.st_size > LOG_TAIL ? st.st_size - LOG_TAIL : 0;
	text = arena_alloc(&c->arena, LOG_TAIL);
	n = pread(fd, text, LOG_TAIL, from);
	if (n < 0)
		return false;
	*ret = (str){ text, (size_t)n };
	return true;
}

/* Did HEAD come there otherwise than by going to a branch that was there already? */
static bool log_names(str log, str oid)
{
	str line;

	while (str_split(&log, '\n', &line)) {
		size_t tab = str_find_byte(line, '\t');
		str message = tab < line.n ? str_sub(line, tab + 1, line.n) : STR("");
		str to = str_sub(line, oid.n + 1, oid.n);

		if (str_eq(to, oid) && !str_starts(message, STR("checkout: ")))
			return true;
	}
	return false;
}

/*
 * A worktree of the user's own. What has the note of an earlier version, or lies in a store,
 * is ours.
 */
static bool is_users(struct git_call *c, const char *admin)
{
	str link = STR("");

	if (file_exists(path_join(&c->arena, admin, "overseer-worktree")))
		return false;
	(void)file_read(&c->arena, path_join(&c->arena, admin, "gitdir"), 8192, &link, NULL);
	return link.n && !str_contains(link, STR("/.overseer/"));
}

static enum git_mover by_logs(struct git_call *c)
{
	const char *folder = path_join(&c->arena, c->g->common, "worktrees");
	str log, *names = NULL;
	size_t n = 0;

	if (!log_tail(c, path_join(&c->arena, c->g->git_dir, "logs/HEAD"), &log))
		return GIT_MOVER_UNRECORDED;
	if (log_names(log, c->commit))
		return GIT_MOVER_PERSON;
	(void)dir_list(&c->arena, folder, GIT_MAX_WORKTREES, &names, &n, NULL);
	for (size_t i = 0; i < n; i++) {
		const char *admin = path_join(&c->arena, folder, arena_cstr(&c->arena, names[i]));

		if (is_users(c, admin) &&
				log_tail(c, path_join(&c->arena, admin, "logs/HEAD"), &log) &&
				log_names(log, c->commit))
			return GIT_MOVER_PERSON;
	}
	return GIT_MOVER_UNKNOWN;
}

/*
 * A log that is not kept in a file, or not kept since the user says so; else somebody removed it.
 */
static int recorded_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->res.mover = by_logs(c);
	if (c->res.mover != GIT_MOVER_UNRECORDED ||
			file_exists(path_join(&c->arena, c->g->common, "reftable")))
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_READS, "config", "--type=bool-or-str", "--get",
			"core.logAllRefUpdates", NULL);
}

static int recorded_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	if (!str_is(git_line(c, o), "false"))
		c->res.mover = GIT_MOVER_UNKNOWN;
	return GIT_NEXT;
}

static int remote_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (c->res.mover != GIT_MOVER_UNKNOWN)
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_READS, "for-each-ref", "--format=%(refname)", "--points-at",
			c->commit.p, "refs/remotes", NULL);
}

static int remote_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	str rest = o->out, line, end = arena_printf(&c->arena, "/" STR_FMT, STR_ARG(c->target));

	while (str_split(&rest, '\n', &line))
		if (str_ends(line, end))
			c->res.mover = GIT_MOVER_REMOTE;
	return GIT_NEXT;
}

#define KEY(name) "%(trailers:key=" name ",valueonly,separator=%x20)"
static int news_build(struct git_call *c, struct ov_err *err _unused_)
{
	git_run(c, AT_REPO, GIT_READS, "log", "--first-parent",
			"--format=%H%x00" KEY(GIT_ACCEPT) "%x00" KEY(GIT_REVERT) "%x00%an%x00%s",
			NULL);
	git_args(c, arena_printf(&c->arena, "--max-count=%d", GIT_NEWS).p, c->commit.p, "--not",
			c->base.p, "--", NULL);
	return GIT_NEXT;
}
#undef KEY

/* 128: where it was is not in the repository any more; then there is no list. */
static int news_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	struct git_new_commit *list = arena_array(&c->arena, struct git_new_commit, GIT_NEWS);
	str rest = o->out, line;
	size_t n = 0;

	while (o->code == 0 && n < GIT_NEWS && str_split(&rest, '\n', &line)) {
		struct git_new_commit *x = &list[n];
		str *const to[] = { &x->commit, &x->accept_key, &x->revert_key, &x->author };

		for (size_t i = 0; i < ARRAY_LEN(to); i++)
			if (str_split(&line, '\0', to[i]))
				*to[i] = arena_str(&c->arena, utf8_truncate(*to[i], SUBJECT_BYTES));
		x->subject = arena_str(&c->arena, utf8_truncate(line, SUBJECT_BYTES));
		n += git_oid_valid(x->commit);
	}
	c->res.news = list;
	c->res.news_n = n;
	return GIT_NEXT;
}

static int lost_build(struct git_call *c, struct ov_err *err _unused_)
{
	return git_run(c, AT_REPO, GIT_READS, "rev-list", "--count", c->base.p, "--not",
			c->commit.p, "--", NULL);
}

static int lost_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	if (o->code != 0 || !str_to_i64(git_line(c, o), &c->res.commits))
		c->res.commits = 0;
	return GIT_NEXT;
}

static const struct git_step moved_steps[] = {
	STEP_RUN("read the target branch", now_build, now_judge),
	STEP_RUN("see whether such moves are recorded", recorded_build, recorded_judge),
	STEP_TAKE("see who moved the target branch", remote_build, remote_take),
	STEP_RUN("list what is new on the target branch", news_build, news_judge),
	STEP_RUN("count what is no longer on the target branch", lost_build, lost_judge),
	STEP_END,
};

void git_moved(struct git *g, str target, str from, git_done_fn *done, void *user)
{
	struct git_call *c = git_call_new(g, "look at the target", str_from(g->repo), done, user);
	struct ov_err err;
	int r = 0;

	c->loose = true;
	c->target = arena_str(&c->arena, target);
	c->base = arena_str(&c->arena, from);
	if (!git_ref_valid(target) || !git_oid_valid(from))
		r = ov_fail(&err, OV_EINVALID,
				"cannot compare branch \"" STR_FMT "\" with \"" STR_FMT "\"",
				STR_ARG(target), STR_ARG(from));
	git_call_start(c, moved_steps, r, &err);
}
