/* What every back-end must do; OV_STORE says which one is tested. */
#include "store/store_impl.h"
#include "tests/store/store_test.h"

#include <stdio.h>

#include "base/str.h"
#include "store/store_trace.h"

static const char zeros[SHA256_LEN];

static void assert_hash_at(struct store *s, uint64_t seq, uint8_t ret[static SHA256_LEN])
{
	struct arena a = ARENA_INIT;
	struct store_record *recs;
	size_t n;

	assert_int_equal(store_read(s, seq - 1, 1, &a, &recs, &n, NULL), 0);
	assert_int_equal(n, 1);
	memcpy(ret, recs[0].hash, SHA256_LEN);
	arena_done(&a);
}

TEST(empty_store)
{
	struct test_dir d;
	struct store *s;
	uint8_t hash[SHA256_LEN];
	uint64_t seq = 99;
	struct arena a = ARENA_INIT;
	struct store_record *recs;
	struct store_snapshot snap;
	struct ov_err err;
	size_t n = 99;

	dir_init(&d);
	s = open_store(&d, STORE_READ_WRITE);
	assert_int_equal(store_head(s, &seq, hash, &err), 0);
	assert_int_equal(seq, 0);
	assert_memory_equal(hash, zeros, SHA256_LEN);
	assert_int_equal(store_read(s, 0, 10, &a, &recs, &n, &err), 0);
	assert_int_equal(n, 0);
	assert_int_equal(store_snapshot_get(s, &a, &snap, &err), OV_ENOTFOUND);
	assert_int_equal(store_fd(s), -1);
	store_close(s);
	store_close(NULL);
	arena_done(&a);
	dir_done(&d);
}

TEST(append_gives_seq_and_chain)
{
	struct test_dir d;
	struct store *s;
	uint8_t want[SHA256_LEN] = { 0 }, hash[SHA256_LEN];
	struct store_record recs[3] = { record(STR("a.b"), STR("{}")), record(STR("c"), STR("1")),
		record(STR("d"), STR("2")) };
	uint64_t seq;
	struct appended got;

	dir_init(&d);
	s = open_held(&d);
	recs[1].at = -5;
	got = append(s, 0, recs, 2);
	assert_int_equal(got.r, 0);
	assert_int_equal(got.head, 2);
	got = append(s, 2, recs + 2, 1);
	assert_int_equal(got.head, 3);
	assert_int_equal(read_all(s, false), 3);
	for (uint64_t i = 0; i < 3; i++) {
		recs[i].seq = i + 1;
		store_chain(want, &recs[i], want);
	}
	assert_int_equal(store_head(s, &seq, hash, NULL), 0);
	assert_int_equal(seq, 3);
	assert_memory_equal(hash, want, SHA256_LEN);
	store_close(s);
	dir_done(&d);
}

/* The format on disk: these bytes may never change. */
TEST(chain_rule_is_fixed)
{
	static const uint8_t prev[SHA256_LEN] = { 1, 2, 3 };
	struct store_record r = record(STR("goal.created"), STR("{\"goal\":\"goal_1\"}"));
	struct store_record moved = record(STR("goal.create"), STR("d{\"goal\":\"goal_1\"}"));
	uint8_t got[SHA256_LEN], other[SHA256_LEN];
	char hex[SHA256_HEX + 1];

	r.seq = moved.seq = 0x0102030405060708;
	store_chain(prev, &r, got);
	store_chain(prev, &moved, other);
	assert_memory_not_equal(got, other, SHA256_LEN);
	hex_format(got, SHA256_LEN, hex);
	assert_string_equal(hex,
			"bdcd4172aea6fe614bde7e46caf1bc5b658fd89183a8c9b479aa1f13e60d64c7");
}

TEST(append_conflicts)
{
	struct test_dir d;
	struct store *s;
	struct store_record one = record(STR("k"), STR("v"));
	static const uint64_t wrong[] = { 0, 4, 6, 1000, UINT64_MAX };

	dir_init(&d);
	s = open_held(&d);
	append_many(s, 0, 5, 5);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct appended got = append(s, wrong[i], &one, 1);

		assert_int_equal(got.r, OV_ECONFLICT);
		assert_int_equal(got.head, 5);
	}
	assert_int_equal(read_all(s, true), 5);
	append_many(s, 5, 1, 1);
	assert_int_equal(read_all(s, true), 6);
	store_close(s);
	dir_done(&d);
}

TEST(append_of_nothing)
{
	struct test_dir d;
	struct store *s;
	struct appended got;

	dir_init(&d);
	s = open_held(&d);
	got = append(s, 0, NULL, 0);
	assert_int_equal(got.r, 0);
	assert_int_equal(got.head, 0);
	append_many(s, 0, 2, 2);
	got = append(s, 2, NULL, 0);
	assert_int_equal(got.r, 0);
	assert_int_equal(got.head, 2);
	assert_int_equal(append(s, 1, NULL, 0).r, OV_ECONFLICT);
	store_close(s);
	dir_done(&d);
}

TEST(append_needs_the_lease)
{
	struct test_dir d;
	struct store *s;
	struct store_record one = record(STR("k"), STR("v"));
	struct store_snapshot snap = { .seq = 1, .bytes = STR("x") };

	dir_init(&d);
	s = open_store(&d, STORE_READ_WRITE);
	assert_int_equal(append(s, 0, &one, 1).r, OV_EFENCED);
	assert_int_equal(store_snapshot_put(s, &snap, NULL), OV_EFENCED);
	take_lease(s, "me");
	append_many(s, 0, 1, 1);
	store_lease_release(s);
	assert_int_equal(append(s, 1, &one, 1).r, OV_EFENCED);
	assert_int_equal(head_of(s), 1);
	store_lease_release(s); /* once more does nothing */
	take_lease(s, "me again");
	append_many(s, 1, 1, 1);
	store_close(s);
	dir_done(&d);
}

TEST(bounds_are_kept_all_or_nothing)
{
	struct test_dir d;
	struct store *s;
	struct arena a = ARENA_INIT;
	char *big = arena_zalloc(&a, STORE_BODY_MAX + 1);
	struct store_record recs[2] = { record(STR("fits"), STR("1")), record(STR("k"), STR("")) };
	struct appended got;
	struct store_lease lease;

	dir_init(&d);
	s = open_held(&d);
	recs[1].body = (str){ big, STORE_BODY_MAX + 1 };
	got = append(s, 0, recs, 2);
	assert_int_equal(got.r, OV_ELIMIT);
	recs[1].body = STR("");
	recs[1].kind = (str){ big, STORE_KIND_MAX + 1 };
	assert_int_equal(append(s, 0, recs, 2).r, OV_ELIMIT);
	assert_int_equal(head_of(s), 0);
	recs[1].kind.n = STORE_KIND_MAX;
	recs[1].body = (str){ big, STORE_BODY_MAX };
	assert_int_equal(append(s, 0, recs, 2).r, 0);
	assert_int_equal(read_all(s, false), 2);
	store_lease_release(s);
	assert_int_equal(store_lease_take(s, (str){ big, STORE_HOLDER_MAX + 1 }, &a, &lease, NULL),
			OV_ELIMIT);
	store_close(s);
	arena_done(&a);
	dir_done(&d);
}

/* Bodies are text, but the store does not look: every byte comes back, NUL and bad UTF-8 too. */
TEST(bytes_come_back_as_they_were)
{
	struct test_dir d;
	struct store *s;
	struct arena a = ARENA_INIT;
	size_t mib = 1 << 20;
	char *big = arena_alloc(&a, mib), all[256];
	struct store_record recs[5], *got;
	size_t n;

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (char)i;
	for (size_t i = 0; i < mib; i++)
		big[i] = (char)(i * 31 >> 3);
	recs[0] = record(STR(""), STR(""));
	recs[1] = record((str){ NULL, 0 }, (str){ NULL, 0 });
	recs[2] = record(STR("nul\0inside"), (str){ all, sizeof(all) });
	recs[3] = record(STR("big"), (str){ big, mib });
	recs[4] = record(STR("utf8"), STR("\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xff\xfe\""));
	dir_init(&d);
	s = open_held(&d);
	assert_int_equal(append(s, 0, recs, 5).r, 0);
	assert_int_equal(store_read(s, 0, 10, &a, &got, &n, NULL), 0);
	assert_int_equal(n, 5);
	for (size_t i = 0; i < n; i++) {
		assert_true(str_eq(got[i].kind, recs[i].kind));
		assert_true(str_eq(got[i].body, recs[i].body));
	}
	store_close(s);
	arena_done(&a);
	dir_done(&d);
}

TEST(read_pages)
{
	struct test_dir d;
	struct store *s;
	struct arena a = ARENA_INIT;
	static const struct {
		uint64_t after;
		size_t limit, n;
	} cases[] = { { 0, 10, 10 }, { 0, 0, 0 }, { 5, 0, 0 }, { 10, 10, 10 }, { 95, 10, 5 },
		{ 99, 1, 1 }, { 100, 10, 0 }, { 101, 10, 0 }, { UINT64_MAX, 10, 0 },
		{ (uint64_t)INT64_MAX, SIZE_MAX, 0 }, { 0, SIZE_MAX, 100 }, { 1, SIZE_MAX, 99 } };

	dir_init(&d);
	s = open_held(&d);
	append_many(s, 0, 100, 7);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct store_record *recs;
		size_t n;

		assert_int_equal(store_read(s, cases[i].after, cases[i].limit, &a, &recs, &n, NULL),
				0);
		assert_int_equal(n, cases[i].n);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(recs[k].seq, cases[i].after + 1 + k);
	}
	append_many(s, 100, 1000, 1000);
	assert_int_equal(read_all(s, true), 1100);
	store_close(s);
	arena_done(&a);
	dir_done(&d);
}

TEST(snapshots)
{
	struct test_dir d;
	struct store *s;
	struct arena a = ARENA_INIT;
	struct store_snapshot snap = { 0 }, got;

	dir_init(&d);
	s = open_held(&d);
	append_many(s, 0, 30, 10);
	for (uint64_t seq = 10; seq <= 30; seq += 10) {
		snap.seq = seq;
		snap.format = (int64_t)seq * -7;
		snap.bytes = arena_printf(&a, "state%c after %llu", 0, (unsigned long long)seq);
		assert_hash_at(s, seq, snap.hash);
		assert_int_equal(store_snapshot_put(s, &snap, NULL), 0);
		assert_int_equal(store_snapshot_get(s, &a, &got, NULL), 0);
		assert_int_equal(got.seq, seq);
		assert_int_equal(got.format, snap.format);
		assert_memory_equal(got.hash, snap.hash, SHA256_LEN);
		assert_true(str_eq(got.bytes, snap.bytes));
	}
	/* An older one does not displace the newest; the same seq is replaced. */
	snap.seq = 15;
	assert_hash_at(s, 15, snap.hash);
	assert_int_equal(store_snapshot_put(s, &snap, NULL), 0);
	assert_int_equal(store_snapshot_get(s, &a, &got, NULL), 0);
	assert_int_equal(got.seq, 30);
	snap.seq = 30;
	snap.bytes = (str){ NULL, 0 };
	assert_hash_at(s, 30, snap.hash);
	assert_int_equal(store_snapshot_put(s, &snap, NULL), 0);
	assert_int_equal(store_snapshot_get(s, &a, &got, NULL), 0);
	assert_int_equal(got.bytes.n, 0);
	store_close(s);
	arena_done(&a);
	dir_done(&d);
}

TEST(snapshots_of_what_is_not_in_the_log)
{
	struct test_dir d;
	struct store *s;
	struct arena a = ARENA_INIT;
	struct store_snapshot snap = { .bytes = STR("state") }, got;
	static const uint64_t absent[] = { 0, 4, UINT64_MAX };

	dir_init(&d);
	s = open_held(&d);
	append_many(s, 0, 3, 3);
	for (size_t i = 0; i < ARRAY_LEN(absent); i++) {
		snap.seq = absent[i];
		assert_int_equal(store_snapshot_put(s, &snap, NULL), OV_EINVALID);
	}
	snap.seq = 3; /* with another hash */
	assert_int_equal(store_snapshot_put(s, &snap, NULL), OV_EINVALID);
	assert_int_equal(store_snapshot_get(s, &a, &got, NULL), OV_ENOTFOUND);
	store_close(s);
	arena_done(&a);
	dir_done(&d);
}

TEST(big_snapshot)
{
	struct test_dir d;
	struct store *s;
	struct arena a = ARENA_INIT;
	size_t size = 20 << 20;
	char *bytes = arena_alloc(&a, size);
	struct store_snapshot snap = { .seq = 1, .format = 1, .bytes = { bytes, size } }, got;

	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)(i >> 7 ^ i);
	dir_init(&d);
	s = open_held(&d);
	append_many(s, 0, 1, 1);
	assert_hash_at(s, 1, snap.hash);
	assert_int_equal(store_snapshot_put(s, &snap, NULL), 0);
	assert_int_equal(store_snapshot_get(s, &a, &got, NULL), 0);
	assert_true(str_eq(got.bytes, snap.bytes));
	store_close(s);
	arena_done(&a);
	dir_done(&d);
}

TEST(lease_in_one_process)
{
	struct test_dir d;
	struct store *s;
	struct arena a = ARENA_INIT;
	struct store_lease lease = { 0 };
	struct ov_err err;

	dir_init(&d);
	s = open_store(&d, STORE_READ_WRITE);
	assert_int_equal(store_lease_take(s, STR("{\"pid\":1}"), &a, &lease, &err), 0);
	assert_int_equal(lease.term, 1);
	assert_true(str_is(lease.holder, "{\"pid\":1}"));
	lease = (struct store_lease){ 0 };
	assert_int_equal(store_lease_take(s, STR("other"), &a, &lease, &err), OV_ECONFLICT);
	assert_true(str_is(lease.holder, "{\"pid\":1}"));
	assert_int_equal(lease.term, 1);
	assert_non_null(strstr(err.msg, "{\"pid\":1}"));
	append_many(s, 0, 3, 1); /* the refused try took nothing away */
	store_lease_release(s);
	assert_int_equal(store_lease_take(s, STR("other"), &a, &lease, &err), 0);
	assert_int_equal(lease.term, 2);
	append_many(s, 3, 3, 1);
	store_close(s);
	arena_done(&a);
	dir_done(&d);
}

TEST(read_only_handles_write_nothing)
{
	struct test_dir d;
	struct store *s;
	struct arena a = ARENA_INIT;
	struct store_lease lease;
	struct store_record one = record(STR("k"), STR("v"));
	struct ov_err err;

	dir_init(&d);
	store_close(open_store(&d, STORE_READ_WRITE));
	s = open_store(&d, STORE_READ_ONLY);
	assert_int_equal(store_lease_take(s, STR("me"), &a, &lease, &err), OV_ESTATE);
	assert_int_equal(append(s, 0, &one, 1).r, OV_EFENCED);
	assert_int_equal(head_of(s), 0);
	store_close(s);
	arena_done(&a);
	dir_done(&d);
}

struct chained {
	struct store *s;
	struct appended got;
	int left;
};

static void append_next(void *user, int r, uint64_t head, const struct ov_err *err)
{
	struct chained *c = user;
	struct store_record one = record(STR("k"), STR("v"));

	assert_null(err);
	c->got.calls++;
	c->got.r = r;
	c->got.head = head;
	if (--c->left)
		store_append(c->s, head, &one, 1, append_next, c);
}

/* The next group may be appended from the done() of the last. */
TEST(append_from_done)
{
	struct test_dir d;
	struct chained c = { .left = 5 };

	dir_init(&d);
	c.s = open_held(&d);
	store_append(c.s, 0, NULL, 0, append_next, &c);
	while (c.left)
		assert_int_equal(store_pump(c.s, NULL), 0);
	assert_int_equal(c.got.calls, 5);
	assert_int_equal(c.got.r, 0);
	assert_int_equal(read_all(c.s, false), 4);
	store_close(c.s);
	dir_done(&d);
}

TEST(reopened_store_goes_on)
{
	struct test_dir d;
	struct store *s;

	if (!store_is_durable())
		return; /* by design there is nothing to open again */
	dir_init(&d);
	for (uint64_t i = 0; i < 5; i++) {
		s = open_held(&d);
		assert_int_equal(read_all(s, true), i * 50);
		append_many(s, i * 50, 50, 9);
		store_close(s);
	}
	s = open_store(&d, STORE_READ_ONLY);
	assert_int_equal(read_all(s, true), 250);
	store_close(s);
	dir_done(&d);
}

TEST(verify_check_and_copy)
{
	struct test_dir d;
	struct ov_err err = { 0 };
	struct store *s, *copy;
	uint64_t last = 99;
	char path[320], url[340];

	dir_init(&d);
	s = open_held(&d);
	assert_int_equal(store_verify(s, 0, &last, &err), 0);
	assert_int_equal(last, 0);
	append_many(s, 0, 30, 7);
	assert_int_equal(store_verify(s, 0, &last, &err), 0);
	assert_int_equal(last, 30);
	assert_int_equal(store_verify(s, 29, &last, &err), 0);
	assert_int_equal(last, 30);
	assert_int_equal(store_check(s, &err), 0);
	assert_int_equal(store_damage(s).n, 0);
	snprintf(path, sizeof(path), "%s/copy.db", d.path);
	snprintf(url, sizeof(url), "sqlite:%s", path);
	if (!store_is_durable()) {
		assert_int_equal(store_copy(s, path, &err), OV_ESTATE);
	} else {
		assert_int_equal(store_copy(s, path, &err), 0);
		assert_int_equal(store_copy(s, path, &err), OV_EIO); /* never over a file */
		append_many(s, 30, 5, 5);
		copy = open_url(url, STORE_READ_ONLY);
		assert_int_equal(read_all(copy, true), 30);
		assert_int_equal(store_check(copy, &err), 0);
		store_close(copy);
	}
	store_close(s);
	dir_done(&d);
}

TEST(urls)
{
	static const char *const bad[] = { "", "mem", "oracle:x", "sqlite:", "mem:x", ":",
		"sqlite" };
	struct store *s = NULL;
	struct ov_err err;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(store_open(str_from(bad[i]), STORE_READ_WRITE, &s, &err),
				OV_EINVALID);
		assert_null(s);
		assert_true(err.msg[0]);
	}
	assert_int_equal(store_open(STR("sqlite:a\0b"), STORE_READ_WRITE, &s, &err), OV_EINVALID);
}

static void collect(void *user, const char *text)
{
	char *all = user;
	size_t n = strlen(all);

	snprintf(all + n, 2048 - n, "%s\n", text);
}

TEST(trace_tells_every_call)
{
	struct arena a = ARENA_INIT;
	struct store_record recs[2] = { record(STR("kind"), STR("body")),
		record(STR("k"), STR("b")) };
	struct store *s = NULL;
	struct store_lease lease;
	struct store_snapshot snap = { .seq = 2, .format = 3, .bytes = STR("state") };
	struct store_record *got;
	char text[2048] = "";
	struct ov_err err;
	uint64_t seq;
	size_t n;

	assert_int_equal(store_open(STR("mem:"), STORE_READ_WRITE, &s, NULL), 0);
	s = store_trace_wrap(s, collect, text);
	assert_int_equal(append(s, 0, recs, 2).r, OV_EFENCED);
	assert_int_equal(store_lease_take(s, STR("me"), &a, &lease, &err), 0);
	assert_int_equal(store_lease_take(s, STR("me"), &a, &lease, &err), OV_ECONFLICT);
	assert_int_equal(append(s, 0, recs, 2).r, 0);
	assert_int_equal(store_head(s, &seq, snap.hash, &err), 0);
	assert_int_equal(store_read(s, 1, 9, &a, &got, &n, &err), 0);
	assert_int_equal(store_snapshot_get(s, &a, &snap, NULL), OV_ENOTFOUND);
	assert_int_equal(store_snapshot_put(s, &snap, &err), 0);
	assert_int_equal(store_snapshot_get(s, &a, &snap, &err), 0);
	store_lease_release(s);
	assert_int_equal(store_pump(s, &err), 0);
	store_close(s);
	assert_string_equal(text,
			"wrap mem\n"
			"append expect 0: 2 records, 10 bytes\n"
			"append -> E_FENCED: mem: the store's lease is not held\n"
			"lease take -> term 1\n"
			"lease take -> E_CONFLICT: mem: the store is held by me\n"
			"append expect 0: 2 records, 10 bytes\n"
			"append -> head 2\n"
			"head -> 2\n"
			"read after 1 limit 9 -> 1 records\n"
			"snapshot get -> E_NOT_FOUND\n"
			"snapshot put seq 2 format 3: 5 bytes\n"
			"snapshot get -> seq 2 format 3: 5 bytes\n"
			"lease release\n"
			"pump\n"
			"close\n");
	arena_done(&a);
}

TEST_MAIN
