#pragma once
/*
 * What the store's tests share: a directory per test, a store opened as the environment says
 * (OV_STORE: mem, sqlite, trace-mem, trace-sqlite), records to append and how to look at them.
 * Failures of the helpers themselves abort the test by cmocka's asserts.
 */
#include "base/arena.h"
#include "base/err.h"
#include "store/store.h"
#include "tests/test.h"

struct test_dir {
	char path[256]; /* removed with all in it by dir_done */
	char db[300];   /* path/store.db */
	char url[320];  /* sqlite:db */
};

void dir_init(struct test_dir *d);
void dir_done(struct test_dir *d);

/* Is the back-end under test one that outlives its handle? */
bool store_is_durable(void);
/* Opens the back-end under test, in d if it is a file; traced if the test says so. */
struct store *open_store(const struct test_dir *d, enum store_mode mode);
struct store *open_url(const char *url, enum store_mode mode);
/* Opens for writing and takes the lease. */
struct store *open_held(const struct test_dir *d);
void take_lease(struct store *s, const char *holder);

/* What done() was told. */
struct appended {
	int calls, r;
	uint64_t head;
	struct ov_err err;
};

struct appended append(struct store *s, uint64_t expect, const struct store_record *recs, size_t n);
/* Appends n records with bodies made from their seq, in groups; asserts success. */
void append_many(struct store *s, uint64_t expect, size_t n, size_t group);
/* The n records that append_many appends after `after`. */
struct store_record *make_records(struct arena *a, uint64_t after, size_t n);
struct store_record record(str kind, str body);
uint64_t head_of(struct store *s);
/* Reads all in pages; asserts the chain, the order and, if made, the bodies of append_many. */
size_t read_all(struct store *s, bool made);
/* The error of reading everything with one call; 0 when it can be read. */
int read_error(struct store *s, struct ov_err *ret);
/* Runs SQL on the file by a connection of its own. */
void raw_sql(const struct test_dir *d, const char *sql);
/* A file's bytes hashed; absent files give zeros. */
void hash_file(const char *path, uint8_t ret[static SHA256_LEN]);
