#include "base/err.h"
#include "store/sqlite_impl.h"

static int query_int(sqlite3 *db, const char *path, const char *sql, int *ret, struct ov_err *err)
{
	sqlite3_stmt *st = NULL;
	int r = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK ||
			sqlite3_step(st) != SQLITE_ROW)
		r = sqlite_fail(db, path, "open", err);
	else
		*ret = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	return r;
}

int sqlite_schema_version(sqlite3 *db, const char *path, int *ret, struct ov_err *err)
{
	int id = 0, version = 0, tables = 0, r;

	/* The first one reads the file: it fails if that is no database. */
	r = query_int(db, path, "SELECT count(*) FROM sqlite_schema", &tables, err);
	if (r == 0)
		r = query_int(db, path, "PRAGMA application_id", &id, err);
	if (r == 0)
		r = query_int(db, path, "PRAGMA user_version", &version, err);
	if (r < 0)
		return r;
	if (id == 0 && version == 0 && tables == 0) {
		*ret = 0; /* new and empty, or a creation that did not come to its first commit */
		return 0;
	}
	if (id != SQLITE_STORE_ID || version < 1)
		return ov_fail(err, OV_EIO, "%s is the database of another program, not a store",
				path);
	*ret = version;
	return 0;
}

static int exec(sqlite3 *db, const char *path, const char *doing, const char *sql,
		struct ov_err *err)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return sqlite_fail(db, path, doing, err);
	return 0;
}

/* Inside a transaction: so that of two processes only one migrates. */
static int migrate_step(sqlite3 *db, const char *path, const struct migration *list, int n,
		int *ret_version, struct ov_err *err)
{
	char pragmas[96];
	int version, r;

	r = sqlite_schema_version(db, path, &version, err);
	if (r < 0 || version >= n) {
		*ret_version = n;
		return r;
	}
	r = exec(db, path, list[version].name, list[version].sql, err);
	if (r < 0)
		return r;
	sqlite3_snprintf(sizeof(pragmas), pragmas,
			"PRAGMA application_id=%d; PRAGMA user_version=%d", SQLITE_STORE_ID,
			version + 1);
	r = exec(db, path, list[version].name, pragmas, err);
	if (r == 0)
		*ret_version = version + 1;
	return r;
}

int sqlite_migrate(sqlite3 *db, const char *path, const struct migration *list, int n,
		struct ov_err *err)
{
	int version = 0, r;

	while (version < n) {
		r = exec(db, path, "migrate", "BEGIN IMMEDIATE", err);
		if (r < 0)
			return r;
		r = migrate_step(db, path, list, n, &version, err);
		if (r == 0)
			r = exec(db, path, "migrate", "COMMIT", err);
		if (r < 0) {
			if (!sqlite3_get_autocommit(db))
				sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
			return ov_wrap(err, r, "migration to schema version %d", version + 1);
		}
	}
	return 0;
}
