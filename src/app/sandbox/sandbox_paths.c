#include "app/sandbox/sandbox_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/launch/home.h"
#include "agent/table/formats.h"
#include "app/sandbox/sandbox_home.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"

static const char *real_path(struct arena *a, const char *path)
{
	return realpath(path, arena_alloc(a, PATH_MAX));
}

/* ---- sandbox_writable ---- */

static bool contains(const char *dir, const char *path)
{
	return strcmp(dir, "/") == 0 || strcmp(dir, path) == 0 || path_below(path, dir);
}

struct path_guard {
	struct arena *a;
	const struct config_agent *agent;
	const char *named, *real; /* the path in question */
};

/* what: "the repository's git folder". */
static int refuse(const struct path_guard *g, const char *what, const char *path,
		struct ov_err *err)
{
	ov_fail(err, OV_EINVALID,
			"agents." STR_FMT ".sandbox_writable: %s contains %s (%s), which a run "
			"could then replace",
			STR_ARG(g->agent->name), g->named, what, path);
	return ov_next(err,
			"name only the folders that the agent writes, such as a cache beside "
			"the repository; then: overseer config reload");
}

static int guard_path(const struct path_guard *g, const char *what, const char *path,
		struct ov_err *err)
{
	const char *real = path ? real_path(g->a, path) : NULL;

	/* What is not there yet could be planted. */
	real = real ? real : path;
	return real && contains(g->real, real) ? refuse(g, what, real, err) : 0;
}

/* Settings of every agent, not only of this one: another one would run what was planted there. */
static int guard_agents(const struct path_guard *g, const struct sandbox_guarded *in,
		struct ov_err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && agent_format_names[i]; i++) {
		size_t n;
		const struct home_folder *f = home_folders(str_from(agent_format_names[i]), &n);

		for (size_t k = 0; r == 0 && k < n; k++)
			r = guard_path(g, "settings of an agent",
					sandbox_home_place(g->a, in->home, in->env, &f[k]), err);
	}
	return r;
}

static int guard_all(const struct path_guard *g, const struct sandbox_guarded *in,
		struct ov_err *err)
{
	int r = guard_path(g, "the store", in->store, err);

	if (r == 0)
		r = guard_path(g, "the repository", path_join(g->a, in->store, ".."), err);
	if (r == 0)
		r = guard_path(g, "the repository's git folder", in->git_common, err);
	if (r == 0)
		r = guard_path(g, "your home", in->home, err);
	return r == 0 && in->home ? guard_agents(g, in, err) : r;
}

int sandbox_writable(struct arena *a, const struct config_agent *agent,
		const struct sandbox_guarded *in, const str **ret, size_t *ret_n,
		struct ov_err *err)
{
	str *list = arena_array(a, str, agent->sandbox_writable_n + 1);
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < agent->sandbox_writable_n; i++) {
		struct path_guard g = { .a = a,
			.agent = agent,
			.named = arena_cstr(a, agent->sandbox_writable[i]) };

		g.real = real_path(a, g.named);
		if (!g.real)
			continue;
		r = guard_all(&g, in, err);
		list[n++] = str_from(g.real);
	}
	*ret = list;
	*ret_n = n;
	return r;
}

/* ---- places ---- */

/* Its parts one after the other, without following any. */
static int clear_place(const struct sandbox_place *p, bool may_remove, struct ov_err *err)
{
	int at = open(p->folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r = 0;
	str rest = str_from(p->name), part;
	struct stat st = { .st_mode = S_IFDIR };

	if (at < 0 && errno == ENOENT)
		return 0;
	while (r == 0 && at >= 0 && S_ISDIR(st.st_mode) && str_split(&rest, '/', &part)) {
		char name[NAME_MAX + 1] = "";
		int next;

		memcpy(name, part.p, MIN(part.n, (size_t)NAME_MAX));
		if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			break;
		if (S_ISLNK(st.st_mode) && (!may_remove || unlinkat(at, name, 0) < 0))
			r = ov_fail(err, OV_ESTATE, "%s/%s: " STR_FMT " is a link", p->folder,
					p->name, STR_ARG(part));
		next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(at);
		at = next;
	}
	if (at >= 0)
		close(at);
	return r;
}

int sandbox_clear_places(struct arena *a, const char *store, const struct sandbox_words *w,
		struct ov_err *err)
{
	const char *home = path_join(a, store, "home"), *cache = path_join(a, store, "cache");
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->places_n; i++) {
		const struct sandbox_place *p = &w->places[i];

		r = clear_place(p, path_below(p->folder, home) || path_below(p->folder, cache),
				err);
	}
	return r < 0 ? ov_wrap(err, r, "the sandbox would be made elsewhere") : 0;
}
