/* The disk by itself: what each fault leaves of single calls, and who may still do what. */
#include "tests/sim/disk.h"

#include <sqlite3.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/str.h"
#include "data/id/sha256.h"
#include "tests/rng.h"
#include "tests/test.h"

enum { SECTOR = 512, SEEDS = 200 };

struct rig {
	struct disk *disk;
	enum disk_fault next; /* the answer to the next question */
	size_t asked;
	enum disk_call call;
	char file[64]; /* last asked about */
};

static enum disk_fault ask(void *user, enum disk_call call, str file)
{
	struct rig *rig = user;
	enum disk_fault fault = rig->next;

	rig->asked++;
	rig->call = call;
	snprintf(rig->file, sizeof(rig->file), STR_FMT, STR_ARG(file));
	rig->next = DISK_OK;
	return fault;
}

static ov_time now(void *user _unused_)
{
	return 1700000000123;
}

static void rig_init(struct rig *rig, uint64_t seed)
{
	struct disk_options options = { .seed = seed, .ask = ask, .now = now, .user = rig };

	*rig = (struct rig){ 0 };
	rig->disk = disk_new(&options);
}

static sqlite3_vfs *vfs(void)
{
	return sqlite3_vfs_find(NULL);
}

static const char *path_of(struct rig *rig, const char *name)
{
	static char path[2][300];
	static int i;

	i = !i;
	snprintf(path[i], sizeof(path[i]), "%s/%s", disk_dir(rig->disk), name);
	return path[i];
}

/* As SQLite opens a write-ahead log; NULL when that fails. */
static sqlite3_file *open_file(struct rig *rig, const char *name)
{
	sqlite3_file *f = mem_zalloc(1, (size_t)vfs()->szOsFile);
	/* SQLite's names go on with parameters: an empty list. */
	const char *path = sqlite3_create_filename(path_of(rig, name), "", "", 0, NULL);
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MAIN_DB;
	int rc = vfs()->xOpen(vfs(), path, f, flags, NULL);

	sqlite3_free_filename(path);
	if (rc == SQLITE_OK)
		return f;
	assert_null(f->pMethods);
	mem_free(f);
	return NULL;
}

static void close_file(sqlite3_file *f)
{
	assert_int_equal(f->pMethods->xClose(f), SQLITE_OK);
	mem_free(f);
}

/* Whole sectors of one letter. */
static int put(sqlite3_file *f, size_t sector, size_t n, char letter)
{
	char bytes[8 * SECTOR];

	memset(bytes, letter, n * SECTOR);
	return f->pMethods->xWrite(f, bytes, (int)(n * SECTOR), (sqlite3_int64)(sector * SECTOR));
}

static int sync_file(sqlite3_file *f)
{
	return f->pMethods->xSync(f, SQLITE_SYNC_NORMAL);
}

/* A letter per sector, '.' for zeros, '?' for one of several bytes; "-" when there is no file. */
static const char *content(struct rig *rig, const char *name)
{
	static char text[64];
	FILE *file = fopen(path_of(rig, name), "re");
	char bytes[SECTOR];
	size_t n, i = 0;

	if (!file)
		return "-";
	for (; (n = fread(bytes, 1, SECTOR, file)) > 0; i++) {
		text[i] = bytes[0] ? bytes[0] : '.';
		for (size_t j = 1; j < n; j++)
			if (bytes[j] != bytes[0])
				text[i] = '?';
	}
	text[i] = '\0';
	fclose(file);
	return text;
}

/* Counts in how many of the runs each of the texts came out; any other fails. */
struct seen {
	const char *const *texts;
	size_t n, count[16];
};

static void note(struct seen *seen, const char *text)
{
	for (size_t i = 0; i < seen->n; i++) {
		if (!strcmp(seen->texts[i], text)) {
			seen->count[i]++;
			return;
		}
	}
	fail_msg("'%s' cannot be", text);
}

static void assert_all_seen(const struct seen *seen)
{
	for (size_t i = 0; i < seen->n; i++)
		if (!seen->count[i])
			fail_msg("'%s' never was", seen->texts[i]);
}

#define TEXTS(...) ((const char *const[]){ __VA_ARGS__ })
#define SEEN(...) ((struct seen){ .texts = TEXTS(__VA_ARGS__), .n = ARRAY_LEN(TEXTS(__VA_ARGS__)) })

static void cut_and_close(struct rig *rig, sqlite3_file *f)
{
	disk_power_cut(rig->disk);
	close_file(f);
}

TEST(a_cut_takes_any_part_of_what_was_not_synced)
{
	struct seen seen = SEEN("aa", "ab", "ba", "bb", "ac", "ca", "bc", "cb", "cc");

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct rig rig;
		sqlite3_file *f;

		rig_init(&rig, seed);
		f = open_file(&rig, "x");
		put(f, 0, 2, 'a');
		assert_int_equal(sync_file(f), SQLITE_OK);
		put(f, 0, 2, 'b');
		put(f, 0, 2, 'c');
		cut_and_close(&rig, f);
		note(&seen, content(&rig, "x"));
		disk_free(rig.disk);
	}
	assert_all_seen(&seen);
}

TEST(a_cut_takes_what_was_added_and_leaves_what_was_synced)
{
	struct seen seen = SEEN("aa", "aa.", "aab", "aa..", "aab.", "aa.b", "aabb");

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct rig rig;
		sqlite3_file *f;

		rig_init(&rig, seed);
		f = open_file(&rig, "x");
		put(f, 0, 1, 'a');
		put(f, 1, 1, 'a');
		assert_int_equal(sync_file(f), SQLITE_OK);
		put(f, 2, 1, 'b');
		put(f, 3, 1, 'b');
		cut_and_close(&rig, f);
		note(&seen, content(&rig, "x"));
		disk_free(rig.disk);
	}
	assert_all_seen(&seen);
}

TEST(a_truncate_comes_with_what_it_took)
{
	struct seen seen = SEEN("aaa", "baa", "a", "b", "a.", "b.", "ac", "bc");

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct rig rig;
		sqlite3_file *f;

		rig_init(&rig, seed);
		f = open_file(&rig, "x");
		put(f, 0, 3, 'a');
		assert_int_equal(sync_file(f), SQLITE_OK);
		put(f, 0, 1, 'b');
		assert_int_equal(f->pMethods->xTruncate(f, SECTOR), SQLITE_OK);
		put(f, 1, 1, 'c');
		cut_and_close(&rig, f);
		note(&seen, content(&rig, "x"));
		disk_free(rig.disk);
	}
	assert_all_seen(&seen);
}

/* Pages are of eight sectors. */
TEST(a_failed_sync_is_made_good_by_writing_again_only)
{
	struct seen seen = SEEN("aaaaaaaab", "aaaaaaaac", "aaaaaaaad");
	enum disk_fault errors[] = { DISK_IOERR, DISK_FULL };

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct rig rig;
		sqlite3_file *f;

		rig_init(&rig, seed);
		f = open_file(&rig, "x");
		put(f, 0, 8, 'a');
		put(f, 8, 1, 'b');
		assert_int_equal(sync_file(f), SQLITE_OK);
		put(f, 0, 8, 'x');
		put(f, 8, 1, 'c');
		put(f, 8, 1, 'd');
		rig.next = errors[seed % 2];
		assert_int_equal(sync_file(f), SQLITE_IOERR_FSYNC);
		put(f, 0, 7, 'a');
		put(f, 7, 1, 'a');
		assert_int_equal(sync_file(f), SQLITE_OK);
		assert_int_equal(sync_file(f), SQLITE_OK);
		assert_string_equal(content(&rig, "x"), "aaaaaaaad");
		cut_and_close(&rig, f);
		note(&seen, content(&rig, "x"));
		disk_free(rig.disk);
	}
	assert_all_seen(&seen);
}

TEST(writes_end_within_at_a_sector)
{
	static const struct {
		enum disk_fault fault;
		int code;
		bool dies;
	} cases[] = {
		{ DISK_TORN, SQLITE_IOERR_WRITE, true },
		{ DISK_FULL, SQLITE_FULL, false },
		{ DISK_IOERR, SQLITE_IOERR_WRITE, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct seen seen = SEEN("aaaa", "abaa", "abba");

		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			struct rig rig;
			sqlite3_file *f;

			rig_init(&rig, seed);
			f = open_file(&rig, "x");
			put(f, 0, 4, 'a');
			rig.next = cases[i].fault;
			assert_int_equal(put(f, 1, 3, 'b'), cases[i].code);
			note(&seen, content(&rig, "x"));
			assert_int_equal(disk_is_dead(rig.disk, 0), cases[i].dies);
			if (!cases[i].dies)
				assert_int_equal(put(f, 1, 3, 'b'), SQLITE_OK);
			close_file(f);
			disk_free(rig.disk);
		}
		assert_all_seen(&seen);
	}
}

TEST(death_comes_before_or_after_and_leaves_what_was_written)
{
	static const struct {
		enum disk_fault fault;
		const char *left;
	} cases[] = { { DISK_KILL, "aa" }, { DISK_KILL_AFTER, "bb" } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rig rig;
		sqlite3_file *f;

		rig_init(&rig, 1);
		f = open_file(&rig, "x");
		put(f, 0, 2, 'a');
		rig.next = cases[i].fault;
		assert_int_equal(put(f, 0, 2, 'b'), SQLITE_IOERR_WRITE);
		assert_true(disk_is_dead(rig.disk, 0));
		assert_string_equal(content(&rig, "x"), cases[i].left);
		close_file(f);
		assert_int_equal(disk_stats(rig.disk)->kills, 1);
		disk_free(rig.disk);
	}
}

TEST(the_dead_change_nothing)
{
	struct rig rig;
	sqlite3_file *f;
	sqlite3_int64 size;
	char byte;
	int there;
	size_t asked;

	rig_init(&rig, 1);
	f = open_file(&rig, "x");
	put(f, 0, 2, 'a');
	disk_kill(rig.disk, 0);
	asked = rig.asked;
	assert_int_equal(put(f, 0, 1, 'b'), SQLITE_IOERR_WRITE);
	assert_int_equal(f->pMethods->xTruncate(f, 0), SQLITE_IOERR_TRUNCATE);
	assert_int_equal(sync_file(f), SQLITE_IOERR_FSYNC);
	assert_int_equal(f->pMethods->xRead(f, &byte, 1, 0), SQLITE_IOERR_READ);
	assert_int_equal(f->pMethods->xFileSize(f, &size), SQLITE_IOERR_FSTAT);
	assert_int_equal(f->pMethods->xLock(f, SQLITE_LOCK_SHARED), SQLITE_IOERR_LOCK);
	assert_int_equal(vfs()->xDelete(vfs(), path_of(&rig, "x"), 0), SQLITE_IOERR_DELETE);
	assert_int_equal(vfs()->xAccess(vfs(), path_of(&rig, "x"), 0, &there), SQLITE_IOERR_ACCESS);
	assert_null(open_file(&rig, "x"));
	assert_int_equal(rig.asked, asked);
	assert_string_equal(content(&rig, "x"), "aa");
	close_file(f);
	disk_set_life(rig.disk, 1);
	f = open_file(&rig, "x");
	assert_int_equal(put(f, 0, 1, 'b'), SQLITE_OK);
	assert_string_equal(content(&rig, "x"), "ba");
	close_file(f);
	disk_free(rig.disk);
}

TEST(locks_go_with_the_life_that_held_them)
{
	sqlite3_file *f[2];
	struct rig rig;

	rig_init(&rig, 1);
	for (unsigned i = 0; i < 2; i++) {
		disk_set_life(rig.disk, i);
		f[i] = open_file(&rig, "x");
		assert_int_equal(f[i]->pMethods->xLock(f[i], SQLITE_LOCK_SHARED), SQLITE_OK);
	}
	disk_set_life(rig.disk, 0);
	assert_int_equal(f[0]->pMethods->xLock(f[0], SQLITE_LOCK_RESERVED), SQLITE_OK);
	disk_set_life(rig.disk, 1);
	assert_int_equal(f[1]->pMethods->xLock(f[1], SQLITE_LOCK_RESERVED), SQLITE_BUSY);
	disk_kill(rig.disk, 0);
	assert_int_equal(f[1]->pMethods->xLock(f[1], SQLITE_LOCK_RESERVED), SQLITE_OK);
	assert_int_equal(f[1]->pMethods->xLock(f[1], SQLITE_LOCK_EXCLUSIVE), SQLITE_OK);
	close_file(f[1]);
	disk_set_life(rig.disk, 0);
	close_file(f[0]);
	disk_free(rig.disk);
}

TEST(new_files_vanish_and_deleted_ones_come_back_in_order)
{
	/* The old one deleted; a new one of its name; another: of what is there, any part. */
	struct seen seen = SEEN("a/-", "-/-", "/-", "./-", "b/-", "/", "/.", "/c", "./", "./.",
			"./c", "b/", "b/.", "b/c");

	for (uint64_t seed = 0; seed < 4 * SEEDS; seed++) {
		char both[80];
		struct rig rig;
		sqlite3_file *f;

		rig_init(&rig, seed);
		f = open_file(&rig, "x");
		put(f, 0, 1, 'a');
		assert_int_equal(sync_file(f), SQLITE_OK);
		close_file(f);
		assert_int_equal(vfs()->xDelete(vfs(), path_of(&rig, "x"), 0), SQLITE_OK);
		assert_string_equal(content(&rig, "x"), "-");
		f = open_file(&rig, "x");
		put(f, 0, 1, 'b');
		close_file(f);
		f = open_file(&rig, "y");
		put(f, 0, 1, 'c');
		cut_and_close(&rig, f);
		snprintf(both, sizeof(both), "%s/", content(&rig, "x"));
		snprintf(both + strlen(both), 10, "%s", content(&rig, "y"));
		note(&seen, both);
		disk_free(rig.disk);
	}
	assert_all_seen(&seen);
}

TEST(a_synced_folder_stays)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct rig rig;
		sqlite3_file *f;

		rig_init(&rig, seed);
		f = open_file(&rig, "x");
		put(f, 0, 1, 'a');
		assert_int_equal(sync_file(f), SQLITE_OK);
		close_file(f);
		if (seed & 1) {
			assert_int_equal(vfs()->xDelete(vfs(), path_of(&rig, "x"), 1), SQLITE_OK);
		} else {
			assert_int_equal(vfs()->xDelete(vfs(), path_of(&rig, "x"), 0), SQLITE_OK);
			f = open_file(&rig, "y");
			assert_int_equal(sync_file(f), SQLITE_OK);
			close_file(f);
		}
		disk_power_cut(rig.disk);
		assert_string_equal(content(&rig, "x"), "-");
		assert_string_equal(content(&rig, "y"), seed & 1 ? "-" : "");
		disk_free(rig.disk);
	}
}

TEST(calls_are_asked_about_by_base_name)
{
	struct rig rig;
	sqlite3_file *f;
	char byte;

	rig_init(&rig, 1);
	rig.next = DISK_FULL;
	assert_null(open_file(&rig, "x-wal"));
	assert_int_equal(rig.call, DISK_CALL_CREATE);
	assert_string_equal(rig.file, "x-wal");
	assert_string_equal(content(&rig, "x-wal"), "-");
	f = open_file(&rig, "x-wal");
	put(f, 0, 1, 'a');
	assert_int_equal(rig.call, DISK_CALL_WRITE);
	f->pMethods->xTruncate(f, 0);
	assert_int_equal(rig.call, DISK_CALL_TRUNCATE);
	sync_file(f);
	assert_int_equal(rig.call, DISK_CALL_SYNC);
	f->pMethods->xRead(f, &byte, 1, 0);
	assert_int_equal(rig.asked, 5); /* reading is not */
	close_file(f);
	rig.next = DISK_IOERR;
	assert_int_equal(vfs()->xDelete(vfs(), path_of(&rig, "x-wal"), 0), SQLITE_IOERR_DELETE);
	assert_int_equal(rig.call, DISK_CALL_DELETE);
	assert_string_equal(content(&rig, "x-wal"), "");
	assert_int_equal(disk_stats(rig.disk)->faults[DISK_IOERR], 1);
	assert_int_equal(disk_stats(rig.disk)->calls[DISK_CALL_WRITE], 1);
	disk_free(rig.disk);
}

TEST(reads_can_fail_as_well)
{
	struct rig rig = { 0 };
	struct disk_options options = { .ask = ask, .user = &rig, .ask_reads = true };
	sqlite3_file *f;
	char byte;

	rig.disk = disk_new(&options);
	f = open_file(&rig, "x");
	put(f, 0, 1, 'a');
	rig.next = DISK_IOERR;
	assert_int_equal(f->pMethods->xRead(f, &byte, 1, 0), SQLITE_IOERR_READ);
	assert_int_equal(rig.call, DISK_CALL_READ);
	assert_int_equal(f->pMethods->xRead(f, &byte, 1, 0), SQLITE_OK);
	assert_int_equal(byte, 'a');
	close_file(f);
	disk_free(rig.disk);
}

TEST(time_and_chance_are_given)
{
	char bytes[2][16];
	sqlite3_int64 ms;
	struct timespec before, after;

	for (int i = 0; i < 2; i++) {
		struct rig rig;

		rig_init(&rig, 7);
		sqlite3_randomness(sizeof(bytes[i]), bytes[i]);
		assert_int_equal(vfs()->xCurrentTimeInt64(vfs(), &ms), SQLITE_OK);
		assert_int_equal(ms - 210866760000000, 1700000000123);
		clock_gettime(CLOCK_MONOTONIC, &before);
		assert_int_equal(vfs()->xSleep(vfs(), 2000000000), 2000000000);
		clock_gettime(CLOCK_MONOTONIC, &after);
		assert_true(after.tv_sec - before.tv_sec < 1000);
		assert_int_equal(disk_stats(rig.disk)->sleeps, 1);
		disk_free(rig.disk);
	}
	assert_memory_equal(bytes[0], bytes[1], sizeof(bytes[0]));
}

/* One run with everything in it, as a hash of what the disk has in the end. */
static void run_seed(uint64_t seed, uint8_t ret[static SHA256_LEN])
{
	struct rng rng = { seed };
	struct sha256 sum;
	struct rig rig;
	sqlite3_file *f;

	sha256_init(&sum);
	rig_init(&rig, seed);
	f = open_file(&rig, "x");
	for (int i = 0; i < 300; i++) {
		size_t at = rng_below(&rng, 16), n = rng_below(&rng, 4);

		rig.next = i % 17 == 5 ? DISK_FULL : DISK_OK;
		put(f, at, n + 1, (char)('a' + i % 26));
		if (i % 40 == 39)
			sync_file(f);
		sha256_add(&sum, content(&rig, "x"), strlen(content(&rig, "x")));
	}
	cut_and_close(&rig, f);
	sha256_add(&sum, content(&rig, "x"), strlen(content(&rig, "x")));
	sha256_end(&sum, ret);
	disk_free(rig.disk);
}

TEST(the_same_seed_gives_the_same_disk)
{
	uint8_t first[SHA256_LEN], again[SHA256_LEN], other[SHA256_LEN];

	run_seed(5, first);
	run_seed(5, again);
	run_seed(6, other);
	assert_memory_equal(first, again, SHA256_LEN);
	assert_memory_not_equal(first, other, SHA256_LEN);
}

TEST(memory_is_let_go_at_each_sync)
{
	size_t most = 0;
	struct rig rig;
	sqlite3_file *f;

	rig_init(&rig, 1);
	f = open_file(&rig, "x");
	for (size_t i = 0; i < 5000; i++) {
		put(f, i % 40, 8, (char)('a' + i % 26));
		most = MAX(most, disk_stats(rig.disk)->unsynced_bytes);
		if (i % 10 == 9) {
			assert_int_equal(sync_file(f), SQLITE_OK);
			assert_int_equal(disk_stats(rig.disk)->unsynced_bytes, 0);
		}
	}
	assert_in_range(most, 10 * 8 * SECTOR, 2 * 10 * 8 * SECTOR);
	close_file(f);
	disk_free(rig.disk);
}

TEST_MAIN
