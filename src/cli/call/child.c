#include "cli/call/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"

extern char **environ;

enum { READY_FD = 3 };

const char *program_in_path(struct arena *a, const char *name)
{
	return file_in_path(a, getenv("PATH"), name);
}

int program_own(struct arena *a, const char **ret, struct ov_err *err)
{
	const char *found = program_in_path(a, "overseer");
	char self[PATH_MAX];
	struct stat us, other;

	if (stat("/proc/self/exe", &us) < 0 || !realpath("/proc/self/exe", self))
		return ov_fail_errno(err, errno, "the name of this program");
	if (found && found[0] == '/' && stat(found, &other) == 0 && other.st_dev == us.st_dev &&
			other.st_ino == us.st_ino)
		*ret = found;
	else
		*ret = arena_cstr(a, str_from(self));
	return 0;
}

static const char *beside_us(struct arena *a, const char *name)
{
	static const char *const places[] = { ".", "../app", "../watch", "../libexec",
		"../libexec/overseer" };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return NULL;
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		char *path = path_join(a, path_join(a, self, places[i]), name);

		if (access(path, X_OK) == 0)
			return realpath(path, self) ? arena_cstr(a, str_from(self)) : path;
	}
	return NULL;
}

int program_find(struct arena *a, const char *name, const char *env, const char **ret,
		struct ov_err *err)
{
	const char *path = getenv(env);

	if (!path || !*path)
		path = beside_us(a, name);
	if (!path)
		path = program_in_path(a, name);
	if (!path || access(path, X_OK) < 0) {
		ov_fail(err, OV_ENOTFOUND, "%s was not found%s%s", name, path ? " at " : "",
				path ? path : " beside overseer or in PATH");
		return ov_next(err, "%s=/path/to/%s overseer ...", env, name);
	}
	*ret = path;
	return 0;
}

static int start(const struct capture *spec, int in, int out, pid_t *ret, struct ov_err *err)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t none;
	int e;

	posix_spawn_file_actions_init(&fa);
	posix_spawnattr_init(&attr);
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_adddup2(&fa, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&fa, out, STDOUT_FILENO);
	if (spec->quiet)
		posix_spawn_file_actions_addopen(&fa, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addclosefrom_np(&fa, STDERR_FILENO + 1);
	if (spec->cwd)
		posix_spawn_file_actions_addchdir_np(&fa, spec->cwd);
	e = posix_spawnp(ret, spec->argv[0], &fa, &attr, (char *const *)spec->argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&attr);
	return e ? ov_fail_errno(err, e, "starting %s", spec->argv[0]) : 0;
}

static void hand_lines(const struct capture *spec, struct buf *out)
{
	for (;;) {
		size_t end = str_find_byte(buf_str(out), '\n');

		if (end >= out->n)
			return;
		spec->line(spec->user, str_sub(buf_str(out), 0, end));
		buf_consume(out, end + 1);
	}
}

/* Reads to the end of the output, within the bounds of the spec. */
static int read_all(const struct capture *spec, int fd, struct buf *out, struct ov_err *err)
{
	uint64_t deadline = clock_mono_us() + (uint64_t)spec->timeout_ms * 1000;
	char piece[16384];

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = clock_mono_us();
		ssize_t n;
		int r = now < deadline ? poll(&p, 1, (int)((deadline - now) / 1000 + 1)) : 0;

		if (r < 0 && errno == EINTR)
			continue;
		if (r == 0)
			return ov_fail(err, OV_EUNAVAILABLE, "%s did not end within %lld ms",
					spec->argv[0], (long long)spec->timeout_ms);
		n = read(fd, piece, sizeof(piece));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ov_fail_errno(err, errno, "reading from %s", spec->argv[0]);
		if (n == 0)
			return 0;
		if (out->n + (size_t)n > spec->max)
			return ov_fail(err, OV_ELIMIT, "%s wrote more than %zu bytes",
					spec->argv[0], spec->max);
		buf_add(out, piece, (size_t)n);
		if (spec->line)
			hand_lines(spec, out);
	}
}

static int wait_status(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int spawn_capture(const struct capture *spec, struct buf *out, int *ret_status, struct ov_err *err)
{
	/* A socket for its input: writing to a child that is gone must not end us by SIGPIPE. */
	int in[2], pipe_out[2], r, status;
	size_t sent = 0;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) < 0)
		return ov_fail_errno(err, errno, "starting %s", spec->argv[0]);
	if (pipe2(pipe_out, O_CLOEXEC) < 0) {
		r = ov_fail_errno(err, errno, "starting %s", spec->argv[0]);
		close(in[0]);
		close(in[1]);
		return r;
	}
	r = start(spec, in[1], pipe_out[1], &pid, err);
	close(in[1]);
	close(pipe_out[1]);
	if (r == 0) {
		while (sent < spec->input.n) {
			ssize_t n = send(in[0], spec->input.p + sent, spec->input.n - sent,
					MSG_NOSIGNAL);

			if (n < 0 && errno != EINTR)
				break;
			sent += n > 0 ? (size_t)n : 0;
		}
		(void)shutdown(in[0], SHUT_WR);
		r = read_all(spec, pipe_out[0], out, err);
		if (r < 0)
			(void)kill(pid, SIGKILL);
		status = wait_status(pid);
		if (r == 0)
			*ret_status = status;
	}
	close(in[0]);
	close(pipe_out[0]);
	return r;
}

int spawn_daemon(const char *const *argv, const char *cwd, const char *log, int *ret_pid,
		int *ret_ready, struct ov_err *err)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	int ready[2], e;
	sigset_t set;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return ov_fail_errno(err, errno, "starting %s", argv[0]);
	posix_spawn_file_actions_init(&fa);
	posix_spawnattr_init(&attr);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(&attr, &set);
	sigfillset(&set);
	posix_spawnattr_setsigdefault(&attr, &set);
	posix_spawnattr_setflags(&attr,
			POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_addopen(&fa, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&fa, STDOUT_FILENO, log,
			O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
	posix_spawn_file_actions_adddup2(&fa, STDOUT_FILENO, STDERR_FILENO);
	posix_spawn_file_actions_adddup2(&fa, ready[1], READY_FD);
	/* Whatever else we were given stays here: a pipe held by a daemon never ends. */
	posix_spawn_file_actions_addclosefrom_np(&fa, READY_FD + 1);
	posix_spawn_file_actions_addchdir_np(&fa, cwd);
	e = posix_spawn(&pid, argv[0], &fa, &attr, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&attr);
	close(ready[1]);
	if (e) {
		close(ready[0]);
		return ov_fail_errno(err, e, "starting %s", argv[0]);
	}
	*ret_pid = pid;
	*ret_ready = ready[0];
	return 0;
}
