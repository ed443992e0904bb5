#include "sys/file/sparse.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/file/file.h"

/*
 * Where data begins at or behind `at`; `at` itself where the file system cannot tell; -1: nowhere.
 */
static off_t next_data(int fd, off_t at)
{
	off_t data = lseek(fd, at, SEEK_DATA);

	return data >= 0 ? data : errno == ENXIO ? -1 : at;
}

/* Where the data at `at` ends; INT64_MAX where that cannot be told. */
static off_t next_hole(int fd, off_t at)
{
	off_t hole = lseek(fd, at, SEEK_HOLE);

	return hole >= 0 ? hole : errno == ENXIO ? at : INT64_MAX;
}

ssize_t sparse_read(int fd, void *p, size_t n, uint64_t *at, bool *ret_more)
{
	for (;;) {
		off_t data = next_data(fd, (off_t)*at), hole;
		ssize_t got;

		*ret_more = false;
		if (data < 0)
			return 0;
		got = pread(fd, p, n, data);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		/* Looked at after it was read: what is in no hole now was in none then. */
		hole = next_hole(fd, data);
		if (hole <= data)
			continue;
		*at = (uint64_t)data;
		*ret_more = (size_t)got == n || hole < data + got;
		return (ssize_t)MIN((off_t)got, hole - data);
	}
}

int sparse_measure(const char *path, uint64_t *ret_data, uint64_t *ret_holes, struct ov_err *err)
{
	_cleanup_(fd_closep) int fd = file_open(path, O_RDONLY, 0);
	uint64_t data = 0;
	struct stat st;
	off_t at = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		return ov_fail_errno(err, errno, "%s", path);
	while (at < st.st_size) {
		off_t from = next_data(fd, at), to;

		if (from < 0 || from >= st.st_size)
			break;
		to = MIN(next_hole(fd, from), (off_t)st.st_size);
		data += (uint64_t)MAX(to - from, (off_t)0);
		at = MAX(to, from + 1);
	}
	*ret_data = data;
	*ret_holes = (uint64_t)st.st_size - data;
	return 0;
}
