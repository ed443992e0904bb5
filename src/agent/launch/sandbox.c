#include "agent/launch/sandbox.h"

#include "agent/read/hook.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"

/* What is at a path inside. */
struct view {
	const char *path, *from; /* outside; NULL: something of the sandbox's own */
	bool writable;
};

struct words {
	struct arena *a;
	VEC(const char *) list;
	VEC(struct view) views; /* in the order of the mounts: a later one covers an earlier one */
	VEC(struct sandbox_place) places;
};

static void word(struct words *w, const char *s)
{
	vec_push(&w->list, s);
}

/* ---- what is where ---- */

/* What follows `dir` in a path, from the slash on ("" for dir itself); NULL: it is not below. */
static const char *rest_of(const char *path, const char *dir)
{
	size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);

	if (strncmp(path, dir, n) != 0 || (path[n] != '/' && path[n] != '\0'))
		return NULL;
	return path + n;
}

/* The view that shows what is at a path inside. */
static const struct view *view_at(const struct words *w, const char *path, const char **ret_rest)
{
	for (size_t i = w->views.n; i-- > 0;) {
		*ret_rest = rest_of(path, w->views.p[i].path);
		if (*ret_rest)
			return &w->views.p[i];
	}
	return NULL;
}

static void add_view(struct words *w, const char *path, const char *from, bool writable)
{
	const char *rest;
	const struct view *at = view_at(w, path, &rest);

	if (at && at->from && at->writable && rest[0] == '/' && rest[1])
		vec_push(&w->places, ((struct sandbox_place){ at->from, rest + 1 }));
	vec_push(&w->views, ((struct view){ path, from, writable }));
}

static bool is_shown_at(const struct words *w, const char *path, const char *real)
{
	const char *rest, *more;
	const struct view *v = view_at(w, path, &rest);

	more = v && v->from ? rest_of(real, v->from) : NULL;
	return more && strcmp(more, rest) == 0;
}

/* ---- mounts ---- */

static void mount_at(struct words *w, const char *option, const char *from, const char *to)
{
	word(w, option);
	word(w, from);
	word(w, to);
	add_view(w, to, from, strncmp(option, "--bind", 6) == 0);
}

/* A path that is the same inside and outside. */
static void mount_same(struct words *w, const char *option, const char *path)
{
	mount_at(w, option, path, path);
}

static void mount_empty(struct words *w, const char *path)
{
	word(w, "--tmpfs");
	word(w, path);
	add_view(w, path, NULL, true);
}

/*
 * An empty folder, reached through the one that it hides: where that one has gone meanwhile, with
 * its repository, there is no source either, and nothing is mounted.
 */
static const char *nothing_by_way_of(struct words *w, const char *real, const char *nothing)
{
	_cleanup_(buf_done) struct buf path = BUF_INIT;

	buf_adds(&path, str_from(real));
	for (const char *p = real; *p; p++)
		if (*p == '/')
			buf_adds(&path, STR("/.."));
	buf_adds(&path, str_from(nothing));
	return arena_cstr(w->a, buf_str(&path));
}

/* Under each name by which it can be seen by now. */
static void hide(struct words *w, const char *real, const char *nothing)
{
	size_t n = w->views.n;

	for (size_t i = 0; i < n; i++) {
		const struct view v = w->views.p[i];
		const char *rest = v.from ? rest_of(real, v.from) : NULL;
		const char *path = rest && strcmp(v.path, "/") == 0 ? rest : NULL;

		if (rest && !path)
			path = arena_printf(w->a, "%s%s", v.path, rest).p;
		if (path && is_shown_at(w, path, real)) {
			word(w, "--ro-bind-try");
			word(w, nothing_by_way_of(w, real, nothing));
			word(w, path);
			add_view(w, path, NULL, false);
		}
	}
}

static const char *below(struct words *w, const char *dir, const char *name)
{
	return arena_printf(w->a, "%s/%s", dir, name).p;
}

/*
 * Its own process namespace, in which it cannot see or signal anybody, and which ends as a whole;
 * no privilege to undo a mount; no terminal to type into.
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
	/*
	 * Root writes there without any privilege, and the kernel would run a program for
	 * it outside.
	 */
	for (size_t i = 0; i < ARRAY_LEN(kernel); i++)
		mount_same(w, "--ro-bind-try", kernel[i]);
	/* Sockets of the system's services: a read-only mount would not keep it from these. */
	mount_empty(w, "/run");
	if (ask->network)
		mount_same(w, "--ro-bind-try", "/run/systemd/resolve");
	mount_at(w, "--bind", ask->tmp, "/tmp");
	word(w, "--setenv");
	word(w, "TMPDIR");
	word(w, "/tmp");
}

static void sandbox_show(struct words *w, const struct sandbox_mount *m)
{
	switch (m->way) {
	case SANDBOX_READ: mount_at(w, "--ro-bind-try", m->from, m->path); break;
	case SANDBOX_WRITE: mount_at(w, "--bind-try", m->from, m->path); break;
	case SANDBOX_LINK:
		word(w, "--symlink");
		word(w, m->from);
		word(w, m->path);
		break;
	case SANDBOX_BLANK: mount_at(w, "--ro-bind", "/dev/null", m->path); break;
	case SANDBOX_EMPTY: mount_empty(w, m->path); break;
	}
}

static void home_mounts(struct words *w, const struct sandbox_ask *ask)
{
	if (ask->private_home) {
		mount_at(w, "--bind", ask->private_home, ask->home);
	} else if (ask->home) {
		mount_empty(w, ask->home);
	}
	for (size_t i = 0; i < ask->shown_n; i++)
		sandbox_show(w, &ask->shown[i]);
	for (size_t i = 0; ask->readable && ask->readable[i]; i++)
		mount_same(w, "--ro-bind-try", ask->readable[i]);
}

/*
 * The worktree's own git folder, which borrows the repository's objects; what says which programs
 * git runs is held.
 */
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

	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		word(w, "--setenv");
		word(w, settings[i][0]);
		word(w, settings[i][1]);
	}
}

static struct sandbox_words words_taken(struct words *w)
{
	const char **argv = arena_array(w->a, const char *, w->list.n + 1);
	struct sandbox_place *places = arena_array(w->a, struct sandbox_place, w->places.n + 1);
	struct sandbox_words ret = { argv, places, w->places.n };

	memcpy(argv, w->list.p, w->list.n * sizeof(*argv));
	if (w->places.n)
		memcpy(places, w->places.p, w->places.n * sizeof(*places));
	vec_done(&w->list);
	vec_done(&w->views);
	vec_done(&w->places);
	return ret;
}

struct sandbox_words sandbox_build(struct arena *a, const struct sandbox_ask *ask)
{
	struct words w = { .a = a };

	isolate(&w, ask);
	system_mounts(&w, ask);
	home_mounts(&w, ask);
	/*
	 * Before what is hidden: no configuration shows the store, or lets git's folder be written.
	 */
	for (size_t i = 0; i < ask->writable_n; i++)
		mount_same(&w, "--bind-try", arena_cstr(a, ask->writable[i]));
	for (size_t i = 0; i < ask->hidden_n; i++)
		hide(&w, ask->hidden[i], ask->nothing);
	/* From here on what lies inside of what was hidden. */
	mount_empty(&w, ask->store);
	mount_same(&w, ask->read_only ? "--ro-bind" : "--bind", ask->worktree);
	git_mounts(&w, ask);
	for (size_t i = 0; i < ask->more_n; i++)
		sandbox_show(&w, &ask->more[i]);
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
	return words_taken(&w);
}
