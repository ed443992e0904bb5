#include "tests/test.h"

#include "base/vec.h"
#include "core/view/view.h"
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
	assert_true(str_is(node_of(&f, "T1")->told.answer, "use the other port"));
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
		assert_int_equal(node_of(&f, "T1")->told.answer.n, 0);
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
	assert_true(str_is(node_of(&f, "T1")->told.answer, "redis"));
	/* It was not blocked, so nothing else happens to it. */
	assert_int_equal(node_of(&f, "T1")->status, NODE_IN_PROGRESS);
	number = ask(&f, "question", "T1", "'redis'");
	submit(&f, "inbox.answer", answer(&f, number, "none of them"));
	assert_true(str_is(node_of(&f, "T1")->told.answer, "none of them"));
	fixture_done(&f);
}

/*
 * What may be meant as a command is none of the words for an agent: nothing starts because of it.
 */
TEST(a_refusal_or_a_typo_starts_nothing)
{
	static const char *const words[] = { "cancell", "Cancel", "?", "stop", "no", "stop it",
		"no, stop", "dismiss this", "yes please", "try again", "abort", "42", "9 cancel",
		"9,8-12 cancel", "#9 cancel", "9, 8 retry", "2 tries are enough" };
	struct fixture f;
	int64_t number;
	size_t events;

	fixture_init(&f);
	number = fail_node(&f);
	events = f.log.n;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		struct ov_err err = { 0 };

		if (try_submit(&f, "inbox.answer", answer(&f, number, words[i]), &err) !=
				OV_EINVALID)
			fail_msg("\"%s\" was taken as an answer", words[i]);
		assert_non_null(strstr(err.msg, "retry|done|cancel"));
		assert_non_null(strstr(err.msg, "\"text: "));
	}
	assert_int_equal(f.log.n, events);
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	fixture_done(&f);
}

TEST(a_list_of_entries_is_no_text)
{
	static const struct {
		const char *text, *several;
	} cases[] = { { "9 cancel", ",9 cancel" }, { "#9, 8-12 retry", ",9,8-12 retry" },
		{ "9", ",9 ANSWER" } };
	struct fixture f;
	int64_t number;

	fixture_init(&f);
	number = fail_node(&f);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		str several = arena_printf(&f.arena,
				"to answer several: overseer inbox answer %lld%s",
				(long long)number, cases[i].several);

		assert_non_null(strstr(refused(&f, "inbox.answer",
						       answer(&f, number, cases[i].text),
						       OV_EINVALID),
				several.p));
	}
	/* What is only acknowledged takes any word, but it is no other entry either. */
	number = ask(&f, "planner_fallback", "", "");
	refused(&f, "inbox.answer", answer(&f, number, "9 cancel"), OV_EINVALID);
	submit(&f, "inbox.answer", answer(&f, number, "seen"));
	fixture_done(&f);
}

TEST(a_text_for_the_agent)
{
	static const struct {
		const char *text, *told;
	} cases[] = { { "text: cancel", "cancel" }, { "text:  9 cancel ", "9 cancel" },
		{ "stop using the other port", "stop using the other port" },
		{ "be brief", "be brief" } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		int64_t number;

		fixture_init(&f);
		number = fail_node(&f);
		refused(&f, "inbox.answer", answer(&f, number, "text: "), OV_EINVALID);
		submit(&f, "inbox.answer", answer(&f, number, cases[i].text));
		assert_int_equal(node_of(&f, "T1")->status, NODE_QUEUED);
		assert_true(str_is(node_of(&f, "T1")->told.answer, cases[i].told));
		assert_true(str_is(state_escalation(f.state, number)->answer, cases[i].told));
		drain(&f);
		fixture_done(&f);
	}
}

/* An agent that asked may be told anything; only ours are commands. */
TEST(a_question_takes_any_text)
{
	static const char *const words[] = { "postgres", "no", "3 of them", "42", "stop it" };
	struct fixture f;
	int64_t number;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		number = ask(&f, "question", "T1", "'redis'");
		submit(&f, "inbox.answer", answer(&f, number, words[i]));
		assert_true(str_is(node_of(&f, "T1")->told.answer, words[i]));
	}
	number = ask(&f, "question", "T1", "");
	submit(&f, "inbox.answer", answer(&f, number, "text: cancel"));
	assert_true(str_is(node_of(&f, "T1")->told.answer, "cancel"));
	assert_int_equal(node_of(&f, "T1")->status, NODE_IN_PROGRESS);
	fixture_done(&f);
}

/* One answer to several entries: where one has options, only they fit it. */
TEST(only_its_options)
{
	struct fixture f;
	int64_t number;
	const char *msg;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	number = ask(&f, "question", "T1", "'redis', 'in-process'");
	msg = refused(&f, "inbox.answer",
			json(&f, "{'number': %lld, 'answer': 'retry', 'only_options': true}",
					(long long)number),
			OV_EINVALID);
	assert_non_null(strstr(msg, "redis, in-process"));
	submit(&f, "inbox.answer",
			json(&f, "{'number': %lld, 'answer': 'in', 'only_options': true}",
					(long long)number));
	assert_true(str_is(node_of(&f, "T1")->told.answer, "in-process"));
	/* One without options takes any. */
	number = ask(&f, "question", "T1", "");
	submit(&f, "inbox.answer",
			json(&f, "{'number': %lld, 'answer': 'as you like', 'only_options': true}",
					(long long)number));
	assert_true(str_is(node_of(&f, "T1")->told.answer, "as you like"));
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
	assert_true(str_is(node_of(&f, "T1")->told.answer, "done"));
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
	struct world w;
	const value *said, *status;
	int64_t number;
	str reason;

	fixture_init(&f);
	number = fail_node(&f);
	assert_true(str_is(node_of(&f, "T1")->block.by, "overseer"));
	reason = arena_str(&f.arena, node_of(&f, "T1")->status_reason);
	w = (struct world){ f.state, &f.policy };
	assert_int_equal(value_count(value_at(view_status(&f.arena, &w, STR(""), f.now),
					 "blocked")),
			0);
	said = submit(&f, "inbox.dismiss",
			json(&f, "{'number': %lld, 'reason': 'later'}", (long long)number));
	/* Nobody is asked about it now: it says so, and status shows it. */
	assert_true(str_ends(value_str_at(said, "left_blocked"), STR("/T1")));
	status = view_status(&f.arena, &w, STR(""), f.now);
	assert_int_equal(value_count(value_at(status, "blocked")), 1);
	assert_true(str_starts(value_str_at(value_item(value_at(status, "blocked"), 0), "next"),
			STR("overseer work unblock goal_")));
	assert_int_equal(state_escalation(f.state, number)->status, ESC_DISMISSED);
	assert_true(str_is(state_escalation(f.state, number)->answer, "later"));
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	assert_true(str_is(node_of(&f, "T1")->block.by, "human:tester"));
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

static const struct policy_agent agents[] = {
	{ .name = STR("a"), .concurrency = 256, .input = true, .login_exit = 41 },
	{ .name = STR("b"), .concurrency = 1 },
};

TEST(a_live_run_is_told)
{
	struct fixture f;
	const struct event *e;
	int64_t number;
	value *res;

	fixture_init(&f);
	f.policy.agents = agents;
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	number = ask(&f, "overdue", "T1", "");
	res = submit(&f, "inbox.answer", answer(&f, number, "leave the tests"));
	e = last_event(&f, EV_DISPATCH_INTENDED);
	assert_true(str_is(value_str_at(e->data, "purpose"), "answer"));
	assert_true(str_starts(value_str_at(e->data, "instruction"), STR("leave the tests")));
	assert_true(value_str_at(res, "dispatch").n > 0);
	assert_int_equal(node_of(&f, "T1")->status, NODE_IN_PROGRESS);
	effect_end(&f, "T1", FX_SEND, "ok", "", "");
	/* To try again is to start over. */
	number = ask(&f, "overdue", "T1", "");
	submit(&f, "inbox.answer", answer(&f, number, "retry"));
	assert_int_equal(node_of(&f, "T1")->assignment->stage, STAGE_STOP);
	drain(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	fixture_done(&f);
}

/* A stall for which everything was tried, with the run still alive. */
static int64_t stick(struct fixture *f)
{
	struct event opened = { .kind = EV_EPISODE_OPENED },
		     moved = { .kind = EV_ASSIGNMENT_MOVED }, rung = { .kind = EV_EPISODE_RUNG };
	const struct assignment *as;

	create_goal(f, flat_plan(f, 1), NULL);
	bring_to(f, "T1", STAGE_RUNNING);
	as = node_of(f, "T1")->assignment;
	opened.goal = moved.goal = rung.goal = arena_str(&f->arena, as->goal_id);
	opened.node = moved.node = rung.node = STR("T1");
	moved.assignment = arena_str(&f->arena, as->id);
	moved.data = json(f,
			"{'from': 'active', 'to': 'stalled', 'stage': 'running', 'reason': 's'}");
	opened.data = json(f, "{'episode': 1, 'reason': 'silent'}");
	rung.data = json(f, "{'episode': 1, 'rung': 'escalate', 'count': 1, 'reason': 'r'}");
	assert_int_equal(append(f, &moved, NULL), 0);
	assert_int_equal(append(f, &opened, NULL), 0);
	assert_int_equal(append(f, &rung, NULL), 0);
	return ask(f, "stalled", "T1", "'retry', 'done', 'cancel'");
}

TEST(a_stalled_run_that_hears_is_watched_anew)
{
	struct fixture f;
	int64_t number;

	fixture_init(&f);
	f.policy.agents = agents;
	number = stick(&f);
	submit(&f, "inbox.answer", answer(&f, number, "skip that test"));
	assert_int_equal(node_of(&f, "T1")->assignment->status, AS_ACTIVE);
	assert_int_equal(node_of(&f, "T1")->assignment->stage, STAGE_RUNNING);
	assert_false(node_of(&f, "T1")->stall.open);
	assert_int_equal(count_events(&f, EV_DISPATCH_INTENDED) > 0, true);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_SEND);
	fixture_done(&f);
}

static const struct policy_agent deaf[] = { { .name = STR("a"), .concurrency = 256 } };

TEST(a_stalled_run_that_does_not_hear_makes_way)
{
	struct fixture f;
	int64_t number;

	fixture_init(&f);
	f.policy.agents = deaf;
	f.policy.agents_n = ARRAY_LEN(deaf);
	number = stick(&f);
	submit(&f, "inbox.answer", answer(&f, number, "skip that test"));
	assert_int_equal(node_of(&f, "T1")->assignment->stage, STAGE_STOP);
	assert_true(str_is(node_of(&f, "T1")->told.answer, "skip that test"));
	assert_false(node_of(&f, "T1")->stall.open);
	drain(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	assert_int_equal(node_of(&f, "T1")->work.epoch, 1);
	fixture_done(&f);
}

/* T1 and T2 find that their agent is logged out; the number of the question. */
static int64_t log_out(struct fixture *f)
{
	f->policy.agents = agents;
	create_goal(f, flat_plan(f, 2), NULL);
	for (int i = 0; i < 2; i++) {
		const char *node = i ? "T2" : "T1";

		bring_to(f, node, STAGE_RUNNING);
	}
	for (int i = 0; i < 2; i++) {
		const char *node = i ? "T2" : "T1";

		run_end(f, node, 41);
		settle(f);
		effect_end(f, node, FX_HARVEST, "ok", "",
				"'head': 'h', 'tree': 't', 'commits': 0, 'files_changed': 0");
		assert_int_equal(node_of(f, node)->block.kind, BLOCK_LOGIN);
	}
	assert_int_equal(f->state->lanes.n, 1);
	return vec_last(&f->state->escalations)->number;
}

TEST(logged_in_again)
{
	struct fixture f;
	int64_t number;

	fixture_init(&f);
	number = log_out(&f);
	submit(&f, "inbox.answer", answer(&f, number, "done"));
	assert_int_equal(f.state->lanes.n, 0);
	assert_int_equal(node_of(&f, "T1")->status, NODE_QUEUED);
	assert_int_equal(node_of(&f, "T2")->status, NODE_QUEUED);
	drain(&f);
	assert_int_equal(node_of(&f, "T2")->status, NODE_DONE);
	fixture_done(&f);
}

TEST(what_others_wait_for_is_not_dismissed)
{
	struct fixture f;
	int64_t number;

	fixture_init(&f);
	number = log_out(&f);
	refused(&f, "inbox.dismiss", json(&f, "{'number': %lld}", (long long)number), OV_EINVALID);
	/* Who unblocks one says that the agent is logged in. */
	submit(&f, "work.update", json(&f, "{'node': 'T1', 'status': 'queued', 'reason': 'r'}"));
	assert_int_equal(f.state->lanes.n, 0);
	fixture_done(&f);
}

TEST(an_outage_that_is_none)
{
	struct event e = { .kind = EV_OUTAGE_SUSPECTED };
	struct fixture f;
	int64_t number;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	e.data = json(&f, "{'silent': 5, 'live': 6}");
	assert_int_equal(append(&f, &e, NULL), 0);
	number = ask(&f, "outage", "", "'hang'");
	refused(&f, "inbox.answer", answer(&f, number, "I do not know"), OV_EINVALID);
	submit(&f, "inbox.answer", answer(&f, number, "hang"));
	assert_int_equal(f.state->outage_since, 0);
	assert_true(f.state->outage_ignored_until > f.now);
	fixture_done(&f);
}

TEST(a_budget_is_raised_or_the_goal_given_up)
{
	struct fixture f;
	struct ov_err err = { 0 };
	const value *entry;
	int64_t number;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	number = ask(&f, "budget", "", "");
	entry = value_item(view_inbox(&f.arena, f.state, STR(""), f.now, INBOX_DUE), 0);
	assert_true(str_is(value_str_at(entry, "answers"), "raise|cancel"));
	assert_true(str_starts(value_str_or(value_item(value_at(entry, "commands"), 0), STR("")),
			STR("overseer inbox answer ")));
	/* Nobody is told to dismiss what cannot be dismissed. */
	for (size_t i = 0; i < value_count(value_at(entry, "commands")); i++)
		assert_false(str_contains(value_str_or(value_item(value_at(entry, "commands"), i),
							  STR("")),
				STR("dismiss")));
	refused(&f, "inbox.dismiss", json(&f, "{'number': %lld}", (long long)number), OV_ESTATE);
	assert_int_equal(try_submit(&f, "inbox.answer", answer(&f, number, "continue"), &err),
			OV_ESTATE);
	assert_non_null(strstr(err.next, " raise --budget NAME=AMOUNT"));
	submit(&f, "inbox.answer", answer(&f, number, "cancel"));
	assert_int_equal(vec_last(&f.state->goals)->status, GOAL_CANCELLED);
	assert_int_equal(state_escalation(f.state, number)->status, ESC_ANSWERED);
	drain(&f);
	fixture_done(&f);
}

TEST(the_default_answer)
{
	struct fixture f;
	struct event e = { .kind = EV_ESCALATION_OPENED };

	fixture_init(&f);
	(void)fail_node(&f);
	e.goal = arena_str(&f.arena, vec_last(&f.state->goals)->id);
	e.node = STR("T1");
	e.data = json(&f,
			"{'escalation': %lld, 'kind': 'question', 'question': 'q?', "
			"'default_answer': 'in-process', 'expires_at_ms': %lld}",
			(long long)f.state->next_escalation, (long long)f.now + 1000);
	assert_int_equal(append(&f, &e, NULL), 0);
	tick(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	f.now += 1000;
	tick(&f);
	assert_int_equal(vec_last(&f.state->escalations)->status, ESC_EXPIRED);
	assert_true(str_is(node_of(&f, "T1")->told.answer, "in-process"));
	assert_true(node_of(&f, "T1")->status != NODE_BLOCKED);
	fixture_done(&f);
}

/* Urgent goals first, then what holds most up, then what waits longest. */
TEST(the_most_pressing_comes_first)
{
	struct fixture f;
	int64_t want[4];
	value *list;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), "low");
	want[3] = ask(&f, "question", "T1", "");
	create_goal(&f,
			json(&f,
					"{'phases': [{'id': 'P1', 'name': 'n', 'tasks': ["
					"{'id': 'T1', 'name': 'n', 'acceptance': ['x']}, "
					"{'id': 'T2', 'name': 'n', 'acceptance': ['x']}, "
					"{'id': 'T3', 'name': 'n', 'acceptance': ['x'], "
					"'deps': ['T2']}]}, "
					"{'id': 'P2', 'name': 'n', 'deps': ['T3'], 'tasks': ["
					"{'id': 'T4', 'name': 'n', 'acceptance': ['x']}]}]}"),
			NULL);
	want[2] = ask(&f, "question", "T1", "");
	f.now += 1000;
	want[1] = ask(&f, "question", "T2", "'yes', 'no'");
	create_goal(&f, flat_plan(&f, 1), "urgent");
	want[0] = ask(&f, "question", "T1", "");
	list = view_inbox(&f.arena, f.state, STR(""), f.now, INBOX_DUE);
	assert_int_equal(value_count(list), 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(value_int_at(value_item(list, i), "number"), want[i]);
	assert_int_equal(value_int_at(value_item(list, 1), "blocks"), 2);
	assert_true(str_is(value_str_at(value_item(list, 1), "answers"), "yes|no|TEXT"));
	fixture_done(&f);
}

TEST_MAIN
