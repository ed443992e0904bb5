/* Agents that fail again and again, on several tasks: they are given no more work. */
#include "tests/test.h"

#include "tests/unit/core_fixture.h"

/* Three tasks, the agent takes one at a time, and each may fail often. */
static void begin(struct fixture *f)
{
	fixture_init(f);
	oversight_off(f);
	f->policy.agent_failures = 3;
	f->policy.workers_max = 1;
	f->policy.retry_max_attempts = 2;
	f->policy.no_changes_attempts = 2;
	create_goal(f, flat_plan(f, 3), NULL);
}

static void change_nothing(struct fixture *f, const char *node)
{
	bring_to(f, node, STAGE_HARVEST);
	effect_end(f, node, FX_HARVEST, "ok", "",
			"'head':'h','tree':'t','commits':0,'files_changed':0");
	f->now += OV_HOUR;
}

static const struct escalation *open_entry(const struct fixture *f, const char *kind)
{
	for (size_t i = 0; i < f->state->escalations.n; i++)
		if (f->state->escalations.p[i]->status == ESC_OPEN &&
				str_is(f->state->escalations.p[i]->kind, kind))
			return f->state->escalations.p[i];
	return NULL;
}

static size_t open_entries(const struct fixture *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->state->escalations.n; i++)
		n += f->state->escalations.p[i]->status == ESC_OPEN;
	return n;
}

static void resume(struct fixture *f)
{
	submit(f, "inbox.answer",
			json(f, "{'number':%lld,'answer':'resume'}",
					(long long)open_entry(f, "agent_failing")->number));
	settle(f);
}

TEST(failures_in_a_row_over_two_tasks_take_it_out_of_service)
{
	struct fixture f;
	const struct escalation *x;

	begin(&f);
	change_nothing(&f, "T1");
	change_nothing(&f, "T1"); /* given up */
	settle(&f);
	assert_null(state_lane(f.state, STR("a")));
	assert_non_null(open_entry(&f, "no_changes"));
	change_nothing(&f, "T2");
	settle(&f);
	assert_int_equal(state_lane(f.state, STR("a"))->kind, BLOCK_FAILING);
	x = open_entry(&f, "agent_failing");
	assert_true(str_contains(x->question, STR("agent a is out of service")) &&
			str_contains(x->question, STR("3 runs")) &&
			str_contains(x->question, STR("changed nothing")));
	f.now += OV_DAY;
	settle(&f);
	assert_int_equal(count_events(&f, EV_RUN_CREATED), 3);
	assert_int_equal(count_events(&f, EV_AGENT_LIMITED), 1);
	/* Its state is kept. */
	assert_non_null(strstr(arena_cstr(&f.arena, snapshot_of(&f, f.state)), "streaks"));
	resume(&f);
	assert_null(state_lane(f.state, STR("a")));
	assert_int_equal(f.state->streaks.n, 0);
	assert_int_equal(count_events(&f, EV_RUN_CREATED), 4);
	fixture_done(&f);
}

/*
 * Nobody is asked about each of them: its tasks are in the entry, and tried again when it
 * is answered.
 */
TEST(one_entry_for_all_that_it_failed_at)
{
	struct fixture f;
	const struct escalation *x;

	begin(&f);
	change_nothing(&f, "T1");
	change_nothing(&f, "T1");
	change_nothing(&f, "T2");
	settle(&f);
	x = open_entry(&f, "agent_failing");
	assert_int_equal(open_entries(&f), 1);
	assert_true(str_contains(x->question, STR("/T1 \"")) &&
			str_contains(x->question, STR("/T2 \"")) &&
			!str_contains(x->question, STR("/T3 \"")));
	assert_true(str_contains(x->question, STR("failed 2 times (no_changes)")));
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	/* T2 waits where it is, T1 is tried again. */
	assert_int_equal(node_of(&f, "T2")->assignment->stage, STAGE_START);
	resume(&f);
	assert_int_equal(open_entries(&f), 0);
	assert_int_equal(node_of(&f, "T1")->status, NODE_QUEUED);
	assert_int_equal(node_of(&f, "T1")->work.failures[CAUSE_NO_CHANGES], 0);
	assert_int_equal(node_of(&f, "T2")->status, NODE_IN_PROGRESS);
	fixture_done(&f);
}

TEST(one_that_is_given_up_later_is_part_of_it)
{
	struct fixture f;

	begin(&f);
	f.policy.workers_max = 2;
	f.policy.no_changes_attempts = 1;
	f.policy.agent_failures = 2;
	bring_to(&f, "T2", STAGE_RUNNING);
	change_nothing(&f, "T1");
	bring_to(&f, "T3", STAGE_RUNNING);
	change_nothing(&f, "T2");
	settle(&f);
	assert_non_null(open_entry(&f, "agent_failing"));
	change_nothing(&f, "T3");
	settle(&f);
	assert_int_equal(open_entries(&f), 1);
	assert_int_equal(node_of(&f, "T3")->block.kind, BLOCK_FAILED);
	/* An answer about one task alone takes it out of this. */
	submit(&f, "work.cancel", json(&f, "{'node': 'T2', 'reason': 'r'}"));
	f.policy.workers_max = 3;
	resume(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_QUEUED);
	assert_int_equal(node_of(&f, "T2")->status, NODE_CANCELLED);
	assert_int_equal(node_of(&f, "T3")->status, NODE_QUEUED);
	fixture_done(&f);
}

/* What failed before its last good work is another matter. */
TEST(an_older_failure_keeps_its_own_entry)
{
	struct fixture f;

	begin(&f);
	create_goal(&f, flat_plan(&f, 4), NULL);
	f.policy.no_changes_attempts = 1;
	f.policy.agent_failures = 2;
	f.policy.workers_max = 8;
	change_nothing(&f, "T1");
	bring_to(&f, "T2", STAGE_ACCEPT);
	accept_node(&f, "T2");
	f.now += OV_HOUR;
	change_nothing(&f, "T3");
	change_nothing(&f, "T4");
	settle(&f);
	assert_int_equal(open_entries(&f), 2);
	assert_true(str_is(open_entry(&f, "no_changes")->node_id, "T1"));
	resume(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	assert_int_equal(open_entries(&f), 1);
	fixture_done(&f);
}

TEST(one_task_alone_does_not)
{
	struct fixture f;

	begin(&f);
	f.policy.no_changes_attempts = f.policy.retry_max_attempts = 10;
	for (int i = 0; i < 6; i++)
		change_nothing(&f, "T1");
	settle(&f);
	assert_null(state_lane(f.state, STR("a")));
	assert_int_equal(f.state->streaks.p[0]->failures, 6);
	fixture_done(&f);
}

TEST(work_that_is_good_begins_the_count_again)
{
	struct fixture f;

	begin(&f);
	change_nothing(&f, "T1");
	change_nothing(&f, "T1");
	bring_to(&f, "T2", STAGE_ACCEPT);
	assert_int_equal(f.state->streaks.n, 0);
	accept_node(&f, "T2");
	change_nothing(&f, "T3");
	settle(&f);
	assert_null(state_lane(f.state, STR("a")));
	fixture_done(&f);
}

TEST_MAIN
