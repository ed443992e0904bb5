/*
 * The pure core in CPU time: the tick over many live assignments, the fold, snapshots. Each figure
 * is the best of some rounds; growth is a ratio of two sizes, which a slow machine does not change.
 * Prints one JSON line per figure; the exit status says whether every budget was kept.
 * usage: bench_core [--quick]
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/fold/apply.h"
#include "core/state/habit.h"
#include "core/state/snapshot.h"
#include "core/text/redact.h"
#include "data/value/json.h"
#include "tests/bench/figure.h"
#include "tests/bench/fleet.h"

enum { ROUNDS = 7, TASKS = 10, STALLED = 1000 };

/* Many live assignments, and the log that they came from, in its stored form. */
struct subject {
	struct fleet fleet;
	VEC(struct stored {
		enum event_kind kind;
		ov_time at;
		str body;
	})
	log;
};

static void keep(struct fleet *f, void *user, const struct event *e, str body)
{
	struct subject *s = user;

	(void)f;
	vec_push(&s->log, ((struct stored){ e->kind, e->at, body }));
}

/* All of them running, but for every tenth, which waits before its next attempt. */
static struct subject *subject_new(size_t n)
{
	struct subject *s = mem_zalloc(1, sizeof(*s));
	struct fleet *f = &s->fleet;
	const value *plan;
	size_t i = 0;

	fleet_init(f, n, keep, s);
	plan = fleet_plan(&f->arena, 1, TASKS, 0, "as it is");
	for (size_t g = 0; g < n / TASKS; g++)
		fleet_goal(f, plan);
	fleet_settle(f);
	list_each (it, &f->state->live) {
		struct assignment *as = list_entry(it, struct assignment, link);

		if (i++ % 10 == 0) {
			as->stage = STAGE_START;
			as->not_before = f->now + OV_HOUR + (ov_time)i;
		}
	}
	if (i != n)
		abort();
	return s;
}

static struct subject *subject_free(struct subject *s)
{
	fleet_done(&s->fleet);
	vec_done(&s->log);
	mem_free(s);
	return NULL;
}

/* A tick that looks at everyone and finds nothing to do. */
static double time_quiet_tick(struct fleet *f, ov_time now)
{
	struct telemetry seen = fleet_telemetry(f);
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

/* A tick that finds so many runs silent, or on their way up the ladder. */
static double time_stall_tick(struct fleet *f, size_t n)
{
	struct telemetry seen = fleet_telemetry(f);
	struct world w = { f->state, &f->policy };
	double best = 1e9;

	for (int i = 0; i < ROUNDS; i++) {
		struct arena a = ARENA_INIT;
		double start = cpu_seconds();
		struct decisions d = reconcile(&a, &w, &seen, f->now);

		best = MIN(best, cpu_seconds() - start);
		/* Of those that are observed every tenth does not run. */
		if (d.n < n / 2)
			abort();
		arena_done(&a);
	}
	return best;
}

/*
 * Some stall and are asked: the cost of a tick while they wait, with the next rung due, and
 * per rung.
 */
static void time_ladder(struct fleet *f, double *ret_waiting, double *ret_due, double *ret_rung)
{
	size_t n = MIN(f->observations.n / 10, (size_t)STALLED);
	ov_time silent_since = f->now;
	double start;
	size_t taken;

	f->now += OV_HOUR / 2;
	fleet_observe(f, f->now);
	fleet_silence(f, n, silent_since, f->now);
	fleet_settle(f);
	*ret_waiting = time_quiet_tick(f, f->now + OV_MINUTE);
	f->now += 6 * OV_MINUTE;
	fleet_silence(f, n, silent_since, f->now);
	*ret_due = time_stall_tick(f, n);
	start = cpu_seconds();
	taken = fleet_tick(f);
	*ret_rung = (cpu_seconds() - start - *ret_due) / (double)taken;
	fleet_end_effects(f);
}

/*
 * Every tenth has fallen silent, and was looked at; the others gave signs of life, which are known.
 */
static double time_silence(struct fleet *f)
{
	size_t n = f->observations.n / 10;
	ov_time silent_since = f->now;

	f->now += f->policy.idle_after + OV_MINUTE;
	fleet_observe(f, f->now);
	fleet_silence(f, n, silent_since, silent_since);
	fleet_settle(f);
	fleet_silence(f, n, silent_since, f->now);
	return time_stall_tick(f, MIN(n, (size_t)STALLED));
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
		if (d.n == 0)
			abort();
		arena_done(&a);
	}
	return best;
}

/* Decoding and applying the whole log, as a start without a snapshot does. */
static double time_fold(const struct subject *f, int rounds)
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
			if (event_decode(&a, k + 1, e->at, str_from(event_name(e->kind)), e->body,
					    &event, NULL) < 0 ||
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
static double time_redact(const struct subject *f)
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

struct timing {
	double quiet, watched, busy, silent, waiting, due, rung, fold, redact, written, read;
	size_t bytes, events;
};

static struct timing time_all(size_t size)
{
	struct subject *s = subject_new(size);
	struct fleet *f = &s->fleet;
	int rounds = size > 10000 ? 1 : 5;
	struct timing t = { .events = s->log.n };

	t.fold = time_fold(s, rounds);
	t.redact = size <= 10000 ? time_redact(s) : 0;
	time_snapshot(f, rounds, &t.written, &t.read, &t.bytes);
	t.quiet = time_quiet_tick(f, f->now);
	t.busy = time_busy_tick(f);
	/*
	 * Each gave a sign of life a while ago: not long enough to look, too long for the
	 * log alone.
	 */
	fleet_observe(f, f->now + 8 * OV_MINUTE);
	t.watched = time_quiet_tick(f, f->now + 10 * OV_MINUTE);
	t.silent = time_silence(f);
	time_ladder(f, &t.waiting, &t.due, &t.rung);
	subject_free(s);
	return t;
}

/* As many tools are known as may be, each by runs enough to decide. */
static void teach_tools(struct fleet *f, str agent)
{
	for (int i = 0; i < HABIT_ROWS * HABIT_RUNS; i++) {
		str data = arena_printf(&f->arena,
				"{\"agent\":\"" STR_FMT "\",\"silences\":[{\"activity\":\"tool\","
				"\"tool\":\"mcp__server__tool_%d\",\"counts\":{\"480\":%d}}]}",
				STR_ARG(agent), i % HABIT_ROWS, SILENCE_SAMPLES);
		struct event e = { .kind = EV_SILENCE_LEARNED,
			.seq = f->state->seq + 1,
			.at = f->now,
			.actor = STR("overseer") };

		if (json_parse(&f->arena, data, NULL, &e.data, NULL) < 0)
			abort();
		event_fill(&f->arena, &e);
		if (apply(f->state, &e, NULL) < 0)
			abort();
	}
}

/*
 * What a tick costs when much is known of the agent, and every run is at the tool that is
 * found last.
 */
static double time_learned(size_t size)
{
	struct subject *s = subject_new(size);
	struct fleet *f = &s->fleet;
	ov_time now = f->now + 10 * OV_MINUTE;
	double before;
	size_t i = 0;
	str id;
	void *o;

	fleet_observe(f, f->now + 8 * OV_MINUTE);
	before = time_quiet_tick(f, now);
	teach_tools(f, list_entry(f->state->runs.next, struct run, link)->agent);
	while (map_next(&f->observations, &i, &id, &o)) {
		((struct observation *)o)->doing = ACTIVITY_TOOL;
		((struct observation *)o)->tool = arena_printf(&f->arena, "mcp__server__tool_%d",
				HABIT_ROWS - 1);
	}
	before = time_quiet_tick(f, now) / before;
	subject_free(s);
	return before;
}

static int report_ticks(const struct timing *small, const struct timing *mid,
		const struct timing *large)
{
	const struct {
		const char *name;
		double value, budget;
	} ticks[] = {
		{ "tick_1000_assignments_us", small->quiet, 1000 },
		{ "tick_100000_assignments_us", large->quiet, 100000 },
		{ "tick_100000_assignments_observed_us", large->watched, 100000 },
		{ "tick_100000_assignments_10000_due_us", large->busy, 100000 },
		{ "tick_100000_assignments_10000_silent_us", large->silent, 100000 },
		{ "tick_100000_assignments_1000_stalled_us", large->waiting, 100000 },
		{ "tick_100000_assignments_1000_rungs_due_us", large->due, 100000 },
		{ "rung_decided_and_applied_us", large->rung, 200 },
	};
	int missed = 0;

	for (size_t i = 0; i < ARRAY_LEN(ticks); i++)
		missed += figure(ticks[i].name, ticks[i].value * 1e6, "us", FIGURE_AT_MOST,
				ticks[i].budget);
	/*
	 * Ten times as many: more than ten times the cost for sorting and caches, far from
	 * a hundred.
	 */
	missed += figure("tick_growth_10000_to_100000", large->busy / mid->busy, "ratio",
			FIGURE_AT_MOST, 40);
	missed += figure("tick_stalled_growth_10000_to_100000", large->waiting / mid->waiting,
			"ratio", FIGURE_AT_MOST, 40);
	missed += figure("tick_learned_to_unlearned_10000", time_learned(10000), "ratio",
			FIGURE_AT_MOST, 4);
	return missed;
}

int main(int argc, char **argv)
{
	/* Quick: a tenth of everything, only to see that it works. */
	size_t part = argc == 2 && str_is(str_from(argv[1]), "--quick") ? 10 : 1;
	struct timing small = time_all(1000 / part), mid = time_all(10000 / part),
		      large = time_all(100000 / part);
	int missed = report_ticks(&small, &mid, &large);

	missed += figure("fold_events_per_s", (double)large.events / large.fold, "1/s",
			FIGURE_AT_LEAST, 100000);
	missed += figure("fold_growth_per_event_1000_to_100000",
			(large.fold / (double)large.events) / (small.fold / (double)small.events),
			"ratio", FIGURE_AT_MOST, 4);
	missed += figure("redact_mb_per_s", 1e-6 / mid.redact, "MB/s", FIGURE_AT_LEAST, 50);
	missed += figure("snapshot_write_10000_ms", mid.written * 1e3, "ms", FIGURE_AT_MOST, 500);
	missed += figure("snapshot_read_10000_ms", mid.read * 1e3, "ms", FIGURE_AT_MOST, 500);
	missed += figure("snapshot_10000_bytes_per_assignment", (double)mid.bytes / 10000, "bytes",
			FIGURE_AT_MOST, 0);
	missed += figure("snapshot_growth_10000_to_100000",
			(large.written + large.read) / (mid.written + mid.read), "ratio",
			FIGURE_AT_MOST, 20);
	return missed ? 1 : 0;
}
