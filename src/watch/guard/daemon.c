#include "watch/guard/daemon.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "data/value/json.h"
#include "sys/file/file.h"

#define DAEMON_LOG "logs/daemon.log"

enum { FDS_MAX = 4096 }; /* of a process that are looked at */

/* ---- starting ---- */

/* Names of a service manager's that are meant for us, or that we set ourselves. */
static bool is_ours(const char *entry)
{
	static const char *const names[] = { "OVERSEER_DIR=", "NOTIFY_SOCKET=", "WATCHDOG_USEC=",
		"WATCHDOG_PID=" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strncmp(entry, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

const char *const *watched_env(struct arena *a, const char *dir)
{
	size_t n = 0, k = 0;
	const char **env;

	while (environ[n])
		n++;
	env = arena_array(a, const char *, n + 2);
	for (size_t i = 0; i < n; i++)
		if (!is_ours(environ[i]))
			env[k++] = environ[i];
	env[k] = arena_printf(a, "OVERSEER_DIR=%s", dir).p;
	return env;
}

/* Its output goes where `overseer up` puts it; nowhere when that cannot be written. */
static int open_log(const char *dir)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", dir, "logs") >= (int)sizeof(path))
		return -1;
	(void)dir_make(path, 0700, NULL);
	if (snprintf(path, sizeof(path), "%s/%s", dir, DAEMON_LOG) >= (int)sizeof(path))
		return -1;
	return file_open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
}

int watched_start(struct watched_daemon *d, const struct spec *s, const char *const *env,
		struct ov_err *err)
{
	const char *const argv[] = { "/bin/sh", "-c", s->start_command, NULL };
	_cleanup_(fd_closep) int log = open_log(s->dir);
	struct proc_spec spec = {
		.argv = argv,
		.env = env,
		.cwd = s->repo,
		.in = -1,
		.out = log,
		.err = log,
		.new_session = true,
	};

	assert(d->command.pidfd < 0 && !d->registered);
	return proc_spawn(&spec, &d->command, err);
}

/* ---- who is registered ---- */

bool watched_registered(struct arena *a, const char *dir, struct identity *ret)
{
	value *v;
	str text;

	return file_read(a, path_join(a, dir, VITAL_DAEMON), VITAL_FILE_MAX, &text, NULL) == 0 &&
			json_parse(a, text, NULL, &v, NULL) == 0 && identity_read(v, ret);
}

/*
 * Does it hold a file of the store's folder open, as the daemon does with its store and its log?
 * What daemon.json says may be anything; a process that has nothing to do with us is never
 * signalled for it.
 */
static bool holds_store(int pid, const char *dir)
{
	char path[64], real[PATH_MAX], link[PATH_MAX];
	size_t n, left = FDS_MAX;
	bool found = false;
	struct dirent *e;
	DIR *fds;

	if (!realpath(dir, real))
		return false;
	n = strlen(real);
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	fds = opendir(path);
	while (fds && !found && left-- && (e = readdir(fds))) {
		ssize_t len = readlinkat(dirfd(fds), e->d_name, link, sizeof(link) - 1);

		if (len <= 0)
			continue;
		link[len] = '\0';
		found = strncmp(link, real, n) == 0 && link[n] == '/' &&
				(!strchr(link + n + 1, '/') ||
						strcmp(link + n + 1, DAEMON_LOG) == 0);
	}
	if (fds)
		closedir(fds);
	return found;
}

int watched_find(struct arena *a, const char *dir, struct identity *ret, struct ov_err *err)
{
	char boot[37];
	struct identity id;

	if (!watched_registered(a, dir, &id))
		return ov_fail(err, OV_ENOTFOUND, "no daemon is registered");
	proc_boot_id(boot);
	if (strcmp(boot, id.boot_id) != 0)
		return ov_fail(err, OV_ENOTFOUND, "the registered daemon is of an earlier boot");
	if (proc_start_time(id.pid) != id.start_time)
		return ov_fail(err, OV_ENOTFOUND, "the registered daemon (pid %d) has ended",
				id.pid);
	if (!holds_store(id.pid, dir))
		return ov_fail(err, OV_ENOTFOUND,
				"pid %d is registered, but holds nothing of this store: it is no "
				"daemon of ours",
				id.pid);
	*ret = id;
	return 0;
}

int watched_take(struct watched_daemon *d, const struct identity *id, struct ov_err *err)
{
	struct proc p = { .pidfd = -1 };
	int r = 0;

	if (d->command.pidfd < 0 || d->command.pid != id->pid)
		r = proc_open(id->pid, id->start_time, &p, err);
	if (r < 0)
		return r;
	proc_done(&d->proc);
	d->proc = p;
	d->registered = true;
	d->id = *id;
	return 0;
}

/* ---- its end ---- */

static const struct proc *target(const struct watched_daemon *d)
{
	return d->proc.pidfd >= 0 ? &d->proc : &d->command;
}

bool watched_exists(const struct watched_daemon *d)
{
	return target(d)->pidfd >= 0;
}

bool watched_ended(const struct watched_daemon *d)
{
	return target(d)->pidfd >= 0 && proc_ended(target(d), 0);
}

struct proc_exit watched_how(struct watched_daemon *d)
{
	struct proc_exit how = { .code = -1 };
	siginfo_t si = { 0 };

	/* Left as it is: while it is not reaped, its number is nobody else's. */
	if (d->proc.pidfd < 0 && d->command.pidfd >= 0 &&
			waitid(P_PIDFD, (id_t)d->command.pidfd, &si, WEXITED | WNOHANG | WNOWAIT) ==
					0 &&
			si.si_pid != 0) {
		if (si.si_code == CLD_EXITED)
			how.code = si.si_status;
		else
			how.signal = si.si_status;
	}
	return how;
}

static int signal_all(const struct watched_daemon *d, int signo, struct ov_err *err)
{
	if (d->registered)
		return proc_signal(target(d), signo, err);
	/* Not reaped, so that the group is still that of the start command. */
	if (d->command.pidfd >= 0 && kill(-d->command.pid, signo) < 0 && errno != ESRCH)
		return ov_fail_errno(err, errno, "signal %d to the start command (pid %d)", signo,
				d->command.pid);
	return 0;
}

int watched_terminate(const struct watched_daemon *d, struct ov_err *err)
{
	int r = signal_all(d, SIGTERM, err);

	/* One that was stopped can answer only when it goes on. */
	(void)signal_all(d, SIGCONT, NULL);
	return r;
}

int watched_kill(const struct watched_daemon *d, struct ov_err *err)
{
	return signal_all(d, SIGKILL, err);
}

void watched_settle(struct watched_daemon *d)
{
	struct proc_exit how;

	if (d->command.pidfd >= 0) {
		(void)kill(-d->command.pid, SIGKILL);
		(void)proc_ended(&d->command, 1000);
		(void)proc_reap(&d->command, &how, NULL);
	}
	watched_done(d);
}

void watched_done(struct watched_daemon *d)
{
	proc_done(&d->command);
	proc_done(&d->proc);
	*d = DAEMON_INIT;
}
