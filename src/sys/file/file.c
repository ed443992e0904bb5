#include "sys/file/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "sys/host/rand.h"

enum { READ_PIECE = 64 * 1024 };

void fd_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int check_path(const char *path, struct ov_err *err)
{
	size_t n = strlen(path);

	if (n == 0)
		return ov_fail(err, OV_EINVALID, "empty path");
	if (n >= PATH_MAX)
		return ov_fail(err, OV_ELIMIT, "path of %zu bytes: the most is %d: %.60s...", n,
				PATH_MAX - 1, path);
	return 0;
}

static int fail_path(struct ov_err *err, int errnum, const char *what, const char *path)
{
	int code = OV_EIO;

	ov_fail_errno(err, errnum, "%s %s", what, path);
	if (errnum == ENOENT || errnum == ENOTDIR)
		code = OV_ENOTFOUND;
	else if (errnum == EEXIST)
		code = OV_ECONFLICT;
	if (err)
		err->code = code;
	return code;
}

/* As file_open says that it is none. */
static int fail_open(struct ov_err *err, int errnum, const char *what, const char *path)
{
	if (errnum == ENXIO || errnum == EISDIR)
		return ov_fail(err, OV_EINVALID, "%s is not a regular file", path);
	return fail_path(err, errnum, what, path);
}

/* ---- reading ---- */

/* All of an open file; `path` is for messages. */
static int read_open(struct arena *a, int fd, const char *path, size_t max, str *ret,
		struct ov_err *err)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_path(err, errno, "stat", path);
	if (!S_ISREG(st.st_mode))
		return ov_fail(err, OV_EINVALID, "%s is not a regular file", path);
	/* The size is only a hint: files of /proc have none, others grow meanwhile. */
	if (st.st_size > 0)
		buf_reserve(&b, MIN((size_t)st.st_size, max) + 1);
	for (;;) {
		ssize_t got;

		buf_reserve(&b, b.cap - b.n > 1 ? 1 : READ_PIECE);
		got = read(fd, b.p + b.n, b.cap - b.n - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail_path(err, errno, "read", path);
		if (got == 0)
			break;
		b.n += (size_t)got;
		if (b.n > max)
			return ov_fail(err, OV_ELIMIT, "%s is larger than %zu bytes", path, max);
	}
	*ret = arena_str(a, buf_str(&b));
	return 0;
}

int file_read(struct arena *a, const char *path, size_t max, str *ret, struct ov_err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	int r = check_path(path, err);

	if (r < 0)
		return r;
	fd = file_open(path, O_RDONLY, 0);
	if (fd < 0)
		return fail_open(err, errno, "open", path);
	return read_open(a, fd, path, max, ret, err);
}

/*
 * One part of the name after another, since not every kernel and checker that we run on
 * has openat2.
 */
int file_openat_beneath(int dir, const char *name, int flags)
{
	str rest = str_from(name), part;
	int at = dir;

	while (str_split(&rest, '/', &part)) {
		char one[NAME_MAX + 1];
		int next = -1;

		errno = EINVAL;
		if (part.n && part.n <= NAME_MAX && !str_is(part, "..")) {
			memcpy(one, part.p, part.n);
			one[part.n] = '\0';
			next = openat(at, one,
					O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
							(rest.n ? O_PATH | O_DIRECTORY : flags),
					0600);
		}
		if (at != dir)
			close(at);
		if (next < 0)
			return -1;
		at = next;
	}
	return at == dir ? -1 : at;
}

int file_open_beneath(const char *dir, const char *name, int flags, int *ret_fd, struct ov_err *err)
{
	_cleanup_(fd_closep) int at = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int fd = at < 0 ? -1 : file_openat_beneath(at, name, flags);

	if (fd < 0)
		return fail_path(err, errno == ELOOP ? ENOENT : errno, "open", name);
	*ret_fd = fd;
	return 0;
}

int file_read_beneath(struct arena *a, const char *dir, const char *name, size_t max, str *ret,
		struct ov_err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	struct stat st;
	int r = file_open_beneath(dir, name, O_RDONLY, &fd, err);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return ov_fail(err, OV_ENOTFOUND, "%s/%s is no regular file", dir, name);
	return read_open(a, fd, name, max, ret, err);
}

bool file_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

/* ---- writing ---- */

/* Splits into an open directory and the name in it. */
static int open_parent(const char *path, int *ret_dir, const char **ret_name, struct ov_err *err)
{
	_cleanup_(mem_freep) char *dir = NULL;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int fd, r;

	r = check_path(path, err);
	if (r < 0)
		return r;
	if (!*name)
		return ov_fail(err, OV_EINVALID, "%s names no file", path);
	if (!slash)
		dir = mem_dup(".", 1);
	else
		dir = mem_dup(path, slash == path ? 1 : (size_t)(slash - path));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail_path(err, errno, "open directory", dir);
	*ret_dir = fd;
	*ret_name = name;
	return 0;
}

/* 0 or an errno. */
static int write_all(int fd, str bytes)
{
	while (bytes.n > 0) {
		ssize_t n = write(fd, bytes.p, bytes.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		bytes.p += n;
		bytes.n -= (size_t)n;
	}
	return 0;
}

int file_in_memory(str bytes, int *ret_fd, struct ov_err *err)
{
	_cleanup_(fd_closep) int fd = memfd_create("overseer", MFD_CLOEXEC);
	int e = fd < 0 ? errno : write_all(fd, bytes);

	if (!e && lseek(fd, 0, SEEK_SET) < 0)
		e = errno;
	if (e)
		return ov_fail_errno(err, e, "a file in memory");
	*ret_fd = TAKE_FD(fd);
	return 0;
}

struct tmp_file {
	int dir;
	char name[40];
};

/* A durable temporary file in t->dir, or nothing: a full disk must not be left fuller. */
static int tmp_write(struct tmp_file *t, str bytes, unsigned mode)
{
	_cleanup_(fd_closep) int fd = -1;
	int e;

	do {
		snprintf(t->name, sizeof(t->name), ".tmp-%016llx", (unsigned long long)rand_u64());
		fd = openat(t->dir, t->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
				mode);
	} while (fd < 0 && (errno == EEXIST || errno == EINTR));
	if (fd < 0)
		return errno;
	e = write_all(fd, bytes);
	if (!e && fsync(fd) < 0)
		e = errno;
	/* Some file systems tell of a failed write only here. */
	if (close(TAKE_FD(fd)) < 0 && !e && errno != EINTR)
		e = errno;
	if (e)
		unlinkat(t->dir, t->name, 0);
	return e;
}

static int put_file(const char *path, str bytes, unsigned mode, bool fresh, struct ov_err *err)
{
	_cleanup_(fd_closep) int dir = -1;
	struct tmp_file tmp;
	const char *name;
	int e, r;

	r = open_parent(path, &dir, &name, err);
	if (r < 0)
		return r;
	tmp.dir = dir;
	e = tmp_write(&tmp, bytes, mode);
	if (e)
		return fail_path(err, e, "write", path);
	if (fresh)
		e = linkat(dir, tmp.name, dir, name, 0) < 0 ? errno : 0;
	else
		e = renameat(dir, tmp.name, dir, name) < 0 ? errno : 0;
	if (e || fresh)
		unlinkat(dir, tmp.name, 0);
	if (e)
		return fail_path(err, e, fresh ? "create" : "replace", path);
	if (fsync(dir) < 0)
		return fail_path(err, errno, "sync the directory of", path);
	return 0;
}

int file_write_atomic(const char *path, str bytes, unsigned mode, struct ov_err *err)
{
	return put_file(path, bytes, mode, false, err);
}

int file_create_atomic(const char *path, str bytes, unsigned mode, struct ov_err *err)
{
	return put_file(path, bytes, mode, true, err);
}

/* 0 or an errno. */
static int copy_bytes(int from, int to)
{
	struct stat st;
	ssize_t n;

	while ((n = copy_file_range(from, NULL, to, NULL, 1 << 30, 0)) > 0)
		;
	if (n < 0 && (errno == EXDEV || errno == EINVAL || errno == ENOSYS)) {
		char piece[READ_PIECE];
		int e;

		while ((n = read(from, piece, sizeof(piece))) > 0) {
			e = write_all(to, (str){ piece, (size_t)n });
			if (e)
				return e;
		}
	}
	if (n < 0 || fstat(from, &st) < 0)
		return errno;
	if (futimens(to, (struct timespec[]){ st.st_atim, st.st_mtim }) < 0 || fsync(to) < 0)
		return errno;
	return 0;
}

int file_copy(const char *from, const char *to, unsigned mode, struct ov_err *err)
{
	_cleanup_(fd_closep) int in = -1, out = -1, dir = -1;
	const char *name;
	int e, r;

	r = open_parent(to, &dir, &name, err);
	if (r < 0)
		return r;
	in = file_open(from, O_RDONLY, 0);
	if (in < 0)
		return fail_open(err, errno, "open", from);
	out = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (out < 0)
		return fail_path(err, errno, "create", to);
	e = copy_bytes(in, out);
	if (!e && fsync(dir) < 0)
		e = errno;
	if (e)
		unlinkat(dir, name, 0);
	return e ? fail_path(err, e, "copy to", to) : 0;
}

int file_commit(const char *tmp, const char *path, struct ov_err *err)
{
	_cleanup_(fd_closep) int fd = -1, dir = -1;
	const char *name;
	int r = open_parent(path, &dir, &name, err);

	if (r < 0)
		return r;
	fd = file_open(tmp, O_RDWR | O_NOFOLLOW, 0);
	if (fd < 0 || fsync(fd) < 0)
		return fail_path(err, errno, "sync", tmp);
	if (renameat(AT_FDCWD, tmp, dir, name) < 0)
		return fail_path(err, errno, "replace", path);
	if (fsync(dir) < 0)
		return fail_path(err, errno, "sync the directory of", path);
	return 0;
}

int file_remove(const char *path, struct ov_err *err)
{
	int r = check_path(path, err);

	if (r < 0)
		return r;
	if (unlink(path) < 0 && errno != ENOENT)
		return fail_path(err, errno, "remove", path);
	return 0;
}

/* ---- directories ---- */

/* Makes one directory durably; 0 or an errno. */
static int make_one(const char *path, unsigned mode)
{
	_cleanup_(fd_closep) int parent = -1;
	const char *name;

	if (mkdir(path, mode) < 0)
		return errno == EEXIST ? 0 : errno;
	/* Without this a crash could lose the folder, and with it the durable files inside. */
	if (open_parent(path, &parent, &name, NULL) == 0)
		fsync(parent);
	return 0;
}

int dir_make(const char *path, unsigned mode, struct ov_err *err)
{
	_cleanup_(mem_freep) char *copy = NULL;
	struct stat st;
	size_t n;
	int e, r;

	r = check_path(path, err);
	if (r < 0)
		return r;
	n = strlen(path);
	while (n > 1 && path[n - 1] == '/')
		n--;
	copy = mem_dup(path, n);
	for (size_t i = 1; i <= n; i++) {
		if (i < n && copy[i] != '/')
			continue;
		copy[i] = '\0';
		e = make_one(copy, mode);
		/* Parents may be read-only and fine: only the whole path decides. */
		if (e && i == n)
			return fail_path(err, e, "make directory", path);
		copy[i] = i < n ? '/' : '\0';
	}
	if (stat(path, &st) < 0)
		return fail_path(err, errno, "stat", path);
	if (!S_ISDIR(st.st_mode))
		return ov_fail(err, OV_ECONFLICT, "%s exists and is not a directory", path);
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	return str_cmp(*(const str *)a, *(const str *)b);
}

static void dir_closep(DIR **d)
{
	if (*d)
		closedir(*d);
}

int dir_list(struct arena *a, const char *path, size_t max, str **ret, size_t *ret_n,
		struct ov_err *err)
{
	_cleanup_(dir_closep) DIR *d = NULL;
	VEC(str) names = { 0 };
	struct dirent *e;
	int r = check_path(path, err);

	if (r < 0)
		return r;
	d = opendir(path);
	if (!d)
		return fail_path(err, errno, "open directory", path);
	while (errno = 0, (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (names.n == max) {
			vec_done(&names);
			return ov_fail(err, OV_ELIMIT, "%s holds more than %zu entries", path, max);
		}
		vec_push(&names, arena_str(a, str_from(e->d_name)));
	}
	if (errno) {
		r = fail_path(err, errno, "read directory", path);
		vec_done(&names);
		return r;
	}
	if (names.n)
		qsort(names.p, names.n, sizeof(str), by_bytes);
	*ret = arena_array(a, str, names.n);
	if (names.n)
		memcpy(*ret, names.p, names.n * sizeof(str));
	*ret_n = names.n;
	vec_done(&names);
	return 0;
}

/* ---- locks ---- */

/*
 * Of the open file description, not flock: such a lock can be asked about without being taken, so a
 * probe never stands in anyone's way. It dies with the last descriptor, as flock does.
 */
static struct flock whole_file(void)
{
	return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
}

int lock_take(const char *path, int *ret_fd, struct ov_err *err)
{
	struct flock lock = whole_file();
	_cleanup_(fd_closep) int fd = -1;
	int r = check_path(path, err);

	if (r < 0)
		return r;
	fd = file_open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail_open(err, errno, "open lock", path);
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return fail_path(err, errno, "lock", path);
		return ov_fail(err, OV_ECONFLICT, "%s is locked by another process", path);
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int lock_probe(const char *path, bool *ret_held, struct ov_err *err)
{
	struct flock lock = whole_file();
	_cleanup_(fd_closep) int fd = -1;
	int r = check_path(path, err);

	if (r < 0)
		return r;
	fd = file_open(path, O_RDONLY | O_NOFOLLOW, 0);
	/* What is no file was put there by somebody else, and is held by nobody. */
	if (fd < 0 && (errno == ENOENT || errno == ENXIO || errno == EISDIR)) {
		*ret_held = false;
		return 0;
	}
	if (fd < 0)
		return fail_path(err, errno, "open lock", path);
	if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
		return fail_path(err, errno, "probe lock", path);
	*ret_held = lock.l_type != F_UNLCK;
	return 0;
}

char *path_join(struct arena *a, const char *dir, const char *name)
{
	size_t n = strlen(dir);
	const char *sep = n > 0 && dir[n - 1] == '/' ? "" : "/";

	return (char *)arena_printf(a, "%s%s%s", dir, sep, name).p;
}

bool file_can_run(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

const char *file_in_path(struct arena *a, const char *path, const char *name)
{
	str rest = str_from(path), dir;

	while (str_split(&rest, ':', &dir)) {
		char *full;

		if (dir.n == 0 || dir.p[0] != '/')
			continue;
		full = path_join(a, arena_cstr(a, dir), name);
		if (file_can_run(full))
			return full;
	}
	return NULL;
}

const char *file_program(struct arena *a, const char *path, const char *name)
{
	if (!strchr(name, '/'))
		return file_in_path(a, path, name);
	return file_can_run(name) ? name : NULL;
}
