/*
 * The real store on the simulated disk: a script of what a daemon does with it is ended at every
 * call that changes the disk, in every way, and a later life has to find what was acknowledged.
 */
#include "tests/sim/disk.h"

#include <stdio.h>

#include "base/str.h"
#include "store/sqlite_impl.h"
#include "tests/store/store_test.h"

enum step {
	STEP_END,
	STEP_OPEN,
	STEP_EAGER, /* checkpoints come often */
	STEP_LEASE,
	STEP_GROUP, /* n records */
	STEP_SNAPSHOT,
	STEP_ARCHIVE, /* n records */
	STEP_CLOSE,
};

struct script {
	enum step step;
	size_t n;
};

/* A daemon from the first start, and once more. */
static const struct script whole[] = {
	{ STEP_OPEN, 0 },
	{ STEP_EAGER, 0 },
	{ STEP_LEASE, 0 },
	{ STEP_GROUP, 1 },
	{ STEP_GROUP, 7 },
	{ STEP_GROUP, 2 },
	{ STEP_SNAPSHOT, 9000 },
	{ STEP_GROUP, 3 },
	{ STEP_ARCHIVE, 4 },
	{ STEP_GROUP, 40 },
	{ STEP_CLOSE, 0 },
	{ STEP_OPEN, 0 },
	{ STEP_LEASE, 0 },
	{ STEP_GROUP, 5 },
	{ STEP_SNAPSHOT, 100 },
	{ STEP_ARCHIVE, 20 },
	{ STEP_GROUP, 1 },
	{ STEP_CLOSE, 0 },
	{ STEP_END, 0 },
};

struct rig {
	struct disk *disk;
	struct store *store;
	char path[300], url[320];
	unsigned life;
	str only; /* the files whose calls count begin with this */
	/* What fails: call number `at`, from 1, and so many. */
	uint64_t calls, at, span;
	enum disk_fault fault;
	enum disk_call hit; /* the last that failed */
	size_t failures;    /* steps that said so */
	bool cut_later;     /* the power goes in the next life, too */
	/* What was acknowledged. */
	uint64_t head, term, snapshot, border;
	size_t tried; /* records of the group in flight */
};

static enum disk_fault ask(void *user, enum disk_call call, str file)
{
	struct rig *rig = user;

	assert_true(file.n > 0 && !memchr(file.p, '/', file.n));
	assert_false(str_ends(file, STR("-shm")));
	rig->calls += str_starts(file, rig->only);
	if (rig->calls < rig->at || rig->calls >= rig->at + rig->span)
		return DISK_OK;
	rig->hit = call;
	return rig->fault;
}

static void rig_init(struct rig *rig, uint64_t seed, uint64_t at, enum disk_fault fault)
{
	struct disk_options options = { .seed = seed, .ask = ask, .user = rig };

	*rig = (struct rig){ .at = at, .span = at > 0, .fault = fault };
	rig->disk = disk_new(&options);
	snprintf(rig->path, sizeof(rig->path), "%s/store.db", disk_dir(rig->disk));
	snprintf(rig->url, sizeof(rig->url), "sqlite:%s", rig->path);
}

static void rig_done(struct rig *rig)
{
	store_close(rig->store);
	disk_free(rig->disk);
}

static bool is_dead(const struct rig *rig)
{
	return disk_is_dead(rig->disk, rig->life);
}

static void next_life(struct rig *rig)
{
	store_close(TAKE_PTR(rig->store));
	disk_set_life(rig->disk, ++rig->life);
}

static int lease(struct rig *rig, struct ov_err *err)
{
	struct arena a = ARENA_INIT;
	struct store_lease got;
	int r = store_lease_take(rig->store, STR("a daemon"), &a, &got, err);

	if (r == 0) {
		assert_true(got.term > rig->term);
		rig->term = got.term;
	}
	arena_done(&a);
	return r;
}

static int group(struct rig *rig, size_t n, struct ov_err *err)
{
	struct arena a = ARENA_INIT;
	struct appended got;

	rig->tried = n;
	got = append(rig->store, rig->head, make_records(&a, rig->head, n), n);
	*err = got.err;
	assert_int_equal(got.head, rig->head + (got.r == 0 ? n : 0));
	if (got.r == 0)
		rig->head = got.head;
	if (got.r == 0)
		rig->tried = 0;
	arena_done(&a);
	return got.r;
}

static int snapshot(struct rig *rig, size_t n, struct ov_err *err)
{
	struct store_snapshot snap = { .format = 1 };
	char *bytes = mem_alloc(n);
	int r = store_head(rig->store, &snap.seq, snap.hash, err);

	memset(bytes, (int)('a' + snap.seq % 26), n);
	snap.bytes = (str){ bytes, n };
	if (r == 0)
		r = store_snapshot_put(rig->store, &snap, err);
	if (r == 0)
		rig->snapshot = snap.seq;
	mem_free(bytes);
	return r;
}

static int archive(struct rig *rig, size_t n, struct ov_err *err)
{
	size_t moved = 0;
	int r = store_archive(rig->store, UINT64_MAX, n, &moved, err);

	if (r == 0) {
		assert_true(moved <= n && rig->border + moved <= rig->snapshot);
		rig->border += moved;
	}
	return r;
}

static int run_step(struct rig *rig, const struct script *s, struct ov_err *err)
{
	switch (s->step) {
	case STEP_OPEN: return store_open(str_from(rig->url), STORE_READ_WRITE, &rig->store, err);
	case STEP_EAGER:
		sqlite3_wal_autocheckpoint(((struct sqlite_store *)rig->store)->db, 6);
		return 0;
	case STEP_LEASE: return lease(rig, err);
	case STEP_GROUP: return group(rig, s->n, err);
	case STEP_SNAPSHOT: return snapshot(rig, s->n, err);
	case STEP_ARCHIVE: return archive(rig, s->n, err);
	case STEP_CLOSE: store_close(TAKE_PTR(rig->store)); return 0;
	case STEP_END: break;
	}
	return OV_EINTERNAL;
}

static void run_failed(struct rig *rig, const struct script *s, int r, const struct ov_err *err)
{
	if (!rig->span || rig->fault >= DISK_KILL || r != OV_EIO || !err->msg[0])
		fail_msg("step %d at call %llu: %s", (int)s->step, (unsigned long long)rig->at,
				err->msg);
	if (rig->fault == DISK_FULL && rig->hit == DISK_CALL_WRITE &&
			!strstr(err->msg, "the disk is full"))
		fail_msg("step %d: '%s' does not say that the disk is full", (int)s->step,
				err->msg);
	rig->failures++;
	/* Nothing of it is in the log. */
	if (rig->store)
		assert_int_equal(head_of(rig->store), rig->head);
}

/* Until the life ends, or everything is done; what a fault hit is tried again. */
static void run(struct rig *rig, const struct script *s)
{
	while (s->step != STEP_END && !is_dead(rig)) {
		struct ov_err err = { 0 };
		int r = run_step(rig, s, &err);

		if (r < 0 && !is_dead(rig))
			run_failed(rig, s, r, &err);
		else
			s++;
	}
}

static void check_snapshot(struct rig *rig)
{
	struct arena a = ARENA_INIT;
	struct store_snapshot snap;
	int r = store_snapshot_get(rig->store, &a, &snap, NULL);

	if (rig->snapshot || r == 0) {
		assert_int_equal(r, 0);
		assert_true(snap.seq >= rig->snapshot);
		for (size_t i = 0; i < snap.bytes.n; i++)
			assert_int_equal(snap.bytes.p[i], 'a' + snap.seq % 26);
		rig->snapshot = snap.seq;
	}
	arena_done(&a);
}

/* What the store holds is what was acknowledged, and at most the one group in flight, whole. */
static void check_content(struct rig *rig)
{
	struct ov_err err = { 0 };
	uint64_t head = head_of(rig->store), last = 0, border;

	if (head != rig->head && head != rig->head + rig->tried)
		fail_msg("head %llu after %llu and %zu in flight, call %llu",
				(unsigned long long)head, (unsigned long long)rig->head, rig->tried,
				(unsigned long long)rig->at);
	rig->head = head;
	rig->tried = 0;
	assert_int_equal(read_all(rig->store, true), head);
	if (store_verify(rig->store, 0, &last, &err) < 0 || store_check(rig->store, &err) < 0)
		fail_msg("call %llu: %s", (unsigned long long)rig->at, err.msg);
	assert_int_equal(last, head);
	assert_int_equal(store_border(rig->store, &border, &err), 0);
	assert_true(border >= rig->border);
	rig->border = border;
	check_snapshot(rig);
}

/* A later life finds everything and goes on. */
static void check_next(struct rig *rig)
{
	static const struct script again[] = { { STEP_OPEN, 0 }, { STEP_END, 0 } };
	static const struct script more[] = {
		{ STEP_LEASE, 0 },
		{ STEP_GROUP, 3 },
		{ STEP_SNAPSHOT, 50 },
		{ STEP_ARCHIVE, 5 },
		{ STEP_GROUP, 2 },
		{ STEP_END, 0 },
	};

	next_life(rig);
	rig->span = 0;
	run(rig, again);
	check_content(rig);
	run(rig, more);
	if (rig->cut_later)
		disk_power_cut(rig->disk);
	next_life(rig);
	run(rig, again);
	check_content(rig);
}

static uint64_t count_calls(const struct script *s)
{
	struct rig rig;

	rig_init(&rig, 1, 0, DISK_OK);
	run(&rig, s);
	assert_null(rig.store);
	rig_done(&rig);
	return rig.calls;
}

/* Of n variants of what happens at a call two are tried, in turn; all of them at full size. */
static bool is_turn(uint64_t at, size_t i, size_t n)
{
	return getenv("OV_FULL") || getenv("OV_SOAK") || (at + i) % n < 2;
}

static const enum disk_fault deaths[] = { DISK_KILL, DISK_KILL_AFTER, DISK_TORN };

TEST(the_store_survives_death_at_every_call)
{
	uint64_t n = count_calls(whole);

	assert_true(n > 150);
	for (uint64_t at = 1; at <= n; at++) {
		for (size_t i = 0; i < ARRAY_LEN(deaths); i++) {
			struct rig rig;

			rig_init(&rig, at, at, deaths[i]);
			rig.cut_later = (at + i) & 1;
			run(&rig, whole);
			assert_true(is_dead(&rig));
			check_next(&rig);
			rig_done(&rig);
		}
	}
}

/*
 * Records that an interrupted move left in the archive could be read, and were in the system's
 * memory alone: the next move found them there, the store forgot them, and the power took them.
 */
TEST(the_store_forgets_only_what_the_archive_has_on_disk)
{
	for (uint64_t at = 1, dead = true; dead; at++) {
		for (uint64_t seed = 0; seed < 3; seed++) {
			struct rig rig;

			rig_init(&rig, seed, at, DISK_KILL);
			rig.only = STR("archive.db");
			rig.cut_later = true;
			run(&rig, whole);
			dead = is_dead(&rig);
			check_next(&rig);
			rig_done(&rig);
		}
		assert_true(dead || at > 40);
	}
}

TEST(the_store_survives_a_power_cut_at_every_call)
{
	uint64_t n = count_calls(whole), seeds = getenv("OV_SOAK") ? 100 : 2, lost = 0;

	for (uint64_t at = 1; at <= n; at++) {
		for (uint64_t i = 0; i < seeds; i++) {
			struct rig rig;

			rig_init(&rig, at * 10000 + i, at, deaths[(at + i) % ARRAY_LEN(deaths)]);
			run(&rig, whole);
			assert_true(is_dead(&rig));
			disk_power_cut(rig.disk);
			check_next(&rig);
			lost += disk_stats(rig.disk)->lost_sectors;
			rig_done(&rig);
		}
	}
	assert_true(lost > 1000);
}

static const enum disk_fault errors[] = { DISK_FULL, DISK_IOERR };

/* The calls fail, steps say so and change nothing, and go on when the disk does. */
TEST(a_failing_disk_is_told_and_changes_nothing)
{
	static const uint64_t spans[] = { 1, 6 };
	uint64_t n = count_calls(whole);
	size_t told = 0;

	for (uint64_t at = 1; at <= n; at++) {
		for (size_t i = 0; i < ARRAY_LEN(spans) * ARRAY_LEN(errors); i++) {
			struct rig rig;

			if (!is_turn(at, i, ARRAY_LEN(spans) * ARRAY_LEN(errors)))
				continue;

			rig_init(&rig, at, at, errors[i % 2]);
			rig.span = spans[i / 2];
			run(&rig, whole);
			told += rig.failures;
			check_next(&rig);
			rig_done(&rig);
		}
	}
	assert_true(told > n);
}

/*
 * However its creation fails: a store that opens keeps a write-ahead log, which is what its
 * promises rest on.
 */
TEST(a_store_that_opens_has_a_log_ahead)
{
	static const struct script create[] = { { STEP_OPEN, 0 }, { STEP_CLOSE, 0 },
		{ STEP_END, 0 } };
	uint64_t n = count_calls(create);

	for (uint64_t at = 1; at <= n; at++) {
		struct ov_err err = { 0 };
		struct rig rig;
		uint8_t formats[2] = { 0 };
		FILE *f;

		rig_init(&rig, at, at, DISK_IOERR);
		if (run_step(&rig, create, &err) == 0) {
			f = fopen(rig.path, "rb");
			assert_non_null(f);
			assert_int_equal(fseek(f, 18, SEEK_SET), 0);
			assert_int_equal(fread(formats, 1, 2, f), 2);
			fclose(f);
			if (formats[0] != 2 || formats[1] != 2)
				fail_msg("call %llu failed, and the store opens without its log",
						(unsigned long long)at);
		}
		rig_done(&rig);
	}
}

/*
 * The process dies, or the power goes, when it is told of the failure: a group that was written and
 * not synced may turn up whole, as the store's contract has it.
 */
TEST(death_after_a_failure_leaves_whole_groups)
{
	uint64_t n = count_calls(whole);

	for (uint64_t at = 1; at <= n; at++) {
		for (size_t i = 0; i < 4 * ARRAY_LEN(errors); i++) {
			const struct script *s = whole;
			struct ov_err err;
			struct rig rig;

			if (!is_turn(at, i, 4 * ARRAY_LEN(errors)))
				continue;
			rig_init(&rig, at, at, errors[i % 2]);
			while (s->step != STEP_END && run_step(&rig, s, &err) == 0)
				s++;
			if (i & 2)
				disk_power_cut(rig.disk);
			else
				disk_kill(rig.disk, rig.life);
			rig.cut_later = i & 4;
			check_next(&rig);
			rig_done(&rig);
		}
	}
}

/* A store as the first version left it, with n records. */
static void make_first_version(struct rig *rig, size_t n)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct sqlite_store raw = { .path = rig->path };
	uint8_t hash[SHA256_LEN] = { 0 };

	assert_int_equal(sqlite3_open(rig->path, &raw.db), SQLITE_OK);
	sqlite3_exec(raw.db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
	assert_int_equal(sqlite_migrate(raw.db, raw.path, sqlite_migrations, 1, NULL), 0);
	assert_int_equal(sqlite_insert(&raw, make_records(&a, 0, n), n, hash, NULL), 0);
	sqlite_disconnect(&raw);
	rig->head = n;
}

static const struct script upgrade[] = {
	{ STEP_OPEN, 0 },
	{ STEP_LEASE, 0 },
	{ STEP_GROUP, 2 },
	{ STEP_CLOSE, 0 },
	{ STEP_END, 0 },
};

/* Does the fault hit? */
static bool upgrade_with(uint64_t at, enum disk_fault fault, bool cut)
{
	struct rig rig;
	bool hit;

	rig_init(&rig, at, 0, fault);
	make_first_version(&rig, 20);
	rig.at = rig.calls + at;
	rig.span = 1;
	run(&rig, upgrade);
	hit = rig.calls >= rig.at;
	if (cut)
		disk_power_cut(rig.disk);
	check_next(&rig);
	rig_done(&rig);
	return hit;
}

TEST(a_migration_is_done_whole_or_again)
{
	bool hit = true;

	for (uint64_t at = 1; hit; at++) {
		for (size_t i = 0; i < ARRAY_LEN(deaths); i++) {
			upgrade_with(at, deaths[i], true);
			hit = upgrade_with(at, deaths[i], false);
		}
		for (size_t i = 0; i < ARRAY_LEN(errors); i++)
			upgrade_with(at, errors[i], at & 1);
		assert_true(hit || at > 15);
	}
}

/* A dead daemon's store: whatever is still called, nothing happens. */
TEST(a_dead_store_changes_nothing)
{
	uint8_t before[2][SHA256_LEN], after[2][SHA256_LEN];
	struct ov_err err = { 0 };
	char wal[320];
	struct rig rig;

	rig_init(&rig, 1, 0, DISK_OK);
	run(&rig,
			(const struct script[]){ { STEP_OPEN, 0 }, { STEP_LEASE, 0 },
					{ STEP_GROUP, 9 }, { STEP_SNAPSHOT, 10 },
					{ STEP_ARCHIVE, 4 }, { STEP_GROUP, 1 }, { STEP_END, 0 } });
	snprintf(wal, sizeof(wal), "%s-wal", rig.path);
	hash_file(rig.path, before[0]);
	hash_file(wal, before[1]);
	disk_kill(rig.disk, 0);
	assert_int_equal(group(&rig, 2, &err), OV_EIO);
	rig.tried = 0;
	assert_int_equal(snapshot(&rig, 10, &err), OV_EIO);
	assert_int_equal(archive(&rig, 2, &err), OV_EIO);
	assert_int_equal(lease(&rig, &err), OV_ECONFLICT); /* its lock is the process's */
	assert_true(store_check(rig.store, &err) < 0);
	next_life(&rig);
	hash_file(rig.path, after[0]);
	hash_file(wal, after[1]);
	assert_memory_equal(before, after, sizeof(before));
	check_next(&rig);
	rig_done(&rig);
}

/* Opens a store of its own for a life. */
static struct store *open_in(struct rig *rig, unsigned life)
{
	disk_set_life(rig->disk, life);
	return open_url(rig->url, STORE_READ_WRITE);
}

/* Says who has it when it is refused. */
static int take(struct store *s, uint64_t *ret_term)
{
	struct arena a = ARENA_INIT;
	struct store_lease got = { 0 };
	int r = store_lease_take(s, STR("another"), &a, &got, NULL);

	assert_true(str_is(got.holder, r == 0 ? "another" : "a daemon"));
	*ret_term = got.term;
	arena_done(&a);
	return r;
}

static int append_some(struct store *s, uint64_t head, size_t n)
{
	struct arena a = ARENA_INIT;
	int r = append(s, head, make_records(&a, head, n), n).r;

	arena_done(&a);
	return r;
}

/* The first holds the lease; somebody removes the lock file, and the second takes it, too. */
static struct store *take_over(struct rig *rig)
{
	static const struct script first[] = {
		{ STEP_OPEN, 0 },
		{ STEP_LEASE, 0 },
		{ STEP_GROUP, 3 },
		{ STEP_END, 0 },
	};
	struct store *other;
	uint64_t term;
	char lock[320];

	rig_init(rig, 1, 0, DISK_OK);
	run(rig, first);
	other = open_in(rig, 1);
	assert_int_equal(take(other, &term), OV_ECONFLICT);
	assert_int_equal(append_some(other, 3, 1), OV_EFENCED);
	snprintf(lock, sizeof(lock), "%s.lock", rig->path);
	assert_int_equal(unlink(lock), 0);
	assert_int_equal(take(other, &term), 0);
	assert_int_equal(term, rig->term + 1);
	append_many(other, 3, 4, 2);
	rig->head = 7;
	return other;
}

TEST(of_two_lives_the_older_is_fenced)
{
	struct ov_err err = { 0 };
	struct rig rig;
	struct store *other = take_over(&rig);

	disk_set_life(rig.disk, 0);
	assert_int_equal(append_some(rig.store, 3, 1), OV_EFENCED);
	assert_int_equal(append_some(rig.store, 7, 1), OV_EFENCED);
	assert_int_equal(snapshot(&rig, 5, &err), OV_EFENCED);
	check_content(&rig);
	disk_set_life(rig.disk, 1);
	append_many(other, 7, 1, 1);
	store_close(other);
	disk_set_life(rig.disk, 0);
	rig_done(&rig);
}

/* At every call of an append, in every way. */
TEST(one_life_dies_and_the_other_reads_on)
{
	for (uint64_t at = 1, dead = true; dead; at++) {
		for (size_t i = 0; i < ARRAY_LEN(deaths); i++) {
			struct rig rig;
			struct store *other = take_over(&rig);
			uint64_t term;

			rig.at = rig.calls + at;
			rig.span = 1;
			rig.fault = deaths[i];
			rig.tried = 5;
			rig.head += append_some(other, 7, 5) == 0 ? 5 : 0;
			dead = disk_is_dead(rig.disk, 1);
			store_close(other);
			disk_set_life(rig.disk, 0);
			check_content(&rig);
			other = open_in(&rig, 2);
			assert_int_equal(take(other, &term), 0);
			assert_int_equal(term, rig.term + 2);
			append_many(other, head_of(other), 6, 3);
			rig.head = head_of(other);
			store_close(other);
			disk_set_life(rig.disk, 0);
			check_content(&rig);
			rig_done(&rig);
		}
		assert_true(dead || at > 3);
	}
}

TEST_MAIN
