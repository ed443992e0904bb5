/*
 * The store between engine and disk: every call is passed on; what the engine itself asked for is
 * recorded with its answer. Others read the same store, which is none of the tape's business.
 */
#include "base/alloc.h"
#include "tests/sim/tape_impl.h"

struct tape_store {
	struct store store;
	struct store *inner;
	struct tape *t;
	/* The append in flight; there is at most one. */
	store_done *done;
	void *user;
	uint64_t digest;
};

static struct tape_store *of(struct store *s)
{
	return (struct tape_store *)s;
}

static void answer(struct tape *t, enum tape_entry kind, int r)
{
	tape_entry(t, kind);
	tape_u64(t, (uint64_t)-r);
}

static void ts_close(struct store *s)
{
	store_close(of(s)->inner);
	mem_free(s);
}

static void append_done(void *user, int r, uint64_t head, const struct ov_err *err)
{
	struct tape_store *x = user;

	if (tape_on(x->t)) {
		tape_entry(x->t, T_APPEND);
		tape_u64(x->t, x->digest);
		tape_u64(x->t, (uint64_t)-r);
		tape_u64(x->t, head);
	}
	x->done(x->user, r, head, err);
}

static void ts_append(struct store *s, uint64_t expect, const struct store_record *recs, size_t n,
		store_done *done, void *user)
{
	struct tape_store *x = of(s);

	x->done = done;
	x->user = user;
	x->digest = tape_on(x->t) ? digest_u64(digest_records(recs, n), expect) : 0;
	store_append(x->inner, expect, recs, n, append_done, x);
}

static int ts_read(struct store *s, uint64_t after, size_t limit, struct arena *a,
		struct store_record **ret, size_t *ret_n, struct ov_err *err)
{
	struct tape_store *x = of(s);
	int r = store_read(x->inner, after, limit, a, ret, ret_n, err);

	if (!tape_on(x->t))
		return r;
	answer(x->t, T_READ, r);
	tape_u64(x->t, after);
	tape_u64(x->t, limit);
	tape_u64(x->t, r == 0 ? *ret_n : 0);
	for (size_t i = 0; r == 0 && i < *ret_n; i++) {
		const struct store_record *rec = &(*ret)[i];

		tape_u64(x->t, rec->seq);
		tape_u64(x->t, (uint64_t)rec->at);
		tape_str(x->t, rec->kind);
		tape_str(x->t, rec->body);
		tape_str(x->t, (str){ (const char *)rec->hash, sizeof(rec->hash) });
	}
	return r;
}

static int ts_head(struct store *s, uint64_t *ret_seq, uint8_t ret_hash[static SHA256_LEN],
		struct ov_err *err)
{
	struct tape_store *x = of(s);
	int r = store_head(x->inner, ret_seq, ret_hash, err);

	if (tape_on(x->t)) {
		answer(x->t, T_HEAD, r);
		tape_u64(x->t, r == 0 ? *ret_seq : 0);
		tape_str(x->t, r == 0 ? (str){ (const char *)ret_hash, SHA256_LEN } : (str){ 0 });
	}
	return r;
}

static int ts_snapshot_put(struct store *s, const struct store_snapshot *snap, struct ov_err *err)
{
	struct tape_store *x = of(s);
	int r = store_snapshot_put(x->inner, snap, err);

	if (tape_on(x->t)) {
		answer(x->t, T_SNAPSHOT_PUT, r);
		tape_u64(x->t, digest_snapshot(snap));
	}
	return r;
}

static int ts_snapshot_get(struct store *s, struct arena *a, struct store_snapshot *ret,
		struct ov_err *err)
{
	struct tape_store *x = of(s);
	int r = store_snapshot_get(x->inner, a, ret, err);

	if (tape_on(x->t)) {
		answer(x->t, T_SNAPSHOT_GET, r);
		tape_u64(x->t, r == 0 ? ret->seq : 0);
		tape_u64(x->t, r == 0 ? (uint64_t)ret->format : 0);
		tape_str(x->t, r == 0 ? (str){ (const char *)ret->hash, SHA256_LEN } : (str){ 0 });
		tape_str(x->t, r == 0 ? ret->bytes : (str){ 0 });
	}
	return r;
}

static int ts_archive(struct store *s, uint64_t upto, size_t max, size_t *ret_moved,
		struct ov_err *err)
{
	struct tape_store *x = of(s);
	int r = store_archive(x->inner, upto, max, ret_moved, err);

	if (tape_on(x->t)) {
		answer(x->t, T_ARCHIVE, r);
		tape_u64(x->t, upto);
		tape_u64(x->t, r == 0 ? *ret_moved : 0);
	}
	return r;
}

static int ts_border(struct store *s, uint64_t *ret_seq, struct ov_err *err)
{
	struct tape_store *x = of(s);
	int r = store_border(x->inner, ret_seq, err);

	if (tape_on(x->t)) {
		answer(x->t, T_BORDER, r);
		tape_u64(x->t, r == 0 ? *ret_seq : 0);
	}
	return r;
}

/* ---- what the engine does not ask for ---- */

static int ts_lease_take(struct store *s, str holder, struct arena *a, struct store_lease *ret,
		struct ov_err *err)
{
	return store_lease_take(of(s)->inner, holder, a, ret, err);
}

static void ts_lease_release(struct store *s)
{
	store_lease_release(of(s)->inner);
}

static int ts_verify(struct store *s, uint64_t after, uint64_t *ret_last, struct ov_err *err)
{
	return store_verify(of(s)->inner, after, ret_last, err);
}

static int ts_check(struct store *s, struct ov_err *err)
{
	return store_check(of(s)->inner, err);
}

static int ts_copy(struct store *s, const char *path, struct ov_err *err)
{
	return store_copy(of(s)->inner, path, err);
}

static str ts_damage(struct store *s)
{
	return store_damage(of(s)->inner);
}

static int ts_fd(struct store *s)
{
	return store_fd(of(s)->inner);
}

static int ts_pump(struct store *s, struct ov_err *err)
{
	return store_pump(of(s)->inner, err);
}

static const struct store_ops ops = {
	.scheme = "tape",
	.close = ts_close,
	.append = ts_append,
	.read = ts_read,
	.head = ts_head,
	.snapshot_put = ts_snapshot_put,
	.snapshot_get = ts_snapshot_get,
	.lease_take = ts_lease_take,
	.lease_release = ts_lease_release,
	.verify = ts_verify,
	.check = ts_check,
	.archive = ts_archive,
	.border = ts_border,
	.copy = ts_copy,
	.damage = ts_damage,
	.fd = ts_fd,
	.pump = ts_pump,
};

struct store *tape_store_new(struct tape *t, struct store *inner)
{
	struct tape_store *x = mem_zalloc(1, sizeof(*x));

	x->store.ops = &ops;
	x->inner = inner;
	x->t = t;
	return &x->store;
}

void tape_store_free(struct store *s)
{
	mem_free(s);
}
