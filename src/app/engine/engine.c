#include "app/engine/engine_impl.h"

#include "app/store/fold.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/fold/apply.h"
#include "core/state/snapshot.h"
#include "data/value/json.h"
#include "sys/host/inject.h"

enum {
	RETRY_MS = 1000, /* after a failed transaction, doubling to: */
	RETRY_MAX_MS = 30000,
	/* a report that contradicts the state so often holds nothing up any longer */
	REFUSED_MAX = 3,
	SNAPSHOT_TAIL = 2, /* events per object of the state, at least, between two snapshots */
};

int engine_open(const struct engine_options *o, struct engine **ret, struct ov_err *err)
{
	struct engine *e = mem_zalloc(1, sizeof(*e));
	int r;

	e->store = o->store;
	e->policy = o->policy;
	e->world = o->world;
	e->user = o->user;
	e->tick_every = o->tick_every;
	e->snapshot_every = o->snapshot_every;
	e->staged = &e->batches[0];
	e->wake_at = e->retry_at = e->refused_at = OV_TIME_MAX;
	e->world->entropy(e->user, &e->hash_seed, sizeof(e->hash_seed));
	e->refusal = o->refusal;
	e->state = o->state;
	e->snapshot_seq = o->snapshot;
	r = fold_rest(e->store, e->hash_seed, e->refusal ? e->state->seq : UINT64_MAX, &e->state,
			&e->snapshot_seq, err);
	if (r < 0) {
		e->store = NULL;
		engine_close(e);
		return r;
	}
	e->head = e->state->seq;
	engine_archive_open(e);
	*ret = e;
	return 0;
}

static void free_replaced(struct engine *e)
{
	for (size_t i = 0; i < e->replaced.n; i++)
		state_free(e->replaced.p[i]);
	e->replaced.n = 0;
}

void engine_close(struct engine *e)
{
	if (!e)
		return;
	store_close(e->store);
	state_free(e->state);
	batch_done(&e->batches[0]);
	batch_done(&e->batches[1]);
	reports_done(&e->retry);
	engine_hold_done(e);
	free_replaced(e);
	vec_done(&e->replaced);
	mem_free(e);
}

const struct state *engine_state(const struct engine *e)
{
	return e->state;
}

struct store *engine_store(const struct engine *e)
{
	return e->store;
}

uint64_t engine_head(const struct engine *e)
{
	return e->head;
}

bool engine_staged(const struct engine *e)
{
	return e->staged->events.n || e->writing;
}

void engine_set_wake(struct engine *e, ov_time at)
{
	at = MIN(MIN(at, e->retry_at), MIN(e->refused_at, engine_again_at(e)));
	if (at == e->wake_at)
		return;
	e->wake_at = at;
	e->world->wake_at(e->user, at);
}

static void draw_entropy(struct engine *e, uint8_t ret[static DECIDE_ENTROPY])
{
	if (e->entropy_left == 0) {
		e->entropy_left = sizeof(e->entropy);
		e->world->entropy(e->user, e->entropy, sizeof(e->entropy));
	}
	e->entropy_left -= DECIDE_ENTROPY;
	memcpy(ret, e->entropy + e->entropy_left, DECIDE_ENTROPY);
}

struct decide_ctx engine_decide(struct engine *e, str actor, struct events *out)
{
	struct decide_ctx cx = {
		.arena = &e->staged->arena,
		.state = e->state,
		.policy = e->policy,
		.now = e->world->now(e->user),
		.actor = actor,
		.out = out,
	};

	draw_entropy(e, cx.entropy);
	return cx;
}

/* Events that are to be written, on a state that the store gave. */
static int stage_again(struct state *s, const struct batch *b)
{
	int r = 0;

	for (size_t i = 0; b && r == 0 && i < b->events.n; i++)
		if (b->events.p[i]->seq > s->seq)
			r = apply(s, b->events.p[i], NULL);
	return r;
}

/*
 * The state is what the store holds, and what is to be written on top of it. The one before is kept
 * until the next commit: whoever called us may be in the middle of reading it.
 */
static bool refold(struct engine *e)
{
	struct state *fresh = NULL;
	uint64_t head = e->head;

	/*
	 * If even reading fails the old state stays for reading, and nothing is written:
	 * see failing.
	 */
	if (fold_store(e->store, e->hash_seed, UINT64_MAX, &fresh, &e->snapshot_seq, NULL) < 0) {
		e->apply_failed = OV_EIO;
		return false;
	}
	vec_push(&e->replaced, e->state);
	e->state = fresh;
	e->head = fresh->seq;
	/*
	 * Written, though the store said otherwise: then its intents are durable and ours to
	 * carry out.
	 */
	if (e->started && e->head != head)
		engine_perform_open(e);
	e->apply_failed = 0;
	if (stage_again(fresh, e->writing) < 0 || stage_again(fresh, e->staged) < 0)
		e->apply_failed = OV_EIO;
	return true;
}

static void wait_for_commit(struct engine *e, struct waiter w)
{
	vec_push(&e->staged->waiters, w);
}

static int refusal(const struct engine *e, struct ov_err *err)
{
	if (e->refusal)
		*err = *e->refusal;
	else if (e->apply_failed)
		ov_fail(err, e->apply_failed,
				"the state could not be brought in line with the store");
	return e->refusal ? e->refusal->code : e->apply_failed;
}

int engine_stage(struct engine *e, const struct events *fresh, struct ov_err *err)
{
	size_t before = e->staged->events.n;
	int r = 0;

	for (size_t i = 0; i < fresh->n && r == 0; i++) {
		struct event *ev = fresh->p[i];

		ev->seq = e->state->seq + 1;
		r = event_check(ev, err);
		if (r == 0)
			r = apply(e->state, ev, err);
		if (r == 0)
			vec_push(&e->staged->events, ev);
	}
	e->tick_due |= fresh->n > 0;
	if (r == 0)
		return 0;
	r = ov_wrap(err, OV_EINTERNAL, "a decision contradicts the state");
	e->staged->events.n = before;
	e->world->contradicted(e->user, err);
	(void)refold(e);
	return r;
}

/*
 * Decides a command and stages what comes of it. ret_about: what that begins with, also on failure.
 */
static int engine_take(struct engine *e, str command, const value *params, str actor,
		value **ret_result, const struct event **ret_about, struct ov_err *err)
{
	struct events fresh = { 0 };
	struct decide_ctx cx = engine_decide(e, actor, &fresh);
	int r = refusal(e, err);

	if (r == 0)
		r = decide(&cx, command, value_copy(cx.arena, params), ret_result, err);
	if (r == 0 && fresh.n) {
		*ret_about = fresh.p[0];
		r = engine_stage(e, &fresh, err);
	}
	vec_done(&fresh);
	return r;
}

void engine_submit(struct engine *e, str command, const value *params, str actor,
		engine_reply_fn *reply, void *user)
{
	const struct event *about;
	struct ov_err err = { 0 };
	value *result = NULL;
	int r = engine_take(e, command, params, actor, &result, &about, &err);

	if (!reply)
		return;
	/* A refusal changes nothing, so there is nothing to wait for. */
	if (r < 0)
		reply(user, r, NULL, &err);
	else
		wait_for_commit(e,
				(struct waiter){ .reply = reply, .user = user, .result = result });
}

bool engine_may_write(const struct engine *e)
{
	return !e->failing || e->retrying;
}

static void keep_report(struct reports *to, str command, const value *params, int refused,
		ov_time not_before)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct report rep = { .refused = refused, .not_before = not_before };

	json_write(&text, params);
	record_set_str(&rep.command, command);
	record_set_str(&rep.params, buf_str(&text));
	vec_push(to, rep);
}

static void report_again(struct engine *e, str command, const value *params, int refused)
{
	size_t before = e->staged->events.n;
	const struct event *about = NULL;
	struct ov_err err = { 0 };
	value *result;
	int r;

	if (!engine_may_write(e)) {
		keep_report(&e->retry, command, params, refused, 0);
		return;
	}
	r = engine_take(e, command, params, STR("overseer"), &result, &about, &err);
	if (r == OV_EINTERNAL && ++refused < REFUSED_MAX)
		keep_report(&e->retry, command, params, refused,
				e->world->now(e->user) + refused * RETRY_MS);
	else if (r == OV_EINTERNAL)
		/* Its effect stays open, and is performed again. */
		engine_tell(e, command, about, &err);
	else if (e->apply_failed || e->staged->events.n > before)
		keep_report(&e->staged->reports, command, params, refused, 0);
}

void engine_report(struct engine *e, str command, const value *params)
{
	if (!e->refusal)
		report_again(e, command, params, 0);
}

void engine_message(struct engine *e, enum message m, const void *is)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	engine_report(e, str_from(message_name(m)), message_data(&a, m, is));
}

void engine_after_commit(struct engine *e, void (*fn)(void *user, int r, const struct ov_err *err),
		void *user)
{
	if (!engine_staged(e))
		fn(user, 0, NULL);
	else
		wait_for_commit(e, (struct waiter){ .after = fn, .user = user });
}

/* A clock that jumped back must not hold it up. */
static bool is_early(const struct report *r, ov_time now)
{
	return r->not_before > now && r->not_before <= now + REFUSED_MAX * RETRY_MS;
}

/* What could not be written is submitted again, in order. */
static void submit_retries(struct engine *e)
{
	struct reports todo = e->retry;
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	ov_time now = e->world->now(e->user);

	memset(&e->retry, 0, sizeof(e->retry));
	e->refused_at = OV_TIME_MAX;
	for (size_t i = 0; i < todo.n; i++) {
		value *params;

		if (is_early(&todo.p[i], now)) {
			e->refused_at = MIN(e->refused_at, todo.p[i].not_before);
			vec_push(&e->retry, todo.p[i]);
			continue;
		}
		if (json_parse(&a, todo.p[i].params, NULL, &params, NULL) == 0)
			report_again(e, todo.p[i].command, params, todo.p[i].refused);
		report_done(&todo.p[i]);
	}
	vec_done(&todo);
}

static void commit_succeeded(struct engine *e, struct batch *b, uint64_t head)
{
	INJECT("after-commit");
	e->head = head;
	/* A transaction without events proves nothing about the store. */
	if (e->failing && b->events.n) {
		e->failing = e->retrying = false;
		e->retry_wait = 0;
		e->retry_at = OV_TIME_MAX;
		e->world->store_failed(e->user, NULL);
	}
	waiters_answer(&b->waiters, 0, NULL);
	INJECT("after-replies");
	if (b->events.n)
		e->world->published(e->user, (const struct event *const *)b->events.p, b->events.n);
	engine_perform_new(e, b);
	engine_archive_note(e, b);
	INJECT("after-effects");
	for (size_t i = 0; i < b->reports.n; i++)
		report_done(&b->reports.p[i]);
	batch_clear(b);
	/* Somebody else's write found the store well again before our own attempt was due. */
	submit_retries(e);
}

/* Each further attempt comes later, whatever else wakes us meanwhile. */
static void retry_later(struct engine *e)
{
	e->failing = true;
	e->retrying = false;
	e->retry_wait = e->retry_wait ? MIN(e->retry_wait * 2, (ov_time)RETRY_MAX_MS)
				      : (ov_time)RETRY_MS;
	e->retry_at = e->world->now(e->user) + e->retry_wait;
	engine_set_wake(e, e->retry_at);
}

static void commit_failed(struct engine *e, struct batch *b, int r, const struct ov_err *err)
{
	struct batch *other = b == &e->batches[0] ? &e->batches[1] : &e->batches[0];
	struct waiters told = { 0 };

	e->world->store_failed(e->user, err);
	batch_take_reports(&e->retry, b);
	batch_take_reports(&e->retry, other);
	batch_take_waiters(&told, b);
	batch_take_waiters(&told, other);
	batch_clear(b);
	batch_clear(other);
	(void)refold(e);
	retry_later(e);
	/* Last: whoever is told may submit again, on the state as it is now. */
	waiters_answer(&told, r, err);
	vec_done(&told);
}

void engine_discard(struct engine *e, const struct ov_err *err)
{
	struct waiters told = { 0 };

	assert(!e->writing && !e->committing);
	batch_take_reports(&e->retry, e->staged);
	batch_take_waiters(&told, e->staged);
	batch_clear(e->staged);
	(void)refold(e);
	waiters_answer(&told, err->code, err);
	vec_done(&told);
}

static void append_done(void *user, int r, uint64_t head, const struct ov_err *err)
{
	struct engine *e = user;
	struct batch *b = e->writing;

	e->writing = NULL;
	if (r == 0)
		commit_succeeded(e, b, head);
	else
		commit_failed(e, b, r, err);
}

static void write_batch(struct engine *e)
{
	struct batch *b = e->staged;
	struct ov_err err = { 0 };

	e->staged = b == &e->batches[0] ? &e->batches[1] : &e->batches[0];
	e->writing = b;
	if (e->apply_failed) {
		refusal(e, &err);
		append_done(e, e->apply_failed, 0, &err);
		return;
	}
	if (b->events.n == 0) {
		append_done(e, 0, e->head, NULL);
		return;
	}
	INJECT("before-commit");
	store_append(e->store, e->head, batch_records(b), b->events.n, append_done, e);
}

/*
 * A big state is written more rarely, so that the cost per event stays the same. An object costs
 * more to write into a snapshot than an event to append, and more to read back than an event to
 * fold: with two events per object the tail doubles neither.
 */
static bool snapshot_due(const struct engine *e)
{
	uint64_t tail = e->head - e->snapshot_seq;

	return tail >= (uint64_t)e->snapshot_every && tail >= SNAPSHOT_TAIL * e->snapshot_objects;
}

/* Also a state that cannot be had is found out by a transaction: one that fails. */
static bool must_write(const struct engine *e)
{
	return e->staged->events.n || e->staged->waiters.n ||
			(e->apply_failed && engine_may_write(e));
}

static void take_up_retries(struct engine *e)
{
	if (e->retry.n && engine_may_write(e))
		submit_retries(e);
}

void engine_commit(struct engine *e)
{
	enum { ROUNDS = 4 };

	/* Not from inside a reply: what it staged is written by the round that called it. */
	if (e->writing || e->committing)
		return;
	e->committing = true;
	take_up_retries(e);
	/*
	 * After a failure what happened is written first: a tick that cannot be written holds up
	 * only itself.
	 */
	if (!e->failing || !must_write(e))
		engine_tick_if_due(e);
	for (int i = 0; i < ROUNDS && !e->writing && must_write(e); i++) {
		write_batch(e);
		take_up_retries(e);
	}
	e->committing = false;
	free_replaced(e);
	engine_perform_again(e);
	if (must_write(e))
		engine_set_wake(e, e->world->now(e->user));
	else if (!e->writing)
		arena_reset(&e->staged->arena); /* of refusals, and of ticks that decided nothing */
	if (e->tick_due && e->started && engine_may_write(e))
		engine_set_wake(e,
				MIN(e->wake_at,
						MAX(e->world->now(e->user),
								e->last_tick + TICK_APART_MS)));
	if (!e->failing && snapshot_due(e))
		(void)engine_snapshot(e, NULL);
}

void engine_wake(struct engine *e)
{
	e->wake_at = OV_TIME_MAX;
	e->tick_due = true;
	if (!e->failing)
		return;
	/* One attempt; if it fails again, the next is further off. */
	if (e->apply_failed && !refold(e)) {
		retry_later(e);
		return;
	}
	e->retry_at = OV_TIME_MAX;
	e->retrying = true;
}

void engine_set_policy(struct engine *e, const struct policy *p, ov_time tick_every)
{
	e->policy = p;
	e->tick_every = tick_every;
	e->tick_due = true;
}

void engine_start(struct engine *e)
{
	if (e->refusal)
		return;
	e->started = true;
	e->tick_due = true;
	engine_perform_open(e);
}

void engine_refuse(struct engine *e, const struct ov_err *refusal)
{
	e->refusal = refusal;
	e->started = false;
}

void engine_stop(struct engine *e)
{
	e->started = false;
}

static int write_snapshot(struct engine *e, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct store_snapshot snap = { .seq = e->head, .format = SNAPSHOT_FORMAT };
	uint64_t head;
	int r = store_head(e->store, &head, snap.hash, err);

	if (r < 0)
		return r;
	snapshot_write(&bytes, e->state);
	snap.bytes = buf_str(&bytes);
	INJECT("before-snapshot");
	r = store_snapshot_put(e->store, &snap, err);
	/*
	 * Also after a failure: it is only an optimisation, and is tried again after as
	 * many events.
	 */
	e->snapshot_seq = e->head;
	e->snapshot_objects = e->state->nodes_by_key.n + e->state->goals.n;
	return r;
}

int engine_snapshot(struct engine *e, struct ov_err *err)
{
	int r;

	/* After a failure the state may hold what the store does not. */
	if (engine_staged(e) || e->state->seq != e->head || e->apply_failed ||
			e->snapshot_seq == e->head || e->refusal)
		return 0;
	r = write_snapshot(e, err);
	if (e->world->snapshot)
		e->world->snapshot(e->user);
	return r;
}
