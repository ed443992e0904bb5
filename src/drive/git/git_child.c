/*
 * Children beside sys/loop/job: git_open has to answer at once, and a command that changes the
 * user's checkout or a ref must never be cut short by our end, since that would leave it half
 * changed, or a lock where the user's own git trips over it. Output goes to memory files, so such a
 * child is never stopped by a pipe that nobody reads.
 */
#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drive/git/git_call.h"

int git_child_start(const char *const *argv, const char *const *env, const char *cwd,
		struct git_child *ret, struct ov_err *err)
{
	struct git_child ch = GIT_CHILD_INIT;
	struct proc_spec spec = PROC_SPEC_INIT;
	int r;

	ch.out = memfd_create("git-out", MFD_CLOEXEC);
	ch.err = memfd_create("git-err", MFD_CLOEXEC);
	if (ch.out < 0 || ch.err < 0) {
		r = ov_fail_errno(err, errno, "memfd_create");
		git_child_done(&ch);
		return r;
	}
	spec.argv = argv;
	spec.env = env;
	spec.cwd = cwd;
	spec.out = ch.out;
	spec.err = ch.err;
	spec.new_session = true; /* a Ctrl-C or hangup of ours is not its business */
	r = proc_spawn(&spec, &ch.proc, err);
	if (r < 0) {
		git_child_done(&ch);
		return r;
	}
	*ret = ch;
	return 0;
}

static str read_memfd(struct arena *a, int fd, size_t max)
{
	struct stat st;
	size_t n;
	char *p;
	ssize_t got;

	if (fstat(fd, &st) < 0)
		return (str){ 0 };
	n = MIN((size_t)st.st_size, max);
	p = arena_alloc(a, n + 1);
	got = pread(fd, p, n, 0);
	return got < 0 ? (str){ 0 } : (str){ p, (size_t)got };
}

int git_child_wait(struct git_child *ch, int timeout_ms, struct ov_err *err)
{
	struct pollfd p = { .fd = ch->proc.pidfd, .events = POLLIN };
	int r;

	do
		r = poll(&p, 1, timeout_ms);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return ov_fail_errno(err, errno, "poll");
	return r > 0 ? 0 : ov_fail(err, OV_EUNAVAILABLE, "git took more than %d ms", timeout_ms);
}

int git_child_collect(struct git_child *ch, struct arena *a, struct git_out *ret,
		struct ov_err *err)
{
	return git_child_collect_some(ch, a, GIT_FILE_MAX, ret, err);
}

int git_child_collect_some(struct git_child *ch, struct arena *a, size_t max, struct git_out *ret,
		struct ov_err *err)
{
	struct proc_exit ex;
	int r = proc_reap(&ch->proc, &ex, err);

	if (r == 0 && ex.code < 0)
		r = ov_fail(err, OV_EIO, "git was ended by signal %d", ex.signal);
	if (r == 0)
		*ret = (struct git_out){ ex.code, read_memfd(a, ch->out, max),
			read_memfd(a, ch->err, GIT_FILE_MAX), false };
	git_child_done(ch);
	return r;
}

void git_child_done(struct git_child *ch)
{
	if (ch->proc.pidfd >= 0)
		proc_done(&ch->proc);
	if (ch->out >= 0)
		close(ch->out);
	if (ch->err >= 0)
		close(ch->err);
	*ch = GIT_CHILD_INIT;
}

bool git_orphan_alive(const char *path)
{
	bool found;

	/* Who cannot look must not touch what somebody may be at work on. */
	return proc_find_env(STR(GIT_MARK), str_from(path), &found, NULL) < 0 || found;
}
