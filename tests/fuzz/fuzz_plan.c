/*
 * Any JSON as a plan: all problems are told, and a plan without any can be applied and worked on.
 * Two documents, one after the other, are a plan and its replan.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/command/decide.h"
#include "core/fold/apply.h"
#include "core/plan/plan.h"
#include "core/plan/plan_diff.h"
#include "core/policy/plan_limits.h"
#include "data/value/json.h"

static const struct policy_agent agents[] = { { .name = STR("a"), .concurrency = 256 } };

static void apply_all(struct state *s, struct events *out)
{
	for (size_t i = 0; i < out->n; i++) {
		out->p[i]->seq = s->seq + 1;
		if (event_check(out->p[i], NULL) < 0 || apply(s, out->p[i], NULL) < 0)
			abort();
	}
	vec_clear(out);
}

/* Every node of either document is in the difference, once; none of a document to itself is. */
static void compare(struct arena *a, const value *x, const value *y)
{
	struct plan_diff same = plan_diff(a, x, x), there = plan_diff(a, x, y),
			 back = plan_diff(a, y, x);

	if (same.counts[PLAN_KEPT] != same.n ||
			there.counts[PLAN_ADDED] != back.counts[PLAN_REMOVED] ||
			there.counts[PLAN_REMOVED] != back.counts[PLAN_ADDED] ||
			there.counts[PLAN_CHANGED] != back.counts[PLAN_CHANGED] ||
			there.n - there.counts[PLAN_ADDED] != same.n)
		abort();
	plan_diff_view(a, &there);
}

static void ticks(struct decide_ctx *cx, struct state *s)
{
	struct world w = { s, cx->policy };
	struct telemetry none = { 0 };

	for (int i = 0; i < 4; i++) {
		struct decisions d = reconcile(cx->arena, &w, &none, 1000);

		decide_tick(cx, &d);
		apply_all(s, cx->out);
	}
}

/*
 * Applies the plan and ticks: some leaf must be ready, since there is no cycle. Then the
 * second plan.
 */
static void work_on(struct arena *a, const value *plan, size_t nodes, const value *second)
{
	struct policy policy = { .default_agent = STR("a"),
		.agents = agents,
		.agents_n = 1,
		.workers_max = 256,
		.retry_max_attempts = 1,
		.plan = PLAN_LIMITS_DEFAULT };
	struct state *s = state_new(1);
	struct events out = { 0 };
	struct decide_ctx cx = { .arena = a,
		.state = s,
		.policy = &policy,
		.now = 1000,
		.out = &out };
	value *params = value_object(a), *result;

	oversight_preset(&policy.oversight, PRESET_DEFAULT);
	value_put(a, params, "title", value_cstr(a, "t"));
	value_put(a, params, "plan", (value *)plan);
	if (decide(&cx, STR("goal.create"), params, &result, NULL) < 0)
		abort();
	apply_all(s, &out);
	if (s->goals.p[0]->nodes.n != nodes || list_empty(&s->ready))
		abort();
	ticks(&cx, s);
	params = value_object(a);
	value_put(a, params, "goal", value_str(a, s->goals.p[0]->id));
	value_put(a, params, "plan", (value *)second);
	if (second && decide(&cx, STR("plan.apply"), params, &result, NULL) == 0) {
		apply_all(s, &out);
		for (size_t i = 0; i < s->goals.p[0]->nodes.n; i++)
			if (s->goals.p[0]->nodes.p[i]->def.removed_in &&
					s->goals.p[0]->nodes.p[i]->status != NODE_CANCELLED)
				abort();
		ticks(&cx, s);
	}
	vec_done(&out);
	state_free(s);
}

/* The document up to the first line that is only "---", and the one after it. */
static value *read_two(struct arena *a, str bytes, value **ret_second)
{
	size_t cut = str_find(bytes, STR("\n---\n"));
	value *first = NULL;

	*ret_second = NULL;
	if (cut < bytes.n)
		(void)json_parse(a, str_sub(bytes, cut + 5, bytes.n), NULL, ret_second, NULL);
	(void)json_parse(a, str_sub(bytes, 0, cut), NULL, &first, NULL);
	return first;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = ARENA_INIT;
	struct plan_report report;
	struct ov_err err = { 0 };
	value *second, *doc = read_two(&a, (str){ (const char *)data, size }, &second);

	if (doc) {
		compare(&a, doc, second);
		plan_check(&a, doc, &PLAN_RULES_WRITTEN, &report);
		for (size_t i = 0; i < report.problems.n; i++)
			if (!report.problems.p[i].path.n || !report.problems.p[i].text.n)
				abort();
		if ((plan_report_error(&report, &err) == 0) != (report.problems.n == 0))
			abort();
		if (report.problems.n == 0)
			work_on(&a, doc, report.nodes.n, second);
		plan_report_done(&report);
	}
	arena_done(&a);
	return 0;
}
