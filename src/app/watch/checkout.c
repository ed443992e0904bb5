#include "app/watch/checkout.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "drive/git/git.h"
#include "sys/file/file.h"
#include "sys/loop/loop.h"

/*
 * What happens together is one change. A checkout that changes all the time is looked at less and
 * less often, until it was left alone for a while: each attempt touches the index itself, and what
 * git refuses without our knowing why must not be tried for ever, as fast as we can. The index
 * changes with every commit, stash and restore, so not every folder must be watched.
 */
enum {
	GATHER_MS = 50,
	LEAST_MS = 1000,
	MOST_MS = 30 * 1000,
	CALM_MS = 60 * 1000,
	FOLDERS_MAX = 64
};

struct folder {
	struct checkout *c;
	char *path;
	struct map names; /* of entries in it that matter */
	struct arena arena;
	struct loop_source *watch;
};

struct checkout {
	struct checkout_options o;
	VEC(struct folder *) folders;
	struct loop_source *timer;
	bool armed;
	uint64_t reported_us; /* monotonic */
	int64_t least_ms;     /* between the last report and the next */
};

static void folder_free(struct folder *f)
{
	loop_source_free(f->watch);
	map_done(&f->names);
	arena_done(&f->arena);
	mem_free(f->path);
	mem_free(f);
}

static void forget_all(struct checkout *c)
{
	for (size_t i = 0; i < c->folders.n; i++)
		folder_free(c->folders.p[i]);
	vec_clear(&c->folders);
}

static bool something_waits(const struct checkout *c)
{
	const struct state *s = c->o.state(c->o.user);

	list_each (it, &s->live)
		if (list_entry(it, struct assignment, link)->waiting != WAITING_NONE)
			return true;
	return false;
}

static void checkout_report(void *user)
{
	struct checkout *c = user;

	c->armed = false;
	if (!something_waits(c)) {
		c->least_ms = 0;
		forget_all(c);
		return;
	}
	c->reported_us = loop_mono_us(c->o.loop);
	c->least_ms = c->least_ms ? MIN(2 * c->least_ms, (int64_t)MOST_MS) : LEAST_MS;
	c->o.changed(c->o.user);
}

static void arm(struct checkout *c)
{
	int64_t since_ms = (int64_t)((loop_mono_us(c->o.loop) - c->reported_us) / 1000);

	if (c->armed)
		return;
	c->armed = true;
	if (since_ms >= CALM_MS)
		c->least_ms = 0;
	loop_timer_in(c->timer, MAX((int64_t)GATHER_MS, c->least_ms - since_ms));
}

static void checkout_folder_changed(void *user, uint32_t mask, const char *name)
{
	struct folder *f = user;

	if ((mask & (IN_Q_OVERFLOW | IN_DELETE_SELF | IN_MOVE_SELF)) ||
			(name && map_get(&f->names, str_from(name))))
		arm(f->c);
}

static struct folder *folder_at(struct checkout *c, const char *path, bool *ret_new)
{
	static const uint32_t changes = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
			IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
	struct folder *f;
	int fd;

	for (size_t i = 0; i < c->folders.n; i++)
		if (strcmp(c->folders.p[i]->path, path) == 0)
			return c->folders.p[i];
	if (c->folders.n == FOLDERS_MAX)
		return NULL;
	f = mem_zalloc(1, sizeof(*f));
	f->c = c;
	f->path = mem_dup(path, strlen(path));
	map_init(&f->names, 0);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Where it cannot be watched accept.dirty_wait is what is left. */
	if (fd < 0 ||
			loop_watch(c->o.loop, fd, changes, checkout_folder_changed, f, &f->watch,
					NULL) < 0) {
		fd_closep(&fd);
		folder_free(f);
		return NULL;
	}
	fd_closep(&fd);
	vec_push(&c->folders, f);
	*ret_new = true;
	return f;
}

static void watch_name(struct checkout *c, const char *path, str name, bool *ret_new)
{
	struct folder *f = folder_at(c, path, ret_new);

	if (!f || map_get(&f->names, name))
		return;
	map_put(&f->names, arena_str(&f->arena, name), f);
	*ret_new = true;
}

/* The nearest folder that is there, and what of the path comes next in it. */
static void watch_file(struct checkout *c, struct arena *a, str checkout, str file, bool *ret_new)
{
	str path = arena_printf(a, STR_FMT "/" STR_FMT, STR_ARG(checkout), STR_ARG(file));

	while (path.n > checkout.n) {
		size_t cut = path.n;
		str name;
		const char *folder;

		while (cut > checkout.n && path.p[cut - 1] != '/')
			cut--;
		name = str_sub(path, cut, path.n);
		path = str_sub(path, 0, cut ? cut - 1 : 0);
		folder = arena_cstr(a, path);
		if (!name.n || !file_exists(folder))
			continue;
		watch_name(c, folder, name, ret_new);
		return;
	}
}

void checkout_watch(struct checkout *c, const struct git_result *res)
{
	static const char *const names[] = { "index", "index.lock", "HEAD", "MERGE_HEAD",
		"CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "BISECT_START", "rebase-merge",
		"rebase-apply", "sequencer" };
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	bool fresh = false;

	if (!res->admin.n)
		return;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		watch_name(c, arena_cstr(&a, res->admin), str_from(names[i]), &fresh);
	for (size_t i = 0; i < res->files_n; i++)
		watch_file(c, &a, res->checkout, res->files[i], &fresh);
	/* It may have changed between git's look and ours: once more, now that it would be seen. */
	if (fresh)
		arm(c);
}

void checkout_look(struct checkout *c)
{
	if (something_waits(c))
		arm(c);
}

struct checkout *checkout_new(const struct checkout_options *o)
{
	struct checkout *c = mem_zalloc(1, sizeof(*c));

	c->o = *o;
	c->timer = loop_timer(o->loop, checkout_report, c);
	return c;
}

struct checkout *checkout_free(struct checkout *c)
{
	if (!c)
		return NULL;
	forget_all(c);
	vec_done(&c->folders);
	loop_source_free(c->timer);
	mem_free(c);
	return NULL;
}
