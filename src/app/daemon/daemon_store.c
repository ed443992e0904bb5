/*
 * How a daemon comes to its store. It is first read without being written, so that a store of a
 * newer program stays untouched and a damaged one is noticed before anything is added to it.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "app/daemon/daemon_impl.h"
#include "app/log/log.h"
#include "app/vital/holder.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "store/store_trace.h"
#include "sys/file/file.h"
#include "sys/host/rand.h"

enum { RUNS_MAX = 10 * 1000 * 1000, ARCHIVE_PAUSE_MS = 20 };

static void store_traced(void *user _unused_, const char *text)
{
	log_info("store: %s", text);
}

static int open_store(struct daemon *d, struct store **ret, struct ov_err *err)
{
	struct store *s;
	int r = store_open(str_from(d->self.store_url), STORE_READ_WRITE, &s, err);

	if (r < 0)
		return r;
	if (d->config->store_trace)
		s = store_trace_wrap(s, store_traced, NULL);
	r = holder_take_lease(d->o->dir, identity_holder(d), s, err);
	if (r < 0)
		store_close(s);
	else
		*ret = s;
	return r;
}

/* Nobody else may be at work on the files while they are copied. */
static void copy_aside(struct daemon *d)
{
	struct arena *a = &d->arena;
	struct ov_err err = { 0 };
	const char *path, *copy = "";
	int lock = -1, r;

	r = safe_store_path(a, d->self.store_url, &path, &err);
	if (r == 0)
		r = store_hold(str_from(d->self.store_url), &lock, &err);
	if (r == 0)
		r = safe_store_copy_aside(a, path, &copy, &err);
	fd_closep(&lock);
	if (r < 0)
		log_warn("the damaged store was not copied: %s; it stays as it is", err.msg);
	if (strlen(copy) < sizeof(d->safe.copy))
		strcpy(d->safe.copy, copy);
}

/*
 * Looked at once more after the copy: that closes the connection, which copying must not disturb.
 */
static int enter_safe_mode(struct daemon *d, struct safe_store *s, const struct ov_err *why,
		struct engine_options *e, struct ov_err *err)
{
	int r;

	safe_store_done(s);
	copy_aside(d);
	r = why ? safe_store_open_damaged(d->self.store_url, rand_u64(), why, s)
		: safe_store_open(d->self.store_url, rand_u64(), s, err);
	if (r < 0 && why && err)
		*err = *why;
	if (r == 0 && !s->safe.on)
		r = ov_fail(err, OV_EUNAVAILABLE, "the store was repaired meanwhile: start again");
	if (r == 0)
		r = holder_take_lease(d->o->dir, identity_holder(d), s->store, err);
	if (r < 0) {
		safe_store_done(s);
		return r;
	}
	strcpy(s->safe.copy, d->safe.copy);
	d->safe = s->safe;
	safe_mode_refusal(&d->safe, &d->refusal);
	d->self.safe = &d->safe;
	e->refusal = &d->refusal;
	e->store = s->store;
	return 0;
}

/* Where there were runs there was a log: a file without a byte was cut off, and is no new store. */
static int check_emptied(struct daemon *d, struct ov_err *err)
{
	struct arena *a = &d->arena;
	const char *path;
	struct stat st;
	str *names;
	size_t n = 0;

	if (safe_store_path(a, d->self.store_url, &path, NULL) < 0 || stat(path, &st) < 0 ||
			st.st_size || file_exists(arena_cstr(a, arena_printf(a, "%s-wal", path))) ||
			dir_list(a, path_join(a, d->o->dir, "runs"), RUNS_MAX, &names, &n, NULL) <
					0 ||
			n == 0)
		return 0;
	ov_fail(err, OV_ESTATE,
			"%s is empty, though there were runs: it was cut off, and not touched",
			path);
	return ov_next(err,
			"put a backup of .overseer/backups in its place, or remove it to begin "
			"anew");
}

/* What cannot be written is damaged only if SQLite itself finds it so. */
static bool finds_damage(const struct daemon *d, struct ov_err *ret)
{
	struct store *s;
	int r;

	if (store_open(str_from(d->self.store_url), STORE_READ_ONLY, &s, NULL) < 0)
		return false;
	r = store_check(s, ret);
	store_close(s);
	return r == OV_EIO || r == OV_EINVALID;
}

/* It was read; the lease, for one, is needed only by whoever writes. */
static int open_to_write(struct daemon *d, struct safe_store *s, struct engine_options *e,
		struct ov_err *err)
{
	struct ov_err found = { 0 };
	int r = check_emptied(d, err);

	if (r == 0)
		r = open_store(d, &e->store, err);
	if (r == OV_EIO && s->state && finds_damage(d, &found)) {
		s->store = NULL;
		r = enter_safe_mode(d, s, &found, e, err);
	}
	return r;
}

/*
 * A failure to read it beforehand is not the last word: there may be no store yet, or one that
 * only has to be brought up to date. What is wrong in earnest fails again on the ordinary way.
 */
static int open_state(struct daemon *d, struct engine_options *e, struct ov_err *err)
{
	struct safe_store s = { 0 };
	int r = daemon_lost_check(&d->arena, d->self.store_url, err);

	if (r < 0)
		return r;
	r = safe_store_open(d->self.store_url, rand_u64(), &s, err);
	if (r < 0 && s.newer)
		return ov_next(err, "install the newer version again; the store was not touched");
	if (r == 0 && s.safe.on) {
		r = enter_safe_mode(d, &s, NULL, e, err);
	} else {
		store_close(s.store);
		s.store = NULL;
		r = open_to_write(d, &s, e, err);
	}
	if (r < 0) {
		s.store = NULL;
		safe_store_done(&s);
		return r;
	}
	strcpy(d->snapshot_damage, s.snapshot_damage);
	e->state = s.state;
	e->snapshot = s.snapshot;
	d->partly_read = s.snapshot > 0;
	return 0;
}

int daemon_open_engine(struct daemon *d, const struct engine_world *world, struct ov_err *err)
{
	struct executor_options x = {
		.loop = d->loop,
		.dir = d->o->dir,
		.repo = d->o->repo,
		.shim = d->o->shim,
		.overseer = d->o->overseer,
		.config = d->config,
		.run_changed = server_run_changed,
		.user = d,
	};
	struct engine_options e = {
		.policy = &d->config->policy,
		.world = world,
		.user = d,
		.tick_every = d->config->tick_every,
		.snapshot_every = d->config->store_snapshot_every,
	};
	int r = open_state(d, &e, err);

	if (r < 0)
		return r;
	r = executor_new(&x, &d->executor, err);
	if (r < 0) {
		state_free(e.state);
		store_close(e.store);
		return r;
	}
	r = engine_open(&e, &d->engine, err);
	if (r < 0) {
		store_close(e.store);
		return r;
	}
	executor_set_engine(d->executor, d->engine);
	return 0;
}

/*
 * The state was built on a whole snapshot and stays; the files stay as they are, so no copy
 * is needed.
 */
void daemon_damaged(struct daemon *d, str reason)
{
	if (d->safe.on)
		return;
	d->safe = (struct safe_mode){ .on = true,
		.since = loop_now(d->loop),
		.last_seq = engine_head(d->engine) };
	snprintf(d->safe.reason, sizeof(d->safe.reason), STR_FMT, STR_ARG(reason));
	safe_mode_refusal(&d->safe, &d->refusal);
	d->self.safe = &d->safe;
	engine_refuse(d->engine, &d->refusal);
	log_warn("%s", d->refusal.msg);
	daemon_trouble_changed(d);
}

/* The store is whole but for a snapshot, which only saves time: a new one takes its place. */
void daemon_snapshot_again(struct daemon *d)
{
	struct ov_err err = { 0 };

	if (!d->snapshot_damage[0] || d->safe.on)
		return;
	if (engine_snapshot(d->engine, &err) < 0) {
		log_warn("no new snapshot could be written: %s; next: overseer doctor", err.msg);
		return;
	}
	log_info("a new snapshot was written in place of the damaged one");
	d->snapshot_damage[0] = '\0';
	daemon_trouble_changed(d);
}

void daemon_archive_later(struct daemon *d)
{
	if (d->archiving || !d->config->store_archive || !engine_archive_due(d->engine))
		return;
	d->archiving = true;
	loop_timer_in(d->archive, ARCHIVE_PAUSE_MS);
}

void daemon_archive(void *user)
{
	struct daemon *d = user;
	struct ov_err err = { 0 };

	d->archiving = false;
	loop_timer_off(d->archive);
	if (d->stop_reason || !d->config->store_archive)
		return;
	if (engine_archive(d->engine, &err) < 0)
		log_warn("old events were not moved to the archive: %s; they stay where they are",
				err.msg);
	else if (!engine_archive_due(d->engine))
		log_info("the events up to the last archived goal's are in the archive");
}
