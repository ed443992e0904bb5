/*
 * Opening, so that a file that we must not touch stays as it is: an existing one is looked at
 * through a read-only connection before anything is opened for writing.
 *
 * Reading a database in WAL mode needs its -wal and -shm files, and even a read-only connection
 * creates them when they are absent. They are absent exactly when nobody has it open and the last
 * writer closed it in peace; then SQLite's "immutable" mode reads the file alone, with no lock
 * and no other file, also in a directory that cannot be written. That is right only as long as
 * nobody writes, so each answer of such a connection is accepted only if afterwards the file is
 * the same as before and there still is no -wal file; otherwise the store is opened again and
 * asked again. A writer leaves one of these traces before it changes anything that we read.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "store/sqlite_impl.h"

enum { BUSY_MS = 2000, TRIES = 100 };

static bool beside_exists(const char *path, const char *suffix)
{
	struct buf name = BUF_INIT;
	bool there;

	buf_addf(&name, "%s%s", path, suffix);
	there = access(buf_cstr(&name), F_OK) == 0;
	buf_done(&name);
	return there;
}

/* A URI, since only that can say immutable; all bytes with a meaning in one are escaped. */
static void add_uri(struct buf *b, const char *path, bool immutable)
{
	buf_adds(b, STR("file:"));
	if (path[0] != '/')
		buf_adds(b, STR("./")); /* so that ":memory:" is a file like any other */
	for (const char *p = path; *p; p++) {
		if (strchr("?#%", *p) || (unsigned char)*p <= ' ')
			buf_addf(b, "%%%02X", (unsigned)(unsigned char)*p);
		else
			buf_addc(b, *p);
	}
	if (immutable)
		buf_adds(b, STR("?immutable=1"));
}

static int connect_db(struct sqlite_store *s, int flags, struct ov_err *err)
{
	struct buf uri = BUF_INIT;
	int rc;

	add_uri(&uri, s->path, s->immutable);
	rc = sqlite3_open_v2(buf_cstr(&uri), &s->db,
			flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
			NULL);
	buf_done(&uri);
	if (rc != SQLITE_OK)
		return sqlite_fail(s->db, s->path, "open", err);
	sqlite3_busy_timeout(s->db, BUSY_MS);
	/* The file may come from elsewhere: its schema gets no say over what our statements do. */
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (flags & SQLITE_OPEN_READONLY)
		sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	return 0;
}

int sqlite_refuse_newer(const char *path, int version, struct ov_err *err)
{
	return ov_fail(err, OV_ESTATE,
			"%s has schema version %d, this program knows up to %d: a newer Overseer "
			"wrote it; it was not touched",
			path, version, sqlite_migrations_n);
}

int sqlite_connect_read_only(struct sqlite_store *s, struct ov_err *err)
{
	if (stat(s->path, &s->seen) < 0)
		return errno == ENOENT
				? ov_fail(err, OV_ENOTFOUND, "there is no store at %s", s->path)
				: ov_fail_errno(err, errno, "%s", s->path);
	if (!S_ISREG(s->seen.st_mode))
		return ov_fail(err, OV_EIO, "%s is not a file", s->path);
	s->immutable = !beside_exists(s->path, "-wal");
	return connect_db(s, SQLITE_OPEN_READONLY, err);
}

bool sqlite_is_fresh(const struct sqlite_store *s)
{
	struct stat now;

	if (!s->immutable || s->mode == STORE_SALVAGE)
		return true;
	return stat(s->path, &now) == 0 && now.st_dev == s->seen.st_dev &&
			now.st_ino == s->seen.st_ino && now.st_size == s->seen.st_size &&
			now.st_mtim.tv_sec == s->seen.st_mtim.tv_sec &&
			now.st_mtim.tv_nsec == s->seen.st_mtim.tv_nsec &&
			!beside_exists(s->path, "-wal");
}

/* Connects for reading; OV_EIO or OV_ESTATE when the file is not for us. */
static int open_look(struct sqlite_store *s, int *ret_version, struct ov_err *err)
{
	int version, r;

	r = sqlite_connect_read_only(s, err);
	if (r == 0)
		r = sqlite_schema_version(s->db, s->path, &version, err);
	if (r < 0)
		return r;
	if (version > sqlite_migrations_n)
		return sqlite_refuse_newer(s->path, version, err);
	s->version = version;
	/* Reads the log's root, so that plain damage shows before anything is written. */
	if (version > 0) {
		r = sqlite_load_head(s, err);
		if (r < 0)
			return r;
	}
	*ret_version = version;
	return 0;
}

int sqlite_open_read_only(struct sqlite_store *s, struct ov_err *err)
{
	int version, r, tries = 0;

	/* What looks damaged may be half written, by a writer that left its trace meanwhile. */
	while ((r = open_look(s, &version, err)) == OV_EIO && tries++ < TRIES &&
			!sqlite_is_fresh(s))
		sqlite_disconnect(s);
	if (r < 0)
		return r;
	if (version < sqlite_migrations_n)
		return ov_fail(err, OV_ESTATE,
				"%s has schema version %d, this program reads version %d: "
				"start the daemon once to bring it up to date",
				s->path, version, sqlite_migrations_n);
	return 0;
}

int sqlite_refresh(struct sqlite_store *s, struct ov_err *err)
{
	int r;

	if (s->db && sqlite_is_fresh(s))
		return 0;
	sqlite_disconnect(s);
	r = sqlite_open_read_only(s, err);
	if (r < 0)
		sqlite_disconnect(s); /* so that the next try begins anew */
	return r;
}

/* True when the file is new. 0600: the log is nobody else's business; -wal and -shm follow it. */
static int create_file(const char *path, bool *ret_new, struct ov_err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	*ret_new = fd >= 0;
	if (fd >= 0)
		close(fd);
	else if (errno != EEXIST)
		return ov_fail_errno(err, errno, "cannot create the store %s", path);
	return 0;
}

static int look_first(const char *path, struct ov_err *err)
{
	struct sqlite_store probe = { .mode = STORE_READ_ONLY,
		.path = (char *)path,
		.lock_fd = -1 };
	int version, r;

	r = open_look(&probe, &version, err);
	sqlite_disconnect(&probe);
	return r;
}

/*
 * synchronous=FULL: a commit is on disk when it returns. The automatic checkpoint stalls the
 * commit that crosses its threshold for as long as copying that many pages and two fsyncs take; a
 * log touches each page only a few times, so a larger threshold saves next to nothing and only
 * makes the stall longer: 4 MiB is a few milliseconds on a disk that deserves the name. The size
 * limit shrinks a write-ahead log that a slow reader let grow. Freed pages hold old snapshots and
 * need no wiping.
 */
static const char pragmas[] = "PRAGMA synchronous=FULL;PRAGMA wal_autocheckpoint=1000;"
			      "PRAGMA journal_size_limit=16777216;PRAGMA secure_delete=OFF;"
			      "PRAGMA cell_size_check=ON;";

static int set_up(struct sqlite_store *s, struct ov_err *err)
{
	sqlite3_stmt *st = NULL;
	bool told, kept = false;
	int r = 0;

	told = sqlite3_prepare_v2(s->db, "PRAGMA journal_mode=WAL", -1, &st, NULL) == SQLITE_OK &&
			sqlite3_step(st) == SQLITE_ROW;
	if (told && strcmp((const char *)sqlite3_column_text(st, 0), "wal") != 0)
		r = ov_fail(err, OV_EIO, "%s: this file system cannot keep a write-ahead log",
				s->path);
	/*
	 * The mode is told first and written last: without that the old journal would serve on,
	 * less safely.
	 */
	else
		kept = told && sqlite3_step(st) == SQLITE_DONE;
	if (r == 0 && !kept)
		r = sqlite_fail(s->db, s->path, "open", err);
	sqlite3_finalize(st);
	if (r == 0 && sqlite3_exec(s->db, pragmas, NULL, NULL, NULL) != SQLITE_OK)
		r = sqlite_fail(s->db, s->path, "open", err);
	return r;
}

int sqlite_settle(struct sqlite_store *s, bool wait, struct ov_err *err)
{
	int rc;

	sqlite3_busy_timeout(s->db, wait ? BUSY_MS : 0);
	rc = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_busy_timeout(s->db, BUSY_MS);
	if (rc == SQLITE_OK || (!wait && (rc & 0xff) == SQLITE_BUSY))
		return 0;
	return sqlite_fail(s->db, s->path, "settle what was written before", err);
}

int sqlite_settle_file(const char *path, struct ov_err *err)
{
	struct sqlite_store s = { .mode = STORE_READ_WRITE, .path = (char *)path, .lock_fd = -1 };
	int version, r = connect_db(&s, SQLITE_OPEN_READWRITE, err);

	/* The first look opens the write-ahead log. */
	if (r == 0)
		r = sqlite_schema_version(s.db, path, &version, err);
	if (r == 0)
		r = sqlite_settle(&s, true, err);
	sqlite_disconnect(&s);
	return r;
}

/* Under the lease's lock, so that the schema never changes beneath a live daemon. */
static int bring_up_to_date(struct sqlite_store *s, struct ov_err *err)
{
	int fd = -1, r;

	r = s->is_archive ? 0 : sqlite_lock(s->path, &fd, err);
	if (r < 0)
		return ov_wrap(err, r, "%s has to be brought up to date", s->path);
	r = sqlite_migrate(s->db, s->path, sqlite_migrations, sqlite_migrations_n, err);
	if (fd >= 0)
		close(fd);
	return r;
}

int sqlite_open_read_write(struct sqlite_store *s, struct ov_err *err)
{
	int version, r;
	bool new;

	r = create_file(s->path, &new, err);
	/*
	 * What a crashed creation left needs its rollback journal, which only a writer can
	 * play back.
	 */
	if (r == 0 && !new && !beside_exists(s->path, "-journal"))
		r = look_first(s->path, err);
	if (r == 0)
		r = connect_db(s, SQLITE_OPEN_READWRITE, err);
	if (r < 0)
		return r;
	/* SQLite silently falls back to reading when it may not write. */
	if (sqlite3_db_readonly(s->db, "main"))
		return ov_fail(err, OV_EIO, "%s is read-only: no permission to write it", s->path);
	r = sqlite_schema_version(s->db, s->path, &version, err);
	if (r == 0 && version > sqlite_migrations_n)
		r = sqlite_refuse_newer(s->path, version, err);
	if (r == 0)
		r = set_up(s, err);
	if (r == 0 && version < sqlite_migrations_n)
		r = bring_up_to_date(s, err);
	s->version = sqlite_migrations_n;
	if (r == 0)
		r = sqlite_load_head(s, err);
	return r;
}
