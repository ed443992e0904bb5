/* Loops within one run: found while it goes on, answered once, and told where it can be told. */
#include "tests/test.h"

#include "agent/table/formats.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/state/snapshot.h"
#include "tests/unit/core_fixture.h"

TEST_MAIN

/* T1 runs by an agent whose sessions can go on ("a"), or not ("b"). */
static const struct node *running(struct fixture *f, const char *agent)
{
	struct policy_agent *agents;

	fixture_init(f);
	agents = arena_array(&f->arena, struct policy_agent, 2);
	agents[0] = (struct policy_agent){ .name = STR("a"),
		.concurrency = 8,
		.format = format_find(STR("claude")),
		.recovery = RUNG_RESEND };
	agents[1] = (struct policy_agent){ .name = STR("b"), .concurrency = 8 };
	f->policy.agents = agents;
	f->policy.agents_n = 2;
	f->policy.default_agent = str_from(agent);
	f->policy.check_command = STR("make check");
	f->policy.retry_max_attempts = 100;
	create_goal(f, flat_plan(f, 2), NULL);
	bring_to(f, "T1", STAGE_RUNNING);
	return node_of(f, "T1");
}

static void ready(struct fixture *f, const struct node *n)
{
	submit(f, "run.session",
			json(f, "{'run': '" STR_FMT "', 'session': 's-1', 'model': 'm'}",
					STR_ARG(n->assignment->run_id)));
}

static struct observation *repeats(struct fixture *f, const struct node *n, int64_t calls)
{
	struct observation *o = observe(f, n);

	o->output_at = f->now;
	o->same_calls = calls;
	o->same_since = f->now - OV_MINUTE;
	o->same_call = STR("Bash: make test");
	settle(f);
	return o;
}

static size_t found(const struct node *n)
{
	return n->goal->detections.n;
}

static const struct detection *newest(const struct node *n)
{
	return vec_last(&n->goal->detections);
}

/* The state is its snapshot, and the fold of the log. */
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

static str instruction(struct fixture *f)
{
	return value_str_at(last_event(f, EV_DISPATCH_INTENDED)->data, "instruction");
}

/* The interrupted run comes to its end, and its session goes on. */
static void goes_on(struct fixture *f)
{
	effect_end(f, "T1", FX_RUN_STOP, "ok", "", "");
	submit(f, "run.end",
			json(f, "{'run': '" STR_FMT "', 'exit_code': 143, 'signal': 0}",
					STR_ARG(node_of(f, "T1")->assignment->run_id)));
	settle(f);
	effect_end(f, "T1", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 0, 'files_changed': 0");
	settle(f);
	effect_end(f, "T1", FX_RUN_START, "ok", "", "");
	settle(f);
}

static void set(struct fixture *f, const char *assignment)
{
	struct ov_err err = { 0 };

	if (oversight_set(&f->policy.oversight, str_from(assignment), &err) < 0)
		fail_msg("%s", err.msg);
}

TEST(a_run_whose_session_can_go_on_is_interrupted_once)
{
	struct fixture f;
	const struct node *n = running(&f, "a");

	ready(&f, n);
	repeats(&f, n, 19);
	assert_int_equal(found(n), 0);
	assert_int_equal(n->assignment->stage, STAGE_RUNNING);
	repeats(&f, n, 20);
	assert_int_equal(found(n), 1);
	assert_int_equal(newest(n)->type, DETECT_STUCK);
	assert_int_equal(newest(n)->severity, SEVERITY_HIGH);
	assert_int_equal(newest(n)->level, LEVEL_REDIRECT);
	assert_true(str_is(newest(n)->message,
			"Loop stuck: Same tool call repeated 20 times in one run"));
	assert_true(str_is(newest(n)->evidence,
			"{\"occurrences\":20,\"repeatedToolCall\":\"Bash: make test\"}"));
	assert_true(str_contains(newest(n)->did, STR("the run is interrupted")));
	assert_true(n->assignment->stopping);
	assert_int_equal(n->goal->health, HEALTH_WARNING);
	check_restart(&f);
	repeats(&f, n, 30);
	assert_int_equal(found(n), 1);
	goes_on(&f);
	assert_true(str_is(n->assignment->run->session, "s-1"));
	assert_true(str_starts(instruction(&f), STR("From the overseer of this task")));
	assert_true(str_contains(instruction(&f),
			STR("You have called \"Bash: make test\" 20 times in a row, with the same "
			    "answer each time.")));
	assert_true(str_contains(instruction(&f), STR("You were interrupted")));
	/* Nothing has failed by it, and no attempt is used up. */
	assert_int_equal(count_events(&f, EV_NODE_FAILED), 0);
	assert_int_equal(count_events(&f, EV_ITERATION_RECORDED), 0);
	check_restart(&f);
	fixture_done(&f);
}

TEST(who_does_the_same_again_after_that_is_paused)
{
	struct fixture f;
	const struct node *n = running(&f, "a");

	ready(&f, n);
	set(&f, "pause=goal");
	repeats(&f, n, 20);
	goes_on(&f);
	ready(&f, n);
	repeats(&f, n, 25);
	assert_int_equal(found(n), 2);
	assert_int_equal(newest(n)->severity, SEVERITY_CRITICAL);
	assert_int_equal(n->goal->status, GOAL_PAUSED);
	assert_true(n->goal->freezes);
	assert_int_equal(f.state->escalations.n, 1);
	assert_true(str_contains(f.state->escalations.p[0]->question, STR("Bash: make test")));
	check_restart(&f);
	/* A person lets it go on: what was seen of this run is not held against it again. */
	submit(&f, "goal.resume",
			json(&f, "{'goal': '" STR_FMT "', 'reason': 'it waits for CI'}",
					STR_ARG(n->goal->id)));
	repeats(&f, n, 26);
	assert_int_equal(found(n), 2);
	assert_int_equal(n->assignment->stage, STAGE_RUNNING);
	fixture_done(&f);
}

TEST(a_run_that_cannot_go_on_is_left_to_finish_and_the_next_is_told)
{
	struct fixture f;
	const struct node *n = running(&f, "b");

	repeats(&f, n, 20);
	assert_int_equal(found(n), 1);
	assert_true(str_contains(newest(n)->did, STR("left to finish")));
	assert_int_equal(n->assignment->stage, STAGE_RUNNING);
	assert_false(n->assignment->stopping);
	repeats(&f, n, 40);
	assert_int_equal(found(n), 1);
	/* Its own iteration does not take away what only the next run can be told. */
	bring_to(&f, "T1", STAGE_CHECK);
	settle(&f);
	effect_end(&f, "T1", FX_CHECK, "failed", "error: red", "");
	settle(&f);
	assert_int_equal(count_events(&f, EV_ITERATION_RECORDED), 1);
	assert_true(str_contains(n->watch.guidance, STR("OVERRIDE")));
	check_restart(&f);
	f.now += OV_HOUR;
	bring_to(&f, "T1", STAGE_RUNNING);
	assert_true(str_contains(instruction(&f), STR("OVERRIDE: Change approach immediately.")));
	bring_to(&f, "T1", STAGE_CHECK);
	settle(&f);
	effect_end(&f, "T1", FX_CHECK, "failed", "error: still red", "");
	settle(&f);
	assert_int_equal(n->watch.guidance.n, 0);
	check_restart(&f);
	fixture_done(&f);
}

TEST(what_changes_the_tree_is_no_loop)
{
	struct fixture f;
	const struct node *n = running(&f, "a");
	struct observation *o = observe(&f, n);

	ready(&f, n);
	o->tree_at = f.now;
	repeats(&f, n, 50);
	assert_int_equal(found(n), 0);
	o->tree_at = f.now - OV_HOUR;
	settle(&f);
	assert_int_equal(found(n), 1);
	fixture_done(&f);
}

/*
 * Each is a sleep and a question, perhaps: for some time that is how one waits for
 * something elsewhere.
 */
TEST(equal_calls_that_are_far_apart_have_to_last)
{
	struct fixture f;
	const struct node *n = running(&f, "a");
	struct observation *o = observe(&f, n);

	ready(&f, n);
	o->same_since = f.now;
	o->same_call = STR("Bash: sleep 30; gh run view");
	for (o->same_calls = 1; o->same_calls < 25; o->same_calls++) {
		f.now += 36 * OV_SECOND;
		o->output_at = f.now;
		settle(&f);
		assert_int_equal(found(n), 0);
	}
	f.now += 36 * OV_SECOND;
	settle(&f);
	assert_int_equal(found(n), 1);
	fixture_done(&f);
}

TEST(the_configuration_says_from_when_on_and_how)
{
	struct fixture f;
	const struct node *n = running(&f, "a");

	ready(&f, n);
	set(&f, "stuck.same_call_count=0");
	repeats(&f, n, 1000);
	assert_int_equal(found(n), 0);
	set(&f, "stuck.same_call_count=5");
	set(&f, "levels.stuck_high=none");
	repeats(&f, n, 1001);
	assert_int_equal(found(n), 0);
	set(&f, "levels.stuck_high=warn");
	repeats(&f, n, 1002);
	assert_int_equal(found(n), 1);
	assert_int_equal(newest(n)->level, LEVEL_WARN);
	assert_int_equal(n->assignment->stage, STAGE_RUNNING);
	assert_true(str_contains(n->watch.guidance, STR("the same call again and again")));
	check_restart(&f);
	fixture_done(&f);
}

TEST(a_pause_may_be_of_the_node_alone_and_an_abort_stops_the_run)
{
	static const char *const levels_of[] = { "levels.stuck_high=pause",
		"levels.stuck_high=abort" };

	for (size_t i = 0; i < ARRAY_LEN(levels_of); i++) {
		struct fixture f;
		const struct node *n = running(&f, "a");

		ready(&f, n);
		set(&f, levels_of[i]);
		set(&f, "pause=node");
		repeats(&f, n, 20);
		assert_int_equal(found(n), 1);
		assert_int_equal(n->goal->status, i ? GOAL_PAUSED : GOAL_ACTIVE);
		assert_int_equal(n->goal->health == HEALTH_ABORTED, i);
		assert_int_equal(n->block.kind == BLOCK_PAUSED, !i);
		assert_int_equal(f.state->escalations.n, 1);
		check_restart(&f);
		fixture_done(&f);
	}
}

TEST(nothing_is_found_in_a_run_that_is_held_or_being_ended)
{
	struct fixture f;
	const struct node *n = running(&f, "a");
	struct observation *o;

	ready(&f, n);
	submit(&f, "goal.pause",
			json(&f, "{'goal': '" STR_FMT "', 'reason': 'lunch'}",
					STR_ARG(n->goal->id)));
	o = repeats(&f, n, 20);
	assert_int_equal(found(n), 0);
	o->same_calls = 0;
	submit(&f, "goal.resume",
			json(&f, "{'goal': '" STR_FMT "', 'reason': 'back'}",
					STR_ARG(n->goal->id)));
	submit(&f, "work.nudge", json(&f, "{'node': 'T1', 'now': true}"));
	repeats(&f, n, 20);
	assert_int_equal(found(n), 0);
	fixture_done(&f);
}

/*
 * Its agent ended the run by itself; the next one is ordered to do it otherwise, and then a
 * person is asked.
 */
static void stops_itself(struct fixture *f, const struct node *n)
{
	submit(f, "run.end",
			json(f,
					"{'run': '" STR_FMT
					"', 'exit_code': 0, 'signal': 0, 'verdict': "
					"'failed', 'trouble': 'loop', 'tool': 'Bash: echo same', "
					"'tool_digest': 'd', 'tool_repeats': 5}",
					STR_ARG(n->assignment->run_id)));
	settle(f);
	effect_end(f, "T1", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 0, 'files_changed': 0");
	settle(f);
}

TEST(a_loop_that_the_agent_found_itself_is_answered_like_ours)
{
	struct fixture f;
	const struct node *n = running(&f, "a");

	ready(&f, n);
	stops_itself(&f, n);
	assert_int_equal(found(n), 1);
	assert_int_equal(newest(n)->type, DETECT_STUCK);
	assert_int_equal(newest(n)->severity, SEVERITY_HIGH);
	assert_int_equal(newest(n)->level, LEVEL_REDIRECT);
	assert_true(str_contains(newest(n)->evidence, STR("Bash: echo same")));
	check_restart(&f);
	f.now += OV_HOUR;
	settle(&f);
	effect_end(&f, "T1", FX_RUN_START, "ok", "", "");
	settle(&f);
	assert_true(str_contains(instruction(&f), STR("OVERRIDE: Change approach immediately.")));
	assert_true(str_contains(instruction(&f),
			STR("You were stopped because you did the same")));
	/* The same again: the order did not help. */
	ready(&f, n);
	stops_itself(&f, n);
	assert_int_equal(found(n), 2);
	assert_int_equal(newest(n)->severity, SEVERITY_CRITICAL);
	assert_int_equal(n->status, NODE_BLOCKED);
	assert_int_equal(n->block.kind, BLOCK_PAUSED);
	fixture_done(&f);
}

TEST(nobody_is_ordered_about_where_loops_are_not_looked_for)
{
	struct fixture f;
	const struct node *n = running(&f, "a");

	set(&f, "stuck.same_call_count=0");
	ready(&f, n);
	stops_itself(&f, n);
	assert_int_equal(found(n), 0);
	assert_int_equal(n->work.failures[CAUSE_RUN], 1);
	fixture_done(&f);
}

/* A raw agent's output repeats itself. */
static struct observation *writes_again(struct fixture *f, const struct node *n, int64_t blocks)
{
	struct observation *o = observe(f, n);

	o->same_output = true;
	o->same_calls = blocks;
	o->same_call = STR("waiting for the server");
	o->output_at = o->same_at = f->now;
	settle(f);
	return o;
}

TEST(output_that_repeats_itself_is_a_loop_when_no_file_changes)
{
	struct fixture f;
	const struct node *n = running(&f, "b");
	struct observation *o = observe(&f, n);

	o->same_since = f.now;
	f.now += 150 * OV_SECOND;
	writes_again(&f, n, 5);
	o->looked_at = f.now; /* something to compare with */
	f.now += 749 * OV_SECOND;
	writes_again(&f, n, 20);
	o->looked_at = f.now;
	settle(&f);
	assert_int_equal(found(n), 0);
	o->looked_at = f.now - 600 * OV_SECOND;
	f.now += OV_SECOND;
	writes_again(&f, n, 20);
	/* It was not looked at since. */
	assert_int_equal(found(n), 0);
	o->looked_at = f.now;
	settle(&f);
	assert_int_equal(found(n), 1);
	assert_true(str_contains(newest(n)->message, STR("Same output repeated 20 times")));
	assert_true(str_contains(newest(n)->did, STR("left to finish")));
	assert_int_equal(n->assignment->stage, STAGE_RUNNING);
	assert_true(str_contains(n->watch.guidance,
			STR("You have written \"waiting for the server\"")));
	assert_false(str_contains(n->watch.guidance, STR("call")));
	check_restart(&f);
	/* Its own good work does not show that the answer helped: it was never told. */
	bring_to(&f, "T1", STAGE_ACCEPT);
	accept_node(&f, "T1");
	assert_int_equal(newest(n)->effectiveness, EFFECT_UNKNOWN);
	fixture_done(&f);
}

/* A look compares with the one before, which may have been before the loop. */
TEST(a_change_before_the_loop_delays_it_only)
{
	struct fixture f;
	const struct node *n = running(&f, "b");
	struct observation *o = observe(&f, n);

	o->same_since = f.now;
	f.now += 150 * OV_SECOND;
	writes_again(&f, n, 5);
	o->looked_at = o->tree_at = f.now;
	f.now += 780 * OV_SECOND;
	writes_again(&f, n, 20);
	o->looked_at = f.now;
	settle(&f);
	assert_int_equal(found(n), 0);
	f.now += 120 * OV_SECOND;
	writes_again(&f, n, 24);
	o->looked_at = f.now;
	settle(&f);
	assert_int_equal(found(n), 1);
	fixture_done(&f);
}

/*
 * Nobody can tell it anything while it runs: a person is told, once, though it is heard all
 * the time.
 */
TEST(output_that_repeats_itself_for_long_is_put_before_a_person)
{
	struct fixture f;
	const struct node *n = running(&f, "b");
	struct observation *o = observe(&f, n);
	ov_time since = f.now;

	f.policy.mute_after = 10 * OV_MINUTE;
	o->same_since = since;
	for (int64_t i = 1; f.now - since < 2 * f.policy.mute_after; i++) {
		f.now += 30 * OV_SECOND;
		o->looked_at = f.now;
		writes_again(&f, n, 10 * i);
		assert_int_equal(f.state->escalations.n, f.now - since >= f.policy.mute_after);
	}
	assert_true(str_is(f.state->escalations.p[0]->kind, "mute"));
	assert_true(str_contains(f.state->escalations.p[0]->question,
			STR("has written the same 200 times and changed no file for 10m: \"waiting "
			    "for "
			    "the server\"")));
	assert_int_equal(n->assignment->stage, STAGE_RUNNING);
	/* A new daemon hears it, and does not know yet that it is always the same. */
	o->known_since = f.now;
	o->same_output = false;
	o->same_since = f.now;
	for (int64_t i = 0; i < 2; i++) {
		f.now += f.policy.idle_after / 2 - OV_SECOND;
		o->output_at = o->looked_at = f.now;
		settle(&f);
		assert_int_equal(f.state->escalations.p[0]->status, ESC_OPEN);
	}
	/* It says something else. */
	o->same_output = false;
	o->same_calls = 0;
	f.now += f.policy.idle_after / 2;
	o->output_at = f.now;
	settle(&f);
	assert_int_not_equal(f.state->escalations.p[0]->status, ESC_OPEN);
	fixture_done(&f);
}

TEST(output_that_repeats_itself_is_no_loop)
{
	for (int i = 0; i < 5; i++) {
		struct fixture f;
		const struct node *n = running(&f, "b");
		struct observation *o = observe(&f, n);

		if (i == 0) /* it is all of one moment */
			o->same_since = f.now + 880 * OV_SECOND;
		else
			o->same_since = f.now;
		f.now += 900 * OV_SECOND;
		o->looked_at = f.now;
		if (i == 1)
			o->tree_at = f.now - OV_SECOND;
		if (i == 2)
			o->tree_unknown = true;
		if (i == 3)
			set(&f, "stuck.same_output_seconds=0");
		writes_again(&f, n, i == 4 ? 19 : 20);
		assert_int_equal(found(n), 0);
		fixture_done(&f);
	}
}
