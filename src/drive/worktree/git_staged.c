/*
 * What an agent staged: its index is copied to a place of ours and turned into a tree there. It
 * counts only as something to keep: what is in the worktree is always looked at with our own index.
 * One that cannot be read is passed over.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/worktree/git_tree_steps.h"
#include "sys/file/file.h"

#define COPY "index-agent"
#define SEEN "index-seen" /* the agent's, as it was when we made it */

static str seen_of(struct git_call *c, const struct stat *st)
{
	return arena_printf(&c->arena, "%llu %lld %lld.%09ld", (unsigned long long)st->st_ino,
			(long long)st->st_size, (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
}

/*
 * With the time of the original: files that are no older than an index are read again by git, since
 * they may have been changed in the moment in which it was written.
 */
int git_copy_index(int in, const char *to, struct ov_err *err)
{
	_cleanup_(fd_closep) int out = file_open(to, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW,
			0600);
	struct stat st;
	ssize_t n;

	if (out < 0)
		return ov_fail_errno(err, errno, "create %s", to);
	do
		n = sendfile(out, in, NULL, GIT_INDEX_MAX);
	while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0 || fstat(in, &st) < 0 ||
			futimens(out, (struct timespec[]){ st.st_atim, st.st_mtim }) < 0)
		return ov_fail_errno(err, errno, "copy to %s", to);
	return 0;
}

void git_staged_is_settled(struct git_call *c)
{
	(void)git_own_note(c, SEEN, c->index_seen, NULL);
}

void git_staged_is_ours(struct git_call *c)
{
	struct stat st;

	if (stat(path_join(&c->arena, c->admin, "index"), &st) == 0)
		(void)git_own_note(c, SEEN, seen_of(c, &st), NULL); /* unknown: it is looked at */
}

static int staged_tree_build(struct git_call *c, struct ov_err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	struct stat st;
	int r;

	c->agent_tree = (str){ 0 };
	git_temp_index(c, c->own, COPY);
	if (!c->admin || file_open_beneath(c->admin, "index", O_RDONLY, &fd, NULL) < 0 ||
			fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > GIT_INDEX_MAX)
		return GIT_LEAVE;
	if (str_eq(git_own_line(c, SEEN), seen_of(c, &st)))
		return GIT_LEAVE;
	c->index_seen = seen_of(c, &st);
	r = git_copy_index(fd, c->index, err);
	return r < 0 ? r : git_run(c, AT_ADMIN, GIT_TEMP_INDEX | GIT_AGENTS, "write-tree", NULL);
}

static int staged_tree_judge(struct git_call *c, const struct git_out *o,
		struct ov_err *err _unused_)
{
	if (o->code != 0)
		return GIT_NEXT;
	c->agent_tree = git_line(c, o);
	unlink(c->index);
	if (str_eq(c->agent_tree, c->head_tree))
		return GIT_LEAVE;
	c->dirty = c->changed = true;
	/* What was only staged is in the agent's folder alone. */
	vec_clear(&c->wanted);
	vec_push(&c->wanted, c->agent_tree.p);
	return GIT_NEXT;
}

/* With conflicts in it an index has no tree. */
static int conflict_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (c->agent_tree.n)
		return GIT_SKIP;
	return git_run(c, AT_ADMIN, GIT_READS | GIT_TEMP_INDEX, "ls-files", "-z", "--unmerged",
			NULL);
}

static int conflict_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	c->unmerged = o->code == 0 && o->out.n > 0;
	c->dirty |= c->unmerged;
	c->changed |= c->unmerged;
	unlink(c->index);
	return GIT_LEAVE;
}

/* Where it cannot be, it names what is nowhere: there is nothing to keep of it. */
static int given_up(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->wanted.n || !c->admin)
		c->agent_tree = (str){ 0 };
	return GIT_SKIP;
}

const struct git_step git_staged_steps[] = {
	STEP_RUN("see what is staged", staged_tree_build, staged_tree_judge),
	STEP_RUN("see what is staged", conflict_build, conflict_judge),
	STEP_SUB("take over what is staged", NULL, git_take_steps),
	STEP_RUN("see what is staged", given_up, NULL),
	STEP_END,
};
