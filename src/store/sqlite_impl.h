#pragma once
/*
 * The inside of the SQLite back-end, shared by its files and its tests: the handle, its prepared
 * statements, errors in words. The handle owns the connection, the statements and the lock.
 *
 * The database closes its file descriptors by POSIX rules: opening and closing the file by other
 * means in the same process would drop the locks of a live connection. So nothing here opens the
 * database file but SQLite, except to create it.
 */
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "store/store_impl.h"

enum { SQLITE_STORE_ID = 0x4f565352 }; /* "OVSR", the application_id of our files */

struct migration {
	const char *name;
	const char *sql;
};

/* Element i leads from schema version i to i + 1. */
extern const struct migration sqlite_migrations[];
extern const int sqlite_migrations_n;

enum sqlite_sql {
	SQL_BEGIN,
	SQL_BEGIN_READ,
	SQL_COMMIT,
	SQL_HEAD,
	SQL_FENCE,
	SQL_INSERT,
	SQL_READ,
	SQL_HASH_AT,
	SQL_FORGET,
	SQL_BORDER_GET,
	SQL_BORDER_SET,
	SQL_LEASE_GET,
	SQL_LEASE_SET,
	SQL_LEASE_CLEAR,
	SQL_SNAPSHOT_PUT,
	SQL_SNAPSHOT_TRIM,
	SQL_SNAPSHOT_GET,
	SQL_COUNT,
};

struct sqlite_store {
	struct store store;
	enum store_mode mode;
	char *path;
	sqlite3 *db;
	sqlite3_stmt *stmts[SQL_COUNT]; /* prepared at their first use */
	uint64_t head;                  /* of the log, as last seen */
	uint8_t head_hash[SHA256_LEN];
	int lock_fd;      /* -1: the lease is not ours */
	uint64_t term;    /* of our lease */
	bool immutable;   /* read-only, and there was no write-ahead log: see sqlite_open.c */
	struct stat seen; /* the file when an immutable connection was opened */
	char *damage;     /* salvage: what is wrong; else of a snapshot; or NULL */
	int version;      /* of the file's schema; the first had no border */
	uint64_t border;  /* records up to here are in the archive, as last seen */
	uint8_t border_hash[SHA256_LEN];
	uint64_t snapshot;            /* the newest that is known to be whole, 0: none is known */
	struct sqlite_store *archive; /* from its first use */
	bool is_archive;              /* we are one: it is the store's lease that counts */
};

/* Closes connection and statements; the lease stays. */
void sqlite_disconnect(struct sqlite_store *s);
int sqlite_open_read_only(struct sqlite_store *s, struct ov_err *err);
int sqlite_open_read_write(struct sqlite_store *s, struct ov_err *err);
/*
 * What a process wrote that died before its sync, or whose sync failed, can be read and yet be in
 * the system's memory alone; worse, a later sync need not write it. So before anything is built on
 * what is there it goes into the database once more, and the write-ahead log begins anew. A reader
 * may hold that up: without waiting it is left out then.
 */
int sqlite_settle(struct sqlite_store *s, bool wait, struct ov_err *err);
int sqlite_settle_file(const char *path, struct ov_err *err); /* whatever else is in it */
/* Damage is noted in the handle, not an error. */
int sqlite_open_salvage(struct sqlite_store *s, struct ov_err *err);
/* Connects for reading, whatever is in the file. */
int sqlite_connect_read_only(struct sqlite_store *s, struct ov_err *err);
int sqlite_refuse_newer(const char *path, int version, struct ov_err *err);
/* An immutable connection is only right while nobody writes: false when somebody did. */
bool sqlite_is_fresh(const struct sqlite_store *s);
/* Opens again when it is not. */
int sqlite_refresh(struct sqlite_store *s, struct ov_err *err);

/* The file's schema version, without changing it; OV_EIO when it is no store of ours. */
int sqlite_schema_version(sqlite3 *db, const char *path, int *ret, struct ov_err *err);
/* From the file's version to n, each migration in a transaction of its own. */
int sqlite_migrate(sqlite3 *db, const char *path, const struct migration *list, int n,
		struct ov_err *err);

/* Is the connection's last error one of what the file holds, rather than of reaching it? */
bool sqlite_is_damage(sqlite3 *db);
/* Turns the connection's last error into words and a code. */
int sqlite_fail(sqlite3 *db, const char *path, const char *doing, struct ov_err *err);
/* The statement, ready to be bound; whoever steps it resets it. */
int sqlite_stmt(struct sqlite_store *s, enum sqlite_sql id, sqlite3_stmt **ret, struct ov_err *err);
/* Runs a statement that gives no rows. */
int sqlite_run(struct sqlite_store *s, enum sqlite_sql id, const char *doing, struct ov_err *err);
void sqlite_rollback(struct sqlite_store *s);
void sqlite_bind_bytes(sqlite3_stmt *st, int i, const void *p, size_t n);
void sqlite_bind_str(sqlite3_stmt *st, int i, str text);
str sqlite_column_str(sqlite3_stmt *st, int i); /* valid until the next step */
/* false when the column is not a hash. */
bool sqlite_column_hash(sqlite3_stmt *st, int i, uint8_t ret[static SHA256_LEN]);
int sqlite_broken(struct sqlite_store *s, uint64_t seq, const char *why, struct ov_err *err);
/*
 * The row of SQL_READ after the record with hash prev, which becomes the row's own. Its texts are
 * valid until the next step.
 */
int sqlite_read_row(struct sqlite_store *s, sqlite3_stmt *st, uint8_t prev[static SHA256_LEN],
		struct store_record *ret, struct ov_err *err);

typedef VEC(struct store_record) sqlite_rows;
/*
 * Records of this file after `after`, verified, with their texts in a. known is the hash of record
 * `after`, which is not in this file; NULL: it is.
 */
int sqlite_read_rows(struct sqlite_store *s, uint64_t after, const uint8_t *known, size_t limit,
		struct arena *a, sqlite_rows *out, struct ov_err *err);
/* Appends to this file's log; hash is the head's, and becomes that of the last record. */
int sqlite_insert(struct sqlite_store *s, const struct store_record *recs, size_t n,
		uint8_t hash[static SHA256_LEN], struct ov_err *err);

/*
 * Begins a read transaction and loads the border: whoever moves records meanwhile is not seen.
 * On failure none is open; end with sqlite_rollback.
 */
int sqlite_begin_read(struct sqlite_store *s, struct ov_err *err);
int sqlite_load_border(struct sqlite_store *s, struct ov_err *err);
/*
 * The archive, not necessarily connected: sqlite_refresh does that. OV_EUNAVAILABLE: it is missing.
 */
int sqlite_archive_get(struct sqlite_store *s, bool write, struct sqlite_store **ret,
		struct ov_err *err);
void sqlite_archive_drop(struct sqlite_store *s);
/* As sqlite_read_rows, from both files. */
int sqlite_read_both(struct sqlite_store *s, uint64_t after, size_t limit, struct arena *a,
		sqlite_rows *out, struct ov_err *err);
/* The record's hash in the archive: 1, or 0 when it has none. */
int sqlite_archive_hash(struct sqlite_store *s, uint64_t seq, uint8_t ret[static SHA256_LEN],
		struct ov_err *err);
/* Puts the archive's records into a copy of the store, which then stands alone. */
int sqlite_archive_into(struct sqlite_store *s, sqlite3 *to, const char *path, struct ov_err *err);
int sqlite_archive(struct store *s, uint64_t upto, size_t max, size_t *ret_moved,
		struct ov_err *err);
int sqlite_border(struct store *s, uint64_t *ret_seq, struct ov_err *err);

/* 1 and the hash of that record of this file, or 0 when it has none. */
int sqlite_hash_at(struct sqlite_store *s, uint64_t seq, uint8_t ret[static SHA256_LEN],
		struct ov_err *err);
/* Reads the log's head from the file into the handle. */
int sqlite_load_head(struct sqlite_store *s, struct ov_err *err);
/*
 * Begins a write transaction and checks that the lease is still ours, by its term; the head is
 * loaded. On failure no transaction is open.
 */
int sqlite_begin_fenced(struct sqlite_store *s, const char *doing, struct ov_err *err);

/* The lock file beside the database: OV_ECONFLICT when another process holds it. */
int sqlite_lock(const char *path, int *ret_fd, struct ov_err *err);
int sqlite_lease_take(struct store *s, str holder, struct arena *a, struct store_lease *ret,
		struct ov_err *err);
void sqlite_lease_release(struct store *s);

int sqlite_verify(struct store *s, uint64_t after, uint64_t *ret_last, struct ov_err *err);
int sqlite_check(struct store *s, struct ov_err *err);
int sqlite_copy(struct store *s, const char *path, struct ov_err *err);
str sqlite_damage(struct store *s);

int sqlite_snapshot_put(struct store *s, const struct store_snapshot *snap, struct ov_err *err);
int sqlite_snapshot_get(struct store *s, struct arena *a, struct store_snapshot *ret,
		struct ov_err *err);
