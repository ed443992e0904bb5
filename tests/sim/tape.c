#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "tests/sim/tape_impl.h"

enum { TAPE_MAX = 48 << 20, ONE_IN = 5 };

bool tape_wanted(const struct sim *s, int life)
{
	struct rng r = { s->o.seed * 0xbf58476d1ce4e5b9u + (uint64_t)life };

	if (s->o.sabotage && strcmp(s->o.sabotage, "replay") == 0)
		return true;
	return !s->o.fleet && rng_below(&r, ONE_IN) == 0;
}

/* ---- writing ---- */

void tape_u64(struct tape *t, uint64_t x)
{
	buf_add(&t->bytes, &x, sizeof(x));
}

void tape_str(struct tape *t, str s)
{
	tape_u64(t, s.n);
	if (s.n)
		buf_add(&t->bytes, s.p, s.n);
}

void tape_entry(struct tape *t, enum tape_entry kind)
{
	if (kind == T_APPEND || kind == T_PERFORM || kind == T_PUBLISHED)
		t->newest[TAPE_SPOIL_OUTPUT] = t->bytes.n + 1;
	if (kind == T_APPEND)
		t->newest[TAPE_SPOIL_ANSWER] = t->bytes.n + 1;
	buf_addc(&t->bytes, (char)kind);
	t->entries++;
}

bool tape_sabotage(struct tape *t, enum tape_spoil what)
{
	size_t at = t->newest[what];

	if (!at)
		return false;
	/* Of an output its digest; of a write the answer, which follows it. */
	t->bytes.p[at + (what == TAPE_SPOIL_ANSWER ? sizeof(uint64_t) : 0)] ^= 1;
	return true;
}

/* ---- digests ---- */

uint64_t digest_u64(uint64_t h, uint64_t x)
{
	return (h ^ x) * 0x9e3779b97f4a7c15u + (h >> 29);
}

uint64_t digest_str(uint64_t h, str s)
{
	return digest_u64(h, str_hash(s, h));
}

uint64_t digest_records(const struct store_record *recs, size_t n)
{
	uint64_t h = n;

	for (size_t i = 0; i < n; i++) {
		h = digest_u64(h, (uint64_t)recs[i].at);
		h = digest_str(h, recs[i].kind);
		h = digest_str(h, recs[i].body);
	}
	return h;
}

uint64_t digest_effect(const struct effect *fx)
{
	const str texts[] = { fx->id, fx->goal_id, fx->node_id, fx->assignment_id, fx->run_id,
		fx->dispatch_id, fx->purpose };
	uint64_t h = digest_u64((uint64_t)fx->kind, (uint64_t)fx->created_at);

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		h = digest_str(h, texts[i]);
	return h;
}

/*
 * Their bodies were compared when they were written; here it is that these are the ones, in order.
 */
uint64_t digest_events(const struct event *const *events, size_t n)
{
	uint64_t h = n;

	for (size_t i = 0; i < n; i++) {
		const struct event *e = events[i];
		const str texts[] = { e->actor, e->goal, e->node, e->assignment, e->run };

		h = digest_u64(h, e->seq);
		h = digest_u64(h, (uint64_t)e->at);
		h = digest_u64(h, (uint64_t)e->kind);
		for (size_t k = 0; k < ARRAY_LEN(texts); k++)
			h = digest_str(h, texts[k]);
	}
	return h;
}

uint64_t digest_reply(int r, const value *result)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	if (result)
		json_write(&text, result);
	return digest_str((uint64_t)-r, buf_str(&text));
}

uint64_t digest_snapshot(const struct store_snapshot *snap)
{
	uint64_t h = digest_u64(snap->seq, (uint64_t)snap->format);

	return digest_str(h, snap->bytes);
}

/* ---- the world between engine and daemon ---- */

/* A callback out of the engine, in which it is not the engine that acts. */
static bool leave(struct tape *t)
{
	bool before = t->in_engine;

	t->depth++;
	t->in_engine = false;
	return before;
}

static void back(struct tape *t, bool before)
{
	t->depth--;
	t->in_engine = before;
}

static ov_time world_now(void *user)
{
	struct tape *t = user;
	ov_time now = t->o.world->now(t->o.user);

	if (tape_on(t)) {
		tape_entry(t, T_NOW);
		tape_u64(t, (uint64_t)now);
	}
	return now;
}

static void world_entropy(void *user, void *p, size_t n)
{
	struct tape *t = user;

	t->o.world->entropy(t->o.user, p, n);
	if (tape_on(t)) {
		tape_entry(t, T_ENTROPY);
		tape_str(t, (str){ p, n });
	}
}

static str own(str s)
{
	return (str){ mem_dup(s.p ? s.p : "", s.n), s.n };
}

static bool same_observation(const struct observation *a, const struct observation *b)
{
	bool same = true;

#define SAME(field) same &= a->field == b->field;
#define SAME_TEXT(field) same &= str_eq(a->field, b->field);
	SEEN_NUMBERS(SAME)
	SEEN_FLAGS(SAME)
	SEEN_TEXTS(SAME_TEXT)
#undef SAME
#undef SAME_TEXT
	return same;
}

static void free_texts(struct observation *o)
{
#define FREE(field) mem_free((char *)o->field.p);
	SEEN_TEXTS(FREE)
#undef FREE
}

static void seen_free(struct tape_seen *x)
{
	mem_free((char *)x->run.p);
	free_texts(&x->o);
	mem_free(x);
}

static void tape_observation(struct tape *t, const struct observation *o)
{
#define NUMBER(field) tape_u64(t, (uint64_t)o->field);
	SEEN_NUMBERS(NUMBER)
	SEEN_FLAGS(NUMBER)
#undef NUMBER
#define TEXT(field) tape_str(t, o->field);
	SEEN_TEXTS(TEXT)
#undef TEXT
}

static void note_seen(struct tape *t, str run, const struct observation *o)
{
	struct tape_seen *x = map_get(&t->seen, run);

	if (!x) {
		x = mem_zalloc(1, sizeof(*x));
		x->run = own(run);
		x->o.output_at = -1; /* unlike any */
		map_put(&t->seen, x->run, x);
	}
	x->still = true;
	if (same_observation(&x->o, o))
		return;
	free_texts(&x->o);
	x->o = *o;
#define OWN(field) x->o.field = own(o->field);
	SEEN_TEXTS(OWN)
#undef OWN
	tape_entry(t, T_SEEN);
	tape_str(t, run);
	tape_observation(t, o);
}

/* Whoever is no longer observed. */
static void note_unseen(struct tape *t)
{
	str key;
	void *found;

	for (size_t i = 0; map_next(&t->seen, &i, &key, &found);) {
		struct tape_seen *x = found;

		if (!x->still) {
			tape_entry(t, T_UNSEEN);
			tape_str(t, x->run);
			map_remove(&t->seen, x->run);
			seen_free(x);
		} else {
			x->still = false;
		}
	}
}

static void world_telemetry(void *user, struct telemetry *ret)
{
	struct tape *t = user;
	bool before;
	str key;
	void *found;

	before = leave(t);
	t->o.world->telemetry(t->o.user, ret);
	back(t, before);
	if (!tape_on(t))
		return;
	for (size_t i = 0; ret->observations && map_next(ret->observations, &i, &key, &found);)
		note_seen(t, key, found);
	note_unseen(t);
	tape_entry(t, T_TELEMETRY);
	tape_u64(t, (uint64_t)ret->ending);
	tape_str(t, ret->no_capacity);
}

static void note_output(struct tape *t, enum tape_entry kind, uint64_t digest)
{
	if (!tape_on(t))
		return;
	tape_entry(t, kind);
	tape_u64(t, digest);
}

static void world_perform(void *user, const struct effect *fx)
{
	struct tape *t = user;
	bool before;

	note_output(t, T_PERFORM, digest_effect(fx));
	before = leave(t);
	t->o.world->perform(t->o.user, fx);
	back(t, before);
}

static void world_look(void *user, const struct run *r)
{
	struct tape *t = user;
	bool before;

	note_output(t, T_LOOK, str_hash(r->id, 0));
	before = leave(t);
	t->o.world->look(t->o.user, r);
	back(t, before);
}

static void world_published(void *user, const struct event *const *events, size_t n)
{
	struct tape *t = user;
	bool before;

	note_output(t, T_PUBLISHED, digest_events(events, n));
	before = leave(t);
	t->o.world->published(t->o.user, events, n);
	back(t, before);
}

static void world_wake_at(void *user, ov_time at)
{
	struct tape *t = user;
	bool before;

	note_output(t, T_WAKE_AT, (uint64_t)at);
	before = leave(t);
	t->o.world->wake_at(t->o.user, at);
	back(t, before);
}

static void world_store_failed(void *user, const struct ov_err *err)
{
	struct tape *t = user;
	bool before;

	note_output(t, T_STORE_FAILED, (uint64_t)(err ? -err->code : 0));
	before = leave(t);
	t->o.world->store_failed(t->o.user, err);
	back(t, before);
}

static void world_contradicted(void *user, const struct ov_err *err)
{
	struct tape *t = user;
	bool before;

	note_output(t, T_CONTRADICTED, digest_str(0, str_from(err->msg)));
	before = leave(t);
	t->o.world->contradicted(t->o.user, err);
	back(t, before);
}

static const struct engine_world recording = {
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

/* ---- lives ---- */

/* Who is told, through the tape. Not everybody is: the engine may be gone before. */
struct told {
	struct list link;
	struct tape *t;
	engine_reply_fn *reply;
	void (*after)(void *user, int r, const struct ov_err *err);
	void *user;
};

struct tape *tape_new(struct sim *s, int life)
{
	struct tape *t = mem_zalloc(1, sizeof(*t));

	t->s = s;
	t->life = life;
	map_init(&t->seen, 0);
	list_init(&t->told);
	return t;
}

void tape_free(struct tape *t)
{
	str key;
	void *found;

	if (!t)
		return;
	for (size_t i = 0; map_next(&t->seen, &i, &key, &found);)
		seen_free(found);
	map_done(&t->seen);
	list_each (it, &t->told)
		mem_free(list_entry(it, struct told, link));
	buf_done(&t->bytes);
	mem_free(t);
}

void tape_check(struct tape *t)
{
	_cleanup_(buf_done) struct buf why = BUF_INIT;

	if (!t || !t->entries || t->checked)
		return;
	t->checked = true;
	t->s->stats.replays++;
	if (!tape_replays(t, &why))
		sim_violated(t->s, "replay", "of the life of daemon %d: " STR_FMT, t->life,
				STR_ARG(buf_str(&why)));
}

void tape_end(struct tape *t)
{
	tape_check(t);
	tape_free(t);
}

int tape_open(struct tape *t, const struct engine_options *o, struct engine **ret,
		struct ov_err *err)
{
	struct engine_options with = *o;
	int r;

	if (!t)
		return engine_open(o, ret, err);
	assert(!o->state && !o->refusal);
	t->o = *o;
	with.world = &recording;
	with.user = t;
	with.store = t->store = tape_store_new(t, o->store);
	t->in_engine = true;
	r = engine_open(&with, ret, err);
	t->in_engine = false;
	if (r < 0) {
		tape_store_free(t->store);
		/* There is no life to be replayed. */
		buf_clear(&t->bytes);
		t->entries = 0;
	}
	return r;
}

/* ---- calls ---- */

/* A call begins; what comes is the engine's doing. Only here a tape that is too long is cut off. */
static bool enter(struct tape *t, enum tape_entry kind)
{
	bool before = t->in_engine;

	if (t->depth == 0 && t->bytes.n > TAPE_MAX)
		t->full = true;
	t->in_engine = true;
	if (!t->full) {
		tape_entry(t, kind);
		tape_u64(t, t->depth);
	}
	return before;
}

static int pass(struct engine *e, enum tape_call call)
{
	switch (call) {
	case TAPE_START: engine_start(e); break;
	case TAPE_STOP: engine_stop(e); break;
	case TAPE_COMMIT: engine_commit(e); break;
	case TAPE_WAKE: engine_wake(e); break;
	case TAPE_TOUCH: engine_touch(e); break;
	case TAPE_SNAPSHOT: return engine_snapshot(e, NULL);
	case TAPE_ARCHIVE: return engine_archive(e, NULL);
	case TAPE_CALLS: assert(!"a call");
	}
	return 0;
}

int tape_call(struct tape *t, struct engine *e, enum tape_call call)
{
	bool before;
	int r;

	if (!t)
		return pass(e, call);
	before = enter(t, T_CALL);
	if (!t->full)
		tape_u64(t, (uint64_t)call);
	r = pass(e, call);
	t->in_engine = before;
	return r;
}

static struct told told_take(void *user)
{
	struct told *w = user, copy = *w;

	list_remove(&w->link);
	mem_free(w);
	return copy;
}

static void reply_told(void *user, int r, const value *result, const struct ov_err *err)
{
	struct told w = told_take(user);
	bool before;

	note_output(w.t, T_REPLY, digest_reply(r, result));
	before = leave(w.t);
	w.reply(w.user, r, result, err);
	back(w.t, before);
}

static void after_told(void *user, int r, const struct ov_err *err)
{
	struct told w = told_take(user);
	bool before;

	note_output(w.t, T_REPLY, digest_reply(r, NULL));
	before = leave(w.t);
	w.after(w.user, r, err);
	back(w.t, before);
}

static struct told *told_new(struct tape *t, struct told spec)
{
	struct told *w = mem_zalloc(1, sizeof(*w));

	*w = spec;
	w->t = t;
	list_append(&t->told, &w->link);
	return w;
}

value *tape_tick(struct tape *t, struct engine *e, bool dry, struct arena *a)
{
	bool before = t && enter(t, T_TICK);
	value *v;

	if (t && !t->full)
		tape_u64(t, dry);
	v = dry ? engine_tick_dry(e, a) : engine_tick_now(e, a);
	if (t) {
		note_output(t, T_REPLY, digest_reply(0, v));
		t->in_engine = before;
	}
	return v;
}

void tape_submit(struct tape *t, struct engine *e, str command, const value *params, str actor,
		engine_reply_fn *reply, void *user)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct told *w = NULL;
	bool before;

	if (!t) {
		engine_submit(e, command, params, actor, reply, user);
		return;
	}
	before = enter(t, T_SUBMIT);
	if (!t->full) {
		json_write(&text, params);
		tape_str(t, command);
		tape_str(t, buf_str(&text));
		tape_str(t, actor);
		tape_u64(t, reply != NULL);
	}
	if (reply)
		w = told_new(t, (struct told){ .reply = reply, .user = user });
	engine_submit(e, command, params, actor, reply ? reply_told : NULL, w);
	t->in_engine = before;
}

void tape_report(struct tape *t, struct engine *e, str command, const value *params)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	bool before;

	if (!t) {
		engine_report(e, command, params);
		return;
	}
	before = enter(t, T_REPORT);
	if (!t->full) {
		json_write(&text, params);
		tape_str(t, command);
		tape_str(t, buf_str(&text));
	}
	engine_report(e, command, params);
	t->in_engine = before;
}

void tape_after_commit(struct tape *t, struct engine *e,
		void (*fn)(void *user, int r, const struct ov_err *err), void *user)
{
	bool before;

	if (!t) {
		engine_after_commit(e, fn, user);
		return;
	}
	before = enter(t, T_AFTER);
	engine_after_commit(e, after_told, told_new(t, (struct told){ .after = fn, .user = user }));
	t->in_engine = before;
}
