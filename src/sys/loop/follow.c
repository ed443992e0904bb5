#include "sys/loop/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "sys/file/file.h"
#include "sys/file/sparse.h"
#include "sys/loop/loop.h"

enum { PIECE = 64 * 1024 };

struct follow {
	struct loop *loop;
	int fd;
	uint64_t offset;
	struct loop_source *watch, *more; /* more: a piece is to be read in the next iteration */
	follow_fn *fn;
	void *user;
	unsigned busy; /* callbacks under way: closing waits for them */
	bool closed;
};

static void follow_release(struct follow *f)
{
	if (f->busy || !f->closed)
		return;
	mem_free(f);
}

/*
 * Reads at most max bytes and hands them out. Returns how many, 0 at the end of the file, or a
 * negative errno. The follower may be closed afterwards; the caller holds it by `busy`.
 */
static ssize_t follow_read(struct follow *f, size_t max, bool *ret_more)
{
	char piece[PIECE]; /* not kept per follower: thousands of them are idle */
	uint64_t at = f->offset;
	ssize_t n = sparse_read(f->fd, piece, MIN(max, sizeof(piece)), &at, ret_more);

	if (n > 0) {
		f->offset = at + (size_t)n;
		f->fn(f->user, (str){ piece, (size_t)n }, at);
	}
	return n;
}

static void on_more(void *user);

static void follow_later(struct follow *f)
{
	if (!f->more)
		f->more = loop_defer(f->loop, on_more, f);
}

static void follow_step(struct follow *f)
{
	bool more;

	f->busy++;
	/* What is written later gives a new event. */
	if (follow_read(f, PIECE, &more) > 0 && more && !f->closed)
		follow_later(f);
	f->busy--;
	follow_release(f);
}

static void on_more(void *user)
{
	struct follow *f = user;

	f->more = loop_source_free(f->more);
	follow_step(f);
}

static void on_changed(void *user, uint32_t mask _unused_, const char *name _unused_)
{
	struct follow *f = user;

	if (!f->more)
		follow_step(f);
}

static int follow_init(struct follow *f, struct ov_err *err)
{
	struct stat st;

	if (fstat(f->fd, &st) < 0)
		return ov_fail_errno(err, errno, "look at it");
	if (!S_ISREG(st.st_mode))
		return ov_fail(err, OV_EINVALID, "not a regular file");
	/* The watch is on what was opened, so a file put in its place meanwhile is not mixed in. */
	return loop_watch(f->loop, f->fd, IN_MODIFY, on_changed, f, &f->watch, err);
}

int follow_open_fd(struct loop *l, int fd, uint64_t offset, follow_fn *fn, void *user,
		struct follow **ret, struct ov_err *err)
{
	struct follow *f = mem_zalloc(1, sizeof(*f));
	int r;

	*f = (struct follow){ .loop = l, .fd = fd, .offset = offset, .fn = fn, .user = user };
	r = offset > INT64_MAX
			? ov_fail(err, OV_EINVALID, "offset %llu", (unsigned long long)offset)
			: follow_init(f, err);
	if (r < 0) {
		follow_close(f);
		return r;
	}
	/* The first read comes after the watch stands, so nothing falls between the two. */
	follow_later(f);
	*ret = f;
	return 0;
}

int follow_open(struct loop *l, const char *path, uint64_t offset, follow_fn *fn, void *user,
		struct follow **ret, struct ov_err *err)
{
	int fd = file_open(path, O_RDONLY, 0);
	int r;

	if (fd < 0 && errno == ENOENT)
		return ov_fail(err, OV_ENOTFOUND, "follow %s: no such file", path);
	if (fd < 0 && (errno == ENXIO || errno == EISDIR))
		return ov_fail(err, OV_EINVALID, "follow %s: not a regular file", path);
	if (fd < 0)
		return ov_fail_errno(err, errno, "follow %s", path);
	r = follow_open_fd(l, fd, offset, fn, user, ret, err);
	return r < 0 ? ov_wrap(err, r, "follow %s", path) : 0;
}

int follow_drain(struct follow *f, size_t max, struct ov_err *err)
{
	ssize_t n = 1;
	struct stat st;
	bool more;
	int r = 0;

	f->busy++;
	while (n > 0 && max > 0 && !f->closed) {
		n = follow_read(f, max, &more);
		if (n > 0)
			max -= (size_t)n;
	}
	if (n < 0) {
		r = ov_fail_errno(err, (int)-n, "read the followed file");
	} else if (!f->closed && n > 0 && fstat(f->fd, &st) == 0 &&
			(uint64_t)st.st_size > f->offset) {
		follow_later(f);
		r = ov_fail(err, OV_ELIMIT, "%lld bytes of the followed file are left to read",
				(long long)((uint64_t)st.st_size - f->offset));
	}
	f->busy--;
	follow_release(f);
	return r;
}

uint64_t follow_offset(const struct follow *f)
{
	return f->offset;
}

uint64_t follow_size(const struct follow *f)
{
	struct stat st;

	return fstat(f->fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

void follow_close(struct follow *f)
{
	if (!f || f->closed)
		return;
	f->closed = true;
	f->watch = loop_source_free(f->watch);
	f->more = loop_source_free(f->more);
	fd_closep(&f->fd);
	follow_release(f);
}
