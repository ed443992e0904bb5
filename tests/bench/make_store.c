/*
 * Makes a store as a long life leaves it behind: goals that were worked off, step by step, and a
 * fleet of live assignments that wait for their next attempt, a year from now. Everything comes
 * from the core's own decisions, so a daemon reads it as its own.
 * usage: make_store PATH LIVE EVENTS TAIL
 *   LIVE assignments, at least EVENTS events, a snapshot TAIL events before the end (-1: none).
 * Prints what there is as one JSON line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/apply.h"
#include "core/decide.h"
#include "core/snapshot.h"
#include "data/json.h"
#include "store/store.h"

enum { TASKS = 10, GROUP = 8192, POOL = TASKS, EVENTS_PER_LIVE = 16 };

#define COMMIT "0123456789abcdef0123456789abcdef01234567"

static const struct policy_agent agents[] = { { .name = STR_INIT("a"), .concurrency = INT64_MAX } };
static const str every_agent[] = { STR_INIT("*") };

struct maker {
	struct arena arena; /* of what is not appended yet */
	struct store *store;
	struct state *state;
	struct policy policy;
	ov_time now;
	uint64_t entropy;
	VEC(struct store_record) pending;
	uint64_t head;
	bool waiting; /* starts fail, so that each assignment waits for its next attempt */
};

static void must(int r, const struct ov_err *err)
{
	if (r == 0)
		return;
	fprintf(stderr, "make_store: %s\n", err->msg);
	exit(2);
}

static void appended(void *user, int r, uint64_t head, const struct ov_err *err)
{
	struct maker *m = user;

	must(r, err);
	m->head = head;
}

static void flush(struct maker *m)
{
	if (m->pending.n)
		store_append(m->store, m->head, m->pending.p, m->pending.n, appended, m);
	m->pending.n = 0;
	arena_reset(&m->arena);
}

static void keep(struct maker *m, struct events *out)
{
	_cleanup_(buf_done)
	struct buf body = BUF_INIT;
	struct ov_err err = { 0 };

	for (size_t i = 0; i < out->n; i++) {
		struct event *e = out->p[i];
		struct store_record rec = { .at = e->at,
			.kind = str_from(event_info(e->kind).name) };

		e->seq = m->state->seq + 1;
		must(apply(m->state, e, &err), &err);
		buf_clear(&body);
		json_write_canonical(&body, event_body(&m->arena, e));
		rec.body = arena_str(&m->arena, buf_str(&body));
		vec_push(&m->pending, rec);
	}
	vec_done(out);
}

static struct decide_ctx context(struct maker *m, struct events *out)
{
	struct decide_ctx cx = { .arena = &m->arena,
		.state = m->state,
		.policy = &m->policy,
		.now = ++m->now,
		.actor = STR("overseer"),
		.out = out };

	m->entropy++;
	memcpy(cx.entropy, &m->entropy, sizeof(m->entropy));
	return cx;
}

static void submit(struct maker *m, str command, const value *params)
{
	struct events out = { 0 };
	struct decide_ctx cx = context(m, &out);
	struct ov_err err = { 0 };
	value *result;

	must(decide(&cx, command, params, &result, &err), &err);
	keep(m, &out);
}

static size_t tick(struct maker *m)
{
	static const struct telemetry none = { 0 };
	struct world w = { m->state, &m->policy };
	struct decisions d = reconcile(&m->arena, &w, &none, m->now);
	struct events out = { 0 };
	struct decide_ctx cx = context(m, &out);

	decide_tick(&cx, &d);
	keep(m, &out);
	return d.n;
}

static void create_goal(struct maker *m)
{
	struct arena *a = &m->arena;
	value *params = value_object(a), *plan = value_object(a), *phases = value_array(a),
	      *phase = value_object(a), *tasks = value_array(a), *acceptance = value_array(a);

	value_push(a, acceptance, value_cstr(a, "the tests pass"));
	for (int i = 1; i <= TASKS; i++) {
		value *task = value_object(a);

		value_put(a, task, "id", value_strf(a, "T%d", i));
		value_put(a, task, "name", value_strf(a, "Task number %d", i));
		value_put(a, task, "objective", value_cstr(a, "Change what has to be changed."));
		value_put(a, task, "acceptance", acceptance);
		value_push(a, tasks, task);
	}
	value_put(a, phase, "id", value_cstr(a, "P1"));
	value_put(a, phase, "name", value_cstr(a, "The phase"));
	value_put(a, phase, "tasks", tasks);
	value_push(a, phases, phase);
	value_put(a, plan, "phases", phases);
	value_put(a, params, "title", value_cstr(a, "A goal of the benchmark"));
	value_put(a, params, "plan", plan);
	submit(m, STR("goal.create"), params);
}

static void end_run(struct maker *m, str run)
{
	struct arena *a = &m->arena;
	value *params = value_object(a);

	value_put(a, params, "run", value_str(a, run));
	value_put(a, params, "exit_code", value_int(a, 0));
	value_put(a, params, "signal", value_int(a, 0));
	value_put(a, params, "output_bytes", value_int(a, 12345));
	submit(m, STR("run.end"), params);
}

static void end_effect(struct maker *m, const struct effect *fx)
{
	static const char *const texts[] = { "base", "head", "tree", "commit" };
	struct arena *a = &m->arena;
	value *params = value_object(a), *data = value_object(a);
	bool start = fx->kind == FX_RUN_START, fails = start && m->waiting;
	str run = arena_str(a, fx->run_id);

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		value_put(a, data, texts[i], value_cstr(a, COMMIT));
	value_put(a, data, "target", value_cstr(a, "main"));
	value_put(a, data, "commits", value_int(a, 1));
	value_put(a, data, "files_changed", value_int(a, 2));
	value_put(a, params, "effect", value_str(a, arena_str(a, fx->id)));
	value_put(a, params, "outcome", value_cstr(a, fails ? "error" : "ok"));
	value_put(a, params, "detail", value_cstr(a, fails ? "the agent is away" : ""));
	value_put(a, params, "data", data);
	submit(m, STR("effect.end"), params);
	if (start && !fails)
		end_run(m, run);
}

/* Ticks and does what was decided, until nothing is left to do. */
static void settle(struct maker *m)
{
	while (tick(m) > 0) {
		while (!list_empty(&m->state->effects))
			end_effect(m, list_entry(m->state->effects.next, struct effect, link));
		if (m->pending.n >= GROUP)
			flush(m);
	}
}

/* Goals that are created, worked off and done. */
static void make_history(struct maker *m, uint64_t until)
{
	while (m->state->seq < until) {
		create_goal(m);
		settle(m);
	}
}

static void make_fleet(struct maker *m, int64_t live)
{
	m->waiting = true;
	m->policy.workers_max = live;
	for (int64_t i = 0; i < live / TASKS; i++)
		create_goal(m);
	settle(m);
	m->waiting = false;
	m->policy.workers_max = live + POOL;
}

static size_t make_snapshot(struct maker *m)
{
	_cleanup_(buf_done)
	struct buf bytes = BUF_INIT;
	struct store_snapshot snap = { .format = SNAPSHOT_FORMAT };
	struct ov_err err = { 0 };

	flush(m);
	must(store_head(m->store, &snap.seq, snap.hash, &err), &err);
	snapshot_write(&bytes, m->state);
	snap.bytes = buf_str(&bytes);
	must(store_snapshot_put(m->store, &snap, &err), &err);
	return bytes.n;
}

static void maker_open(struct maker *m, const char *path)
{
	struct store_lease lease;
	struct ov_err err = { 0 };

	*m = (struct maker){
		.policy = {
			.default_agent = STR("a"),
			.agents = agents,
			.agents_n = 1,
			.workers_max = POOL,
			.target_branch = STR("main"),
			.retry_max_attempts = 3,
			.retry_delay = { 365 * OV_DAY, 365 * OV_DAY, 365 * OV_DAY },
			.no_changes_attempts = 2,
			.plan = { 5, TASKS, 7 },
			.allow_agents = every_agent,
			.allow_agents_n = 1,
			.budget = { -1, -1, -1, -1 },
		},
		.state = state_new(1),
		.now = (ov_time)time(NULL) * 1000 - OV_DAY,
	};
	must(store_open(arena_printf(&m->arena, "sqlite:%s", path), STORE_READ_WRITE, &m->store,
			     &err),
			&err);
	must(store_lease_take(m->store, STR("{}"), &m->arena, &lease, &err), &err);
}

int main(int argc, char **argv)
{
	int64_t live, events, tail;
	size_t snapshot_bytes = 0;
	struct maker m;

	if (argc != 5 || !str_to_i64(str_from(argv[2]), &live) ||
			!str_to_i64(str_from(argv[3]), &events) ||
			!str_to_i64(str_from(argv[4]), &tail)) {
		fputs("usage: make_store PATH LIVE EVENTS TAIL\n", stderr);
		return 2;
	}
	maker_open(&m, argv[1]);
	make_history(&m, (uint64_t)MAX(events - live * EVENTS_PER_LIVE - MAX(tail, 0), 0));
	make_fleet(&m, live);
	if (tail >= 0)
		snapshot_bytes = make_snapshot(&m);
	if (tail > 0)
		make_history(&m, m.state->seq + (uint64_t)tail);
	make_history(&m, tail < 0 ? (uint64_t)events : 0);
	flush(&m);
	printf("{\"events\":%llu,\"goals\":%zu,\"nodes\":%zu,\"snapshot_bytes\":%zu}\n",
			(unsigned long long)m.state->seq, m.state->goals.n, m.state->nodes_by_key.n,
			snapshot_bytes);
	store_close(m.store);
	state_free(m.state);
	vec_done(&m.pending);
	arena_done(&m.arena);
	return 0;
}
