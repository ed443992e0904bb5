/* Any JSON as a plan: all problems are told, and a plan without any can be applied and worked on. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "core/apply.h"
#include "core/decide.h"
#include "data/json.h"

static const struct policy_agent agents[] = { { .name = STR_INIT("a"), .concurrency = 256 } };

static void apply_all(struct state *s, struct events *out)
{
	for (size_t i = 0; i < out->n; i++) {
		out->p[i]->seq = s->seq + 1;
		if (event_check(out->p[i], NULL) < 0 || apply(s, out->p[i], NULL) < 0)
			abort();
	}
	vec_clear(out);
}

/* Applies the plan and ticks: some leaf must be ready, since there is no cycle. */
static void work_on(struct arena *a, const value *plan, size_t nodes)
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
	struct world w = { s, &policy };
	struct telemetry none = { 0 };
	value *params = value_object(a), *result;
	struct decisions d;

	value_put(a, params, "title", value_cstr(a, "t"));
	value_put(a, params, "plan", (value *)plan);
	if (decide(&cx, STR("goal.create"), params, &result, NULL) < 0)
		abort();
	apply_all(s, &out);
	if (s->goals.p[0]->nodes.n != nodes || list_empty(&s->ready))
		abort();
	for (int i = 0; i < 4; i++) {
		d = reconcile(a, &w, &none, 1000);
		decide_tick(&cx, &d);
		apply_all(s, &out);
	}
	vec_done(&out);
	state_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct plan_limits limits = PLAN_LIMITS_DEFAULT;
	struct arena a = ARENA_INIT;
	struct plan_report report;
	struct ov_err err = { 0 };
	value *doc;

	if (json_parse(&a, (str){ (const char *)data, size }, NULL, &doc, NULL) == 0) {
		plan_check(&a, doc, &limits, &report);
		for (size_t i = 0; i < report.problems.n; i++)
			if (!report.problems.p[i].path.n || !report.problems.p[i].text.n)
				abort();
		if ((plan_report_error(&report, &err) == 0) != (report.problems.n == 0))
			abort();
		if (report.problems.n == 0)
			work_on(&a, doc, report.nodes.n);
		plan_report_done(&report);
	}
	arena_done(&a);
	return 0;
}
