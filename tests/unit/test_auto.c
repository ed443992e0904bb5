/* Auto mode: what the pool's answers mean, when it is asked, and what becomes of its tasks. */
#include "tests/test.h"

#include "core/limits.h"
#include "core/pool.h"
#include "core/standing.h"
#include "data/vital.h"
#include "tests/unit/core_fixture.h"

TEST(answers)
{
	static char long_text[LIMIT_TEXT + 2];
	const struct {
		struct pool_end end;
		enum pool_answer answer;
		const char *text;
	} cases[] = {
		{ { .known = true, .output = STR(" Mend it \n") }, ANSWER_TASK, "Mend it" },
		{ { .known = true, .output = STR("a\nb\n") }, ANSWER_TASK, "a\nb" },
		{ { .known = true }, ANSWER_NONE, "it had no task" },
		{ { .known = true, .output = STR(" \n\t\n") }, ANSWER_NONE, "it had no task" },
		{ { .known = true, .code = 4, .output = STR("x") }, ANSWER_NONE, "it had no task" },
		{ { .known = true, .code = 3 }, ANSWER_FAILED, "it gave up (exit status 3)" },
		{ { .known = true, .code = 3, .error_lines = STR("no disk\n") }, ANSWER_FAILED,
				"it gave up (exit status 3): no disk" },
		{ { .known = true, .code = 1, .output = STR("x") }, ANSWER_FAILED,
				"exit status 1" },
		{ { .known = true, .code = 127 }, ANSWER_FAILED, "exit status 127" },
		{ { .known = true, .code = -1, .signal = 9 }, ANSWER_FAILED,
				"it was ended by signal 9" },
		{ { .known = true, .timed_out = true, .output = STR("x") }, ANSWER_FAILED,
				"it took longer than auto.task_pool_timeout" },
		{ { .known = true, .output = { long_text, LIMIT_TEXT } }, ANSWER_TASK, long_text },
		{ { .known = true, .output = { long_text, LIMIT_TEXT + 1 } }, ANSWER_FAILED,
				"its task has more than the 8192 bytes that are allowed" },
		{ { .known = true, .output = STR("caf\xe9") }, ANSWER_FAILED,
				"its task is not text in UTF-8" },
		{ { .known = true, .output = { "a\0b", 3 } }, ANSWER_FAILED,
				"its task is not text in UTF-8" },
		{ { .known = false }, ANSWER_NONE, "" },
		{ { .known = false, .output = STR("half a ta") }, ANSWER_UNCERTAIN, "half a ta" },
	};
	struct arena a = ARENA_INIT;

	memset(long_text, 'x', LIMIT_TEXT);
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

static void give_task(struct fixture *f)
{
	assert_true(asked(f));
	answer(f, "task", "", "{'text':'Mend it','exit_code':0}");
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
	assert_true(str_is(node_of(&f, "t1")->suggested_agent, "b"));
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

TEST(it_is_not_asked_when_the_budget_is_spent)
{
	struct fixture f;
	struct event e = { .kind = EV_GOAL_SPENT, .actor = STR("overseer") };

	on(&f);
	f.policy.budget[RES_TOKENS] = 100;
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

TEST_MAIN
