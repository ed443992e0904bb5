/*
 * The log in one SQLite file: each append is one transaction, on disk (fsync) when done() runs.
 * A failed one is rolled back and the handle stays usable: when space returns, so do appends.
 */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "store/sqlite_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const sql_text[SQL_COUNT] = {
	[SQL_BEGIN] = "BEGIN IMMEDIATE",
	[SQL_BEGIN_READ] = "BEGIN",
	[SQL_COMMIT] = "COMMIT",
	[SQL_HEAD] = "SELECT seq, hash FROM log ORDER BY seq DESC LIMIT 1",
	[SQL_FENCE] = "SELECT term, (SELECT max(seq) FROM log) FROM lease WHERE id = 1",
	[SQL_INSERT] = "INSERT INTO log (seq, at, kind, body, hash) VALUES (?1, ?2, ?3, ?4, ?5)",
	[SQL_READ] = "SELECT seq,at,kind,body,hash FROM log WHERE seq>=?1 ORDER BY seq LIMIT ?2",
	[SQL_HASH_AT] = "SELECT hash FROM log WHERE seq = ?1",
	[SQL_FORGET] = "DELETE FROM log WHERE seq <= ?1",
	[SQL_BORDER_GET] = "SELECT seq, hash FROM checkpoint WHERE id = 1",
	[SQL_BORDER_SET] = "UPDATE checkpoint SET seq = ?1, hash = ?2 WHERE id = 1",
	[SQL_LEASE_GET] = "SELECT holder, term FROM lease WHERE id = 1",
	[SQL_LEASE_SET] = "UPDATE lease SET holder = ?1, term = ?2 WHERE id = 1",
	[SQL_LEASE_CLEAR] = "UPDATE lease SET holder = '' WHERE id = 1 AND term = ?1",
	[SQL_SNAPSHOT_PUT] = ("INSERT OR REPLACE INTO snapshot (seq, hash, format, sum, bytes)"
			      " VALUES (?1, ?2, ?3, ?4, ?5)"),
	[SQL_SNAPSHOT_TRIM] = ("DELETE FROM snapshot WHERE seq NOT IN"
			       " (SELECT seq FROM snapshot ORDER BY seq DESC LIMIT 2)"),
	[SQL_SNAPSHOT_GET] = "SELECT seq, hash, format, sum, bytes FROM snapshot ORDER BY seq DESC",
};

static struct sqlite_store *sqlite_of(struct store *s)
{
	return (struct sqlite_store *)s;
}

int sqlite_fail(sqlite3 *db, const char *path, const char *doing, struct ov_err *err)
{
	int rc = sqlite3_errcode(db) & 0xff;
	int errnum = rc == SQLITE_IOERR || rc == SQLITE_CANTOPEN ? sqlite3_system_errno(db) : 0;

	if (rc == SQLITE_FULL || errnum == ENOSPC)
		return ov_fail(err, OV_EIO, "%s: %s: the disk is full; nothing was changed", path,
				doing);
	switch (rc) {
	case SQLITE_NOMEM: abort();
	case SQLITE_READONLY:
		return ov_fail(err, OV_EIO, "%s: %s: the store is read-only (%s)", path, doing,
				sqlite3_errmsg(db));
	case SQLITE_NOTADB:
		return ov_fail(err, OV_EIO, "%s is not a store: the file is not a database", path);
	case SQLITE_CORRUPT:
		return ov_fail(err, OV_EIO, "%s: %s: the file is damaged (%s)", path, doing,
				sqlite3_errmsg(db));
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return ov_fail(err, OV_EIO, "%s: %s: another program keeps the database locked",
				path, doing);
	case SQLITE_TOOBIG:
		return ov_fail(err, OV_ELIMIT, "%s: %s: too big for the database", path, doing);
	case SQLITE_CONSTRAINT:
		return ov_fail(err, OV_EIO, "%s: %s: the database does not accept it (%s)", path,
				doing, sqlite3_errmsg(db));
	default: break;
	}
	if (errnum)
		return ov_fail_errno(err, errnum, "%s: %s: %s", path, doing, sqlite3_errmsg(db));
	return ov_fail(err, OV_EIO, "%s: %s: %s", path, doing, sqlite3_errmsg(db));
}

int sqlite_stmt(struct sqlite_store *s, enum sqlite_sql id, sqlite3_stmt **ret, struct ov_err *err)
{
	if (!s->stmts[id] &&
			sqlite3_prepare_v3(s->db, sql_text[id], -1, SQLITE_PREPARE_PERSISTENT,
					&s->stmts[id], NULL) != SQLITE_OK)
		return sqlite_fail(s->db, s->path, "prepare", err);
	*ret = s->stmts[id];
	return 0;
}

int sqlite_run(struct sqlite_store *s, enum sqlite_sql id, const char *doing, struct ov_err *err)
{
	sqlite3_stmt *st;
	int r = sqlite_stmt(s, id, &st, err);

	if (r < 0)
		return r;
	if (sqlite3_step(st) != SQLITE_DONE)
		r = sqlite_fail(s->db, s->path, doing, err);
	sqlite3_reset(st);
	return r;
}

/* SQLite itself rolls back after some errors. */
void sqlite_rollback(struct sqlite_store *s)
{
	if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

void sqlite_bind_bytes(sqlite3_stmt *st, int i, const void *p, size_t n)
{
	/* A null pointer would bind NULL, not the empty value. */
	sqlite3_bind_blob64(st, i, p ? p : "", n, SQLITE_STATIC);
}

void sqlite_bind_str(sqlite3_stmt *st, int i, str text)
{
	sqlite3_bind_text64(st, i, text.p ? text.p : "", text.n, SQLITE_STATIC, SQLITE_UTF8);
}

/* As a blob: the bytes as they are, without a look at their encoding or for a NUL. */
str sqlite_column_str(sqlite3_stmt *st, int i)
{
	const void *p = sqlite3_column_blob(st, i);

	return (str){ p, p ? (size_t)sqlite3_column_bytes(st, i) : 0 };
}

bool sqlite_column_hash(sqlite3_stmt *st, int i, uint8_t ret[static SHA256_LEN])
{
	str bytes = sqlite_column_str(st, i);

	if (bytes.n != SHA256_LEN)
		return false;
	memcpy(ret, bytes.p, SHA256_LEN);
	return true;
}

int sqlite_load_head(struct sqlite_store *s, struct ov_err *err)
{
	uint8_t hash[SHA256_LEN] = { 0 };
	sqlite3_stmt *st;
	uint64_t head = 0;
	int rc, r = sqlite_stmt(s, SQL_HEAD, &st, err);

	if (r < 0)
		return r;
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		head = (uint64_t)sqlite3_column_int64(st, 0);
		if (!sqlite_column_hash(st, 1, hash))
			r = ov_fail(err, OV_EIO, "%s: hash chain broken at seq %llu: no hash",
					s->path, (unsigned long long)head);
	} else if (rc != SQLITE_DONE) {
		r = sqlite_fail(s->db, s->path, "read the log", err);
	} else {
		/* All that there is was moved. */
		r = sqlite_load_border(s, err);
		head = s->border;
		memcpy(hash, s->border_hash, SHA256_LEN);
	}
	sqlite3_reset(st);
	if (r < 0)
		return r;
	s->head = head;
	memcpy(s->head_hash, hash, SHA256_LEN);
	return 0;
}

static int check_fence(struct sqlite_store *s, const char *doing, struct ov_err *err)
{
	uint64_t term, head;
	sqlite3_stmt *st;
	int r = sqlite_stmt(s, SQL_FENCE, &st, err);

	if (r < 0)
		return r;
	if (sqlite3_step(st) != SQLITE_ROW) {
		r = sqlite_fail(s->db, s->path, doing, err);
		sqlite3_reset(st);
		return r;
	}
	term = (uint64_t)sqlite3_column_int64(st, 0);
	head = (uint64_t)sqlite3_column_int64(st, 1);
	sqlite3_reset(st);
	if (term != s->term)
		return ov_fail(err, OV_EFENCED,
				"%s: %s: the lease was taken over (term %llu, ours was %llu)",
				s->path, doing, (unsigned long long)term,
				(unsigned long long)s->term);
	/*
	 * Only with the lease held by force elsewhere, or by raw SQL, does the log move without us.
	 */
	return head == s->head ? 0 : sqlite_load_head(s, err);
}

int sqlite_begin_fenced(struct sqlite_store *s, const char *doing, struct ov_err *err)
{
	int r;

	if (s->mode == STORE_SALVAGE)
		return ov_fail(err, OV_EUNAVAILABLE, "%s: %s: the store is damaged and not written",
				s->path, doing);
	if (s->lock_fd < 0)
		return ov_fail(err, OV_EFENCED, "%s: %s: the store's lease is not held", s->path,
				doing);
	r = sqlite_run(s, SQL_BEGIN, doing, err);
	if (r < 0)
		return r;
	r = check_fence(s, doing, err);
	if (r < 0)
		sqlite_rollback(s);
	return r;
}

int sqlite_insert(struct sqlite_store *s, const struct store_record *recs, size_t n,
		uint8_t hash[static SHA256_LEN], struct ov_err *err)
{
	sqlite3_stmt *st;
	int r = sqlite_stmt(s, SQL_INSERT, &st, err);

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct store_record rec = recs[i];

		rec.seq = s->head + 1 + i;
		store_chain(hash, &rec, hash);
		sqlite3_bind_int64(st, 1, (sqlite3_int64)rec.seq);
		sqlite3_bind_int64(st, 2, rec.at);
		sqlite_bind_str(st, 3, rec.kind);
		sqlite_bind_str(st, 4, rec.body);
		sqlite_bind_bytes(st, 5, hash, SHA256_LEN);
		r = sqlite_run(s, SQL_INSERT, "append", err);
	}
	return r;
}

/*
 * When COMMIT fails, nothing of the group is visible. (The one doubtful case is the disk's: if
 * the fsync failed after the bytes had reached it and the machine then stops, they may turn up as
 * a whole group when it comes back. Who is told OV_EIO has to read the log again anyway.)
 */
static int store_sqlite_append(struct sqlite_store *s, uint64_t expect,
		const struct store_record *recs, size_t n, struct ov_err *err)
{
	uint8_t hash[SHA256_LEN];
	int r = store_check_records(recs, n, err);

	if (r == 0)
		r = sqlite_begin_fenced(s, "append", err);
	if (r < 0)
		return r;
	memcpy(hash, s->head_hash, SHA256_LEN);
	if (expect != s->head)
		r = ov_fail(err, OV_ECONFLICT, "%s: append: the log's head is %llu, not %llu",
				s->path, (unsigned long long)s->head, (unsigned long long)expect);
	if (r == 0)
		r = sqlite_insert(s, recs, n, hash, err);
	if (r == 0)
		r = sqlite_run(s, SQL_COMMIT, "append", err);
	if (r < 0) {
		sqlite_rollback(s);
		return r;
	}
	s->head += n;
	memcpy(s->head_hash, hash, SHA256_LEN);
	return 0;
}

static void sqlite_append(struct store *store, uint64_t expect, const struct store_record *recs,
		size_t n, store_done *done, void *user)
{
	struct sqlite_store *s = sqlite_of(store);
	struct ov_err err;
	int r = store_sqlite_append(s, expect, recs, n, &err);

	done(user, r, s->head, r < 0 ? &err : NULL);
}

int sqlite_broken(struct sqlite_store *s, uint64_t seq, const char *why, struct ov_err *err)
{
	return ov_fail(err, OV_EIO, "%s: hash chain broken at seq %llu: %s", s->path,
			(unsigned long long)seq, why);
}

int sqlite_read_row(struct sqlite_store *s, sqlite3_stmt *st, uint8_t prev[static SHA256_LEN],
		struct store_record *ret, struct ov_err *err)
{
	uint8_t computed[SHA256_LEN];
	struct store_record rec = {
		.seq = (uint64_t)sqlite3_column_int64(st, 0),
		.at = sqlite3_column_int64(st, 1),
		.kind = sqlite_column_str(st, 2),
		.body = sqlite_column_str(st, 3),
	};

	if (!sqlite_column_hash(st, 4, rec.hash))
		return sqlite_broken(s, rec.seq, "it has no hash", err);
	store_chain(prev, &rec, computed);
	if (memcmp(computed, rec.hash, SHA256_LEN) != 0)
		return sqlite_broken(s, rec.seq, "the record or one before it was changed", err);
	memcpy(prev, computed, SHA256_LEN);
	*ret = rec;
	return 0;
}

static int read_row(struct sqlite_store *s, sqlite3_stmt *st, uint8_t prev[static SHA256_LEN],
		struct arena *a, sqlite_rows *out, struct ov_err *err)
{
	struct store_record rec;
	int r = sqlite_read_row(s, st, prev, &rec, err);

	if (r < 0)
		return r;
	rec.kind = arena_str(a, rec.kind);
	rec.body = arena_str(a, rec.body);
	vec_push(out, rec);
	return 0;
}

int sqlite_read_rows(struct sqlite_store *s, uint64_t after, const uint8_t *known, size_t limit,
		struct arena *a, sqlite_rows *out, struct ov_err *err)
{
	uint8_t prev[SHA256_LEN];
	/* The row `after` itself comes first, for its hash, or must not be there. */
	uint64_t want = after + (known != NULL);
	uint64_t rows = MIN((uint64_t)limit, (uint64_t)INT64_MAX - 1) + (known == NULL);
	sqlite3_stmt *st;
	int rc, r = sqlite_stmt(s, SQL_READ, &st, err);

	if (r < 0)
		return r;
	if (known)
		memcpy(prev, known, SHA256_LEN);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)after);
	sqlite3_bind_int64(st, 2, (sqlite3_int64)rows);
	while (r == 0 && (rc = sqlite3_step(st)) != SQLITE_DONE) {
		if (rc != SQLITE_ROW)
			r = sqlite_fail(s->db, s->path, "read the log", err);
		else if ((uint64_t)sqlite3_column_int64(st, 0) != want)
			r = sqlite_broken(s, want, "the record is missing", err);
		else if (want == after)
			r = sqlite_column_hash(st, 4, prev)
					? 0
					: sqlite_broken(s, want, "it has no hash", err);
		else
			r = read_row(s, st, prev, a, out, err);
		want++;
	}
	sqlite3_reset(st);
	return r;
}

static int sqlite_read(struct store *store, uint64_t after, size_t limit, struct arena *a,
		struct store_record **ret, size_t *ret_n, struct ov_err *err)
{
	struct sqlite_store *s = sqlite_of(store);
	sqlite_rows rows = { 0 };
	int r = 0;

	if (s->mode == STORE_SALVAGE)
		limit = after < s->head ? (size_t)MIN((uint64_t)limit, s->head - after) : 0;
	do {
		vec_clear(&rows);
		r = sqlite_refresh(s, err);
		if (r < 0)
			break;
		if (limit && after < INT64_MAX)
			r = sqlite_read_both(s, after, limit, a, &rows, err);
	} while (!sqlite_is_fresh(s));
	if (r == 0) {
		*ret = arena_array(a, struct store_record, rows.n);
		if (rows.n)
			memcpy(*ret, rows.p, rows.n * sizeof(**ret));
		*ret_n = rows.n;
	}
	vec_done(&rows);
	return r;
}

static int sqlite_head(struct store *store, uint64_t *ret_seq, uint8_t ret_hash[static SHA256_LEN],
		struct ov_err *err)
{
	struct sqlite_store *s = sqlite_of(store);
	int r;

	do {
		r = sqlite_refresh(s, err);
		if (r < 0)
			return r;
		if (s->mode != STORE_SALVAGE)
			r = sqlite_load_head(s, err);
	} while (!sqlite_is_fresh(s));
	if (r < 0)
		return r;
	*ret_seq = s->head;
	memcpy(ret_hash, s->head_hash, SHA256_LEN);
	return 0;
}

void sqlite_disconnect(struct sqlite_store *s)
{
	for (size_t i = 0; i < SQL_COUNT; i++) {
		sqlite3_finalize(s->stmts[i]);
		s->stmts[i] = NULL;
	}
	sqlite3_close(s->db);
	s->db = NULL;
}

static void sqlite_store_close(struct store *store)
{
	struct sqlite_store *s = sqlite_of(store);

	sqlite_lease_release(store);
	sqlite_archive_drop(s);
	sqlite_disconnect(s);
	mem_free(s->path);
	mem_free(s->damage);
	mem_free(s);
}

static int (*const open_modes[])(struct sqlite_store *s, struct ov_err *err) = {
	[STORE_READ_WRITE] = sqlite_open_read_write,
	[STORE_READ_ONLY] = sqlite_open_read_only,
	[STORE_SALVAGE] = sqlite_open_salvage,
};

static int sqlite_store_open(str path, enum store_mode mode, struct store **ret, struct ov_err *err)
{
	struct sqlite_store *s;
	int r;

	if (!path.n || memchr(path.p, '\0', path.n))
		return ov_fail(err, OV_EINVALID, "the store's path is empty: write sqlite:PATH");
	s = mem_zalloc(1, sizeof(*s));
	s->store.ops = &store_sqlite_ops;
	s->mode = mode;
	s->path = mem_dup(path.p, path.n);
	s->lock_fd = -1;
	r = open_modes[mode](s, err);
	if (r < 0) {
		sqlite_store_close(&s->store);
		return r;
	}
	*ret = &s->store;
	return 0;
}

static int sqlite_hold(str path, int *ret_fd, struct ov_err *err)
{
	char *copy = mem_dup(path.p, path.n);
	int r = sqlite_lock(copy, ret_fd, err);

	mem_free(copy);
	return r;
}

static int sqlite_settle_path(str path, struct ov_err *err)
{
	char *copy = mem_dup(path.p, path.n);
	int r = sqlite_settle_file(copy, err);

	mem_free(copy);
	return r;
}

static int sqlite_fd(struct store *s _unused_)
{
	return -1;
}

static int sqlite_pump(struct store *s _unused_, struct ov_err *err _unused_)
{
	return 0;
}

const struct store_ops store_sqlite_ops = {
	.scheme = "sqlite",
	.open = sqlite_store_open,
	.close = sqlite_store_close,
	.hold = sqlite_hold,
	.settle = sqlite_settle_path,
	.append = sqlite_append,
	.read = sqlite_read,
	.head = sqlite_head,
	.snapshot_put = sqlite_snapshot_put,
	.snapshot_get = sqlite_snapshot_get,
	.lease_take = sqlite_lease_take,
	.lease_release = sqlite_lease_release,
	.verify = sqlite_verify,
	.check = sqlite_check,
	.archive = sqlite_archive,
	.border = sqlite_border,
	.copy = sqlite_copy,
	.damage = sqlite_damage,
	.fd = sqlite_fd,
	.pump = sqlite_pump,
};
