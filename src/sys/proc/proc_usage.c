#include "sys/proc/proc_usage.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"

struct usage_entry {
	int pid, parent;
	uint64_t start, cpu_ticks;
	uint64_t own_ticks; /* without those of children that were waited for */
};

struct proc_table {
	uint64_t at_us, ticks_per_second;
	VEC(struct usage_entry) all; /* by parent */
};

/* Of /proc/PID/stat, counted from the state, which is field 3. */
enum { F_PARENT = 1, F_UTIME = 11, F_STIME = 12, F_CSTIME = 14, F_START = 19, F_COUNT };

static bool proc_usage_read_text(const char *path, char *ret, size_t size)
{
	_cleanup_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);

	if (n <= 0)
		return false;
	ret[n] = '\0';
	return true;
}

static bool read_entry(int pid, struct usage_entry *ret)
{
	uint64_t fields[F_COUNT] = { 0 };
	char path[40], text[1024];
	const char *p;
	str rest, part;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (!proc_usage_read_text(path, text, sizeof(text)))
		return false;
	p = strrchr(text, ')'); /* the name before it may contain anything */
	if (!p || p[1] != ' ')
		return false;
	rest = str_from(p + 2);
	for (size_t i = 0; i < F_COUNT; i++) {
		if (!str_split(&rest, ' ', &part))
			return false;
		/* The state is a letter, and some fields may be negative: those stay 0. */
		str_to_u64(part, &fields[i]);
	}
	*ret = (struct usage_entry){ .pid = pid,
		.parent = (int)fields[F_PARENT],
		.start = fields[F_START] };
	for (size_t i = F_UTIME; i <= F_CSTIME; i++)
		ret->cpu_ticks += fields[i];
	ret->own_ticks = fields[F_UTIME] + fields[F_STIME];
	return true;
}

static int by_parent(const void *a, const void *b)
{
	const struct usage_entry *x = a, *y = b;

	return (x->parent > y->parent) - (x->parent < y->parent);
}

int proc_table_new(struct proc_table **ret, struct ov_err *err)
{
	return proc_table_new_max(SIZE_MAX, ret, err);
}

int proc_table_new_max(size_t max, struct proc_table **ret, struct ov_err *err)
{
	struct proc_table *t;
	struct usage_entry one;
	DIR *d = opendir("/proc");

	if (!d)
		return ov_fail_errno(err, errno, "open /proc");
	t = mem_zalloc(1, sizeof(*t));
	t->at_us = clock_mono_us();
	t->ticks_per_second = (uint64_t)MAX(sysconf(_SC_CLK_TCK), 1L);
	for (struct dirent *e; t->all.n <= max && (e = readdir(d));)
		if (isdigit((unsigned char)e->d_name[0]) && read_entry(atoi(e->d_name), &one))
			vec_push(&t->all, one);
	closedir(d);
	if (t->all.n > max) {
		proc_table_free(t);
		return ov_fail(err, OV_ELIMIT, "there are more than %zu processes", max);
	}
	if (t->all.n)
		qsort(t->all.p, t->all.n, sizeof(*t->all.p), by_parent);
	*ret = t;
	return 0;
}

struct proc_table *proc_table_free(struct proc_table *t)
{
	if (t) {
		vec_done(&t->all);
		mem_free(t);
	}
	return NULL;
}

uint64_t proc_table_at_us(const struct proc_table *t)
{
	return t->at_us;
}

/* The first entry whose parent is pid, or the place where it would be. */
static size_t first_child(const struct proc_table *t, int pid)
{
	size_t low = 0, high = t->all.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->all.p[mid].parent < pid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void add_io(struct proc_usage *u, int pid, bool young)
{
	char path[40], text[512];
	str rest, line;
	uint64_t n;

	snprintf(path, sizeof(path), "/proc/%d/io", pid);
	errno = 0;
	if (!proc_usage_read_text(path, text, sizeof(text))) {
		/* One that is gone was counted with its parent, or will be. */
		u->io_incomplete |= errno == EACCES || errno == EPERM;
		return;
	}
	rest = str_from(text);
	while (str_split(&rest, '\n', &line))
		if ((str_starts(line, STR("rchar: ")) || str_starts(line, STR("wchar: "))) &&
				str_to_u64(str_sub(line, 7, line.n), &n)) {
			u->io_bytes += n;
			u->young_io_bytes += young ? n : 0;
		}
}

static const struct usage_entry *find_entry(const struct proc_table *t, int pid, uint64_t start)
{
	for (size_t i = 0; i < t->all.n; i++)
		if (t->all.p[i].pid == pid && t->all.p[i].start == start)
			return &t->all.p[i];
	return NULL;
}

int proc_table_usage(const struct proc_table *t, const struct proc *root, uint64_t since_boot_us,
		struct proc_usage *ret, struct ov_err *err)
{
	uint64_t start = proc_start_time(root->pid), ticks = 0, own = 0;
	uint64_t since = since_boot_us ? since_boot_us * t->ticks_per_second / 1000000 : UINT64_MAX;
	const struct usage_entry *e = find_entry(t, root->pid, start);
	struct proc_usage u = { .at_us = t->at_us };
	VEC(const struct usage_entry *) tree = { 0 };

	/*
	 * Alive after its start time was read, so that was the start of the process behind
	 * the pidfd.
	 */
	if (start == 0 || !e || proc_ended(root, 0))
		return ov_fail(err, OV_ENOTFOUND, "process %d has ended, or has just begun",
				root->pid);
	vec_push(&tree, e);
	/* A pid that was reused during the walk could make a circle: the bound ends it. */
	for (size_t i = 0; i < tree.n && tree.n <= t->all.n; i++) {
		int pid = tree.p[i]->pid;
		bool young = i > 0 && tree.p[i]->start >= since;

		ticks += tree.p[i]->cpu_ticks;
		own += young ? 0 : tree.p[i]->own_ticks;
		u.young += young;
		add_io(&u, pid, young);
		for (size_t c = first_child(t, pid); c < t->all.n && t->all.p[c].parent == pid; c++)
			vec_push(&tree, &t->all.p[c]);
	}
	u.processes = tree.n;
	u.cpu_ms = ticks * 1000 / t->ticks_per_second;
	u.old_cpu_ms = own * 1000 / t->ticks_per_second;
	vec_done(&tree);
	*ret = u;
	return 0;
}

static bool table_has(const struct proc_table *t, int pid)
{
	for (size_t i = 0; i < t->all.n; i++)
		if (t->all.p[i].pid == pid)
			return true;
	return false;
}

const int *proc_table_below(const struct proc_table *t, struct arena *a, int root, size_t *ret_n)
{
	int *tree;
	size_t n = 0;

	*ret_n = 0;
	if (!table_has(t, root))
		return NULL;
	tree = arena_array(a, int, t->all.n + 1);
	tree[n++] = root;
	/* As in proc_table_usage: the bound ends a circle. */
	for (size_t i = 0; i < n; i++)
		for (size_t c = first_child(t, tree[i]);
				c < t->all.n && t->all.p[c].parent == tree[i] && n <= t->all.n; c++)
			tree[n++] = t->all.p[c].pid;
	*ret_n = n;
	return tree;
}
