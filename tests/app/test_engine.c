/*
 * The engine on a store that fails when it is told to and a world that the test plays: no loop, no
 * processes, a clock that moves only by hand. What must hold, whatever fails: nothing that was
 * reported is lost, nobody is answered twice or never, effects are performed only for what is
 * durable, and the state is always the fold of the store.
 */
#include "tests/test.h"

#include <malloc.h>
#include <stdio.h>

#include "app/engine/engine.h"
#include "app/store/fold.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/state/snapshot.h"
#include "data/value/json.h"
#include "tests/rng.h"

enum { START = 1800000000 };

/*
 * Bugs of decisions, planted by the linker (--wrap): what is decided for a step or a command that
 * is named here ends with something that the state cannot take.
 */
static struct {
	struct decision steps[4];
	const char *nodes[4]; /* one for each step; NULL: no more steps */
	str command;
} bugs;

void __real_decide_tick(struct decide_ctx *cx, const struct decisions *ds);
void __wrap_decide_tick(struct decide_ctx *cx, const struct decisions *ds);
int __real_decide(struct decide_ctx *cx, str name, const value *params, value **ret_result,
		struct ov_err *err);
int __wrap_decide(struct decide_ctx *cx, str name, const value *params, value **ret_result,
		struct ov_err *err);

/* The last of them: so those before it have changed the state already. */
static void contradict(struct decide_ctx *cx)
{
	struct event *ev = arena_new(cx->arena, struct event);

	*ev = (struct event){ .kind = EV_WORKER_STATUS,
		.at = cx->now,
		.actor = cx->actor,
		.data = value_object(cx->arena) };
	value_put(cx->arena, ev->data, "worker", value_cstr(cx->arena, "nobody"));
	value_put(cx->arena, ev->data, "from", value_cstr(cx->arena, "idle"));
	value_put(cx->arena, ev->data, "to", value_cstr(cx->arena, "working"));
	value_put(cx->arena, ev->data, "reason", value_cstr(cx->arena, ""));
	event_fill(cx->arena, ev);
	vec_push(cx->out, ev);
}

static bool is_buggy(const struct decision *d)
{
	for (size_t i = 0; i < ARRAY_LEN(bugs.nodes) && bugs.nodes[i]; i++)
		if (d->kind == bugs.steps[i].kind && d->effect == bugs.steps[i].effect && d->node &&
				str_is(d->node->id, bugs.nodes[i]))
			return true;
	return false;
}

void __wrap_decide_tick(struct decide_ctx *cx, const struct decisions *ds)
{
	bool buggy = false;

	__real_decide_tick(cx, ds);
	for (size_t i = 0; i < ds->n; i++)
		buggy |= is_buggy(&ds->p[i]);
	if (buggy)
		contradict(cx);
}

int __wrap_decide(struct decide_ctx *cx, str name, const value *params, value **ret_result,
		struct ov_err *err)
{
	int r = __real_decide(cx, name, params, ret_result, err);

	if (r == 0 && str_eq(name, bugs.command))
		contradict(cx);
	return r;
}

/* A store in memory that can be told to fail. */
struct faulty {
	struct store store;
	struct store *inner;
	int fail_appends; /* so many more */
	int lie_appends;  /* so many more are written and then called a failure */
	bool fail_reads;
	int snapshots;
};

static struct faulty *faulty_of(struct store *s)
{
	return (struct faulty *)s;
}

static void faulty_close(struct store *s)
{
	(void)s; /* the log outlives its daemons */
}

struct lie {
	store_done *done;
	void *user;
};

static void lie_done(void *user, int r, uint64_t head, const struct ov_err *err)
{
	struct lie *l = user;
	struct ov_err lie = { 0 };

	(void)err;
	assert_int_equal(r, 0);
	ov_fail(&lie, OV_EIO, "the disk says no, but wrote it");
	l->done(l->user, OV_EIO, head, &lie);
}

static void faulty_append(struct store *s, uint64_t expect, const struct store_record *recs,
		size_t n, store_done *done, void *user)
{
	struct faulty *f = faulty_of(s);
	struct ov_err err = { 0 };
	struct lie lie = { done, user };

	if (f->lie_appends > 0) {
		f->lie_appends--;
		store_append(f->inner, expect, recs, n, lie_done, &lie);
	} else if (f->fail_appends > 0) {
		f->fail_appends--;
		ov_fail(&err, OV_EIO, "the disk is full");
		done(user, OV_EIO, expect, &err);
	} else {
		store_append(f->inner, expect, recs, n, done, user);
	}
}

static int faulty_read(struct store *s, uint64_t after, size_t limit, struct arena *a,
		struct store_record **ret, size_t *ret_n, struct ov_err *err)
{
	if (faulty_of(s)->fail_reads)
		return ov_fail(err, OV_EIO, "the disk cannot be read");
	return store_read(faulty_of(s)->inner, after, limit, a, ret, ret_n, err);
}

static int faulty_head(struct store *s, uint64_t *ret_seq, uint8_t ret_hash[static SHA256_LEN],
		struct ov_err *err)
{
	return store_head(faulty_of(s)->inner, ret_seq, ret_hash, err);
}

static int faulty_snapshot_put(struct store *s, const struct store_snapshot *snap,
		struct ov_err *err)
{
	faulty_of(s)->snapshots++;
	return store_snapshot_put(faulty_of(s)->inner, snap, err);
}

static int faulty_snapshot_get(struct store *s, struct arena *a, struct store_snapshot *ret,
		struct ov_err *err)
{
	return store_snapshot_get(faulty_of(s)->inner, a, ret, err);
}

static int faulty_archive(struct store *s, uint64_t upto, size_t max, size_t *ret_moved,
		struct ov_err *err)
{
	if (faulty_of(s)->fail_reads)
		return ov_fail(err, OV_EIO, "the disk cannot be read");
	return store_archive(faulty_of(s)->inner, upto, MIN(max, (size_t)3), ret_moved, err);
}

static int faulty_border(struct store *s, uint64_t *ret, struct ov_err *err)
{
	return store_border(faulty_of(s)->inner, ret, err);
}

static const struct store_ops faulty_ops = {
	.scheme = "faulty",
	.close = faulty_close,
	.append = faulty_append,
	.read = faulty_read,
	.head = faulty_head,
	.snapshot_put = faulty_snapshot_put,
	.snapshot_get = faulty_snapshot_get,
	.archive = faulty_archive,
	.border = faulty_border,
};

/* ---- the world ---- */

struct performed {
	char id[40];
	enum effect_kind kind;
};

struct site {
	struct faulty store;
	struct arena arena;
	struct policy policy;
	struct engine *engine;
	ov_time now, wake_at;
	struct rng rng;
	bool same_entropy;
	VEC(struct performed) todo; /* effects that were performed and not yet ended */
	size_t performed, failures, recoveries, contradictions, looks;
	struct map *observations;
	uint64_t published; /* the last event's number */
	int64_t snapshot_every;
};

static const str any_agent[] = { STR("*") };
static const struct policy_agent agents[] = { { .name = STR("a"), .concurrency = 256 } };

static ov_time site_now(void *user)
{
	return ((struct site *)user)->now;
}

static void site_entropy(void *user, void *p, size_t n)
{
	struct site *s = user;

	for (size_t i = 0; i < n; i++)
		((uint8_t *)p)[i] = s->same_entropy ? 7 : (uint8_t)rng_next(&s->rng);
}

static void site_telemetry(void *user, struct telemetry *ret)
{
	struct site *s = user;

	*ret = (struct telemetry){ .observations = s->observations };
}

static void site_perform(void *user, const struct effect *fx)
{
	struct site *s = user;
	struct performed p = { .kind = fx->kind };
	struct state *durable;
	uint64_t from;

	/* Intent before action: the store already knows of it. */
	assert_int_equal(fold_store(s->store.inner, 1, UINT64_MAX, &durable, &from, NULL), 0);
	assert_non_null(state_effect(durable, fx->id));
	state_free(durable);
	memcpy(p.id, fx->id.p, fx->id.n);
	/* As the executor: what is under way is not begun again. */
	for (size_t i = 0; i < s->todo.n; i++)
		if (strcmp(s->todo.p[i].id, p.id) == 0)
			return;
	vec_push(&s->todo, p);
	s->performed++;
}

static void site_published(void *user, const struct event *const *events, size_t n)
{
	struct site *s = user;

	for (size_t i = 0; i < n; i++) {
		assert_true(events[i]->seq > s->published);
		s->published = events[i]->seq;
	}
}

static void site_wake_at(void *user, ov_time at)
{
	((struct site *)user)->wake_at = at;
}

static void site_store_failed(void *user, const struct ov_err *err)
{
	struct site *s = user;

	s->failures += err != NULL;
	s->recoveries += err == NULL;
}

static void site_contradicted(void *user, const struct ov_err *err)
{
	((struct site *)user)->contradictions++;
	assert_int_equal(err->code, OV_EINTERNAL);
}

static void site_look(void *user, const struct run *r)
{
	struct site *s = user;

	(void)r;
	s->looks++;
}

static const struct engine_world site_world = {
	.now = site_now,
	.entropy = site_entropy,
	.telemetry = site_telemetry,
	.look = site_look,
	.perform = site_perform,
	.published = site_published,
	.wake_at = site_wake_at,
	.store_failed = site_store_failed,
	.contradicted = site_contradicted,
};

/* A daemon on the site's log; the one before it has vanished. */
static void site_up(struct site *s)
{
	struct engine_options o = {
		.store = &s->store.store,
		.policy = &s->policy,
		.world = &site_world,
		.user = s,
		.tick_every = 2 * OV_MINUTE,
		.snapshot_every = s->snapshot_every,
	};

	s->todo.n = 0;
	s->wake_at = OV_TIME_MAX;
	assert_int_equal(engine_open(&o, &s->engine, NULL), 0);
	engine_start(s->engine);
	engine_commit(s->engine);
}

static void site_init(struct site *s, uint64_t seed)
{
	struct store_lease lease;

	memset(&bugs, 0, sizeof(bugs));
	*s = (struct site){ .now = START * (ov_time)1000,
		.rng = { seed },
		.snapshot_every = 1000000 };
	s->policy = (struct policy){
		.default_agent = STR("a"),
		.agents = agents,
		.agents_n = 1,
		.allow_agents = any_agent,
		.allow_agents_n = 1,
		.workers_max = 2,
		.workers_max_waiting = 8,
		.target_branch = STR("main"),
		.retry_max_attempts = 100,
		.patrol_restarts = 100,
		.retry_delay = { OV_SECOND, OV_SECOND, OV_SECOND },
		.no_changes_attempts = 2,
		.conflict_rounds = 3,
		.moved_tries = 100,
		.dirty_wait = OV_MINUTE,
		.dirty_notice = OV_MINUTE,
		.unchecked = UNCHECKED_ACCEPT,
		.budget = { [RES_ITERATIONS] = -1,
				[RES_WALL_MS] = -1,
				[RES_TOKENS] = -1,
				[RES_COST_MICROUSD] = -1 },
		.plan = PLAN_LIMITS_DEFAULT,
	};
	oversight_preset(&s->policy.oversight, PRESET_DEFAULT);
	s->store.store.ops = &faulty_ops;
	assert_int_equal(store_open(STR("mem:"), STORE_READ_WRITE, &s->store.inner, NULL), 0);
	assert_int_equal(store_lease_take(s->store.inner, STR("{}"), &s->arena, &lease, NULL), 0);
	site_up(s);
	s->now += OV_SECOND; /* the next tick may come */
}

static void site_done(struct site *s)
{
	engine_close(s->engine);
	store_close(s->store.inner);
	vec_done(&s->todo);
	arena_done(&s->arena);
}

static str text_of(struct site *s, const struct state *state)
{
	struct buf b = BUF_INIT;
	str text;

	snapshot_write(&b, state);
	text = arena_str(&s->arena, buf_str(&b));
	buf_done(&b);
	return text;
}

/* The state is the fold of the store. */
static void check_fold(struct site *s)
{
	struct state *durable;
	uint64_t from;
	str a, b;

	assert_int_equal(fold_store(s->store.inner, 99, UINT64_MAX, &durable, &from, NULL), 0);
	a = text_of(s, durable);
	b = text_of(s, engine_state(s->engine));
	state_free(durable);
	if (!str_eq(a, b))
		fail_msg("the store says:\n%s\nthe state says:\n%s", a.p, b.p);
}

/* Values from JSON with ' for ", formatted. */
static value *_printf_(2, 3) json(struct site *s, const char *fmt, ...)
{
	va_list ap;
	value *v;
	char *p;
	str text;

	va_start(ap, fmt);
	text = arena_vprintf(&s->arena, fmt, ap);
	va_end(ap);
	p = arena_cstr(&s->arena, text);
	for (size_t i = 0; i < text.n; i++)
		p[i] = p[i] == '\'' ? '"' : p[i];
	assert_int_equal(json_parse(&s->arena, (str){ p, text.n }, NULL, &v, NULL), 0);
	return v;
}

struct answer {
	int count, r;
};

static void answered(void *user, int r, const value *result, const struct ov_err *err)
{
	struct answer *a = user;

	assert_true(r < 0 ? err != NULL : result != NULL);
	a->count++;
	a->r = r;
}

static void create_goal(struct site *s, const char *title, const char *tasks, struct answer *a)
{
	engine_submit(s->engine, STR("goal.create"),
			json(s,
					"{'title': '%s', 'plan': {'phases': [{'id': 'P1', 'name': "
					"'one', 'tasks': [%s]}]}}",
					title, tasks),
			STR("human:t"), answered, a);
}

#define T1 "{'id': 'T1', 'name': 't', 'acceptance': ['x']}"
#define T2 "{'id': 'T2', 'name': 't', 'acceptance': ['x'], 'checkCommand': 'true'}"
#define T3 "{'id': 'T3', 'name': 't', 'acceptance': ['x'], 'deps': ['T1', 'T2']}"

static const char *const good_data[EFFECT_KIND_COUNT] = {
	[FX_WORKSPACE] = "'base': 'b'",
	[FX_RUN_START] = "",
	[FX_RUN_STOP] = "",
	[FX_HARVEST] = "'head': 'h', 'tree': 't', 'commits': 1, 'files_changed': 1",
	[FX_CHECK] = "",
	[FX_REBASE] = "'commit': '0123456789abcdef', 'base': 'b'",
	[FX_ACCEPT] = "'commit': '0123456789abcdef', 'target': 'main'",
};

/* The i-th effect under way ends. */
static void end_effect(struct site *s, size_t i, const char *outcome)
{
	struct performed p = s->todo.p[i];

	vec_remove(&s->todo, i);
	engine_report(s->engine, STR("effect.end"),
			json(s, "{'effect': '%s', 'outcome': '%s', 'detail': '', 'data': {%s}}",
					p.id, outcome, good_data[p.kind]));
}

static void end_run(struct site *s, str run, int code)
{
	engine_report(s->engine, STR("run.end"),
			json(s,
					"{'run': '" STR_FMT
					"', 'exit_code': %d, 'signal': 0, 'lost': false}",
					STR_ARG(run), code));
}

/* Time passes until the engine wants to be woken. */
static void sleep_until_wake(struct site *s)
{
	assert_true(s->wake_at != OV_TIME_MAX);
	s->now = MAX(s->now, s->wake_at);
	s->wake_at = OV_TIME_MAX;
	engine_wake(s->engine);
	engine_commit(s->engine);
}

/* One thing after the other goes well. False: nothing is left to do before `end`. */
static bool go_on(struct site *s, ov_time end)
{
	const struct run *running = NULL;

	s->now += OV_SECOND;
	list_each (it, &engine_state(s->engine)->runs) {
		const struct run *r = list_entry(it, struct run, link);

		running = r->status == RUN_RUNNING ? r : running;
	}
	if (s->wake_at <= s->now)
		sleep_until_wake(s);
	else if (s->todo.n)
		end_effect(s, 0, "ok");
	else if (running)
		end_run(s, running->id, 0);
	else if (s->wake_at < end)
		sleep_until_wake(s);
	else
		return false;
	engine_commit(s->engine);
	return true;
}

/* Everything goes well until nothing is left to do. */
static void finish(struct site *s)
{
	for (int i = 0; i < 10000; i++)
		if (!go_on(s, OV_TIME_MAX))
			return;
	fprintf(stderr, "%s\n", text_of(s, engine_state(s->engine)).p);
	fail_msg("the work never comes to an end");
}

/* Everything goes well, for so long. */
static void go_on_for(struct site *s, ov_time time)
{
	ov_time end = s->now + time;

	while (s->now < end && go_on(s, end))
		continue;
	s->now = MAX(s->now, end);
}

static const struct node *node_of(struct site *s, const char *id)
{
	const struct node *n = state_node(engine_state(s->engine),
			engine_state(s->engine)->goals.p[0]->id, str_from(id));

	assert_non_null(n);
	return n;
}

/* ---- the tests ---- */

TEST(a_goal_is_worked_on_to_its_end)
{
	struct answer a = { 0 };
	struct site s;

	site_init(&s, 1);
	create_goal(&s, "g", T1 "," T2 "," T3, &a);
	assert_int_equal(a.count, 0);
	engine_commit(s.engine);
	assert_int_equal(a.count, 1);
	finish(&s);
	assert_int_equal(engine_state(s.engine)->goals.p[0]->status, GOAL_COMPLETED);
	assert_int_equal(s.performed, 3 * 5 + 1);
	/* Idle costs nothing. */
	assert_true(s.wake_at == OV_TIME_MAX);
	check_fold(&s);
	site_done(&s);
}

/* All up to the event that put the goal away, in steps, by this daemon or the next. */
TEST(an_archived_goal_lets_the_log_move)
{
	struct site s;
	struct answer a = { 0 };
	uint64_t border = 0, to;
	str goal;

	site_init(&s, 1);
	create_goal(&s, "one", T1, &a);
	engine_commit(s.engine);
	finish(&s);
	goal = engine_state(s.engine)->goals.p[0]->id;
	assert_false(engine_archive_due(s.engine));
	engine_submit(s.engine, STR("goal.archive"),
			json(&s, "{'goal': '" STR_FMT "'}", STR_ARG(goal)), STR("human:t"),
			answered, &a);
	assert_false(engine_archive_due(s.engine)); /* not durable yet */
	engine_commit(s.engine);
	assert_int_equal(a.r, 0);
	to = (uint64_t)engine_state(s.engine)->goals.p[0]->archived_seq;
	assert_true(to > 6);
	assert_true(engine_archive_due(s.engine));
	assert_int_equal(engine_archive(s.engine, NULL), 0);
	assert_int_equal(store_border(s.store.inner, &border, NULL), 0);
	assert_int_equal(border, 3); /* after a snapshot, or nothing could have moved */
	/* A failure ends it, until the next daemon. */
	s.store.fail_reads = true;
	assert_int_equal(engine_archive(s.engine, NULL), OV_EIO);
	assert_false(engine_archive_due(s.engine));
	s.store.fail_reads = false;
	engine_close(s.engine);
	site_up(&s);
	while (engine_archive_due(s.engine))
		assert_int_equal(engine_archive(s.engine, NULL), 0);
	assert_int_equal(store_border(s.store.inner, &border, NULL), 0);
	assert_int_equal(border, to);
	check_fold(&s);
	site_done(&s);
}

TEST(a_failed_transaction_answers_everybody_once_and_changes_nothing)
{
	struct answer a = { 0 }, b = { 0 };
	struct site s;

	site_init(&s, 2);
	s.store.fail_appends = 1;
	create_goal(&s, "g", T1, &a);
	create_goal(&s, "h", T1, &b);
	engine_commit(s.engine);
	assert_int_equal(a.count, 1);
	assert_int_equal(a.r, OV_EIO);
	assert_int_equal(b.count, 1);
	assert_int_equal(engine_state(s.engine)->goals.n, 0);
	assert_int_equal(s.performed, 0);
	check_fold(&s);
	create_goal(&s, "i", T1, &a);
	engine_commit(s.engine);
	assert_int_equal(a.count, 2);
	assert_int_equal(a.r, 0);
	assert_int_equal(s.recoveries, 1);
	check_fold(&s);
	site_done(&s);
}

TEST(a_report_is_kept_over_a_failure_also_when_another_write_succeeds_first)
{
	struct answer a = { 0 };
	struct site s;

	site_init(&s, 3);
	create_goal(&s, "g", T1, &a);
	engine_commit(s.engine);
	assert_int_equal(s.todo.n, 1);
	s.store.fail_appends = 1;
	s.now += OV_SECOND;
	end_effect(&s, 0, "ok");
	engine_commit(s.engine);
	assert_int_equal(s.failures, 1);
	assert_int_equal(node_of(&s, "T1")->assignment->stage, STAGE_WORKSPACE);
	/* Before its retry is due somebody else writes, and that succeeds. */
	create_goal(&s, "h", T1, &a);
	engine_commit(s.engine);
	assert_int_equal(s.recoveries, 1);
	while (s.wake_at != OV_TIME_MAX &&
			node_of(&s, "T1")->assignment->stage == STAGE_WORKSPACE &&
			s.now < (START + 3600) * (ov_time)1000)
		sleep_until_wake(&s);
	assert_int_not_equal(node_of(&s, "T1")->assignment->stage, STAGE_WORKSPACE);
	finish(&s);
	assert_int_equal(engine_state(s.engine)->goals.p[0]->status, GOAL_COMPLETED);
	assert_int_equal(engine_state(s.engine)->goals.p[1]->status, GOAL_COMPLETED);
	check_fold(&s);
	site_done(&s);
}

TEST(a_tick_by_hand_does_not_put_the_retry_off)
{
	struct answer a = { 0 };
	struct site s;
	ov_time retry;

	site_init(&s, 4);
	create_goal(&s, "g", T1, &a);
	engine_commit(s.engine);
	s.store.fail_appends = 1;
	end_effect(&s, 0, "ok");
	engine_commit(s.engine);
	retry = s.wake_at;
	assert_true(retry <= s.now + OV_SECOND);
	(void)engine_tick_now(s.engine, &s.arena);
	engine_commit(s.engine);
	assert_true(s.wake_at <= retry);
	finish(&s);
	assert_int_equal(engine_state(s.engine)->goals.p[0]->status, GOAL_COMPLETED);
	site_done(&s);
}

/* A store that is full for hours costs an attempt now and then, and nothing is lost. */
TEST(retries_are_further_and_further_apart)
{
	struct answer a = { 0 };
	struct site s;

	site_init(&s, 5);
	create_goal(&s, "g", T1, &a);
	engine_commit(s.engine);
	s.store.fail_appends = 1000;
	end_effect(&s, 0, "ok");
	engine_commit(s.engine);
	for (int i = 0; i < 100; i++)
		sleep_until_wake(&s);
	assert_true(s.now > (START + 90 * 30) * (ov_time)1000);
	s.store.fail_appends = 0;
	finish(&s);
	assert_int_equal(engine_state(s.engine)->goals.p[0]->status, GOAL_COMPLETED);
	check_fold(&s);
	site_done(&s);
}

/* Written, but called a failure: the intents of that transaction must still be carried out. */
TEST(what_was_written_after_all_is_carried_out)
{
	struct answer a = { 0 };
	struct site s;

	site_init(&s, 6);
	s.store.lie_appends = 1;
	create_goal(&s, "g", T1, &a);
	engine_commit(s.engine);
	assert_int_equal(a.r, OV_EIO);
	assert_int_equal(engine_state(s.engine)->goals.n, 1);
	finish(&s);
	assert_int_equal(engine_state(s.engine)->goals.p[0]->status, GOAL_COMPLETED);
	check_fold(&s);
	site_done(&s);
}

TEST(no_snapshot_is_taken_of_a_state_that_the_store_does_not_have)
{
	struct answer a = { 0 };
	struct site s;

	site_init(&s, 7);
	create_goal(&s, "g", T1, &a);
	engine_commit(s.engine);
	s.store.fail_appends = 1;
	s.store.fail_reads = true;
	create_goal(&s, "h", T1, &a);
	engine_commit(s.engine);
	assert_int_equal(a.r, OV_EIO);
	(void)engine_snapshot(s.engine, NULL);
	assert_int_equal(s.store.snapshots, 0);
	/* When it can be read again, everything goes on. */
	s.store.fail_reads = false;
	finish(&s);
	assert_int_equal(engine_state(s.engine)->goals.n, 1);
	assert_int_equal(engine_state(s.engine)->goals.p[0]->status, GOAL_COMPLETED);
	check_fold(&s);
	site_done(&s);
}

/*
 * A decision that the state refuses is a bug; it must not stop everything. Here two assignments get
 * the same id, as equal random numbers in the same millisecond would make them.
 */
TEST(a_refused_decision_is_taken_anew)
{
	struct answer a = { 0 };
	struct site s;
	ov_time first;

	site_init(&s, 8);
	engine_close(s.engine);
	s.same_entropy = true;
	site_up(&s);
	s.policy.workers_max = 1;
	s.now += OV_SECOND;
	first = s.now;
	create_goal(&s, "g", T1 "," T2, &a);
	engine_commit(s.engine);
	while (node_of(&s, "T1")->status != NODE_DONE) {
		const struct assignment *as = node_of(&s, "T1")->assignment;

		s.now += 100;
		if (s.todo.n)
			end_effect(&s, 0, "ok");
		else if (as->stage == STAGE_RUNNING)
			end_run(&s, as->run_id, 0);
		else
			sleep_until_wake(&s);
		if (node_of(&s, "T1")->status != NODE_DONE)
			engine_commit(s.engine);
	}
	/* The accept is durable, but its tick is still to come. */
	(void)engine_tick_dry(s.engine, &s.arena);
	engine_stop(s.engine);
	engine_commit(s.engine);
	assert_null(node_of(&s, "T2")->assignment);
	engine_start(s.engine);
	s.now = first;
	engine_commit(s.engine);
	assert_true(s.contradictions > 0);
	assert_int_equal(s.failures, 0);
	check_fold(&s);
	s.now += OV_MINUTE;
	finish(&s);
	assert_int_equal(engine_state(s.engine)->goals.p[0]->status, GOAL_COMPLETED);
	check_fold(&s);
	site_done(&s);
}

static size_t told(struct site *s, const char *node)
{
	const struct state *st = engine_state(s->engine);
	size_t n = 0;

	for (size_t i = 0; i < st->escalations.n; i++)
		n += str_is(st->escalations.p[i]->kind, "internal") &&
				str_is(st->escalations.p[i]->node_id, node);
	return n;
}

/*
 * The step is a bug for one of two tasks that are worked on by one worker; the other one gets done.
 */
static void bug_of_one(struct decision step)
{
	struct answer a = { 0 };
	struct site s;
	size_t before;

	site_init(&s, 20);
	s.policy.workers_max = step.kind == DEC_EFFECT ? 2 : 1;
	bugs.steps[0] = step;
	bugs.nodes[0] = "T1";
	create_goal(&s, "g", T1 "," T2, &a);
	engine_commit(s.engine);
	go_on_for(&s, OV_MINUTE);
	assert_int_equal(node_of(&s, "T2")->status, NODE_DONE);
	assert_int_not_equal(node_of(&s, "T1")->status, NODE_DONE);
	assert_int_equal(s.failures, 0);
	assert_int_equal(told(&s, "T1"), 1);
	assert_true(s.contradictions > 0 && s.contradictions < 10);
	check_fold(&s);
	/* Nothing has changed: it is tried again after an hour, and is told only once. */
	before = s.contradictions;
	go_on_for(&s, 50 * OV_MINUTE);
	assert_int_equal(s.contradictions, before);
	go_on_for(&s, OV_HOUR);
	assert_int_equal(s.contradictions, before + 1);
	assert_int_equal(told(&s, "T1"), 1);
	/* What a person says to it is taken note of. */
	engine_submit(s.engine, STR("inbox.answer"), json(&s, "{'number': 1, 'answer': 'retry'}"),
			STR("human:t"), answered, &a);
	engine_commit(s.engine);
	assert_int_equal(a.r, 0);
	assert_int_equal(engine_state(s.engine)->escalations.p[0]->status, ESC_ANSWERED);
	/* Another daemon knows no better. */
	before = s.contradictions;
	engine_close(s.engine);
	site_up(&s);
	assert_int_equal(s.contradictions, before + 1);
	assert_int_equal(told(&s, "T1"), 1);
	bugs.nodes[0] = NULL;
	finish(&s);
	assert_int_equal(engine_state(s.engine)->goals.p[0]->status, GOAL_COMPLETED);
	check_fold(&s);
	site_done(&s);
}

TEST(a_bad_decision_holds_up_nobody_else)
{
	bug_of_one((struct decision){ .kind = DEC_QUEUE });
	bug_of_one((struct decision){ .kind = DEC_ASSIGN });
	bug_of_one((struct decision){ .kind = DEC_EFFECT, .effect = FX_WORKSPACE });
	bug_of_one((struct decision){ .kind = DEC_EFFECT, .effect = FX_REBASE });
	bug_of_one((struct decision){ .kind = DEC_EFFECT, .effect = FX_ACCEPT });
}

TEST(bad_decisions_among_many_are_found_quickly)
{
	struct answer a = { 0 };
	struct buf tasks = BUF_INIT;
	struct site s;

	site_init(&s, 21);
	s.policy.plan.max_tasks = 100;
	for (int i = 1; i <= 100; i++)
		buf_addf(&tasks, "%s{'id': 'T%d', 'name': 't', 'acceptance': ['x']}",
				i > 1 ? "," : "", i);
	for (size_t i = 0; i < 3; i++)
		bugs.steps[i].kind = DEC_QUEUE;
	bugs.nodes[0] = "T1";
	bugs.nodes[1] = "T50";
	bugs.nodes[2] = "T100";
	create_goal(&s, "g", buf_cstr(&tasks), &a);
	engine_commit(s.engine);
	assert_int_equal(a.r, 0);
	assert_true(s.contradictions <= 30);
	assert_int_equal(told(&s, "T1") + told(&s, "T50") + told(&s, "T100"), 3);
	for (size_t i = 0; i < engine_state(s.engine)->goals.p[0]->nodes.n; i++) {
		const struct node *n = engine_state(s.engine)->goals.p[0]->nodes.p[i];

		assert_int_equal(n->status == NODE_TODO,
				str_is(n->id, "T1") || str_is(n->id, "T50") ||
						str_is(n->id, "T100"));
	}
	check_fold(&s);
	memset(&bugs, 0, sizeof(bugs));
	buf_done(&tasks);
	site_done(&s);
}

TEST(a_held_decision_is_tried_again_when_something_changed)
{
	struct answer a = { 0 };
	struct site s;
	ov_time begin;

	site_init(&s, 22);
	bugs.steps[0] = (struct decision){ .kind = DEC_ASSIGN };
	bugs.nodes[0] = "T1";
	create_goal(&s, "g", T1, &a);
	engine_commit(s.engine);
	begin = s.now;
	bugs.nodes[0] = NULL;
	assert_null(node_of(&s, "T1")->assignment);
	for (int i = 0; i < 2; i++) {
		s.now += OV_MINUTE;
		engine_submit(s.engine, STR("work.update"),
				json(&s, "{'node': 'T1', 'status': '%s', 'reason': 'so'}",
						i ? "queued" : "blocked"),
				STR("human:t"), answered, &a);
		engine_commit(s.engine);
		assert_int_equal(a.r, 0);
	}
	finish(&s);
	assert_int_equal(node_of(&s, "T1")->status, NODE_DONE);
	assert_true(s.now < begin + 10 * OV_MINUTE);
	site_done(&s);
}

/* Before and after it in the same transaction others ask for something, and get it. */
TEST(a_bad_command_fails_alone)
{
	struct answer first = { 0 }, bad = { 0 }, last = { 0 };
	struct site s;

	site_init(&s, 23);
	create_goal(&s, "first", T1, &first);
	bugs.command = STR("goal.create");
	create_goal(&s, "bad", T1, &bad);
	assert_int_equal(bad.count, 1);
	assert_int_equal(bad.r, OV_EINTERNAL);
	memset(&bugs, 0, sizeof(bugs));
	create_goal(&s, "last", T1, &last);
	engine_commit(s.engine);
	assert_int_equal(first.count, 1);
	assert_int_equal(first.r, 0);
	assert_int_equal(last.r, 0);
	assert_int_equal(s.contradictions, 1);
	assert_int_equal(engine_state(s.engine)->goals.n, 2);
	check_fold(&s);
	finish(&s);
	assert_int_equal(bad.count, 1);
	check_fold(&s);
	site_done(&s);
}

/* The state before it cannot be had: nothing is written until it can, and everybody is told. */
TEST(a_bad_command_while_the_store_cannot_be_read)
{
	struct answer first = { 0 }, bad = { 0 }, last = { 0 };
	struct site s;

	site_init(&s, 24);
	create_goal(&s, "first", T1, &first);
	bugs.command = STR("goal.create");
	s.store.fail_reads = true;
	create_goal(&s, "bad", T1, &bad);
	assert_int_equal(bad.r, OV_EINTERNAL);
	memset(&bugs, 0, sizeof(bugs));
	create_goal(&s, "last", T1, &last);
	assert_int_equal(last.r, OV_EIO);
	engine_commit(s.engine);
	assert_int_equal(first.count, 1);
	assert_int_equal(first.r, OV_EIO);
	s.store.fail_reads = false;
	sleep_until_wake(&s);
	check_fold(&s);
	create_goal(&s, "last", T1, &last);
	engine_commit(s.engine);
	assert_int_equal(last.r, 0);
	finish(&s);
	assert_int_equal(engine_state(s.engine)->goals.n, 1);
	assert_int_equal(engine_state(s.engine)->goals.p[0]->status, GOAL_COMPLETED);
	site_done(&s);
}

/*
 * What the daemon has seen is tried some times; then a person is told, and its effect stays open.
 */
TEST(a_bad_report_holds_nothing_up)
{
	struct answer a = { 0 };
	struct site s;

	site_init(&s, 25);
	create_goal(&s, "g", T1 "," T2, &a);
	engine_commit(s.engine);
	assert_int_equal(s.todo.n, 2);
	bugs.command = STR("effect.end");
	end_effect(&s, 0, "ok");
	memset(&bugs, 0, sizeof(bugs));
	end_effect(&s, 0, "ok");
	engine_commit(s.engine);
	assert_int_equal(s.contradictions, 1);
	assert_int_equal(node_of(&s, "T1")->assignment->stage, STAGE_WORKSPACE);
	assert_int_not_equal(node_of(&s, "T2")->assignment->stage, STAGE_WORKSPACE);
	/* Once more, soon, and then it is taken. */
	go_on_for(&s, 2 * OV_SECOND);
	assert_int_not_equal(node_of(&s, "T1")->assignment->stage, STAGE_WORKSPACE);
	bugs.command = STR("run.end");
	for (int i = 0; i < 10; i++)
		go_on(&s, OV_TIME_MAX);
	assert_int_equal(node_of(&s, "T1")->assignment->stage, STAGE_RUNNING);
	assert_int_equal(told(&s, "T1") + told(&s, "T2"), 1);
	assert_true(s.contradictions >= 4);
	memset(&bugs, 0, sizeof(bugs));
	finish(&s);
	assert_int_equal(engine_state(s.engine)->goals.p[0]->status, GOAL_COMPLETED);
	check_fold(&s);
	site_done(&s);
}

/* The outcome never came: after a while it is performed again, and not before. */
TEST(an_effect_without_an_outcome_is_performed_again)
{
	struct answer a = { 0 };
	struct site s;
	ov_time begin;
	size_t before;

	site_init(&s, 26);
	create_goal(&s, "g", T1, &a);
	engine_commit(s.engine);
	begin = s.now;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(s.todo.n, 1);
		s.todo.n = 0;
		before = s.performed;
		while (s.performed == before) {
			assert_true(s.now < begin + 16 * OV_MINUTE);
			sleep_until_wake(&s);
		}
		assert_true(s.now >= begin + 15 * OV_MINUTE);
		begin = s.now;
	}
	/*
	 * What is under way is left alone, however long it takes; a clock that jumps back puts
	 * nothing off.
	 */
	before = s.performed;
	go_on_for(&s, 0);
	while (s.now < begin + OV_HOUR)
		sleep_until_wake(&s);
	assert_int_equal(s.performed, before);
	s.todo.n = 0;
	begin = s.now -= OV_DAY;
	engine_wake(s.engine);
	engine_commit(s.engine);
	while (s.performed == before && s.now < begin + 20 * OV_MINUTE)
		sleep_until_wake(&s);
	assert_int_equal(s.performed, before + 1);
	finish(&s);
	assert_int_equal(engine_state(s.engine)->goals.p[0]->status, GOAL_COMPLETED);
	assert_true(s.wake_at == OV_TIME_MAX);
	site_done(&s);
}

struct again {
	struct site *s;
	struct answer first, second;
};

static void submit_again(void *user, int r, const value *result, const struct ov_err *err)
{
	struct again *a = user;

	answered(&a->first, r, result, err);
	create_goal(a->s, "again", T1, &a->second);
}

TEST(a_reply_may_submit_also_after_a_failure)
{
	struct answer other = { 0 };
	struct again again;
	struct site s;

	for (int fail = 0; fail < 2; fail++) {
		site_init(&s, 9);
		again = (struct again){ .s = &s };
		s.store.fail_appends = fail;
		engine_submit(s.engine, STR("goal.create"), json(&s, "{'title': 'first'}"),
				STR("human:t"), submit_again, &again);
		other = (struct answer){ 0 };
		create_goal(&s, "other", T1, &other);
		engine_commit(s.engine);
		for (int i = 0; i < 10 && s.wake_at != OV_TIME_MAX && !again.second.count; i++)
			sleep_until_wake(&s);
		assert_int_equal(other.count, 1);
		assert_int_equal(again.first.count, 1);
		assert_int_equal(again.first.r, fail ? OV_EIO : 0);
		assert_int_equal(again.second.count, 1);
		assert_int_equal(again.second.r, 0);
		check_fold(&s);
		site_done(&s);
	}
}

/* Refusals and ticks that decide nothing leave nothing behind, however many there are. */
TEST(a_silent_run_is_looked_at_which_is_no_event)
{
	struct observation seen = { 0 };
	struct answer a = { 0 };
	struct map runs;
	struct site s;
	uint64_t head;

	site_init(&s, 12);
	s.policy.idle_after = 10 * OV_MINUTE;
	create_goal(&s, "g", T1, &a);
	engine_commit(s.engine);
	while (s.todo.n) {
		s.now += OV_SECOND;
		end_effect(&s, 0, "ok");
		engine_commit(s.engine);
	}
	assert_int_equal(node_of(&s, "T1")->assignment->stage, STAGE_RUNNING);
	map_init(&runs, 0);
	map_put(&runs, arena_str(&s.arena, node_of(&s, "T1")->assignment->run_id), &seen);
	s.observations = &runs;
	head = engine_head(s.engine);

	/* Half of the silence that is allowed: a look, and nothing else. */
	s.now += 6 * OV_MINUTE;
	engine_tick_dry(s.engine, &s.arena);
	assert_int_equal(s.looks, 0);
	engine_wake(s.engine);
	engine_commit(s.engine);
	assert_int_equal(s.looks, 1);
	assert_int_equal(engine_head(s.engine), head);
	/* What was seen is judged soon, not at the next deadline. */
	seen = (struct observation){ .looked_at = s.now,
		.process_unknown = true,
		.tree_unknown = true };
	engine_commit(s.engine);
	assert_int_equal(s.looks, 1);
	s.wake_at = OV_TIME_MAX;
	engine_touch(s.engine);
	engine_commit(s.engine);
	assert_true(s.wake_at <= s.now + OV_SECOND);
	sleep_until_wake(&s);
	assert_int_equal(s.looks, 1);
	/* The first one tells nothing: a second comes when it is due, and its word counts. */
	s.now += 5 * OV_MINUTE;
	engine_touch(s.engine);
	engine_commit(s.engine);
	assert_int_equal(s.looks, 2);
	seen = (struct observation){ .looked_at = s.now };
	s.now += OV_SECOND;
	engine_touch(s.engine);
	engine_commit(s.engine);
	assert_true(node_of(&s, "T1")->stall.open);
	assert_true(engine_head(s.engine) > head);
	s.observations = NULL;
	map_done(&runs);
	site_done(&s);
}

TEST(nothing_grows_while_nothing_happens)
{
	struct answer a = { 0 };
	struct site s;
	size_t before = 0, after;
	value *bad;

	site_init(&s, 10);
	create_goal(&s, "g", T1 "," T2 "," T3, &a);
	engine_commit(s.engine);
	bad = json(&s, "{'node': 'T1', 'status': 'queued', 'reason': '%s'}",
			"not blocked, so this is refused");
	for (int i = 0; i < 20000; i++) {
		engine_submit(s.engine, STR("work.update"), bad, STR("human:t"), answered, &a);
		assert_true(a.r < 0);
		s.now += 2 * OV_MINUTE;
		engine_wake(s.engine);
		engine_commit(s.engine);
		if (i == 100)
			before = mallinfo2().uordblks;
	}
	after = mallinfo2().uordblks;
	assert_true(after < before + 64 * 1024);
	site_done(&s);
}

/* ---- anything that can happen, in any order ---- */

/* A person blocks a node, unblocks it, or declares it done; or is refused. */
static void update_any(struct site *s, const struct goal *g)
{
	static const char *const statuses[] = { "blocked", "queued", "queued", "done" };

	engine_submit(s->engine, STR("work.update"),
			json(s,
					"{'goal': '" STR_FMT
					"', 'node': 'T%zu', 'status': '%s', 'reason': 'so'}",
					STR_ARG(g->id), 1 + rng_below(&s->rng, 3),
					statuses[rng_below(&s->rng, ARRAY_LEN(statuses))]),
			STR("human:t"), NULL, NULL);
}

static void unblock_all(struct site *s)
{
	const struct state *st = engine_state(s->engine);

	for (size_t i = 0; i < st->goals.n; i++)
		for (size_t k = 0; k < st->goals.p[i]->nodes.n; k++) {
			const struct node *n = st->goals.p[i]->nodes.p[k];

			if (n->status == NODE_BLOCKED && node_is_leaf(n))
				engine_submit(s->engine, STR("work.update"),
						json(s,
								"{'node': '" STR_FMT
								"', 'status': 'queued', 'reason': "
								"'go on'}",
								STR_ARG(n->key)),
						STR("human:t"), NULL, NULL);
		}
	engine_commit(s->engine);
}

static void random_step(struct site *s)
{
	static const char *const accepts[] = { "ok", "ok", "ok", "moved", "conflict", "error" };
	const struct state *st = engine_state(s->engine);
	size_t i;

	s->now += (ov_time)rng_below(&s->rng, 400);
	switch (rng_below(&s->rng, 14)) {
	case 0: s->store.fail_appends = (int)rng_below(&s->rng, 3); break;
	case 1: s->store.lie_appends = 1; break;
	case 2:
		if (st->goals.n < 4)
			create_goal(s, "g", T1 "," T2 "," T3, arena_new(&s->arena, struct answer));
		break;
	case 3:
		/* kill -9 */
		engine_close(s->engine);
		s->store.fail_appends = s->store.lie_appends = 0;
		s->store.fail_reads = false;
		site_up(s);
		return;
	case 4: s->store.fail_reads = rng_below(&s->rng, 3) == 0; break;
	case 5:
		if (s->wake_at != OV_TIME_MAX)
			sleep_until_wake(s);
		break;
	case 8:
		if (st->goals.n)
			update_any(s, st->goals.p[rng_below(&s->rng, st->goals.n)]);
		break;
	case 6: (void)engine_tick_now(s->engine, &s->arena); break;
	case 7:
		i = rng_below(&s->rng, 3);
		list_each (it, &st->runs) {
			const struct run *r = list_entry(it, struct run, link);

			if (r->status == RUN_RUNNING && i-- == 0) {
				end_run(s, r->id, rng_below(&s->rng, 5) == 0);
				break;
			}
		}
		break;
	default:
		if (s->todo.n) {
			i = rng_below(&s->rng, s->todo.n);
			end_effect(s, i,
					rng_below(&s->rng, 8) ? "ok"
							: s->todo.p[i].kind == FX_REBASE
							? accepts[rng_below(&s->rng,
									  ARRAY_LEN(accepts))]
							: "error");
		}
		break;
	}
	if (rng_below(&s->rng, 2))
		engine_commit(s->engine);
}

static void check_end(struct site *s)
{
	const struct state *st = engine_state(s->engine);

	for (size_t i = 0; i < st->goals.n; i++)
		assert_int_equal(st->goals.p[i]->status, GOAL_COMPLETED);
	assert_int_equal(s->contradictions, 0);
	assert_true(list_empty(&st->effects));
	assert_true(list_empty(&st->live));
	for (size_t i = 0; i < st->workers.n; i++)
		assert_int_equal(st->workers.p[i]->status, WORKER_IDLE);
	check_fold(s);
}

TEST(whatever_fails_every_goal_comes_to_its_end)
{
	uint64_t seeds = getenv("OV_SANITIZED") ? 60 : 200;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct site s;

		site_init(&s, seed);
		s.snapshot_every = seed % 2 ? 20 : 1000000;
		s.policy.conflict_rounds = s.policy.moved_tries = 1000;
		for (int i = 0; i < 200; i++)
			random_step(&s);
		s.store.fail_appends = s.store.lie_appends = 0;
		s.store.fail_reads = false;
		/* An engine that is in the middle of a failure recovers first. */
		for (int i = 0; i < 3 && s.wake_at != OV_TIME_MAX; i++)
			sleep_until_wake(&s);
		unblock_all(&s);
		finish(&s);
		check_end(&s);
		site_done(&s);
	}
}

TEST_MAIN
