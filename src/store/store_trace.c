#include "store/store_trace.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"

struct trace_store {
	struct store store;
	struct store *inner;
	store_trace_fn *fn;
	void *user;
	struct buf line;
	/* The append in flight; there is at most one. */
	store_done *done;
	void *done_user;
};

static const struct store_ops trace_ops;

static struct trace_store *trace_of(struct store *s)
{
	return (struct trace_store *)s;
}

static void _printf_(2, 3) say(struct trace_store *t, const char *fmt, ...)
{
	va_list ap;

	buf_clear(&t->line);
	va_start(ap, fmt);
	buf_vaddf(&t->line, fmt, ap);
	va_end(ap);
	t->fn(t->user, buf_cstr(&t->line));
}

/* err may be absent: the caller did not want to know. */
static void say_failed(struct trace_store *t, const char *what, int r, const struct ov_err *err)
{
	say(t, "%s -> %s%s%s", what, ov_code_info(r)->name, err ? ": " : "", err ? err->msg : "");
}

struct store *store_trace_wrap(struct store *inner, store_trace_fn *fn, void *user)
{
	struct trace_store *t = mem_zalloc(1, sizeof(*t));

	t->store.ops = &trace_ops;
	t->inner = inner;
	t->fn = fn;
	t->user = user;
	say(t, "wrap %s", inner->ops->scheme);
	return &t->store;
}

static void trace_close(struct store *s)
{
	struct trace_store *t = trace_of(s);

	say(t, "close");
	store_close(t->inner);
	buf_done(&t->line);
	mem_free(t);
}

static void trace_append_done(void *user, int r, uint64_t head, const struct ov_err *err)
{
	struct trace_store *t = user;
	store_done *done = t->done;

	t->done = NULL;
	if (r < 0)
		say_failed(t, "append", r, err);
	else
		say(t, "append -> head %llu", (unsigned long long)head);
	/* Last: it may append again, or close us. */
	done(t->done_user, r, head, err);
}

static void trace_append(struct store *s, uint64_t expect, const struct store_record *recs,
		size_t n, store_done *done, void *user)
{
	struct trace_store *t = trace_of(s);
	size_t bytes = 0;

	assert(!t->done);
	for (size_t i = 0; i < n; i++)
		bytes += recs[i].kind.n + recs[i].body.n;
	say(t, "append expect %llu: %zu records, %zu bytes", (unsigned long long)expect, n, bytes);
	t->done = done;
	t->done_user = user;
	store_append(t->inner, expect, recs, n, trace_append_done, t);
}

static int trace_read(struct store *s, uint64_t after, size_t limit, struct arena *a,
		struct store_record **ret, size_t *ret_n, struct ov_err *err)
{
	struct trace_store *t = trace_of(s);
	int r = store_read(t->inner, after, limit, a, ret, ret_n, err);

	if (r < 0)
		say_failed(t, "read", r, err);
	else
		say(t, "read after %llu limit %zu -> %zu records", (unsigned long long)after, limit,
				*ret_n);
	return r;
}

static int trace_head(struct store *s, uint64_t *ret_seq, uint8_t ret_hash[static SHA256_LEN],
		struct ov_err *err)
{
	struct trace_store *t = trace_of(s);
	int r = store_head(t->inner, ret_seq, ret_hash, err);

	if (r < 0)
		say_failed(t, "head", r, err);
	else
		say(t, "head -> %llu", (unsigned long long)*ret_seq);
	return r;
}

static int trace_snapshot_put(struct store *s, const struct store_snapshot *snap,
		struct ov_err *err)
{
	struct trace_store *t = trace_of(s);
	int r = store_snapshot_put(t->inner, snap, err);

	if (r < 0)
		say_failed(t, "snapshot put", r, err);
	else
		say(t, "snapshot put seq %llu format %lld: %zu bytes",
				(unsigned long long)snap->seq, (long long)snap->format,
				snap->bytes.n);
	return r;
}

static int trace_snapshot_get(struct store *s, struct arena *a, struct store_snapshot *ret,
		struct ov_err *err)
{
	struct trace_store *t = trace_of(s);
	int r = store_snapshot_get(t->inner, a, ret, err);

	if (r < 0)
		say_failed(t, "snapshot get", r, err);
	else
		say(t, "snapshot get -> seq %llu format %lld: %zu bytes",
				(unsigned long long)ret->seq, (long long)ret->format, ret->bytes.n);
	return r;
}

static int trace_lease_take(struct store *s, str holder, struct arena *a, struct store_lease *ret,
		struct ov_err *err)
{
	struct trace_store *t = trace_of(s);
	int r = store_lease_take(t->inner, holder, a, ret, err);

	if (r < 0)
		say_failed(t, "lease take", r, err);
	else
		say(t, "lease take -> term %llu", (unsigned long long)ret->term);
	return r;
}

static void trace_lease_release(struct store *s)
{
	struct trace_store *t = trace_of(s);

	say(t, "lease release");
	store_lease_release(t->inner);
}

static int trace_verify(struct store *s, uint64_t after, uint64_t *ret_last, struct ov_err *err)
{
	struct trace_store *t = trace_of(s);
	int r = store_verify(t->inner, after, ret_last, err);

	if (r < 0)
		say_failed(t, "verify", r, err);
	else
		say(t, "verify after %llu -> %llu", (unsigned long long)after,
				(unsigned long long)*ret_last);
	return r;
}

static int trace_check(struct store *s, struct ov_err *err)
{
	struct trace_store *t = trace_of(s);
	int r = store_check(t->inner, err);

	if (r < 0)
		say_failed(t, "check", r, err);
	else
		say(t, "check");
	return r;
}

static int trace_archive(struct store *s, uint64_t upto, size_t max, size_t *ret_moved,
		struct ov_err *err)
{
	struct trace_store *t = trace_of(s);
	int r = store_archive(t->inner, upto, max, ret_moved, err);

	if (r < 0)
		say_failed(t, "archive", r, err);
	else
		say(t, "archive up to %llu, at most %zu -> %zu records", (unsigned long long)upto,
				max, *ret_moved);
	return r;
}

static int trace_border(struct store *s, uint64_t *ret_seq, struct ov_err *err)
{
	struct trace_store *t = trace_of(s);
	int r = store_border(t->inner, ret_seq, err);

	if (r < 0)
		say_failed(t, "border", r, err);
	else
		say(t, "border -> %llu", (unsigned long long)*ret_seq);
	return r;
}

static int trace_copy(struct store *s, const char *path, struct ov_err *err)
{
	struct trace_store *t = trace_of(s);
	int r = store_copy(t->inner, path, err);

	if (r < 0)
		say_failed(t, "copy", r, err);
	else
		say(t, "copy to %s", path);
	return r;
}

static str trace_damage(struct store *s)
{
	return store_damage(trace_of(s)->inner);
}

static int trace_fd(struct store *s)
{
	return store_fd(trace_of(s)->inner);
}

static int trace_pump(struct store *s, struct ov_err *err)
{
	struct trace_store *t = trace_of(s);

	say(t, "pump");
	return store_pump(t->inner, err);
}

static const struct store_ops trace_ops = {
	.scheme = "trace",
	.close = trace_close,
	.append = trace_append,
	.read = trace_read,
	.head = trace_head,
	.snapshot_put = trace_snapshot_put,
	.snapshot_get = trace_snapshot_get,
	.lease_take = trace_lease_take,
	.lease_release = trace_lease_release,
	.verify = trace_verify,
	.check = trace_check,
	.archive = trace_archive,
	.border = trace_border,
	.copy = trace_copy,
	.damage = trace_damage,
	.fd = trace_fd,
	.pump = trace_pump,
};
