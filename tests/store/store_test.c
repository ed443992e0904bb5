#include "tests/store/store_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>

#include "store/store_trace.h"

static const char *back_end(void)
{
	const char *name = getenv("OV_STORE");

	return name ? name : "sqlite";
}

bool store_is_durable(void)
{
	return strstr(back_end(), "sqlite") != NULL;
}

void dir_init(struct test_dir *d)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(d->path, sizeof(d->path), "%.200s/overseer-store-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(d->path));
	snprintf(d->db, sizeof(d->db), "%s/store.db", d->path);
	snprintf(d->url, sizeof(d->url), "sqlite:%s", d->db);
}

void dir_done(struct test_dir *d)
{
	DIR *dir = opendir(d->path);
	struct dirent *e;

	assert_non_null(dir);
	while ((e = readdir(dir)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(dir), e->d_name, 0);
	closedir(dir);
	assert_int_equal(rmdir(d->path), 0);
}

static void ignore_line(void *user, const char *text)
{
	assert_null(user);
	assert_null(strchr(text, '\n'));
}

struct store *open_url(const char *url, enum store_mode mode)
{
	struct ov_err err = { 0 };
	struct store *s = NULL;

	if (store_open((str){ url, strlen(url) }, mode, &s, &err) < 0)
		fail_msg("open %s: %s", url, err.msg);
	if (!strncmp(back_end(), "trace-", 6))
		s = store_trace_wrap(s, ignore_line, NULL);
	return s;
}

struct store *open_store(const struct test_dir *d, enum store_mode mode)
{
	return open_url(store_is_durable() ? d->url : "mem:", mode);
}

void take_lease(struct store *s, const char *holder)
{
	struct arena a = ARENA_INIT;
	struct store_lease lease;
	struct ov_err err = { 0 };

	if (store_lease_take(s, (str){ holder, strlen(holder) }, &a, &lease, &err) < 0)
		fail_msg("lease: %s", err.msg);
	arena_done(&a);
}

struct store *open_held(const struct test_dir *d)
{
	struct store *s = open_store(d, STORE_READ_WRITE);

	take_lease(s, "the test");
	return s;
}

static void appended_done(void *user, int r, uint64_t head, const struct ov_err *err)
{
	struct appended *got = user;

	got->calls++;
	got->r = r;
	got->head = head;
	assert_int_equal(err != NULL, r < 0);
	if (err) {
		got->err = *err;
		assert_int_equal(err->code, r);
		assert_true(err->msg[0]);
	}
}

struct appended append(struct store *s, uint64_t expect, const struct store_record *recs, size_t n)
{
	struct appended got = { 0 };

	store_append(s, expect, recs, n, appended_done, &got);
	while (!got.calls)
		assert_int_equal(store_pump(s, NULL), 0);
	assert_int_equal(got.calls, 1);
	return got;
}

struct store_record record(str kind, str body)
{
	return (struct store_record){ .at = 1700000000000, .kind = kind, .body = body };
}

struct store_record *make_records(struct arena *a, uint64_t after, size_t n)
{
	struct store_record *recs = arena_array(a, struct store_record, n);

	for (size_t i = 0; i < n; i++) {
		uint64_t seq = after + 1 + i;

		recs[i] = record(STR("test.made"),
				arena_printf(a, "{\"seq\":%llu,\"pad\":\"%0*d\"}",
						(unsigned long long)seq, (int)(seq % 300), 7));
		recs[i].at += (ov_time)seq;
	}
	return recs;
}

void append_many(struct store *s, uint64_t expect, size_t n, size_t group)
{
	struct arena a = ARENA_INIT;

	while (n) {
		size_t take = MIN(group, n);
		struct appended got = append(s, expect, make_records(&a, expect, take), take);

		if (got.r < 0)
			fail_msg("append at %llu: %s", (unsigned long long)expect, got.err.msg);
		expect += take;
		n -= take;
		assert_int_equal(got.head, expect);
		arena_reset(&a);
	}
	arena_done(&a);
}

uint64_t head_of(struct store *s)
{
	uint8_t hash[SHA256_LEN];
	struct ov_err err = { 0 };
	uint64_t seq = 0;

	if (store_head(s, &seq, hash, &err) < 0)
		fail_msg("head: %s", err.msg);
	return seq;
}

static void check_page(const struct store_record *got, size_t n, uint64_t after,
		uint8_t prev[static SHA256_LEN], bool made)
{
	struct arena a = ARENA_INIT;
	struct store_record *want = made ? make_records(&a, after, n) : NULL;

	for (size_t i = 0; i < n; i++) {
		assert_int_equal(got[i].seq, after + 1 + i);
		store_chain(prev, &got[i], prev);
		assert_memory_equal(prev, got[i].hash, SHA256_LEN);
		if (!made)
			continue;
		assert_int_equal(got[i].at, want[i].at);
		assert_int_equal(got[i].kind.n, want[i].kind.n);
		assert_memory_equal(got[i].kind.p, want[i].kind.p, want[i].kind.n);
		assert_int_equal(got[i].body.n, want[i].body.n);
		assert_memory_equal(got[i].body.p, want[i].body.p, want[i].body.n);
	}
	arena_done(&a);
}

size_t read_all(struct store *s, bool made)
{
	uint8_t prev[SHA256_LEN] = { 0 };
	uint64_t after = 0;

	for (;;) {
		struct arena a = ARENA_INIT;
		struct store_record *recs;
		struct ov_err err = { 0 };
		size_t n;

		if (store_read(s, after, 257, &a, &recs, &n, &err) < 0)
			fail_msg("read after %llu: %s", (unsigned long long)after, err.msg);
		check_page(recs, n, after, prev, made);
		after += n;
		arena_done(&a);
		if (n < 257)
			break;
	}
	assert_int_equal(head_of(s), after);
	return after;
}

int read_error(struct store *s, struct ov_err *ret)
{
	struct arena a = ARENA_INIT;
	struct store_record *recs = NULL;
	size_t n = 4711;
	int r = store_read(s, 0, SIZE_MAX, &a, &recs, &n, ret);

	if (r < 0) {
		assert_null(recs);
		assert_int_equal(n, 4711);
	}
	arena_done(&a);
	return r;
}

void raw_sql(const struct test_dir *d, const char *sql)
{
	sqlite3 *db = NULL;
	char *msg = NULL;

	assert_int_equal(sqlite3_open(d->db, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	if (sqlite3_exec(db, sql, NULL, NULL, &msg) != SQLITE_OK)
		fail_msg("%s: %s", sql, msg);
	sqlite3_close(db);
}

void hash_file(const char *path, uint8_t ret[static SHA256_LEN])
{
	FILE *f = fopen(path, "re");
	struct sha256 c;
	char bytes[4096];
	size_t n;

	memset(ret, 0, SHA256_LEN);
	if (!f)
		return;
	sha256_init(&c);
	while ((n = fread(bytes, 1, sizeof(bytes), f)) > 0)
		sha256_add(&c, bytes, n);
	sha256_end(&c, ret);
	fclose(f);
}
