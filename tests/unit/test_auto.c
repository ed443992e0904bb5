/* Auto mode: what the pool's answers mean, when it is asked, and what becomes of its tasks. */
#include "tests/test.h"

#include "core/capacity/auto_mode.h"
#include "core/capacity/budget.h"
#include "core/model/limits.h"
#include "core/plan/pool.h"
#include "core/state/snapshot.h"
#include "core/view/view.h"
#include "core/work/standing.h"
#include "data/message/vital.h"
#include "data/value/json.h"
#include "tests/unit/core_fixture.h"

TEST(answers)
{
	static char long_text[LIMIT_TEXT + 2];
	const struct {
		struct pool_end end;
		enum effect_outcome answer;
		const char *text;
	} cases[] = {
		{ { .known = true, .output = STR(" Mend it \n") }, ENDED_TASK, "Mend it" },
		{ { .known = true, .output = STR("a\nb\n") }, ENDED_TASK, "a\nb" },
		{ { .known = true }, ENDED_NONE, "it had no task" },
		{ { .known = true, .output = STR(" \n\t\n") }, ENDED_NONE, "it had no task" },
		{ { .known = true, .code = 4, .output = STR("x") }, ENDED_NONE, "it had no task" },
		{ { .known = true, .code = 3 }, ENDED_FAILED, "it gave up (exit status 3)" },
		{ { .known = true, .code = 3, .error_lines = STR("no disk\n") }, ENDED_FAILED,
				"it gave up (exit status 3): no disk" },
		{ { .known = true, .code = 1, .output = STR("x") }, ENDED_FAILED, "exit status 1" },
		{ { .known = true, .code = 127 }, ENDED_FAILED, "exit status 127" },
		{ { .known = true, .code = -1, .signal = 9 }, ENDED_FAILED,
				"it was ended by signal 9" },
		{ { .known = true, .timed_out = true, .output = STR("x") }, ENDED_FAILED,
				"it took longer than auto.task_pool_timeout" },
		{ { .known = true, .output = { long_text, LIMIT_TEXT } }, ENDED_TASK, long_text },
		{ { .known = true, .output = { long_text, LIMIT_TEXT + 1 } }, ENDED_REFUSED,
				"it has more than the 64 KiB that a task may have" },
		{ { .known = true, .output = STR("caf\xe9") }, ENDED_FAILED,
				"its task is not text in UTF-8" },
		{ { .known = true, .output = { "a\0b", 3 } }, ENDED_FAILED,
				"its task is not text in UTF-8" },
		{ { .known = false }, ENDED_NONE, "" },
		{ { .known = false, .output = STR("half a ta") }, ENDED_UNCERTAIN, "half a ta" },
	};
	struct arena a = ARENA_INIT;

	memset(long_text, 'x', LIMIT_TEXT + 1);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		str text = STR("untouched");

		assert_int_equal(pool_judge(&a, &cases[i].end, &text), cases[i].answer);
		if (cases[i].text != long_text)
			assert_string_equal(arena_cstr(&a, text), cases[i].text);
	}
	arena_done(&a);
}

/* A daemon that was started for it, with two workers. */
static void on(struct fixture *f)
{
	fixture_init(f);
	f->policy.auto_mode = true;
	f->policy.auto_agent = f->policy.default_agent;
	f->policy.auto_concurrency = 2;
	f->policy.pool_wait = 10 * OV_SECOND;
	f->policy.pool_wait_max = 30 * OV_SECOND;
	f->policy.pool_retry_wait = 20 * OV_SECOND;
	f->policy.auto_failures = 3;
	submit(f, "auto.start", json(f, "{'instance':'I_1'}"));
}

static bool asked(struct fixture *f)
{
	tick(f);
	return f->state->pool != NULL;
}

static void answer(struct fixture *f, const char *outcome, const char *detail, const char *data)
{
	str id = arena_str(&f->arena, f->state->pool->id);

	submit(f, "effect.end",
			json(f, "{'effect':'" STR_FMT "','outcome':'%s','detail':'%s','data':%s}",
					STR_ARG(id), outcome, detail, data));
	/* Told twice it changes nothing. */
	submit(f, "effect.end",
			json(f, "{'effect':'" STR_FMT "','outcome':'%s','detail':'%s','data':%s}",
					STR_ARG(id), outcome, detail, data));
	assert_null(f->state->pool);
	check_invariants(f->state, &f->policy);
}

static void give(struct fixture *f, const char *text)
{
	assert_true(asked(f));
	answer(f, "task", "", arena_printf(&f->arena, "{'text':'%s','exit_code':0}", text).p);
}

static void give_task(struct fixture *f)
{
	give(f, "Mend it");
}

TEST(a_task_becomes_one_node)
{
	struct fixture f;
	const struct node *n;
	str effect;

	on(&f);
	assert_true(asked(&f));
	effect = arena_str(&f.arena, f.state->pool->id);
	assert_true(str_is(f.state->pool->worker, "auto-1"));
	assert_true(str_is(f.state->pool->purpose, "I_1"));
	tick(&f);
	assert_int_equal(count_events(&f, EV_EFFECT_INTENDED), 1);
	answer(&f, "task", "", "{'text':'Mend it','exit_code':0}");
	assert_int_equal(count_events(&f, EV_NODE_ADDED), 2); /* with its phase */
	n = node_of(&f, "t1");
	assert_true(str_eq(n->claim, effect));
	assert_true(str_is(n->goal->standing, STANDING_AUTO));
	assert_true(str_is(value_str_at(last_event(&f, EV_AUTO_POOL)->data, "answer"), "task"));
	fixture_done(&f);
}

TEST(no_more_than_its_workers_can_do)
{
	struct fixture f;

	on(&f);
	give_task(&f);
	give_task(&f);
	assert_false(asked(&f));
	submit(&f, "work.cancel", json(&f, "{'node':'t1','reason':'no'}"));
	assert_true(asked(&f));
	fixture_done(&f);
}

TEST(none_now_waits_longer_each_time)
{
	static const ov_time waits[] = { 10, 20, 30, 30 };
	struct fixture f;

	on(&f);
	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		assert_true(asked(&f));
		answer(&f, "none", "it had no task", "{'exit_code':4}");
		assert_false(asked(&f));
		assert_int_equal(f.wake_at, f.now + waits[i] * OV_SECOND);
		f.now += waits[i] * OV_SECOND - 1;
		assert_false(asked(&f));
		f.now += 1;
	}
	give_task(&f);
	assert_true(asked(&f)); /* at once */
	answer(&f, "none", "it had no task", "{'exit_code':4}");
	assert_int_equal(f.state->automatic.ask_at, f.now + 10 * OV_SECOND);
	/* A clock that was wrong does not hold it up. */
	f.now -= OV_HOUR;
	assert_true(asked(&f));
	assert_int_equal(f.state->automatic.errors, 0);
	fixture_done(&f);
}

TEST(a_failure_ends_it)
{
	struct fixture f;

	on(&f);
	f.policy.pool_on_failure = POOL_FAIL;
	assert_true(asked(&f));
	answer(&f, "failed", "it gave up (exit status 3)", "{'exit_code':3}");
	assert_false(f.state->automatic.on);
	assert_true(f.state->automatic.failed);
	assert_int_equal(f.state->automatic.errors, 1);
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	f.now += OV_DAY;
	assert_false(asked(&f));
	/* Its daemon ends with it. */
	assert_true(str_is(f.state->failing, "I_1"));
	assert_int_equal(value_int_at(last_event(&f, EV_DAEMON_FAILED)->data, "exit_status"),
			DAEMON_AUTO_FAILED);
	/* The next daemon begins afresh, and what a person was told is settled. */
	submit(&f, "daemon.start", json(&f, "{'instance':'I_2','version':'1'}"));
	submit(&f, "auto.start", json(&f, "{'instance':'I_2'}"));
	assert_int_equal(f.state->escalations.p[0]->status, ESC_ANSWERED);
	assert_true(asked(&f));
	fixture_done(&f);
}

TEST(a_failure_that_is_only_told)
{
	struct fixture f;

	on(&f);
	f.policy.pool_on_failure = POOL_WARN;
	for (size_t i = 0; i < 3; i++) {
		assert_true(asked(&f));
		answer(&f, "error", "cannot start it", "{}");
		assert_true(f.state->automatic.on);
		assert_false(asked(&f));
		f.now += f.policy.pool_wait_max;
	}
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	assert_int_equal(f.state->automatic.errors, 3);
	give_task(&f);
	assert_int_equal(f.state->escalations.p[0]->status, ESC_ANSWERED);
	fixture_done(&f);
}

TEST(an_uncertain_answer_is_shown_and_asked_again)
{
	struct fixture f;

	on(&f);
	assert_true(asked(&f));
	answer(&f, "uncertain", "", "{'text':'half a ta'}");
	assert_true(f.state->automatic.on);
	assert_int_equal(count_events(&f, EV_NODE_ADDED), 0);
	assert_true(str_contains(value_str_at(last_event(&f, EV_ESCALATION_OPENED)->data,
						 "question"),
			STR("half a ta")));
	f.now += f.policy.pool_wait;
	assert_true(asked(&f));
	fixture_done(&f);
}

TEST(it_is_not_asked_while_nothing_could_be_begun)
{
	struct fixture f;
	str goal;

	on(&f);
	f.telemetry.no_capacity = STR("no memory");
	assert_false(asked(&f));
	assert_int_equal(f.wake_at, f.now + f.policy.pool_wait);
	f.telemetry.no_capacity = STR("");
	give_task(&f);
	goal = f.state->goals.p[0]->id;
	submit(&f, "goal.pause", json(&f, "{'goal':'" STR_FMT "','reason':'x'}", STR_ARG(goal)));
	assert_false(asked(&f));
	submit(&f, "goal.resume", json(&f, "{'goal':'" STR_FMT "','reason':'x'}", STR_ARG(goal)));
	f.policy.auto_mode = false;
	assert_false(asked(&f));
	f.policy.auto_mode = true;
	f.policy.auto_agent = STR("nobody");
	assert_false(asked(&f));
	f.policy.auto_agent = STR("a");
	assert_true(asked(&f));
	fixture_done(&f);
}

/* Agent b does one thing at a time. */
TEST(no_more_than_its_agent_can_do)
{
	struct fixture f;

	on(&f);
	f.policy.auto_agent = STR("b");
	give_task(&f);
	assert_int_equal(node_of(&f, "t1")->def.suggested_agent.n, 0);
	assert_false(asked(&f));
	settle(&f);
	assert_false(asked(&f));
	submit(&f, "work.cancel", json(&f, "{'node':'t1','reason':'no'}"));
	f.policy.auto_mode = false;
	drain(&f);
	f.policy.auto_mode = true;
	assert_true(asked(&f));
	fixture_done(&f);
}

/* Its agent failed and it waits for the next try: no other task is put at risk for its slot. */
TEST(a_task_that_failed_counts_while_it_waits_for_its_retry)
{
	struct fixture f;

	on(&f);
	give(&f, "one");
	bring_to(&f, "t1", STAGE_RUNNING);
	answer(&f, "none", "it had no task", "{'exit_code':4}");
	run_end(&f, "t1", 7);
	settle(&f);
	effect_end(&f, "t1", FX_HARVEST, "ok", "",
			"'head':'h','tree':'t','commits':0,'files_changed':0");
	settle(&f);
	assert_true(node_of(&f, "t1")->assignment->not_before > f.now);
	f.policy.auto_concurrency = 1;
	submit(&f, "auto.start", json(&f, "{'instance':'I_1'}"));
	assert_false(asked(&f));
	/* There is a second worker for another one. */
	f.policy.auto_concurrency = 2;
	submit(&f, "auto.start", json(&f, "{'instance':'I_1'}"));
	assert_true(asked(&f));
	fixture_done(&f);
}

/* auto.agent is what it is when a task is assigned, not when the pool gave it out. */
TEST(a_task_takes_the_agent_of_auto_mode_when_it_is_assigned)
{
	struct fixture f;

	on(&f);
	f.policy.auto_agent = STR("b");
	give_task(&f);
	f.policy.auto_agent = STR("a");
	settle(&f);
	assert_true(str_is(node_of(&f, "t1")->assignment->agent, "a"));
	assert_true(str_contains(value_str_at(last_event(&f, EV_ASSIGNMENT_CREATED)->data,
						 "reason"),
			STR("a is the agent of auto mode")));
	fixture_done(&f);
}

TEST(it_is_not_asked_when_the_budget_is_spent)
{
	struct fixture f;
	struct event e = { .kind = EV_GOAL_SPENT, .actor = STR("overseer") };

	on(&f);
	f.policy.auto_budget[RES_TOKENS] = 100;
	give_task(&f);
	e.goal = f.state->goals.p[0]->id;
	e.data = json(&f, "{'amounts':{'tokens':100},'on':'run'}");
	assert_int_equal(append(&f, &e, NULL), 0);
	assert_false(asked(&f));
	fixture_done(&f);
}

TEST(it_is_not_asked_while_its_agent_has_to_wait)
{
	struct fixture f;
	struct event e = { .kind = EV_AGENT_LIMITED, .actor = STR("overseer") };

	on(&f);
	e.data = json(&f,
			"{'agent':'a','kind':'rate_limited','detail':'','times':1,"
			"'resets_at_ms':%lld}",
			(long long)f.now + OV_MINUTE);
	assert_int_equal(append(&f, &e, NULL), 0);
	assert_false(asked(&f));
	assert_int_equal(f.wake_at, f.now + OV_MINUTE);
	f.now += OV_MINUTE;
	assert_true(asked(&f));
	fixture_done(&f);
}

TEST(switching_off_and_on)
{
	struct fixture f;

	on(&f);
	submit(&f, "auto.start", json(&f, "{'instance':'I_1'}"));
	assert_int_equal(count_events(&f, EV_AUTO_STARTED), 1);
	assert_true(asked(&f));
	submit(&f, "auto.stop", json(&f, "{'reason':'down'}"));
	assert_false(f.state->automatic.on);
	assert_false(f.state->automatic.failed);
	submit(&f, "auto.stop", json(&f, "{'reason':'down'}"));
	assert_int_equal(count_events(&f, EV_AUTO_STOPPED), 1);
	/* What was asked before is not lost, and a failure stops nothing any more. */
	answer(&f, "task", "", "{'text':'Mend it','exit_code':0}");
	assert_int_equal(count_events(&f, EV_NODE_ADDED), 2);
	assert_false(asked(&f));
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 0);
	fixture_done(&f);
}

/* Its daemon ended, not a person's wish: people are told that it was on. */
TEST(switched_off_with_its_daemon)
{
	struct fixture f;

	on(&f);
	f.now += OV_HOUR;
	submit(&f, "auto.stop", json(&f, "{'reason':'asked to'}"));
	assert_true(f.state->automatic.interrupted);
	assert_int_equal(f.state->automatic.stopped_at, f.now);
	/* The next daemon, which was started without it. */
	f.now += OV_HOUR;
	submit(&f, "auto.stop", json(&f, "{'reason':'the daemon was started without --auto'}"));
	assert_true(f.state->automatic.interrupted);
	assert_int_equal(f.state->automatic.stopped_at, f.now - OV_HOUR);
	submit(&f, "auto.stop", json(&f, "{'reason':'enough','person':true}"));
	assert_false(f.state->automatic.interrupted);
	assert_true(str_is(f.state->automatic.stop_reason, "enough"));
	submit(&f, "auto.start", json(&f, "{'instance':'I_2'}"));
	submit(&f, "auto.stop", json(&f, "{'reason':'enough','person':true}"));
	assert_false(f.state->automatic.interrupted);
	fixture_done(&f);
}

TEST(what_is_counted)
{
	struct fixture f;

	on(&f);
	give_task(&f);
	give_task(&f);
	submit(&f, "work.update", json(&f, "{'node':'t1','status':'done','reason':'I did it'}"));
	assert_int_equal(f.state->automatic.completed, 1);
	submit(&f, "work.reopen", json(&f, "{'node':'t1','reason':'it was not'}"));
	assert_int_equal(f.state->automatic.completed, 0);
	assert_int_equal(f.state->automatic.errors, 0);
	fixture_done(&f);
}

/* ---- brakes ---- */

/* Gives out a task that its agent does nothing about, until it is given up. */
static void give_up(struct fixture *f, const char *text, const char *node)
{
	give(f, text);
	for (int i = 0; i < 20 && node_of(f, node)->status != NODE_BLOCKED; i++) {
		bring_to(f, node, STAGE_RUNNING);
		run_end(f, node, 0);
		settle(f);
		effect_end(f, node, FX_HARVEST, "ok", "",
				"'head':'h','tree':'t','commits':0,'files_changed':0");
		f->now += OV_HOUR;
	}
	assert_int_equal(node_of(f, node)->status, NODE_BLOCKED);
	settle(f);
}

static const struct escalation *only_open(const struct fixture *f)
{
	const struct escalation *found = NULL;

	for (size_t i = 0; i < f->state->escalations.n; i++)
		if (f->state->escalations.p[i]->status == ESC_OPEN) {
			assert_null(found);
			found = f->state->escalations.p[i];
		}
	assert_non_null(found);
	return found;
}

static void say(struct fixture *f, const char *text)
{
	submit(f, "inbox.answer",
			json(f, "{'number':%lld,'answer':'%s'}", (long long)only_open(f)->number,
					text));
	check_invariants(f->state, &f->policy);
}

TEST(tasks_given_up_in_a_row_pause_it_with_one_entry)
{
	struct fixture f;
	const struct escalation *x;

	on(&f);
	f.policy.auto_concurrency = 1;
	submit(&f, "auto.start", json(&f, "{'instance':'I_1'}"));
	give_up(&f, "one", "t1");
	give_up(&f, "two", "t2");
	assert_int_equal(f.state->automatic.failed_in_a_row, 2);
	give_up(&f, "three", "t3");
	assert_false(asked(&f));
	x = only_open(&f);
	assert_true(str_is(x->kind, "auto_paused"));
	assert_true(str_contains(x->question, STR("3 tasks in a row")));
	assert_true(str_contains(x->question, STR("\"two\"")) &&
			str_contains(x->question, STR("changed nothing")));
	assert_true(str_is(f.state->automatic.pause_cause, "failures"));
	assert_int_equal(f.state->automatic.pause_entry, x->number);
	assert_int_equal(node_of(&f, "t1")->status, NODE_BLOCKED);
	f.now += OV_DAY;
	assert_false(asked(&f));
	/* The next daemon knows. */
	submit(&f, "daemon.start", json(&f, "{'instance':'I_2','version':'1'}"));
	submit(&f, "auto.start", json(&f, "{'instance':'I_2'}"));
	assert_false(asked(&f));
	assert_non_null(strstr(refused(&f, "inbox.answer",
					       json(&f, "{'number':%lld,'answer':'whatever'}",
							       (long long)x->number),
					       OV_EINVALID),
			"resume"));
	say(&f, "resume");
	assert_int_equal(count_events(&f, EV_AUTO_RESUMED), 1);
	assert_int_equal(f.state->automatic.failed_in_a_row, 0);
	assert_int_equal(node_of(&f, "t1")->status, NODE_BLOCKED);
	assert_true(str_starts(node_of(&f, "t1")->block.by, STR("human:")));
	assert_true(asked(&f));
	fixture_done(&f);
}

TEST(an_accept_begins_the_count_again)
{
	struct fixture f;

	on(&f);
	f.policy.auto_concurrency = 1;
	submit(&f, "auto.start", json(&f, "{'instance':'I_1'}"));
	give_up(&f, "one", "t1");
	give_up(&f, "two", "t2");
	give(&f, "three");
	bring_to(&f, "t3", STAGE_ACCEPT);
	accept_node(&f, "t3");
	assert_int_equal(f.state->automatic.failed_in_a_row, 0);
	give_up(&f, "four", "t4");
	give_up(&f, "five", "t5");
	assert_true(asked(&f));
	fixture_done(&f);
}

/*
 * The only open task of its goal, whose work never passes the check, as oversight would pause
 * a goal for.
 */
static void get_stuck(struct fixture *f, const char *text, const char *node)
{
	f->policy.check_command = STR("make check");
	f->policy.retry_max_attempts = 100;
	give(f, text);
	for (int i = 0; i < 20 && node_of(f, node)->status != NODE_BLOCKED; i++) {
		f->now += 3 * OV_MINUTE;
		bring_to(f, node, STAGE_CHECK);
		settle(f);
		effect_end(f, node, FX_CHECK, "failed", "error: the same", "");
		settle(f);
	}
	assert_int_equal(node_of(f, node)->status, NODE_BLOCKED);
	assert_int_equal(node_of(f, node)->block.kind, BLOCK_PAUSED);
	assert_int_equal(node_of(f, node)->goal->status, GOAL_ACTIVE);
	assert_false(value_bool_at(last_event(f, EV_INTERVENTION_APPLIED)->data, "goal_wide"));
	check_invariants(f->state, &f->policy);
}

/* Whatever the configuration says: with its goal every other task of the pool would be held. */
TEST(a_stuck_task_holds_no_other_up)
{
	static const struct {
		enum pause_scope pause;
		enum level level;
	} cases[] = { { PAUSE_AUTO, LEVEL_PAUSE }, { PAUSE_GOAL, LEVEL_PAUSE },
		{ PAUSE_AUTO, LEVEL_ABORT } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		const struct escalation *x;

		on(&f);
		f.policy.auto_concurrency = 1;
		f.policy.oversight.pause = cases[i].pause;
		f.policy.oversight.levels[DETECT_STUCK][SEVERITY_CRITICAL] = cases[i].level;
		submit(&f, "auto.start", json(&f, "{'instance':'I_1'}"));
		get_stuck(&f, "one", "t1");
		x = only_open(&f);
		assert_true(str_is(x->kind, "paused"));
		assert_true(str_is(x->node_id, "t1"));
		assert_int_equal(f.state->automatic.failed_in_a_row, 1);
		/* Its answer is about this task alone. */
		submit(&f, "inbox.deny",
				json(&f, "{'number':%lld,'reason':'no'}", (long long)x->number));
		assert_int_equal(node_of(&f, "t1")->status, NODE_CANCELLED);
		assert_int_equal(node_of(&f, "t1")->goal->status, GOAL_ACTIVE);
		give(&f, "two");
		assert_ptr_equal(node_of(&f, "t2")->goal, node_of(&f, "t1")->goal);
		fixture_done(&f);
	}
}

/* Money is the goal's, and what several detectors find at once is one thing to look at. */
TEST(a_dear_task_is_held_alone)
{
	struct fixture f;
	const struct node *n;

	on(&f);
	f.policy.auto_concurrency = 1;
	f.policy.estimate[RES_COST_MICROUSD] = 1000000;
	f.policy.check_command = STR("make check");
	f.policy.oversight.levels[DETECT_STUCK][SEVERITY_HIGH] = LEVEL_PAUSE;
	f.policy.retry_max_attempts = 100;
	submit(&f, "auto.start", json(&f, "{'instance':'I_1'}"));
	give(&f, "one");
	n = node_of(&f, "t1");
	for (int i = 0; i < 3; i++) {
		f.now += 3 * OV_MINUTE;
		bring_to(&f, "t1", STAGE_RUNNING);
		submit(&f, "run.end",
				json(&f, "{'run':'" STR_FMT "','exit_code':0,'cost_microusd':%d}",
						STR_ARG(n->assignment->run_id),
						i == 2 ? 2600000 : 0));
		bring_to(&f, "t1", STAGE_CHECK);
		settle(&f);
		effect_end(&f, "t1", FX_CHECK, "failed", "error: the same", "");
		settle(&f);
	}
	assert_int_equal(n->block.kind, BLOCK_PAUSED);
	assert_int_equal(n->goal->status, GOAL_ACTIVE);
	assert_int_equal(n->goal->detections.n, 2);
	assert_true(str_is(only_open(&f)->node_id, "t1"));
	assert_int_equal(f.state->automatic.failed_in_a_row, 1);
	check_invariants(f.state, &f.policy);
	give(&f, "two");
	fixture_done(&f);
}

TEST(stuck_tasks_in_a_row_pause_it)
{
	struct fixture f;

	on(&f);
	f.policy.auto_concurrency = 1;
	submit(&f, "auto.start", json(&f, "{'instance':'I_1'}"));
	get_stuck(&f, "one", "t1");
	get_stuck(&f, "two", "t2");
	get_stuck(&f, "three", "t3");
	assert_false(asked(&f));
	assert_true(str_is(f.state->automatic.pause_cause, "failures"));
	assert_true(str_is(only_open(&f)->kind, "auto_paused"));
	fixture_done(&f);
}

/* By a person, or by a log from before tasks of the pool were held alone. */
TEST(a_paused_goal_is_what_it_waits_for)
{
	struct world w;
	struct fixture f;
	str goal;

	on(&f);
	give_task(&f);
	w = (struct world){ .state = f.state, .policy = &f.policy };
	goal = node_of(&f, "t1")->goal->id;
	assert_int_equal(auto_waits(&f.arena, &w, f.now).n, 0);
	submit(&f, "goal.pause", json(&f, "{'goal':'" STR_FMT "'}", STR_ARG(goal)));
	assert_true(str_eq(auto_waits(&f.arena, &w, f.now),
			arena_printf(&f.arena, "its goal is paused: overseer goal resume " STR_FMT,
					STR_ARG(goal))));
	submit(&f, "goal.resume", json(&f, "{'goal':'" STR_FMT "'}", STR_ARG(goal)));
	assert_int_equal(auto_waits(&f.arena, &w, f.now).n, 0);
	fixture_done(&f);
}

TEST(answers_to_the_pause)
{
	struct fixture f;

	on(&f);
	f.policy.auto_failures = 1;
	f.policy.auto_concurrency = 1;
	submit(&f, "auto.start", json(&f, "{'instance':'I_1'}"));
	give_up(&f, "one", "t1");
	assert_false(asked(&f));
	say(&f, "retry");
	assert_int_equal(node_of(&f, "t1")->status, NODE_QUEUED);
	assert_int_equal(f.state->automatic.pause_cause.n, 0);
	submit(&f, "work.cancel", json(&f, "{'node':'t1','reason':'no'}"));
	give_up(&f, "two", "t2");
	assert_false(asked(&f));
	say(&f, "stop");
	assert_false(f.state->automatic.on);
	/* A reload does not switch on what a person switched off; a person does. */
	submit(&f, "auto.start", json(&f, "{'instance':'I_1'}"));
	assert_false(f.state->automatic.on);
	submit(&f, "auto.start", json(&f, "{'instance':'I_1','person':true}"));
	assert_true(f.state->automatic.on);
	give_up(&f, "three", "t3");
	assert_false(asked(&f));
	/* Switching it on answers what it waits for. */
	submit(&f, "auto.start", json(&f, "{'instance':'I_1','person':true}"));
	assert_true(asked(&f));
	fixture_done(&f);
}

/* Two tasks are under way when a person switches auto mode off, and both fail after that. */
static void fail_while_off(struct fixture *f)
{
	static const char *const nodes[] = { "t1", "t2" };

	on(f);
	f->policy.auto_failures = 2;
	f->policy.no_changes_attempts = 1;
	give(f, "one");
	give(f, "two");
	bring_to(f, "t1", STAGE_RUNNING);
	bring_to(f, "t2", STAGE_RUNNING);
	submit(f, "auto.stop", json(f, "{'reason':'enough','person':true}"));
	for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
		run_end(f, nodes[i], 0);
		settle(f);
		effect_end(f, nodes[i], FX_HARVEST, "ok", "",
				"'head':'h','tree':'t','commits':0,'files_changed':0");
	}
	settle(f);
	assert_int_equal(f->state->automatic.failed_in_a_row, 2);
}

TEST(a_person_s_start_begins_the_count_again)
{
	struct fixture f;

	fail_while_off(&f);
	submit(&f, "auto.start", json(&f, "{'instance':'I_1','person':true}"));
	assert_int_equal(f.state->automatic.failed_in_a_row, 0);
	assert_true(asked(&f));
	fixture_done(&f);

	/* It is on already, and about to pause. */
	on(&f);
	f.policy.auto_failures = 2;
	give_up(&f, "one", "t1");
	assert_int_equal(f.state->automatic.failed_in_a_row, 1);
	submit(&f, "auto.start", json(&f, "{'instance':'I_1','person':true}"));
	assert_int_equal(f.state->automatic.failed_in_a_row, 0);
	fixture_done(&f);

	/* The daemon's own start is no person's: failures of the night before count. */
	fail_while_off(&f);
	submit(&f, "auto.start", json(&f, "{'instance':'I_2'}"));
	assert_int_equal(f.state->automatic.failed_in_a_row, 2);
	assert_false(asked(&f));
	assert_true(str_is(f.state->automatic.pause_cause, "failures"));
	fixture_done(&f);
}

TEST(a_person_s_cancel_or_answer_begins_the_count_again)
{
	struct fixture f;

	fail_while_off(&f);
	submit(&f, "work.cancel", json(&f, "{'node':'t1','reason':'no'}"));
	submit(&f, "work.cancel", json(&f, "{'node':'t2','reason':'no'}"));
	assert_int_equal(f.state->automatic.failed_in_a_row, 0);
	submit(&f, "auto.start", json(&f, "{'instance':'I_2'}"));
	assert_true(asked(&f));
	fixture_done(&f);

	on(&f);
	give_up(&f, "one", "t1");
	say(&f, "retry");
	assert_int_equal(f.state->automatic.failed_in_a_row, 0);
	fixture_done(&f);
}

/* Whatever it waited for: a person looked at it. */
TEST(the_end_of_any_pause_begins_the_count_again)
{
	struct fixture f;

	on(&f);
	f.policy.auto_concurrency = 1;
	submit(&f, "auto.start", json(&f, "{'instance':'I_1'}"));
	give_up(&f, "one", "t1");
	assert_true(asked(&f));
	answer(&f, "failed", "exit status 1", "{'exit_code':1}");
	assert_true(str_is(f.state->automatic.pause_cause, "pool"));
	submit(&f, "inbox.answer",
			json(&f, "{'number':%lld,'answer':'resume'}",
					(long long)f.state->automatic.pause_entry));
	assert_int_equal(f.state->automatic.failed_in_a_row, 0);
	fixture_done(&f);
}

/* The others are under way when it pauses: what becomes of them is part of it. */
TEST(what_fails_during_a_pause_is_part_of_it)
{
	struct fixture f;

	on(&f);
	f.policy.auto_failures = 1;
	f.policy.no_changes_attempts = 1;
	give(&f, "slow");
	bring_to(&f, "t1", STAGE_RUNNING);
	give_up(&f, "one", "t2");
	assert_false(asked(&f));
	run_end(&f, "t1", 0);
	settle(&f);
	effect_end(&f, "t1", FX_HARVEST, "ok", "",
			"'head':'h','tree':'t','commits':0,'files_changed':0");
	assert_int_equal(node_of(&f, "t1")->status, NODE_BLOCKED);
	settle(&f);
	assert_true(str_is(only_open(&f)->kind, "auto_paused"));
	say(&f, "retry");
	assert_int_equal(node_of(&f, "t1")->status, NODE_QUEUED);
	assert_int_equal(node_of(&f, "t2")->status, NODE_QUEUED);
	fixture_done(&f);
}

TEST(the_same_task_is_counted_and_not_run)
{
	static const ov_time waits[] = { 10, 20, 30, 30 };
	struct fixture f;
	size_t runs;

	on(&f);
	give_up(&f, "one", "t1");
	runs = count_events(&f, EV_RUN_CREATED);
	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		give(&f, " one ");
		assert_false(asked(&f));
		assert_int_equal(f.state->automatic.ask_at, f.now + waits[i] * OV_SECOND);
		f.now += waits[i] * OV_SECOND;
	}
	assert_int_equal(only_open(&f)->repeats, 4);
	assert_true(str_is(only_open(&f)->node_id, "t1"));
	assert_int_equal(count_events(&f, EV_RUN_CREATED), runs);
	/* Once somebody has answered it is a task again. */
	say(&f, "cancel");
	give(&f, "one");
	assert_int_equal(node_of(&f, "t2")->status, NODE_TODO);
	fixture_done(&f);
}

TEST(a_task_that_is_too_long_is_refused_alone)
{
	struct fixture f;

	on(&f);
	assert_true(asked(&f));
	answer(&f, "refused", "it has more than the 64 KiB that a task may have",
			"{'text':'It begins so','exit_code':0}");
	assert_true(str_contains(only_open(&f)->question, STR("It begins so")));
	assert_int_equal(f.state->goals.n, 0);
	f.now += 10 * OV_SECOND;
	assert_true(asked(&f));
	answer(&f, "refused", "it has more than the 64 KiB that a task may have",
			"{'text':'Another','exit_code':0}");
	assert_int_equal(only_open(&f)->repeats, 1);
	f.now += 20 * OV_SECOND;
	give(&f, "short");
	assert_int_equal(f.state->goals.n, 1);
	fixture_done(&f);
}

TEST(a_failing_pool_is_tried_again_and_then_pauses)
{
	static const ov_time waits[] = { 20, 40, 80, 160, 320 };
	struct fixture f;

	on(&f);
	f.policy.pool_retries = 5;
	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		assert_true(asked(&f));
		answer(&f, "failed", "exit status 1", "{'exit_code':1,'output':'no network'}");
		assert_false(asked(&f));
		assert_int_equal(f.wake_at, f.now + waits[i] * OV_SECOND);
		f.now += waits[i] * OV_SECOND;
		assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 0);
	}
	assert_true(asked(&f));
	answer(&f, "failed", "exit status 1", "{'exit_code':1,'output':'no network'}");
	assert_true(str_is(f.state->automatic.pause_cause, "pool"));
	assert_true(f.state->automatic.on);
	assert_true(str_contains(only_open(&f)->question, STR("no network")));
	f.now += OV_DAY;
	assert_false(asked(&f));
	say(&f, "resume");
	assert_int_equal(f.state->automatic.failures, 0);
	assert_true(asked(&f));
	answer(&f, "failed", "exit status 1", "{'exit_code':1}");
	assert_int_equal(f.state->automatic.pause_cause.n, 0);
	fixture_done(&f);
}

static str waits(struct fixture *f)
{
	const struct world w = { f->state, &f->policy };

	return auto_waits(&f->arena, &w, f->now);
}

TEST(people_see_why_the_pool_fails)
{
	struct fixture f;

	on(&f);
	f.policy.pool_retries = 2;
	assert_true(asked(&f));
	answer(&f, "failed", "exit status 1: trying\\nno network",
			"{'exit_code':1,'output':'trying\\nno network\\n'}");
	assert_true(str_starts(waits(&f),
			STR("the pool's command failed (exit status 1: no network), "
			    "asked again at ")));
	assert_true(str_ends(waits(&f), STR(", 2 retries left")));
	f.now += OV_MINUTE;
	assert_true(asked(&f));
	answer(&f, "failed", "exit status 1", "{'exit_code':1,'output':''}");
	assert_true(str_starts(waits(&f), STR("the pool's command failed (exit status 1), ")));
	assert_true(str_ends(waits(&f), STR(", 1 retry left")));
	f.now += OV_MINUTE;
	assert_true(asked(&f));
	answer(&f, "none", "it had no task", "{'exit_code':4}");
	assert_int_equal(waits(&f).n, 0);
	fixture_done(&f);
}

/* Not found, or not executable: that does not get better by itself. */
TEST(a_command_that_cannot_be_executed_is_not_tried_again)
{
	struct fixture f;

	for (int code = 126; code <= 127; code++) {
		on(&f);
		f.policy.pool_retries = 5;
		assert_true(asked(&f));
		answer(&f, "failed", "exit status",
				arena_printf(&f.arena,
						"{'exit_code':%d,'output':'sh: nope: not found'}",
						code)
						.p);
		assert_true(str_is(f.state->automatic.pause_cause, "pool"));
		assert_true(str_contains(only_open(&f)->question, STR("nope: not found")));
		fixture_done(&f);
	}
}

/* What was given out before is finished all the same. */
TEST(a_failing_pool_holds_no_task_up)
{
	struct fixture f;

	on(&f);
	give(&f, "one");
	assert_true(asked(&f));
	answer(&f, "failed", "exit status 1", "{'exit_code':1}");
	assert_true(str_is(f.state->automatic.pause_cause, "pool"));
	bring_to(&f, "t1", STAGE_ACCEPT);
	accept_node(&f, "t1");
	fixture_done(&f);
}

static void spend(struct fixture *f, const char *amounts)
{
	struct event e = { .kind = EV_GOAL_SPENT, .actor = STR("overseer") };

	e.goal = f->state->goals.p[0]->id;
	e.data = json(f, "{'amounts':%s,'on':'run'}", amounts);
	assert_int_equal(append(f, &e, NULL), 0);
}

TEST(the_budget_of_a_day_has_one_entry_and_comes_back_by_itself)
{
	struct fixture f;
	ov_time room;

	on(&f);
	f.policy.auto_budget[RES_TOKENS] = 100;
	give(&f, "one");
	spend(&f, "{'tokens':60}");
	f.now += 2 * OV_HOUR;
	spend(&f, "{'tokens':60}");
	assert_false(asked(&f));
	settle(&f);
	assert_true(str_is(only_open(&f)->kind, "budget"));
	assert_true(str_contains(only_open(&f)->question,
			STR("120 of 100 tokens in the last 24 h")));
	assert_null(node_of(&f, "t1")->assignment);
	room = budget_room_at(&f.policy, f.state->goals.p[0], f.now);
	assert_true(room > f.now && room < f.now + OV_DAY);
	/* That is when it looks again; people are reminded before. */
	while (f.wake_at < room) {
		f.now = f.wake_at;
		settle(&f);
	}
	assert_int_equal(f.wake_at, room);
	f.now = room - 1;
	assert_false(asked(&f));
	f.now = room;
	settle(&f);
	for (size_t i = 0; i < f.state->escalations.n; i++)
		assert_int_equal(f.state->escalations.p[i]->status, ESC_ANSWERED);
	assert_non_null(node_of(&f, "t1")->assignment);
	assert_true(asked(&f));
	fixture_done(&f);
}

/* At the edge of the 24 hours there is room for a moment, again and again: that is one matter. */
TEST(the_budget_s_entry_stays_until_there_is_room_to_speak_of)
{
	struct fixture f;
	const struct escalation *x;

	on(&f);
	f.policy.auto_budget[RES_TOKENS] = 100;
	give(&f, "one");
	spend(&f, "{'tokens':15}");
	f.now += 2 * OV_HOUR;
	spend(&f, "{'tokens':45}");
	f.now += 2 * OV_HOUR;
	spend(&f, "{'tokens':45}");
	settle(&f);
	x = only_open(&f);
	assert_int_equal(f.state->goals.p[0]->budget_level, BUDGET_SPENT);
	f.now = budget_room_at(&f.policy, f.state->goals.p[0], f.now);
	settle(&f);
	assert_int_equal(f.state->goals.p[0]->budget_level, BUDGET_WARNED);
	assert_int_equal(x->status, ESC_OPEN);
	assert_non_null(node_of(&f, "t1")->assignment);
	spend(&f, "{'tokens':12}");
	settle(&f);
	assert_int_equal(f.state->goals.p[0]->budget_level, BUDGET_SPENT);
	assert_ptr_equal(only_open(&f), x);
	f.now = budget_room_at(&f.policy, f.state->goals.p[0], f.now);
	settle(&f);
	assert_int_equal(f.state->goals.p[0]->budget_level, BUDGET_FINE);
	assert_int_equal(x->status, ESC_ANSWERED);
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	fixture_done(&f);
}

/*
 * Raising the budget in any way is an answer; the entry wakes the tick when the level is
 * fine again.
 */
TEST(a_raise_closes_the_budget_s_entry)
{
	struct fixture f;
	const struct escalation *x;

	for (int how = 0; how < 3; how++) {
		on(&f);
		f.policy.auto_budget[RES_TOKENS] = 100;
		give(&f, "one");
		spend(&f, "{'tokens':100}");
		settle(&f);
		x = only_open(&f);
		if (how == 0)
			f.policy.auto_budget[RES_TOKENS] = 101;
		else if (how == 1)
			submit(&f, "goal.update",
					json(&f, "{'goal':'" STR_FMT "','budget':{'tokens':101}}",
							STR_ARG(f.state->goals.p[0]->id)));
		else
			submit(&f, "inbox.answer",
					json(&f,
							"{'number':%lld,'answer':'raise',"
							"'budget':{'tokens':101}}",
							(long long)x->number));
		settle(&f);
		assert_int_equal(x->status, ESC_ANSWERED);
		assert_int_equal(f.state->goals.p[0]->budget_level, BUDGET_WARNED);
		assert_non_null(node_of(&f, "t1")->assignment);
		/* The next time is another matter. */
		spend(&f, "{'tokens':2}");
		settle(&f);
		assert_true(str_is(only_open(&f)->kind, "budget"));
		fixture_done(&f);
	}
}

/* The goal may be full before: its budget is that of the next one, and so is the entry. */
TEST(the_budget_s_entry_outlives_its_goal)
{
	struct event e = { .kind = EV_GOAL_STATUS, .actor = STR("overseer") };
	struct fixture f;
	const struct escalation *x;

	on(&f);
	f.policy.auto_budget[RES_TOKENS] = 100;
	give(&f, "one");
	spend(&f, "{'tokens':100}");
	settle(&f);
	x = only_open(&f);
	submit(&f, "work.update",
			json(&f, "{'node':'" STR_FMT "/t1','status':'done','reason':'x'}",
					STR_ARG(f.state->goals.p[0]->id)));
	e.goal = f.state->goals.p[0]->id;
	e.data = json(&f, "{'from':'active','to':'completed','reason':'it is full'}");
	assert_int_equal(append(&f, &e, NULL), 0);
	settle(&f);
	assert_int_equal(f.state->goals.p[0]->status, GOAL_COMPLETED);
	assert_int_equal(x->status, ESC_OPEN);
	assert_false(asked(&f));
	submit(&f, "inbox.answer",
			json(&f, "{'number':%lld,'answer':'raise'}", (long long)x->number));
	assert_int_equal(x->status, ESC_ANSWERED);
	assert_true(asked(&f));
	answer(&f, "task", "", "{'text':'two','exit_code':0}");
	assert_int_equal(f.state->goals.n, 2);
	assert_int_equal(f.state->goals.p[1]->budget[RES_TOKENS], 200);
	fixture_done(&f);
}

/* Two tasks whose workspaces are ready; nothing was started yet. */
static void ready_two(struct fixture *f)
{
	static const char *const tasks[] = { "t1", "t2" };

	on(f);
	give(f, "one");
	give(f, "two");
	settle(f);
	f->telemetry.no_capacity = STR("no memory");
	for (size_t i = 0; i < ARRAY_LEN(tasks); i++)
		effect_end(f, tasks[i], FX_WORKSPACE, "ok", "", "'base': 'b'");
	settle(f);
	assert_int_equal(count_events(f, EV_RUN_CREATED), 0);
	f->telemetry.no_capacity = STR("");
}

/*
 * A run counts when it ends: those under way, and those of the same tick, have taken their
 * place before.
 */
TEST(the_last_run_of_the_budget_is_begun_once)
{
	struct fixture f;
	const struct goal *g;

	ready_two(&f);
	g = f.state->goals.p[0];
	f.policy.auto_budget[RES_ITERATIONS] = 3;
	spend(&f, "{'iterations':2}");
	assert_int_equal(waits(&f).n, 0);
	settle(&f);
	assert_int_equal(count_events(&f, EV_RUN_CREATED), 1);
	assert_true(str_is(waits(&f), "1 of 3 runs is left and it is under way"));
	assert_int_equal(g->budget_level, BUDGET_FINE);
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 0);
	assert_non_null(node_of(&f, "t1")->assignment);
	assert_null(node_of(&f, "t2")->assignment);
	assert_int_equal(node_of(&f, "t2")->status, NODE_QUEUED);
	f.now += OV_MINUTE;
	assert_false(asked(&f));
	bring_to(&f, "t1", STAGE_HARVEST);
	assert_int_equal(budget_spent(g, RES_ITERATIONS, f.now), 3);
	settle(&f);
	assert_int_equal(g->budget_level, BUDGET_SPENT);
	assert_int_equal(count_events(&f, EV_RUN_CREATED), 1);
	assert_true(str_starts(waits(&f), STR("the budget is spent: 3 of 3 runs")));
	fixture_done(&f);
}

TEST(a_task_is_not_drawn_for_a_run_that_is_taken)
{
	struct fixture f;

	on(&f);
	f.policy.auto_budget[RES_ITERATIONS] = 1;
	give(&f, "one");
	/* Its run is not begun yet, but there is none for another task. */
	assert_false(asked(&f));
	bring_to(&f, "t1", STAGE_RUNNING);
	f.now += OV_SECOND;
	assert_false(asked(&f));
	f.policy.auto_budget[RES_ITERATIONS] = 2;
	assert_true(asked(&f));
	fixture_done(&f);
}

/* A run that found its agent out of quota does not count: its place is free again. */
TEST(a_retry_waits_for_the_last_run_too)
{
	struct fixture f;

	ready_two(&f);
	settle(&f);
	effect_end(&f, "t1", FX_RUN_START, "ok", "", "");
	effect_end(&f, "t2", FX_RUN_START, "ok", "", "");
	settle(&f);
	assert_int_equal(count_events(&f, EV_RUN_CREATED), 2);
	f.policy.auto_budget[RES_ITERATIONS] = 2;
	run_end(&f, "t1", 1);
	settle(&f);
	effect_end(&f, "t1", FX_HARVEST, "ok", "",
			"'head':'h','tree':'t','commits':0,'files_changed':0");
	f.now += OV_HOUR;
	settle(&f);
	assert_int_equal(count_events(&f, EV_RUN_CREATED), 2);
	assert_true(str_is(waits(&f), "1 of 2 runs is left and it is under way"));
	f.policy.auto_budget[RES_ITERATIONS] = 3;
	settle(&f);
	assert_non_null(node_of(&f, "t1")->assignment);
	fixture_done(&f);
}

TEST(a_task_that_uses_up_its_budget_is_given_up)
{
	struct fixture f;
	struct observation *o;

	on(&f);
	f.policy.task_budget[RES_TOKENS] = 100;
	f.policy.task_budget[RES_WALL_MS] = OV_HOUR;
	give(&f, "one");
	bring_to(&f, "t1", STAGE_RUNNING);
	o = observe(&f, node_of(&f, "t1"));
	o->tokens = 100;
	settle(&f);
	assert_int_equal(node_of(&f, "t1")->status, NODE_BLOCKED);
	assert_int_equal(node_of(&f, "t1")->block.kind, BLOCK_BUDGET);
	assert_true(str_is(only_open(&f)->kind, "task_budget"));
	assert_int_equal(f.state->automatic.failed_in_a_row, 1);
	assert_int_equal(f.state->automatic.errors, 1);
	/* With the same once more. */
	say(&f, "retry");
	answer(&f, "none", "it had no task", "{'exit_code':4}");
	f.policy.auto_mode = false;
	drain(&f);
	assert_int_equal(node_of(&f, "t1")->status, NODE_DONE);
	fixture_done(&f);
}

/* Time is foreseen, and the count of runs stops the next one. */
TEST(a_task_s_time_and_runs_are_bounded)
{
	struct fixture f;

	on(&f);
	f.policy.task_budget[RES_WALL_MS] = OV_HOUR;
	give(&f, "one");
	bring_to(&f, "t1", STAGE_RUNNING);
	f.now += OV_HOUR - 1;
	settle(&f);
	assert_int_equal(node_of(&f, "t1")->status, NODE_IN_PROGRESS);
	assert_true(f.wake_at <= f.now + 1);
	f.now += 1;
	settle(&f);
	assert_int_equal(node_of(&f, "t1")->block.kind, BLOCK_BUDGET);
	fixture_done(&f);

	on(&f);
	f.policy.task_budget[RES_ITERATIONS] = 1;
	give(&f, "one");
	bring_to(&f, "t1", STAGE_HARVEST);
	effect_end(&f, "t1", FX_HARVEST, "ok", "",
			"'head':'h','tree':'t','commits':0,'files_changed':0");
	f.now += OV_HOUR;
	settle(&f);
	assert_int_equal(node_of(&f, "t1")->block.kind, BLOCK_BUDGET);
	assert_int_equal(count_events(&f, EV_RUN_CREATED), 1);
	fixture_done(&f);
}

/* Done, and given out again: that can be meant, so that it goes on; but people are told. */
TEST(the_same_task_again_is_counted)
{
	static const char *const texts[] = { "a", "b", "b", "b", "c", "b", "b" };
	struct fixture f;
	struct same_tasks same = { 0 };
	ov_time before = 0;

	on(&f);
	assert_int_equal(auto_same_tasks(f.state, 0).now, 0);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const char *id = arena_printf(&f.arena, "t%zu", i + 1).p;

		f.now += OV_SECOND;
		before = i == 5 ? f.now : before;
		give(&f, texts[i]);
		bring_to(&f, id, STAGE_ACCEPT);
		accept_node(&f, id);
		assert_int_equal(node_of(&f, id)->status, NODE_DONE);
		same = auto_same_tasks(f.state, 0);
		assert_int_equal(same.now, ((const int64_t[]){ 1, 1, 2, 3, 1, 1, 2 })[i]);
	}
	assert_int_equal(same.longest, 3);
	assert_int_equal(auto_same_tasks(f.state, before).longest, 2);
	fixture_done(&f);
}

/* What runs of the last 24 hours used, and how many of them did not say. */
TEST(the_budget_says_what_is_not_in_it)
{
	struct fixture f;
	struct state *again;
	const value *budget;

	on(&f);
	give(&f, "one");
	spend(&f, "{'iterations':1,'tokens':5,'cost_microusd':9}");
	spend(&f, "{'iterations':1,'tokens':5}");
	spend(&f, "{'iterations':1}");
	assert_int_equal(snapshot_read(snapshot_of(&f, f.state), 1, &again, NULL), 0);
	for (int i = 0; i < 2; i++) {
		const struct world w = { i ? again : f.state, &f.policy };

		budget = value_at(view_auto_whole(&f.arena, &w, NULL, f.now), "budget");
		assert_int_equal(value_int_at(budget, "unpriced_runs"), 1);
		assert_int_equal(value_int_at(budget, "untold_runs"), 1);
		assert_int_equal(value_int_at(budget, "live_runs"), 0);
	}
	state_free(again);
	f.now += 25 * OV_HOUR;
	budget = value_at(view_auto_whole(&f.arena, &(struct world){ f.state, &f.policy }, NULL,
					  f.now),
			"budget");
	assert_int_equal(value_int_at(budget, "untold_runs"), 0);
	fixture_done(&f);
}

/*
 * What it counts is in the snapshot; one of an older daemon, which has nothing of it, is read, too.
 */
TEST(it_survives_a_snapshot)
{
	struct fixture f;
	struct state *again;
	value *doc, *older;
	struct buf text = BUF_INIT;

	on(&f);
	f.policy.auto_concurrency = 1;
	submit(&f, "auto.start", json(&f, "{'instance':'I_1'}"));
	give_up(&f, "one", "t1");
	spend(&f, "{'tokens':7,'cost_microusd':9}");
	assert_int_equal(snapshot_read(snapshot_of(&f, f.state), 1, &again, NULL), 0);
	assert_int_equal(again->automatic.failed_in_a_row, 1);
	assert_int_equal(budget_spent(again->goals.p[0], RES_TOKENS, f.now), 7);
	assert_true(str_eq(snapshot_of(&f, again), snapshot_of(&f, f.state)));
	state_free(again);
	assert_int_equal(json_parse(&f.arena, snapshot_of(&f, f.state), NULL, &doc, NULL), 0);
	older = value_object(&f.arena);
	for (size_t i = 0; i < doc->object.n; i++)
		if (!str_is(doc->object.members[i].key, "streaks") &&
				!str_is(doc->object.members[i].key, "spent_hours"))
			value_set(&f.arena, older, doc->object.members[i].key,
					doc->object.members[i].value);
	json_write(&text, older);
	assert_int_equal(snapshot_read(buf_str(&text), 1, &again, NULL), 0);
	assert_int_equal(budget_spent(again->goals.p[0], RES_TOKENS, f.now), 0);
	state_free(again);
	buf_done(&text);
	fixture_done(&f);
}

TEST_MAIN
