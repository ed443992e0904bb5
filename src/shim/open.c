/*
 * As file_open of src/sys/file/open.c, which the shim, standing alone, cannot use: the run's folder
 * is the agent's user's, and a named pipe there must not hold the shim up.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/shim_impl.h"

int open_file(const char *path, int flags)
{
	struct stat st;
	int follow = flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0, fd;

	if (fstatat(AT_FDCWD, path, &st, follow) == 0 && !S_ISREG(st.st_mode) &&
			!S_ISLNK(st.st_mode)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : ENXIO;
		return -1;
	}
	fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
			fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) == 0)
		return fd;
	close(fd);
	errno = ENXIO;
	return -1;
}
