#include "app/sandbox/sandbox_home.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/launch/home.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "sys/file/file.h"

/* Each mount takes bubblewrap longer than the one before; a fuller home is shown as a whole. */
enum { ENTRIES_MAX = 300, LIST_MAX = 20 * 1000, COPY_MAX = 64 << 20 };

struct looker {
	struct arena *a;
	const struct sandbox_home_ask *ask;
	VEC(struct sandbox_mount) list;
	bool whole; /* the home is shown as a whole: nothing can be made in it */
};

const char *env_value(const char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; env[i]; i++)
		if (strncmp(env[i], name, n) == 0 && env[i][n] == '=')
			return env[i] + n + 1;
	return NULL;
}

bool path_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && path[n] == '/';
}

static void sandbox_home_add(struct looker *l, enum sandbox_way way, const char *path,
		const char *from)
{
	vec_push(&l->list, ((struct sandbox_mount){ .way = way, .path = path, .from = from }));
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static const char *real_path(struct looker *l, const char *path)
{
	return realpath(path, arena_alloc(l->a, PATH_MAX));
}

static size_t entries(struct looker *l, const char *path, str **ret)
{
	size_t n = 0;

	return dir_list(l->a, path, LIST_MAX, ret, &n, NULL) < 0 ? 0 : n;
}

/* ---- the folders of the table ---- */

/* A mount does not follow links. */
const char *sandbox_home_place(struct arena *a, const char *home, const char *const *env,
		const struct home_folder *f)
{
	const char *named = f->env ? env_value(env, f->env) : NULL;
	const char *path = path_join(a, home, f->path), *parent;
	char *slash;

	if (named && named[0] == '/')
		path = f->sub ? path_join(a, named, f->sub) : named;
	slash = strrchr(path, '/');
	if (slash == path)
		return NULL;
	parent = realpath(arena_cstr(a, str_sub(str_from(path), 0, (size_t)(slash - path))),
			arena_alloc(a, PATH_MAX));
	return parent ? path_join(a, parent, slash + 1) : path;
}

static const char *sandbox_home_place_of(struct looker *l, const struct home_folder *f)
{
	return sandbox_home_place(l->a, l->ask->home, l->ask->env, f);
}

static bool is_table_place(struct looker *l, const struct home_folder *list, size_t n,
		const char *path)
{
	for (size_t i = 0; i < n; i++) {
		const char *place = sandbox_home_place_of(l, &list[i]);

		if (place && strcmp(place, path) == 0)
			return true;
	}
	return false;
}

/* What an agent made there in an earlier run is no place for a mount. */
static bool can_mount(struct looker *l, const char *stand_in, str name, bool folder)
{
	struct stat st;

	return lstat(path_join(l->a, stand_in, arena_cstr(l->a, name)), &st) < 0 ||
			(folder ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode));
}

/* Through a link, the store could be seen under another name. */
static bool shows_store(struct looker *l, const char *path)
{
	return strcmp(l->ask->store, path) == 0 || path_below(l->ask->store, path);
}

static void show_entry(struct looker *l, const struct home_folder *f, const char *place,
		const char *stand_in, str name)
{
	enum home_way way = home_entry(f, name);
	const char *path = path_join(l->a, place, arena_cstr(l->a, name));
	const char *from = real_path(l, path);
	struct stat st;

	if (way == HOME_OWN || !from || stat(from, &st) < 0 || S_ISSOCK(st.st_mode) ||
			shows_store(l, from) || !can_mount(l, stand_in, name, S_ISDIR(st.st_mode)))
		return;
	sandbox_home_add(l, way == HOME_SHARE ? SANDBOX_WRITE : SANDBOX_READ, path, from);
}

static void make_shared(struct looker *l, const struct home_folder *f, const char *place)
{
	for (size_t i = 0; f->shared[i]; i++)
		if (str_ends(str_from(f->shared[i]), STR("/")))
			(void)dir_make(path_join(l->a, place, f->shared[i]), 0700, NULL);
}

/* A file that is replaced by rename: what this run makes of it stays with the assignment. */
static int show_copies(struct looker *l, const struct home_folder *f, const char *place,
		struct ov_err *err)
{
	const char *dir = f->env && env_value(l->ask->env, f->env) ? place : l->ask->home;
	int r = 0;

	for (size_t i = 0; r == 0 && f->copy && f->copy[i]; i++) {
		const char *from = path_join(l->a, dir, f->copy[i]);
		const char *copies = path_join(l->a, l->ask->own, "copies");
		const char *copy = path_join(l->a, copies, f->copy[i]);
		str text;

		if (file_read(l->a, from, COPY_MAX, &text, NULL) < 0)
			continue;
		if (f->adapt && l->ask->repo)
			text = f->adapt(l->a, text, l->ask->repo, l->ask->worktree);
		r = dir_make(copies, 0700, err);
		if (r == 0)
			r = file_write_atomic(copy, text, 0600, err);
		if (r == 0)
			sandbox_home_add(l, SANDBOX_WRITE, dir == place ? from : real_path(l, from),
					copy);
	}
	return r;
}

const char *sandbox_home_stand_in(struct arena *a, const char *store, const char *own,
		const struct home_folder *f)
{
	char *name = arena_cstr(a, str_from(f->path));

	for (char *p = name; *p; p++)
		*p = *p == '/' ? '_' : *p;
	return arena_printf(a, "%s/%s/%s", f->cache ? store : own, f->cache ? "cache" : "state",
			name)
			.p;
}

/*
 * A mount does not follow a link either. Where the home shows one, its target is the place; none
 * where that would hide the home, or show the store.
 */
static const char *behind_link(struct looker *l, const char *place)
{
	struct stat st;
	const char *real;

	if (lstat(place, &st) < 0 || !S_ISLNK(st.st_mode))
		return place;
	real = real_path(l, place);
	return real && strcmp(real, l->ask->home) != 0 && !path_below(l->ask->home, real) &&
					!shows_store(l, real)
			? real
			: NULL;
}

static int show_folder(struct looker *l, const struct home_folder *f, struct ov_err *err)
{
	const char *place = sandbox_home_place_of(l, f);
	const char *stand_in = sandbox_home_stand_in(l->a, l->ask->store, l->ask->own, f);
	bool free = place && !l->whole && path_below(place, l->ask->home) &&
			!strchr(place + strlen(l->ask->home) + 1, '/');
	str *names;
	size_t n;
	int r;

	/* Only right below the home can a place be made for what is not there. */
	if (place && !f->cache)
		(void)dir_make(place, 0700, NULL);
	if (place && !free)
		place = behind_link(l, place);
	if (!place || (!free && !is_folder(place)))
		return 0;
	r = dir_make(stand_in, 0700, err);
	if (r < 0)
		return r;
	if (!f->cache)
		make_shared(l, f, place);
	sandbox_home_add(l, SANDBOX_WRITE, place, stand_in);
	n = entries(l, place, &names);
	for (size_t i = 0; i < n; i++)
		show_entry(l, f, place, stand_in, names[i]);
	return show_copies(l, f, place, err);
}

/* ---- everything else ---- */

static bool is_key(str name)
{
	for (size_t i = 0; home_keys[i]; i++)
		if (str_is(name, home_keys[i]))
			return true;
	return false;
}

static void show_plain(struct looker *l, const char *path)
{
	char *target;
	struct stat st;
	ssize_t n;

	if (lstat(path, &st) < 0 || S_ISSOCK(st.st_mode) || strcmp(path, l->ask->store) == 0)
		return;
	if (!S_ISLNK(st.st_mode)) {
		sandbox_home_add(l, SANDBOX_READ, path, path);
		return;
	}
	target = arena_alloc(l->a, PATH_MAX);
	n = readlink(path, target, PATH_MAX - 1);
	if (n <= 0)
		return;
	target[n] = '\0';
	sandbox_home_add(l, SANDBOX_LINK, path, target);
}

static void show_entries(struct looker *l)
{
	const char *home = l->ask->home;
	size_t agents_n, caches_n, n;
	const struct home_folder *agents = home_folders(l->ask->format, &agents_n);
	const struct home_folder *caches = home_caches(&caches_n);
	str *names;

	n = entries(l, home, &names);
	l->whole = n > ENTRIES_MAX;
	if (l->whole)
		sandbox_home_add(l, SANDBOX_READ, home, home);
	for (size_t i = 0; i < n; i++) {
		const char *path = path_join(l->a, home, arena_cstr(l->a, names[i]));

		if (is_key(names[i])) {
			path = l->whole ? real_path(l, path) : NULL;
			if (path)
				sandbox_home_add(l, SANDBOX_BLANK, path, NULL);
		} else if (!l->whole && !is_table_place(l, agents, agents_n, path) &&
				!is_table_place(l, caches, caches_n, path)) {
			show_plain(l, path);
		}
	}
}

static void hide_sockets(struct looker *l, const char *folder)
{
	const char *dir = real_path(l, path_join(l->a, l->ask->home, folder));
	struct stat st;
	str *names;
	size_t n = dir ? entries(l, dir, &names) : 0;

	for (size_t i = 0; i < n; i++) {
		const char *path = path_join(l->a, dir, arena_cstr(l->a, names[i]));

		if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
			sandbox_home_add(l, SANDBOX_BLANK, path, NULL);
	}
}

static void hide(struct looker *l)
{
	for (size_t i = 0; home_hidden[i]; i++) {
		const char *path = real_path(l, path_join(l->a, l->ask->home, home_hidden[i]));

		if (path && is_folder(path))
			sandbox_home_add(l, SANDBOX_EMPTY, path, NULL);
	}
	for (size_t i = 0; home_sockets[i]; i++)
		hide_sockets(l, home_sockets[i]);
	if (l->whole)
		hide_sockets(l, ".");
}

int sandbox_home(struct arena *a, const struct sandbox_home_ask *ask,
		const struct sandbox_mount **ret, size_t *ret_n, struct ov_err *err)
{
	struct looker l = { .a = a, .ask = ask };
	size_t agents_n, caches_n;
	const struct home_folder *agents = home_folders(ask->format, &agents_n);
	const struct home_folder *caches = home_caches(&caches_n);
	struct sandbox_mount *list;
	int r = 0;

	show_entries(&l);
	for (size_t i = 0; r == 0 && i < caches_n; i++)
		r = show_folder(&l, &caches[i], err);
	for (size_t i = 0; r == 0 && i < agents_n; i++)
		r = show_folder(&l, &agents[i], err);
	hide(&l);
	list = arena_array(a, struct sandbox_mount, l.list.n + 1);
	if (l.list.n)
		memcpy(list, l.list.p, l.list.n * sizeof(*list));
	*ret = list;
	*ret_n = l.list.n;
	vec_done(&l.list);
	return r;
}
