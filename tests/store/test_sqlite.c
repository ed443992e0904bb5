/* The SQLite back-end and its file: what is refused, what is noticed, what is left alone. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/str.h"
#include "store/sqlite_impl.h"
#include "tests/store/store_test.h"

static sqlite3 *db_of(struct store *s)
{
	return ((struct sqlite_store *)s)->db;
}

static int count_files(const struct test_dir *d)
{
	DIR *dir = opendir(d->path);
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void make_store(const struct test_dir *d, size_t n)
{
	struct store *s = open_held(d);

	append_many(s, 0, n, 10);
	store_close(s);
}

/* Opening must fail with this code and leave the database and the directory as they are. */
static void assert_refused(const struct test_dir *d, enum store_mode mode, int code,
		const char *word)
{
	uint8_t before[2][SHA256_LEN], after[2][SHA256_LEN];
	char wal[320];
	struct store *s = NULL;
	struct ov_err err = { 0 };
	int files = count_files(d);

	snprintf(wal, sizeof(wal), "%s-wal", d->db);
	hash_file(d->db, before[0]);
	hash_file(wal, before[1]);
	assert_int_equal(store_open(str_from(d->url), mode, &s, &err), code);
	assert_null(s);
	if (!strstr(err.msg, word))
		fail_msg("'%s' does not say '%s'", err.msg, word);
	assert_non_null(strstr(err.msg, d->db));
	hash_file(d->db, after[0]);
	hash_file(wal, after[1]);
	assert_memory_equal(before, after, sizeof(before));
	assert_int_equal(count_files(d), files);
}

static void write_file(const char *path, long at, const void *p, size_t n)
{
	FILE *f = fopen(path, at < 0 ? "we" : "r+e");

	assert_non_null(f);
	assert_int_equal(fseek(f, MAX(at, 0), SEEK_SET), 0);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void assert_broken(const struct test_dir *d, const char *sql, uint64_t seq)
{
	struct arena a = ARENA_INIT;
	struct ov_err err = { 0 };
	struct store_record *recs;
	struct store *s;
	char want[64];
	size_t n;

	make_store(d, 20);
	raw_sql(d, sql);
	for (int mode = STORE_READ_WRITE; mode <= STORE_READ_ONLY; mode++) {
		s = open_url(d->url, (enum store_mode)mode);
		assert_int_equal(read_error(s, &err), OV_EIO);
		snprintf(want, sizeof(want),
				"hash chain broken at seq %llu:", (unsigned long long)seq);
		if (!strstr(err.msg, want))
			fail_msg("'%s' does not say '%s'", err.msg, want);
		/* What is before the break can still be read. */
		assert_int_equal(store_read(s, 0, seq - 1, &a, &recs, &n, &err), 0);
		assert_int_equal(n, seq - 1);
		store_close(s);
	}
	arena_done(&a);
	assert_int_equal(unlink(d->db), 0);
}

TEST(tampering_is_noticed_at_its_place)
{
	static const struct {
		const char *sql;
		uint64_t seq;
	} cases[] = {
		{ "UPDATE log SET body = body || ' ' WHERE seq = 7", 7 },
		{ "UPDATE log SET at = at + 1 WHERE seq = 1", 1 },
		{ "UPDATE log SET kind = 'other' WHERE seq = 20", 20 },
		{ "UPDATE log SET hash = zeroblob(32) WHERE seq = 12", 12 },
		{ "UPDATE log SET hash = x'00' WHERE seq = 12", 12 },
		{ "DELETE FROM log WHERE seq = 9", 9 },
		{ "DELETE FROM log WHERE seq = 1", 1 },
		{ "UPDATE log SET seq = -seq WHERE seq IN (5, 6);"
		  "UPDATE log SET seq = 11 + seq WHERE seq < 0",
				5 },
		{ "UPDATE log SET seq = 30 WHERE seq = 20", 20 },
		{ "INSERT INTO log SELECT 21, at, kind, body, hash FROM log WHERE seq = 20", 21 },
		{ "INSERT INTO log SELECT 0, at, kind, body, hash FROM log WHERE seq = 20", 1 },
	};
	struct test_dir d;

	dir_init(&d);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_broken(&d, cases[i].sql, cases[i].seq);
	dir_done(&d);
}

TEST(tampering_is_noticed_when_reading_onwards)
{
	struct test_dir d;
	struct arena a = ARENA_INIT;
	struct store_record *recs;
	struct store *s;
	size_t n;

	dir_init(&d);
	make_store(&d, 20);
	raw_sql(&d, "DELETE FROM log WHERE seq = 9");
	s = open_store(&d, STORE_READ_ONLY);
	assert_int_equal(store_read(s, 9, 5, &a, &recs, &n, NULL), OV_EIO);
	assert_int_equal(store_read(s, 8, 5, &a, &recs, &n, NULL), OV_EIO);
	assert_int_equal(store_read(s, 10, 5, &a, &recs, &n, NULL), 0);
	store_close(s);
	arena_done(&a);
	dir_done(&d);
}

static struct store_snapshot put_snapshot(struct store *s, uint64_t seq, str bytes)
{
	struct store_snapshot snap = { .seq = seq, .format = 1, .bytes = bytes };
	uint64_t head;

	assert_int_equal(store_head(s, &head, snap.hash, NULL), 0);
	assert_int_equal(head, seq);
	assert_int_equal(store_snapshot_put(s, &snap, NULL), 0);
	return snap;
}

TEST(damaged_snapshots_are_skipped)
{
	struct test_dir d;
	struct arena a = ARENA_INIT;
	struct store_snapshot got;
	struct ov_err err;
	struct store *s;

	dir_init(&d);
	s = open_held(&d);
	append_many(s, 0, 5, 5);
	put_snapshot(s, 5, STR("five"));
	append_many(s, 5, 5, 5);
	put_snapshot(s, 10, STR("ten"));
	raw_sql(&d, "UPDATE snapshot SET bytes = x'00' WHERE seq = 10");
	assert_int_equal(store_damage(s).n, 0);
	assert_int_equal(store_snapshot_get(s, &a, &got, &err), 0);
	assert_int_equal(got.seq, 5);
	/* It is not passed over in silence. */
	assert_true(str_contains(store_damage(s), STR("the snapshot at event 10 is damaged")));
	raw_sql(&d, "UPDATE snapshot SET sum = x'00' WHERE seq = 5");
	assert_int_equal(store_snapshot_get(s, &a, &got, &err), OV_ENOTFOUND);
	append_many(s, 10, 5, 5);
	put_snapshot(s, 15, STR("fifteen"));
	/* The log lost its end: the snapshot knows. */
	raw_sql(&d, "DELETE FROM log WHERE seq > 12");
	assert_int_equal(store_snapshot_get(s, &a, &got, &err), OV_EIO);
	assert_non_null(strstr(err.msg, "hash chain broken at seq 15"));
	store_close(s);
	arena_done(&a);
	dir_done(&d);
}

TEST(snapshots_are_two)
{
	struct test_dir d;
	sqlite3_stmt *st;
	struct store *s;

	dir_init(&d);
	s = open_held(&d);
	for (uint64_t i = 1; i <= 5; i++) {
		append_many(s, i - 1, 1, 1);
		put_snapshot(s, i, STR("state"));
	}
	assert_int_equal(sqlite3_prepare_v2(db_of(s), "SELECT count(*), min(seq) FROM snapshot", -1,
					 &st, NULL),
			SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(st, 0), 2);
	assert_int_equal(sqlite3_column_int(st, 1), 4);
	sqlite3_finalize(st);
	store_close(s);
	dir_done(&d);
}

TEST(durability_settings)
{
	static const struct {
		const char *pragma, *value;
	} cases[] = { { "PRAGMA journal_mode", "wal" }, { "PRAGMA synchronous", "2" },
		{ "PRAGMA application_id", "1331057490" },
		{ "PRAGMA wal_autocheckpoint", "1000" } };
	struct test_dir d;
	struct store *s;
	struct stat st;

	dir_init(&d);
	s = open_store(&d, STORE_READ_WRITE);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		sqlite3_stmt *q;

		assert_int_equal(sqlite3_prepare_v2(db_of(s), cases[i].pragma, -1, &q, NULL),
				SQLITE_OK);
		assert_int_equal(sqlite3_step(q), SQLITE_ROW);
		assert_string_equal((const char *)sqlite3_column_text(q, 0), cases[i].value);
		sqlite3_finalize(q);
	}
	assert_int_equal(stat(d.db, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	store_close(s);
	assert_int_equal(count_files(&d), 2 + 2); /* the database and its lock file */
	dir_done(&d);
}

TEST(newer_schema_is_refused_untouched)
{
	struct test_dir d;
	int status;
	pid_t pid;

	dir_init(&d);
	make_store(&d, 20);
	raw_sql(&d, "PRAGMA user_version = 99; CREATE TABLE future (x)");
	assert_refused(&d, STORE_READ_WRITE, OV_ESTATE, "99");
	assert_refused(&d, STORE_READ_ONLY, OV_ESTATE, "99");
	/* The same with a write-ahead log that its writer left: a careless close folds it in. */
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		sqlite3 *db;

		if (sqlite3_open(d.db, &db) == SQLITE_OK &&
				!sqlite3_exec(db, "INSERT INTO future VALUES (1)", NULL, NULL,
						NULL))
			raise(SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_refused(&d, STORE_READ_WRITE, OV_ESTATE, "99");
	assert_refused(&d, STORE_READ_ONLY, OV_ESTATE, "99");
	dir_done(&d);
}

TEST(foreign_files_are_refused_untouched)
{
	static const char text[] = "This is not a database but a text of some length.\n";
	struct test_dir d;
	char junk[8192];

	dir_init(&d);
	raw_sql(&d, "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)");
	assert_refused(&d, STORE_READ_WRITE, OV_EIO, "another program");
	assert_refused(&d, STORE_READ_ONLY, OV_EIO, "another program");
	raw_sql(&d, "PRAGMA application_id = 7; PRAGMA journal_mode = WAL");
	assert_refused(&d, STORE_READ_WRITE, OV_EIO, "another program");
	write_file(d.db, -1, text, sizeof(text));
	assert_refused(&d, STORE_READ_WRITE, OV_EIO, "not a database");
	assert_refused(&d, STORE_READ_ONLY, OV_EIO, "not a database");
	for (size_t i = 0; i < sizeof(junk); i++)
		junk[i] = (char)(i * 2654435761u >> 13);
	write_file(d.db, -1, junk, sizeof(junk));
	assert_refused(&d, STORE_READ_WRITE, OV_EIO, "not a database");
	assert_int_equal(unlink(d.db), 0);
	assert_refused(&d, STORE_READ_ONLY, OV_ENOTFOUND, "no store");
	assert_int_equal(mkdir(d.db, 0700), 0);
	assert_refused(&d, STORE_READ_WRITE, OV_EIO, "not a file");
	assert_int_equal(rmdir(d.db), 0);
	dir_done(&d);
}

TEST(damage_is_refused_untouched)
{
	struct test_dir d;
	char junk[4096];

	memset(junk, 0xee, sizeof(junk));
	dir_init(&d);
	make_store(&d, 1000);
	/* The log's root page. */
	write_file(d.db, 4096, junk, sizeof(junk));
	assert_refused(&d, STORE_READ_WRITE, OV_EIO, "damaged");
	assert_refused(&d, STORE_READ_ONLY, OV_EIO, "damaged");
	assert_int_equal(unlink(d.db), 0);
	make_store(&d, 1000);
	assert_int_equal(truncate(d.db, 3 * 4096), 0);
	assert_refused(&d, STORE_READ_WRITE, OV_EIO, "damaged");
	assert_int_equal(unlink(d.db), 0);
	make_store(&d, 10);
	write_file(d.db, 100, junk, 200); /* the schema */
	assert_refused(&d, STORE_READ_WRITE, OV_EIO, "damaged");
	dir_done(&d);
}

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void read_damaged(const struct test_dir *d)
{
	struct store *s = NULL;
	struct ov_err err = { 0 };
	int r = store_open(str_from(d->url), STORE_READ_ONLY, &s, &err);

	if (r == 0 && read_error(s, &err) == 0)
		assert_int_equal(read_all(s, true), 60);
	if (r < 0 || err.code)
		assert_true(err.code == OV_EIO || err.code == OV_ESTATE);
	store_close(s);
}

/* Whatever byte is wrong: an error, or all records as they were; never a crash or other data. */
TEST(flipped_bytes_never_give_wrong_records)
{
	uint32_t seed = 20240607;
	struct test_dir d;
	struct stat st;
	FILE *f;

	dir_init(&d);
	make_store(&d, 60);
	assert_int_equal(stat(d.db, &st), 0);
	f = fopen(d.db, "r+e");
	assert_non_null(f);
	setbuf(f, NULL);
	for (int i = 0; i < 400; i++) {
		/* Every other time in the header and the schema, where a byte means most. */
		long at = (long)(next_random(&seed) % (uint32_t)(i % 2 ? st.st_size : 200));
		uint8_t was, now;

		assert_int_equal(fseek(f, at, SEEK_SET), 0);
		assert_int_equal(fread(&was, 1, 1, f), 1);
		now = was ^ (uint8_t)(1 + next_random(&seed) % 255);
		assert_int_equal(fseek(f, at, SEEK_SET), 0);
		assert_int_equal(fwrite(&now, 1, 1, f), 1);
		read_damaged(&d);
		assert_int_equal(fseek(f, at, SEEK_SET), 0);
		assert_int_equal(fwrite(&was, 1, 1, f), 1);
	}
	fclose(f);
	read_damaged(&d);
	dir_done(&d);
}

static int version_of(const char *path)
{
	int version = -1;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite_schema_version(db, path, &version, NULL), 0);
	sqlite3_close(db);
	return version;
}

/* A store as the program of schema version k would have left it; 0 is an empty file. */
static void make_version(const struct test_dir *d, int k)
{
	struct ov_err err = { 0 };
	sqlite3 *db;

	assert_int_equal(sqlite3_open(d->db, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL), SQLITE_OK);
	if (sqlite_migrate(db, d->db, sqlite_migrations, k, &err) < 0)
		fail_msg("%s", err.msg);
	sqlite3_close(db);
	assert_int_equal(version_of(d->db), k);
}

TEST(migrations_from_every_older_version)
{
	struct test_dir d;
	struct store *s;

	dir_init(&d);
	for (int k = 0; k <= sqlite_migrations_n; k++) {
		make_version(&d, k);
		if (k < sqlite_migrations_n)
			assert_refused(&d, STORE_READ_ONLY, OV_ESTATE, "up to date");
		make_store(&d, 10);
		assert_int_equal(version_of(d.db), sqlite_migrations_n);
		s = open_store(&d, STORE_READ_ONLY);
		assert_int_equal(read_all(s, true), 10);
		store_close(s);
		assert_int_equal(unlink(d.db), 0);
	}
	write_file(d.db, -1, "", 0); /* created, then stopped */
	make_store(&d, 10);
	assert_int_equal(version_of(d.db), sqlite_migrations_n);
	dir_done(&d);
}

TEST(failed_migration_changes_nothing)
{
	const struct migration list[] = { { "one", "CREATE TABLE a (x)" },
		{ "two", "CREATE TABLE b (x)" },
		{ "three", "CREATE TABLE c (x); INSERT INTO nowhere VALUES (1)" } };
	struct test_dir d;
	struct ov_err err;
	sqlite3 *db;

	dir_init(&d);
	assert_int_equal(sqlite3_open(d.db, &db), SQLITE_OK);
	assert_int_equal(sqlite_migrate(db, d.db, list, 3, &err), OV_EIO);
	assert_non_null(strstr(err.msg, "migration to schema version 3"));
	assert_non_null(strstr(err.msg, "nowhere"));
	assert_int_equal(version_of(d.db), 2);
	assert_int_equal(sqlite3_exec(db, "SELECT * FROM b", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "SELECT * FROM c", NULL, NULL, NULL), SQLITE_ERROR);
	assert_int_equal(sqlite_migrate(db, d.db, list, 2, &err), 0); /* nothing left to do */
	sqlite3_close(db);
	dir_done(&d);
}

/* The schema never changes under a daemon that runs. */
TEST(no_migration_under_a_live_holder)
{
	struct test_dir d;
	struct store *s = NULL;
	struct ov_err err;
	int fd;

	dir_init(&d);
	make_version(&d, 0);
	assert_int_equal(sqlite_lock(d.db, &fd, NULL), 0);
	assert_int_equal(store_open(str_from(d.url), STORE_READ_WRITE, &s, &err), OV_ECONFLICT);
	assert_null(s);
	close(fd);
	assert_int_equal(version_of(d.db), 0);
	store_close(open_store(&d, STORE_READ_WRITE));
	assert_int_equal(version_of(d.db), sqlite_migrations_n);
	dir_done(&d);
}

TEST(head_moved_behind_our_back)
{
	struct test_dir d;
	struct store *s;
	struct store_record one = record(STR("k"), STR("v"));
	struct appended got;

	dir_init(&d);
	s = open_held(&d);
	append_many(s, 0, 3, 3);
	raw_sql(&d, "INSERT INTO log VALUES (4, 1, 'x', 'y', zeroblob(32))");
	got = append(s, 3, &one, 1);
	assert_int_equal(got.r, OV_ECONFLICT);
	assert_int_equal(got.head, 4);
	raw_sql(&d, "DELETE FROM log WHERE seq = 4");
	assert_int_equal(append(s, 4, &one, 1).r, OV_ECONFLICT);
	append_many(s, 3, 3, 3);
	assert_int_equal(read_all(s, true), 6);
	store_close(s);
	dir_done(&d);
}

/* With the lock file gone two can hold the lock: the term fences the older one off. */
TEST(older_term_is_fenced)
{
	struct test_dir d;
	struct arena a = ARENA_INIT;
	struct store *old, *new;
	struct store_record one = record(STR("k"), STR("v"));
	struct store_snapshot snap = { .seq = 2, .bytes = STR("x") };
	struct store_lease lease;
	struct appended got;
	char lock[320];
	uint64_t head;

	dir_init(&d);
	snprintf(lock, sizeof(lock), "%s.lock", d.db);
	old = open_held(&d);
	append_many(old, 0, 2, 2);
	assert_int_equal(unlink(lock), 0);
	new = open_store(&d, STORE_READ_WRITE);
	assert_int_equal(store_lease_take(new, STR("new one"), &a, &lease, NULL), 0);
	assert_int_equal(lease.term, 2);
	got = append(old, 2, &one, 1);
	assert_int_equal(got.r, OV_EFENCED);
	assert_non_null(strstr(got.err.msg, "taken over"));
	assert_int_equal(store_head(old, &head, snap.hash, NULL), 0);
	assert_int_equal(store_snapshot_put(old, &snap, NULL), OV_EFENCED);
	append_many(new, 2, 2, 2);
	store_lease_release(old); /* not its to clear */
	assert_int_equal(store_lease_take(old, STR("old one"), &a, &lease, NULL), OV_ECONFLICT);
	assert_true(str_is(lease.holder, "new one"));
	store_close(new);
	assert_int_equal(store_lease_take(old, STR("old one"), &a, &lease, NULL), 0);
	assert_int_equal(lease.term, 3);
	append_many(old, 4, 1, 1);
	assert_int_equal(read_all(old, true), 5);
	store_close(old);
	arena_done(&a);
	dir_done(&d);
}

/* SQLite's own limit on pages stands for the disk's. */
TEST(full_database)
{
	struct test_dir d;
	struct arena a = ARENA_INIT;
	struct store *s;
	struct appended got = { 0 };
	uint64_t head = 0;

	dir_init(&d);
	s = open_held(&d);
	assert_int_equal(sqlite3_exec(db_of(s), "PRAGMA max_page_count = 40", NULL, NULL, NULL),
			SQLITE_OK);
	for (; got.r == 0; head += 20)
		got = append(s, head, make_records(&a, head, 20), 20);
	head -= 20;
	assert_int_equal(got.r, OV_EIO);
	assert_int_equal(got.head, head);
	assert_non_null(strstr(got.err.msg, "disk is full"));
	assert_int_equal(append(s, head, make_records(&a, head, 20), 20).r, OV_EIO);
	assert_int_equal(read_all(s, true), head);
	assert_int_equal(sqlite3_exec(db_of(s), "PRAGMA max_page_count = 4000", NULL, NULL, NULL),
			SQLITE_OK);
	append_many(s, head, 100, 20);
	assert_int_equal(read_all(s, true), head + 100);
	store_close(s);
	arena_done(&a);
	dir_done(&d);
}

TEST(another_program_keeps_it_locked)
{
	struct test_dir d;
	struct store *s;
	struct store_record one = record(STR("k"), STR("v"));
	struct appended got;
	sqlite3 *db;

	dir_init(&d);
	s = open_held(&d);
	sqlite3_busy_timeout(db_of(s), 1);
	assert_int_equal(sqlite3_open(d.db, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	got = append(s, 0, &one, 1);
	assert_int_equal(got.r, OV_EIO);
	assert_non_null(strstr(got.err.msg, "locked"));
	sqlite3_close(db);
	append_many(s, 0, 1, 1);
	store_close(s);
	dir_done(&d);
}

TEST(odd_paths)
{
	static const char *const names[] = { "a b", "q?immutable=1", "h#x", "p%41", "u\xc3\xa4",
		":memory:", "file:x", "'\"" };
	struct test_dir d;
	char back[4096];

	dir_init(&d);
	assert_non_null(getcwd(back, sizeof(back)));
	assert_int_equal(chdir(d.path), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char url[64];
		struct store *s;

		snprintf(url, sizeof(url), "sqlite:%s", names[i]);
		s = open_url(url, STORE_READ_WRITE);
		take_lease(s, "me");
		append_many(s, 0, 3, 3);
		store_close(s);
		assert_int_equal(access(names[i], F_OK), 0);
		s = open_url(url, STORE_READ_ONLY);
		assert_int_equal(read_all(s, true), 3);
		store_close(s);
	}
	assert_int_equal(chdir(back), 0);
	dir_done(&d);
}

TEST(reading_creates_nothing)
{
	struct test_dir d;
	struct store *r, *w;
	int files;

	dir_init(&d);
	make_store(&d, 50);
	files = count_files(&d);
	r = open_store(&d, STORE_READ_ONLY);
	assert_int_equal(read_all(r, true), 50);
	assert_int_equal(count_files(&d), files);
	/* A writer comes, writes, goes, comes again: the reader always sees what is there. */
	for (uint64_t at = 50; at < 500; at += 50) {
		w = open_held(&d);
		assert_int_equal(read_all(r, true), at);
		append_many(w, at, 50, 7);
		assert_int_equal(read_all(r, true), at + 50);
		store_close(w);
		assert_int_equal(read_all(r, true), at + 50);
		if (at % 100)
			continue;
		store_close(r);
		r = open_store(&d, STORE_READ_ONLY);
	}
	store_close(r);
	/* Removed while open: an error, and no endless retry. */
	store_close(open_store(&d, STORE_READ_WRITE));
	r = open_store(&d, STORE_READ_ONLY);
	assert_int_equal(unlink(d.db), 0);
	assert_int_equal(read_error(r, NULL), OV_ENOTFOUND);
	make_store(&d, 5);
	assert_int_equal(read_all(r, true), 5);
	store_close(r);
	dir_done(&d);
}

TEST_MAIN
