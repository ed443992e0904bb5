/*
 * One full check of oversight, as the daemon makes it: a judged run becomes an iteration, the
 * detectors look at the newest of its node, what follows is decided, and all of it is durable in
 * SQLite, in one group commit with those of the other agents at work. What a node has behind it,
 * ten iterations or ten thousand, must cost nothing. The figures are those of the best round, since
 * others use the machine, too. Prints one JSON line per figure; the exit status says whether every
 * budget was kept. usage: bench_oversight [--quick]
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/engine/engine.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/config/config.h"
#include "core/state/snapshot.h"
#include "data/value/json.h"
#include "tests/bench/figure.h"
#include "tests/bench/fleet.h"
#include "tests/rng.h"

enum { PHASES = 4, NODES = 64, ROUNDS = 24, GROUP = 4096, CYCLE_MAX = 200, TICK_APART = 1000 };

static const char configuration[] =
		"defaults.agent = \"a\"\nworkers.max = 64\naccept.target = \"main\"\n"
		"workspace.check_command = \"make check\"\n"
		"planner.max_tasks_per_phase = 16\nlimits.min_free_memory = "
		"\"0B\"\nestimate.iterations = 1000000\n"
		"[agents.a]\ncommand = [\"agent\"]\nprompt = \"arg\"\n";

struct pending {
	char effect[64], run[64];
	enum effect_kind kind;
};

struct bench {
	struct config *config;
	struct policy policy;
	struct store *store;
	struct engine *engine;
	ov_time now;
	struct rng rng;
	VEC(struct pending) effects;
	size_t recorded, made; /* iterations and detections, so far */
	unsigned turn;
	uint64_t head; /* while history is written */
};

static void must(int r, const struct ov_err *err)
{
	if (r == 0)
		return;
	fprintf(stderr, "bench_oversight: %s\n", err->msg);
	exit(2);
}

/* ---- the world, in which nothing takes any time ---- */

static ov_time world_now(void *user)
{
	return ((struct bench *)user)->now;
}

static void world_entropy(void *user, void *p, size_t n)
{
	struct bench *b = user;

	for (size_t i = 0; i < n; i++)
		((uint8_t *)p)[i] = (uint8_t)rng_next(&b->rng);
}

static void world_telemetry(void *user, struct telemetry *ret)
{
	(void)user;
	*ret = (struct telemetry){ 0 };
}

static void keep(char *to, size_t size, str s)
{
	snprintf(to, size, STR_FMT, STR_ARG(s));
}

static void world_perform(void *user, const struct effect *fx)
{
	struct bench *b = user;
	struct pending w = { .kind = fx->kind };

	keep(w.effect, sizeof(w.effect), fx->id);
	keep(w.run, sizeof(w.run), fx->run_id);
	vec_push(&b->effects, w);
}

static void world_look(void *user, const struct run *r)
{
	(void)user, (void)r;
}

static void world_published(void *user, const struct event *const *events, size_t n)
{
	struct bench *b = user;

	for (size_t i = 0; i < n; i++) {
		b->recorded += events[i]->kind == EV_ITERATION_RECORDED;
		b->made += events[i]->kind == EV_DETECTION_MADE;
	}
}

static void world_wake_at(void *user, ov_time at)
{
	(void)user, (void)at;
}

static void world_failed(void *user, const struct ov_err *err)
{
	(void)user;
	if (err)
		must(err->code, err);
}

static const struct engine_world world = {
	.now = world_now,
	.entropy = world_entropy,
	.telemetry = world_telemetry,
	.perform = world_perform,
	.look = world_look,
	.published = world_published,
	.wake_at = world_wake_at,
	.store_failed = world_failed,
	.contradicted = world_failed,
};

/* ---- runs that fail their check, each time in another way ---- */

static str random_error(struct bench *b, struct arena *a)
{
	static const char *const words[] = { "apple", "birch", "cedar", "dahlia", "elm", "fern",
		"ginger", "hazel", "iris", "juniper", "kale", "lime" };

	return arena_printf(a,
			"exit status 1\nnot ok 12 - the %s of the %s\nerror: expected %s, found %s",
			words[rng_below(&b->rng, ARRAY_LEN(words))],
			words[rng_below(&b->rng, ARRAY_LEN(words))],
			words[rng_below(&b->rng, ARRAY_LEN(words))],
			words[rng_below(&b->rng, ARRAY_LEN(words))]);
}

static str random_hex(struct bench *b, struct arena *a)
{
	return arena_printf(a, "%016llx%016llx%08x", (unsigned long long)rng_next(&b->rng),
			(unsigned long long)rng_next(&b->rng), (unsigned)rng_next(&b->rng));
}

static value *outcome_data(struct bench *b, struct arena *a, enum effect_kind kind)
{
	value *data = value_object(a), *files = value_array(a);
	str tree = random_hex(b, a);

	value_put(a, data, "base", value_str(a, tree));
	value_put(a, data, "head", value_str(a, tree));
	value_put(a, data, "tree", value_str(a, tree));
	value_put(a, data, "commits", value_int(a, 1));
	value_put(a, data, "files_changed", value_int(a, 3));
	for (int i = 0; kind == FX_HARVEST && i < 3; i++)
		value_push(a, files, value_strf(a, "src/part-%u/file-%d.c", b->turn % 7, i));
	if (kind == FX_HARVEST) {
		value_put(a, data, "files", files);
		value_put(a, data, "touched", value_copy(a, files));
	}
	if (kind == FX_CHECK) {
		value_put(a, data, "tests", value_cstr(a, "failing"));
		value_put(a, data, "tests_format", value_cstr(a, "tap"));
		value_put(a, data, "tests_passed", value_int(a, 40));
		value_put(a, data, "tests_failed", value_int(a, 2));
		value_put(a, data, "coverage_format", value_cstr(a, "lcov"));
		value_put(a, data, "coverage_centi", value_int(a, 8123));
	}
	return data;
}

static void end_effect(struct bench *b, const struct pending *w)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *v = value_object(&a);
	bool check = w->kind == FX_CHECK;

	value_put(&a, v, "effect", value_cstr(&a, w->effect));
	value_put(&a, v, "outcome", value_cstr(&a, check ? "failed" : "ok"));
	value_put(&a, v, "detail", value_str(&a, check ? random_error(b, &a) : STR("")));
	value_put(&a, v, "data", outcome_data(b, &a, w->kind));
	engine_report(b->engine, STR("effect.end"), v);
}

static void end_run(struct bench *b, const char *run)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *v = value_object(&a);

	value_put(&a, v, "run", value_cstr(&a, run));
	value_put(&a, v, "exit_code", value_int(&a, 0));
	value_put(&a, v, "signal", value_int(&a, 0));
	value_put(&a, v, "output_bytes", value_int(&a, 12345));
	value_put(&a, v, "tokens", value_int(&a, 12345));
	value_put(&a, v, "cost_microusd", value_int(&a, 4321));
	engine_report(b->engine, STR("run.end"), v);
}

/* Everything that is intended is done, as long as it is no check. */
static void work_until_checks(struct bench *b)
{
	for (int cycle = 0; cycle < CYCLE_MAX; cycle++) {
		size_t n = b->effects.n, checks = 0;

		for (size_t i = 0; i < n; i++)
			checks += b->effects.p[i].kind == FX_CHECK;
		if (checks == NODES)
			return;
		for (size_t i = 0, k = 0; i < n; i++) {
			struct pending w = b->effects.p[k];

			if (w.kind == FX_CHECK) {
				k++;
				continue;
			}
			vec_remove(&b->effects, k);
			end_effect(b, &w);
			if (w.kind == FX_RUN_START)
				end_run(b, w.run);
		}
		b->now += OV_MINUTE;
		engine_touch(b->engine);
		engine_commit(b->engine);
	}
	fprintf(stderr, "bench_oversight: %zu effects, and no end\n", b->effects.n);
	exit(2);
}

static double wall_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* All nodes' runs are judged, and that is durable; the next tick will look at them. */
static void judge(struct bench *b)
{
	work_until_checks(b);
	b->turn++;
	for (size_t i = 0; i < b->effects.n; i++)
		end_effect(b, &b->effects.p[i]);
	vec_clear(&b->effects);
	engine_commit(b->engine);
}

/* The seconds that it takes to look at all of them. */
static double review(struct bench *b)
{
	size_t before = b->recorded;
	double start;

	b->now += TICK_APART;
	start = wall_seconds();
	engine_commit(b->engine);
	start = wall_seconds() - start;
	if (b->recorded != before + NODES) {
		fprintf(stderr, "bench_oversight: %zu of %d runs became iterations\n",
				b->recorded - before, NODES);
		exit(2);
	}
	return start;
}

/* ---- a store with history ---- */

static void open_engine(struct bench *b, const char *dir)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct ov_err err = { 0 };
	struct store_lease lease;
	struct engine_options o = { .policy = &b->policy,
		.world = &world,
		.user = b,
		.tick_every = OV_HOUR,
		.snapshot_every = 1000000 };

	must(store_open(arena_printf(&a, "sqlite:%s/store.db", dir), STORE_READ_WRITE, &o.store,
			     &err),
			&err);
	must(store_lease_take(o.store, STR("{}"), &a, &lease, &err), &err);
	must(engine_open(&o, &b->engine, &err), &err);
	vec_clear(&b->effects);
	engine_start(b->engine);
	engine_commit(b->engine);
}

static void given(void *user, int r, const value *result, const struct ov_err *err)
{
	(void)user, (void)result;
	must(r, err);
}

static void give_goal(struct bench *b)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *v = value_object(&a);

	value_put(&a, v, "title", value_cstr(&a, "A goal of the benchmark"));
	value_put(&a, v, "plan", fleet_plan(&a, PHASES, NODES / PHASES, 0, "as it is"));
	engine_submit(b->engine, STR("goal.create"), v, STR("human:bench"), given, NULL);
	engine_commit(b->engine);
}

static void appended(void *user, int r, uint64_t head, const struct ov_err *err)
{
	must(r, err);
	((struct bench *)user)->head = head;
}

/*
 * The newest iteration of each node once more, under the numbers that follow, until there are
 * so many.
 */
static void write_history(struct bench *b, int64_t upto)
{
	const struct goal *g = engine_state(b->engine)->goals.p[0];
	struct store *store = engine_store(b->engine);
	VEC(struct store_record) group = { 0 };
	struct arena a = ARENA_INIT;

	b->head = engine_head(b->engine);
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = g->nodes.p[i];

		for (int64_t k = n->watch.iterations_n + 1; n->iterations.n && k <= upto; k++) {
			struct iteration it = *vec_last(&n->iterations);
			struct event e = { .kind = EV_ITERATION_RECORDED,
				.at = b->now,
				.actor = STR("overseer"),
				.goal = g->id,
				.node = n->id,
				.assignment = it.assignment_id,
				.run = it.run_id,
				.data = value_object(&a) };
			struct buf body = BUF_INIT;

			it.number = k;
			it.tree = random_hex(b, &a);
			it.error = it.signature = random_error(b, &a);
			value_put(&a, e.data, "iteration", record_pack(&a, &iteration_record, &it));
			json_write_canonical(&body, event_body(&a, &e));
			vec_push(&group,
					((struct store_record){ .at = e.at,
							.kind = str_from(event_name(e.kind)),
							.body = arena_str(&a, buf_str(&body)) }));
			buf_done(&body);
			if (group.n == GROUP) {
				store_append(store, b->head, group.p, group.n, appended, b);
				vec_clear(&group);
				arena_reset(&a);
			}
		}
	}
	if (group.n)
		store_append(store, b->head, group.p, group.n, appended, b);
	vec_done(&group);
	arena_done(&a);
}

/* ---- figures ---- */

struct result {
	double per_s, cpu_us, bytes;
};

static struct result measure(struct bench *b, int rounds)
{
	_cleanup_(buf_done) struct buf snapshot = BUF_INIT;
	double wall = 1e9, cpu = 1e9;

	for (int i = 0; i < rounds; i++) {
		double used, took;

		judge(b);
		used = cpu_seconds();
		took = review(b);
		used = cpu_seconds() - used;
		wall = MIN(wall, took);
		cpu = MIN(cpu, used);
	}
	snapshot_write(&snapshot, engine_state(b->engine));
	return (struct result){ NODES / wall, cpu / NODES * 1e6, (double)snapshot.n / NODES };
}

static struct result result_with(struct bench *b, const char *folder, int64_t history, int rounds)
{
	char dir[256];
	struct result r;

	snprintf(dir, sizeof(dir), "%s/%lld", folder, (long long)history);
	if (mkdir(dir, 0700) < 0) {
		perror(dir);
		exit(2);
	}
	open_engine(b, dir);
	give_goal(b);
	judge(b);
	review(b);
	if (history > 1) {
		write_history(b, history);
		engine_close(b->engine);
		open_engine(b, dir);
	}
	r = measure(b, rounds);
	engine_close(b->engine);
	return r;
}

int main(int argc, char **argv)
{
	static const int64_t sizes[] = { 10, 100, 1000, 10000 };
	bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
	size_t n = ARRAY_LEN(sizes) - (quick ? 2 : 0);
	char folder[] = "/tmp/overseer-bench-XXXXXX", name[80];
	struct bench b = { .now = 1800000000000, .rng = { 1 } };
	struct result r[ARRAY_LEN(sizes)];
	struct ov_err err = { 0 };
	int missed = 0;

	if (!mkdtemp(folder)) {
		perror("mkdtemp");
		return 2;
	}
	must(config_parse(str_from(configuration), &b.config, &err), &err);
	b.policy = b.config->policy;
	/* Nothing ends but by what is measured here. */
	b.policy.retry_max_attempts = INT64_MAX / 2;
	b.policy.unchecked = UNCHECKED_ACCEPT;
	b.policy.agent_failures = 0;
	for (int i = 0; i < RESOURCE_COUNT; i++)
		b.policy.budget[i] = -1;
	for (size_t i = 0; i < n; i++) {
		r[i] = result_with(&b, folder, sizes[i], quick ? ROUNDS / 4 : ROUNDS);
		snprintf(name, sizeof(name), "full_check_durable_%lld_iterations_per_s",
				(long long)sizes[i]);
		missed += figure(name, r[i].per_s, "1/s", FIGURE_AT_LEAST, quick ? 0 : 7400);
		snprintf(name, sizeof(name), "full_check_durable_%lld_iterations_cpu_us",
				(long long)sizes[i]);
		missed += figure(name, r[i].cpu_us, "us", FIGURE_AT_MOST, 0);
	}
	missed += figure("full_check_cpu_longest_to_shortest_history",
			r[n - 1].cpu_us / r[0].cpu_us, "ratio", FIGURE_AT_MOST, 1.2);
	missed += figure("state_bytes_per_node_longest_history", r[n - 1].bytes, "bytes",
			FIGURE_AT_MOST, 65536);
	missed += figure("state_bytes_longest_to_100_iterations", r[n - 1].bytes / r[1].bytes,
			"ratio", FIGURE_AT_MOST, 1.2);
	if (b.made)
		missed += figure("detections_in_healthy_histories", (double)b.made, "detections",
				FIGURE_AT_MOST, 0.5);
	snprintf(name, sizeof(name), "rm -r %s", folder);
	if (system(name) != 0)
		fprintf(stderr, "bench_oversight: %s stays\n", folder);
	config_free(b.config);
	vec_done(&b.effects);
	return missed ? 1 : 0;
}
