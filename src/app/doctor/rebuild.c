/*
 * A new store from what can be verified of a damaged one. The source is the damaged file itself, or
 * a backup of the same log that reaches further. The damaged files are kept aside first, and the
 * new store takes the place of the old only when it is whole: whoever is interrupted begins again.
 */
#include <unistd.h>

#include "app/doctor/doctor_impl.h"
#include "app/store/backup.h"
#include "app/store/fold.h"
#include "app/store/new_store.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/host/inject.h"
#include "sys/host/rand.h"

enum { PAGE = 4096 };

struct source {
	const char *file; /* NULL: the damaged store itself */
	struct store *store;
	uint64_t last; /* verified from the beginning, and understood */
};

/* How far it goes: the chain first, then what the events say. */
static int measure(struct source *src, struct ov_err *err)
{
	struct state *state = state_new(rand_u64());
	uint64_t last = 0;
	int r;

	(void)store_verify(src->store, 0, &last, NULL);
	r = fold_on(src->store, state, last, err);
	src->last = state->seq;
	state_free(state);
	/* What only a newer program understands is not ours to cut off. */
	return r == OV_ESTATE ? r : 0;
}

static bool hash_at(struct store *s, uint64_t seq, uint8_t ret[static SHA256_LEN])
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct store_record *recs;
	size_t n;

	if (store_read(s, seq - 1, 1, &a, &recs, &n, NULL) < 0 || n != 1)
		return false;
	memcpy(ret, recs[0].hash, SHA256_LEN);
	return true;
}

/* Is the one the other's beginning? */
static bool same_log(const struct source *a, const struct source *b)
{
	uint64_t seq = MIN(a->last, b->last);
	uint8_t x[SHA256_LEN], y[SHA256_LEN];

	return seq == 0 ||
			(hash_at(a->store, seq, x) && hash_at(b->store, seq, y) &&
					memcmp(x, y, SHA256_LEN) == 0);
}

/* Takes the place of *best when it is a backup of the same log and reaches further. */
static void consider(struct doctor *d, const char *file, struct source *best)
{
	struct source src = { .file = file };

	if (store_open(arena_printf(d->a, "sqlite:%s", file), STORE_READ_ONLY, &src.store, NULL) <
			0)
		return;
	if (measure(&src, NULL) < 0 || src.last <= best->last || !same_log(&src, best)) {
		store_close(src.store);
		return;
	}
	store_close(best->store);
	*best = src;
}

static int copy_records(const struct source *src, struct new_store *to, struct ov_err *err)
{
	int r = 0;

	while (r == 0 && to->head < src->last) {
		_cleanup_(arena_done) struct arena a = ARENA_INIT;
		struct store_record *recs;
		size_t n;

		r = store_read(src->store, to->head,
				(size_t)MIN(src->last - to->head, (uint64_t)PAGE), &a, &recs, &n,
				err);
		if (r == 0)
			r = new_store_append(to, recs, n, err);
	}
	return r;
}

static value *report(struct doctor *d, const struct source *src, const char *copy)
{
	value *v = value_object(d->a);

	value_put(d->a, v, "last_seq", value_int(d->a, (int64_t)src->last));
	value_put(d->a, v, "from", value_cstr(d->a, src->file ? src->file : d->store_path));
	value_put(d->a, v, "old", value_cstr(d->a, copy));
	return v;
}

/* What was in it is in the new store, as far as it was good, and it was kept aside. */
static int remove_archive(struct doctor *d, struct ov_err *err)
{
	static const char *const parts[] = { "-wal", "-shm", "" };
	str path = store_archive_path(d->a, str_from(d->store_path));
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(parts); i++)
		r = file_remove(arena_cstr(d->a,
						arena_printf(d->a, STR_FMT "%s", STR_ARG(path),
								parts[i])),
				err);
	return r;
}

static int rebuild(struct doctor *d, struct source *src, value **ret, struct ov_err *err)
{
	struct new_store to;
	const char *copy;
	int r = new_store_open(&to, d->a, d->store_path, err);

	if (r < 0)
		return r;
	r = copy_records(src, &to, err);
	if (r == 0)
		r = new_store_finish(&to, err);
	/* From here on nobody of us has the damaged file open: copying closes what it opens. */
	store_close(src->store);
	src->store = NULL;
	safe_store_done(&d->s);
	if (r == 0)
		r = safe_store_copy_aside(d->a, d->store_path, &copy, err);
	/*
	 * The write-ahead log goes before the file is replaced: stopped in between, the old file
	 * must not lack what only the log had. Of a log that cannot be read nothing was taken
	 * over either.
	 */
	if (r == 0)
		(void)store_settle(str_from(d->cx->daemon->store_url), NULL);
	if (r == 0)
		r = new_store_replace(&to, err);
	INJECT("rebuild-replaced");
	if (r == 0)
		r = remove_archive(d, err);
	if (r == 0)
		*ret = report(d, src, copy);
	new_store_done(&to);
	return r;
}

/* 0: it is damaged. A missing archive is no damage: what is in it would be lost. */
static int refuse_whole(struct doctor *d, struct ov_err *err)
{
	uint64_t last = 0;
	int r = store_check(d->s.store, err);

	if (r == 0)
		r = store_verify(d->s.store, 0, &last, err);
	if (r == OV_EUNAVAILABLE)
		return r;
	return r == 0 && !d->s.safe.on
			? ov_fail(err, OV_ESTATE,
					  "the store is not damaged: there is nothing to rebuild")
			: 0;
}

int doctor_rebuild(struct doctor *d, value **ret, struct ov_err *err)
{
	struct source best = { 0 };
	const char **files = NULL;
	size_t n = 0;
	int fd = -1, r;

	if (d->opened < 0) {
		if (err)
			*err = d->open_err;
		return d->opened;
	}
	r = refuse_whole(d, err);
	if (r < 0)
		return r;
	r = store_hold(str_from(d->cx->daemon->store_url), &fd, err);
	if (r < 0) {
		ov_wrap(err, r, "a store that is in use cannot be rebuilt");
		return ov_next(err, "overseer down && overseer doctor --rebuild");
	}
	r = store_open(str_from(d->cx->daemon->store_url), STORE_SALVAGE, &best.store, err);
	if (r == 0)
		r = measure(&best, err);
	if (r == 0)
		r = backup_list(d->a, d->dir, &files, &n, err);
	for (size_t i = 0; r == 0 && i < n; i++)
		consider(d, files[i], &best);
	if (r == 0)
		r = rebuild(d, &best, ret, err);
	store_close(best.store);
	close(fd);
	return r;
}
