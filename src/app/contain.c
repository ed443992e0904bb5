#include "app/contain.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "sys/cgroup.h"
#include "sys/file.h"

enum { GROUPS_MAX = 65536 };

struct contain {
	struct arena arena;
	const char *cgroup;
};

void contain_set_config(struct contain *k, const struct config *c)
{
	bool memory = false, pids = false;

	for (size_t i = 0; i < c->agents_n; i++) {
		memory |= c->agents[i].memory_max_bytes > 0;
		pids |= c->agents[i].pids_max > 0;
	}
	/* Where it cannot be, runs go on without the limit, and `doctor` warns. */
	if (k->cgroup && memory)
		cgroup_enable(k->cgroup, "memory", NULL);
	if (k->cgroup && pids)
		cgroup_enable(k->cgroup, "pids", NULL);
}

struct contain *contain_new(const struct config *c)
{
	struct contain *k = mem_zalloc(1, sizeof(*k));
	const char *dir;

	k->arena = ARENA_INIT;
	if (c->cgroups && cgroup_find(&k->arena, &dir, NULL) == 0 && cgroup_probe(dir, NULL) == 0)
		k->cgroup = dir;
	contain_set_config(k, c);
	return k;
}

void contain_free(struct contain *k)
{
	if (!k)
		return;
	arena_done(&k->arena);
	mem_free(k);
}

const char *contain_cgroup(const struct contain *k)
{
	return k->cgroup;
}

void contain_clear(const struct contain *k, const struct state *s)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	str *names;
	size_t n = 0, killed;

	if (!k->cgroup || dir_list(&a, k->cgroup, GROUPS_MAX, &names, &n, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		const struct run *r;

		if (!str_starts(names[i], STR(CGROUP_PREFIX)))
			continue;
		r = state_run(s, str_sub(names[i], sizeof(CGROUP_PREFIX) - 1, names[i].n));
		if (r && r->status == RUN_ENDED)
			cgroup_end(path_join(&a, k->cgroup, arena_cstr(&a, names[i])), &killed,
					NULL);
	}
}
