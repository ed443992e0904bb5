#include "store/store.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "store/store_impl.h"

static const struct store_ops *const back_ends[] = { &store_mem_ops, &store_sqlite_ops };

static const struct store_ops *find_back_end(str scheme)
{
	for (size_t i = 0; i < ARRAY_LEN(back_ends); i++)
		if (str_is(scheme, back_ends[i]->scheme))
			return back_ends[i];
	return NULL;
}

/* The back-end of a URL, and what it is to open. */
static int resolve(str url, const struct store_ops **ret, str *ret_path, struct ov_err *err)
{
	size_t colon = str_find_byte(url, ':');
	const struct store_ops *ops;

	if (colon == url.n)
		return ov_fail(err, OV_EINVALID,
				"'" STR_FMT "' is not a store URL: write mem: or sqlite:PATH",
				STR_ARG(url));
	ops = find_back_end(str_sub(url, 0, colon));
	if (!ops)
		return ov_fail(err, OV_EINVALID,
				"store URL '" STR_FMT
				"': unknown scheme; known are mem: and sqlite:PATH",
				STR_ARG(url));
	*ret = ops;
	*ret_path = str_sub(url, colon + 1, url.n);
	return 0;
}

int store_open(str url, enum store_mode mode, struct store **ret, struct ov_err *err)
{
	const struct store_ops *ops;
	str path;
	int r = resolve(url, &ops, &path, err);

	return r < 0 ? r : ops->open(path, mode, ret, err);
}

int store_hold(str url, int *ret_fd, struct ov_err *err)
{
	const struct store_ops *ops;
	str path;
	int r = resolve(url, &ops, &path, err);

	return r < 0 ? r : ops->hold(path, ret_fd, err);
}

int store_settle(str url, struct ov_err *err)
{
	const struct store_ops *ops;
	str path;
	int r = resolve(url, &ops, &path, err);

	return r < 0 ? r : ops->settle(path, err);
}

void store_close(struct store *s)
{
	if (s)
		s->ops->close(s);
}

void store_append(struct store *s, uint64_t expect, const struct store_record *recs, size_t n,
		store_done *done, void *user)
{
	s->ops->append(s, expect, recs, n, done, user);
}

int store_read(struct store *s, uint64_t after, size_t limit, struct arena *a,
		struct store_record **ret, size_t *ret_n, struct ov_err *err)
{
	return s->ops->read(s, after, limit, a, ret, ret_n, err);
}

int store_head(struct store *s, uint64_t *ret_seq, uint8_t ret_hash[static SHA256_LEN],
		struct ov_err *err)
{
	return s->ops->head(s, ret_seq, ret_hash, err);
}

int store_snapshot_put(struct store *s, const struct store_snapshot *snap, struct ov_err *err)
{
	return s->ops->snapshot_put(s, snap, err);
}

int store_snapshot_get(struct store *s, struct arena *a, struct store_snapshot *ret,
		struct ov_err *err)
{
	return s->ops->snapshot_get(s, a, ret, err);
}

int store_lease_take(struct store *s, str holder, struct arena *a, struct store_lease *ret,
		struct ov_err *err)
{
	if (holder.n > STORE_HOLDER_MAX)
		return ov_fail(err, OV_ELIMIT,
				"the lease holder's text has %zu bytes, at most %d fit", holder.n,
				STORE_HOLDER_MAX);
	return s->ops->lease_take(s, holder, a, ret, err);
}

void store_lease_release(struct store *s)
{
	s->ops->lease_release(s);
}

int store_verify(struct store *s, uint64_t after, uint64_t *ret_last, struct ov_err *err)
{
	return s->ops->verify(s, after, ret_last, err);
}

int store_check(struct store *s, struct ov_err *err)
{
	return s->ops->check(s, err);
}

int store_archive(struct store *s, uint64_t upto, size_t max, size_t *ret_moved, struct ov_err *err)
{
	return s->ops->archive(s, upto, max, ret_moved, err);
}

int store_border(struct store *s, uint64_t *ret_seq, struct ov_err *err)
{
	return s->ops->border(s, ret_seq, err);
}

str store_archive_path(struct arena *a, str path)
{
	static const str usual = { "store.db", 8 };

	if (!str_ends(path, usual))
		return arena_printf(a, STR_FMT "-archive", STR_ARG(path));
	return arena_printf(a, STR_FMT "archive.db", STR_ARG(str_sub(path, 0, path.n - usual.n)));
}

int store_copy(struct store *s, const char *path, struct ov_err *err)
{
	return s->ops->copy(s, path, err);
}

str store_damage(struct store *s)
{
	return s->ops->damage(s);
}

int store_fd(struct store *s)
{
	return s->ops->fd(s);
}

int store_pump(struct store *s, struct ov_err *err)
{
	return s->ops->pump(s, err);
}

int store_check_records(const struct store_record *recs, size_t n, struct ov_err *err)
{
	for (size_t i = 0; i < n; i++) {
		if (recs[i].kind.n > STORE_KIND_MAX)
			return ov_fail(err, OV_ELIMIT,
					"the kind of record %zu has %zu bytes, at most %d fit", i,
					recs[i].kind.n, STORE_KIND_MAX);
		if (recs[i].body.n > STORE_BODY_MAX)
			return ov_fail(err, OV_ELIMIT,
					"the body of record %zu has %zu bytes, at most %d fit", i,
					recs[i].body.n, STORE_BODY_MAX);
	}
	return 0;
}

static void put_be(uint8_t *p, uint64_t v, size_t n)
{
	while (n--) {
		p[n] = (uint8_t)v;
		v >>= 8;
	}
}

/*
 * sha256(previous hash, seq, at, length of kind, kind, body), numbers big-endian (8, 8 and 4
 * bytes). With the length no byte can move between kind and body unnoticed. The rule is part of
 * the format on disk: it never changes.
 */
void store_chain(const uint8_t prev[static SHA256_LEN], const struct store_record *r,
		uint8_t ret[static SHA256_LEN])
{
	uint8_t head[SHA256_LEN + 8 + 8 + 4];
	struct sha256 c;

	memcpy(head, prev, SHA256_LEN);
	put_be(head + SHA256_LEN, r->seq, 8);
	put_be(head + SHA256_LEN + 8, (uint64_t)r->at, 8);
	put_be(head + SHA256_LEN + 16, r->kind.n, 4);
	sha256_init(&c);
	sha256_add(&c, head, sizeof(head));
	sha256_add(&c, r->kind.p, r->kind.n);
	sha256_add(&c, r->body.p, r->body.n);
	sha256_end(&c, ret);
}
