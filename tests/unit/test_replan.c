#include "tests/test.h"

#include "core/model/limits.h"
#include "core/plan/plan_diff.h"
#include "core/plan/plan_make.h"
#include "core/plan/plan_replan.h"
#include "core/state/snapshot.h"
#include "data/value/json.h"
#include "tests/unit/core_fixture.h"

#define T(id, more) "{'id': '" id "', 'name': 'task " id "', 'acceptance': ['x']" more "}"
#define S(id) "{'id': '" id "', 'name': 'sub " id "', 'acceptance': ['y']}"
#define P(id, tasks) "{'id': '" id "', 'name': 'phase', 'tasks': [" tasks "]}"
#define PLAN(phases) "{'phases': [" phases "]}"

static str goal_of(struct fixture *f)
{
	return vec_last(&f->state->goals)->id;
}

static value *apply_params(struct fixture *f, const char *plan)
{
	value *v = json(f, "{'goal': '" STR_FMT "', 'reason': 'it changed'}", STR_ARG(goal_of(f)));

	value_put(&f->arena, v, "plan", json(f, "%s", plan));
	return v;
}

static value *replan(struct fixture *f, const char *plan)
{
	value *v = submit(f, "plan.apply", apply_params(f, plan));

	check_invariants(f->state, &f->policy);
	return v;
}

static void begin(struct fixture *f, const char *plan)
{
	fixture_init(f);
	create_goal(f, json(f, "%s", plan), NULL);
	settle(f);
}

/* As a log of another time has it: a plan that would be refused now. */
static void begin_stored(struct fixture *f, const char *plan)
{
	struct event e = { .kind = EV_PLAN_APPLIED };
	struct ov_err err = { 0 };

	fixture_init(f);
	submit(f, "goal.create", json(f, "{'title': 'old', 'no_plan': true}"));
	e.goal = goal_of(f);
	e.data = json(f,
			"{'version': 1, 'reason': 'given', 'source': 'file', 'summary': {}, "
			"'plan': %s}",
			plan);
	if (append(f, &e, &err) < 0)
		fail_msg("%s", err.msg);
	settle(f);
}

static const char *ids(struct fixture *f, const value *v, const char *key)
{
	return arena_cstr(&f->arena, json_text(&f->arena, value_at(v, key)));
}

/* The plan as ids: "P1(T1 T2(S1))". */
static void tree_text(struct buf *b, const value *list, int tier)
{
	static const char *const keys[] = { "tasks", "subtasks", "" };

	for (size_t i = 0; i < value_count(list); i++) {
		const value *n = value_item(list, i);
		const value *below = value_at(n, keys[tier]);

		buf_addf(b, "%s" STR_FMT, i ? " " : "", STR_ARG(value_str_at(n, "id")));
		if (value_count(below)) {
			buf_addc(b, '(');
			tree_text(b, below, tier + 1);
			buf_addc(b, ')');
		}
	}
}

static const char *tree_of(struct fixture *f, const value *doc)
{
	struct buf b = BUF_INIT;
	const char *s;

	tree_text(&b, value_at(doc, "phases"), 0);
	s = arena_cstr(&f->arena, buf_str(&b));
	buf_done(&b);
	return s;
}

static const char *present(struct fixture *f)
{
	return tree_of(f, plan_document(&f->arena, vec_last(&f->state->goals)));
}

static void finish(struct fixture *f, const char *node)
{
	submit(f, "work.update",
			json(f, "{'node': '" STR_FMT "/%s', 'status': 'done', 'reason': 'seen'}",
					STR_ARG(goal_of(f)), node));
	settle(f);
}

TEST(a_diff_not_a_reset)
{
	struct fixture f;
	const struct event *e;
	value *v;

	begin(&f, PLAN(P("P1", T("T1", "") "," T("T2", "") "," T("T3", ", 'deps': ['T2']"))));
	finish(&f, "T1");
	v = replan(&f,
			PLAN(P("P1",
					T("T3",
							", 'objective': 'other', 'deps': ['T4', "
							"'T1']") "," T("T4", ""))));
	assert_int_equal(value_int_at(v, "version"), 2);
	assert_string_equal(ids(&f, v, "added"), "[\"T4\"]");
	assert_string_equal(ids(&f, v, "changed"), "[\"T3\"]");
	assert_string_equal(ids(&f, v, "removed"), "[\"T2\"]");
	assert_string_equal(ids(&f, v, "kept"), "[\"P1\",\"T1\"]");
	/*
	 * The finished one stays, first among its siblings; the removed one is cancelled with
	 * the reason.
	 */
	assert_string_equal(present(&f), "P1(T1 T3 T4)");
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	assert_int_equal(node_of(&f, "T2")->status, NODE_CANCELLED);
	assert_int_equal(node_of(&f, "T2")->def.removed_in, 2);
	assert_true(str_is(node_of(&f, "T2")->status_reason,
			"removed by plan version 2: it changed"));
	assert_true(str_is(node_of(&f, "T3")->def.objective, "other"));
	e = last_event(&f, EV_PLAN_APPLIED);
	assert_true(str_is(value_str_at(e->data, "reason"), "it changed"));
	assert_true(str_is(value_str_at(e->data, "source"), "file"));
	assert_string_equal(ids(&f, value_at(e->data, "summary"), "removed"), "[\"T2\"]");
	/* What is stored is the effective document. */
	assert_string_equal(tree_of(&f, value_at(e->data, "plan")), "P1(T1 T3 T4)");
	assert_int_equal(value_int_at(value_at(e->data, "plan"), "planVersion"), 2);
	/* The counts are of the plan; what is left is worked off. */
	assert_int_equal(vec_last(&f.state->goals)->leaves, 3);
	assert_int_equal(vec_last(&f.state->goals)->leaves_cancelled, 0);
	assert_int_equal(vec_last(&f.state->goals)->plan_seqs.n, 2);
	drain(&f);
	assert_int_equal(vec_last(&f.state->goals)->status, GOAL_COMPLETED);
	assert_int_equal(node_of(&f, "T4")->status, NODE_DONE);
	fixture_done(&f);
}

TEST(a_running_node_that_is_removed_is_stopped_and_kept)
{
	struct fixture f;
	const struct assignment *as;

	begin(&f, PLAN(P("P1", T("T1", "") "," T("T2", ", 'deps': ['T1']"))));
	bring_to(&f, "T1", STAGE_RUNNING);
	as = node_of(&f, "T1")->assignment;
	replan(&f, PLAN(P("P1", T("T2", ""))));
	assert_int_equal(node_of(&f, "T1")->status, NODE_CANCELLED);
	assert_ptr_equal(node_of(&f, "T1")->assignment, as);
	assert_int_equal(as->status, AS_CANCELLED);
	assert_int_equal(as->stage, STAGE_STOP);
	settle(&f);
	effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
	run_end(&f, "T1", -1);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 1, 'files_changed': 1, 'rescue_ref': "
			"'r'");
	assert_null(node_of(&f, "T1")->assignment);
	assert_int_equal(node_of(&f, "T1")->status, NODE_CANCELLED);
	drain(&f);
	assert_int_equal(vec_last(&f.state->goals)->status, GOAL_COMPLETED);
	fixture_done(&f);
}

TEST(a_changed_node_in_progress_goes_on)
{
	struct fixture f;
	const struct assignment *as;

	begin(&f, PLAN(P("P1", T("T1", ""))));
	bring_to(&f, "T1", STAGE_RUNNING);
	as = node_of(&f, "T1")->assignment;
	replan(&f, PLAN(P("P1", T("T1", ", 'objective': 'and more'"))));
	assert_int_equal(node_of(&f, "T1")->status, NODE_IN_PROGRESS);
	assert_ptr_equal(node_of(&f, "T1")->assignment, as);
	assert_int_equal(as->stage, STAGE_RUNNING);
	assert_true(str_is(node_of(&f, "T1")->def.objective, "and more"));
	/* The node's history tells it. */
	assert_int_equal(node_of(&f, "T1")->history.p[node_of(&f, "T1")->history.n - 1],
			last_event(&f, EV_PLAN_APPLIED)->seq);
	fixture_done(&f);
}

TEST(a_split_hands_the_work_over)
{
	struct fixture f;

	begin(&f, PLAN(P("P1", T("T1", "") "," T("T2", ", 'deps': ['T1']"))));
	bring_to(&f, "T1", STAGE_RUNNING);
	replan(&f,
			PLAN(P("P1",
					T("T1", ", 'subtasks': [" S("S1") "," S("S2") "]") "," T(
							"T2", ", 'deps': ['T1']"))));
	assert_int_equal(node_of(&f, "T1")->status, NODE_TODO);
	assert_int_equal(node_of(&f, "T1")->assignment->status, AS_CANCELLED);
	assert_true(str_is(node_of(&f, "T1")->assignment->reason,
			"split by plan version 2: it changed"));
	assert_int_equal(node_of(&f, "T1")->children.n, 2);
	settle(&f);
	assert_int_equal(node_of(&f, "S1")->status, NODE_QUEUED);
	/* And back again: a task whose parts are gone is worked on itself. */
	replan(&f, PLAN(P("P1", T("T1", "") "," T("T2", ", 'deps': ['T1']"))));
	assert_int_equal(node_of(&f, "S1")->status, NODE_CANCELLED);
	assert_int_equal(node_of(&f, "T1")->status, NODE_TODO);
	assert_int_equal(node_of(&f, "T1")->ended_at, 0);
	drain(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	assert_int_equal(node_of(&f, "T2")->status, NODE_DONE);
	assert_int_equal(vec_last(&f.state->goals)->status, GOAL_COMPLETED);
	fixture_done(&f);
}

/* A blocked node that is split waits for nobody any more, and the question about it is closed. */
TEST(a_split_closes_what_was_asked)
{
	struct fixture f;

	begin(&f, PLAN(P("P1", T("T1", ", 'suggestedAgent': 'nobody'") "," T("T2", ""))));
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	replan(&f, PLAN(P("P1", T("T1", ", 'subtasks': [" S("S1") "]") "," T("T2", ""))));
	assert_int_equal(count_events(&f, EV_ESCALATION_CLOSED), 1);
	assert_int_equal(node_of(&f, "T1")->status, NODE_TODO);
	assert_int_equal(node_of(&f, "T1")->block.when.n, 0);
	drain(&f);
	assert_int_equal(vec_last(&f.state->goals)->status, GOAL_COMPLETED);
	fixture_done(&f);
}

/* A stall is over when nobody is to do the work any more: removed, or split. */
TEST(a_replan_ends_the_stall)
{
	struct fixture f;

	begin(&f, PLAN(P("P1", T("T1", "") "," T("T2", "") "," T("T3", ""))));
	for (int i = 1; i <= 2; i++) {
		struct event e = { .kind = EV_EPISODE_OPENED,
			.goal = goal_of(&f),
			.node = arena_printf(&f.arena, "T%d", i),
			.data = json(&f, "{'episode': 1, 'reason': 'silent'}") };
		struct ov_err err = { 0 };

		if (append(&f, &e, &err) < 0)
			fail_msg("%s", err.msg);
	}
	replan(&f, PLAN(P("P1", T("T2", ", 'subtasks': [" S("S1") "]") "," T("T3", ""))));
	assert_false(node_of(&f, "T1")->stall.open);
	assert_false(node_of(&f, "T2")->stall.open);
	assert_int_equal(count_events(&f, EV_EPISODE_CLOSED), 2);
	fixture_done(&f);
}

/* Whole phases go, and come; finished nodes keep the parents that they stand below. */
TEST(phases)
{
	struct fixture f;

	begin(&f,
			PLAN(P("P1",
					T("T1", "") "," T("T2",
							", 'subtasks': [" S("S1") "," S(
									"S2") "]")) "," P("P2",
					T("T3", "") "," T("T4", ""))));
	finish(&f, "S2");
	replan(&f, PLAN(P("P3", T("T5", "") "," T("T3", ""))));
	assert_string_equal(present(&f), "P1(T2(S2)) P3(T5 T3)");
	assert_int_equal(node_of(&f, "P1")->status, NODE_DONE);
	assert_true(node_of(&f, "P1")->ended_at != 0);
	assert_int_equal(node_of(&f, "T1")->def.removed_in, 2);
	assert_int_equal(node_of(&f, "S1")->def.removed_in, 2);
	assert_int_equal(node_of(&f, "P2")->def.removed_in, 2);
	assert_int_equal(node_of(&f, "P2")->status, NODE_CANCELLED);
	assert_true(str_is(node_of(&f, "P2")->status_reason,
			"removed by plan version 2: it changed"));
	/* Moved, with what it is. */
	assert_ptr_equal(node_of(&f, "T3")->parent, node_of(&f, "P3"));
	replan(&f, PLAN(P("P3", T("T5", ""))));
	assert_int_equal(node_of(&f, "T3")->def.removed_in, 3);
	assert_int_equal(node_of(&f, "T1")->def.removed_in, 2);
	drain(&f);
	assert_int_equal(vec_last(&f.state->goals)->status, GOAL_COMPLETED);
	fixture_done(&f);
}

TEST(what_a_replan_may_not)
{
	static const struct {
		const char *plan, *says;
	} cases[] = {
		{ PLAN(P("P1", T("T1", ", 'objective': 'x'") "," T("T2", ""))),
				"phases[0].tasks[0].objective: \"T1\" is done: a finished node "
				"cannot" },
		{ PLAN(P("P1", T("T2", "")) "," P("P9", T("T1", ""))),
				"phases[1].tasks[0]: \"T1\" is done and stays where it is, in P1" },
		{ PLAN(P("P1", T("T1", ", 'subtasks': [" S("S9") "]") "," T("T2", ""))),
				"phases[0].tasks[0].subtasks[0]: \"T1\" is done: a finished node "
				"gets "
				"nothing new" },
		{ PLAN(P("P1", T("T0", "") "," T("T2", ""))),
				"phases[0].tasks[0].id: \"T0\" was removed by plan version 2; an "
				"id is "
				"never used again" },
		{ PLAN(P("P1", T("T2", ", 'deps': ['T0']"))),
				"phases[0].tasks[0].deps[0]: \"T0\" was removed by plan version "
				"2" },
		{ PLAN(P("P1", T("T2", ", 'deps': ['T8']"))),
				"phases[0].tasks[0].deps[0]: \"T8\" is not a node of this plan" },
		{ PLAN(P("P1", T("T9", ", 'subtasks': [" S("T2") "]"))),
				"phases[0].tasks[0].subtasks[0].id: \"T2\" is a task and cannot "
				"become "
				"a subtask" },
		{ PLAN(P("P1", T("T2", ", 'deps': ['T2']"))),
				"phases[0].tasks[0].deps[0]: task T2 depends on itself" },
		{ PLAN(P("P2", T("T9", "")) "," P("P2", T("T2", ""))),
				"phases[1].id: \"P2\" is already" },
		/* all at once */
		{ PLAN(P("P1", T("T1", ", 'risk': 'high'") "," T("T0", ""))), "2 problems" },
	};
	struct fixture f;
	str before;

	begin(&f, PLAN(P("P1", T("T0", "") "," T("T1", "") "," T("T2", ""))));
	finish(&f, "T1");
	replan(&f, PLAN(P("P1", T("T2", ""))));
	before = snapshot_of(&f, f.state);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *msg = refused(&f, "plan.apply", apply_params(&f, cases[i].plan),
				OV_EINVALID_PLAN);

		if (!strstr(msg, cases[i].says))
			fail_msg("%s\nsays: %s\nwanted: %s", cases[i].plan, msg, cases[i].says);
	}
	assert_true(str_eq(snapshot_of(&f, f.state), before));
	/* A finished node may be named as it is, and be waited for. */
	replan(&f, PLAN(P("P1", T("T2", ", 'deps': ['T1']") "," T("T1", ""))));
	assert_string_equal(present(&f), "P1(T2 T1)");
	fixture_done(&f);
}

TEST(stale_versions_are_refused)
{
	struct fixture f;
	value *p;

	begin(&f, PLAN(P("P1", T("T1", ""))));
	p = apply_params(&f, PLAN(P("P1", T("T1", "") "," T("T2", ""))));
	value_put(&f.arena, p, "version", value_int(&f.arena, 0));
	assert_non_null(strstr(refused(&f, "plan.apply", p, OV_ECONFLICT), "is at version 1"));
	value_put(&f.arena, p, "version", value_int(&f.arena, 1));
	assert_int_equal(value_int_at(submit(&f, "plan.apply", p), "version"), 2);
	assert_non_null(strstr(refused(&f, "plan.apply", p, OV_ECONFLICT),
			"you have seen plan version 1"));
	/* A document can say which version it shall become. */
	p = apply_params(&f, "{'planVersion': 2, 'phases': [" P("P1", T("T1", "")) "]}");
	assert_non_null(strstr(refused(&f, "plan.apply", p, OV_ECONFLICT), "the next is 3"));
	p = apply_params(&f, "{'planVersion': 3, 'phases': [" P("P1", T("T1", "")) "]}");
	assert_int_equal(value_int_at(submit(&f, "plan.apply", p), "version"), 3);
	fixture_done(&f);
}

TEST(no_change_is_no_version)
{
	struct fixture f;
	size_t events;
	value *v;

	begin_stored(&f,
			PLAN(P("P1",
					T("T1",
							", 'verification': {'b': 1, 'a': [2]}, "
							"'priority': 2") "," T("T2", ""))));
	events = f.log.n;
	v = replan(&f,
			PLAN(P("P1",
					T("T1",
							", 'objective': '', 'deps': [], "
							"'priority': 2, 'verification': {'a': [2], "
							"'b': 1}") "," T("T2", ""))));
	assert_int_equal(value_int_at(v, "version"), 1);
	assert_int_equal(value_count(value_at(v, "kept")), 3);
	assert_int_equal(f.log.n, events);
	/* Another order is one. */
	v = replan(&f,
			PLAN(P("P1",
					T("T2", "") "," T("T1",
							", 'verification': {'b': 1, 'a': [2]}, "
							"'priority': 2"))));
	assert_int_equal(value_int_at(v, "version"), 2);
	assert_string_equal(present(&f), "P1(T2 T1)");
	fixture_done(&f);
}

/* What is on its way to the target branch cannot be taken away; what only waits for that can. */
TEST(not_while_it_is_being_accepted)
{
	struct fixture f;

	begin(&f, PLAN(P("P1", T("T1", "") "," T("T2", ""))));
	bring_to(&f, "T1", STAGE_ACCEPT);
	assert_non_null(strstr(refused(&f, "plan.apply",
					       apply_params(&f, PLAN(P("P1", T("T2", "")))),
					       OV_ESTATE),
			"being accepted right now and the plan would remove it"));
	assert_non_null(strstr(
			refused(&f, "plan.apply",
					apply_params(&f,
							PLAN(P("P1",
									T("T1",
											", "
											"'subtasks'"
											": [" S("S"
												"1") "]") "," T("T2",
											"")))),
					OV_ESTATE),
			"would split it"));
	effect_end(&f, "T1", FX_ACCEPT, "dirty", "d", "");
	replan(&f, PLAN(P("P1", T("T2", ""))));
	assert_null(node_of(&f, "T1")->assignment);
	fixture_done(&f);
}

/* The last open node is taken out: the goal is over. */
TEST(what_is_left_decides_about_the_goal)
{
	struct fixture f;

	begin(&f, PLAN(P("P1", T("T1", "") "," T("T2", ""))));
	finish(&f, "T1");
	replan(&f, PLAN(P("P1", T("T1", ""))));
	settle(&f);
	assert_int_equal(vec_last(&f.state->goals)->status, GOAL_COMPLETED);
	fixture_done(&f);
}

TEST(a_goal_does_not_grow_for_ever)
{
	struct fixture f;
	const char *msg = NULL;
	int i;

	begin(&f, PLAN(P("P1", T("T1", ""))));
	for (i = 0; i < 4 && !msg; i++) {
		value *p = apply_params(&f, PLAN(P("P1", T("T2", ""))));
		value *phases = (value *)value_at(value_at(p, "plan"), "phases");

		for (int k = 0; k < 18; k++) {
			value *phase = json(&f, "{'id': 'P%d.%d', 'name': 'n', 'tasks': []}", i, k);

			for (int n = 0; n < 193; n++)
				value_push(&f.arena, (value *)value_at(phase, "tasks"),
						json(&f,
								"{'id': 'T%d.%d.%d', 'name': 'n', "
								"'acceptance': ['x']}",
								i, k, n));
			value_push(&f.arena, phases, phase);
		}
		if (i < 2)
			submit(&f, "plan.apply", p);
		else
			msg = refused(&f, "plan.apply", p, OV_ELIMIT);
	}
	assert_int_equal(i, 3);
	assert_non_null(strstr(msg, "at most 10000"));
	fixture_done(&f);
}

/* The document of a goal says what the plan said that made it; the fallback is a plan. */
TEST(documents)
{
	static const char all[] =
			"{'phases': [{'id': 'P1', 'name': 'n', 'objective': 'o', 'outcome': 'u', "
			"'acceptance': ['a'], "
			"'deps': ['P2'], 'definitionOfDone': 'd', 'tasks': [" T("T1",
					", 'objective': 'o', 'outcome': 'u', "
					"'deps': ['T2'], 'definitionOfDone': 'd', 'scopePaths': "
					"['src', 'a/b'], 'effort': 'S', 'risk': 'med', "
					"'requiredTools': ['git'], 'suggestedAgent': 'a', 'role': "
					"'r', 'checkCommand': 'make', "
					"'verification': {'x': [1, {'y': null}]}, 'priority': 4, "
					"'sequential': true, "
					"'subtasks': [" S("S1") "]") "]}, " P("P2",
					T("T2", "")) "]}";
	struct plan_limits limits = PLAN_LIMITS_DEFAULT;
	struct plan_report report;
	struct fixture f;
	struct goal g = { .title = STR("Rate limiting") };
	value *doc;

	begin_stored(&f, all);
	assert_true(value_equal(value_at(json(&f, all), "phases"),
			value_at(plan_document(&f.arena, vec_last(&f.state->goals)), "phases")));
	doc = plan_fallback(&f.arena, &g);
	plan_check(&f.arena, doc, &(struct plan_rules){ .limits = limits }, &report);
	assert_int_equal(report.problems.n, 0);
	assert_int_equal(report.tasks, 1);
	plan_report_done(&report);
	assert_string_equal(tree_of(&f, doc), "P1(T1.1)");
	fixture_done(&f);
}

TEST(differences)
{
	struct arena a = ARENA_INIT;
	struct fixture f;
	struct plan_diff d;
	value *v;

	fixture_init(&f);
	d = plan_diff(&a,
			json(&f,
					PLAN(P("P1",
							T("T1", ", 'deps': []") "," T("T2",
									"") "," T("T3", "")))),
			json(&f,
					PLAN(P("P1",
							T("T1", ", 'objective': ''") "," T("T4",
									"")) "," P("P2",
							T("T2",
									", 'deps': ['T1'], "
									"'priority': 1")))));
	v = plan_diff_view(&a, &d);
	assert_string_equal(json_text(&a, v).p,
			"{\"added\":[{\"id\":\"T4\",\"tier\":\"task\",\"name\":\"task "
			"T4\",\"parent\":\"P1\"},"
			"{\"id\":\"P2\",\"tier\":\"phase\",\"name\":\"phase\",\"parent\":null}],"
			"\"changed\":[{\"id\":\"T2\",\"tier\":\"task\",\"name\":\"task "
			"T2\",\"parent\":\"P2\",\"changes\":["
			"{\"key\":\"parent\",\"from\":\"P1\",\"to\":\"P2\"},"
			"{\"key\":\"deps\",\"from\":null,\"to\":[\"T1\"]},"
			"{\"key\":\"priority\",\"from\":null,\"to\":1}]}],"
			"\"removed\":[{\"id\":\"T3\",\"tier\":\"task\",\"name\":\"task "
			"T3\",\"parent\":\"P1\"}],"
			"\"kept\":[\"P1\",\"T1\"]}");
	d = plan_diff(&a, NULL, NULL);
	assert_int_equal(d.n, 0);
	fixture_done(&f);
	arena_done(&a);
}

/* Replans do happen in the histories that everything else is tested with. */
TEST(random_histories_hold_replans)
{
	size_t replans = 0, removed = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct rng rng = { seed };
		struct fixture f;

		fixture_init(&f);
		create_goal(&f, flat_plan(&f, 5), NULL);
		for (int i = 0; i < 400; i++)
			random_step(&f, &rng);
		for (size_t i = 0; i < f.log.n; i++) {
			const struct event *e = f.log.p[i];

			if (e->kind != EV_PLAN_APPLIED || value_int_at(e->data, "version") == 1)
				continue;
			replans++;
			removed += value_count(value_at(value_at(e->data, "summary"), "removed"));
		}
		fixture_done(&f);
	}
	assert_in_range(replans, 50, 100000);
	assert_in_range(removed, 50, 100000);
}

TEST_MAIN
