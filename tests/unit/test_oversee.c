/* Runs become iterations, and what detectors find in them is answered. */
#include "tests/test.h"

#include "core/iteration.h"
#include "core/snapshot.h"
#include "tests/unit/core_fixture.h"

static void begin(struct fixture *f)
{
	fixture_init(f);
	f->policy.check_command = STR("make check");
	f->policy.retry_max_attempts = 100;
	create_goal(f, flat_plan(f, 1), NULL);
	settle(f);
}

/* One run of T1 whose work the check does not let pass. */
static void fail_check(struct fixture *f, const char *output)
{
	f->now += 3 * OV_MINUTE;
	bring_to(f, "T1", STAGE_CHECK);
	settle(f);
	effect_end(f, "T1", FX_CHECK, "failed", output, "");
}

static const struct iteration *newest(struct fixture *f, const char *node)
{
	const struct node *n = node_of(f, node);

	if (!n->iterations.n)
		fail_msg("%s has no iteration", node);
	return vec_last(&n->iterations);
}

/* A state from its snapshot, and one from the log, are the state. */
static void check_restart(struct fixture *f)
{
	str shot = snapshot_of(f, f->state);
	struct state *read = NULL, *folded = state_new(7);
	struct ov_err err = { 0 };

	if (snapshot_read(shot, 3, &read, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(str_eq(shot, snapshot_of(f, read)));
	for (size_t i = 0; i < f->log.n; i++)
		if (apply(folded, f->log.p[i], &err) < 0)
			fail_msg("%s", err.msg);
	assert_true(str_eq(shot, snapshot_of(f, folded)));
	check_invariants(f->state, &f->policy);
	state_free(read);
	state_free(folded);
}

TEST(a_failed_check_is_an_iteration_before_the_next_run_begins)
{
	struct fixture f;
	const struct iteration *it;

	begin(&f);
	fail_check(&f, "error: no such function parse()");
	f.now += OV_MINUTE; /* the wait before the next attempt is over, but the review comes first */
	assert_int_equal(tick(&f), 1);
	assert_int_equal(last_event(&f, EV_ITERATION_RECORDED)->seq, f.state->seq);
	it = newest(&f, "T1");
	assert_int_equal(it->number, 1);
	assert_true(it->failed);
	assert_true(str_is(it->failure_class, "check"));
	assert_true(str_contains(it->error, STR("no such function parse()")));
	assert_true(str_is(it->agent, "a") && str_is(it->tree, "t"));
	assert_true(it->sample.error != 0 && it->sample.tree != 0);
	assert_int_equal(node_of(&f, "T1")->iterations_n, 1);
	assert_true(list_empty(&f.state->judged));
	settle(&f);
	assert_int_equal(count_events(&f, EV_ITERATION_RECORDED), 1);
	assert_int_equal(node_of(&f, "T1")->assignment->stage, STAGE_START);
	check_restart(&f);
	fixture_done(&f);
}

TEST(each_run_is_one_iteration_and_a_later_verdict_replaces_it)
{
	struct fixture f;

	begin(&f);
	f.policy.accept.pre = STR("make gate");
	for (int i = 0; i < 3; i++)
		fail_check(&f, "error: still red");
	f.now += 3 * OV_MINUTE;
	bring_to(&f, "T1", STAGE_GATE);
	settle(&f);
	assert_int_equal(newest(&f, "T1")->number, 4);
	assert_false(newest(&f, "T1")->failed);
	assert_int_equal(count_events(&f, EV_ITERATION_RECORDED), 4);
	effect_end(&f, "T1", FX_GATE, "failed", "the gate is shut", "");
	settle(&f);
	assert_int_equal(newest(&f, "T1")->number, 4);
	assert_true(newest(&f, "T1")->failed);
	assert_true(str_is(newest(&f, "T1")->failure_class, "gate"));
	assert_int_equal(count_events(&f, EV_ITERATION_RECORDED), 5);
	assert_int_equal(node_of(&f, "T1")->iterations.n, 4);
	check_restart(&f);
	fixture_done(&f);
}

TEST(what_is_not_the_works_fault_is_no_iteration)
{
	struct fixture f;

	begin(&f);
	bring_to(&f, "T1", STAGE_CHECK);
	settle(&f);
	effect_end(&f, "T1", FX_CHECK, "error", "sh: cannot fork", "");
	settle(&f);
	assert_int_equal(count_events(&f, EV_ITERATION_RECORDED), 0);
	fixture_done(&f);
}

TEST(the_newest_iterations_are_kept)
{
	struct fixture f;

	begin(&f);
	f.policy.estimate[RES_ITERATIONS] = 1000;
	for (int i = 0; i < LIMIT_ITERATIONS + 5; i++)
		fail_check(&f, "error: red");
	settle(&f);
	assert_int_equal(node_of(&f, "T1")->iterations.n, LIMIT_ITERATIONS);
	assert_int_equal(newest(&f, "T1")->number, LIMIT_ITERATIONS + 5);
	check_restart(&f);
	fixture_done(&f);
}

TEST(a_path_is_in_scope_by_whole_names)
{
	static const struct {
		const char *scope, *file;
		bool in;
	} rows[] = {
		{ "src", "src/a.c", true },
		{ "src/", "src/a.c", true },
		{ "./src", "src/a.c", true },
		{ "src", "src2/a.c", false },
		{ "src/a.c", "src/a.c", true },
		{ "src/a.c", "src/a.cc", false },
		{ ".", "README", true },
		{ "docs", "src/docs/x", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		str path = str_from(rows[i].scope);
		struct strs scope = { &path, 1 };

		assert_int_equal(path_in_scope(&scope, str_from(rows[i].file)), rows[i].in);
	}
}

TEST_MAIN
