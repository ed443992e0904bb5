#include "sys/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_file(const struct stat *st)
{
	if (S_ISREG(st->st_mode))
		return true;
	errno = S_ISDIR(st->st_mode) ? EISDIR : ENXIO;
	return false;
}

/*
 * The type is asked for first, since opening a device may set something off; and again of what was
 * opened, since it may have been put there in between. Whoever gets the
 * descriptor finds no O_NONBLOCK on it.
 */
int file_open(const char *path, int flags, mode_t mode)
{
	int follow = flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0, fd, saved;
	struct stat st;

	if (fstatat(AT_FDCWD, path, &st, follow) == 0 && !S_ISLNK(st.st_mode) && !is_file(&st))
		return -1;
	fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, mode);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && is_file(&st) &&
			fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}
