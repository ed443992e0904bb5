#include "sys/proc/sockowner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "sys/file/file.h"
#include "sys/proc/cgroup.h"
#include "sys/proc/peer.h"
#include "sys/proc/proc.h"
#include "sys/proc/proc_usage.h"

enum {
	ROUNDS = 2, /* one more, where processes end under our eyes and may have handed it on */
	DEPTH_MAX = 32,
	LIST_MAX = 65536,
	PROCESS_COST = 8, /* opening the list of a process costs as much as so many descriptors */
	PROCS_BYTES = 1 << 20,
};

struct look {
	struct arena arena;
	struct proc_table *table;
	char name[48];    /* what a descriptor of it points to */
	VEC(int) members; /* of a tree */
	size_t groups;
	uint64_t made_in; /* the group in which it was made; 0: not known */
	size_t left;      /* descriptors that may still be looked at */
	bool vanished;
};

/* ---- control groups ---- */

static void add_members(struct look *k, const char *dir)
{
	str text, line;
	uint64_t pid;

	if (file_read(&k->arena, path_join(&k->arena, dir, "cgroup.procs"), PROCS_BYTES, &text,
			    NULL) < 0)
		return;
	while (str_split(&text, '\n', &line))
		if (str_to_u64(line, &pid) && pid > 0 && pid <= INT32_MAX)
			vec_push(&k->members, (int)pid);
}

/*
 * All groups below dir, and it itself: is it the one with this id, and who is in them? False where
 * there are too many to say.
 */
static bool walk_groups(struct look *k, const char *dir, uint64_t id, int depth, bool *ret_found)
{
	struct stat st;
	str *names;
	size_t n;

	if (stat(dir, &st) < 0)
		return true;
	/* The id of a group is the inode of its folder. */
	if (id && st.st_ino == id)
		*ret_found = true;
	if (++k->groups > SOCKOWNER_GROUPS || depth > DEPTH_MAX)
		return false;
	add_members(k, dir);
	/* Beside "." and its parent's, a folder has a link for each folder in it. */
	if (st.st_nlink == 2)
		return true;
	if (dir_list(&k->arena, dir, LIST_MAX, &names, &n, NULL) < 0)
		return !file_exists(dir);
	for (size_t i = 0; i < n && !*ret_found; i++) {
		const char *path = path_join(&k->arena, dir, arena_cstr(&k->arena, names[i]));

		if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
				!walk_groups(k, path, id, depth + 1, ret_found))
			return false;
	}
	return true;
}

static bool in_group(struct look *k, struct sock_tree *t, uint64_t id)
{
	bool found = false;

	vec_clear(&k->members);
	k->groups = 0;
	if (t->group && !walk_groups(k, t->group, id, 0, &found) && !found)
		t->loose = true;
	return found;
}

/* Of a process in a sandbox: which group it is in, and whether that is its run's own. */
struct group_of {
	uint64_t id; /* 0: not known */
	bool own;
};

static struct group_of sockowner_group_of(struct look *k, int pid)
{
	const char *file = arena_printf(&k->arena, "/proc/%d/cgroup", pid).p, *dir, *name;
	str mounts, text;
	struct stat st;

	if (file_read(&k->arena, "/proc/self/mountinfo", PROCS_BYTES, &mounts, NULL) < 0 ||
			file_read(&k->arena, file, PROCS_BYTES, &text, NULL) < 0 ||
			cgroup_parse(&k->arena, mounts, text, &dir, NULL) < 0)
		return (struct group_of){ 0 };
	/* Commands are in the daemon's own, which is passed over there. */
	if (str_ends(peer_group(&k->arena, pid), STR("/" CGROUP_SELF)))
		dir = path_join(&k->arena, dir, CGROUP_SELF);
	name = strrchr(dir, '/');
	if (stat(dir, &st) < 0)
		return (struct group_of){ 0 };
	return (struct group_of){ .id = st.st_ino,
		.own = str_starts(str_from(name + 1), STR(CGROUP_PREFIX)) &&
				strcmp(name + 1, CGROUP_SELF) != 0 };
}

enum inside { INSIDE_NO, INSIDE_YES, INSIDE_UNKNOWN };

/*
 * Nobody in a sandbox can change its group. So where the run has one of its own, that decides,
 * wherever the socket is kept; and what was made in another group is of no use to a process that
 * may not be looked at.
 */
static enum inside made_inside(struct look *k, int pid)
{
	struct group_of g = k->made_in ? sockowner_group_of(k, pid) : (struct group_of){ 0 };

	if (!g.id)
		return INSIDE_UNKNOWN;
	if (g.id != k->made_in)
		return INSIDE_NO;
	return g.own ? INSIDE_YES : INSIDE_UNKNOWN;
}

/* ---- descriptors ---- */

/* Does one of its descriptors lead to the socket? */
static bool holds(struct look *k, struct sock_tree *t, int pid)
{
	char path[40], link[64];
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	k->left -= MIN(k->left, (size_t)PROCESS_COST);
	if (!d) {
		if (errno == ENOENT || errno == ESRCH)
			k->vanished = true;
		else
			t->loose = true;
		return false;
	}
	for (struct dirent *e; !found && k->left && (e = readdir(d)); k->left--) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);

		link[MAX(n, (ssize_t)0)] = '\0';
		found = n > 0 && strcmp(link, k->name) == 0;
	}
	closedir(d);
	/* One that ended meanwhile shows no descriptors, which looks like having none. */
	k->vanished |= !found && proc_start_time(pid) == 0;
	return found;
}

static int by_number(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * Of a tree whose sandboxes alone are meant. ret_found: it is known to, without a look at what
 * it holds.
 */
static bool may_hold(struct look *k, int pid, bool *ret_found)
{
	enum inside is;

	if (!peer_is_inside(&k->arena, pid))
		return false;
	is = made_inside(k, pid);
	*ret_found = is == INSIDE_YES;
	return is != INSIDE_NO;
}

/* Those who descend from its root, in whatever group they are, and those who are in its group. */
static bool tree_holds(struct look *k, struct sock_tree *t)
{
	size_t n = 0;
	const int *below = t->root ? proc_table_below(k->table, &k->arena, t->root, &n) : NULL;
	bool found = false;

	in_group(k, t, 0);
	/* Who started a sandbox ends last. */
	if (n == 0 && !t->group && !t->inside)
		t->loose = true;
	for (size_t i = 0; i < n; i++)
		vec_push(&k->members, below[i]);
	if (k->members.n)
		qsort(k->members.p, k->members.n, sizeof(*k->members.p), by_number);
	for (size_t i = 0; i < k->members.n; i++) {
		if (i && k->members.p[i] == k->members.p[i - 1])
			continue;
		if (t->inside && !may_hold(k, k->members.p[i], &found))
			continue;
		if (found || holds(k, t, k->members.p[i]))
			return true;
		if (k->left == 0) {
			t->loose = true;
			return false;
		}
	}
	return false;
}

static bool is_sealed(const struct sock_tree *t)
{
	return t->sealed && t->group;
}

static bool all_sealed(const struct sock_tree *trees, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_sealed(&trees[i]))
			return false;
	return true;
}

static int by_descriptors(struct look *k, struct sock_tree *trees, size_t n, enum sock_found *ret,
		size_t *ret_tree, struct ov_err *err)
{
	int r = proc_table_new_max(SOCKOWNER_PROCESSES, &k->table, err);

	k->vanished = false;
	for (size_t i = 0; r == 0 && i < n && *ret != SOCK_FOUND; i++)
		if (!is_sealed(&trees[i]) && tree_holds(k, &trees[i])) {
			*ret = SOCK_FOUND;
			*ret_tree = i;
		}
	k->table = proc_table_free(k->table);
	return r;
}

/* ---- both ---- */

/*
 * Asked before and after: who holds it may have ended in between, and then nothing was found
 * for that.
 */
static int sockowner_ask(struct look *k, const struct sockaddr_in *client,
		const struct sockaddr_in *server, struct sockdiag *ret, struct ov_err *err)
{
	int r = sockdiag_tcp(client, server, ret, err);

	if (r < 0)
		*ret = (struct sockdiag){ 0 };
	snprintf(k->name, sizeof(k->name), "socket:[%llu]", (unsigned long long)ret->inode);
	return r == OV_ENOTFOUND ? 0 : r;
}

static int proc_sockowner_find(struct look *k, const struct sockaddr_in *client,
		const struct sockaddr_in *server, struct sock_tree *trees, size_t n,
		enum sock_found *ret, size_t *ret_tree, struct ov_err *err)
{
	struct sockdiag s;
	int r = sockowner_ask(k, client, server, &s, err), rounds = ROUNDS;

	*ret = SOCK_NONE;
	k->made_in = s.cgroup;
	/* Where the kernel does not say where it was made, groups say nothing. */
	for (size_t i = 0; i < n; i++)
		trees[i].sealed &= s.cgroup != 0;
	if (all_sealed(trees, n))
		rounds = 0;
	for (size_t i = 0; r == 0 && s.cgroup && i < n; i++)
		if (in_group(k, &trees[i], s.cgroup)) {
			*ret = SOCK_FOUND;
			*ret_tree = i;
			return 0;
		}
	for (int i = 0; r == 0 && s.inode && *ret == SOCK_NONE && i < rounds; i++) {
		r = by_descriptors(k, trees, n, ret, ret_tree, err);
		if (r == 0 && *ret == SOCK_NONE)
			r = sockowner_ask(k, client, server, &s, err);
		if (!k->vanished)
			break;
	}
	if (r == 0 && *ret == SOCK_NONE && s.inode == 0)
		*ret = SOCK_GONE;
	return r;
}

int sockowner_find(const struct sockaddr_in *client, const struct sockaddr_in *server,
		struct sock_tree *trees, size_t n, enum sock_found *ret, size_t *ret_tree,
		struct ov_err *err)
{
	struct look k = { .arena = ARENA_INIT, .left = SOCKOWNER_DESCRIPTORS };
	int r = proc_sockowner_find(&k, client, server, trees, n, ret, ret_tree, err);

	vec_done(&k.members);
	arena_done(&k.arena);
	return r;
}
