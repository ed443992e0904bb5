/*
 * The store's file was removed, renamed or replaced under the running daemon. Whatever would be
 * written from now on would be written for nobody, so nobody is told that it was. All that was
 * written before is still in the file that we have open, and goes to a new one beside the old
 * place, which is never overwritten; only when that is safely there the daemon ends.
 */
#include <string.h>

#include "app/daemon/daemon_files.h"
#include "app/daemon/daemon_impl.h"
#include "app/log/log.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"
#include "sys/host/rand.h"

enum {
	/* who removes a folder may not have finished, and would remove ours, too */
	SETTLE_MS = 300,
	SETTLE_MAX_MS = 5000,
};

/* Where it can be put: where it was; else at the root of the repository. */
static int save(struct daemon *d, const char *path, struct ov_err *err)
{
	struct arena *a = &d->arena;
	const char *slash = strrchr(path, '/');
	const char *tmp = arena_cstr(a,
			arena_printf(a, "%s.tmp-%016llx", path, (unsigned long long)rand_u64()));
	int r = slash && slash > path
			? dir_make(arena_cstr(a, (str){ path, (size_t)(slash - path) }), 0700, err)
			: 0;

	if (r == 0 && file_exists(path))
		r = ov_fail(err, OV_ECONFLICT, "%s exists already", path);
	if (r == 0)
		r = store_copy(engine_store(d->engine), tmp, err);
	if (r == 0)
		r = file_commit(tmp, path, err);
	if (r < 0)
		(void)file_remove(tmp, NULL);
	return r;
}

/*
 * What lies there goes aside with its write-ahead log, which must never meet another file. Both
 * files are in one folder, unless that could not be made again.
 */
static int how_to_put_it_back(const char *lost, const char *path, struct ov_err *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *file = strrchr(lost, '/') + 1;
	str folder = slash ? (str){ path, MAX((size_t)(slash - path), (size_t)1) } : STR(".");
	bool beside = str_starts(str_from(lost), folder) && lost + folder.n + 1 == file;

	return ov_next(err,
			"(cd '" STR_FMT
			"' && mkdir -p aside; mv --backup=t %s* aside; mv %s%s%s %s)",
			STR_ARG(folder), name, beside ? "" : "'", beside ? file : lost,
			beside ? "" : "'", name);
}

int daemon_lost_check(struct arena *a, const char *url, struct ov_err *err)
{
	const char *path, **files;
	size_t n = 0;

	if (safe_store_path(a, url, &path, NULL) < 0 ||
			safe_store_beside(a, path, "lost", &files, &n, NULL) < 0 || n == 0)
		return 0;
	ov_fail(err, OV_ESTATE,
			"%s is what the last daemon saved when %s was removed or replaced while it "
			"was in use; %s. Put it back, or, if it is not wanted, move it elsewhere",
			files[n - 1], path,
			file_exists(path) ? "what is there now is another store"
					  : "there is none now");
	return how_to_put_it_back(files[n - 1], path, err);
}

/* The folder may be another one by now, and what is said in the old one is read by nobody. */
static void end(struct daemon *d)
{
	struct ov_err next = { 0 };

	(void)how_to_put_it_back(d->files.saved, d->files.db.path, &next);
	log_warn("all that the store held is in %s; to put it back: %s", d->files.saved, next.next);
	health_done(&d->health);
	health_init(&d->health, path_join(&d->arena, d->o->dir, VITAL_HEALTH), d->self.instance);
	health_say(&d->health, HEALTH_FAILED, "store: %s; it is in %s", d->refusal.msg,
			d->files.saved);
	loop_quit(d->loop, DAEMON_STORE_LOST);
}

/* Until it is there, and is still there a moment later: our open file is all that is left of it. */
static void save_and_look(void *user)
{
	struct daemon *d = user;
	struct daemon_files *f = &d->files;
	struct ov_err err = { 0 };
	const char *path;

	if (f->saved && file_exists(f->saved)) {
		end(d);
		return;
	}
	path = safe_store_beside_new(&d->arena, f->db.path, "lost", clock_wall());
	/* A folder that cannot be made again leaves the repository. */
	if (f->tries++ % 2)
		path = path_join(&d->arena, d->o->repo, strrchr(path, '/') + 1);
	f->wait = f->wait ? MIN(f->wait * 2, (ov_time)SETTLE_MAX_MS) : (ov_time)SETTLE_MS;
	if (save(d, path, &err) == 0) {
		f->saved = path;
		f->wait = SETTLE_MS;
	} else {
		log_warn("what the store held cannot be saved: %s; trying again", err.msg);
	}
	loop_timer_in(f->later, f->wait);
}

void daemon_lost(struct daemon *d)
{
	struct daemon_files *f = &d->files;

	f->lost = true;
	ov_fail(&d->refusal, OV_EUNAVAILABLE, "%s was removed or replaced while it was in use",
			f->db.path);
	log_warn("%s: nothing is written any more, and the daemon ends", d->refusal.msg);
	engine_stop(d->engine);
	engine_discard(d->engine, &d->refusal);
	/* Into what is saved, for whoever puts it back. */
	daemon_fail(d,
			&(struct daemon_failure){ .cause = "store",
					.exit_status = DAEMON_STORE_LOST,
					.text = d->refusal.msg });
	engine_commit(d->engine);
	engine_refuse(d->engine, &d->refusal);
	f->later = loop_timer(d->loop, save_and_look, d);
	loop_timer_in(f->later, SETTLE_MS);
}
