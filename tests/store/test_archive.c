/*
 * The archive: what every back-end must do when the beginning of the log is moved (OV_STORE says
 * which one is tested), and, in SQLite, the two files: one missing, one wrong, one of another log,
 * a process killed while it moves, readers meanwhile.
 */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/str.h"
#include "tests/store/store_test.h"

static void put_snapshot(struct store *s, str bytes)
{
	struct store_snapshot snap = { .format = 1, .bytes = bytes };

	assert_int_equal(store_head(s, &snap.seq, snap.hash, NULL), 0);
	assert_int_equal(store_snapshot_put(s, &snap, NULL), 0);
}

static size_t archive(struct store *s, uint64_t upto, size_t max)
{
	struct ov_err err = { 0 };
	size_t moved = 4711;

	if (store_archive(s, upto, max, &moved, &err) < 0)
		fail_msg("archive: %s", err.msg);
	return moved;
}

static uint64_t border(struct store *s)
{
	struct ov_err err = { 0 };
	uint64_t seq = 4711;

	if (store_border(s, &seq, &err) < 0)
		fail_msg("border: %s", err.msg);
	return seq;
}

static void assert_verifies(struct store *s, uint64_t head)
{
	struct ov_err err = { 0 };
	uint64_t last = 0;

	if (store_verify(s, 0, &last, &err) < 0 || store_check(s, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(last, head);
}

/* Every read with every border in the range. */
static void assert_reads(struct store *s, uint64_t head)
{
	assert_int_equal(read_all(s, true), head);
	for (uint64_t after = 0; after <= head; after++) {
		static const size_t limits[] = { 1, 2, 7, SIZE_MAX };

		for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
			struct arena a = ARENA_INIT;
			struct store_record *recs;
			struct ov_err err = { 0 };
			size_t n;

			if (store_read(s, after, limits[i], &a, &recs, &n, &err) < 0)
				fail_msg("%s", err.msg);
			assert_int_equal(n, MIN((uint64_t)limits[i], head - after));
			for (size_t k = 0; k < n; k++)
				assert_int_equal(recs[k].seq, after + 1 + k);
			arena_done(&a);
		}
	}
}

TEST(the_log_is_one_wherever_its_border_is)
{
	enum { HEAD = 23 };
	struct test_dir d;
	struct store *s;

	dir_init(&d);
	s = open_held(&d);
	append_many(s, 0, HEAD, 5);
	put_snapshot(s, STR("state"));
	assert_int_equal(border(s), 0);
	for (uint64_t at = 1; at <= HEAD; at++) {
		assert_int_equal(archive(s, at, 100), 1);
		assert_int_equal(border(s), at);
		assert_reads(s, HEAD);
		assert_verifies(s, HEAD);
	}
	/* All of it was moved: the log goes on all the same. */
	assert_int_equal(head_of(s), HEAD);
	append_many(s, HEAD, 7, 3);
	assert_reads(s, HEAD + 7);
	assert_verifies(s, HEAD + 7);
	store_close(s);
	dir_done(&d);
}

TEST(no_further_than_asked_and_than_the_snapshot)
{
	struct store_record one = record(STR("k"), STR("v"));
	struct arena a = ARENA_INIT;
	struct store_snapshot snap;
	struct store_lease lease;
	struct test_dir d;
	struct ov_err err;
	struct store *s;
	size_t moved = 4711;

	dir_init(&d);
	s = open_store(&d, STORE_READ_WRITE);
	assert_int_equal(store_archive(s, 10, 10, &moved, &err), OV_EFENCED);
	assert_int_equal(moved, 4711);
	assert_int_equal(store_lease_take(s, STR("me"), &a, &lease, &err), 0);
	assert_int_equal(archive(s, 10, 10), 0); /* nothing there */
	append_many(s, 0, 30, 10);
	assert_int_equal(archive(s, 30, 10), 0); /* no snapshot */
	put_snapshot(s, STR("at 30"));
	append_many(s, 30, 10, 10);
	assert_int_equal(archive(s, 40, 12), 12); /* max */
	assert_int_equal(archive(s, 15, 12), 3);  /* upto */
	assert_int_equal(archive(s, 15, 12), 0);
	assert_int_equal(archive(s, UINT64_MAX, SIZE_MAX), 15); /* the snapshot */
	assert_int_equal(archive(s, UINT64_MAX, SIZE_MAX), 0);
	assert_int_equal(border(s), 30);
	assert_int_equal(store_snapshot_get(s, &a, &snap, &err), 0);
	assert_int_equal(snap.seq, 30);
	assert_int_equal(append(s, 30, &one, 1).r, OV_ECONFLICT);
	assert_reads(s, 40);
	store_lease_release(s);
	assert_int_equal(store_archive(s, 40, 10, &moved, &err), OV_EFENCED);
	store_close(s);
	arena_done(&a);
	dir_done(&d);
}

/* ---- what is particular to files ---- */

static void in_archive(const struct test_dir *d, struct test_dir *ret)
{
	*ret = *d;
	snprintf(ret->db, sizeof(ret->db), "%s/archive.db", d->path);
}

static int count_rows(const char *path)
{
	sqlite3_stmt *st = NULL;
	sqlite3 *db = NULL;
	int n;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM log", -1, &st, NULL),
			SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	n = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

/* head records, a snapshot of them all, the first `cold` moved. */
static void make_archived(const struct test_dir *d, uint64_t head, uint64_t cold)
{
	struct store *s = open_held(d);

	append_many(s, 0, head, 10);
	put_snapshot(s, STR("state"));
	assert_int_equal(archive(s, cold, SIZE_MAX), cold);
	store_close(s);
}

TEST(both_files_again_after_a_restart)
{
	struct test_dir d, ar;
	struct store *s;

	if (!store_is_durable())
		return;
	dir_init(&d);
	in_archive(&d, &ar);
	make_archived(&d, 50, 20);
	assert_int_equal(count_rows(d.db), 30);
	assert_int_equal(count_rows(ar.db), 20);
	s = open_store(&d, STORE_READ_ONLY);
	assert_reads(s, 50);
	assert_verifies(s, 50);
	store_close(s);
	s = open_held(&d);
	append_many(s, 50, 5, 5);
	assert_int_equal(archive(s, 33, 100), 13); /* the snapshot was read again */
	assert_reads(s, 55);
	store_close(s);
	s = open_store(&d, STORE_SALVAGE);
	assert_int_equal(store_damage(s).n, 0);
	assert_reads(s, 55);
	store_close(s);
	dir_done(&d);
}

static void copy_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "re"), *out = fopen(to, "we");
	char bytes[65536];
	size_t n;

	assert_non_null(in);
	assert_non_null(out);
	while ((n = fread(bytes, 1, sizeof(bytes), in)) > 0)
		assert_int_equal(fwrite(bytes, 1, n, out), n);
	fclose(in);
	assert_int_equal(fclose(out), 0);
}

/* As after a stop between the two steps: the archive has what the store still has. */
TEST(stopped_between_the_two_files)
{
	char kept[320];
	struct test_dir d, ar;
	struct store *s;

	if (!store_is_durable())
		return;
	dir_init(&d);
	in_archive(&d, &ar);
	make_archived(&d, 50, 10);
	snprintf(kept, sizeof(kept), "%s/kept", d.path);
	copy_file(d.db, kept);
	s = open_held(&d);
	assert_int_equal(archive(s, 30, 20), 20);
	store_close(s);
	assert_int_equal(rename(kept, d.db), 0);
	s = open_held(&d);
	assert_int_equal(border(s), 10);
	assert_reads(s, 50);
	assert_verifies(s, 50);
	assert_int_equal(archive(s, 50, 5), 5);   /* all there already */
	assert_int_equal(archive(s, 50, 25), 25); /* in part */
	assert_reads(s, 50);
	assert_verifies(s, 50);
	store_close(s);
	assert_int_equal(count_rows(ar.db), 40);
	dir_done(&d);
}

TEST(without_its_archive_a_store_has_what_it_has)
{
	struct store_record *recs;
	struct store_snapshot snap;
	struct arena a = ARENA_INIT;
	struct test_dir d, ar;
	struct ov_err err = { 0 };
	uint64_t last = 0;
	struct store *s;
	size_t n;

	if (!store_is_durable())
		return;
	dir_init(&d);
	in_archive(&d, &ar);
	make_archived(&d, 50, 20);
	assert_int_equal(unlink(ar.db), 0);
	for (int mode = STORE_READ_WRITE; mode <= STORE_SALVAGE; mode++) {
		s = open_store(&d, (enum store_mode)mode);
		assert_int_equal(store_read(s, 19, 1, &a, &recs, &n, &err), OV_EUNAVAILABLE);
		assert_non_null(strstr(err.msg, "archive.db"));
		assert_non_null(strstr(err.msg, "1 to 20"));
		assert_non_null(strstr(err.next, "put it back"));
		assert_int_equal(store_read(s, 20, SIZE_MAX, &a, &recs, &n, &err), 0);
		assert_int_equal(n, 30);
		assert_int_equal(store_verify(s, 0, &last, &err), OV_EUNAVAILABLE);
		assert_int_equal(store_verify(s, 20, &last, &err), 0);
		assert_int_equal(last, 50);
		assert_int_equal(store_check(s, &err), OV_EUNAVAILABLE);
		assert_int_equal(store_damage(s).n, 0);
		assert_int_equal(store_snapshot_get(s, &a, &snap, &err), 0);
		store_close(s);
	}
	/* It is not begun anew, and what needs no archive works. */
	s = open_held(&d);
	assert_int_equal(store_archive(s, 30, 10, &n, &err), OV_EUNAVAILABLE);
	append_many(s, 50, 5, 5);
	store_close(s);
	assert_int_equal(access(ar.db, F_OK), -1);
	arena_done(&a);
	dir_done(&d);
}

TEST(a_wrong_archive_is_damage)
{
	static const struct {
		const char *sql, *word;
	} cases[] = {
		{ "UPDATE log SET body = 'x' WHERE seq = 7", "broken at seq 7" },
		{ "DELETE FROM log WHERE seq = 20", "broken at seq 20" },
		{ "DELETE FROM log WHERE seq = 1", "broken at seq 1" },
		{ "UPDATE log SET hash = zeroblob(32) WHERE seq = 20", "broken at seq 20" },
		{ "DROP TABLE log", "no such table" },
	};

	for (size_t i = 0; store_is_durable() && i < ARRAY_LEN(cases); i++) {
		struct test_dir d, ar;
		struct ov_err err = { 0 };
		struct store *s;
		uint64_t last;

		dir_init(&d);
		in_archive(&d, &ar);
		make_archived(&d, 50, 20);
		raw_sql(&ar, cases[i].sql);
		s = open_store(&d, STORE_READ_ONLY);
		assert_int_equal(store_verify(s, 0, &last, &err), OV_EIO);
		if (!strstr(err.msg, cases[i].word))
			fail_msg("'%s' does not say '%s'", err.msg, cases[i].word);
		assert_int_equal(read_error(s, &err), OV_EIO);
		store_close(s);
		s = open_store(&d, STORE_SALVAGE);
		assert_true(str_contains(store_damage(s), str_from(cases[i].word)));
		assert_int_equal(head_of(s), 50); /* by its snapshot */
		store_close(s);
		dir_done(&d);
	}
}

TEST(an_archive_of_another_log_is_left_alone)
{
	struct store_record other[3] = { record(STR("k"), STR("1")), record(STR("k"), STR("2")),
		record(STR("k"), STR("3")) };
	struct test_dir d, ar;
	struct ov_err err = { 0 };
	struct store *s;
	size_t moved;

	if (!store_is_durable())
		return;
	dir_init(&d);
	in_archive(&d, &ar);
	s = open_held(&d);
	assert_int_equal(append(s, 0, other, 3).r, 0);
	put_snapshot(s, STR("state"));
	assert_int_equal(archive(s, 3, 3), 3);
	store_close(s);
	assert_int_equal(unlink(d.db), 0);
	s = open_held(&d);
	append_many(s, 0, 10, 10);
	put_snapshot(s, STR("state"));
	assert_int_equal(store_archive(s, 10, 10, &moved, &err), OV_EIO);
	assert_non_null(strstr(err.msg, "another log"));
	assert_reads(s, 10);
	store_close(s);
	assert_int_equal(count_rows(ar.db), 3);
	dir_done(&d);
}

TEST(a_copy_holds_both_parts)
{
	struct test_dir d, copy;
	struct ov_err err = { 0 };
	struct store *s;

	if (!store_is_durable())
		return;
	dir_init(&d);
	make_archived(&d, 50, 20);
	copy = d;
	snprintf(copy.db, sizeof(copy.db), "%s/copy.db", d.path);
	snprintf(copy.url, sizeof(copy.url), "sqlite:%s", copy.db);
	s = open_store(&d, STORE_READ_ONLY);
	if (store_copy(s, copy.db, &err) < 0)
		fail_msg("%s", err.msg);
	assert_reads(s, 50);
	store_close(s);
	assert_int_equal(count_rows(copy.db), 50);
	s = open_held(&copy);
	assert_int_equal(border(s), 0);
	assert_reads(s, 50);
	assert_verifies(s, 50);
	store_close(s);
	dir_done(&d);
}

/* A store of the first schema version, which knew no border. */
TEST(a_store_of_before_the_archive)
{
	struct test_dir d;
	struct store *s;

	if (!store_is_durable())
		return;
	dir_init(&d);
	s = open_held(&d);
	append_many(s, 0, 20, 5);
	put_snapshot(s, STR("state"));
	store_close(s);
	raw_sql(&d, "DROP TABLE checkpoint; PRAGMA user_version = 1");
	s = open_store(&d, STORE_SALVAGE);
	assert_int_equal(store_damage(s).n, 0);
	assert_reads(s, 20);
	store_close(s);
	s = open_held(&d);
	assert_int_equal(border(s), 0);
	assert_int_equal(archive(s, 12, 100), 12);
	assert_reads(s, 20);
	store_close(s);
	dir_done(&d);
}

static void move_for_ever(const struct test_dir *d, int out)
{
	struct arena a = ARENA_INIT;
	struct store_lease lease;
	struct store *s = NULL;
	size_t moved = 1;

	if (store_open(str_from(d->url), STORE_READ_WRITE, &s, NULL) < 0 ||
			store_lease_take(s, STR("mover"), &a, &lease, NULL) < 0)
		_exit(1);
	while (moved)
		if (store_archive(s, UINT64_MAX, 3, &moved, NULL) < 0 || write(out, "x", 1) != 1)
			_exit(2);
	_exit(0);
}

/* Killed at any moment while another process reads: nothing is lost, and the next one goes on. */
TEST(killed_while_it_moves)
{
	enum { HEAD = 600 };
	int rounds = 0, status;
	uint64_t before = 0;
	struct store *reader;
	struct test_dir d;

	if (!store_is_durable())
		return;
	dir_init(&d);
	make_archived(&d, HEAD, 1);
	reader = open_store(&d, STORE_READ_ONLY);
	do {
		int fds[2];
		struct store *s;
		pid_t pid;
		char c;

		before = border(reader);
		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
		pid = fork();
		if (pid == 0)
			move_for_ever(&d, fds[1]);
		close(fds[1]);
		for (int i = 0; i < 1 + rounds % 7; i++)
			if (read(fds[0], &c, 1) == 1)
				assert_int_equal(read_all(reader, true), HEAD);
		(void)!kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
		close(fds[0]);
		s = open_store(&d, STORE_READ_WRITE);
		assert_verifies(s, HEAD);
		assert_true(border(s) > before);
		assert_int_equal(border(reader), border(s));
		store_close(s);
		rounds++;
	} while (border(reader) < HEAD);
	assert_int_equal(read_all(reader, true), HEAD);
	store_close(reader);
	dir_done(&d);
}

TEST_MAIN
