/*
 * The lease: a row that says who writes and in which term, and a lock file whose flock is the proof
 * that the holder lives: the kernel drops it with the last descriptor, however the process ends.
 * Should two processes ever believe to hold it (a lock file removed by hand, a file system
 * without working locks), the term in the row fences the older one off.
 */
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/sqlite_impl.h"

/* Its header, <sys/file.h>, is hidden by our own of that name. */
extern int flock(int fd, int operation);

enum {
	LOCK_TRIES = 10
}; /* 1 ms apart: whoever probes a lock, or migrates, holds it for a moment */

static int lock_fd(int fd, const char *lock_path, struct ov_err *err)
{
	static const struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; i++) {
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			return ov_fail_errno(err, errno, "cannot lock %s", lock_path);
		if (i >= LOCK_TRIES)
			return ov_fail(err, OV_ECONFLICT, "%s is held by another process",
					lock_path);
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* 1: locked; 0: the file was replaced meanwhile, try again; negative: error. */
static int lock_once(const char *lock_path, int *ret_fd, struct ov_err *err)
{
	int fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct stat ours, there;
	int r;

	if (fd < 0)
		return ov_fail_errno(err, errno, "cannot open the lock file %s", lock_path);
	if (fstat(fd, &ours) == 0 && !S_ISREG(ours.st_mode)) {
		close(fd);
		return ov_fail(err, OV_EINVALID, "the lock file %s is not a regular file",
				lock_path);
	}
	r = lock_fd(fd, lock_path, err);
	/* A lock on a file that was removed meanwhile excludes nobody. */
	if (r == 0 && fstat(fd, &ours) == 0 && stat(lock_path, &there) == 0 &&
			ours.st_ino == there.st_ino && ours.st_dev == there.st_dev)
		r = 1;
	if (r == 1)
		*ret_fd = fd;
	else
		close(fd);
	return r;
}

int sqlite_lock(const char *path, int *ret_fd, struct ov_err *err)
{
	struct buf lock_path = BUF_INIT;
	int r = 0;

	buf_addf(&lock_path, "%s.lock", path);
	for (int i = 0; i < 10 && r == 0; i++)
		r = lock_once(buf_cstr(&lock_path), ret_fd, err);
	if (r == 0)
		r = ov_fail(err, OV_EIO, "the lock file %s keeps vanishing", buf_cstr(&lock_path));
	buf_done(&lock_path);
	return MIN(r, 0);
}

static int read_lease(struct sqlite_store *s, struct arena *a, struct store_lease *ret,
		struct ov_err *err)
{
	sqlite3_stmt *st;
	int r = sqlite_stmt(s, SQL_LEASE_GET, &st, err);

	if (r < 0)
		return r;
	if (sqlite3_step(st) != SQLITE_ROW) {
		r = sqlite_fail(s->db, s->path, "read the lease", err);
		sqlite3_reset(st);
		return r;
	}
	*ret = (struct store_lease){
		.holder = arena_str(a, sqlite_column_str(st, 0)),
		.term = (uint64_t)sqlite3_column_int64(st, 1),
	};
	sqlite3_reset(st);
	return 0;
}

/* Names the process that has the lock; err already says that there is one. */
static int lease_refuse(struct sqlite_store *s, struct arena *a, struct store_lease *ret,
		struct ov_err *err)
{
	struct store_lease lease;

	if (read_lease(s, a, &lease, NULL) < 0)
		return OV_ECONFLICT;
	*ret = lease;
	if (!lease.holder.n)
		return OV_ECONFLICT;
	return ov_fail(err, OV_ECONFLICT, "%s is held by " STR_FMT, s->path, STR_ARG(lease.holder));
}

static int write_lease(struct sqlite_store *s, str holder, uint64_t term, struct ov_err *err)
{
	sqlite3_stmt *st;
	int r = sqlite_stmt(s, SQL_LEASE_SET, &st, err);

	if (r < 0)
		return r;
	sqlite_bind_str(st, 1, holder);
	sqlite3_bind_int64(st, 2, (sqlite3_int64)term);
	return sqlite_run(s, SQL_LEASE_SET, "take the lease", err);
}

static int take_term(struct sqlite_store *s, str holder, struct arena *a, struct store_lease *ret,
		struct ov_err *err)
{
	struct store_lease old;
	int r;

	/* The term's own sync covers all but the rarest case: no reader has to be waited for. */
	r = sqlite_settle(s, false, err);
	if (r == 0)
		r = sqlite_run(s, SQL_BEGIN, "take the lease", err);
	if (r < 0)
		return r;
	r = read_lease(s, a, &old, err);
	if (r == 0)
		r = write_lease(s, holder, old.term + 1, err);
	if (r == 0)
		r = sqlite_load_head(s, err);
	if (r == 0)
		r = sqlite_run(s, SQL_COMMIT, "take the lease", err);
	if (r < 0) {
		sqlite_rollback(s);
		return r;
	}
	*ret = (struct store_lease){ arena_str(a, holder), old.term + 1 };
	return 0;
}

int sqlite_lease_take(struct store *store, str holder, struct arena *a, struct store_lease *ret,
		struct ov_err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)store;
	int fd = -1, r;

	if (s->mode == STORE_READ_ONLY)
		return ov_fail(err, OV_ESTATE,
				"%s is opened read-only, so the lease cannot be taken", s->path);
	/* A second descriptor of our own would conflict too, and so give the same answer. */
	r = sqlite_lock(s->path, &fd, err);
	if (r == OV_ECONFLICT)
		return lease_refuse(s, a, ret, err);
	if (r < 0)
		return r;
	if (s->mode == STORE_SALVAGE)
		*ret = (struct store_lease){ .holder = arena_str(a, holder) }; /* the row stays */
	else
		r = take_term(s, holder, a, ret, err);
	if (r < 0) {
		close(fd);
		return r;
	}
	if (s->lock_fd >= 0)
		close(s->lock_fd); /* of a lock file that was removed: it excludes nobody */
	s->lock_fd = fd;
	s->term = ret->term;
	return 0;
}

void sqlite_lease_release(struct store *store)
{
	struct sqlite_store *s = (struct sqlite_store *)store;
	sqlite3_stmt *st;

	if (s->lock_fd < 0)
		return;
	/* If this fails, the name stays behind; without a lock it means nothing. */
	if (s->mode == STORE_READ_WRITE && sqlite_stmt(s, SQL_LEASE_CLEAR, &st, NULL) == 0) {
		sqlite3_bind_int64(st, 1, (sqlite3_int64)s->term);
		sqlite_run(s, SQL_LEASE_CLEAR, "release the lease", NULL);
	}
	close(s->lock_fd);
	s->lock_fd = -1;
	s->term = 0;
}
