/*
 * The log in memory, for tests and simulations: private to its handle and gone when closed. What
 * it holds never left the process, so reading does not verify the chain again.
 */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "store/store_impl.h"

struct mem_store {
	struct store store;
	enum store_mode mode;
	struct arena texts; /* kinds and bodies of the log */
	VEC(struct store_record) log;
	uint64_t border;            /* a mark only: all stays in memory */
	struct store_snapshot snap; /* seq 0: none; bytes are on the heap */
	char *holder;               /* NULL: the lease is free */
	size_t holder_n;
	uint64_t term;
};

static const uint8_t zero_hash[SHA256_LEN];

static struct mem_store *mem_of(struct store *s)
{
	return (struct mem_store *)s;
}

static int mem_open(str path, enum store_mode mode, struct store **ret, struct ov_err *err)
{
	struct mem_store *m;

	if (path.n)
		return ov_fail(err, OV_EINVALID, "a store in memory has no name: write mem:");
	m = mem_zalloc(1, sizeof(*m));
	m->store.ops = &store_mem_ops;
	m->mode = mode;
	*ret = &m->store;
	return 0;
}

static int mem_hold(str path _unused_, int *ret_fd _unused_, struct ov_err *err)
{
	return ov_fail(err, OV_ESTATE, "mem: a store in memory has no files");
}

static int mem_settle(str path _unused_, struct ov_err *err)
{
	return ov_fail(err, OV_ESTATE, "mem: a store in memory has no files");
}

static void mem_close(struct store *s)
{
	struct mem_store *m = mem_of(s);

	arena_done(&m->texts);
	vec_done(&m->log);
	mem_free((char *)m->snap.bytes.p);
	mem_free(m->holder);
	mem_free(m);
}

static const uint8_t *mem_hash_at(const struct mem_store *m, uint64_t seq)
{
	return seq ? m->log.p[seq - 1].hash : zero_hash;
}

static int mem_may_append(struct mem_store *m, uint64_t expect, struct ov_err *err)
{
	if (!m->holder)
		return ov_fail(err, OV_EFENCED, "mem: the store's lease is not held");
	if (expect != m->log.n)
		return ov_fail(err, OV_ECONFLICT, "mem: the log's head is %zu, not %llu", m->log.n,
				(unsigned long long)expect);
	return 0;
}

static void mem_append(struct store *s, uint64_t expect, const struct store_record *recs, size_t n,
		store_done *done, void *user)
{
	struct mem_store *m = mem_of(s);
	struct ov_err err;
	int r = store_check_records(recs, n, &err);

	if (r == 0)
		r = mem_may_append(m, expect, &err);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct store_record rec = {
			.seq = m->log.n + 1,
			.at = recs[i].at,
			.kind = arena_str(&m->texts, recs[i].kind),
			.body = arena_str(&m->texts, recs[i].body),
		};

		store_chain(mem_hash_at(m, m->log.n), &rec, rec.hash);
		vec_push(&m->log, rec);
	}
	done(user, r, m->log.n, r < 0 ? &err : NULL);
}

static int mem_read(struct store *s, uint64_t after, size_t limit, struct arena *a,
		struct store_record **ret, size_t *ret_n, struct ov_err *err _unused_)
{
	struct mem_store *m = mem_of(s);
	size_t n = after < m->log.n ? MIN(limit, m->log.n - (size_t)after) : 0;
	struct store_record *recs = arena_array(a, struct store_record, n);

	for (size_t i = 0; i < n; i++) {
		recs[i] = m->log.p[after + i];
		recs[i].kind = arena_str(a, recs[i].kind);
		recs[i].body = arena_str(a, recs[i].body);
	}
	*ret = recs;
	*ret_n = n;
	return 0;
}

static int mem_head(struct store *s, uint64_t *ret_seq, uint8_t ret_hash[static SHA256_LEN],
		struct ov_err *err _unused_)
{
	struct mem_store *m = mem_of(s);

	*ret_seq = m->log.n;
	memcpy(ret_hash, mem_hash_at(m, m->log.n), SHA256_LEN);
	return 0;
}

static int mem_snapshot_put(struct store *s, const struct store_snapshot *snap, struct ov_err *err)
{
	struct mem_store *m = mem_of(s);

	if (!m->holder)
		return ov_fail(err, OV_EFENCED, "mem: the store's lease is not held");
	if (!snap->seq || snap->seq > m->log.n ||
			memcmp(snap->hash, mem_hash_at(m, snap->seq), SHA256_LEN) != 0)
		return ov_fail(err, OV_EINVALID,
				"mem: snapshot of record %llu, which the log does not have",
				(unsigned long long)snap->seq);
	if (snap->seq < m->snap.seq)
		return 0;
	mem_free((char *)m->snap.bytes.p);
	m->snap = *snap;
	m->snap.bytes.p = mem_dup(snap->bytes.p, snap->bytes.n);
	return 0;
}

static int mem_snapshot_get(struct store *s, struct arena *a, struct store_snapshot *ret,
		struct ov_err *err)
{
	struct mem_store *m = mem_of(s);

	if (!m->snap.seq)
		return ov_fail(err, OV_ENOTFOUND, "mem: no snapshot");
	*ret = m->snap;
	ret->bytes = arena_str(a, m->snap.bytes);
	return 0;
}

static int mem_lease_take(struct store *s, str holder, struct arena *a, struct store_lease *ret,
		struct ov_err *err)
{
	struct mem_store *m = mem_of(s);

	if (m->mode != STORE_READ_WRITE)
		return ov_fail(err, OV_ESTATE,
				"mem: opened read-only, so the lease cannot be taken");
	if (m->holder) {
		*ret = (struct store_lease){ arena_str(a, (str){ m->holder, m->holder_n }),
			m->term };
		return ov_fail(err, OV_ECONFLICT, "mem: the store is held by " STR_FMT,
				STR_ARG(ret->holder));
	}
	m->holder = mem_dup(holder.p, holder.n);
	m->holder_n = holder.n;
	*ret = (struct store_lease){ arena_str(a, holder), ++m->term };
	return 0;
}

static void mem_lease_release(struct store *s)
{
	struct mem_store *m = mem_of(s);

	mem_free(m->holder);
	m->holder = NULL;
}

static int mem_verify(struct store *s, uint64_t after _unused_, uint64_t *ret_last,
		struct ov_err *err _unused_)
{
	*ret_last = mem_of(s)->log.n;
	return 0;
}

static int mem_check(struct store *s _unused_, struct ov_err *err _unused_)
{
	return 0;
}

static int mem_archive(struct store *s, uint64_t upto, size_t max, size_t *ret_moved,
		struct ov_err *err)
{
	struct mem_store *m = mem_of(s);

	if (!m->holder)
		return ov_fail(err, OV_EFENCED, "mem: the store's lease is not held");
	upto = MIN(upto, m->snap.seq);
	*ret_moved = upto > m->border ? (size_t)MIN((uint64_t)max, upto - m->border) : 0;
	m->border += *ret_moved;
	return 0;
}

static int mem_border(struct store *s, uint64_t *ret_seq, struct ov_err *err _unused_)
{
	*ret_seq = mem_of(s)->border;
	return 0;
}

static int mem_copy(struct store *s _unused_, const char *path, struct ov_err *err)
{
	return ov_fail(err, OV_ESTATE, "mem: a store in memory cannot be copied to %s", path);
}

static str mem_damage(struct store *s _unused_)
{
	return STR("");
}

static int mem_fd(struct store *s _unused_)
{
	return -1;
}

static int mem_pump(struct store *s _unused_, struct ov_err *err _unused_)
{
	return 0;
}

const struct store_ops store_mem_ops = {
	.scheme = "mem",
	.open = mem_open,
	.close = mem_close,
	.hold = mem_hold,
	.settle = mem_settle,
	.append = mem_append,
	.read = mem_read,
	.head = mem_head,
	.snapshot_put = mem_snapshot_put,
	.snapshot_get = mem_snapshot_get,
	.lease_take = mem_lease_take,
	.lease_release = mem_lease_release,
	.verify = mem_verify,
	.check = mem_check,
	.archive = mem_archive,
	.border = mem_border,
	.copy = mem_copy,
	.damage = mem_damage,
	.fd = mem_fd,
	.pump = mem_pump,
};
