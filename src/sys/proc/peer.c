#include "sys/proc/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/str.h"
#include "sys/file/file.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

enum {
	GENERATIONS = 1000, /* deeper is nobody, unless a number was used again on the way */
	TRIES = 100,        /* so often the parents of a process may change under our eyes */
	TEXT_MAX = 128 * 1024,
	STATUS_MAX = 4096,
};

static int open_pidfd(int fd, pid_t pid)
{
	int pidfd = -1;
	socklen_t n = sizeof(pidfd);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &n) == 0)
		return pidfd;
	if (errno != ENOPROTOOPT || pid <= 0)
		return -1;
	return pidfd_open(pid, 0);
}

bool peer_of(int fd, struct peer *ret)
{
	struct ucred cred;
	socklen_t n = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0 || n != sizeof(cred))
		return false;
	*ret = (struct peer){ .uid = cred.uid,
		.gid = cred.gid,
		.proc = { .pid = cred.pid, .pidfd = open_pidfd(fd, cred.pid) } };
	return true;
}

static bool is_root(int pid, const int *roots, size_t n, size_t *ret)
{
	for (size_t i = 0; i < n; i++)
		if (roots[i] > 0 && roots[i] == pid) {
			*ret = i;
			return true;
		}
	return false;
}

/*
 * One walk up. False: somebody on the way has ended meanwhile. A process whose parent ends gets
 * another one, so a chain that is found unchanged from below was true all the time.
 */
static bool peer_walk(int pid, const int *roots, size_t n, size_t *ret_root, bool *ret_found)
{
	int chain[GENERATIONS], depth = 0;

	*ret_found = false;
	while (pid > 1 && depth < GENERATIONS) {
		chain[depth++] = pid;
		*ret_found = is_root(pid, roots, n, ret_root);
		if (*ret_found)
			break;
		pid = proc_parent(pid);
		/* Of one that is there 0 means that its parent is beyond our process namespace. */
		if (pid == 0 && proc_start_time(chain[depth - 1]) == 0)
			return false;
	}
	for (int i = 0; i + 1 < depth; i++)
		if (proc_parent(chain[i]) != chain[i + 1])
			return false;
	return true;
}

enum peer_kin peer_descends(const struct proc *p, const int *roots, size_t n, size_t *ret_root)
{
	for (int i = 0; i < TRIES; i++) {
		bool found;
		bool whole = peer_walk(p->pid, roots, n, ret_root, &found);

		/* Alive afterwards, so all of it was about the process behind the pidfd. */
		if (p->pidfd < 0 || proc_ended(p, 0))
			return KIN_GONE;
		if (whole)
			return found ? KIN_FOUND : KIN_NONE;
	}
	return KIN_GONE;
}

/* A file of the process, whole or its beginning. */
static str read_proc_max(struct arena *a, int pid, const char *name, size_t max)
{
	_cleanup_(fd_closep) int fd = -1;
	char path[64], *p;
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return (str){ 0 };
	p = arena_alloc(a, max);
	for (;;) {
		ssize_t k = read(fd, p + n, max - n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			break;
		n += (size_t)k;
	}
	return (str){ p, n };
}

static str read_proc(struct arena *a, int pid, const char *name)
{
	return read_proc_max(a, pid, name, TEXT_MAX);
}

str peer_group(struct arena *a, int pid)
{
	str text = read_proc(a, pid, "cgroup"), line;

	while (str_split(&text, '\n', &line))
		if (str_starts(line, STR("0::/")))
			return str_sub(line, 3, line.n);
	return (str){ 0 };
}

str peer_env(struct arena *a, int pid, str name)
{
	str text = read_proc(a, pid, "environ"), entry;

	while (str_split(&text, '\0', &entry))
		if (entry.n > name.n && str_starts(entry, name) && entry.p[name.n] == '=')
			return str_sub(entry, name.n + 1, entry.n);
	return (str){ 0 };
}

/*
 * Everybody may read it, whatever the process did to hide: a number for each namespace from
 * ours on.
 */
bool peer_is_inside(struct arena *a, int pid)
{
	str text = read_proc_max(a, pid, "status", STATUS_MAX), line, word;
	size_t n = 0;

	/* Only who is in thousands of groups has more. */
	if (text.n == STATUS_MAX)
		text = read_proc(a, pid, "status");
	while (str_split(&text, '\n', &line))
		if (str_starts(line, STR("NSpid:")))
			while (str_split(&line, '\t', &word))
				n++;
	return n > 2;
}
