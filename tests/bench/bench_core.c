/*
 * The pure core in CPU time: the tick over many live assignments, the fold, snapshots. Each figure
 * is the best of some rounds; growth is a ratio of two sizes, which a slow machine does not change.
 * Prints one JSON line per figure; the exit status says whether every budget was kept.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/apply.h"
#include "core/decide.h"
#include "core/redact.h"
#include "core/snapshot.h"
#include "data/json.h"

enum { ROUNDS = 7, TASKS = 10 };

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const struct policy_agent agents[] = { { .name = STR_INIT("a"), .concurrency = INT64_MAX } };

static const str every_agent[] = { STR_INIT("*") };

static struct policy policy_for(size_t workers)
{
	return (struct policy){
		.default_agent = STR("a"),
		.agents = agents,
		.agents_n = 1,
		.workers_max = (int64_t)workers,
		.target_branch = STR("main"),
		.retry_max_attempts = 3,
		.retry_delay = { 5000, 30000, 120000 },
		.no_changes_attempts = 2,
		.conflict_rounds = 3,
		.moved_tries = 100,
		.dirty_tries = 10,
		.dirty_wait = OV_MINUTE,
		.dirty_wait_max = OV_HOUR,
		.plan = { 5, TASKS, 7 },
		.idle_after = 15 * OV_MINUTE,
		.max_run = 30 * OV_DAY,
		.max_nudges = 2,
		.min_resend_interval = 5 * OV_MINUTE,
		.backoff_base = 2 * OV_MINUTE,
		.backoff_max = 30 * OV_MINUTE,
		.allow_agents = every_agent,
		.allow_agents_n = 1,
		.budget = { -1, -1, -1, -1 },
	};
}

/* A state with many live assignments, and the log that it came from, in its stored form. */
struct fleet {
	struct arena arena;
	struct policy policy;
	struct state *state;
	struct map observations;
	ov_time now;
	uint64_t entropy;
	VEC(struct stored {
		enum event_kind kind;
		ov_time at;
		str body;
	})
	log;
};

/* Applies a batch as a replay does: from the stored text. */
static void append(struct fleet *f, struct events *out)
{
	for (size_t i = 0; i < out->n; i++) {
		struct stored s = { out->p[i]->kind, out->p[i]->at, { 0 } };
		struct buf body = BUF_INIT;
		struct ov_err err = { 0 };

		out->p[i]->seq = f->state->seq + 1;
		if (apply(f->state, out->p[i], &err) < 0) {
			fprintf(stderr, "%s\n", err.msg);
			abort();
		}
		json_write_canonical(&body, event_body(&f->arena, out->p[i]));
		s.body = arena_str(&f->arena, buf_str(&body));
		buf_done(&body);
		vec_push(&f->log, s);
	}
	vec_done(out);
}

static struct decide_ctx context(struct fleet *f, struct events *out)
{
	struct decide_ctx cx = { .arena = &f->arena,
		.state = f->state,
		.policy = &f->policy,
		.now = f->now,
		.actor = STR("overseer"),
		.out = out };

	f->entropy++;
	memcpy(cx.entropy, &f->entropy, sizeof(f->entropy));
	return cx;
}

static void submit(struct fleet *f, str command, const value *params)
{
	struct events out = { 0 };
	struct decide_ctx cx = context(f, &out);
	value *result;

	if (decide(&cx, command, params, &result, NULL) < 0)
		abort();
	append(f, &out);
}

static size_t tick(struct fleet *f)
{
	static const struct telemetry none = { 0 };
	struct world w = { f->state, &f->policy };
	struct decisions d = reconcile(&f->arena, &w, &none, f->now);
	struct events out = { 0 };
	struct decide_ctx cx = context(f, &out);

	decide_tick(&cx, &d);
	append(f, &out);
	return d.n;
}

static void create_goal(struct fleet *f)
{
	struct arena *a = &f->arena;
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
	submit(f, STR("goal.create"), params);
}

/* Each run is watched, and gave a sign of life a minute ago. */
static struct telemetry telemetry_of(struct fleet *f)
{
	if (f->observations.n == 0)
		list_each (it, &f->state->runs) {
			struct observation *o = arena_new(&f->arena, struct observation);

			o->output_at = f->now + 8 * OV_MINUTE;
			map_put(&f->observations, list_entry(it, struct run, link)->id, o);
		}
	return (struct telemetry){ .observations = &f->observations };
}

/* So many of them fell silent long ago, and were looked at since. */
static void silence(struct fleet *f, size_t n)
{
	size_t i = 0;
	str id;
	void *o;

	while (n && map_next(&f->observations, &i, &id, &o)) {
		((struct observation *)o)->output_at = f->now - OV_HOUR;
		((struct observation *)o)->looked_at = f->now;
		n--;
	}
}

static void end_effects(struct fleet *f)
{
	while (!list_empty(&f->state->effects)) {
		struct arena *a = &f->arena;
		const struct effect *fx = list_entry(f->state->effects.next, struct effect, link);
		value *params = value_object(a);

		value_put(a, params, "effect", value_str(a, arena_str(a, fx->id)));
		value_put(a, params, "outcome", value_cstr(a, "ok"));
		submit(f, STR("effect.end"), params);
	}
}

/* All of them running, but for every tenth, which waits before its next attempt. */
static struct fleet *fleet_new(size_t n)
{
	struct fleet *f = mem_zalloc(1, sizeof(*f));
	size_t i = 0;

	f->policy = policy_for(n);
	f->state = state_new(1);
	map_init(&f->observations, 1);
	f->now = 1800000000000;
	for (size_t g = 0; g < n / TASKS; g++)
		create_goal(f);
	while (tick(f) > 0)
		end_effects(f);
	list_each (it, &f->state->live) {
		struct assignment *as = list_entry(it, struct assignment, link);

		if (i++ % 10 == 0) {
			as->stage = STAGE_START;
			as->not_before = f->now + OV_HOUR + (ov_time)i;
		}
	}
	if (i != n)
		abort();
	return f;
}

static struct fleet *fleet_free(struct fleet *f)
{
	state_free(f->state);
	map_done(&f->observations);
	vec_done(&f->log);
	arena_done(&f->arena);
	mem_free(f);
	return NULL;
}

/* A tick that looks at everyone and finds nothing to do. */
static double time_quiet_tick(struct fleet *f, ov_time now)
{
	struct telemetry seen = telemetry_of(f);
	struct world w = { f->state, &f->policy };
	double best = 1e9;

	for (int i = 0; i < ROUNDS; i++) {
		struct arena a = ARENA_INIT;
		double start = cpu_seconds();
		struct decisions d = reconcile(&a, &w, &seen, now);

		best = MIN(best, cpu_seconds() - start);
		if (d.n || d.wake_at == OV_TIME_MAX)
			abort();
		arena_done(&a);
	}
	return best;
}

/* A tick that finds every tenth run silent. */
static double time_stall_tick(struct fleet *f)
{
	struct telemetry seen = telemetry_of(f);
	struct world w = { f->state, &f->policy };
	size_t n = f->observations.n / 10;
	double best = 1e9;

	f->now += OV_HOUR;
	silence(f, n);
	for (int i = 0; i < ROUNDS; i++) {
		struct arena a = ARENA_INIT;
		double start = cpu_seconds();
		struct decisions d = reconcile(&a, &w, &seen, f->now);

		best = MIN(best, cpu_seconds() - start);
		if (d.n == 0 || d.n + d.looks_n < MIN(n, (size_t)1000))
			abort();
		arena_done(&a);
	}
	return best;
}

/* A tick that has a decision to take for every tenth assignment. */
static double time_busy_tick(struct fleet *f)
{
	static const struct telemetry none = { 0 };
	struct world w = { f->state, &f->policy };
	double best = 1e9;

	for (int i = 0; i < ROUNDS; i++) {
		struct arena a = ARENA_INIT;
		double start = cpu_seconds();
		struct decisions d = reconcile(&a, &w, &none, f->now + OV_DAY);

		best = MIN(best, cpu_seconds() - start);
		if (d.n < 100)
			abort();
		arena_done(&a);
	}
	return best;
}

/* Decoding and applying the whole log, as a start without a snapshot does. */
static double time_fold(const struct fleet *f, int rounds)
{
	double best = 1e9;

	for (int i = 0; i < rounds; i++) {
		struct state *s = state_new(1);
		struct arena a = ARENA_INIT;
		double start = cpu_seconds();

		for (size_t k = 0; k < f->log.n; k++) {
			const struct stored *e = &f->log.p[k];
			struct event event;

			arena_reset(&a);
			if (event_decode(&a, k + 1, e->at, str_from(event_info(e->kind).name),
					    e->body, &event, NULL) < 0 ||
					apply(s, &event, NULL) < 0)
				abort();
		}
		best = MIN(best, cpu_seconds() - start);
		arena_done(&a);
		state_free(s);
	}
	return best;
}

/* Looking for secrets in everything that was stored, which holds none. Seconds per byte. */
static double time_redact(const struct fleet *f)
{
	double best = 1e9;

	for (int i = 0; i < ROUNDS; i++) {
		struct arena a = ARENA_INIT;
		double start = cpu_seconds();
		size_t bytes = 0;

		for (size_t k = 0; k < f->log.n; k++) {
			if (redact(&a, f->log.p[k].body).p != f->log.p[k].body.p)
				abort();
			bytes += f->log.p[k].body.n;
		}
		best = MIN(best, (cpu_seconds() - start) / (double)bytes);
		arena_done(&a);
	}
	return best;
}

static void time_snapshot(const struct fleet *f, int rounds, double *ret_write, double *ret_read,
		size_t *ret_bytes)
{
	struct buf out = BUF_INIT;

	*ret_write = *ret_read = 1e9;
	for (int i = 0; i < rounds; i++) {
		struct state *s;
		double start = cpu_seconds();

		buf_clear(&out);
		snapshot_write(&out, f->state);
		*ret_write = MIN(*ret_write, cpu_seconds() - start);
		start = cpu_seconds();
		if (snapshot_read(buf_str(&out), 1, &s, NULL) < 0)
			abort();
		*ret_read = MIN(*ret_read, cpu_seconds() - start);
		state_free(s);
	}
	*ret_bytes = out.n;
	buf_done(&out);
}

/* Prints a figure; budget 0 means that there is none, a floor is a budget that must be reached. */
static int report(const char *name, double figure, const char *unit, double budget, bool at_least)
{
	bool ok = budget == 0 || (at_least ? figure >= budget : figure <= budget);

	printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"%s\",\"budget\":%g,\"ok\":%s}\n", name,
			figure, unit, budget, ok ? "true" : "false");
	fflush(stdout);
	return ok ? 0 : 1;
}

int main(void)
{
	static const size_t sizes[] = { 1000, 10000, 100000 };
	double quiet[3], watched[3], busy[3], stalls[3], fold[3], written[3], read[3],
			redacting = 0;
	size_t bytes[3], events[3];
	int missed = 0;

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct fleet *f = fleet_new(sizes[i]);
		int rounds = sizes[i] > 10000 ? 1 : 5;

		quiet[i] = time_quiet_tick(f, f->now);
		watched[i] = time_quiet_tick(f, f->now + 10 * OV_MINUTE);
		busy[i] = time_busy_tick(f);
		fold[i] = time_fold(f, rounds);
		events[i] = f->log.n;
		if (sizes[i] == 10000)
			redacting = time_redact(f);
		time_snapshot(f, rounds, &written[i], &read[i], &bytes[i]);
		stalls[i] = time_stall_tick(f);
		fleet_free(f);
	}
	missed += report("tick_1000_assignments_us", quiet[0] * 1e6, "us", 1000, false);
	missed += report("tick_100000_assignments_us", quiet[2] * 1e6, "us", 100000, false);
	missed += report("tick_100000_assignments_observed_us", watched[2] * 1e6, "us", 100000,
			false);
	missed += report("tick_100000_assignments_10000_due_us", busy[2] * 1e6, "us", 100000,
			false);
	missed += report("tick_100000_assignments_10000_silent_us", stalls[2] * 1e6, "us", 100000,
			false);
	/* Ten times as many: more than ten times the cost for sorting and caches, far from a hundred. */
	missed += report("tick_growth_10000_to_100000", busy[2] / busy[1], "ratio", 40, false);
	missed += report("fold_events_per_s", (double)events[2] / fold[2], "1/s", 100000, true);
	missed += report("fold_growth_per_event_1000_to_100000",
			(fold[2] / (double)events[2]) / (fold[0] / (double)events[0]), "ratio", 4,
			false);
	missed += report("redact_mb_per_s", 1e-6 / redacting, "MB/s", 50, true);
	missed += report("snapshot_write_10000_ms", written[1] * 1e3, "ms", 500, false);
	missed += report("snapshot_read_10000_ms", read[1] * 1e3, "ms", 500, false);
	missed += report("snapshot_10000_bytes_per_assignment", (double)bytes[1] / 10000, "bytes",
			0, false);
	missed += report("snapshot_growth_10000_to_100000",
			(written[2] + read[2]) / (written[1] + read[1]), "ratio", 20, false);
	return missed ? 1 : 0;
}
