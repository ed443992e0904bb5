#include "app/sandbox/contain.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/proc/cgroup.h"
#include "sys/proc/proc.h"

enum { GROUPS_MAX = 65536, TRY_MS = 5000 };

struct contain {
	struct arena arena;
	const char *cgroup, *bwrap; /* bwrap: that works */
	char unfenced[sizeof(
			((struct ov_err *)NULL)->msg)]; /* why auto is none; empty: it is not */
};

void contain_set_config(struct contain *k, const struct config *c)
{
	bool memory = false, pids = false, autos = false;
	struct sandbox_level level;

	k->unfenced[0] = '\0';
	for (size_t i = 0; i < c->agents_n; i++) {
		autos |= c->agents[i].sandbox == SANDBOX_AUTO;
		memory |= c->agents[i].memory_max_bytes > 0;
		pids |= c->agents[i].pids_max > 0;
	}
	/* Known before the first run, so that people are told. */
	if (autos)
		(void)contain_level(k, SANDBOX_AUTO, &level, NULL);
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

/* As much of it as can be missing: namespaces, mounts, a file system of processes. */
static int try_sandbox(const char *bwrap, struct ov_err *err)
{
	const char *const argv[] = { bwrap, "--die-with-parent", "--unshare-pid", "--unshare-ipc",
		"--unshare-uts", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev",
		"--proc", "/proc", "--tmpfs", "/run", "--", "/bin/sh", "-c", "exit 0", NULL };
	struct proc_spec spec = PROC_SPEC_INIT;
	struct proc_exit status = { .code = -1 };
	struct proc p;
	char words[512] = "";
	int fds[2], r;
	ssize_t n;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return ov_fail_errno(err, errno, "pipe");
	spec.argv = argv;
	spec.err = fds[1];
	r = proc_spawn(&spec, &p, err);
	close(fds[1]);
	if (r == 0) {
		if (!proc_ended(&p, TRY_MS))
			proc_signal(&p, SIGKILL, NULL);
		proc_ended(&p, TRY_MS);
		proc_reap(&p, &status, NULL);
		proc_done(&p);
		n = read(fds[0], words, sizeof(words) - 1);
		words[MAX(n, (ssize_t)0)] = '\0';
		if (status.code != 0)
			r = ov_fail(err, OV_EUNAVAILABLE, "%s does not work here: " STR_FMT, bwrap,
					STR_ARG(n > 0 ? str_trim(str_from(words))
						      : STR("it failed without a word")));
	}
	close(fds[0]);
	return r;
}

static int find_bwrap(struct contain *k, struct ov_err *err)
{
	const char *bwrap = k->bwrap;
	int r;

	if (bwrap)
		return 0;
	bwrap = file_in_path(&k->arena, getenv("PATH"), "bwrap");
	if (!bwrap)
		return ov_fail(err, OV_EUNAVAILABLE, "bubblewrap (bwrap) is not installed");
	r = try_sandbox(bwrap, err);
	if (r == 0)
		k->bwrap = bwrap;
	return r;
}

int contain_level(struct contain *k, enum sandbox asked, struct sandbox_level *ret,
		struct ov_err *err)
{
	struct ov_err why = { 0 };

	*ret = (struct sandbox_level){ .is = asked == SANDBOX_AUTO ? SANDBOX_FENCE : asked };
	if (asked == SANDBOX_NONE)
		return 0;
	if (find_bwrap(k, &why) == 0) {
		k->unfenced[0] = '\0';
		ret->bwrap = k->bwrap;
		return 0;
	}
	if (asked == SANDBOX_AUTO) {
		snprintf(k->unfenced, sizeof(k->unfenced), "%s", why.msg);
		ret->is = SANDBOX_NONE;
		if (err)
			*err = why;
		return 0;
	}
	ov_fail(err, OV_EUNAVAILABLE, "a sandbox is configured (sandbox = \"%s\"), but %s",
			sandbox_names[asked], why.msg);
	return ov_next(err, "install the package bubblewrap, or set sandbox = \"none\"");
}

const char *contain_unfenced(const struct contain *k)
{
	return k->unfenced[0] ? k->unfenced : NULL;
}

const char *contain_cgroup(const struct contain *k)
{
	return k->cgroup;
}

void contain_clear(const struct contain *k, const struct state *s)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
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
