/*
 * Tasks in reports: each of them once with what finally became of it, and progress as the state
 * has it.
 */
#include "tests/test.h"

#include "core/report/report.h"
#include "core/view/view.h"
#include "tests/unit/core_fixture.h"

static struct report_goal *reported(struct fixture *f, str goal)
{
	struct report_goal *r = report_goal_new(goal);

	for (size_t i = 0; i < f->log.n; i++)
		if (report_goal_wants(str_from(event_name(f->log.p[i]->kind))))
			report_goal_add(r, f->log.p[i]);
	return r;
}

static value *report_of(struct fixture *f, str goal)
{
	struct report_goal *r = reported(f, goal);
	value *doc = report_goal_view(&f->arena, r, f->state, NULL, f->now);

	report_goal_free(r);
	return doc;
}

static value *period_of(struct fixture *f, ov_time since)
{
	struct report_period *r = report_period_new(since);
	value *doc;

	for (size_t i = 0; i < f->log.n; i++)
		report_period_add(r, f->log.p[i]);
	doc = report_period_view(&f->arena, r, f->state, &f->policy, f->now);
	report_period_free(r);
	return doc;
}

static void work(struct fixture *f, const char *verb, str goal, const char *node)
{
	f->now += 1000;
	submit(f, verb,
			json(f, "{'node': '" STR_FMT "/%s', 'reason': 'test'}", STR_ARG(goal),
					node));
}

static void declare_done(struct fixture *f, str goal, const char *node)
{
	f->now += 1000;
	submit(f, "work.update",
			json(f, "{'node': '" STR_FMT "/%s', 'status': 'done', 'reason': 'test'}",
					STR_ARG(goal), node));
}

static const char *became(struct fixture *f, const value *doc, const char *node)
{
	const value *rows = value_at(value_at(doc, "tasks"), "rows");
	const char *word = "nothing";
	int times = 0;

	for (size_t i = 0; i < value_count(rows); i++)
		if (str_is(value_str_at(value_item(rows, i), "node"), node)) {
			word = arena_cstr(&f->arena, value_str_at(value_item(rows, i), "became"));
			times++;
		}
	assert_true(times <= 1);
	return word;
}

static int64_t figure(const value *doc, const char *key)
{
	return value_int_at(doc, key);
}

static int64_t last_of(const value *doc, const char *key)
{
	const value *curve = value_at(doc, "progress");

	return value_int_at(value_item(curve, value_count(curve) - 1), key);
}

static value *nine_tasks(struct fixture *f)
{
	value *plan = json(f, "{'phases': []}"), *phases = (value *)value_at(plan, "phases");

	for (int p = 0; p < 3; p++) {
		value *phase = json(f, "{'id': 'P%d', 'name': 'p', 'tasks': []}", p + 1);

		for (int t = 1; t <= 3; t++)
			value_push(&f->arena, (value *)value_at(phase, "tasks"),
					json(f, "{'id': 'T%d', 'name': 't', 'acceptance': ['x']}",
							3 * p + t));
		value_push(&f->arena, phases, phase);
	}
	return plan;
}

/* The state's roll-up, in the report and in every point of its curve. */
TEST(three_of_nine_are_a_third)
{
	_cleanup_(fixture_done) struct fixture f;
	const value *doc, *curve;
	str goal;

	fixture_init(&f);
	goal = create_goal(&f, nine_tasks(&f), "normal");
	declare_done(&f, goal, "T1");
	declare_done(&f, goal, "T2");
	declare_done(&f, goal, "T3");
	doc = report_of(&f, goal);
	assert_int_equal(value_int_at(value_at(doc, "goal"), "progress_centi"), 3333);
	curve = value_at(doc, "progress");
	assert_int_equal(value_count(curve), 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(value_int_at(value_item(curve, (size_t)i), "progress_centi"),
				progress_centi(i, 9));
	work(&f, "work.cancel", goal, "T4"); /* 3 of 8 */
	work(&f, "work.reopen", goal, "T3"); /* 2 of 8 */
	doc = report_of(&f, goal);
	assert_int_equal(last_of(doc, "progress_centi"), 2500);
	assert_int_equal(last_of(doc, "done"), 2);
	assert_int_equal(value_int_at(value_at(view_goal_brief(&f.arena, state_goal(f.state, goal)),
						      "progress"),
					 "done_pct"),
			25);
}

/* A part that a plan split counts as its parts, and what a plan left out does not count. */
TEST(a_new_plan_is_seen)
{
	_cleanup_(fixture_done) struct fixture f;
	const value *doc;
	str goal;

	fixture_init(&f);
	goal = create_goal(&f, flat_plan(&f, 3), "normal");
	declare_done(&f, goal, "T1");
	f.now += 1000;
	submit(&f, "plan.apply",
			json(&f,
					"{'goal': '" STR_FMT "', 'reason': 'split', 'plan': "
					"{'phases': [{'id': 'P1', 'name': 'p', 'tasks': [{'id': "
					"'T2', 'name': 't', "
					"'acceptance': ['x'], 'subtasks': [{'id': 'S1', 'name': "
					"'s', "
					"'acceptance': ['x']}, {'id': 'S2', 'name': 's', "
					"'acceptance': "
					"['x']}, {'id': 'S3', 'name': 's', 'acceptance': "
					"['x']}]}]}]}}",
					STR_ARG(goal)));
	doc = report_of(&f, goal);
	assert_string_equal(became(&f, doc, "T1"), "overridden");
	assert_string_equal(became(&f, doc, "T2"), "split");
	assert_string_equal(became(&f, doc, "T3"), "removed");
	assert_string_equal(became(&f, doc, "P1"), "nothing");
	assert_int_equal(value_int_at(value_at(doc, "tasks"), "total"), 6);
	assert_int_equal(last_of(doc, "progress_centi"), 2500);
	doc = period_of(&f, 0);
	assert_int_equal(figure(doc, "removed"), 1);
	assert_int_equal(figure(doc, "cancelled"), 0);
	assert_int_equal(figure(doc, "overridden"), 1);
	/* It was accepted unseen before it was split: now its parts count. */
	node_of(&f, "T2")->status = NODE_DONE;
	record_set_str(&node_of(&f, "T2")->work.checked_by, STR("nothing"));
	assert_int_equal(state_goal(f.state, goal)->leaves_unchecked, 0);
}

/* Accepted, taken back, accepted ... and cancelled in the end: it is one task, and cancelled. */
TEST(a_cancelled_task_is_not_accepted)
{
	_cleanup_(fixture_done) struct fixture f;
	struct report_period *r = report_period_new(0);
	struct report_goal *g;
	const value *doc, *row;
	str goal;

	fixture_init(&f);
	goal = create_goal(&f, flat_plan(&f, 2), "normal");
	work(&f, "work.cancel", goal, "T1");
	g = reported(&f, goal);
	for (size_t i = 0; i < f.log.n; i++)
		report_period_add(r, f.log.p[i]);
	for (int i = 0; i < 3; i++) {
		struct event e = { .at = f.now,
			.goal = goal,
			.node = STR("T1"),
			.actor = STR("overseer"),
			.kind = EV_NODE_ACCEPTED,
			.data = json(&f, "{'commit': 'c'}") };

		event_fill(&f.arena, &e);
		report_goal_add(g, &e);
		report_period_add(r, &e);
		e.kind = EV_NODE_REVERTED;
		report_goal_add(g, &e);
		report_period_add(r, &e);
	}
	doc = report_period_view(&f.arena, r, f.state, &f.policy, f.now);
	assert_int_equal(figure(doc, "accepted"), 0);
	assert_int_equal(figure(doc, "reverted"), 0);
	assert_int_equal(figure(doc, "cancelled"), 1);
	doc = report_goal_view(&f.arena, g, f.state, NULL, f.now);
	assert_string_equal(became(&f, doc, "T1"), "cancelled");
	assert_string_equal(became(&f, doc, "T2"), "todo");
	row = value_item(value_at(value_at(doc, "tasks"), "rows"), 0);
	assert_int_equal(value_int_at(row, "accepted"), 3);
	assert_int_equal(value_int_at(row, "reverted"), 3);
	report_goal_free(g);
	report_period_free(r);
}

/* Accepted once, reopened, accepted again: one accepted task. */
TEST(a_reopened_task_counts_once)
{
	_cleanup_(fixture_done) struct fixture f;
	const value *doc;
	str goal;

	fixture_init(&f);
	goal = create_goal(&f, flat_plan(&f, 2), "normal");
	drain(&f);
	submit(&f, "goal.reopen",
			json(&f, "{'goal': '" STR_FMT "', 'reason': 'x'}", STR_ARG(goal)));
	work(&f, "work.reopen", goal, "T1");
	doc = period_of(&f, 0);
	assert_int_equal(figure(doc, "accepted"), 1);
	assert_int_equal(figure(doc, "reopened"), 1);
	assert_int_equal(figure(doc, "goals_completed"), 0);
	drain(&f);
	doc = period_of(&f, 0);
	assert_int_equal(figure(doc, "accepted"), 2);
	assert_int_equal(figure(doc, "reopened"), 0);
	assert_int_equal(figure(doc, "goals_completed"), 1);
	assert_string_equal(became(&f, report_of(&f, goal), "T1"), "accepted");
}

/*
 * A stall of before the period is none of it; and a daemon that was up before it has crashed in it.
 */
TEST(a_period_begins_in_the_middle)
{
	static const struct {
		enum event_kind kind;
		ov_time at;
		const char *data;
	} events[] = {
		{ EV_EPISODE_OPENED, 50, "{}" },
		{ EV_EPISODE_RUNG, 60, "{'rung': 'nudge'}" },
		{ EV_DAEMON_STARTED, 150, "{}" },
		{ EV_EPISODE_CLOSED, 160, "{}" },
		{ EV_DAEMON_STOPPED, 90, "{}" }, /* the clock was set back */
		{ EV_DAEMON_STARTED, 170, "{}" },
	};
	_cleanup_(fixture_done) struct fixture f;
	struct report_period *r = report_period_new(100);
	const value *doc;

	fixture_init(&f);
	report_period_up(r);
	for (size_t i = 0; i < ARRAY_LEN(events); i++) {
		struct event e = { .kind = events[i].kind,
			.at = events[i].at,
			.goal = STR("g"),
			.node = STR("T1"),
			.actor = STR("overseer"),
			.data = json(&f, "%s", events[i].data) };

		event_fill(&f.arena, &e);
		report_period_add(r, &e);
	}
	doc = report_period_view(&f.arena, r, f.state, &f.policy, 200);
	assert_int_equal(figure(doc, "stalls"), 0);
	assert_int_equal(figure(doc, "stalls_over_by_themselves"), 0);
	assert_int_equal(value_int_at(value_at(doc, "stalls_recovered_by"), "nudge"), 0);
	assert_int_equal(figure(doc, "daemon_starts"), 2);
	assert_int_equal(figure(doc, "daemon_crashes"), 1);
	report_period_free(r);
}

static void spend(struct fixture *f, struct report_period *r, str goal, ov_time at, int64_t cost)
{
	struct event e = { .kind = EV_GOAL_SPENT,
		.at = at,
		.goal = goal,
		.actor = STR("overseer"),
		.data = json(f, "{'amounts': {'cost_microusd': %lld}}", (long long)cost) };

	event_fill(&f->arena, &e);
	state_goal(f->state, goal)->spent[RES_COST_MICROUSD] += cost;
	report_period_add(r, &e);
}

static value *budget_after(struct fixture *f, struct report_period *r, ov_time now)
{
	return (value *)value_at(report_period_view(&f->arena, r, f->state, &f->policy, now),
			"budget_microusd");
}

/* What was left of each budget when the period began; that of auto mode once, for each 24 hours. */
TEST(what_could_be_spent)
{
	_cleanup_(fixture_done) struct fixture f;
	struct report_period *r = report_period_new(1000);
	str a, b, c, d;

	fixture_init(&f);
	f.policy.budget[RES_COST_MICROUSD] = 100;
	f.policy.auto_budget[RES_COST_MICROUSD] = 60;
	a = create_goal(&f, flat_plan(&f, 1), "normal");
	b = create_goal(&f, flat_plan(&f, 1), "normal");
	c = create_goal(&f, flat_plan(&f, 1), "normal");
	d = create_goal(&f, flat_plan(&f, 1), "normal");
	assert_int_equal(budget_after(&f, r, 2000)->kind, V_NULL);
	spend(&f, r, a, 900, 30); /* before the period */
	assert_int_equal(budget_after(&f, r, 2000)->kind, V_NULL);
	spend(&f, r, a, 1100, 20);
	assert_int_equal(value_int_or(budget_after(&f, r, 2000), 0), 70);
	state_goal(f.state, b)->automatic = state_goal(f.state, c)->automatic = &f.state->automatic;
	spend(&f, r, b, 1200, 1);
	spend(&f, r, c, 1300, 1);
	assert_int_equal(value_int_or(budget_after(&f, r, 2000), 0), 130);
	assert_int_equal(value_int_or(budget_after(&f, r, 1000 + OV_DAY), 0), 130);
	assert_int_equal(value_int_or(budget_after(&f, r, 1001 + OV_DAY), 0), 190);
	state_goal(f.state, d)->budget[RES_COST_MICROUSD] = -1;
	spend(&f, r, d, 1400, 1);
	assert_int_equal(budget_after(&f, r, 2000)->kind, V_NULL);
	report_period_free(r);
}

TEST_MAIN
