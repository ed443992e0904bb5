/*
 * Big goals and many of them, in CPU time: plans of 245 subtasks, and of nearly 10,000 nodes,
 * checked, applied, replanned and worked off; answers about 1,000 goals and 1,000 open questions;
 * and what watching costs: the scanner of agents' output and a look at their processes. Each figure
 * is the best of some rounds; growth is the cost of one thing among many against its cost among
 * few, so a hidden square shows. Prints one JSON line per figure; the exit status says whether
 * every budget was kept.
 */
#include <dirent.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/life/update.h"
#include "core/plan/plan.h"
#include "core/view/view.h"
#include "data/value/json.h"
#include "sys/proc/proc_usage.h"
#include "tests/bench/figure.h"
#include "tests/bench/fleet.h"

enum { ROUNDS = 5, REPLANS = 20, OUTPUT_MB = 16, LOOKS = 20 };

/* ---- one big goal ---- */

struct dimensions {
	int phases, tasks, subtasks;
};

static const struct dimensions few = { 1, 7, 7 }, many = { 5, 7, 7 };

static int leaves_of(struct dimensions s)
{
	return s.phases * s.tasks * s.subtasks;
}

static int nodes_of(struct dimensions s)
{
	return s.phases * (1 + s.tasks * (1 + s.subtasks));
}

static value *plan_of(struct arena *a, struct dimensions s, const char *wording)
{
	return fleet_plan(a, s.phases, s.tasks, s.subtasks, wording);
}

static double time_check(struct dimensions s)
{
	double best = 1e9;

	for (int i = 0; i < ROUNDS; i++) {
		struct arena a = ARENA_INIT;
		const value *plan = plan_of(&a, s, "as it is");
		struct plan_report report;
		double start = cpu_seconds();

		plan_check(&a, plan, &PLAN_RULES_WRITTEN, &report);
		best = MIN(best, cpu_seconds() - start);
		if (report.problems.n)
			abort();
		plan_report_done(&report);
		arena_done(&a);
	}
	return best;
}

static void replan(struct fleet *f, const value *plan)
{
	value *params = value_object(&f->arena);

	value_put(&f->arena, params, "goal", value_str(&f->arena, vec_last(&f->state->goals)->id));
	value_put(&f->arena, params, "plan", value_copy(&f->arena, plan));
	fleet_submit(f, "plan.apply", params);
}

static double time_first(struct dimensions s)
{
	double best = 1e9;

	for (int i = 0; i < ROUNDS; i++) {
		struct fleet f;
		const value *plan;
		double start;

		fleet_init(&f, 1, NULL, NULL);
		plan = plan_of(&f.arena, s, "as it is");
		start = cpu_seconds();
		fleet_goal(&f, plan);
		best = MIN(best, cpu_seconds() - start);
		fleet_done(&f);
	}
	return best;
}

/* Each time all nodes change; seconds per node. */
static double time_replan(struct dimensions s)
{
	struct fleet f;
	struct arena a = ARENA_INIT;
	const value *plans[] = { plan_of(&a, s, "as it was"), plan_of(&a, s, "as it shall be") };
	double best = 1e9;

	fleet_init(&f, 1, NULL, NULL);
	fleet_goal(&f, plans[1]);
	for (int i = 0; i < REPLANS; i++) {
		double start = cpu_seconds();

		replan(&f, plans[i % 2]);
		best = MIN(best, cpu_seconds() - start);
		arena_reset(&f.arena);
	}
	if (vec_last(&f.state->goals)->plan_version != REPLANS + 1)
		abort();
	fleet_done(&f);
	arena_done(&a);
	return best / nodes_of(s);
}

struct completion {
	double per_event, events_per_leaf;
};

static void count_events(struct fleet *f, void *user, const struct event *e, str body)
{
	(void)f, (void)e, (void)body;
	++*(size_t *)user;
}

/*
 * From the plan to the last accept, with everything decided, applied and written as it is stored.
 */
static struct completion time_completion(struct dimensions s, size_t workers)
{
	struct completion c = { 1e9, 0 };

	for (int i = 0; i < ROUNDS; i++) {
		size_t events = 0;
		struct fleet f;
		double start, spent;

		fleet_init(&f, workers, count_events, &events);
		f.fate = FATE_FINISHED;
		f.step = 1;
		fleet_goal(&f, plan_of(&f.arena, s, "as it is"));
		start = cpu_seconds();
		fleet_settle(&f);
		spent = cpu_seconds() - start;
		if (vec_last(&f.state->goals)->status != GOAL_COMPLETED)
			abort();
		c.per_event = MIN(c.per_event, spent / (double)events);
		c.events_per_leaf = (double)events / leaves_of(s);
		fleet_done(&f);
	}
	return c;
}

static int big_goal(void)
{
	struct completion small = time_completion(few, 16), large = time_completion(many, 16);
	double small_replan = time_replan(few), large_replan = time_replan(many);
	int missed = 0;

	missed += figure("plan_check_245_us", time_check(many) * 1e6, "us", FIGURE_AT_MOST, 5000);
	missed += figure("plan_apply_first_245_us", time_first(many) * 1e6, "us", FIGURE_AT_MOST,
			20000);
	missed += figure("replan_245_us_per_node", large_replan * 1e6, "us", FIGURE_AT_MOST, 50);
	missed += figure("replan_growth_per_node_49_to_245", large_replan / small_replan, "ratio",
			FIGURE_AT_MOST, 2);
	missed += figure("goal_245_events_per_subtask", large.events_per_leaf, "events",
			FIGURE_AT_MOST, 40);
	missed += figure("goal_245_us_per_event", large.per_event * 1e6, "us", FIGURE_AT_MOST, 50);
	missed += figure("goal_growth_per_event_49_to_245", large.per_event / small.per_event,
			"ratio", FIGURE_AT_MOST, 2);
	return missed;
}

/* ---- the largest plan that there may be, against a tenth of it ---- */

static const struct dimensions tenth = { 5, 4, 48 }, whole = { 50, 4, 48 };
/*
 * Worked off: each tick looks once at everything that is queued, so an event costs more among more.
 */
static const struct dimensions short_queue = { 5, 4, 12 }, long_queue = { 50, 4, 12 };

static int largest_plan(void)
{
	double ratio = (double)nodes_of(whole) / nodes_of(tenth);
	int missed = 0;

	missed += figure("plan_check_growth_per_node_1k_to_10k",
			time_check(whole) / time_check(tenth) / ratio, "ratio", FIGURE_AT_MOST, 2);
	missed += figure("plan_apply_growth_per_node_1k_to_10k",
			time_first(whole) / time_first(tenth) / ratio, "ratio", FIGURE_AT_MOST, 2);
	missed += figure("replan_growth_per_node_1k_to_10k",
			time_replan(whole) / time_replan(tenth), "ratio", FIGURE_AT_MOST, 2);
	missed += figure("goal_growth_per_event_240_to_2400",
			time_completion(long_queue, 16).per_event /
					time_completion(short_queue, 16).per_event,
			"ratio", FIGURE_AT_MOST, 5);
	return missed;
}

/* ---- many goals ---- */

static double heap_bytes(void)
{
	struct mallinfo2 m = mallinfo2();

	return (double)m.uordblks + (double)m.hblkhd;
}

struct crowd {
	double status, list, tick; /* seconds */
	double bytes;              /* of a goal */
};

typedef value *view_fn(struct arena *a, const struct fleet *f);

static value *status_view(struct arena *a, const struct fleet *f)
{
	struct world w = { f->state, &f->policy };

	return view_status(a, &w, STR(""), f->now);
}

static value *list_view(struct arena *a, const struct fleet *f)
{
	value *list = value_array(a);

	for (size_t i = 0; i < f->state->goals.n; i++)
		value_push(a, list, view_goal_brief(a, f->state->goals.p[i]));
	return list;
}

static value *inbox_view(struct arena *a, const struct fleet *f)
{
	return view_inbox(a, f->state, STR(""), 0, INBOX_OPEN);
}

/* An answer with its text. */
static double time_view(const struct fleet *f, view_fn *view)
{
	double best = 1e9;

	for (int i = 0; i < ROUNDS * 3; i++) {
		struct arena a = ARENA_INIT;
		struct buf text = BUF_INIT;
		double start = cpu_seconds();

		json_write(&text, view(&a, f));
		best = MIN(best, cpu_seconds() - start);
		buf_done(&text);
		arena_done(&a);
	}
	return best;
}

static double time_tick(const struct fleet *f)
{
	struct telemetry seen = fleet_telemetry(f);
	struct world w = { f->state, &f->policy };
	double best = 1e9;

	for (int i = 0; i < ROUNDS * 3; i++) {
		struct arena a = ARENA_INIT;
		double start = cpu_seconds();
		struct decisions d = reconcile(&a, &w, &seen, f->now);

		best = MIN(best, cpu_seconds() - start);
		if (d.n)
			abort();
		arena_done(&a);
	}
	return best;
}

/* Goals of seven tasks, four of which run. */
static struct crowd time_goals(size_t n)
{
	struct crowd c;
	struct arena a = ARENA_INIT;
	const value *plan = fleet_plan(&a, 1, 7, 0, "as it is");
	double before = heap_bytes();
	struct fleet f;

	fleet_init(&f, n * 4, NULL, NULL);
	for (size_t i = 0; i < n; i++)
		fleet_goal(&f, plan);
	fleet_settle(&f);
	arena_done(&f.arena);
	c.bytes = (heap_bytes() - before) / (double)n;
	c.status = time_view(&f, status_view);
	c.list = time_view(&f, list_view);
	c.tick = time_tick(&f);
	fleet_done(&f);
	arena_done(&a);
	return c;
}

/* Everything fails as often as it may: each node ends before a person. */
static double time_inbox(size_t n, double *ret_tick)
{
	struct fleet f;
	const value *plan;
	double spent;

	fleet_init(&f, n, NULL, NULL);
	f.policy.retry_max_attempts = 1;
	f.fate = FATE_FAILING;
	plan = fleet_plan(&f.arena, 1, 10, 0, "as it is");
	for (size_t i = 0; i < n / 10; i++)
		fleet_goal(&f, plan);
	fleet_settle(&f);
	if (f.state->escalations.n != n || vec_last(&f.state->escalations)->status != ESC_OPEN)
		abort();
	spent = time_view(&f, inbox_view);
	*ret_tick = time_tick(&f);
	fleet_done(&f);
	return spent;
}

static int many_goals(void)
{
	struct crowd one = time_goals(1), hundred = time_goals(100), all = time_goals(1000);
	double tick, few_open_tick, few_open = time_inbox(100, &few_open_tick),
				    open = time_inbox(1000, &tick);
	int missed = 0;

	missed += figure("status_1000_goals_ms", all.status * 1e3, "ms", FIGURE_AT_MOST, 50);
	missed += figure("status_1000_goals_vs_1", all.status / one.status, "ratio", FIGURE_AT_MOST,
			3000);
	missed += figure("status_growth_per_goal_100_to_1000", all.status / hundred.status / 10,
			"ratio", FIGURE_AT_MOST, 2);
	missed += figure("goal_list_view_1000_goals_ms", all.list * 1e3, "ms", FIGURE_AT_MOST, 10);
	missed += figure("goal_list_view_1000_goals_vs_1", all.list / one.list, "ratio",
			FIGURE_AT_MOST, 3000);
	missed += figure("tick_1000_goals_us", all.tick * 1e6, "us", FIGURE_AT_MOST, 5000);
	missed += figure("tick_growth_per_goal_100_to_1000", all.tick / hundred.tick / 10, "ratio",
			FIGURE_AT_MOST, 4);
	missed += figure("memory_per_goal_of_7_tasks_kb", all.bytes / 1024, "KB", FIGURE_AT_MOST,
			64);
	missed += figure("inbox_1000_open_ms", open * 1e3, "ms", FIGURE_AT_MOST, 50);
	missed += figure("inbox_growth_per_entry_100_to_1000", open / few_open / 10, "ratio",
			FIGURE_AT_MOST, 2);
	missed += figure("tick_1000_open_escalations_us", tick * 1e6, "us", FIGURE_AT_MOST, 1000);
	return missed;
}

/* ---- what watching costs ---- */

/* What an agent writes: prose with a block of code now and then. */
static void make_output(struct buf *out)
{
	while (out->n < (size_t)OUTPUT_MB << 20) {
		for (int i = 0; i < 40; i++)
			buf_addf(out, "Looking at src/module_%d.c, line %zu: it calls `frob()`.\n",
					i, out->n % 1000);
		buf_adds(out,
				STR("```json\n{\"overseerUpdate\": {\"status\": \"in_progress\", "
				    "\"summary\": \"half of it\"}}\n```\n"));
	}
}

/* MB per second of CPU time, in pieces as they come from a file. */
static double scan_rate(void)
{
	struct buf out = BUF_INIT;
	double best = 1e9;

	make_output(&out);
	for (int i = 0; i < ROUNDS; i++) {
		double start = cpu_seconds();
		struct update_scan scan;
		size_t found = 0;

		update_scan_init(&scan, 0, false);
		for (size_t at = 0; at < out.n; at += 64 * 1024) {
			str piece = str_sub(buf_str(&out), at, 64 * 1024);
			struct update_block block;

			while (update_scan_next(&scan, &piece, &block))
				found++;
		}
		update_scan_done(&scan);
		best = MIN(best, cpu_seconds() - start);
		if (found == 0)
			abort();
	}
	best = (double)out.n / 1e6 / best;
	buf_done(&out);
	return best;
}

static size_t count_processes(void)
{
	DIR *dir = opendir("/proc");
	size_t n = 0;

	if (!dir)
		abort();
	for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
		n += e->d_name[0] >= '1' && e->d_name[0] <= '9';
	closedir(dir);
	return n;
}

/* One walk over /proc, per process, and the sum of one tree in it; seconds. */
static void time_look(double *ret_walk, double *ret_tree)
{
	struct proc self;

	if (proc_open(getpid(), proc_start_time(getpid()), &self, NULL) < 0)
		abort();
	*ret_walk = *ret_tree = 1e9;
	for (int i = 0; i < LOOKS; i++) {
		double start = cpu_seconds();
		struct proc_table *table;
		struct proc_usage usage;

		if (proc_table_new(&table, NULL) < 0)
			abort();
		*ret_walk = MIN(*ret_walk, (cpu_seconds() - start) / (double)count_processes());
		start = cpu_seconds();
		if (proc_table_usage(table, &self, 0, &usage, NULL) < 0)
			abort();
		*ret_tree = MIN(*ret_tree, cpu_seconds() - start);
		proc_table_free(table);
	}
	proc_done(&self);
}

static int watching(void)
{
	double walk, tree;
	int missed = 0;

	time_look(&walk, &tree);
	missed += figure("update_scan_mb_per_s", scan_rate(), "MB/s", FIGURE_AT_LEAST, 100);
	missed += figure("look_us_per_process", walk * 1e6, "us", FIGURE_AT_MOST, 50);
	missed += figure("look_tree_us", tree * 1e6, "us", FIGURE_AT_MOST, 100);
	missed += figure("observation_bytes", sizeof(struct observation), "bytes", FIGURE_AT_MOST,
			256);
	return missed;
}

int main(void)
{
	int missed = big_goal() + largest_plan();

	missed += many_goals();
	missed += watching();
	return missed ? 1 : 0;
}
