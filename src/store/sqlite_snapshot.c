#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/sqlite_impl.h"

int sqlite_hash_at(struct sqlite_store *s, uint64_t seq, uint8_t ret[static SHA256_LEN],
		struct ov_err *err)
{
	sqlite3_stmt *st;
	int rc, r = sqlite_stmt(s, SQL_HASH_AT, &st, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)seq);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		r = sqlite_column_hash(st, 0, ret);
	else
		r = rc == SQLITE_DONE ? 0 : sqlite_fail(s->db, s->path, "read the log", err);
	sqlite3_reset(st);
	return r;
}

/* In both files: an older snapshot may lie before the border. */
static int hash_at(struct sqlite_store *s, uint64_t seq, uint8_t ret[static SHA256_LEN],
		struct ov_err *err)
{
	if (seq == 0 || seq > s->border)
		return sqlite_hash_at(s, seq, ret, err);
	if (seq < s->border)
		return sqlite_archive_hash(s, seq, ret, err);
	memcpy(ret, s->border_hash, SHA256_LEN);
	return 1;
}

static int do_snapshot_put(struct sqlite_store *s, const struct store_snapshot *snap,
		struct ov_err *err)
{
	uint8_t hash[SHA256_LEN], sum[SHA256_LEN];
	sqlite3_stmt *st;
	int r = snap->seq > INT64_MAX ? 0 : hash_at(s, snap->seq, hash, err);

	if (r < 0)
		return r;
	if (r == 0 || memcmp(hash, snap->hash, SHA256_LEN) != 0)
		return ov_fail(err, OV_EINVALID,
				"%s: snapshot of record %llu, which the log does not have", s->path,
				(unsigned long long)snap->seq);
	r = sqlite_stmt(s, SQL_SNAPSHOT_PUT, &st, err);
	if (r < 0)
		return r;
	sha256(snap->bytes.p, snap->bytes.n, sum);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)snap->seq);
	sqlite_bind_bytes(st, 2, snap->hash, SHA256_LEN);
	sqlite3_bind_int64(st, 3, snap->format);
	sqlite_bind_bytes(st, 4, sum, SHA256_LEN);
	sqlite_bind_bytes(st, 5, snap->bytes.p, snap->bytes.n);
	r = sqlite_run(s, SQL_SNAPSHOT_PUT, "write a snapshot", err);
	if (r == 0)
		r = sqlite_run(s, SQL_SNAPSHOT_TRIM, "write a snapshot", err);
	return r;
}

int sqlite_snapshot_put(struct store *store, const struct store_snapshot *snap, struct ov_err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)store;
	int r = sqlite_begin_fenced(s, "write a snapshot", err);

	if (r < 0)
		return r;
	r = do_snapshot_put(s, snap, err);
	if (r == 0)
		r = sqlite_run(s, SQL_COMMIT, "write a snapshot", err);
	if (r < 0)
		sqlite_rollback(s);
	else
		s->snapshot = MAX(s->snapshot, snap->seq);
	return r;
}

/* The newest that is damaged is what is told of; in salvage there is worse to tell. */
static void note_damage(struct sqlite_store *s, const char *what)
{
	struct buf b = BUF_INIT;

	if (s->mode == STORE_SALVAGE || s->damage)
		return;
	buf_addf(&b, "%s: %s", s->path, what);
	s->damage = mem_zalloc(1, b.n + 1);
	memcpy(s->damage, b.p, b.n);
	buf_done(&b);
}

static void note_row(struct sqlite_store *s, uint64_t seq)
{
	struct buf b = BUF_INIT;

	buf_addf(&b, "the snapshot at event %llu is damaged: it is not what was written",
			(unsigned long long)seq);
	note_damage(s, buf_cstr(&b));
	buf_done(&b);
}

/* 1 when the row is whole, with its bytes still in the statement's memory. */
static int load_row(struct sqlite_store *s, sqlite3_stmt *st, struct store_snapshot *ret,
		struct ov_err *err)
{
	uint8_t want[SHA256_LEN], sum[SHA256_LEN];
	int r;

	ret->seq = (uint64_t)sqlite3_column_int64(st, 0);
	ret->format = sqlite3_column_int64(st, 2);
	ret->bytes = sqlite_column_str(st, 4);
	sha256(ret->bytes.p, ret->bytes.n, sum);
	if (!sqlite_column_hash(st, 1, ret->hash) || !sqlite_column_hash(st, 3, want) ||
			memcmp(sum, want, SHA256_LEN) != 0) {
		note_row(s, ret->seq);
		return 0;
	}
	r = hash_at(s, ret->seq, want, err);
	if (r == OV_EUNAVAILABLE)
		return 0; /* its record cannot be looked up */
	if (r < 0)
		return r;
	if (r == 0 || memcmp(ret->hash, want, SHA256_LEN) != 0)
		return ov_fail(err, OV_EIO,
				"%s: hash chain broken at seq %llu: the snapshot was taken of "
				"another record",
				s->path, (unsigned long long)ret->seq);
	return 1;
}

static int get(struct sqlite_store *s, struct arena *a, struct store_snapshot *ret,
		struct ov_err *err)
{
	struct store_snapshot snap;
	sqlite3_stmt *st;
	int rc, r = sqlite_stmt(s, SQL_SNAPSHOT_GET, &st, err);

	if (r < 0)
		return r;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		r = load_row(s, st, &snap, err);
		if (r != 0)
			break;
	}
	if (r == 0 && rc != SQLITE_DONE && sqlite_is_damage(s->db))
		note_damage(s, "a snapshot cannot be read: the file is damaged");
	if (r == 1) {
		snap.bytes = arena_str(a, snap.bytes);
		*ret = snap;
		r = 0;
	} else if (r == 0) {
		r = rc == SQLITE_DONE ? ov_fail(err, OV_ENOTFOUND, "%s has no snapshot", s->path)
				      : sqlite_fail(s->db, s->path, "read the snapshot", err);
	}
	sqlite3_reset(st);
	return r;
}

int sqlite_snapshot_get(struct store *store, struct arena *a, struct store_snapshot *ret,
		struct ov_err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)store;
	struct store_snapshot snap;
	int r;

	do {
		r = sqlite_refresh(s, err);
		if (r < 0)
			return r;
		r = sqlite_begin_read(s, err);
		if (r < 0)
			return r;
		r = get(s, a, &snap, err);
		sqlite_rollback(s);
	} while (!sqlite_is_fresh(s));
	if (r == 0) {
		*ret = snap;
		s->snapshot = snap.seq;
	}
	return r;
}
