/* "sequential": parts of a plan that are worked on one after another. */
#include "tests/test.h"

#include "core/capacity/dependants.h"
#include "core/explain/explain.h"
#include "core/plan/plan_make.h"
#include "core/state/snapshot.h"
#include "core/view/view.h"
#include "data/value/json.h"
#include "tests/unit/core_fixture.h"

TEST_MAIN

#define T(id) "{'id': '" id "', 'name': 'n', 'acceptance': ['x']}"
#define P(id, tasks, more) "{'id': '" id "', 'name': 'n'" more ", 'tasks': [" tasks "]}"
#define PLAN(phases, more) "{'phases': [" phases "]" more "}"
#define ORDERED ", 'sequential': true"

static void begin(struct fixture *f, const char *plan)
{
	fixture_init(f);
	create_goal(f, json(f, "%s", plan), NULL);
	settle(f);
}

static value *replan(struct fixture *f, const char *plan)
{
	value *v = json(f, "{'goal': '" STR_FMT "'}", STR_ARG(vec_last(&f->state->goals)->id));

	value_put(&f->arena, v, "plan", json(f, "%s", plan));
	v = submit(f, "plan.apply", v);
	check_invariants(f->state, &f->policy);
	settle(f);
	return v;
}

static void finish(struct fixture *f, const char *node)
{
	submit(f, "work.update",
			json(f, "{'node': '" STR_FMT "/%s', 'status': 'done', 'reason': 'seen'}",
					STR_ARG(vec_last(&f->state->goals)->id), node));
	settle(f);
	check_invariants(f->state, &f->policy);
}

/* Those that are being worked on or could be, in the plan's order. */
static const char *open_ones(struct fixture *f)
{
	const struct goal *g = vec_last(&f->state->goals);
	struct buf b = BUF_INIT;
	const char *s;

	for (size_t i = 0; i < g->nodes.n; i++)
		if (node_is_leaf(g->nodes.p[i]) && !node_is_final(g->nodes.p[i]) &&
				node_is_ready(f->state, g->nodes.p[i]))
			buf_addf(&b, "%s" STR_FMT, b.n ? " " : "", STR_ARG(g->nodes.p[i]->id));
	s = arena_cstr(&f->arena, buf_str(&b));
	buf_done(&b);
	return s;
}

static const char *now(struct fixture *f, const char *node)
{
	return arena_cstr(&f->arena, explain_now(&f->arena, f->state, node_of(f, node), f->now));
}

TEST(phases_of_a_plan)
{
	struct fixture f;

	begin(&f,
			PLAN(P("P1", T("T1") "," T("T2"), "") "," P("P2", T("T3") "," T("T4"), ""),
					ORDERED));
	assert_string_equal(open_ones(&f), "T1 T2");
	assert_string_equal(now(&f, "T3"), "waits for phase P1 (sequential)");
	assert_int_equal(dependants_count(&f.arena, node_of(&f, "T1")), 2);
	finish(&f, "T1");
	assert_string_equal(open_ones(&f), "T2");
	finish(&f, "T2");
	assert_string_equal(open_ones(&f), "T3 T4");
	drain(&f);
	assert_int_equal(vec_last(&f.state->goals)->status, GOAL_COMPLETED);
	fixture_done(&f);
}

TEST(tasks_of_a_phase_and_subtasks_of_a_task)
{
	struct fixture f;

	begin(&f,
			PLAN(P("P1",
					     T("T1") "," T("T2") ",{'id': 'T3', 'name': 'n', "
								 "'acceptance': "
								 "['x']" ORDERED
								 ", 'subtasks': [" T("S1") "," T(
										 "S2") "]}",
					     ORDERED) "," P("P2", T("T4"), ""),
					""));
	assert_string_equal(open_ones(&f), "T1 T4");
	assert_string_equal(now(&f, "T2"), "waits for task T1 (sequential)");
	assert_string_equal(now(&f, "S2"),
			"waits for subtask S1 (sequential), task T2 (sequential)");
	finish(&f, "T1");
	assert_string_equal(open_ones(&f), "T2 T4");
	finish(&f, "T2");
	assert_string_equal(open_ones(&f), "S1 T4");
	finish(&f, "S1");
	assert_string_equal(open_ones(&f), "S2 T4");
	/* Without a word, phases and tasks do not wait. */
	fixture_done(&f);
	begin(&f, PLAN(P("P1", T("T1"), "") "," P("P2", T("T2"), ""), ""));
	assert_string_equal(open_ones(&f), "T1 T2");
	fixture_done(&f);
}

/* The flag is as good as any other member: a later plan sets it and takes it back. */
TEST(a_later_plan_changes_the_order)
{
	struct fixture f;
	const struct goal *g;
	value *v;

	begin(&f, PLAN(P("P1", T("T1"), "") "," P("P2", T("T2") "," T("T3"), ""), ""));
	g = vec_last(&f.state->goals);
	assert_string_equal(open_ones(&f), "T1 T2 T3");
	v = replan(&f, PLAN(P("P1", T("T1"), "") "," P("P2", T("T2") "," T("T3"), ""), ORDERED));
	assert_int_equal(value_int_at(v, "version"), 2);
	assert_int_equal(value_count(value_at(v, "kept")), 5);
	assert_string_equal(open_ones(&f), "T1");
	v = replan(&f,
			PLAN(P("P1", T("T1"), "") "," P("P2", T("T2") "," T("T3"), ORDERED),
					", 'sequential': false"));
	assert_string_equal(json_text(&f.arena, value_at(v, "changed")).p, "[\"P2\"]");
	assert_string_equal(open_ones(&f), "T1 T2");
	assert_false(g->sequential);
	/* Another order of the same tasks is another order. */
	replan(&f, PLAN(P("P1", T("T1"), "") "," P("P2", T("T3") "," T("T2"), ORDERED), ""));
	assert_string_equal(open_ones(&f), "T1 T3");
	fixture_done(&f);
}

/* What the goal's document says is what was said; a snapshot keeps it. */
TEST(documents_and_snapshots)
{
	static const char plan[] = PLAN(P("P1", T("T1") "," T("T2"), ORDERED) "," P("P2", T("T3"),
							""),
			ORDERED);
	struct fixture f;
	struct state *s;
	const value *doc, *tree;
	str bytes;

	begin(&f, plan);
	doc = plan_document(&f.arena, vec_last(&f.state->goals));
	assert_true(value_bool_at(doc, "sequential"));
	assert_true(value_equal(value_at(doc, "phases"), value_at(json(&f, plan), "phases")));
	/* Applied again, it changes nothing. */
	assert_int_equal(value_int_at(replan(&f, plan), "version"), 1);
	bytes = snapshot_of(&f, f.state);
	assert_int_equal(snapshot_read(bytes, 7, &s, NULL), 0);
	assert_true(str_eq(snapshot_of(&f, s), bytes));
	assert_false(node_is_ready(s, state_node(s, vec_last(&f.state->goals)->id, STR("T3"))));
	state_free(s);
	tree = view_plan(&f.arena, f.state, vec_last(&f.state->goals));
	assert_true(value_bool_at(tree, "sequential"));
	assert_true(str_is(value_str_at(value_item(value_at(tree, "phases"), 1), "follows"), "P1"));
	fixture_done(&f);
}

/* Finished nodes that a later plan leaves out stand first; nobody waits for them. */
TEST(finished_nodes_hold_nobody_up)
{
	struct fixture f;

	begin(&f, PLAN(P("P1", T("T1") "," T("T2") "," T("T3"), ORDERED), ""));
	finish(&f, "T1");
	replan(&f, PLAN(P("P1", T("T4") "," T("T3"), ORDERED), ""));
	assert_string_equal(open_ones(&f), "T4");
	/* A dependency besides is no second one. */
	replan(&f,
			PLAN(P("P1",
					     T("T4") ",{'id': 'T3', 'name': 'n', 'acceptance': "
						     "['x'], 'deps': ['T4']}",
					     ORDERED),
					""));
	assert_int_equal(node_of(&f, "T4")->dependants.n, 1);
	fixture_done(&f);
}

/*
 * An edge per node, however many there are: 49 phases of 200 tasks each wait for the phase before.
 */
TEST(order_costs_one_edge_per_node)
{
	struct fixture f;
	value *plan, *phases;
	const struct goal *g;
	size_t edges = 0;

	fixture_init(&f);
	plan = json(&f, "{'sequential': true, 'phases': []}");
	phases = (value *)value_at(plan, "phases");
	for (int p = 0; p < 49; p++) {
		value *phase = json(&f,
				"{'id': 'P%d', 'name': 'n', 'sequential': true, 'tasks': []}", p);

		for (int t = 0; t < 200; t++)
			value_push(&f.arena, (value *)value_at(phase, "tasks"),
					json(&f,
							"{'id': 'T%d.%d', 'name': 'n', "
							"'acceptance': ['x']}",
							p, t));
		value_push(&f.arena, phases, phase);
	}
	create_goal(&f, plan, NULL);
	g = vec_last(&f.state->goals);
	for (size_t i = 0; i < g->nodes.n; i++)
		edges += g->nodes.p[i]->dependants.n;
	assert_int_equal(edges, 48 + 49 * 199);
	assert_string_equal(open_ones(&f), "T0.0");
	assert_int_equal(dependants_count(&f.arena, node_of(&f, "T0.0")), 49 * 200 - 1);
	fixture_done(&f);
}
