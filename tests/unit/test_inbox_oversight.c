#include "tests/test.h"

#include "base/vec.h"
#include "core/inbox/inbox.h"
#include "core/state/snapshot.h"
#include "core/view/view.h"
#include "tests/unit/core_fixture.h"

/* Events as an intervention of oversight makes them. */
static void happen(struct fixture *f, enum event_kind kind, const char *node, value *data)
{
	struct event e = { .kind = kind, .data = data };
	struct ov_err err = { 0 };

	e.goal = arena_str(&f->arena, vec_last(&f->state->goals)->id);
	e.node = str_from(node);
	if (append(f, &e, &err) < 0)
		fail_msg("%s", err.msg);
}

static struct goal *the_goal(struct fixture *f)
{
	return vec_last(&f->state->goals);
}

static const struct escalation *entry(struct fixture *f)
{
	return vec_last(&f->state->escalations);
}

/* T1 of a goal goes in circles, and oversight stops the goal. */
static int64_t stop_goal(struct fixture *f, const char *kind)
{
	bool abort = strcmp(kind, "aborted") == 0;

	fixture_init(f);
	create_goal(f, flat_plan(f, 2), NULL);
	bring_to(f, "T1", STAGE_RUNNING);
	happen(f, EV_DETECTION_MADE, "T1",
			json(f,
					"{'detection': {'id': 'det_1', 'type': 'stuck', "
					"'severity': "
					"'critical', 'message': 'same error 5 times', "
					"'fingerprint': "
					"'fp1', 'iteration': 5}}"));
	happen(f, EV_INTERVENTION_APPLIED, "T1",
			json(f,
					"{'detection': 'det_1', 'level': '%s', 'reason': 'r', "
					"'did': 'd', "
					"'goal_wide': true, 'escalation': %lld}",
					abort ? "abort" : "pause",
					(long long)f->state->next_escalation));
	happen(f, EV_GOAL_STATUS, "",
			json(f, "{'from': 'active', 'to': 'paused', 'reason': 'stuck'%s}",
					abort ? ", 'health': 'aborted'" : ""));
	happen(f, EV_ESCALATION_OPENED, "",
			json(f,
					"{'escalation': %lld, 'kind': '%s', 'question': 'stuck: "
					"same error "
					"5 times', 'detection': 'det_1', 'fingerprint': 'fp1'}",
					(long long)f->state->next_escalation, kind));
	return entry(f)->number;
}

static value *numbered(struct fixture *f, int64_t number, const char *more)
{
	return json(f, "{'number': %lld%s}", (long long)number, more);
}

/* A state from its snapshot, and one from the log, are the state. */
static void check_restart(struct fixture *f)
{
	str shot = snapshot_of(f, f->state);
	struct state *read = NULL, *folded = state_new(7);
	struct ov_err err = { 0 };

	assert_int_equal(snapshot_read(shot, 3, &read, &err), 0);
	assert_true(str_eq(shot, snapshot_of(f, read)));
	for (size_t i = 0; i < f->log.n; i++)
		assert_int_equal(apply(folded, f->log.p[i], &err), 0);
	assert_true(str_eq(shot, snapshot_of(f, folded)));
	check_invariants(f->state, &f->policy);
	state_free(read);
	state_free(folded);
}

static void end(struct fixture *f)
{
	check_restart(f);
	fixture_done(f);
}

TEST(what_oversight_stopped_goes_on_or_ends_as_a_person_says)
{
	static const struct {
		const char *kind, *answer;
		enum goal_status status;
		enum goal_health health;
		const char *told; /* to T1; the other node is told nothing */
	} cases[] = {
		{ "paused", "resume", GOAL_ACTIVE, HEALTH_HEALTHY, "" },
		{ "paused", "use the fake clock", GOAL_ACTIVE, HEALTH_HEALTHY,
				"use the fake clock" },
		{ "paused", "abort", GOAL_PAUSED, HEALTH_ABORTED, "" },
		{ "aborted", "reopen", GOAL_ACTIVE, HEALTH_HEALTHY, "" },
		{ "aborted", "leave the tests alone", GOAL_ACTIVE, HEALTH_HEALTHY,
				"leave the tests alone" },
		{ "aborted", "cancel", GOAL_CANCELLED, HEALTH_HEALTHY, "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		int64_t number = stop_goal(&f, cases[i].kind);
		value *params = numbered(&f, number, "");

		value_put(&f.arena, params, "answer", value_cstr(&f.arena, cases[i].answer));
		value_put(&f.arena, params, "reason", value_cstr(&f.arena, "I looked at it"));
		submit(&f, "inbox.answer", params);
		assert_int_equal(the_goal(&f)->status, cases[i].status);
		assert_int_equal(the_goal(&f)->health, cases[i].health);
		assert_int_equal(state_escalation(f.state, number)->status, ESC_ANSWERED);
		assert_true(str_is(state_escalation(f.state, number)->answer, cases[i].answer));
		assert_true(str_is(state_escalation(f.state, number)->reason, "I looked at it"));
		assert_true(str_is(node_of(&f, "T1")->told.answer, cases[i].told));
		assert_int_equal(node_of(&f, "T2")->told.answer.n, 0);
		if (cases[i].status != GOAL_CANCELLED)
			assert_true(str_contains(the_goal(&f)->status_reason,
					STR("I looked at it")));
		check_restart(&f);
		if (cases[i].health == HEALTH_ABORTED) {
			assert_true(node_of(&f, "T1")->assignment->stage == STAGE_STOP);
			refused(&f, "goal.resume",
					json(&f, "{'goal': '" STR_FMT "'}",
							STR_ARG(the_goal(&f)->id)),
					OV_ESTATE);
		}
		drain(&f);
		if (cases[i].status == GOAL_ACTIVE)
			assert_int_equal(the_goal(&f)->status, GOAL_COMPLETED);
		end(&f);
	}
}

/* A goal that oversight stopped is not started again by a word that meant the opposite. */
TEST(a_word_of_other_entries_resumes_nothing)
{
	static const struct {
		const char *kind, *answer;
	} cases[] = { { "paused", "cancel" }, { "paused", "done" }, { "paused", "9 cancel" },
		{ "paused", "stop it" }, { "paused", "rezume" }, { "aborted", "abort" },
		{ "aborted", "no" }, { "aborted", "resume" } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		int64_t number = stop_goal(&f, cases[i].kind);
		value *params = numbered(&f, number, "");
		const char *msg;

		value_put(&f.arena, params, "answer", value_cstr(&f.arena, cases[i].answer));
		msg = refused(&f, "inbox.answer", params, OV_EINVALID);
		assert_non_null(strstr(msg,
				str_is(STR("paused"), cases[i].kind) ? "resume|abort|TEXT"
								     : "reopen|cancel|TEXT"));
		assert_int_equal(the_goal(&f)->status, GOAL_PAUSED);
		assert_int_equal(state_escalation(f.state, number)->status, ESC_OPEN);
		value_put(&f.arena, params, "answer",
				value_strf(&f.arena, "text: %s", cases[i].answer));
		submit(&f, "inbox.answer", params);
		assert_int_equal(the_goal(&f)->status, GOAL_ACTIVE);
		assert_true(str_is(node_of(&f, "T1")->told.answer, cases[i].answer));
		end(&f);
	}
}

TEST(what_is_about_the_whole_goal_is_told_to_all_that_is_open)
{
	struct fixture f;
	int64_t number = stop_goal(&f, "paused");

	happen(&f, EV_ESCALATION_RAISED, "",
			json(&f,
					"{'escalation': %lld, 'question': 'too dear', 'reason': "
					"'burn', "
					"'fingerprint': 'fp2', 'detection': 'det_2'}",
					(long long)number));
	submit(&f, "inbox.answer", numbered(&f, number, ", 'answer': 'be brief'"));
	assert_true(str_is(node_of(&f, "T1")->told.answer, "be brief"));
	assert_true(str_is(node_of(&f, "T2")->told.answer, "be brief"));
	end(&f);
}

TEST(approve_and_deny)
{
	static const struct {
		const char *kind, *op;
		enum goal_status status;
		enum goal_health health;
	} cases[] = {
		{ "paused", "inbox.approve", GOAL_ACTIVE, HEALTH_HEALTHY },
		{ "paused", "inbox.deny", GOAL_PAUSED, HEALTH_ABORTED },
		{ "aborted", "inbox.approve", GOAL_ACTIVE, HEALTH_HEALTHY },
		{ "aborted", "inbox.deny", GOAL_CANCELLED, HEALTH_HEALTHY },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		int64_t number = stop_goal(&f, cases[i].kind);

		submit(&f, cases[i].op, numbered(&f, number, ", 'reason': 'so it is'"));
		assert_int_equal(the_goal(&f)->status, cases[i].status);
		assert_int_equal(the_goal(&f)->health, cases[i].health);
		assert_int_equal(state_escalation(f.state, number)->status, ESC_ANSWERED);
		assert_true(str_is(state_escalation(f.state, number)->reason, "so it is"));
		end(&f);
	}
}

/* Every kind of the table can be approved and denied, or says what can be answered instead. */
TEST(every_kind_is_approved_or_says_how_to_answer)
{
	const struct inbox_kind *k;

	for (size_t i = 0; (k = inbox_kind_at(i)) != NULL; i++) {
		for (int deny = 0; deny < 2; deny++) {
			const char *op = deny ? "inbox.deny" : "inbox.approve",
				   *kind = status_name(&ask_kinds, (int)k->ask);
			enum say say = deny ? k->deny : k->approve;
			struct fixture f;
			struct ov_err err = { 0 };
			struct event e = { .kind = EV_ESCALATION_OPENED };
			int r;

			fixture_init(&f);
			create_goal(&f, flat_plan(&f, 1), NULL);
			if (k->about >= ABOUT_GOAL)
				e.goal = arena_str(&f.arena, the_goal(&f)->id);
			if (k->about == ABOUT_NODE)
				e.node = STR("T1");
			e.data = json(&f,
					"{'escalation': 1, 'kind': '%s', 'question': 'q?', "
					"'options': ['left', '%s']}",
					kind,
					say != SAY_TEXT && !inbox_needs_why(say)
							? status_name(&say_words, (int)say)
							: "right");
			assert_int_equal(append(&f, &e, NULL), 0);
			r = try_submit(&f, op, json(&f, "{'number': 1, 'reason': 'why'}"), &err);
			if (say != SAY_TEXT && r != 0)
				fail_msg("%s of %s: %s", op, kind, err.msg);
			if (say == SAY_TEXT) {
				assert_int_equal(r, OV_EINVALID);
				if (k->says[0] == SAY_TEXT)
					assert_non_null(strstr(err.msg, "left|right"));
				assert_non_null(strstr(err.next, "overseer inbox answer 1 "));
			}
			assert_int_equal(state_escalation(f.state, 1)->status,
					say != SAY_TEXT ? ESC_ANSWERED : ESC_OPEN);
			assert_true(k->why[0] != 0);
			end(&f);
		}
	}
}

TEST(a_review_is_denied_for_a_reason)
{
	struct fixture f;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	happen(&f, EV_ESCALATION_OPENED, "T1",
			json(&f,
					"{'escalation': 1, 'kind': 'review', 'question': 'q?', "
					"'options': "
					"['accept']}"));
	assert_non_null(strstr(refused(&f, "inbox.deny", numbered(&f, 1, ""), OV_EINVALID),
			"a reason is needed"));
	submit(&f, "inbox.deny", numbered(&f, 1, ", 'reason': 'no tests'"));
	assert_true(str_is(state_escalation(f.state, 1)->answer, "reject: no tests"));
	end(&f);
}

TEST(a_node_that_was_paused)
{
	static const struct {
		const char *answer;
		enum node_status to;
		const char *told;
	} cases[] = { { "resume", NODE_QUEUED, "" }, { "cancel", NODE_CANCELLED, "" },
		{ "use the other port", NODE_QUEUED, "use the other port" } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		value *params;

		fixture_init(&f);
		create_goal(&f, flat_plan(&f, 2), NULL);
		happen(&f, EV_NODE_STATUS, "T1",
				json(&f,
						"{'from': 'todo', 'to': 'blocked', 'reason': "
						"'stuck', "
						"'block': 'paused', 'blocked_by': 'overseer', "
						"'unblock_when': 'a person says so'}"));
		happen(&f, EV_ESCALATION_OPENED, "T1",
				json(&f,
						"{'escalation': 1, 'kind': 'paused', 'question': "
						"'stuck', "
						"'fingerprint': 'fp1', 'detection': 'det_1'}"));
		refused(&f, "inbox.dismiss", numbered(&f, 1, ""), OV_ESTATE);
		params = numbered(&f, 1, "");
		value_put(&f.arena, params, "answer", value_cstr(&f.arena, cases[i].answer));
		submit(&f, "inbox.answer", params);
		assert_int_equal(node_of(&f, "T1")->status, cases[i].to);
		assert_true(str_is(node_of(&f, "T1")->told.answer, cases[i].told));
		assert_int_equal(the_goal(&f)->status, GOAL_ACTIVE);
		end(&f);
	}
}

TEST(commands_about_the_goal_answer_it)
{
	static const struct {
		const char *kind, *op;
		enum esc_status status;
	} cases[] = { { "paused", "goal.resume", ESC_ANSWERED },
		{ "aborted", "goal.reopen", ESC_ANSWERED },
		{ "paused", "goal.cancel", ESC_DISMISSED } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		int64_t number = stop_goal(&f, cases[i].kind);

		submit(&f, cases[i].op,
				json(&f, "{'goal': '" STR_FMT "', 'reason': 'mended'}",
						STR_ARG(the_goal(&f)->id)));
		assert_int_equal(state_escalation(f.state, number)->status, cases[i].status);
		assert_true(str_contains(state_escalation(f.state, number)->answer, STR("mended")));
		end(&f);
	}
}

/* A goal that is paused and then aborted asks one question, not two. */
TEST(what_was_overtaken_is_closed)
{
	struct fixture f;
	int64_t number = stop_goal(&f, "paused");

	happen(&f, EV_GOAL_HEALTH, "",
			json(&f, "{'from': 'paused', 'to': 'aborted', 'reason': 'worse'}"));
	assert_non_null(strstr(refused(&f, "inbox.approve", numbered(&f, number, ""), OV_ESTATE),
			"aborted meanwhile"));
	tick(&f);
	assert_int_equal(state_escalation(f.state, number)->status, ESC_ANSWERED);
	assert_true(str_is(state_escalation(f.state, number)->answer, "the goal was aborted"));
	end(&f);
}

TEST(a_false_alarm_is_judged_and_what_was_stopped_goes_on)
{
	static const char *const kinds[] = { "paused", "aborted" };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct fixture f;
		int64_t number = stop_goal(&f, kinds[i]);
		const struct detection *d;

		assert_non_null(strstr(refused(&f, "inbox.dismiss", numbered(&f, number, ""),
						       OV_ESTATE),
				"cannot be dismissed"));
		submit(&f, "inbox.dismiss",
				numbered(&f, number,
						", 'false_positive': true, 'reason': 'it was "
						"slow'"));
		d = state_detection(the_goal(&f), STR("det_1"));
		assert_true(d->false_positive);
		assert_int_equal(d->effectiveness, EFFECT_UNHELPFUL);
		assert_true(str_is(d->judged_because, "it was slow"));
		assert_int_equal(the_goal(&f)->status, GOAL_ACTIVE);
		assert_int_equal(count_events(&f, EV_DETECTION_JUDGED), 1);
		end(&f);
	}
}

TEST(only_a_finding_can_be_a_false_one)
{
	struct fixture f;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	happen(&f, EV_ESCALATION_OPENED, "T1",
			json(&f, "{'escalation': 1, 'kind': 'question', 'question': 'q?'}"));
	refused(&f, "inbox.dismiss", numbered(&f, 1, ", 'false_positive': true"), OV_EINVALID);
	end(&f);
}

static size_t due(struct fixture *f)
{
	return value_count(view_inbox(&f->arena, f->state, STR(""), f->now, INBOX_DUE));
}

TEST(what_is_put_off_comes_back_by_itself)
{
	struct fixture f;
	int64_t number;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	happen(&f, EV_GOAL_STATUS, "",
			json(&f, "{'from': 'active', 'to': 'paused', 'reason': 'stuck'}"));
	happen(&f, EV_ESCALATION_OPENED, "",
			json(&f, "{'escalation': 1, 'kind': 'paused', 'question': 'stuck'}"));
	number = entry(&f)->number;
	refused(&f, "inbox.snooze", numbered(&f, number, ", 'for_ms': 0"), OV_EINVALID);
	refused(&f, "inbox.snooze", numbered(&f, number, ", 'for_ms': 99999999999999"),
			OV_EINVALID);
	refused(&f, "inbox.snooze", numbered(&f, 77, ", 'for_ms': 5"), OV_ENOTFOUND);
	settle(&f);
	submit(&f, "inbox.snooze", numbered(&f, number, ", 'for_ms': 36000000, 'reason': 'lunch'"));
	assert_int_equal(due(&f), 0);
	assert_int_equal(view_inbox_later(f.state, STR(""), f.now), 1);
	/* No reminder before that: 10 hours are more than the 4 after which there would be one. */
	f.now += 5 * OV_HOUR;
	settle(&f);
	assert_int_equal(entry(&f)->reminders, 0);
	assert_int_equal(due(&f), 0);
	assert_true(f.wake_at <= entry(&f)->snoozed_until);
	check_restart(&f);
	f.now = entry(&f)->snoozed_until;
	/* Also where nobody ticks: a reader without a daemon sees it. */
	assert_int_equal(due(&f), 1);
	settle(&f);
	assert_int_equal(entry(&f)->snoozed_until, 0);
	assert_int_equal(entry(&f)->raised, 0);
	assert_int_equal(count_events(&f, EV_ESCALATION_RAISED), 1);
	assert_int_equal(due(&f), 1);
	f.now += 4 * OV_HOUR;
	settle(&f);
	assert_int_equal(entry(&f)->reminders, 1);
	end(&f);
}

TEST(a_deadline_stays_where_it_is_put_off)
{
	struct fixture f;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	happen(&f, EV_ESCALATION_OPENED, "T1",
			json(&f,
					"{'escalation': 1, 'kind': 'question', 'question': 'q?', "
					"'default_answer': 'yes', 'expires_at_ms': %lld}",
					(long long)(f.now + OV_HOUR)));
	submit(&f, "inbox.snooze", numbered(&f, 1, ", 'for_ms': 36000000"));
	f.now += OV_HOUR;
	tick(&f);
	assert_int_equal(entry(&f)->status, ESC_EXPIRED);
	assert_true(str_is(node_of(&f, "T1")->told.answer, "yes"));
	end(&f);
}

TEST(more_budget_with_the_answer)
{
	struct fixture f;
	int64_t number = stop_goal(&f, "paused");
	struct ov_err err = { 0 };

	refused(&f, "inbox.answer",
			numbered(&f, number, ", 'answer': 'resume', 'budget': {'runs': 3}"),
			OV_EINVALID);
	assert_int_equal(the_goal(&f)->status, GOAL_PAUSED);
	submit(&f, "inbox.answer",
			numbered(&f, number,
					", 'answer': 'resume', 'budget': {'iterations': 30}, "
					"'estimate': {'iterations': 25}"));
	assert_int_equal(the_goal(&f)->budget[RES_ITERATIONS], 30);
	assert_int_equal(the_goal(&f)->estimate[RES_ITERATIONS], 25);
	assert_int_equal(the_goal(&f)->status, GOAL_ACTIVE);
	/* Who says nothing about a goal grants none. */
	happen(&f, EV_ESCALATION_OPENED, "T2",
			json(&f, "{'escalation': %lld, 'kind': 'question', 'question': 'q?'}",
					(long long)f.state->next_escalation));
	assert_int_equal(try_submit(&f, "inbox.answer",
					 numbered(&f, entry(&f)->number,
							 ", 'answer': 'cancel', 'budget': "
							 "{'iterations': 4}"),
					 &err),
			OV_EINVALID);
	end(&f);
}

/* The budget is spent by one run; a person is asked, and grants more. */
static int64_t spend_budget(struct fixture *f)
{
	fixture_init(f);
	create_goal(f, flat_plan(f, 2), NULL);
	submit(f, "goal.update",
			json(f, "{'goal': '" STR_FMT "', 'budget': {'iterations': 1}}",
					STR_ARG(the_goal(f)->id)));
	f->policy.workers_max = 1;
	bring_to(f, "T1", STAGE_RUNNING);
	run_end(f, "T1", 0);
	settle(f);
	assert_int_equal(the_goal(f)->budget_level, BUDGET_SPENT);
	assert_true(str_is(entry(f)->kind, "budget"));
	return entry(f)->number;
}

TEST(a_spent_budget_is_raised_where_it_is_asked_for)
{
	struct fixture f;
	int64_t number = spend_budget(&f);

	assert_non_null(strstr(refused(&f, "inbox.answer",
					       numbered(&f, number,
							       ", 'answer': 'raise', 'budget': "
							       "{'tokens': 7}"),
					       OV_EINVALID),
			"is spent even so"));
	submit(&f, "inbox.approve", numbered(&f, number, ", 'reason': 'worth it'"));
	assert_true(the_goal(&f)->budget[RES_ITERATIONS] >= 2);
	assert_true(the_goal(&f)->budget_level != BUDGET_SPENT);
	assert_int_equal(state_escalation(f.state, number)->status, ESC_ANSWERED);
	check_restart(&f);
	drain(&f);
	fixture_done(&f);
	number = spend_budget(&f);
	submit(&f, "inbox.answer",
			numbered(&f, number, ", 'answer': 'raise', 'budget': {'iterations': 40}"));
	assert_int_equal(the_goal(&f)->budget[RES_ITERATIONS], 40);
	drain(&f);
	assert_int_equal(the_goal(&f)->status, GOAL_COMPLETED);
	end(&f);
}

/* Alarms stand before what is only asked, however urgent its goal is. */
TEST(the_loudest_comes_first)
{
	static const char *const want[] = { "aborted", "paused", "question" };
	struct fixture f;
	const value *list, *first;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), "urgent");
	happen(&f, EV_ESCALATION_OPENED, "T1",
			json(&f, "{'escalation': 1, 'kind': 'question', 'question': 'q?'}"));
	create_goal(&f, flat_plan(&f, 1), "low");
	happen(&f, EV_ESCALATION_OPENED, "",
			json(&f, "{'escalation': 2, 'kind': 'paused', 'question': 'q?'}"));
	happen(&f, EV_DETECTION_MADE, "T1",
			json(&f,
					"{'detection': {'id': 'det_9', 'type': 'regression', "
					"'severity': "
					"'critical', 'message': '2 regressions'}}"));
	happen(&f, EV_ESCALATION_OPENED, "",
			json(&f,
					"{'escalation': 3, 'kind': 'aborted', 'question': 'q?', "
					"'detection': 'det_9', 'fingerprint': 'x'}"));
	list = view_inbox(&f.arena, f.state, STR(""), f.now, INBOX_DUE);
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_true(str_is(value_str_at(value_item(list, i), "kind"), want[i]));
	first = value_item(list, 0);
	assert_true(str_is(value_str_at(first, "urgency"), "emergency"));
	assert_true(str_is(value_str_at(first, "why"), "oversight aborted the goal"));
	assert_true(str_is(value_str_at(first, "if_unanswered"), "waits for you"));
	assert_true(str_is(value_str_at(first, "answers"), "reopen|cancel|TEXT"));
	assert_true(str_is(value_str_at(value_at(first, "detection"), "type"), "regression"));
	assert_true(str_is(value_str_at(value_at(first, "detection"), "message"), "2 regressions"));
	end(&f);
}

TEST_MAIN
