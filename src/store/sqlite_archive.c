/*
 * The cold beginning of the log, in a file of its own beside the store. Records are first written
 * and synced there, then the store forgets them and moves its border in one transaction: stopped
 * between the two, both files have them, and the next move, having settled the archive (what is
 * found there may be in the system's memory alone), finds them equal. What the archive holds
 * beyond the border therefore counts for nothing yet. A reader loads the border and the store's
 * rows in one read transaction and may read the archive in between: it only ever grows.
 */
#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "store/sqlite_impl.h"

enum { COPY_PAGE = 4096 };

static const uint8_t zero_hash[SHA256_LEN];

int sqlite_load_border(struct sqlite_store *s, struct ov_err *err)
{
	uint8_t hash[SHA256_LEN];
	sqlite3_stmt *st;
	int rc, r;

	if (s->version < 2 || s->is_archive)
		return 0;
	r = sqlite_stmt(s, SQL_BORDER_GET, &st, err);
	if (r < 0)
		return r;
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW && sqlite_column_hash(st, 1, hash) &&
			sqlite3_column_int64(st, 0) >= 0) {
		s->border = (uint64_t)sqlite3_column_int64(st, 0);
		memcpy(s->border_hash, hash, SHA256_LEN);
	} else if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
		r = ov_fail(err, OV_EIO, "%s: hash chain broken: the checkpoint is missing",
				s->path);
	} else {
		r = sqlite_fail(s->db, s->path, "read the log", err);
	}
	sqlite3_reset(st);
	return r;
}

int sqlite_begin_read(struct sqlite_store *s, struct ov_err *err)
{
	int r = sqlite_run(s, SQL_BEGIN_READ, "read the log", err);

	/* Salvage has looked once, and made do with what it found. */
	if (r < 0 || s->mode == STORE_SALVAGE)
		return r;
	r = sqlite_load_border(s, err);
	if (r < 0)
		sqlite_rollback(s);
	return r;
}

void sqlite_archive_drop(struct sqlite_store *s)
{
	if (!s->archive)
		return;
	sqlite_disconnect(s->archive);
	mem_free(s->archive->path);
	mem_free(s->archive);
	s->archive = NULL;
}

static char *archive_path(const struct sqlite_store *s)
{
	struct arena a = ARENA_INIT;
	str path = store_archive_path(&a, str_from(s->path));
	char *copy = mem_dup(path.p, path.n);

	arena_done(&a);
	return copy;
}

static int missing(const struct sqlite_store *s, const char *path, struct ov_err *err)
{
	ov_fail(err, OV_EUNAVAILABLE,
			"%s is missing: it holds the events 1 to %llu; what came after them is "
			"complete",
			path, (unsigned long long)s->border);
	return ov_next(err, "put it back beside %s", s->path);
}

/* The store is going to forget what is found there. */
static int open_settled(struct sqlite_store *ar, struct ov_err *err)
{
	int r = sqlite_open_read_write(ar, err);

	return r < 0 ? r : sqlite_settle(ar, true, err);
}

int sqlite_archive_get(struct sqlite_store *s, bool write, struct sqlite_store **ret,
		struct ov_err *err)
{
	struct sqlite_store *ar;
	int r = 0;

	if (s->archive && write && s->archive->mode != STORE_READ_WRITE)
		sqlite_archive_drop(s);
	if (!s->archive) {
		ar = mem_zalloc(1, sizeof(*ar));
		ar->store.ops = &store_sqlite_ops;
		ar->mode = write ? STORE_READ_WRITE : STORE_READ_ONLY;
		ar->path = archive_path(s);
		ar->lock_fd = -1;
		ar->is_archive = true;
		s->archive = ar;
	}
	ar = s->archive;
	/* Never made anew where one was. */
	if (s->border && access(ar->path, F_OK) < 0 && errno == ENOENT)
		r = missing(s, ar->path, err);
	else if (write && !ar->db)
		r = open_settled(ar, err);
	if (r < 0) {
		sqlite_archive_drop(s);
		return r;
	}
	*ret = ar;
	return 0;
}

static int read_archive(struct sqlite_store *s, uint64_t after, size_t n, struct arena *a,
		sqlite_rows *out, struct ov_err *err)
{
	struct sqlite_store *ar;
	int r = sqlite_archive_get(s, false, &ar, err);

	if (r < 0)
		return r;
	do {
		vec_clear(out);
		r = sqlite_refresh(ar, err);
		if (r < 0)
			return r;
		r = sqlite_read_rows(ar, after, after ? NULL : zero_hash, n, a, out, err);
	} while (!sqlite_is_fresh(ar));
	if (r == 0 && out->n < n)
		r = sqlite_broken(ar, after + out->n + 1, "the record is missing", err);
	/* At the border the two files have to meet. */
	if (r == 0 && after + n == s->border &&
			memcmp(out->p[n - 1].hash, s->border_hash, SHA256_LEN) != 0)
		r = sqlite_broken(ar, s->border, "the store goes on from another record", err);
	return r;
}

int sqlite_read_both(struct sqlite_store *s, uint64_t after, size_t limit, struct arena *a,
		sqlite_rows *out, struct ov_err *err)
{
	size_t cold;
	int r = sqlite_begin_read(s, err);

	if (r < 0)
		return r;
	cold = after < s->border ? (size_t)MIN((uint64_t)limit, s->border - after) : 0;
	if (cold)
		r = read_archive(s, after, cold, a, out, err);
	if (r == 0 && limit > cold)
		r = sqlite_read_rows(s, MAX(after, s->border),
				after <= s->border ? s->border_hash : NULL, limit - cold, a, out,
				err);
	sqlite_rollback(s);
	return r;
}

int sqlite_archive_hash(struct sqlite_store *s, uint64_t seq, uint8_t ret[static SHA256_LEN],
		struct ov_err *err)
{
	struct sqlite_store *ar;
	int r = sqlite_archive_get(s, false, &ar, err);

	if (r < 0)
		return r;
	do {
		r = sqlite_refresh(ar, err);
		if (r < 0)
			return r;
		r = sqlite_hash_at(ar, seq, ret, err);
	} while (!sqlite_is_fresh(ar));
	return r;
}

int sqlite_border(struct store *store, uint64_t *ret_seq, struct ov_err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)store;
	int r;

	do {
		r = sqlite_refresh(s, err);
		if (r == 0)
			r = sqlite_begin_read(s, err);
		if (r < 0)
			return r;
		sqlite_rollback(s);
	} while (!sqlite_is_fresh(s));
	*ret_seq = s->border;
	return 0;
}

/* What an interrupted move left there has to be what is moved now. *ret_n: so many are there. */
static int compare(struct sqlite_store *s, struct sqlite_store *ar, const sqlite_rows *rows,
		size_t *ret_n, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	sqlite_rows there = { 0 };
	uint8_t hash[SHA256_LEN] = { 0 };
	int r = s->border ? sqlite_hash_at(ar, s->border, hash, err) : 1;

	if (r < 0)
		return r;
	if (r == 0 || memcmp(hash, s->border_hash, SHA256_LEN) != 0)
		return sqlite_broken(ar, s->border, "the store goes on from another record", err);
	r = sqlite_read_rows(ar, s->border, s->border ? NULL : zero_hash, rows->n, &a, &there, err);
	for (size_t i = 0; r == 0 && i < there.n; i++)
		if (memcmp(there.p[i].hash, rows->p[i].hash, SHA256_LEN) != 0)
			r = ov_fail(err, OV_EIO,
					"%s: record %llu is of another log; move the file away",
					ar->path, (unsigned long long)there.p[i].seq);
	*ret_n = there.n;
	vec_done(&there);
	return r;
}

/* In a transaction of the archive. */
static int put_missing(struct sqlite_store *s, struct sqlite_store *ar, const sqlite_rows *rows,
		struct ov_err *err)
{
	uint8_t hash[SHA256_LEN];
	size_t have = 0;
	int r = sqlite_load_head(ar, err);

	if (r == 0)
		r = compare(s, ar, rows, &have, err);
	if (r < 0 || have == rows->n)
		return r;
	memcpy(hash, ar->head_hash, SHA256_LEN);
	return sqlite_insert(ar, rows->p + have, rows->n - have, hash, err);
}

static int archive_put(struct sqlite_store *s, const sqlite_rows *rows, struct ov_err *err)
{
	struct sqlite_store *ar;
	int r = sqlite_archive_get(s, true, &ar, err);

	if (r == 0)
		r = sqlite_run(ar, SQL_BEGIN, "archive", err);
	if (r < 0)
		return r;
	r = put_missing(s, ar, rows, err);
	if (r == 0)
		r = sqlite_run(ar, SQL_COMMIT, "archive", err);
	if (r < 0)
		sqlite_rollback(ar);
	return r;
}

static int set_border(struct sqlite_store *s, uint64_t seq, const uint8_t hash[static SHA256_LEN],
		const char *doing, struct ov_err *err)
{
	sqlite3_stmt *st;
	int r = sqlite_stmt(s, SQL_BORDER_SET, &st, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)seq);
	sqlite_bind_bytes(st, 2, hash, SHA256_LEN);
	return sqlite_run(s, SQL_BORDER_SET, doing, err);
}

/* In the store's transaction. */
static int archive_forget(struct sqlite_store *s, const struct store_record *last,
		struct ov_err *err)
{
	sqlite3_stmt *st;
	int r = sqlite_stmt(s, SQL_FORGET, &st, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)last->seq);
	r = sqlite_run(s, SQL_FORGET, "archive", err);
	return r < 0 ? r : set_border(s, last->seq, last->hash, "archive", err);
}

static int move(struct sqlite_store *s, size_t n, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	sqlite_rows rows = { 0 };
	int r = sqlite_read_rows(s, s->border, s->border_hash, n, &a, &rows, err);

	if (r == 0 && rows.n < n)
		r = sqlite_broken(s, s->border + rows.n + 1, "the record is missing", err);
	if (r == 0)
		r = archive_put(s, &rows, err);
	if (r == 0)
		r = archive_forget(s, &rows.p[n - 1], err);
	if (r == 0)
		r = sqlite_run(s, SQL_COMMIT, "archive", err);
	if (r == 0) {
		s->border = rows.p[n - 1].seq;
		memcpy(s->border_hash, rows.p[n - 1].hash, SHA256_LEN);
	}
	vec_done(&rows);
	return r;
}

/* What the records may be moved up to: reads the snapshot only if none was seen yet. */
static int newest_snapshot(struct sqlite_store *s, uint64_t *ret, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct store_snapshot snap;
	int r = s->snapshot ? 0 : sqlite_snapshot_get(&s->store, &a, &snap, err);

	*ret = s->snapshot;
	return r == OV_ENOTFOUND ? 0 : r;
}

int sqlite_archive(struct store *store, uint64_t upto, size_t max, size_t *ret_moved,
		struct ov_err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)store;
	uint64_t snapshot = 0;
	size_t n;
	int r = s->lock_fd < 0 ? 0 : newest_snapshot(s, &snapshot, err);

	if (r == 0)
		r = sqlite_begin_fenced(s, "archive", err);
	if (r < 0)
		return r;
	r = sqlite_load_border(s, err);
	upto = MIN(upto, snapshot);
	n = upto > s->border ? (size_t)MIN((uint64_t)max, upto - s->border) : 0;
	if (r == 0 && n)
		r = move(s, n, err);
	sqlite_rollback(s); /* what is committed stays */
	if (r == 0)
		*ret_moved = n;
	return r;
}

/* to is only a handle for statements; its connection is somebody else's. */
static int copy_archive(struct sqlite_store *s, struct sqlite_store *to, struct ov_err *err)
{
	uint8_t hash[SHA256_LEN] = { 0 };
	int r = 0;

	for (to->head = 0; r == 0 && to->head < s->border;) {
		_cleanup_(arena_done) struct arena a = ARENA_INIT;
		sqlite_rows rows = { 0 };

		r = read_archive(s, to->head,
				(size_t)MIN((uint64_t)COPY_PAGE, s->border - to->head), &a, &rows,
				err);
		if (r == 0)
			r = sqlite_insert(to, rows.p, rows.n, hash, err);
		to->head += rows.n;
		vec_done(&rows);
	}
	return r;
}

static int make_whole(struct sqlite_store *s, struct sqlite_store *to, struct ov_err *err)
{
	int r = sqlite_load_border(to, err);

	if (r < 0 || to->border == 0)
		return r;
	/* As the copy has it: meanwhile more may have been moved. */
	s->border = to->border;
	memcpy(s->border_hash, to->border_hash, SHA256_LEN);
	r = sqlite_run(to, SQL_BEGIN, "copy", err);
	if (r == 0)
		r = copy_archive(s, to, err);
	if (r == 0)
		r = set_border(to, 0, zero_hash, "copy", err);
	if (r == 0)
		r = sqlite_run(to, SQL_COMMIT, "copy", err);
	return r;
}

int sqlite_archive_into(struct sqlite_store *s, sqlite3 *to, const char *path, struct ov_err *err)
{
	struct sqlite_store copy = { .path = (char *)path, .db = to, .version = s->version };
	int r = make_whole(s, &copy, err);

	for (size_t i = 0; i < SQL_COUNT; i++)
		sqlite3_finalize(copy.stmts[i]);
	return r;
}
