#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "sys/file.h"
#include "sys/proc.h"

enum {
	/* Each round kills what it sees; a fork between reading and killing is the next round's. */
	MAX_ROUNDS = 64,
	/* A program in the middle of exec shows no environment: one empty round proves nothing. */
	CLEAN_ROUNDS = 2,
	DEATH_MS = 2000,
	MAX_ENVIRON = 16 * 1024 * 1024,
};

struct sweep {
	struct buf entry; /* NAME=VALUE */
	struct buf text;  /* of one process; reused */
	size_t killed, stuck;
};

/* The whole of /proc/PID/environ; false when it cannot be read (not ours, or gone). */
static bool read_environ(struct sweep *sw, int pid)
{
	_cleanup_(fd_closep)
	int fd = -1;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	buf_clear(&sw->text);
	while (sw->text.n < MAX_ENVIRON) {
		ssize_t n;

		buf_reserve(&sw->text, 16 * 1024);
		n = read(fd, sw->text.p + sw->text.n, sw->text.cap - sw->text.n - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		if (n == 0)
			break;
		sw->text.n += (size_t)n;
	}
	return true;
}

static bool environ_has(str text, str entry)
{
	str part;

	while (str_split(&text, '\0', &part))
		if (str_eq(part, entry))
			return true;
	return false;
}

static void sweep_one(struct sweep *sw, int pid)
{
	struct proc p = { .pid = pid, .pidfd = pidfd_open(pid, 0) };

	if (p.pidfd < 0)
		return;
	/*
	 * Alive after its environment was read, so what was read is of the process behind the
	 * pidfd.
	 */
	if (read_environ(sw, pid) && environ_has(buf_str(&sw->text), buf_str(&sw->entry)) &&
			!proc_ended(&p, 0)) {
		int r = proc_signal(&p, SIGKILL, NULL);

		if (r == 0 && proc_ended(&p, DEATH_MS))
			sw->killed++;
		else if (r != OV_ENOTFOUND)
			sw->stuck++;
	}
	proc_done(&p);
}

static int sweep_round(struct sweep *sw, struct ov_err *err)
{
	VEC(int) pids = { 0 };
	struct dirent *e;
	DIR *d;

	d = opendir("/proc");
	if (!d)
		return ov_fail_errno(err, errno, "open /proc");
	while ((e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]))
			vec_push(&pids, atoi(e->d_name));
	closedir(d);
	for (size_t i = 0; i < pids.n; i++)
		if (pids.p[i] != getpid())
			sweep_one(sw, pids.p[i]);
	vec_done(&pids);
	return 0;
}

static int sweep_run(struct sweep *sw, struct ov_err *err)
{
	int clean = 0, r;

	for (int i = 0; i < MAX_ROUNDS && clean < CLEAN_ROUNDS; i++) {
		size_t before = sw->killed;

		r = sweep_round(sw, err);
		if (r < 0)
			return r;
		if (sw->stuck)
			return ov_fail(err, OV_EIO, "%zu processes with %s do not die (%zu killed)",
					sw->stuck, buf_cstr(&sw->entry), sw->killed);
		clean = sw->killed == before ? clean + 1 : 0;
	}
	if (clean < CLEAN_ROUNDS)
		return ov_fail(err, OV_EIO, "processes with %s keep appearing (%zu killed)",
				buf_cstr(&sw->entry), sw->killed);
	return 0;
}

int proc_sweep_env(str name, str value, size_t *ret_killed, struct ov_err *err)
{
	struct sweep sw = { 0 };
	int r;

	assert(name.n > 0 && value.n > 0);
	buf_adds(&sw.entry, name);
	buf_addc(&sw.entry, '=');
	buf_adds(&sw.entry, value);
	r = sweep_run(&sw, err);
	if (r == 0)
		*ret_killed = sw.killed;
	buf_done(&sw.entry);
	buf_done(&sw.text);
	return r;
}
