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
	mount_same(w, "--ro-bind", "/");
	word(w, "--dev");
	word(w, "/dev");
	word(w, "--proc");
	word(w, "/proc");
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

static void home_mounts(struct words *w, const struct sandbox_ask *ask)
{
	if (ask->private_home) {
		mount_at(w, "--bind", ask->private_home, ask->home);
	} else {
		mount_same(w, "--ro-bind", ask->home); /* it may lie below /tmp */
		for (size_t i = 0; ask->home_writable && ask->home_writable[i]; i++)
			mount_same(w, "--bind-try", below(w, ask->home, ask->home_writable[i]));
	}
	for (size_t i = 0; ask->readable && ask->readable[i]; i++)
		mount_same(w, "--ro-bind-try", ask->readable[i]);
}

/* The folder of the branch, whose lock files are made there; "refs/heads" itself is never given away. */
static const char *branch_folder(struct arena *a, const struct sandbox_ask *ask)
{
	str branch = str_from(ask->branch ? ask->branch : "");
	size_t end = branch.n;

	while (end > 0 && branch.p[end - 1] != '/')
		end--;
	if (end == 0 || !str_starts(branch, STR("refs/heads/")) || end <= strlen("refs/heads/") ||
			str_contains(branch, STR("..")))
		return NULL;
	return arena_cstr(a, str_sub(branch, 0, end - 1));
}

size_t sandbox_git_folders(struct arena *a, const struct sandbox_ask *ask, const char **ret,
		size_t max)
{
	const char *branch = branch_folder(a, ask);
	size_t n = 0;

	if (!ask->git_dir || !ask->git_common_dir)
		return 0;
	assert(max >= 4);
	ret[n++] = arena_printf(a, "%s/objects", ask->git_common_dir).p;
	ret[n++] = ask->git_dir;
	if (branch) {
		ret[n++] = arena_printf(a, "%s/%s", ask->git_common_dir, branch).p;
		ret[n++] = arena_printf(a, "%s/logs/%s", ask->git_common_dir, branch).p;
	}
	return n;
}

static void git_mounts(struct words *w, const struct sandbox_ask *ask)
{
	/* The last is read by every git in this worktree, ours too, if the repository has such. */
	static const char *const pointers[] = { "commondir", "gitdir", "config.worktree" };
	const char *folders[4];
	size_t n = sandbox_git_folders(w->a, ask, folders, ARRAY_LEN(folders));

	if (!n)
		return;
	mount_same(w, "--ro-bind", ask->git_common_dir);
	for (size_t i = 0; i < n; i++)
		mount_same(w, "--bind", folders[i]);
	for (size_t i = 0; i < ARRAY_LEN(pointers); i++)
		mount_same(w, "--ro-bind", below(w, ask->git_dir, pointers[i]));
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
	/* From here on what lies inside of what was hidden. */
	word(&w, "--tmpfs");
	word(&w, ask->store);
	mount_same(&w, "--bind", ask->worktree);
	git_mounts(&w, ask);
	git_settings(&w);
	mount_same(&w, "--ro-bind", ask->run_dir);
	mount_same(&w, "--bind-try", below(&w, ask->run_dir, HOOK_DIR));
	mount_same(&w, "--ro-bind-try", below(&w, ask->run_dir, HOOK_SCOPE));
	for (size_t i = 0; i < ask->writable_n; i++)
		mount_same(&w, "--bind", arena_cstr(a, ask->writable[i]));
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

const char *const *sandbox_home_writable(str format)
{
	static const char *const claude[] = { ".claude", ".claude.json", NULL };
	static const char *const codex[] = { ".codex", NULL };
	static const char *const gemini[] = { ".gemini", NULL };
	static const char *const opencode[] = { ".local/share/opencode", ".local/state/opencode",
		".config/opencode", ".cache/opencode", NULL };
	static const char *const none[] = { NULL };
	static const struct {
		const char *format;
		const char *const *list;
	} rows[] = { { "claude", claude }, { "codex", codex }, { "gemini", gemini },
		{ "opencode", opencode } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (str_is(format, rows[i].format))
			return rows[i].list;
	return none;
}
