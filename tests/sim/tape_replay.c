/*
 * An engine that lives on a tape: what it is asked to do, what it is answered, and what it must
 * give out. At the first difference the replay is over: from then on it gets nothing but refusals.
 */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "tests/sim/tape_impl.h"

struct player {
	struct store store; /* first: it is the engine's store */
	const struct tape *t;
	size_t at, entry; /* the next one: where, the how many-th */
	struct engine *e;
	struct arena arena; /* what is seen */
	struct map seen;
	ov_time now;
	unsigned depth;
	bool differs;
	struct buf *why;
};

static const char *entry_name(enum tape_entry kind)
{
#define T_NAME(sym, name) [sym] = name,
	static const char *const names[T_COUNT] = { TAPE_ENTRIES(T_NAME) };
#undef T_NAME

	return names[kind];
}

/* ---- reading ---- */

static enum tape_entry peek(const struct player *p)
{
	return p->at < p->t->bytes.n ? (enum tape_entry)(uint8_t)p->t->bytes.p[p->at] : T_END;
}

static uint64_t get_u64(struct player *p)
{
	uint64_t x;

	assert(p->at + sizeof(x) <= p->t->bytes.n);
	memcpy(&x, p->t->bytes.p + p->at, sizeof(x));
	p->at += sizeof(x);
	return x;
}

static str get_str(struct player *p)
{
	size_t n = (size_t)get_u64(p);
	str s = { p->t->bytes.p + p->at, n };

	assert(p->at + n <= p->t->bytes.n);
	p->at += n;
	return s;
}

static void _printf_(2, 3) differ(struct player *p, const char *fmt, ...)
{
	va_list ap;

	if (p->differs)
		return;
	p->differs = true;
	buf_addf(p->why, "at entry %zu of %zu: ", p->entry, p->t->entries);
	va_start(ap, fmt);
	buf_vaddf(p->why, fmt, ap);
	va_end(ap);
}

/* The next entry must be of this kind; false when it is not, or something differed before. */
static bool take(struct player *p, enum tape_entry kind)
{
	enum tape_entry found = peek(p);

	if (p->differs)
		return false;
	if (found != kind) {
		differ(p, "the engine has come to %s, the tape has %s", entry_name(kind),
				entry_name(found));
		return false;
	}
	p->at++;
	p->entry++;
	return true;
}

static bool same(struct player *p, const char *what, uint64_t is)
{
	uint64_t was = get_u64(p);

	if (was != is)
		differ(p, "another %s than on the tape", what);
	return was == is;
}

static int code(struct player *p)
{
	return -(int)get_u64(p);
}

/* ---- calls ---- */

static void play_call(struct player *p);

/* In a callback: what was called from inside it. */
static void play_nested(struct player *p)
{
	p->depth++;
	for (;;) {
		enum tape_entry kind = peek(p);
		uint64_t depth;

		if (p->differs || kind > T_AFTER)
			break;
		memcpy(&depth, p->t->bytes.p + p->at + 1, sizeof(depth));
		if (depth < p->depth)
			break;
		play_call(p);
	}
	p->depth--;
}

static void output(struct player *p, enum tape_entry kind, uint64_t digest)
{
	if (take(p, kind) && same(p, entry_name(kind), digest))
		play_nested(p);
}

static void replied(void *user, int r, const value *result, const struct ov_err *err)
{
	(void)err;
	output(user, T_REPLY, digest_reply(r, result));
}

static void after(void *user, int r, const struct ov_err *err)
{
	(void)err;
	output(user, T_REPLY, digest_reply(r, NULL));
}

static void play_simple(struct player *p, enum tape_call call)
{
	(void)tape_call(NULL, p->e, call);
}

static void play_command(struct player *p, bool report)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str command = get_str(p), text = get_str(p);
	value *params = NULL;
	int r = json_parse(&a, text, NULL, &params, NULL);

	assert(r == 0);
	if (report) {
		engine_report(p->e, command, params);
	} else {
		str actor = get_str(p);
		bool reply = get_u64(p);

		engine_submit(p->e, command, params, actor, reply ? replied : NULL, p);
	}
}

static void play_tick(struct player *p, bool dry)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const value *v = tape_tick(NULL, p->e, dry, &a);

	if (take(p, T_REPLY))
		(void)same(p, "reply", digest_reply(0, v));
}

static void play_call(struct player *p)
{
	enum tape_entry kind = peek(p);

	p->at++;
	p->entry++;
	(void)get_u64(p); /* depth */
	switch (kind) {
	case T_CALL: play_simple(p, (enum tape_call)get_u64(p)); break;
	case T_TICK: play_tick(p, get_u64(p)); break;
	case T_SUBMIT: play_command(p, false); break;
	case T_REPORT: play_command(p, true); break;
	case T_AFTER: engine_after_commit(p->e, after, p); break;
	default: differ(p, "the engine was done, the tape has %s", entry_name(kind)); break;
	}
}

/* ---- the world ---- */

static ov_time world_now(void *user)
{
	struct player *p = user;

	if (take(p, T_NOW))
		p->now = (ov_time)get_u64(p);
	return p->now;
}

static void world_entropy(void *user, void *to, size_t n)
{
	struct player *p = user;
	str bytes = { 0 };

	if (take(p, T_ENTROPY))
		bytes = get_str(p);
	if (bytes.n == n)
		memcpy(to, bytes.p, n);
	else
		memset(to, 0, n);
	if (!p->differs && bytes.n != n)
		differ(p, "%zu bytes of entropy, on the tape %zu", n, bytes.n);
}

static void see(struct player *p)
{
	struct observation *o = arena_new(&p->arena, struct observation);
	str run = get_str(p);

#define NUMBER(field) o->field = (typeof(o->field))get_u64(p);
	SEEN_NUMBERS(NUMBER)
	SEEN_FLAGS(NUMBER)
#undef NUMBER
#define TEXT(field) o->field = get_str(p);
	SEEN_TEXTS(TEXT)
#undef TEXT
	map_put(&p->seen, run, o);
}

static void world_telemetry(void *user, struct telemetry *ret)
{
	struct player *p = user;

	while (!p->differs && (peek(p) == T_SEEN || peek(p) == T_UNSEEN)) {
		bool gone = peek(p) == T_UNSEEN;

		take(p, peek(p));
		if (gone)
			map_remove(&p->seen, get_str(p));
		else
			see(p);
	}
	*ret = (struct telemetry){ .observations = &p->seen };
	if (!take(p, T_TELEMETRY))
		return;
	ret->ending = (enum ending)get_u64(p);
	ret->no_capacity = get_str(p);
}

static void world_perform(void *user, const struct effect *fx)
{
	output(user, T_PERFORM, digest_effect(fx));
}

static void world_look(void *user, const struct run *r)
{
	output(user, T_LOOK, str_hash(r->id, 0));
}

static void world_published(void *user, const struct event *const *events, size_t n)
{
	output(user, T_PUBLISHED, digest_events(events, n));
}

static void world_wake_at(void *user, ov_time at)
{
	output(user, T_WAKE_AT, (uint64_t)at);
}

static void world_store_failed(void *user, const struct ov_err *err)
{
	output(user, T_STORE_FAILED, (uint64_t)(err ? -err->code : 0));
}

static void world_contradicted(void *user, const struct ov_err *err)
{
	output(user, T_CONTRADICTED, digest_str(0, str_from(err->msg)));
}

static const struct engine_world world = {
	.now = world_now,
	.entropy = world_entropy,
	.telemetry = world_telemetry,
	.perform = world_perform,
	.look = world_look,
	.published = world_published,
	.wake_at = world_wake_at,
	.store_failed = world_store_failed,
	.contradicted = world_contradicted,
};

/* ---- the store ---- */

static struct player *of(struct store *s)
{
	return (struct player *)s;
}

static int refuse(struct ov_err *err, int r)
{
	return r < 0 ? ov_fail(err, r, "as on the tape") : 0;
}

static void ps_close(struct store *s)
{
	(void)s;
}

static void ps_append(struct store *s, uint64_t expect, const struct store_record *recs, size_t n,
		store_done *done, void *user)
{
	struct player *p = of(s);
	struct ov_err err = { 0 };
	int r = OV_EUNAVAILABLE;
	uint64_t head = expect;

	if (take(p, T_APPEND) && same(p, "write", digest_u64(digest_records(recs, n), expect))) {
		r = code(p);
		head = get_u64(p);
	}
	refuse(&err, r);
	done(user, r, head, r < 0 ? &err : NULL);
}

static int ps_read(struct store *s, uint64_t after, size_t limit, struct arena *a,
		struct store_record **ret, size_t *ret_n, struct ov_err *err)
{
	struct player *p = of(s);
	struct store_record *recs;
	size_t n;
	int r;

	if (!take(p, T_READ))
		return refuse(err, OV_EUNAVAILABLE);
	r = code(p);
	if (!same(p, "read", after) || !same(p, "read", limit))
		return refuse(err, OV_EUNAVAILABLE);
	n = (size_t)get_u64(p);
	recs = arena_array(a, struct store_record, n + 1);
	for (size_t i = 0; i < n; i++) {
		recs[i].seq = get_u64(p);
		recs[i].at = (ov_time)get_u64(p);
		recs[i].kind = arena_str(a, get_str(p));
		recs[i].body = arena_str(a, get_str(p));
		memcpy(recs[i].hash, get_str(p).p, SHA256_LEN);
	}
	if (r == 0) {
		*ret = recs;
		*ret_n = n;
	}
	return refuse(err, r);
}

static int ps_head(struct store *s, uint64_t *ret_seq, uint8_t ret_hash[static SHA256_LEN],
		struct ov_err *err)
{
	struct player *p = of(s);
	uint64_t seq;
	str hash;
	int r;

	if (!take(p, T_HEAD))
		return refuse(err, OV_EUNAVAILABLE);
	r = code(p);
	seq = get_u64(p);
	hash = get_str(p);
	if (r == 0) {
		*ret_seq = seq;
		memcpy(ret_hash, hash.p, SHA256_LEN);
	}
	return refuse(err, r);
}

static int ps_snapshot_put(struct store *s, const struct store_snapshot *snap, struct ov_err *err)
{
	struct player *p = of(s);
	int r;

	if (!take(p, T_SNAPSHOT_PUT))
		return refuse(err, OV_EUNAVAILABLE);
	r = code(p);
	(void)same(p, "snapshot", digest_snapshot(snap));
	return refuse(err, r);
}

static int ps_snapshot_get(struct store *s, struct arena *a, struct store_snapshot *ret,
		struct ov_err *err)
{
	struct player *p = of(s);
	struct store_snapshot snap = { 0 };
	str hash;
	int r;

	if (!take(p, T_SNAPSHOT_GET))
		return refuse(err, OV_EUNAVAILABLE);
	r = code(p);
	snap.seq = get_u64(p);
	snap.format = (int64_t)get_u64(p);
	hash = get_str(p);
	snap.bytes = arena_str(a, get_str(p));
	if (r == 0) {
		memcpy(snap.hash, hash.p, SHA256_LEN);
		*ret = snap;
	}
	return refuse(err, r);
}

static int ps_archive(struct store *s, uint64_t upto, size_t max, size_t *ret_moved,
		struct ov_err *err)
{
	struct player *p = of(s);
	int r;

	(void)max;
	if (!take(p, T_ARCHIVE))
		return refuse(err, OV_EUNAVAILABLE);
	r = code(p);
	if (!same(p, "border", upto))
		return refuse(err, OV_EUNAVAILABLE);
	*ret_moved = (size_t)get_u64(p);
	return refuse(err, r);
}

static int ps_border(struct store *s, uint64_t *ret_seq, struct ov_err *err)
{
	struct player *p = of(s);
	uint64_t seq;
	int r;

	if (!take(p, T_BORDER))
		return refuse(err, OV_EUNAVAILABLE);
	r = code(p);
	seq = get_u64(p);
	if (r == 0)
		*ret_seq = seq;
	return refuse(err, r);
}

static const struct store_ops store = {
	.scheme = "replay",
	.close = ps_close,
	.append = ps_append,
	.read = ps_read,
	.head = ps_head,
	.snapshot_put = ps_snapshot_put,
	.snapshot_get = ps_snapshot_get,
	.archive = ps_archive,
	.border = ps_border,
};

bool tape_replays(const struct tape *t, struct buf *ret_why)
{
	struct player p = { .store.ops = &store, .t = t, .why = ret_why };
	struct engine_options o = t->o;
	struct ov_err err = { 0 };

	map_init(&p.seen, 1);
	o.store = &p.store;
	o.world = &world;
	o.user = &p;
	if (engine_open(&o, &p.e, &err) < 0)
		differ(&p, "it could not be opened: %s", err.msg);
	while (!p.differs && peek(&p) != T_END)
		play_call(&p);
	engine_close(p.e);
	map_done(&p.seen);
	arena_done(&p.arena);
	return !p.differs;
}
