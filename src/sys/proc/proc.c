#include "sys/proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* ---- finding the program ---- */

static str search_path(const char *const *env)
{
	const char *ours;

	for (; env && *env; env++)
		if (str_starts(str_from(*env), STR("PATH=")))
			return str_from(*env + strlen("PATH="));
	ours = getenv("PATH");
	return str_from(ours ? ours : DEFAULT_PATH);
}

/* The file to execute, into ret[PATH_MAX]. What has a slash is taken as it is. */
static int find_program(const struct proc_spec *spec, char ret[static PATH_MAX], struct ov_err *err)
{
	const char *name = spec->argv[0];
	str path = search_path(spec->env), dir;
	bool denied = false;
	struct stat st;

	if (!*name)
		return ov_fail(err, OV_EINVALID, "empty program name");
	if (strlen(name) >= PATH_MAX)
		return ov_fail(err, OV_ELIMIT, "program name of %zu bytes", strlen(name));
	if (strchr(name, '/')) {
		snprintf(ret, PATH_MAX, "%s", name);
		return 0;
	}
	while (str_split(&path, ':', &dir)) {
		/* Relative folders would make what runs depend on where we stand. */
		if (!dir.n || dir.p[0] != '/')
			continue;
		if (snprintf(ret, PATH_MAX, STR_FMT "/%s", STR_ARG(dir), name) >= PATH_MAX)
			continue;
		if (stat(ret, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (access(ret, X_OK) == 0)
			return 0;
		denied = true;
	}
	if (denied)
		return ov_fail(err, OV_EIO, "%s: found in PATH, but not executable", name);
	return ov_fail(err, OV_ENOTFOUND, "%s: no such program in PATH", name);
}

/* posix_spawn gives one errno for several causes: say which it was. */
static int fail_spawn(struct ov_err *err, int errnum, const char *file, const char *cwd)
{
	struct stat st;

	if (cwd && stat(cwd, &st) < 0)
		return ov_fail(err, OV_ENOTFOUND, "start %s: working directory %s: %s", file, cwd,
				strerror(errno));
	if (cwd && !S_ISDIR(st.st_mode))
		return ov_fail(err, OV_EINVALID, "start %s: %s is not a directory", file, cwd);
	switch (errnum) {
	case ENOENT:
		if (file[0] == '/' && stat(file, &st) == 0)
			return ov_fail(err, OV_ENOTFOUND,
					"start %s: the interpreter that it names does not exist",
					file);
		return ov_fail(err, OV_ENOTFOUND, "start %s: no such program", file);
	case ENOTDIR: return ov_fail(err, OV_ENOTFOUND, "start %s: no such program", file);
	case ENOEXEC:
		return ov_fail(err, OV_EIO,
				"start %s: neither a program nor a script with a #! line", file);
	case E2BIG:
		return ov_fail(err, OV_ELIMIT, "start %s: arguments and environment are too long",
				file);
	default: return ov_fail_errno(err, errnum, "start %s", file);
	}
}

/* ---- starting ---- */

struct fds {
	int fd[3];
	bool made[3];
};

static void fds_done(struct fds *f)
{
	for (int i = 0; i < 3; i++)
		if (f->made[i])
			close(f->fd[i]);
}

/*
 * The child's 0, 1, 2 are set one after the other, so a source among 0..2 could be overwritten
 * before it is used: such a one is first copied out of the way.
 */
static int fds_init(struct fds *f, const struct proc_spec *spec, struct ov_err *err)
{
	*f = (struct fds){ .fd = { spec->in, spec->out, spec->err } };
	for (int i = 0; i < 3; i++) {
		int copy;

		if (f->fd[i] < 0 || f->fd[i] > 2 || f->fd[i] == i)
			continue;
		copy = fcntl(f->fd[i], F_DUPFD_CLOEXEC, 3);
		if (copy < 0)
			return ov_fail_errno(err, errno, "duplicate fd %d", f->fd[i]);
		f->fd[i] = copy;
		f->made[i] = true;
	}
	return 0;
}

static int set_actions(posix_spawn_file_actions_t *fa, const struct fds *f, const char *cwd)
{
	int e = 0;

	/* First of all: it may be a descriptor of ours, by its name in /proc/self/fd. */
	if (cwd)
		e = posix_spawn_file_actions_addchdir_np(fa, cwd);
	for (int i = 0; i < 3 && !e; i++) {
		if (f->fd[i] < 0)
			e = posix_spawn_file_actions_addopen(fa, i, "/dev/null", O_RDWR, 0);
		else
			e = posix_spawn_file_actions_adddup2(fa, f->fd[i], i);
	}
	/* Ours are all close-on-exec; this is for what we ourselves inherited. */
	if (!e)
		e = posix_spawn_file_actions_addclosefrom_np(fa, 3);
	return e;
}

static int set_attributes(posix_spawnattr_t *at, bool new_session)
{
	short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
	sigset_t all, none;
	int e;

	sigfillset(&all);
	sigemptyset(&none);
	flags |= new_session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
	e = posix_spawnattr_setsigdefault(at, &all);
	if (!e)
		e = posix_spawnattr_setsigmask(at, &none);
	if (!e)
		e = posix_spawnattr_setpgroup(at, 0);
	if (!e)
		e = posix_spawnattr_setflags(at, flags);
	return e;
}

/*
 * A child has our limits, and posix_spawn gives it no others: so ours is lowered while it is
 * started. What we could need in that moment is less than any limit that a program can live with.
 */
static int spawn_bounded(const struct proc_spec *spec, const char *file,
		const posix_spawn_file_actions_t *fa, const posix_spawnattr_t *at, char *const *env,
		pid_t *ret_pid)
{
	struct rlimit ours, low;
	int e;

	if (!spec->memory_max)
		return posix_spawn(ret_pid, file, fa, at, (char *const *)spec->argv, env);
	if (getrlimit(RLIMIT_DATA, &ours) < 0)
		return errno;
	low = (struct rlimit){ MIN((rlim_t)spec->memory_max, ours.rlim_cur), ours.rlim_max };
	if (setrlimit(RLIMIT_DATA, &low) < 0)
		return errno;
	e = posix_spawn(ret_pid, file, fa, at, (char *const *)spec->argv, env);
	(void)setrlimit(RLIMIT_DATA, &ours);
	/* It may not raise it again; one that is gone needs no bound. */
	if (!e)
		(void)prlimit(*ret_pid, RLIMIT_DATA, &(struct rlimit){ low.rlim_cur, low.rlim_cur },
				NULL);
	return e;
}

/* 0 or an errno. */
static int spawn(const struct proc_spec *spec, const char *file, const struct fds *f, int *ret_pid)
{
	char *const *env = spec->env ? (char *const *)spec->env : environ;
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	pid_t pid = 0;
	int e = posix_spawn_file_actions_init(&fa);

	if (e)
		return e;
	e = posix_spawnattr_init(&at);
	if (e) {
		posix_spawn_file_actions_destroy(&fa);
		return e;
	}
	e = set_actions(&fa, f, spec->cwd);
	if (!e)
		e = set_attributes(&at, spec->new_session);
	if (!e)
		e = spawn_bounded(spec, file, &fa, &at, env, &pid);
	posix_spawnattr_destroy(&at);
	posix_spawn_file_actions_destroy(&fa);
	if (!e)
		*ret_pid = pid;
	return e;
}

int proc_spawn(const struct proc_spec *spec, struct proc *ret, struct ov_err *err)
{
	_cleanup_(fd_closep) int reserved = -1;
	_cleanup_(fds_done) struct fds f = { 0 };
	char file[PATH_MAX];
	int e, r, pid = -1, pidfd;

	assert(spec->argv && spec->argv[0]);
	r = find_program(spec, file, err);
	if (r < 0)
		return r;
	r = fds_init(&f, spec, err);
	if (r < 0)
		return r;
	/* A child that we cannot watch must not be started: keep the pidfd's place free. */
	reserved = open("/", O_PATH | O_CLOEXEC);
	if (reserved < 0)
		return ov_fail_errno(err, errno, "start %s", file);
	e = spawn(spec, file, &f, &pid);
	if (e)
		return fail_spawn(err, e, file, spec->cwd);
	fd_closep(&reserved);
	pidfd = pidfd_open(pid, 0);
	if (pidfd < 0) {
		e = errno;
		kill(-pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return ov_fail_errno(err, e, "watch %s", file);
	}
	*ret = (struct proc){ .pid = pid, .pidfd = pidfd };
	return 0;
}

/* ---- a process that runs ---- */

bool proc_ended(const struct proc *p, int timeout_ms)
{
	struct pollfd pfd = { .fd = p->pidfd, .events = POLLIN };

	return poll(&pfd, 1, timeout_ms) > 0 && (pfd.revents & POLLIN);
}

int proc_reap(struct proc *p, struct proc_exit *ret, struct ov_err *err)
{
	siginfo_t si = { 0 };

	while (waitid(P_PIDFD, (id_t)p->pidfd, &si, WEXITED | WNOHANG) < 0) {
		if (errno == EINTR)
			continue;
		if (errno == ECHILD)
			return ov_fail(err, OV_ENOTFOUND,
					"process %d is no child of ours, or was reaped", p->pid);
		return ov_fail_errno(err, errno, "reap process %d", p->pid);
	}
	if (si.si_pid == 0)
		return ov_fail(err, OV_ESTATE, "process %d still runs", p->pid);
	if (si.si_code == CLD_EXITED)
		*ret = (struct proc_exit){ .code = si.si_status };
	else
		*ret = (struct proc_exit){ .code = -1, .signal = si.si_status };
	return 0;
}

int proc_signal(const struct proc *p, int signo, struct ov_err *err)
{
	if (!proc_ended(p, 0)) {
		if (pidfd_send_signal(p->pidfd, signo, NULL, 0) == 0)
			return 0;
		if (errno != ESRCH)
			return ov_fail_errno(err, errno, "signal %d to process %d", signo, p->pid);
	}
	return ov_fail(err, OV_ENOTFOUND, "process %d has ended", p->pid);
}

void proc_done(struct proc *p)
{
	fd_closep(&p->pidfd);
}

/* ---- identity ---- */

/* A small file of /proc, NUL-terminated; false when it cannot be read. */
static bool read_small(const char *path, char *ret, size_t size)
{
	_cleanup_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, ret, size - 1);
	if (n <= 0)
		return false;
	ret[n] = '\0';
	return true;
}

/* A number of /proc/PID/stat; 0 when there is no such process or only its zombie is left. */
static uint64_t stat_field(int pid, int number)
{
	char path[40], text[1024], *at;
	str rest, field = { 0 };
	uint64_t found = 0;

	if (pid <= 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (!read_small(path, text, sizeof(text)))
		return 0;
	/* The name in parentheses may hold anything, also parentheses: the last one ends it. */
	at = strrchr(text, ')');
	if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
		return 0;
	rest = str_from(at + 2);
	for (int i = 3; i <= number; i++)
		if (!str_split(&rest, ' ', &field))
			return 0;
	return str_to_u64(field, &found) ? found : 0;
}

uint64_t proc_start_time(int pid)
{
	return stat_field(pid, 22);
}

int proc_parent(int pid)
{
	return (int)stat_field(pid, 4);
}

void proc_boot_id(char ret[static 37])
{
	char text[64];

	ret[0] = '\0';
	if (!read_small("/proc/sys/kernel/random/boot_id", text, sizeof(text)))
		return;
	if (str_trim(str_from(text)).n != 36)
		return;
	memcpy(ret, text, 36);
	ret[36] = '\0';
}

int proc_open(int pid, uint64_t start_time, struct proc *ret, struct ov_err *err)
{
	struct proc p = { .pid = pid, .pidfd = -1 };

	if (pid > 0 && start_time > 0)
		p.pidfd = pidfd_open(pid, 0);
	if (pid > 0 && start_time > 0 && p.pidfd < 0 && errno != ESRCH && errno != EINVAL)
		return ov_fail_errno(err, errno, "open process %d", pid);
	/*
	 * The order matters: alive after the comparison, so the number was not reused in between.
	 */
	if (p.pidfd < 0 || proc_start_time(pid) != start_time || proc_ended(&p, 0)) {
		proc_done(&p);
		return ov_fail(err, OV_ENOTFOUND, "process %d with start time %llu has ended", pid,
				(unsigned long long)start_time);
	}
	*ret = p;
	return 0;
}
