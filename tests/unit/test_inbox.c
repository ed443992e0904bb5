#include "tests/test.h"

#include "base/vec.h"
#include "tests/unit/core_fixture.h"

/* T1 fails until a person is asked; the number of the question. */
static int64_t fail_node(struct fixture *f)
{
	create_goal(f, flat_plan(f, 1), NULL);
	for (int i = 0; i < 2; i++) {
		f->now += OV_HOUR;
		bring_to(f, "T1", STAGE_RUNNING);
		run_end(f, "T1", 0);
		settle(f);
		effect_end(f, "T1", FX_HARVEST, "ok", "",
				"'head': 'h', 'tree': 't', 'commits': 0, 'files_changed': 0");
	}
	settle(f);
	assert_int_equal(node_of(f, "T1")->status, NODE_BLOCKED);
	return vec_last(&f->state->escalations)->number;
}

/* A question as an agent would ask it, with its own options. */
static int64_t ask(struct fixture *f, const char *kind, const char *node, const char *options)
{
	struct event e = { .kind = EV_ESCALATION_OPENED };

	e.goal = arena_str(&f->arena, vec_last(&f->state->goals)->id);
	e.node = str_from(node);
	e.data = json(f,
			"{'escalation': %lld, 'kind': '%s', 'question': 'q?', 'options': [%s], "
			"'default_answer': 'in-process'}",
			(long long)f->state->next_escalation, kind, options);
	assert_int_equal(append(f, &e, NULL), 0);
	return vec_last(&f->state->escalations)->number;
}

static value *answer(struct fixture *f, int64_t number, const char *text)
{
	return json(f, "{'number': %lld, 'answer': '%s'}", (long long)number, text);
}

TEST(an_answer_reaches_the_next_run)
{
	struct fixture f;
	int64_t number;
	value *res;

	fixture_init(&f);
	number = fail_node(&f);
	res = submit(&f, "inbox.answer", answer(&f, number, " use the other port "));
	assert_true(str_is(value_str_at(res, "node_status"), "queued"));
	assert_true(str_is(node_of(&f, "T1")->answer, "use the other port"));
	assert_int_equal(node_of(&f, "T1")->status, NODE_QUEUED);
	assert_int_equal(state_escalation(f.state, number)->status, ESC_ANSWERED);
	assert_true(str_is(state_escalation(f.state, number)->answer, "use the other port"));
	assert_true(str_is(state_escalation(f.state, number)->answered_by, "human:tester"));
	drain(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	fixture_done(&f);
}

TEST(words_that_are_commands)
{
	static const struct {
		const char *text;
		enum node_status to;
	} cases[] = { { "retry", NODE_QUEUED }, { "done", NODE_DONE },
		{ "cancel", NODE_CANCELLED } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		int64_t number;

		fixture_init(&f);
		number = fail_node(&f);
		submit(&f, "inbox.answer", answer(&f, number, cases[i].text));
		assert_int_equal(node_of(&f, "T1")->status, cases[i].to);
		assert_int_equal(node_of(&f, "T1")->answer.n, 0);
		if (cases[i].to == NODE_DONE)
			assert_true(value_bool_at(last_event(&f, EV_NODE_STATUS)->data,
					"override"));
		drain(&f);
		fixture_done(&f);
	}
}

TEST(answered_once)
{
	struct fixture f;
	int64_t number;
	const char *msg;

	fixture_init(&f);
	number = fail_node(&f);
	refused(&f, "inbox.answer", answer(&f, 99, "retry"), OV_ENOTFOUND);
	refused(&f, "inbox.answer", answer(&f, number, "  "), OV_EINVALID);
	submit(&f, "inbox.answer", answer(&f, number, "retry"));
	msg = refused(&f, "inbox.answer", answer(&f, number, "done"), OV_ESTATE);
	assert_non_null(strstr(msg, "human:tester"));
	assert_non_null(strstr(msg, "retry"));
	refused(&f, "inbox.dismiss", json(&f, "{'number': %lld}", (long long)number), OV_ESTATE);
	fixture_done(&f);
}

TEST(options_by_prefix)
{
	struct fixture f;
	int64_t number;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	number = ask(&f, "question", "T1", "'redis', 'in-process', 'in-memory'");
	assert_non_null(strstr(refused(&f, "inbox.answer", answer(&f, number, "in-"), OV_EINVALID),
			"in-process, in-memory"));
	submit(&f, "inbox.answer", answer(&f, number, "r"));
	assert_true(str_is(node_of(&f, "T1")->answer, "redis"));
	/* It was not blocked, so nothing else happens to it. */
	assert_int_equal(node_of(&f, "T1")->status, NODE_IN_PROGRESS);
	number = ask(&f, "question", "T1", "'redis'");
	submit(&f, "inbox.answer", answer(&f, number, "none of them"));
	assert_true(str_is(node_of(&f, "T1")->answer, "none of them"));
	fixture_done(&f);
}

/* An agent's options are its words; choosing one of them is no command of ours. */
TEST(an_agents_options_are_no_commands)
{
	struct fixture f;
	int64_t number;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	number = ask(&f, "question", "T1", "'done', 'cancel'");
	submit(&f, "inbox.answer", answer(&f, number, "done"));
	assert_int_equal(node_of(&f, "T1")->status, NODE_IN_PROGRESS);
	assert_true(str_is(node_of(&f, "T1")->answer, "done"));
	number = ask(&f, "question", "T1", "");
	submit(&f, "inbox.answer", answer(&f, number, "done"));
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	drain(&f);
	fixture_done(&f);
}

TEST(a_notice_is_acknowledged)
{
	struct fixture f;
	int64_t number;
	size_t events;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	number = ask(&f, "planner_fallback", "", "");
	events = f.log.n;
	submit(&f, "inbox.answer", answer(&f, number, "seen"));
	assert_int_equal(f.log.n, events + 1);
	assert_int_equal(state_escalation(f.state, number)->status, ESC_ANSWERED);
	fixture_done(&f);
}

TEST(dismissed_the_node_waits_for_that_person)
{
	struct fixture f;
	int64_t number;
	str reason;

	fixture_init(&f);
	number = fail_node(&f);
	assert_true(str_is(node_of(&f, "T1")->blocked_by, "overseer"));
	reason = arena_str(&f.arena, node_of(&f, "T1")->status_reason);
	submit(&f, "inbox.dismiss",
			json(&f, "{'number': %lld, 'reason': 'later'}", (long long)number));
	assert_int_equal(state_escalation(f.state, number)->status, ESC_DISMISSED);
	assert_true(str_is(state_escalation(f.state, number)->answer, "later"));
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	assert_true(str_is(node_of(&f, "T1")->blocked_by, "human:tester"));
	assert_true(str_eq(node_of(&f, "T1")->status_reason, reason));
	settle(&f);
	submit(&f, "work.update", json(&f, "{'node': 'T1', 'status': 'queued', 'reason': 'r'}"));
	drain(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	fixture_done(&f);
}

/* Unblocking answers whatever else was asked about the node. */
TEST(one_answer_closes_all_questions_of_a_blocked_node)
{
	struct fixture f;
	int64_t first, second;

	fixture_init(&f);
	first = fail_node(&f);
	second = ask(&f, "question", "T1", "");
	submit(&f, "inbox.answer", answer(&f, second, "go on"));
	assert_int_equal(state_escalation(f.state, first)->status, ESC_ANSWERED);
	assert_int_equal(state_escalation(f.state, second)->status, ESC_ANSWERED);
	assert_true(str_is(state_escalation(f.state, second)->answer, "go on"));
	fixture_done(&f);
}

TEST_MAIN
