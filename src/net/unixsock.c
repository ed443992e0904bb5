#include "net/unixsock_impl.h"

#include "base/err.h"
#include "sys/file/file.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Removes what a dead server left; everything else stays where it is. */
static int remove_stale(const struct sockaddr_un *addr, struct ov_err *err)
{
	_cleanup_(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0);
	struct stat st;

	if (fd < 0)
		return ov_fail_errno(err, errno, "socket");
	if (lstat(addr->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : ov_fail_errno(err, errno, "%s", addr->sun_path);
	/* connect(2) says "refused" for ordinary files too, and those are not ours to remove. */
	if (!S_ISSOCK(st.st_mode))
		return ov_fail(err, OV_ECONFLICT, "%s exists and is not a socket: move it away",
				addr->sun_path);
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0 || errno == EAGAIN)
		return ov_fail(err, OV_ECONFLICT, "somebody already listens on %s", addr->sun_path);
	if (errno != ECONNREFUSED && errno != ENOENT)
		return ov_fail_errno(err, errno, "connect to %s", addr->sun_path);
	if (unlink(addr->sun_path) < 0 && errno != ENOENT)
		return ov_fail_errno(err, errno, "remove stale socket %s", addr->sun_path);
	return 0;
}

static int bind_file(int fd, const struct sockaddr_un *addr, struct ov_err *err)
{
	int r;

	/*
	 * The file gets the mode of the socket, so there is no moment at which it is open
	 * to others.
	 */
	if (fchmod(fd, 0600) < 0)
		return ov_fail_errno(err, errno, "set the mode of %s", addr->sun_path);
	if (bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0)
		return 0;
	if (errno != EADDRINUSE)
		return ov_fail_errno(err, errno, "bind %s", addr->sun_path);
	r = remove_stale(addr, err);
	if (r < 0)
		return r;
	if (bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0)
		return ov_fail_errno(err, errno, "bind %s", addr->sun_path);
	return 0;
}

int unixsock_listen(const char *path, struct unixsock *ret, struct ov_err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct stat st;
	size_t n = strlen(path);
	int r;

	if (n == 0 || n >= sizeof(addr.sun_path))
		return ov_fail(err, OV_EINVALID,
				"socket path has %zu bytes, it must have 1 to %zu: %s", n,
				sizeof(addr.sun_path) - 1, path);
	memcpy(addr.sun_path, path, n + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return ov_fail_errno(err, errno, "socket");
	r = bind_file(fd, &addr, err);
	if (r < 0)
		return r;
	if (listen(fd, SOMAXCONN) < 0 || lstat(path, &st) < 0) {
		r = ov_fail_errno(err, errno, "listen on %s", path);
		unlink(path);
		return r;
	}
	memcpy(ret->path, path, n + 1);
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
	ret->fd = TAKE_FD(fd);
	return 0;
}

bool unixsock_is_there(const struct unixsock *s)
{
	struct stat st;

	return lstat(s->path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino;
}

void unixsock_close(struct unixsock *s)
{
	if (unixsock_is_there(s))
		unlink(s->path);
	close(s->fd);
	s->fd = -1;
}
