#include "tests/test.h"

#include "base/vec.h"
#include "core/capacity/slots.h"
#include "core/model/limits.h"
#include "core/prompt/prompt.h"
#include "data/id/sha256.h"
#include "data/value/json.h"
#include "tests/unit/core_fixture.h"

#define HARVESTED "'head': 'h', 'tree': 't', 'commits': 1, 'files_changed': 2"

/* One goal with n tasks, on one worker unless the test says otherwise. */
static void begin(struct fixture *f, size_t n)
{
	fixture_init(f);
	f->policy.workers_max = 1;
	create_goal(f, flat_plan(f, n), NULL);
}

static value *task_of(value *plan, size_t phase, size_t i)
{
	const value *p = value_item(value_at(plan, "phases"), phase);

	return (value *)value_item(value_at(p, "tasks"), i);
}

static const struct assignment *as_of(struct fixture *f, const char *node)
{
	return node_of(f, node)->assignment;
}

/* Lets the run fail and its harvest end. */
static void crash(struct fixture *f, const char *node, int exit_code)
{
	bring_to(f, node, STAGE_RUNNING);
	run_end(f, node, exit_code);
	settle(f);
	effect_end(f, node, FX_HARVEST, "ok", "", HARVESTED);
	settle(f);
}

TEST(happy_path)
{
	static const struct {
		enum stage stage;
		enum node_status node;
		enum as_status as;
	} path[] = {
		{ STAGE_WORKSPACE, NODE_QUEUED, AS_QUEUED },
		{ STAGE_START, NODE_IN_PROGRESS, AS_DISPATCHED },
		{ STAGE_RUNNING, NODE_IN_PROGRESS, AS_ACTIVE },
		{ STAGE_HARVEST, NODE_IN_PROGRESS, AS_ACTIVE },
		{ STAGE_CHECK, NODE_IN_PROGRESS, AS_ACTIVE },
		{ STAGE_REBASE, NODE_IN_PROGRESS, AS_ACTIVE },
		{ STAGE_GATE, NODE_IN_PROGRESS, AS_ACTIVE },
		{ STAGE_ACCEPT, NODE_IN_PROGRESS, AS_ACTIVE },
	};
	struct fixture f;
	const struct node *n;

	begin(&f, 1);
	f.policy.check_command = STR("make test");
	f.policy.accept.pre = STR("make check");
	n = node_of(&f, "T1");
	for (size_t i = 0; i < ARRAY_LEN(path); i++) {
		bring_to(&f, "T1", path[i].stage);
		assert_int_equal(n->status, path[i].node);
		assert_int_equal(n->assignment->status, path[i].as);
		assert_int_equal(n->parent->status, path[i].node);
	}
	assert_int_equal(n->assignment->run->verification, VERIFY_PASSED);
	assert_int_equal(f.state->workers.p[0]->status, WORKER_REBASING);
	accept_node(&f, "T1");
	assert_int_equal(n->status, NODE_DONE);
	assert_true(str_is(n->work.commit, "c0ffee"));
	assert_int_equal(n->parent->status, NODE_DONE);
	assert_int_equal(n->goal->status, GOAL_COMPLETED);
	assert_int_equal(f.state->workers.p[0]->status, WORKER_IDLE);
	assert_int_equal(count_events(&f, EV_RUN_CREATED), 1);
	assert_int_equal(f.wake_at, OV_TIME_MAX);
	fixture_done(&f);
}

/* Without a check command there is none; a node's own comes before the repository's. */
TEST(check_command)
{
	struct fixture f;
	value *plan;

	begin(&f, 1);
	bring_to(&f, "T1", STAGE_ACCEPT);
	assert_int_equal(as_of(&f, "T1")->run->verification, VERIFY_SKIPPED);
	fixture_done(&f);

	fixture_init(&f);
	plan = flat_plan(&f, 1);
	value_put(&f.arena, task_of(plan, 0, 0), "checkCommand", value_cstr(&f.arena, "own"));
	create_goal(&f, plan, NULL);
	bring_to(&f, "T1", STAGE_CHECK);
	fixture_done(&f);
}

static void crash_until_the_last(struct fixture *f, int64_t epoch)
{
	static const ov_time delays[] = { 5 * OV_SECOND, 30 * OV_SECOND };
	const struct node *n = node_of(f, "T1");

	for (size_t i = 0; i < ARRAY_LEN(delays); i++) {
		size_t runs;

		crash(f, "T1", 1);
		runs = count_events(f, EV_RUN_CREATED);
		assert_int_equal(n->status, NODE_QUEUED);
		assert_int_equal(n->work.failures[CAUSE_RUN], i + 1);
		assert_int_equal(f->wake_at, f->now + delays[i]);
		/*
		 * One millisecond too early nothing happens; the state says the same moment again.
		 */
		f->now += delays[i] - 1;
		assert_int_equal(tick(f), 0);
		assert_int_equal(f->wake_at, f->now + 1);
		f->now++;
		settle(f);
		assert_int_equal(count_events(f, EV_RUN_CREATED), runs + 1);
		assert_int_equal(n->assignment->attempt, (int64_t)i + 2);
		assert_int_equal(n->work.epoch, epoch);
	}
}

TEST(crashes_are_retried_after_their_delays_then_reassigned_then_escalated)
{
	struct fixture f;
	const struct node *n;

	begin(&f, 1);
	oversight_off(&f);
	n = node_of(&f, "T1");
	crash_until_the_last(&f, 1);
	crash(&f, "T1", 7);
	/*
	 * No planner to ask, no run to nudge: somebody else gets it, and starts with a
	 * clean record.
	 */
	assert_int_equal(n->status, NODE_QUEUED);
	assert_int_equal(n->work.epoch, 2);
	assert_true(n->stall.open);
	assert_int_equal(n->stall.rungs[RUNG_REASSIGN], 1);
	assert_int_equal(n->work.failures[CAUSE_RUN], 0);
	crash_until_the_last(&f, 2);
	crash(&f, "T1", 7);
	assert_int_equal(f.wake_at, n->stall.backoff_until);
	f.now = n->stall.backoff_until;
	settle(&f);
	assert_int_equal(n->status, NODE_BLOCKED);
	assert_int_equal(n->block.kind, BLOCK_FAILED);
	assert_int_equal(n->assignment->status, AS_BLOCKED);
	assert_int_equal(n->parent->status, NODE_BLOCKED);
	assert_int_equal(f.state->workers.p[0]->status, WORKER_IDLE);
	assert_int_equal(f.state->escalations.n, 1);
	assert_true(str_is(f.state->escalations.p[0]->kind, "failed"));
	assert_true(str_contains(f.state->escalations.p[0]->question, STR("exit status 7")));
	assert_int_equal(f.wake_at, f.now + f.policy.remind_after);
	/* A person says: again. The old failures are forgotten, a new epoch begins. */
	submit(&f, "work.update",
			json(&f, "{'node': 'T1', 'status': 'queued', 'reason': 'fixed'}"));
	assert_int_equal(f.state->escalations.p[0]->status, ESC_ANSWERED);
	assert_int_equal(n->work.failures[CAUSE_RUN], 0);
	bring_to(&f, "T1", STAGE_ACCEPT);
	accept_node(&f, "T1");
	assert_int_equal(n->work.epoch, 3);
	assert_false(n->stall.open);
	assert_int_equal(n->goal->status, GOAL_COMPLETED);
	fixture_done(&f);
}

TEST(third_delay)
{
	struct fixture f;

	begin(&f, 1);
	oversight_off(&f);
	f.policy.retry_max_attempts = 10;
	for (int i = 0; i < 5; i++) {
		crash(&f, "T1", 1);
		if (i >= 2)
			assert_int_equal(f.wake_at, f.now + 2 * OV_MINUTE);
		f.now = f.wake_at;
	}
	fixture_done(&f);
}

/* Each kind of end has its cause and its words. */
TEST(how_runs_end)
{
	static const struct {
		const char *end;
		enum cause cause;
		const char *says;
	} cases[] = {
		{ "'exit_code': 3", CAUSE_RUN, "exit status 3" },
		{ "'exit_code': -1, 'signal': 11", CAUSE_RUN, "signal 11" },
		{ "'exit_code': 0, 'signal': 9", CAUSE_RUN, "signal 9" },
		{ "'exit_code': 0, 'lost': true", CAUSE_LOST, "lost" },
		{ "'exit_code': 2, 'message': 'no login'", CAUSE_RUN, "no login" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		const struct node *n;

		begin(&f, 1);
		bring_to(&f, "T1", STAGE_RUNNING);
		submit(&f, "run.end",
				json(&f, "{'run': '" STR_FMT "', %s}",
						STR_ARG(as_of(&f, "T1")->run_id), cases[i].end));
		settle(&f);
		effect_end(&f, "T1", FX_HARVEST, "ok", "", HARVESTED);
		n = node_of(&f, "T1");
		for (int c = 0; c < CAUSE_COUNT; c++)
			assert_int_equal(n->work.failures[c], c == (int)cases[i].cause);
		assert_true(str_contains(n->assignment->feedback, str_from(cases[i].says)));
		assert_true(str_contains(prompt_build(&f.arena, n->assignment),
				str_from(cases[i].says)));
		fixture_done(&f);
	}
}

/* Steps of ours that fail are repeated at their own stage, within their own caps. */
TEST(steps_that_fail)
{
	static const struct {
		enum stage stage;
		enum effect_kind kind;
		enum cause cause;
	} cases[] = {
		{ STAGE_WORKSPACE, FX_WORKSPACE, CAUSE_WORKSPACE },
		{ STAGE_START, FX_RUN_START, CAUSE_START },
		{ STAGE_HARVEST, FX_HARVEST, CAUSE_HARVEST },
		{ STAGE_REBASE, FX_REBASE, CAUSE_ACCEPT },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		const struct node *n;

		begin(&f, 1);
		n = node_of(&f, "T1");
		for (int k = 1; k <= 3; k++) {
			bring_to(&f, "T1", cases[i].stage);
			effect_end(&f, "T1", cases[i].kind, "error", "disk full", "");
			settle(&f);
			assert_int_equal(n->work.failures[cases[i].cause], k);
			if (k < 3) {
				assert_int_equal(n->assignment->stage, cases[i].stage);
				assert_int_equal(f.wake_at, f.now + f.policy.retry_delay[k - 1]);
				f.now = f.wake_at;
			}
		}
		assert_int_equal(n->status, NODE_BLOCKED);
		assert_true(str_contains(n->status_reason, STR("disk full")));
		assert_int_equal(f.state->escalations.n, 1);
		assert_int_equal(f.state->workers.p[0]->status, WORKER_IDLE);
		fixture_done(&f);
	}
}

TEST(no_changes)
{
	struct fixture f;
	const struct node *n;

	begin(&f, 1);
	n = node_of(&f, "T1");
	for (int k = 1; k <= 2; k++) {
		bring_to(&f, "T1", STAGE_HARVEST);
		effect_end(&f, "T1", FX_HARVEST, "ok", "", "'head': 'h', 'files_changed': 0");
		settle(&f);
		assert_int_equal(n->work.failures[CAUSE_NO_CHANGES], k);
		f.now = f.wake_at;
		if (k == 1)
			assert_true(str_contains(prompt_build(&f.arena, n->assignment),
					STR("changed no file")));
	}
	assert_int_equal(n->status, NODE_BLOCKED);
	assert_true(str_is(f.state->escalations.p[0]->kind, "no_changes"));
	fixture_done(&f);
}

TEST(no_changes_by_the_cap_of_retries)
{
	struct fixture f;

	begin(&f, 1);
	f.policy.retry_max_attempts = 1;
	bring_to(&f, "T1", STAGE_HARVEST);
	effect_end(&f, "T1", FX_HARVEST, "ok", "", "'head': 'h', 'files_changed': 0");
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	assert_true(str_is(f.state->escalations.p[0]->kind, "no_changes"));
	fixture_done(&f);
}

TEST(a_report_that_cannot_be_taken_is_told_to_both_sides)
{
	struct fixture f;
	const struct node *n;

	begin(&f, 1);
	n = node_of(&f, "T1");
	bring_to(&f, "T1", STAGE_RUNNING);
	submit(&f, "run.report",
			json(&f,
					"{'run': '" STR_FMT "', 'identity': 'i', 'offset': 9, "
					"'update': {'blockedReason': 'which colour?'}}",
					STR_ARG(n->assignment->run_id)));
	bring_to(&f, "T1", STAGE_HARVEST);
	effect_end(&f, "T1", FX_HARVEST, "ok", "", "'head': 'h', 'files_changed': 0");
	assert_true(str_contains(prompt_build(&f.arena, n->assignment), STR("blockedReason")));
	assert_true(str_contains(n->status_reason, STR("its report could not be taken")));
	fixture_done(&f);
}

/* What people are shown of an id is enough to find it, also when many were made at once. */
TEST(ids_of_one_decision_differ_early)
{
	enum { SHOWN = 2 + 16 };
	struct fixture f;
	size_t ids = 0;

	begin(&f, 7);
	f.policy.workers_max = 7;
	settle(&f);
	for (size_t i = 0; i < f.log.n; i++) {
		if (f.log.p[i]->kind != EV_ASSIGNMENT_CREATED)
			continue;
		ids++;
		for (size_t k = 0; k < i; k++)
			if (f.log.p[k]->kind == EV_ASSIGNMENT_CREATED) {
				str one = f.log.p[i]->assignment, other = f.log.p[k]->assignment;

				assert_false(str_eq(str_sub(one, 0, SHOWN),
						str_sub(other, 0, SHOWN)));
				assert_true(str_cmp(other, one) < 0);
			}
	}
	assert_true(ids >= 2);
	fixture_done(&f);
}

TEST(failed_checks_reach_the_next_prompt)
{
	struct fixture f;
	const struct node *n;
	str prompt, hash;

	begin(&f, 1);
	f.policy.check_command = STR("make test");
	n = node_of(&f, "T1");
	bring_to(&f, "T1", STAGE_CHECK);
	hash = arena_str(&f.arena, n->assignment->run->instruction_hash);
	effect_end(&f, "T1", FX_CHECK, "failed", "test_foo: expected 3, got 4", "");
	assert_int_equal(n->assignment->run->verification, VERIFY_FAILED);
	assert_int_equal(n->work.failures[CAUSE_CHECK], 1);
	assert_int_equal(n->assignment->stage, STAGE_START);
	prompt = prompt_build(&f.arena, n->assignment);
	assert_true(str_contains(prompt, STR("test_foo: expected 3, got 4")));
	assert_true(str_contains(prompt, STR("check command failed")));
	f.now += 5 * OV_SECOND;
	settle(&f);
	/* The dispatch is of that very text. */
	assert_true(str_eq(n->assignment->run->instruction_hash, sha256_hex(&f.arena, prompt)));
	assert_false(str_eq(n->assignment->run->instruction_hash, hash));
	bring_to(&f, "T1", STAGE_ACCEPT);
	accept_node(&f, "T1");
	assert_int_equal(n->status, NODE_DONE);
	fixture_done(&f);
}

TEST(conflict_rounds)
{
	struct fixture f;
	const struct node *n;

	begin(&f, 1);
	n = node_of(&f, "T1");
	for (int k = 1; k <= 3; k++) {
		bring_to(&f, "T1", STAGE_REBASE);
		assert_int_equal(f.state->workers.p[0]->status, WORKER_REBASING);
		effect_end(&f, "T1", FX_REBASE, "conflict", "src/a.c", "");
		assert_int_equal(n->work.failures[CAUSE_CONFLICT], k);
		if (k < 3) {
			/* At once, by the same agent, who is told what to do. */
			assert_int_equal(n->assignment->stage, STAGE_START);
			assert_int_equal(n->assignment->not_before, 0);
			assert_int_equal(f.state->workers.p[0]->status, WORKER_REBASING);
			assert_true(str_contains(n->assignment->feedback, STR("src/a.c")));
			assert_true(str_contains(n->assignment->feedback, STR("onto main")));
		}
	}
	settle(&f);
	assert_int_equal(n->status, NODE_BLOCKED);
	assert_true(str_is(f.state->escalations.p[0]->kind, "conflict"));
	fixture_done(&f);
}

/* However often: the wait is the same, and nobody gives it up. */
TEST(dirty_checkout_for_ever)
{
	struct fixture f;

	begin(&f, 1);
	f.policy.dirty_notice = OV_DAY;
	bring_to(&f, "T1", STAGE_REBASE);
	for (int i = 0; i < 150; i++) {
		effect_end(&f, "T1", FX_REBASE, "dirty", "", "");
		assert_int_equal(tick(&f), 0);
		assert_int_equal(f.wake_at, f.now + f.policy.dirty_wait);
		f.now = f.wake_at;
		settle(&f);
	}
	assert_int_equal(count_events(&f, EV_RUN_CREATED), 1);
	assert_int_equal(node_of(&f, "T1")->status, NODE_IN_PROGRESS);
	fixture_done(&f);
}

TEST(moved_target_is_tried_again_soon)
{
	struct fixture f;
	const struct node *n;

	begin(&f, 1);
	n = node_of(&f, "T1");
	bring_to(&f, "T1", STAGE_ACCEPT);
	for (int i = 1; i < 100; i++) {
		effect_end(&f, "T1", FX_ACCEPT, "moved", "", "");
		assert_int_equal(n->assignment->stage, STAGE_REBASE);
		assert_int_equal(n->assignment->candidate.n, 0);
		assert_int_equal(tick(&f), 0);
		assert_int_equal(f.wake_at, f.now + OV_SECOND);
		f.now = f.wake_at;
		bring_to(&f, "T1", STAGE_ACCEPT);
	}
	assert_int_equal(n->work.failures[CAUSE_MOVED], 99);
	accept_node(&f, "T1");
	assert_int_equal(n->status, NODE_DONE);
	fixture_done(&f);
}

/* A worker each, and never more. */
TEST(workers_max)
{
	struct fixture f;
	size_t live = 0;

	begin(&f, 7);
	f.policy.workers_max = 3;
	settle(&f);
	list_each (it, &f.state->live)
		live++;
	assert_int_equal(live, 3);
	assert_int_equal(f.state->workers.n, 3);
	for (size_t i = 0; i < 3; i++) {
		struct buf name = BUF_INIT;

		buf_addf(&name, "pool-%zu", i + 1);
		assert_true(str_is(f.state->workers.p[i]->name, buf_cstr(&name)));
		buf_done(&name);
	}
	assert_non_null(as_of(&f, "T3"));
	assert_null(as_of(&f, "T4"));
	/* The place of one that is finished is taken by the next. */
	bring_to(&f, "T2", STAGE_ACCEPT);
	accept_node(&f, "T2");
	assert_true(str_is(as_of(&f, "T4")->worker, "pool-2"));
	drain(&f);
	assert_int_equal(f.state->workers.n, 3);
	assert_int_equal(f.state->goals.p[0]->status, GOAL_COMPLETED);
	fixture_done(&f);
}

/* Fewer workers than there are, after a change of the configuration: the others rest. */
TEST(workers_max_is_lowered)
{
	struct fixture f;

	begin(&f, 7);
	f.policy.workers_max = 3;
	settle(&f);
	bring_to(&f, "T1", STAGE_ACCEPT);
	effect_end(&f, "T1", FX_ACCEPT, "ok", "", "'commit': 'c0ffee', 'target': 'main'");
	f.policy.workers_max = 2;
	while (tick(&f) > 0)
		assert_null(as_of(&f, "T4"));
	assert_null(as_of(&f, "T4"));
	f.policy.workers_max = 3;
	settle(&f);
	assert_true(str_is(as_of(&f, "T4")->worker, "pool-1"));
	fixture_done(&f);
}

/* A clock that was wrong by a day and is set right does not hold work up for a day. */
TEST(clock_is_set_back_during_a_wait)
{
	struct fixture f;

	begin(&f, 1);
	bring_to(&f, "T1", STAGE_RUNNING);
	run_end(&f, "T1", 1);
	bring_to(&f, "T1", STAGE_HARVEST);
	effect_end(&f, "T1", FX_HARVEST, "ok", "", "'head': 'h', 'tree': 't', 'files_changed': 1");
	settle(&f);
	assert_int_equal(f.wake_at, f.now + 5 * OV_SECOND);
	f.now -= OV_DAY;
	settle(&f);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_RUN_START);
	fixture_done(&f);
}

TEST(agent_concurrency)
{
	struct fixture f;
	value *plan;

	fixture_init(&f);
	f.policy.workers_max = 4;
	plan = flat_plan(&f, 4);
	value_put(&f.arena, task_of(plan, 0, 0), "role", value_cstr(&f.arena, "single"));
	value_put(&f.arena, task_of(plan, 0, 1), "suggestedAgent", value_cstr(&f.arena, "b"));
	create_goal(&f, plan, NULL);
	settle(&f);
	assert_true(str_is(as_of(&f, "T1")->agent, "b"));
	assert_null(as_of(&f, "T2")); /* b takes one at a time */
	assert_true(str_is(as_of(&f, "T3")->agent, "a"));
	assert_true(str_is(as_of(&f, "T4")->agent, "a"));
	/* Whoever waits for a person does not use it up. */
	submit(&f, "work.update", json(&f, "{'node': 'T1', 'status': 'blocked', 'reason': 'x'}"));
	drain(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	assert_non_null(as_of(&f, "T1"));
	assert_int_equal(node_of(&f, "T2")->status, NODE_DONE);
	fixture_done(&f);
}

TEST(no_agent)
{
	struct fixture f;
	value *plan;

	fixture_init(&f);
	plan = flat_plan(&f, 3);
	value_put(&f.arena, task_of(plan, 0, 0), "suggestedAgent", value_cstr(&f.arena, "ghost"));
	value_put(&f.arena, task_of(plan, 0, 1), "suggestedAgent", value_cstr(&f.arena, "ghost"));
	create_goal(&f, plan, NULL);
	settle(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	assert_int_equal(node_of(&f, "T2")->status, NODE_BLOCKED);
	assert_non_null(as_of(&f, "T3"));
	assert_int_equal(f.state->escalations.n, 2); /* in one batch, each with its number */
	assert_int_equal(f.state->escalations.p[0]->number, 1);
	assert_int_equal(f.state->escalations.p[1]->number, 2);
	assert_true(str_contains(f.state->escalations.p[0]->question, STR("ghost")));
	fixture_done(&f);

	begin(&f, 1);
	f.policy.default_agent = STR("");
	settle(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	assert_true(str_contains(node_of(&f, "T1")->status_reason, STR("defaults.agent")));
	fixture_done(&f);
}

/* Priority first, then who has waited longest, then the order of goals and plans. */
TEST(order)
{
	static const char *const want[] = { "T3", "T1", "T1", "T2" };
	size_t at = 0;
	struct fixture f;
	str low, urgent;
	value *plan;

	fixture_init(&f);
	f.policy.workers_max = 1;
	plan = flat_plan(&f, 3);
	value_put(&f.arena, task_of(plan, 0, 2), "priority", value_int(&f.arena, 2));
	low = create_goal(&f, plan, "low");
	settle(&f); /* T3 is taken: it has a priority of its own, above its goal's */
	assert_non_null(node_in(&f, low, "T3")->assignment);
	f.now += OV_MINUTE;
	urgent = create_goal(&f, flat_plan(&f, 1), "urgent");
	settle(&f);
	assert_null(node_in(&f, urgent, "T1")->assignment);
	drain(&f);
	for (size_t i = 0; i < f.log.n; i++)
		if (f.log.p[i]->kind == EV_ASSIGNMENT_CREATED) {
			assert_true(str_is(f.log.p[i]->node, want[at]));
			assert_int_equal(at == 1, str_eq(f.log.p[i]->goal, urgent));
			at++;
		}
	assert_int_equal(at, 4);
	fixture_done(&f);
}

/* Among equals, whoever was queued first goes first, whichever goal is older. */
TEST(order_by_age)
{
	struct fixture f;
	str first, second;

	fixture_init(&f);
	f.policy.workers_max = 1;
	first = create_goal(&f, flat_plan(&f, 2), NULL);
	submit(&f, "work.update", json(&f, "{'node': 'T2', 'status': 'blocked', 'reason': 'x'}"));
	settle(&f);
	second = create_goal(&f, flat_plan(&f, 1), NULL);
	f.now += OV_SECOND;
	settle(&f);
	f.now += OV_SECOND;
	submit(&f, "work.update", json(&f, "{'node': 'T2', 'status': 'queued', 'reason': 'x'}"));
	submit(&f, "work.update",
			json(&f, "{'node': '" STR_FMT "/T1', 'status': 'done', 'reason': 'x'}",
					STR_ARG(first)));
	drain(&f);
	assert_true(str_eq(last_event(&f, EV_ASSIGNMENT_CREATED)->goal, first));
	assert_int_equal(state_goal(f.state, second)->status, GOAL_COMPLETED);
	fixture_done(&f);
}

TEST(dependencies)
{
	struct fixture f;
	value *plan;

	fixture_init(&f);
	f.policy.workers_max = 7;
	plan = json(&f,
			"{'phases': ["
			"{'id': 'P1', 'name': 'n', 'tasks': ["
			"{'id': 'T1', 'name': 'n', 'acceptance': ['x'], 'subtasks': ["
			"{'id': 'S1', 'name': 'n', 'acceptance': ['x']},"
			"{'id': 'S2', 'name': 'n', 'acceptance': ['x'], 'deps': ['S1']}]},"
			"{'id': 'T2', 'name': 'n', 'acceptance': ['x'], 'deps': ['T1']}]},"
			"{'id': 'P2', 'name': 'n', 'deps': ['P1'], 'tasks': ["
			"{'id': 'T3', 'name': 'n', 'acceptance': ['x']}]}]}");
	create_goal(&f, plan, NULL);
	settle(&f);
	assert_int_equal(node_of(&f, "S1")->status, NODE_QUEUED);
	assert_int_equal(node_of(&f, "S2")->status, NODE_TODO);
	assert_int_equal(node_of(&f, "T2")->status, NODE_TODO);
	assert_int_equal(node_of(&f, "T3")->status, NODE_TODO);
	bring_to(&f, "S1", STAGE_ACCEPT);
	accept_node(&f, "S1");
	assert_int_equal(node_of(&f, "T1")->status, NODE_IN_PROGRESS);
	assert_non_null(as_of(&f, "S2"));
	assert_null(as_of(&f, "T2"));
	bring_to(&f, "S2", STAGE_ACCEPT);
	accept_node(&f, "S2");
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	assert_non_null(as_of(&f, "T2"));
	assert_null(as_of(&f, "T3"));
	/* A dependency that a person settles counts as well. */
	submit(&f, "work.update", json(&f, "{'node': 'T2', 'status': 'done', 'reason': 'x'}"));
	settle(&f);
	assert_int_equal(node_of(&f, "P1")->status, NODE_DONE);
	assert_non_null(as_of(&f, "T3"));
	drain(&f);
	assert_int_equal(f.state->goals.p[0]->status, GOAL_COMPLETED);
	fixture_done(&f);
}

static void goal_status(struct fixture *f, size_t goal, const char *from, const char *to)
{
	struct event e = { .kind = EV_GOAL_STATUS, .goal = f->state->goals.p[goal]->id };

	e.data = json(f, "{'from': '%s', 'to': '%s', 'reason': 'x'}", from, to);
	assert_int_equal(append(f, &e, NULL), 0);
}

/* What has begun is brought to a safe end; nothing new begins. */
TEST(paused_goal)
{
	struct fixture f;

	begin(&f, 2);
	f.policy.workers_max = 1;
	bring_to(&f, "T1", STAGE_RUNNING);
	goal_status(&f, 0, "active", "paused");
	settle(&f);
	run_end(&f, "T1", 0);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "", HARVESTED);
	settle(&f);
	assert_int_equal(as_of(&f, "T1")->stage, STAGE_REBASE);
	assert_null(effect_of(&f, "T1"));
	assert_null(as_of(&f, "T2"));
	goal_status(&f, 0, "paused", "active");
	drain(&f);
	assert_int_equal(f.state->goals.p[0]->status, GOAL_COMPLETED);
	fixture_done(&f);

	begin(&f, 1);
	bring_to(&f, "T1", STAGE_WORKSPACE);
	goal_status(&f, 0, "active", "paused");
	effect_end(&f, "T1", FX_WORKSPACE, "ok", "", "'base': 'b'");
	settle(&f);
	assert_int_equal(count_events(&f, EV_RUN_CREATED), 0);
	fixture_done(&f);
}

TEST(no_capacity)
{
	struct fixture f;

	begin(&f, 2);
	f.policy.workers_max = 2;
	bring_to(&f, "T1", STAGE_WORKSPACE);
	f.telemetry.no_capacity = STR("memory is short");
	create_goal(&f, flat_plan(&f, 1), NULL);
	settle(&f);
	assert_null(as_of(&f, "T1")); /* of the new goal: queued, no more */
	assert_int_equal(node_of(&f, "T1")->status, NODE_QUEUED);
	f.telemetry.no_capacity = STR("");
	drain(&f);
	assert_int_equal(f.state->goals.p[1]->status, GOAL_COMPLETED);
	fixture_done(&f);

	/* A start waits; what runs is finished and accepted. */
	begin(&f, 1);
	bring_to(&f, "T1", STAGE_WORKSPACE);
	f.telemetry.no_capacity = STR("load");
	effect_end(&f, "T1", FX_WORKSPACE, "ok", "", "'base': 'b'");
	settle(&f);
	assert_int_equal(count_events(&f, EV_RUN_CREATED), 0);
	f.telemetry.no_capacity = STR("");
	bring_to(&f, "T1", STAGE_RUNNING);
	f.telemetry.no_capacity = STR("load");
	bring_to(&f, "T1", STAGE_ACCEPT);
	accept_node(&f, "T1");
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	fixture_done(&f);
}

/* Each accept sees the target as the last one left it; the more urgent one goes first. */
TEST(one_accept_at_a_time)
{
	struct fixture f;
	value *plan;

	fixture_init(&f);
	f.policy.workers_max = 3;
	plan = flat_plan(&f, 3);
	value_put(&f.arena, task_of(plan, 0, 2), "priority", value_int(&f.arena, 1));
	create_goal(&f, plan, NULL);
	for (int i = 1; i <= 3; i++) {
		static const char *const ids[] = { "T1", "T2", "T3" };

		bring_to(&f, ids[i - 1], STAGE_HARVEST);
	}
	effect_end(&f, "T1", FX_HARVEST, "ok", "", HARVESTED);
	settle(&f);
	effect_end(&f, "T2", FX_HARVEST, "ok", "", HARVESTED);
	effect_end(&f, "T3", FX_HARVEST, "ok", "", HARVESTED);
	settle(&f);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_REBASE);
	assert_null(effect_of(&f, "T2"));
	assert_null(effect_of(&f, "T3"));
	/* While one waits for a dirty checkout, another may go on. */
	effect_end(&f, "T1", FX_REBASE, "dirty", "", "");
	settle(&f);
	assert_int_equal(effect_of(&f, "T3")->kind, FX_REBASE);
	assert_null(effect_of(&f, "T2"));
	drain(&f);
	assert_int_equal(f.state->goals.p[0]->status, GOAL_COMPLETED);
	fixture_done(&f);
}

/* Deciding changes nothing, and deciding again decides the same. */
TEST(pure)
{
	struct fixture f;
	struct rng rng = { 77 };

	fixture_init(&f);
	for (int i = 0; i < 400; i++) {
		struct world w = { f.state, &f.policy };
		str before;
		struct decisions x, y;

		random_step(&f, &rng);
		before = snapshot_of(&f, f.state);
		x = reconcile(&f.arena, &w, &f.telemetry, f.now);
		y = reconcile(&f.arena, &w, &f.telemetry, f.now);
		assert_true(str_eq(json_text(&f.arena, decisions_view(&f.arena, &x)),
				json_text(&f.arena, decisions_view(&f.arena, &y))));
		assert_true(str_eq(before, snapshot_of(&f, f.state)));
		assert_true(x.wake_at > f.now);
	}
	fixture_done(&f);
}

/* Every one of them could not be reset, and a person is asked about it. */
static bool all_workers_in_error(const struct fixture *f)
{
	int64_t n = 0;

	for (size_t i = 0; i < f->state->workers.n; i++)
		n += f->state->workers.p[i]->kind == WORKER_POOL &&
				f->state->workers.p[i]->status == WORKER_ERROR;
	return n >= f->policy.workers_max;
}

/* Its task keeps it until its agent can work again, or a person has answered. */
static bool waits_there(struct fixture *f, const struct worker *w)
{
	struct slots sl = slots_init(f->state, &f->policy, f->now);
	const struct assignment *as = state_assignment(f->state, w->assignment_id);

	return as && assignment_may_yield(&sl, as);
}

/* Whatever happened before, once everything works again all work comes to an end. */
TEST(every_open_item_has_a_next_step)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct rng rng = { seed * 31 };
		struct fixture f;

		fixture_init(&f);
		create_goal(&f, flat_plan(&f, 4), NULL);
		for (int i = 0; i < 250; i++)
			random_step(&f, &rng);
		f.telemetry.no_capacity = STR("");
		for (size_t g = 0; g < f.state->goals.n; g++)
			if (f.state->goals.p[g]->status == GOAL_PAUSED)
				goal_status(&f, g, "paused", "active");
		for (size_t g = 0; g < f.state->goals.n; g++)
			(void)try_submit(&f, "goal.update",
					json(&f,
							"{'goal': '" STR_FMT
							"', 'budget': {'iterations': 'unlimited', "
							"'wall_ms': 'unlimited'}}",
							STR_ARG(f.state->goals.p[g]->id)),
					NULL);
		drain(&f);
		for (size_t g = 0; g < f.state->goals.n; g++)
			for (size_t i = 0; i < f.state->goals.p[g]->nodes.n; i++) {
				const struct node *n = f.state->goals.p[g]->nodes.p[i];

				/*
				 * Finished, before a person (as are logged-out agents), or waiting
				 * for one that is.
				 */
				if (node_is_leaf(n))
					assert_true(node_is_final(n) || n->status == NODE_BLOCKED ||
							(n->status == NODE_QUEUED &&
									(f.state->lanes.n ||
											all_workers_in_error(
													&f))) ||
							(n->status == NODE_TODO &&
									!node_is_ready(f.state,
											n)));
			}
		/* One that could not be reset is before a person, too; others wait for an agent. */
		for (size_t i = 0; i < f.state->workers.n; i++)
			assert_true(f.state->workers.p[i]->status == WORKER_IDLE ||
					f.state->workers.p[i]->status == WORKER_ERROR ||
					waits_there(&f, f.state->workers.p[i]));
		fixture_done(&f);
	}
}

TEST_MAIN
