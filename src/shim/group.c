#include "shim/shim_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"

enum {
	DEPTH_MAX = 32,
	FREEZE_MS = 2000, /* for all of a group; one that waits for a disk may take long */
	FREEZE_LOOK_MS = 20,
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Never made: where the file is missing, the kernel does not offer it. */
static int group_put(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	int r = fd >= 0 && write(fd, text, strlen(text)) >= 0 ? 0 : -1;

	close_fd(&fd);
	return r;
}

/* For a daemon that finds us dead. Before anything is in the group. */
static int write_down(const char *path)
{
	int fd = open_file(RUN_GROUP, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
	int r = fd >= 0 && dprintf(fd, "%s\n", path) >= 0 ? 0 : -1;

	close_fd(&fd);
	return r;
}

static void give_up_group(struct shim *s)
{
	close_fd(&s->group.dir);
	close_fd(&s->group.events);
	if (s->group.path[0])
		rmdir(s->group.path);
	unlink(RUN_GROUP);
	s->group.path[0] = '\0';
}

/* A group is better containment, not a condition: without it the sweep does what it can. */
void group_open(struct shim *s)
{
	struct group *g = &s->group;

	if (!s->cgroup)
		return;
	if (snprintf(g->path, sizeof(g->path), "%s/" RUN_GROUP_PREFIX "%s", s->cgroup, s->id) >=
			(int)sizeof(g->path)) {
		g->path[0] = '\0';
		return;
	}
	if (mkdir(g->path, 0700) == 0 || errno == EEXIST)
		g->dir = open(g->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (g->dir >= 0)
		g->events = openat(g->dir, "cgroup.events", O_RDONLY | O_CLOEXEC);
	if (g->events < 0 || faccessat(g->dir, "cgroup.kill", W_OK, 0) < 0 ||
			write_down(g->path) < 0) {
		give_up_group(s);
		return;
	}
	/* Where the controllers are not there these fail, which `doctor` says. */
	if (s->memory_max)
		group_put(g->dir, "memory.max", s->memory_max);
	if (s->pids_max)
		group_put(g->dir, "pids.max", s->pids_max);
}

bool group_is_on(const struct shim *s)
{
	return s->group.dir >= 0;
}

pid_t group_fork(struct shim *s)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)s->group.dir,
	};
	long pid;

	if (!group_is_on(s))
		return fork();
	/* Nothing of it ever runs outside. We have one thread, so that a bare clone is a fork. */
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid >= 0)
		return (pid_t)pid;
	give_up_group(s);
	return fork();
}

bool group_is_populated(struct shim *s)
{
	char text[256];
	ssize_t n = group_is_on(s) ? pread(s->group.events, text, sizeof(text), 0) : 0;

	return n > 0 && str_contains((str){ text, (size_t)n }, STR("populated 1"));
}

/* Who is in it; they end at once, without a signal of ours. */
static void note_members(struct shim *s)
{
	int fd = openat(s->group.dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	int pid;

	while (f && fscanf(f, "%d", &pid) == 1)
		agent_note(s, pid);
	if (f)
		fclose(f);
	else
		close_fd(&fd);
}

void group_kill(struct shim *s)
{
	if (!group_is_on(s))
		return;
	note_members(s);
	group_put(s->group.dir, "cgroup.kill", "1");
}

/* The kernel freezes them one after another; it tells when the last one is. */
static int wait_frozen(struct shim *s)
{
	int fd = openat(s->group.dir, "cgroup.events", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int64_t end = mono_ms() + FREEZE_MS;
	bool frozen = false;
	char text[256];
	ssize_t n;

	while (fd >= 0 && !frozen && mono_ms() < end) {
		struct pollfd p = { .fd = fd, .events = POLLPRI };

		n = pread(fd, text, sizeof(text), 0);
		frozen = n > 0 && str_contains((str){ text, (size_t)n }, STR("frozen 1"));
		if (!frozen)
			poll(&p, 1, FREEZE_LOOK_MS);
	}
	close_fd(&fd);
	return frozen ? 0 : -1;
}

int group_freeze(struct shim *s, bool frozen)
{
	int r = group_is_on(s) ? group_put(s->group.dir, "cgroup.freeze", frozen ? "1" : "0") : -1;

	if (r == 0 && frozen && wait_frozen(s) < 0) {
		group_put(s->group.dir, "cgroup.freeze", "0");
		r = -1;
	}
	return r;
}

/* Also the groups that the agent made below its own. */
static void remove_below(int dir, int depth)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);

	if (!d) {
		close_fd(&copy);
		return;
	}
	for (struct dirent *e; (e = readdir(d));) {
		int sub;

		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		sub = depth < DEPTH_MAX
				? openat(dir, e->d_name,
						  O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
				: -1;
		if (sub >= 0)
			remove_below(sub, depth + 1);
		close_fd(&sub);
		unlinkat(dir, e->d_name, AT_REMOVEDIR);
	}
	closedir(d);
}

void group_close(struct shim *s)
{
	if (!group_is_on(s))
		return;
	remove_below(s->group.dir, 0);
	close_fd(&s->group.dir);
	close_fd(&s->group.events);
	if (rmdir(s->group.path) == 0)
		unlink(RUN_GROUP);
}
