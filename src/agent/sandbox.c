#include "agent/sandbox.h"

#include "agent/hook.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

struct words {
	struct arena *a;
	VEC(const char *) list;
};

static void word(struct words *w, const char *s)
{
	vec_push(&w->list, s);
}

/* One mount: the option, and a path that is the same inside and outside. */
static void mount_same(struct words *w, const char *option, const char *path)
{
	word(w, option);
	word(w, path);
	word(w, path);
}

static void mount_at(struct words *w, const char *option, const char *from, const char *to)
{
	word(w, option);
	word(w, from);
	word(w, to);
}

static const char *below(struct words *w, const char *dir, const char *name)
{
	return arena_printf(w->a, "%s/%s", dir, name).p;
}

/*
 * Its own process namespace, in which it cannot see or signal anybody, and which ends as a whole; no
 * privilege to undo a mount; no terminal to type into.
 */
static void isolate(struct words *w, const struct sandbox_ask *ask)
{
	static const char *const options[] = { "--die-with-parent", "--new-session",
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--cap-drop", "ALL" };

	word(w, ask->bwrap);
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		word(w, options[i]);
	if (!ask->network)
		word(w, "--unshare-net");
}

static void system_mounts(struct words *w, const struct sandbox_ask *ask)
{
	static const char *const kernel[] = { "/proc/sys", "/proc/sysrq-trigger", "/proc/irq",
		"/proc/bus", "/proc/fs", "/proc/scsi", "/proc/acpi" };

	mount_same(w, "--ro-bind", "/");
	word(w, "--dev");
	word(w, "/dev");
	word(w, "--proc");
	word(w, "/proc");
	/* Root writes there without any privilege, and the kernel would run a program for it outside. */
	for (size_t i = 0; i < ARRAY_LEN(kernel); i++)
		mount_same(w, "--ro-bind-try", kernel[i]);
	/* Sockets of the system's services: a read-only mount would not keep it from these. */
	word(w, "--tmpfs");
	word(w, "/run");
	if (ask->network)
		mount_same(w, "--ro-bind-try", "/run/systemd/resolve");
	mount_at(w, "--bind", ask->tmp, "/tmp");
	word(w, "--setenv");
	word(w, "TMPDIR");
	word(w, "/tmp");
}

static void show(struct words *w, const struct sandbox_mount *m)
{
	switch (m->way) {
	case SANDBOX_READ: mount_at(w, "--ro-bind-try", m->from, m->path); break;
	case SANDBOX_WRITE: mount_at(w, "--bind-try", m->from, m->path); break;
	case SANDBOX_LINK: mount_at(w, "--symlink", m->from, m->path); break;
	case SANDBOX_BLANK: mount_at(w, "--ro-bind", "/dev/null", m->path); break;
	case SANDBOX_EMPTY:
		word(w, "--tmpfs");
		word(w, m->path);
		break;
	}
}

static void home_mounts(struct words *w, const struct sandbox_ask *ask)
{
	if (ask->private_home) {
		mount_at(w, "--bind", ask->private_home, ask->home);
	} else if (ask->home) {
		word(w, "--tmpfs");
		word(w, ask->home);
	}
	for (size_t i = 0; i < ask->shown_n; i++)
		show(w, &ask->shown[i]);
	for (size_t i = 0; ask->readable && ask->readable[i]; i++)
		mount_same(w, "--ro-bind-try", ask->readable[i]);
}

/* The worktree's own git folder, which borrows the repository's objects; what says which programs git runs is held. */
static void git_mounts(struct words *w, const struct sandbox_ask *ask)
{
	static const char *const held[] = { "config", "commondir", "hooks", "info",
		"objects/info" };

	if (!ask->git_dir || !ask->git_common_dir)
		return;
	mount_same(w, "--ro-bind", ask->git_common_dir);
	mount_same(w, ask->read_only ? "--ro-bind" : "--bind", ask->git_dir);
	/* A mount cannot be renamed: nobody puts a link in the place of what is held below it. */
	mount_same(w, ask->read_only ? "--ro-bind" : "--bind", below(w, ask->git_dir, "objects"));
	for (size_t i = 0; i < ARRAY_LEN(held); i++)
		mount_same(w, "--ro-bind", below(w, ask->git_dir, held[i]));
	mount_same(w, "--ro-bind", below(w, ask->worktree, ".git"));
}

/* Cleaning up is for those who can see the whole repository. */
static void git_settings(struct words *w)
{
	static const char *const settings[][2] = { { "GIT_CONFIG_COUNT", "1" },
		{ "GIT_CONFIG_KEY_0", "gc.auto" }, { "GIT_CONFIG_VALUE_0", "0" } };

	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		mount_at(w, "--setenv", settings[i][0], settings[i][1]);
}

const char *const *sandbox_argv(struct arena *a, const struct sandbox_ask *ask)
{
	struct words w = { .a = a };
	const char **argv;

	isolate(&w, ask);
	system_mounts(&w, ask);
	home_mounts(&w, ask);
	/* Before what is hidden: no configuration shows the store, or lets git's folder be written. */
	for (size_t i = 0; i < ask->writable_n; i++)
		mount_same(&w, "--bind-try", arena_cstr(a, ask->writable[i]));
	/* From here on what lies inside of what was hidden. */
	word(&w, "--tmpfs");
	word(&w, ask->store);
	mount_same(&w, ask->read_only ? "--ro-bind" : "--bind", ask->worktree);
	git_mounts(&w, ask);
	for (size_t i = 0; i < ask->more_n; i++)
		show(&w, &ask->more[i]);
	git_settings(&w);
	if (ask->run_dir) {
		mount_same(&w, "--ro-bind", ask->run_dir);
		mount_same(&w, "--bind-try", below(&w, ask->run_dir, HOOK_DIR));
		mount_same(&w, "--ro-bind-try", below(&w, ask->run_dir, HOOK_SCOPE));
	}
	word(&w, "--chdir");
	word(&w, ask->worktree);
	word(&w, "--");
	for (size_t i = 0; ask->argv[i]; i++)
		word(&w, ask->argv[i]);
	argv = arena_array(a, const char *, w.list.n + 1);
	memcpy(argv, w.list.p, w.list.n * sizeof(*argv));
	vec_done(&w.list);
	return argv;
}
