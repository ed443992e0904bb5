/*
 * The store's SQLite back-end against bare SQLite: the same bytes in the same kind of table with
 * the same durability, but without chain, lease and expected head. Runs alternate.
 * CPU time: what the disk's fsync takes is the same for both and only hides the difference. Then
 * how fast a log is replayed with its chain verified: most of that is SHA-256, in software. Last,
 * what moving a log to its archive costs, and the longest that the loop is held up by a step of it.
 * Prints one JSON line per figure; the exit status says whether every budget was kept.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/str.h"
#include "store/store.h"

/* One million events within ten seconds, two thirds of them left for folding. */
#define REPLAY_BUDGET 300000.0
#define ARCHIVE_BUDGET 50000.0
#define ARCHIVE_STEP_BUDGET 25.0 /* milliseconds */

enum {
	PAIRS = 15, /* of runs that are compared */
	ROUNDS = 5, /* of replay, the best counts */
	BODY_BYTES = 300,
	REPLAY_RECORDS = 200000,
	REPLAY_PAGE = 2000,
	GROUP_MAX = 1000,
	ARCHIVE_RECORDS = 100000,
	ARCHIVE_STEP = 500 /* as the engine's */
};

static char dir[] = "/tmp/overseer-bench-XXXXXX";

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench_store: %s failed\n", what);
	exit(2);
}

static void make_group(struct store_record recs[static GROUP_MAX])
{
	static char body[BODY_BYTES];

	for (size_t i = 0; i < sizeof(body); i++)
		body[i] = (char)('a' + i % 26);
	for (size_t i = 0; i < GROUP_MAX; i++)
		recs[i] = (struct store_record){
			.at = 1700000000000 + (ov_time)i,
			.kind = STR("run.progressed"),
			.body = { body, sizeof(body) },
		};
}

/* A database of a round, removed with the files beside it by remove_db. */
static void name_db(char *path, size_t n, const char *name)
{
	snprintf(path, n, "%s/%s.db", dir, name);
}

static void remove_db(const char *path)
{
	static const char *const suffixes[] = { "", "-wal", "-shm", ".lock", "-archive",
		"-archive-wal", "-archive-shm" };
	char name[200];

	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		unlink(name);
	}
}

static sqlite3 *bare_open(const char *path, sqlite3_stmt **ret_insert)
{
	sqlite3 *db;

	must(sqlite3_open(path, &db) == SQLITE_OK, "open");
	must(sqlite3_exec(db,
			     "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
			     "CREATE TABLE log (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL,"
			     " kind TEXT NOT NULL, body TEXT NOT NULL, hash BLOB NOT NULL)",
			     NULL, NULL, NULL) == SQLITE_OK,
			"schema");
	must(sqlite3_prepare_v2(db, "INSERT INTO log VALUES (?1, ?2, ?3, ?4, ?5)", -1, ret_insert,
			     NULL) == SQLITE_OK,
			"prepare");
	return db;
}

static double bare_rate(const struct store_record *recs, size_t group, size_t groups)
{
	static const uint8_t hash[SHA256_LEN];
	sqlite3_stmt *insert, *begin, *commit;
	sqlite3_int64 seq = 0;
	char path[128];
	sqlite3 *db;
	double start;

	name_db(path, sizeof(path), "bare");
	db = bare_open(path, &insert);
	must(!sqlite3_prepare_v2(db, "BEGIN IMMEDIATE", -1, &begin, NULL), "prepare");
	must(!sqlite3_prepare_v2(db, "COMMIT", -1, &commit, NULL), "prepare");
	start = cpu_seconds();
	for (size_t g = 0; g < groups; g++) {
		must(sqlite3_step(begin) == SQLITE_DONE && !sqlite3_reset(begin), "begin");
		for (size_t i = 0; i < group; i++) {
			sqlite3_bind_int64(insert, 1, ++seq);
			sqlite3_bind_int64(insert, 2, recs[i].at);
			sqlite3_bind_text(insert, 3, recs[i].kind.p, (int)recs[i].kind.n,
					SQLITE_STATIC);
			sqlite3_bind_text(insert, 4, recs[i].body.p, (int)recs[i].body.n,
					SQLITE_STATIC);
			sqlite3_bind_blob(insert, 5, hash, sizeof(hash), SQLITE_STATIC);
			must(sqlite3_step(insert) == SQLITE_DONE && !sqlite3_reset(insert),
					"insert");
		}
		must(sqlite3_step(commit) == SQLITE_DONE && !sqlite3_reset(commit), "commit");
	}
	start = cpu_seconds() - start;
	sqlite3_finalize(insert);
	sqlite3_finalize(begin);
	sqlite3_finalize(commit);
	sqlite3_close(db);
	remove_db(path);
	return (double)(group * groups) / start;
}

static void appended(void *user, int r, uint64_t head, const struct ov_err *err _unused_)
{
	must(r == 0, "append");
	*(uint64_t *)user = head;
}

static struct store *own_open(const char *path)
{
	struct arena a = ARENA_INIT;
	struct store_lease lease;
	struct store *s;
	str url = arena_printf(&a, "sqlite:%s", path);

	must(store_open(url, STORE_READ_WRITE, &s, NULL) == 0, "store_open");
	must(store_lease_take(s, STR("bench"), &a, &lease, NULL) == 0, "lease");
	arena_done(&a);
	return s;
}

static double own_rate(const struct store_record *recs, size_t group, size_t groups)
{
	uint64_t head = 0;
	char path[128];
	struct store *s;
	double start;

	name_db(path, sizeof(path), "own");
	s = own_open(path);
	start = cpu_seconds();
	for (size_t g = 0; g < groups; g++)
		store_append(s, head, recs, group, appended, &head);
	start = cpu_seconds() - start;
	must(head == group * groups, "head");
	store_close(s);
	remove_db(path);
	return (double)head / start;
}

/* Records per second of CPU time. */
static double replay_rate(struct store *s)
{
	struct arena a = ARENA_INIT;
	double start = cpu_seconds();
	uint64_t after = 0;
	size_t n;

	do {
		struct store_record *recs;

		must(store_read(s, after, REPLAY_PAGE, &a, &recs, &n, NULL) == 0, "read");
		after += n;
		arena_reset(&a);
	} while (n == REPLAY_PAGE);
	start = cpu_seconds() - start;
	must(after == REPLAY_RECORDS, "replay");
	arena_done(&a);
	return (double)after / start;
}

static double bench_replay(const struct store_record *recs)
{
	uint64_t head = 0;
	double best = 0;
	char path[128];
	struct store *s;

	name_db(path, sizeof(path), "replay");
	s = own_open(path);
	while (head < REPLAY_RECORDS)
		store_append(s, head, recs, GROUP_MAX, appended, &head);
	for (int i = 0; i < ROUNDS; i++)
		best = MAX(best, replay_rate(s));
	store_close(s);
	remove_db(path);
	return best;
}

/* Records per second of CPU time, and the longest step's milliseconds of it. */
static double bench_archive(const struct store_record *recs, double *ret_longest)
{
	struct store_snapshot snap = { .format = 1, .bytes = STR("state") };
	double all = 0, longest = 0;
	uint64_t head = 0;
	size_t moved = 1;
	char path[128];
	struct store *s;

	name_db(path, sizeof(path), "moved");
	s = own_open(path);
	while (head < ARCHIVE_RECORDS)
		store_append(s, head, recs, GROUP_MAX, appended, &head);
	must(store_head(s, &snap.seq, snap.hash, NULL) == 0, "head");
	must(store_snapshot_put(s, &snap, NULL) == 0, "snapshot");
	for (head = 0; moved; head += moved) {
		double start = cpu_seconds();

		must(store_archive(s, UINT64_MAX, ARCHIVE_STEP, &moved, NULL) == 0, "archive");
		start = cpu_seconds() - start;
		all += start;
		longest = MAX(longest, start * 1000);
	}
	must(head == ARCHIVE_RECORDS, "archive");
	store_close(s);
	remove_db(path);
	*ret_longest = longest;
	return (double)head / all;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of the pairs' ratios: a disturbance hits one pair, not the figure. */
static double bench_append(const struct store_record *recs, size_t group, size_t groups)
{
	double ratios[PAIRS];

	for (int i = 0; i < PAIRS; i++) {
		double bare = bare_rate(recs, group, groups);

		ratios[i] = own_rate(recs, group, groups) / bare;
	}
	qsort(ratios, PAIRS, sizeof(ratios[0]), by_value);
	return ratios[PAIRS / 2];
}

/* Prints a figure that must reach its budget. */
static int report(const char *name, double value, const char *unit, double budget)
{
	printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"%s\",\"budget\":%g,\"ok\":%s}\n", name,
			value, unit, budget, value >= budget ? "true" : "false");
	return value >= budget ? 0 : 1;
}

/* And one that must not exceed it. */
static int report_most(const char *name, double value, const char *unit, double budget)
{
	printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"%s\",\"budget\":%g,\"ok\":%s}\n", name,
			value, unit, budget, value <= budget ? "true" : "false");
	return value <= budget ? 0 : 1;
}

int main(void)
{
	static struct store_record recs[GROUP_MAX];
	double longest;
	int missed = 0;

	must(mkdtemp(dir) != NULL, "mkdtemp");
	make_group(recs);
	missed += report("store_append_1_vs_bare_sqlite", bench_append(recs, 1, 200), "ratio", 0.6);
	missed += report("store_append_35_vs_bare_sqlite", bench_append(recs, 35, 60), "ratio",
			0.6);
	missed += report("store_replay", bench_replay(recs), "records/s", REPLAY_BUDGET);
	missed += report("store_archive", bench_archive(recs, &longest), "records/s",
			ARCHIVE_BUDGET);
	missed += report_most("store_archive_longest_step", longest, "ms", ARCHIVE_STEP_BUDGET);
	rmdir(dir);
	return missed != 0;
}
