#include "app/vital/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "app/engine/engine.h"
#include "app/log/log.h"
#include "app/vital/acts.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/model/watchdog.h"
#include "sys/file/file.h"
#include "sys/loop/loop.h"

struct watchdog {
	struct arena arena; /* paths */
	struct loop *loop;
	struct engine *engine;
	const char *path, *old_path,
			*name; /* the file, the one before it, its name in its folder */
	struct loop_source *folder, *file;
	struct acts acts;
	bool told; /* of bad lines */

	/* of one reading: acts that are reported together */
	struct arena batch;
	value *list;
};

static void flush(struct watchdog *w)
{
	if (!value_count(w->list))
		return;
	tell_watch_report(w->engine, &(struct msg_watch_report){ w->list });
	arena_reset(&w->batch);
	w->list = NULL;
}

static void watchdog_take(void *user, const struct act *x)
{
	struct watchdog *w = user;
	struct arena *a = &w->batch;
	struct pt_act act = { .n = x->n,
		.act = str_from(act_kind_name(x->kind)),
		.failure = str_from(failure_name(x->failure)),
		.watch = str_from(x->watch),
		.instance = str_from(x->instance),
		.text = str_from(x->text),
		.at_ms = x->at };

	if (!vigil_is_new(engine_state(w->engine), str_from(x->watch), x->n, x->at))
		return;
	if (!w->list)
		w->list = value_array(a);
	value_push(a, w->list, part_data(a, PART_act, &act));
	if (value_count(w->list) == LIMIT_ACTS)
		flush(w);
}

static void tell_bad(struct watchdog *w, size_t bad)
{
	if (bad && !w->told)
		log_warn("%s: %zu lines are none of a watchdog's, and were left out", w->path, bad);
	w->told |= bad > 0;
}

static void read_new(struct watchdog *w)
{
	acts_read(&w->acts, watchdog_take, w);
	flush(w);
	tell_bad(w, w->acts.bad);
}

static void file_changed(void *user, uint32_t mask, const char *name)
{
	(void)mask, (void)name;
	read_new(user);
}

/*
 * Everything that is there is read anew, and known acts are passed over: the file may have been put
 * aside more than once since we looked.
 */
static void watchdog_begin(struct watchdog *w)
{
	w->file = loop_source_free(w->file);
	acts_close(&w->acts);
	tell_bad(w, acts_read_file(w->old_path, watchdog_take, w));
	flush(w);
	if (!acts_open(&w->acts, w->path))
		return;
	/* Without it the folder's watch would not have been had either, which was told. */
	(void)loop_watch(w->loop, w->acts.fd, IN_MODIFY, file_changed, w, &w->file, NULL);
	read_new(w);
}

static void folder_changed(void *user, uint32_t mask, const char *name)
{
	struct watchdog *w = user;

	if (!(mask & IN_Q_OVERFLOW) && !(name && strcmp(name, w->name) == 0))
		return;
	read_new(w); /* the last words of a file that was put aside */
	if (!acts_is_current(&w->acts, w->path))
		watchdog_begin(w);
}

static void watch_folder(struct watchdog *w)
{
	static const uint32_t changes = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;
	const char *folder = arena_cstr(&w->arena, (str){ w->path, (size_t)(w->name - w->path) });
	struct ov_err err = { 0 };
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? ov_fail_errno(&err, errno, "%s", folder)
		       : loop_watch(w->loop, fd, changes, folder_changed, w, &w->folder, &err);

	fd_closep(&fd);
	if (r < 0)
		log_warn("what the watchdog does is read at the next start only: %s", err.msg);
}

struct watchdog *watchdog_open(struct loop *l, const char *dir, struct engine *e)
{
	struct watchdog *w = mem_zalloc(1, sizeof(*w));

	w->acts = (struct acts)ACTS_INIT;
	w->loop = l;
	w->engine = e;
	w->path = path_join(&w->arena, dir, VITAL_ACTS);
	w->old_path = path_join(&w->arena, dir, ACTS_OLD);
	w->name = strrchr(w->path, '/') + 1;
	watch_folder(w);
	watchdog_begin(w);
	return w;
}

void watchdog_close(struct watchdog *w)
{
	if (!w)
		return;
	loop_source_free(w->file);
	loop_source_free(w->folder);
	acts_close(&w->acts);
	arena_done(&w->batch);
	arena_done(&w->arena);
	mem_free(w);
}
