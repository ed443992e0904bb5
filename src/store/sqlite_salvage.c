/*
 * Finding out what is left of a file, and keeping a copy: the chain without its records, SQLite's
 * own check, the part of a damaged store that can be verified, and copies of a live one.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "store/sqlite_impl.h"

enum { FINDINGS = 5 }; /* lines of SQLite's check that are told */

bool sqlite_is_damage(sqlite3 *db)
{
	int rc = sqlite3_extended_errcode(db);

	switch (rc & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_FORMAT: return true;
	/* Our statements are right: one that the database does not understand misses its table. */
	case SQLITE_ERROR: return rc == SQLITE_ERROR;
	case SQLITE_IOERR: return rc == SQLITE_IOERR_SHORT_READ || rc == SQLITE_IOERR_CORRUPTFS;
	default: return false;
	}
}

/* The hash of record `after`, which the next one is chained to. */
static int begin_after(struct sqlite_store *s, sqlite3_stmt *st, uint64_t after,
		uint8_t prev[static SHA256_LEN], struct ov_err *err)
{
	int rc = sqlite3_step(st);

	if (rc == SQLITE_DONE)
		return sqlite_broken(s, after, "the record is missing", err);
	if (rc != SQLITE_ROW)
		return sqlite_fail(s->db, s->path, "read the log", err);
	if ((uint64_t)sqlite3_column_int64(st, 0) != after || !sqlite_column_hash(st, 4, prev))
		return sqlite_broken(s, after, "the record is missing or has no hash", err);
	return 0;
}

/*
 * One file. *ret_last and, in the end, hash advance with each record that is verified; known says
 * that hash is that of record `after`, which is not in this file.
 */
static int walk_file(struct sqlite_store *s, uint64_t after, uint64_t upto, bool known,
		uint64_t *ret_last, uint8_t hash[static SHA256_LEN], struct ov_err *err)
{
	struct store_record rec;
	sqlite3_stmt *st;
	int rc = SQLITE_DONE, r = sqlite_stmt(s, SQL_READ, &st, err);

	*ret_last = after;
	if (r < 0)
		return r;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)after);
	sqlite3_bind_int64(st, 2, INT64_MAX);
	if (!known)
		r = begin_after(s, st, after, hash, err);
	while (r == 0 && *ret_last < upto && (rc = sqlite3_step(st)) != SQLITE_DONE) {
		if (rc != SQLITE_ROW)
			r = sqlite_fail(s->db, s->path, "read the log", err);
		else if ((uint64_t)sqlite3_column_int64(st, 0) != *ret_last + 1)
			r = sqlite_broken(s, *ret_last + 1, "the record is missing", err);
		else
			r = sqlite_read_row(s, st, hash, &rec, err);
		*ret_last += r == 0;
	}
	sqlite3_reset(st);
	return r;
}

/* The archive's part, which has to end with the record that the store goes on from. */
static int walk_archive(struct sqlite_store *s, uint64_t after, uint64_t *ret_last,
		uint8_t hash[static SHA256_LEN], struct ov_err *err)
{
	struct sqlite_store *ar;
	int r = sqlite_archive_get(s, false, &ar, err);

	*ret_last = after;
	if (r < 0)
		return r;
	do {
		r = sqlite_refresh(ar, err);
		if (r < 0)
			return r;
		memset(hash, 0, SHA256_LEN);
		r = walk_file(ar, after, s->border, after == 0, ret_last, hash, err);
	} while (!sqlite_is_fresh(ar));
	if (r == 0 && *ret_last < s->border)
		return sqlite_broken(ar, *ret_last + 1, "the record is missing", err);
	if (r == 0 && memcmp(hash, s->border_hash, SHA256_LEN) != 0)
		return sqlite_broken(ar, s->border, "the store goes on from another record", err);
	return r;
}

static int walk(struct sqlite_store *s, uint64_t after, uint64_t *ret_last,
		uint8_t hash[static SHA256_LEN], struct ov_err *err)
{
	int r = after < s->border ? walk_archive(s, after, ret_last, hash, err) : 0;

	if (r < 0)
		return r;
	memcpy(hash, s->border_hash, SHA256_LEN);
	return walk_file(s, MAX(after, s->border), UINT64_MAX, after <= s->border, ret_last, hash,
			err);
}

int sqlite_verify(struct store *store, uint64_t after, uint64_t *ret_last, struct ov_err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)store;
	uint8_t hash[SHA256_LEN];
	int r;

	do {
		r = sqlite_refresh(s, err);
		if (r < 0)
			return r;
		r = sqlite_begin_read(s, err);
		if (r < 0)
			return r;
		r = after >= INT64_MAX ? sqlite_broken(s, after, "the record is missing", err)
				       : walk(s, after, ret_last, hash, err);
		sqlite_rollback(s);
	} while (!sqlite_is_fresh(s));
	return r;
}

static int check_file(struct sqlite_store *s, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf found = BUF_INIT;
	sqlite3_stmt *st = NULL;
	int rc, r;

	do {
		buf_clear(&found);
		r = sqlite_refresh(s, err);
		if (r < 0)
			return r;
		rc = sqlite3_prepare_v2(s->db, "PRAGMA integrity_check(20)", -1, &st, NULL);
		for (int i = 0; rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW; i++)
			if (i < FINDINGS)
				buf_addf(&found, "%s" STR_FMT, i ? "; " : "",
						STR_ARG(sqlite_column_str(st, 0)));
		if (found.n == 0)
			r = sqlite_fail(s->db, s->path, "check", err);
		sqlite3_finalize(st);
	} while (!sqlite_is_fresh(s));
	if (r < 0 || str_is(buf_str(&found), "ok"))
		return r;
	return ov_fail(err, OV_EINVALID, "%s: SQLite finds: " STR_FMT, s->path,
			STR_ARG(buf_str(&found)));
}

int sqlite_check(struct store *store, struct ov_err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)store, *ar;
	uint64_t border;
	int r = check_file(s, err);

	if (r == 0)
		r = sqlite_border(store, &border, err);
	if (r < 0 || border == 0)
		return r;
	r = sqlite_archive_get(s, false, &ar, err);
	return r < 0 ? r : check_file(ar, err);
}

static int copy_pages(struct sqlite_store *s, sqlite3 *to, const char *path, struct ov_err *err)
{
	sqlite3_backup *b;
	int rc;

	/* The file is nobody's before it is whole: no journal, and the caller syncs it. */
	if (sqlite3_exec(to, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", NULL, NULL, NULL))
		return sqlite_fail(to, path, "copy", err);
	b = sqlite3_backup_init(to, "main", s->db, "main");
	if (!b)
		return sqlite_fail(to, path, "copy", err);
	/* All at once: one read transaction, which holds up no writer in WAL mode. */
	rc = sqlite3_backup_step(b, -1);
	sqlite3_backup_finish(b);
	return rc == SQLITE_DONE ? 0 : sqlite_fail(to, path, "copy", err);
}

int sqlite_copy(struct store *store, const char *path, struct ov_err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)store;
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), r;
	sqlite3 *to = NULL;

	if (fd < 0)
		return ov_fail_errno(err, errno, "cannot create %s", path);
	close(fd);
	do {
		r = sqlite_refresh(s, err);
		if (r < 0)
			break;
		if (sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE,
				    NULL) != SQLITE_OK)
			r = sqlite_fail(to, path, "copy", err);
		else
			r = copy_pages(s, to, path, err);
		if (r == 0)
			r = sqlite_archive_into(s, to, path, err);
		if (r == OV_EUNAVAILABLE)
			r = 0;
		sqlite3_close(to);
	} while (r == 0 && !sqlite_is_fresh(s));
	if (r < 0)
		unlink(path);
	return r;
}

str sqlite_damage(struct store *store)
{
	return str_from(((struct sqlite_store *)store)->damage);
}

/* Our own findings, as a broken chain, leave no error of SQLite's behind. */
static bool is_out_of_reach(sqlite3 *db)
{
	int rc = db ? sqlite3_errcode(db) & 0xff : SQLITE_OK;

	return rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE && !sqlite_is_damage(db);
}

/*
 * 0 when the failure r is one of what the file holds, which is noted (the first one counts); the
 * failure itself when the file could not be reached.
 */
static int note_damage(struct sqlite_store *s, int r, const struct ov_err *why, struct ov_err *err)
{
	/* A newer program's archive, or none at all, is not for us to judge. */
	if (is_out_of_reach(s->db) || (s->archive && is_out_of_reach(s->archive->db)) ||
			r == OV_ESTATE || r == OV_EUNAVAILABLE) {
		if (err)
			*err = *why;
		return r;
	}
	if (!s->damage)
		s->damage = mem_dup(why->msg, strlen(why->msg));
	return 0;
}

/*
 * From the beginning, and, if that does not reach the end, from the newest whole snapshot: a
 * record that broke long ago does not take away what was built on it since.
 */
static int find_end(struct sqlite_store *s, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct store_snapshot snap;
	struct ov_err why = { 0 };
	uint64_t last;
	uint8_t hash[SHA256_LEN];
	int r = walk(s, 0, &s->head, s->head_hash, &why);

	/* Without its archive a store is whole from the border on. */
	if (r == OV_EUNAVAILABLE)
		r = walk(s, s->border, &s->head, s->head_hash, &why);
	if (r == 0)
		return 0;
	r = note_damage(s, r, &why, err);
	if (r < 0)
		return r;
	if (sqlite_snapshot_get(&s->store, &a, &snap, NULL) < 0 || snap.seq <= s->head)
		return 0;
	(void)walk(s, snap.seq, &last, hash, NULL);
	s->head = last;
	memcpy(s->head_hash, hash, SHA256_LEN);
	return 0;
}

int sqlite_open_salvage(struct sqlite_store *s, struct ov_err *err)
{
	struct ov_err why = { 0 };
	int version = sqlite_migrations_n, r;

	r = sqlite_connect_read_only(s, err);
	if (r < 0)
		return r;
	r = sqlite_schema_version(s->db, s->path, &version, &why);
	if (r == 0 && version > sqlite_migrations_n)
		return sqlite_refuse_newer(s->path, version, err);
	/* Not ours by its marks: what is in it is looked at all the same. */
	if (r < 0)
		r = note_damage(s, r, &why, err);
	if (r < 0)
		return r;
	if (version == 0)
		return 0; /* created, and not yet filled */
	s->version = version;
	r = sqlite_load_border(s, &why);
	if (r < 0)
		r = note_damage(s, r, &why, err);
	return r < 0 ? r : find_end(s, err);
}
