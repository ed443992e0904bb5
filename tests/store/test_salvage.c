/* What is left of a damaged file: the part that can be verified, and not a byte of it changed. */
#include <stdio.h>
#include <unistd.h>

#include "base/str.h"
#include "store/sqlite_impl.h"
#include "tests/store/store_test.h"

static void make_store(const struct test_dir *d, size_t n)
{
	struct store *s = open_held(d);

	append_many(s, 0, n, 10);
	store_close(s);
}

static void put_snapshot(const struct test_dir *d, str bytes)
{
	struct store_snapshot snap = { .format = 1, .bytes = bytes };
	struct store *s = open_held(d);

	assert_int_equal(store_head(s, &snap.seq, snap.hash, NULL), 0);
	assert_int_equal(store_snapshot_put(s, &snap, NULL), 0);
	store_close(s);
}

static void write_at(const char *path, long at, const void *p, size_t n)
{
	FILE *f = fopen(path, at < 0 ? "we" : "r+e");

	assert_non_null(f);
	assert_int_equal(fseek(f, MAX(at, 0), SEEK_SET), 0);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* Opens for salvage, checks that all that is left can be read and that nothing was written. */
static uint64_t salvaged(const struct test_dir *d, const char *word)
{
	uint8_t before[SHA256_LEN], after[SHA256_LEN];
	struct arena a = ARENA_INIT;
	struct store_lease lease;
	struct store_record *recs, one = record(STR("k"), STR("v"));
	struct store_snapshot snap = { .seq = 1, .bytes = STR("x") };
	struct ov_err err = { 0 };
	struct store *s = NULL;
	uint64_t head;
	size_t n;

	hash_file(d->db, before);
	if (store_open(str_from(d->url), STORE_SALVAGE, &s, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(store_lease_take(s, STR("me"), &a, &lease, &err), 0);
	head = head_of(s);
	assert_int_equal(store_read(s, 0, SIZE_MAX, &a, &recs, &n, &err), 0);
	assert_int_equal(n, head);
	assert_int_equal(append(s, head, &one, 1).r, OV_EUNAVAILABLE);
	assert_int_equal(store_snapshot_put(s, &snap, &err), OV_EUNAVAILABLE);
	if (!word)
		assert_int_equal(store_damage(s).n, 0);
	else if (!str_contains(store_damage(s), str_from(word)))
		fail_msg("'%.*s' does not say '%s'", (int)store_damage(s).n, store_damage(s).p,
				word);
	store_close(s);
	hash_file(d->db, after);
	assert_memory_equal(before, after, SHA256_LEN);
	arena_done(&a);
	return head;
}

TEST(a_whole_store_has_no_damage)
{
	struct test_dir d;

	dir_init(&d);
	write_at(d.db, -1, "", 0);
	assert_int_equal(salvaged(&d, NULL), 0);
	make_store(&d, 50);
	assert_int_equal(salvaged(&d, NULL), 50);
	dir_done(&d);
}

TEST(a_changed_record_ends_the_log)
{
	static const struct {
		const char *sql, *word;
		uint64_t head;
	} cases[] = {
		{ "UPDATE log SET body = 'x' WHERE seq = 31", "broken at seq 31", 30 },
		{ "UPDATE log SET at = at + 1 WHERE seq = 50", "broken at seq 50", 49 },
		{ "DELETE FROM log WHERE seq = 1", "broken at seq 1", 0 },
		{ "DELETE FROM log WHERE seq = 20", "broken at seq 20", 19 },
		{ "UPDATE log SET hash = x'00' WHERE seq = 9", "broken at seq 9", 8 },
		{ "DROP TABLE log", "no such table", 0 },
		{ "PRAGMA application_id = 7", "another program", 50 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct test_dir d;

		dir_init(&d);
		make_store(&d, 50);
		raw_sql(&d, cases[i].sql);
		assert_int_equal(salvaged(&d, cases[i].word), cases[i].head);
		dir_done(&d);
	}
}

TEST(broken_files)
{
	struct test_dir d;
	char junk[4096];

	memset(junk, 0xee, sizeof(junk));
	dir_init(&d);
	write_at(d.db, -1, junk, sizeof(junk));
	assert_int_equal(salvaged(&d, "not a database"), 0);
	assert_int_equal(unlink(d.db), 0);
	make_store(&d, 3000);
	write_at(d.db, 20 * 4096, junk, sizeof(junk)); /* a page in the middle of the log */
	assert_in_range(salvaged(&d, ""), 1, 2999);
	assert_int_equal(unlink(d.db), 0);
	make_store(&d, 3000);
	assert_int_equal(truncate(d.db, 40 * 4096), 0);
	(void)salvaged(&d, "");
	memset(junk, 0, sizeof(junk));
	write_at(d.db, 0, junk, 100);
	assert_int_equal(salvaged(&d, "not a database"), 0);
	dir_done(&d);
}

/* What broke long ago does not take away what a whole snapshot holds. */
TEST(from_a_snapshot_on)
{
	struct test_dir d;
	struct arena a = ARENA_INIT;
	struct store_snapshot snap;
	struct store *s = NULL;

	dir_init(&d);
	make_store(&d, 30);
	put_snapshot(&d, STR("thirty"));
	s = open_held(&d);
	append_many(s, 30, 30, 10);
	store_close(s);
	raw_sql(&d, "UPDATE log SET body = 'x' WHERE seq IN (5, 55)");
	assert_int_equal(store_open(str_from(d.url), STORE_SALVAGE, &s, NULL), 0);
	assert_int_equal(head_of(s), 54);
	assert_true(str_contains(store_damage(s), STR("broken at seq 5:")));
	assert_int_equal(store_snapshot_get(s, &a, &snap, NULL), 0);
	assert_int_equal(snap.seq, 30);
	store_close(s);
	arena_done(&a);
	dir_done(&d);
}

TEST(what_is_no_damage)
{
	struct test_dir d;
	struct ov_err err = { 0 };
	struct store *s = NULL;
	uint64_t last;

	dir_init(&d);
	assert_int_equal(store_open(str_from(d.url), STORE_SALVAGE, &s, &err), OV_ENOTFOUND);
	make_store(&d, 5);
	raw_sql(&d, "PRAGMA user_version = 99");
	assert_int_equal(store_open(str_from(d.url), STORE_SALVAGE, &s, &err), OV_ESTATE);
	assert_null(s);
	raw_sql(&d, "PRAGMA user_version = 2");
	s = open_store(&d, STORE_READ_WRITE);
	assert_int_equal(store_verify(s, 6, &last, &err), OV_EIO);
	store_close(s);
	dir_done(&d);
}

TEST(the_lease_keeps_others_away)
{
	struct test_dir d;
	struct arena a = ARENA_INIT;
	struct store_lease lease;
	struct store *safe = NULL, *other;
	int fd;

	dir_init(&d);
	make_store(&d, 5);
	assert_int_equal(store_open(str_from(d.url), STORE_SALVAGE, &safe, NULL), 0);
	assert_int_equal(store_lease_take(safe, STR("safe"), &a, &lease, NULL), 0);
	other = open_store(&d, STORE_READ_WRITE);
	assert_int_equal(store_lease_take(other, STR("x"), &a, &lease, NULL), OV_ECONFLICT);
	assert_int_equal(store_hold(str_from(d.url), &fd, NULL), OV_ECONFLICT);
	store_close(safe);
	assert_int_equal(store_hold(str_from(d.url), &fd, NULL), 0);
	assert_int_equal(store_lease_take(other, STR("x"), &a, &lease, NULL), OV_ECONFLICT);
	close(fd);
	assert_int_equal(store_lease_take(other, STR("x"), &a, &lease, NULL), 0);
	store_close(other);
	arena_done(&a);
	dir_done(&d);
}

/* SQLite's check finds what the chain cannot see. */
TEST(check_tells_its_findings)
{
	struct test_dir d;
	struct ov_err err = { 0 };
	struct store *s;
	char junk[64];

	memset(junk, 0xee, sizeof(junk));
	dir_init(&d);
	make_store(&d, 3000);
	write_at(d.db, 20 * 4096, junk, sizeof(junk));
	s = open_store(&d, STORE_READ_ONLY);
	assert_int_equal(store_check(s, &err), OV_EINVALID);
	assert_non_null(strstr(err.msg, "SQLite finds"));
	store_close(s);
	dir_done(&d);
}

TEST_MAIN
