/*
 * The first byte is the purpose, the rest is what a model answered. Whatever it is, it is accepted
 * or it is repaired, never both; a plan that was accepted is one that plan_check finds good; an
 * accepted advice names rungs of the ladder; and a repair prompt is bounded.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/prompt/planner.h"
#include "data/value/json.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static value *parse(struct arena *a, const char *text)
{
	value *v = NULL;

	check(json_parse(a, str_from(text), NULL, &v, NULL) == 0);
	return v;
}

static struct planner_task task_for(struct arena *a, enum planner_purpose purpose)
{
	return (struct planner_task){
		.purpose = purpose,
		.limits = PLAN_LIMITS_DEFAULT,
		.roles = parse(a, "[\"writer\"]"),
		.max_repairs = 1,
		.prompt = *template_find(str_from(planner_template_id(purpose))),
		.repair = *template_find(str_from(planner_template_id(PLANNER_PURPOSES))),
		.goal_title = STR("a goal"),
		.plan = parse(a,
				"{\"phases\":[{\"id\":\"P1\",\"name\":\"All\",\"tasks\":[{\"id\":"
				"\"T1\",\"name\":\"It\",\"acceptance\":[\"it works\"]}]}]}"),
		.node = parse(a, "{\"id\":\"T1\",\"name\":\"It\",\"acceptance\":[\"it works\"]}"),
		.used_ids = parse(a, "[\"P1\",\"T1\"]"),
		.allowed = parse(a, "[\"nudge\",\"replan\",\"escalate\"]"),
	};
}

/* Good, and without a word that only people may say. */
static void check_plan(struct arena *a, const value *plan)
{
	const struct plan_rules rules = { .limits = PLAN_LIMITS_DEFAULT,
		.model = true,
		.roles = parse(a, "[\"writer\"]") };
	struct plan_report report;

	plan_check(a, plan, &rules, &report);
	check(report.problems.n == 0);
	plan_report_done(&report);
}

static void check_advice(const value *accepted)
{
	const value *actions = value_at(accepted, "actions");

	check(value_count(actions) >= 1 && value_count(actions) <= PLANNER_MAX_ACTIONS);
	for (size_t i = 0; i < value_count(actions); i++)
		check(status_parse(&rungs, value_str_at(value_item(actions, i), "type")) >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = ARENA_INIT;
	struct planner_task t;
	struct planner p;
	enum planner_step step;

	if (size < 1)
		return 0;
	t = task_for(&a, (enum planner_purpose)(data[0] % PLANNER_PURPOSES));
	check(planner_init(&p, &a, &t, NULL) == 0);
	step = planner_answer(&p, (str){ (const char *)data + 1, size - 1 }, 1, 1);
	check((step == PLANNER_ACCEPT) == (planner_last_errors(&p).n == 0));
	if (step == PLANNER_ACCEPT && t.purpose == PLANNER_DIAGNOSE)
		check_advice(p.accepted);
	else if (step == PLANNER_ACCEPT)
		check_plan(&a, p.accepted);
	else
		check(p.prompt.n < PLANNER_PREVIOUS_BYTES + PLANNER_PROBLEM_BYTES + 64 * 1024);
	check(planner_provenance(&p).inputs != NULL);
	arena_done(&a);
	return 0;
}
