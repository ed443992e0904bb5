/* What is known of a run without its agent's help, and what only its agent says. */
#include "core/oversight/iteration.h"
#include "tests/test.h"
#include "tests/unit/core_fixture.h"

static void report(struct fixture *f, int offset, const char *update)
{
	submit(f, "run.report",
			json(f,
					"{'run': '" STR_FMT
					"', 'identity': 'i%d', 'offset': %d, 'update': {%s}}",
					STR_ARG(node_of(f, "T1")->assignment->run_id), offset,
					offset, update));
}

static const struct run *run_of(struct fixture *f)
{
	return node_of(f, "T1")->assignment->run;
}

/* The run failed, and the next one is under way. */
static void next_run(struct fixture *f)
{
	run_end(f, "T1", 1);
	settle(f);
	effect_end(f, "T1", FX_HARVEST, "ok", "", "'head': 'abc'");
	f->now += OV_DAY;
	settle(f);
	bring_to(f, "T1", STAGE_RUNNING);
}

static struct iteration iteration_of(struct fixture *f)
{
	struct iteration it;

	iteration_make(&f->arena, f->state, node_of(f, "T1"), run_of(f), &it);
	return it;
}

TEST(an_agent_says_how_far_it_is_and_what_it_learnt)
{
	struct fixture f;
	struct iteration it;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	it = iteration_of(&f);
	assert_int_equal(it.completion_source, COMPLETION_UNKNOWN);
	assert_int_equal(it.learnings.n, 0);
	f.now += OV_SECOND;
	report(&f, 10, "'percentComplete': 12.345, 'learnings': ['tabs matter', 'so do spaces']");
	it = iteration_of(&f);
	assert_int_equal(it.completion_source, COMPLETION_REPORTED);
	assert_int_equal(it.completion_centi, 1235);
	assert_int_equal(it.learnings.n, 2);
	assert_true(str_is(it.learnings.p[1], "so do spaces"));
	/* What is not said again stays, within the run. */
	report(&f, 20, "'percentComplete': 40");
	it = iteration_of(&f);
	assert_int_equal(it.completion_centi, 4000);
	assert_int_equal(it.learnings.n, 2);
	fixture_done(&f);
}

TEST(what_one_run_learnt_the_next_one_has_not)
{
	struct fixture f;
	struct iteration it;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	f.now += OV_SECOND;
	report(&f, 10, "'percentComplete': 40, 'learnings': ['tabs matter']");
	next_run(&f);
	assert_int_equal(iteration_of(&f).learnings.n, 0);
	f.now += OV_SECOND;
	report(&f, 10, "'summary': 'tried'");
	it = iteration_of(&f);
	assert_int_equal(it.learnings.n, 0);
	/* How far the node is, is said of the node. */
	assert_int_equal(it.completion_centi, 4000);
	report(&f, 20, "'learnings': ['spaces matter']");
	assert_int_equal(iteration_of(&f).learnings.n, 1);
	fixture_done(&f);
}

TEST(a_run_ends_with_the_call_that_it_repeated)
{
	struct fixture f;
	const struct run *r;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	r = run_of(&f);
	submit(&f, "run.end",
			json(&f,
					"{'run': '" STR_FMT
					"', 'exit_code': 0, 'signal': 0, 'tool': 'Bash: make', "
					"'tool_digest': 'abc', 'tool_repeats': 7}",
					STR_ARG(r->id)));
	assert_true(str_is(r->tool, "Bash: make"));
	assert_true(str_is(r->tool_digest, "abc"));
	assert_int_equal(r->tool_repeats, 7);
	fixture_done(&f);
}

TEST(a_check_tells_of_tests_and_coverage)
{
	struct fixture f;
	const struct run *r;

	fixture_init(&f);
	f.policy.check_command = STR("make test");
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	r = run_of(&f);
	run_end(&f, "T1", 0);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "",
			"'head': 'abc', 'tree': 'def', 'files_changed': 2, 'files': ['a', 'b'], "
			"'touched': ['b']");
	assert_int_equal(r->touched.n, 1);
	assert_true(str_is(r->touched.p[0], "b"));
	settle(&f);
	effect_end(&f, "T1", FX_CHECK, "failed", "exit status 1",
			"'tests': 'failing', 'tests_format': 'tap', 'tests_passed': 3, "
			"'tests_failed': 2, 'tests_skipped': 1, 'failing_tests': ['x', 'y'], "
			"'coverage_format': 'lcov', 'coverage_centi': 7150");
	assert_int_equal(r->verification, VERIFY_FAILED);
	assert_int_equal(r->tests, TESTS_FAILING);
	assert_true(str_is(r->tests_format, "tap"));
	assert_int_equal(r->tests_passed, 3);
	assert_int_equal(r->tests_failed, 2);
	assert_int_equal(r->tests_skipped, 1);
	assert_int_equal(r->failing_tests.n, 2);
	assert_true(str_is(r->coverage_format, "lcov"));
	assert_int_equal(r->coverage_centi, 7150);
	fixture_done(&f);
}

TEST(a_check_that_passes_tells_of_tests_too)
{
	struct fixture f;
	const struct run *r;

	fixture_init(&f);
	f.policy.check_command = STR("make test");
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_CHECK);
	r = run_of(&f);
	effect_end(&f, "T1", FX_CHECK, "ok", "", "'tests': 'passing', 'tests_format': 'exit'");
	assert_int_equal(r->verification, VERIFY_PASSED);
	assert_int_equal(r->tests, TESTS_PASSING);
	assert_int_equal(r->coverage_format.n, 0);
	fixture_done(&f);
}

TEST(without_a_check_nothing_is_known_of_tests)
{
	struct fixture f;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_REBASE);
	assert_int_equal(run_of(&f)->verification, VERIFY_SKIPPED);
	assert_int_equal(run_of(&f)->tests, TESTS_UNKNOWN);
	fixture_done(&f);
}

TEST_MAIN

/* What T1's run failed by, as it is compared. */
static str failed_with(struct fixture *f, int exit_code, const char *last_lines)
{
	const struct run *r;
	struct iteration it;

	bring_to(f, "T1", STAGE_RUNNING);
	r = run_of(f);
	submit(f, "run.end",
			json(f,
					"{'run': '" STR_FMT
					"', 'exit_code': %d, 'signal': 0, 'last_lines': '%s'}",
					STR_ARG(r->id), exit_code, last_lines));
	settle(f);
	effect_end(f, "T1", FX_HARVEST, "ok", "", "'head': 'abc'");
	settle(f);
	assert_int_equal(r->cause, CAUSE_RUN);
	iteration_make(&f->arena, f->state, node_of(f, "T1"), r, &it);
	f->now += OV_DAY;
	settle(f);
	return arena_str(&f->arena, it.signature);
}

TEST(two_exit_statuses_are_one_error_only_if_the_agent_says_the_same)
{
	struct fixture f;
	str first, again, other;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	first = failed_with(&f, 1, "reading\\nno route to host 10");
	again = failed_with(&f, 1, "writing\\nno route to host 11");
	other = failed_with(&f, 2, "syntax error in plan.md");
	assert_true(str_contains(first, STR("no route to host")));
	assert_true(str_eq(first, again));
	assert_false(str_eq(first, other));
	fixture_done(&f);
}
