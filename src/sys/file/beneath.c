#include "sys/file/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "sys/file/file.h"

struct finding {
	struct arena *a; /* names */
	int folder;
	beneath_fn *fn;
	void *user;
	size_t files, entries;
};

static void tell_file(struct finding *f, const char *path)
{
	_cleanup_(fd_closep) int fd = file_openat_beneath(f->folder, path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || f->files == BENEATH_FILES)
		return;
	f->files++;
	f->fn(f->user,
			&(struct beneath_file){ .path = str_from(path),
					.fd = fd,
					.size = (uint64_t)st.st_size,
					.modified_at = (ov_time)st.st_mtim.tv_sec * OV_SECOND +
							st.st_mtim.tv_nsec / 1000000 });
}

static int name_order(const void *pa, const void *pb)
{
	return strcmp(*(const char *const *)pa, *(const char *const *)pb);
}

static DIR *opendir_at(int folder, const char *path)
{
	int fd = file_openat_beneath(folder, path, O_RDONLY | O_DIRECTORY);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

/* The names in a folder that match, sorted. */
static size_t matching(struct finding *f, const char *dir, const char *part, const char ***ret)
{
	VEC(const char *) names = { 0 };
	DIR *d = opendir_at(f->folder, *dir ? dir : ".");
	const struct dirent *e;
	const char **sorted;
	size_t n;

	if (!d)
		return 0;
	while (f->entries < BENEATH_ENTRIES && (e = readdir(d))) {
		f->entries++;
		if (fnmatch(part, e->d_name, FNM_PERIOD) == 0 &&
				!str_is(str_from(e->d_name), ".") &&
				!str_is(str_from(e->d_name), ".."))
			vec_push(&names, arena_cstr(f->a, str_from(e->d_name)));
	}
	closedir(d);
	n = names.n;
	sorted = arena_array(f->a, const char *, n);
	if (n) {
		memcpy(sorted, names.p, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), name_order);
	}
	vec_done(&names);
	*ret = sorted;
	return n;
}

/* As deep as the pattern has parts. */
static void find_parts(struct finding *f, const char *dir, str rest)
{
	const char **names = NULL;
	str part = { 0 };
	bool more;
	size_t n;

	while (!part.n)
		if (!str_split(&rest, '/', &part))
			return;
	more = rest.n > 0;
	part = arena_str(f->a, part);
	if (str_find_byte(part, '*') < part.n || str_find_byte(part, '?') < part.n ||
			str_find_byte(part, '[') < part.n || str_find_byte(part, '\\') < part.n) {
		n = matching(f, dir, part.p, &names);
	} else {
		names = arena_array(f->a, const char *, 1);
		names[0] = part.p;
		n = 1;
	}
	for (size_t i = 0; i < n && f->files < BENEATH_FILES; i++) {
		const char *path = *dir ? path_join(f->a, dir, names[i]) : names[i];

		if (more)
			find_parts(f, path, rest);
		else
			tell_file(f, path);
	}
}

int beneath_find(const char *folder, str pattern, beneath_fn *fn, void *user, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	_cleanup_(fd_closep) int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct finding f = { .a = &a, .folder = fd, .fn = fn, .user = user };

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return ov_fail_errno(err, errno, "cannot open %s", folder);
	find_parts(&f, "", pattern);
	return (int)f.files;
}

DIR *beneath_opendir(const char *folder, const char *path)
{
	_cleanup_(fd_closep) int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? NULL : opendir_at(fd, path);
}

int beneath_read(struct arena *a, const struct beneath_file *f, size_t max, str *ret,
		struct ov_err *err)
{
	size_t n = 0, cap = MIN((size_t)f->size, max) + 1;
	char *p = arena_alloc(a, cap + 1);

	for (;;) {
		ssize_t r = pread(f->fd, p + n, cap - n, (off_t)n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return ov_fail_errno(err, errno, "cannot read " STR_FMT, STR_ARG(f->path));
		if (r == 0)
			break;
		n += (size_t)r;
		/* Longer than is allowed, or it grows while it is read. */
		if (n == cap)
			return ov_fail(err, OV_ELIMIT, STR_FMT " has more than %zu bytes",
					STR_ARG(f->path), cap - 1);
	}
	p[n] = '\0';
	*ret = (str){ p, n };
	return 0;
}
