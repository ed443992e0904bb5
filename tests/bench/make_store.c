/*
 * Makes a store as a long life leaves it behind: goals that were worked off, step by step, and a
 * fleet of live assignments that wait for their next attempt, a year from now, or whose runs began
 * a moment ago. Everything comes from the core's own decisions, so a daemon reads it as its own.
 * usage: make_store PATH LIVE EVENTS TAIL [TASKS [running]]
 *   LIVE assignments, at least EVENTS events, a snapshot TAIL events before the end (-1: none),
 *   TASKS in each goal.
 * Prints what there is as one JSON line. A daemon believes in what it says only where the folders
 * of runs and worktrees agree: tests/system/live_fleet.py makes them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/list.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/state/snapshot.h"
#include "store/store.h"
#include "tests/bench/fleet.h"

enum { TASKS = 10, GROUP = 8192, POOL = TASKS, EVENTS_PER_LIVE = 20 };

struct maker {
	struct fleet fleet; /* its arena: of what is not appended yet */
	struct arena arena; /* of what stays */
	struct store *store;
	VEC(struct store_record) pending;
	uint64_t head;
	int tasks; /* of a goal */
	bool running;
	const value *plan;
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
	arena_reset(&m->fleet.arena);
}

static void keep(struct fleet *f, void *user, const struct event *e, str body)
{
	struct maker *m = user;
	struct store_record rec = { .at = e->at,
		.kind = str_from(event_name(e->kind)),
		.body = body };

	(void)f;
	vec_push(&m->pending, rec);
}

/* As fleet_settle, but what is decided goes to the store from time to time. */
static void settle(struct maker *m)
{
	while (fleet_tick(&m->fleet) > 0) {
		fleet_end_effects(&m->fleet);
		if (m->pending.n >= GROUP)
			flush(m);
	}
}

/* Goals that are created, worked off and done. */
static void make_history(struct maker *m, uint64_t until)
{
	while (m->fleet.state->seq < until) {
		fleet_goal(&m->fleet, m->plan);
		settle(m);
		/*
		 * A history of goals that nobody works on is smaller per goal, and so
		 * another store.
		 */
		if (vec_last(&m->fleet.state->goals)->status != GOAL_COMPLETED) {
			fputs("make_store: a goal was not worked off\n", stderr);
			exit(2);
		}
	}
}

static void make_fleet(struct maker *m, int64_t live)
{
	m->fleet.fate = m->running ? FATE_RUNNING : FATE_FAILING;
	fleet_workers(&m->fleet, (size_t)live);
	for (int64_t i = 0; i < live / m->tasks; i++)
		fleet_goal(&m->fleet, m->plan);
	settle(m);
	m->fleet.fate = FATE_FINISHED;
	fleet_workers(&m->fleet, (size_t)live + POOL);
}

static size_t make_snapshot(struct maker *m)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct store_snapshot snap = { .format = SNAPSHOT_FORMAT };
	struct ov_err err = { 0 };

	flush(m);
	must(store_head(m->store, &snap.seq, snap.hash, &err), &err);
	snapshot_write(&bytes, m->fleet.state);
	snap.bytes = buf_str(&bytes);
	must(store_snapshot_put(m->store, &snap, &err), &err);
	return bytes.n;
}

static void maker_open(struct maker *m, const char *path, int tasks, bool running)
{
	struct store_lease lease;
	struct ov_err err = { 0 };

	*m = (struct maker){ .tasks = tasks, .running = running };
	fleet_init(&m->fleet, POOL, keep, m);
	m->plan = fleet_plan(&m->arena, 1, tasks, 0, "as it is");
	m->fleet.fate = FATE_FINISHED;
	/* What runs is not silent for long: the clock of the fleet ends shortly before now. */
	m->fleet.now = (ov_time)time(NULL) * 1000 - (running ? 5 * OV_MINUTE : OV_DAY);
	m->fleet.step = 1;
	for (size_t i = 0; i < ARRAY_LEN(m->fleet.policy.retry_delay); i++)
		m->fleet.policy.retry_delay[i] = 365 * OV_DAY;
	must(store_open(arena_printf(&m->arena, "sqlite:%s", path), STORE_READ_WRITE, &m->store,
			     &err),
			&err);
	must(store_lease_take(m->store, STR("{}"), &m->arena, &lease, &err), &err);
}

static void print_fleet(const struct state *s)
{
	const char *before = "";

	fputs(",\"runs\":[", stdout);
	list_each (it, &s->runs) {
		printf("%s\"" STR_FMT "\"", before, STR_ARG(list_entry(it, struct run, link)->id));
		before = ",";
	}
	fputs("],\"workers\":[", stdout);
	for (size_t i = 0; i < s->workers.n; i++)
		printf("%s\"" STR_FMT "\"", i ? "," : "", STR_ARG(s->workers.p[i]->name));
	fputs("]", stdout);
}

static void maker_close(struct maker *m)
{
	store_close(m->store);
	fleet_done(&m->fleet);
	vec_done(&m->pending);
	arena_done(&m->arena);
}

int main(int argc, char **argv)
{
	int64_t live, events, tail, tasks = TASKS;
	size_t snapshot_bytes = 0;
	const struct state *s;
	struct maker m;

	if (argc < 5 || argc > 7 || !str_to_i64(str_from(argv[2]), &live) ||
			!str_to_i64(str_from(argv[3]), &events) ||
			!str_to_i64(str_from(argv[4]), &tail) ||
			(argc >= 6 && !str_to_i64(str_from(argv[5]), &tasks)) || tasks < 1 ||
			tasks > TASKS || (argc == 7 && !str_is(str_from(argv[6]), "running"))) {
		fputs("usage: make_store PATH LIVE EVENTS TAIL [TASKS [running]]\n", stderr);
		return 2;
	}
	maker_open(&m, argv[1], (int)tasks, argc == 7);
	s = m.fleet.state;
	make_history(&m, (uint64_t)MAX(events - live * EVENTS_PER_LIVE - MAX(tail, 0), 0));
	make_fleet(&m, live);
	if (tail >= 0)
		snapshot_bytes = make_snapshot(&m);
	if (tail > 0)
		make_history(&m, s->seq + (uint64_t)tail);
	make_history(&m, tail < 0 ? (uint64_t)events : 0);
	flush(&m);
	printf("{\"events\":%llu,\"goals\":%zu,\"nodes\":%zu,\"snapshot_bytes\":%zu",
			(unsigned long long)s->seq, s->goals.n, s->nodes_by_key.n, snapshot_bytes);
	print_fleet(s);
	puts("}");
	maker_close(&m);
	return 0;
}
