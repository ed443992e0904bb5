#include "app/sandbox/other_daemons.h"

#include <limits.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/proc/peer.h"
#include "sys/proc/proc.h"
#include "sys/proc/proc_usage.h"

#define DAEMON "overseerd"
#define SHIM "overseer-run"

enum { WORDS_MAX = 64 * 1024, PROCESSES_MAX = 4096 };

/*
 * What runs in a sandbox or a container is left out: it may have any name, and be there many times.
 */
static size_t list(struct arena *a, const char *const *names, int **ret)
{
	int *pids = arena_array(a, int, PROCESSES_MAX);
	size_t all = MIN(proc_list_named(names, pids, PROCESSES_MAX), (size_t)PROCESSES_MAX), n = 0;

	for (size_t i = 0; i < all; i++)
		if (!peer_is_inside(a, pids[i]))
			pids[n++] = pids[i];
	*ret = pids;
	return n;
}

/* ---- their stores ---- */

/* What its option --dir says; absent: nothing. */
static str dir_option(struct arena *a, int pid)
{
	const char *path = arena_printf(a, "/proc/%d/cmdline", pid).p;
	bool next = false;
	str text, word;

	if (file_read(a, path, WORDS_MAX, &text, NULL) < 0)
		return (str){ 0 };
	while (str_split(&text, '\0', &word)) {
		if (next)
			return word;
		if (str_starts(word, STR("--dir=")))
			return str_sub(word, 6, word.n);
		next = str_is(word, "--dir");
	}
	return (str){ 0 };
}

static const char *store_of(struct arena *a, int pid)
{
	str dir = dir_option(a, pid);
	const char *path;

	if (!dir.n)
		return NULL;
	path = dir.p[0] == '/' ? arena_cstr(a, dir)
			       : arena_printf(a, "/proc/%d/cwd/" STR_FMT, pid, STR_ARG(dir)).p;
	path = realpath(path, arena_alloc(a, PATH_MAX));
	return path && file_exists(path_join(a, path, "store.db")) ? path : NULL;
}

/* A repository in a worktree of another one: its whole place would be hidden. */
static bool is_around(const char *store, const char *own)
{
	size_t n = strlen(store);

	return strncmp(own, store, n) == 0 && (own[n] == '/' || own[n] == '\0');
}

size_t others_stores(struct arena *a, const char *own, const char *const **ret)
{
	static const char *const names[] = { DAEMON, NULL };
	int *pids;
	size_t all = list(a, names, &pids), n = 0;
	const char **found = arena_array(a, const char *, all + 1);

	for (size_t i = 0; i < all; i++) {
		const char *store = store_of(a, pids[i]);

		if (store && !is_around(store, own))
			found[n++] = store;
	}
	*ret = found;
	return n;
}

/* ---- their runs ---- */

static bool is_one_of(int pid, const int *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == pid)
			return true;
	return false;
}

size_t others_roots(struct arena *a, const int *but, size_t but_n, int **ret)
{
	static const char *const names[] = { DAEMON, SHIM, NULL };
	size_t all = list(a, names, ret), n = 0;

	for (size_t i = 0; i < all; i++)
		if (!is_one_of((*ret)[i], but, but_n))
			(*ret)[n++] = (*ret)[i];
	return n;
}

bool others_live(struct arena *a)
{
	struct proc_table *table;
	bool found = false;
	int *roots;
	size_t n = others_roots(a, NULL, 0, &roots);

	if (n == 0)
		return false;
	if (proc_table_new_max(PROCESSES_MAX, &table, NULL) < 0)
		return true;
	for (size_t i = 0; i < n && !found; i++) {
		size_t k;
		const int *below = proc_table_below(table, a, roots[i], &k);

		while (k && !found)
			found = peer_is_inside(a, below[--k]);
	}
	proc_table_free(table);
	return found;
}
