/* Sessions: which run goes on with which, and what follows from what a run says about its end. */
#include "tests/test.h"

#include "agent/table/formats.h"
#include "base/str.h"
#include "base/vec.h"
#include "tests/unit/core_fixture.h"

TEST_MAIN

/* The agents "a" (which may name its sessions) and "c" (which chooses the ids), and "b", raw. */
static void with_agents(struct fixture *f)
{
	struct policy_agent *agents;

	fixture_init(f);
	agents = arena_array(&f->arena, struct policy_agent, 3);
	agents[0] = (struct policy_agent){ .name = STR("a"),
		.concurrency = 8,
		.format = format_find(STR("claude")),
		.recovery = RUNG_RESEND };
	agents[1] = (struct policy_agent){ .name = STR("c"),
		.concurrency = 8,
		.format = format_find(STR("opencode")),
		.recovery = RUNG_RESEND };
	agents[2] = (struct policy_agent){ .name = STR("b"),
		.concurrency = 8,
		.input = true,
		.recovery = RUNG_RESEND };
	f->policy.agents = agents;
	f->policy.agents_n = 3;
}

/* T1 runs, by the agent with this name. */
static struct assignment *running(struct fixture *f, const char *agent)
{
	with_agents(f);
	f->policy.default_agent = str_from(agent);
	create_goal(f, flat_plan(f, 1), NULL);
	bring_to(f, "T1", STAGE_RUNNING);
	return node_of(f, "T1")->assignment;
}

static void ready(struct fixture *f, const struct assignment *as, const char *session)
{
	submit(f, "run.session",
			json(f, "{'run': '" STR_FMT "', 'session': '%s', 'model': 'm-1'}",
					STR_ARG(as->run_id), session));
}

/* more: further members, with a comma before them. */
static void end_with(struct fixture *f, const struct assignment *as, int code, const char *more)
{
	submit(f, "run.end",
			json(f, "{'run': '" STR_FMT "', 'exit_code': %d, 'signal': 0%s}",
					STR_ARG(as->run_id), code, more));
	settle(f);
}

static void failed(struct fixture *f, const struct assignment *as, const char *trouble)
{
	end_with(f, as, 1,
			arena_cstr(&f->arena,
					arena_printf(&f->arena,
							", 'verdict': 'failed', 'trouble': '%s'",
							trouble)));
}

static void harvested(struct fixture *f)
{
	effect_end(f, "T1", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 1, 'files_changed': 2");
	settle(f);
}

/* The wait before the next attempt is over. */
static void next_run(struct fixture *f)
{
	f->now += OV_HOUR;
	settle(f);
	effect_end(f, "T1", FX_RUN_START, "ok", "", "");
	settle(f);
}

static str instruction(struct fixture *f)
{
	return value_str_at(last_event(f, EV_DISPATCH_INTENDED)->data, "instruction");
}

TEST(a_new_session_gets_an_id_of_ours_where_it_may)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");
	const struct event *e = last_event(&f, EV_RUN_CREATED);
	str id = value_str_at(e->data, "session");

	assert_int_equal(id.n, 36);
	assert_int_equal(id.p[14], '4');
	assert_true(memchr("89ab", id.p[19], 4) != NULL);
	assert_false(value_bool_at(e->data, "resume"));
	assert_true(str_eq(as->run->session, id));
	/* Nothing was heard of it yet: it cannot be gone on with. */
	assert_int_equal(as->session.n, 0);
	fixture_done(&f);
}

TEST(who_chooses_its_ids_itself_is_given_none)
{
	struct fixture f;
	struct assignment *as = running(&f, "c");

	assert_null(value_at(last_event(&f, EV_RUN_CREATED)->data, "session"));
	ready(&f, as, "ses_1");
	assert_true(str_is(as->session, "ses_1"));
	assert_true(str_is(as->run->session, "ses_1"));
	assert_true(str_is(as->run->model, "m-1"));
	fixture_done(&f);
}

TEST(a_session_that_is_told_again_is_no_news)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");

	ready(&f, as, "s-1");
	ready(&f, as, "s-1");
	assert_int_equal(count_events(&f, EV_RUN_SESSION), 1);
	fixture_done(&f);
}

TEST(a_run_that_is_over_names_no_session)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");

	end_with(&f, as, 0, ", 'verdict': 'ok'");
	refused(&f, "run.session",
			json(&f, "{'run': '" STR_FMT "', 'session': 's'}", STR_ARG(as->run_id)),
			OV_EFENCED);
	assert_int_equal(as->session.n, 0);
	fixture_done(&f);
}

TEST(the_run_after_a_failed_one_goes_on_with_its_session)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");
	const struct event *e;

	ready(&f, as, "s-1");
	failed(&f, as, "unfinished");
	harvested(&f);
	next_run(&f);
	e = last_event(&f, EV_RUN_CREATED);
	assert_true(str_is(value_str_at(e->data, "session"), "s-1"));
	assert_true(value_bool_at(e->data, "resume"));
	assert_true(as->run->resumed);
	assert_int_equal(as->attempt, 2);
	e = last_event(&f, EV_DISPATCH_INTENDED);
	assert_true(str_is(value_str_at(e->data, "mode"), "resume"));
	assert_true(str_starts(instruction(&f), STR("Go on with task T1")));
	fixture_done(&f);
}

/* An id that was given to a run may be in use already: nobody knows. */
TEST(what_was_never_heard_of_is_begun_anew_under_another_id)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");
	str first = arena_str(&f.arena, as->run->session);

	end_with(&f, as, 0, ", 'lost': true");
	harvested(&f);
	next_run(&f);
	assert_false(as->run->resumed);
	assert_int_equal(as->run->session.n, 36);
	assert_false(str_eq(as->run->session, first));
	fixture_done(&f);
}

TEST(a_raw_agent_knows_no_sessions)
{
	struct fixture f;
	struct assignment *as = running(&f, "b");

	end_with(&f, as, 1, "");
	harvested(&f);
	next_run(&f);
	assert_false(as->run->resumed);
	assert_int_equal(as->run->session.n, 0);
	fixture_done(&f);
}

/* The exit code says nothing about an agent that says how it went. */
TEST(the_verdict_decides_not_the_exit_code)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");

	end_with(&f, as, 3, ", 'verdict': 'ok'");
	harvested(&f);
	assert_int_equal(as->stage, STAGE_REBASE);
	fixture_done(&f);

	as = running(&f, "a");
	end_with(&f, as, 0, ", 'verdict': 'failed', 'trouble': 'other', 'message': 'no'");
	harvested(&f);
	assert_int_equal(as->stage, STAGE_START);
	assert_int_equal(as->node->work.failures[CAUSE_RUN], 1);
	fixture_done(&f);
}

TEST(what_a_run_used_is_kept_with_it)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");

	ready(&f, as, "s-1");
	end_with(&f, as, 0,
			", 'verdict': 'ok', 'turns': 3, 'tool_calls': 4, 'tokens': 10, "
			"'tokens_input': 1, 'tokens_output': 2, 'tokens_cache_read': 3, "
			"'tokens_cache_write': 4, 'cost_microusd': 99, 'cost_source': 'prices', "
			"'session_usage': {'input': 7}");
	assert_int_equal(as->run->turns, 3);
	assert_int_equal(as->run->tool_calls, 4);
	assert_int_equal(as->run->tokens, 10);
	assert_int_equal(as->run->tokens_cache_write, 4);
	assert_int_equal(as->run->cost_microusd, 99);
	assert_true(str_is(as->run->cost_source, "prices"));
	assert_true(str_is(as->session_usage, "{\"input\":7}"));
	fixture_done(&f);
}

TEST(a_session_that_cannot_go_on_is_forgotten)
{
	static const char *const troubles_of_it[] = { "session_lost", "context", "refused" };

	for (size_t i = 0; i < ARRAY_LEN(troubles_of_it); i++) {
		struct fixture f;
		struct assignment *as = running(&f, "a");

		ready(&f, as, "s-1");
		failed(&f, as, troubles_of_it[i]);
		assert_int_equal(as->session.n, 0);
		harvested(&f);
		next_run(&f);
		assert_false(as->run->resumed);
		assert_false(str_is(as->run->session, "s-1"));
		assert_true(str_starts(instruction(&f), STR("Task T1")));
		fixture_done(&f);
	}
}

/* ---- troubles ---- */

TEST(a_trouble_of_the_agent_holds_up_its_lane)
{
	static const struct {
		const char *trouble;
		enum block_kind block;
		const char *reason;
	} cases[] = {
		{ "rate_limited", BLOCK_RATE_LIMITED, "its agent is out of quota" },
		{ "overloaded", BLOCK_RATE_LIMITED,
				"the server of its agent's model is overloaded" },
		{ "login", BLOCK_LOGIN, "its run said that its agent is logged out" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		struct assignment *as = running(&f, "a");
		struct node *n = as->node;

		ready(&f, as, "s-1");
		failed(&f, as, cases[i].trouble);
		harvested(&f);
		assert_int_equal(n->status, NODE_BLOCKED);
		assert_int_equal(n->block.kind, cases[i].block);
		assert_true(str_is(n->status_reason, cases[i].reason));
		assert_int_equal(n->work.failures[CAUSE_RUN], 0);
		assert_int_equal(n->goal->spent[RES_ITERATIONS], 0);
		assert_non_null(state_lane(f.state, STR("a")));
		fixture_done(&f);
	}
}

TEST(a_limit_that_says_when_it_resets_is_waited_for)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");
	ov_time at = f.now + 37 * OV_MINUTE;

	end_with(&f, as, 1,
			arena_cstr(&f.arena,
					arena_printf(&f.arena,
							", 'verdict': 'failed', 'trouble': "
							"'rate_limited', 'resets_at_ms': %lld",
							(long long)at)));
	harvested(&f);
	assert_int_equal(state_lane(f.state, STR("a"))->resets_at, at);
	assert_int_equal(node_of(&f, "T1")->block.until, at);
	fixture_done(&f);
}

/* Whatever it stumbled over on the way. */
TEST(a_run_that_went_well_has_no_trouble)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");

	ready(&f, as, "s-1");
	end_with(&f, as, 0, ", 'verdict': 'ok', 'trouble': 'rate_limited'");
	harvested(&f);
	assert_int_equal(as->stage, STAGE_REBASE);
	assert_int_equal(as->run->trouble, TROUBLE_NONE);
	assert_true(str_is(as->session, "s-1"));
	fixture_done(&f);
}

TEST(the_next_run_is_told_what_went_wrong)
{
	static const struct {
		const char *trouble, *told;
	} cases[] = {
		{ "max_turns", "You were cut off after as many turns as one run may take." },
		{ "network", "The connection to your model broke off." },
		{ "loop", "You were stopped because you did the same thing again and again." },
		{ "unfinished", "You ended in the middle of a turn." },
		{ "other", "the agent failed" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		struct assignment *as = running(&f, "a");

		ready(&f, as, "s-1");
		failed(&f, as, cases[i].trouble);
		harvested(&f);
		next_run(&f);
		assert_true(as->run->resumed);
		assert_true(str_find(instruction(&f), str_from(cases[i].told)) < instruction(&f).n);
		fixture_done(&f);
	}
}

static void harvested_at(struct fixture *f, const char *head)
{
	effect_end(f, "T1", FX_HARVEST, "ok", "",
			arena_cstr(&f->arena,
					arena_printf(&f->arena,
							"'head': '%s', 'tree': 't', 'commits': 1, "
							"'files_changed': 2",
							head)));
	settle(f);
}

TEST(turns_that_were_used_up_are_no_failure_while_the_work_changes)
{
	static const char *const heads[] = { "h1", "h2", "h3", "h4", "h5", "h1" };
	struct fixture f;
	struct assignment *as = running(&f, "a");

	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		if (i == 0)
			ready(&f, as, "s-1");
		failed(&f, as, "max_turns");
		harvested_at(&f, heads[i]);
		/* At once, in the same session; each is an iteration. */
		assert_int_equal(count_events(&f, EV_RUN_CONTINUED), i + 1);
		assert_int_equal(as->node->watch.iterations_n, i + 1);
		assert_int_equal(as->node->work.failures[CAUSE_RUN], 0);
		assert_int_equal(effect_of(&f, "T1")->kind, FX_RUN_START);
		assert_true(as->run->resumed);
		next_run(&f);
	}
	/* Where it was before: that one did nothing. */
	failed(&f, as, "max_turns");
	harvested_at(&f, "h1");
	assert_int_equal(count_events(&f, EV_RUN_CONTINUED), ARRAY_LEN(heads));
	assert_int_equal(as->node->work.failures[CAUSE_RUN], 1);
	fixture_done(&f);
}

/* Of the first run, too: its branch is where it began. */
TEST(turns_that_were_used_up_without_a_change_are_a_failure)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");
	const char *base = arena_cstr(&f.arena, as->base);

	ready(&f, as, "s-1");
	failed(&f, as, "max_turns");
	harvested_at(&f, base);
	assert_int_equal(count_events(&f, EV_RUN_CONTINUED), 0);
	assert_int_equal(as->node->work.failures[CAUSE_RUN], 1);
	next_run(&f);
	assert_true(as->run->resumed);
	fixture_done(&f);
}

TEST(a_session_that_was_gone_costs_no_attempt)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");
	int64_t iterations;

	ready(&f, as, "s-1");
	failed(&f, as, "unfinished");
	harvested(&f);
	next_run(&f);
	assert_true(as->run->resumed);
	iterations = node_of(&f, "T1")->goal->spent[RES_ITERATIONS];
	failed(&f, as, "session_lost");
	harvested(&f);
	assert_int_equal(as->node->work.failures[CAUSE_RUN], 1);
	assert_int_equal(node_of(&f, "T1")->goal->spent[RES_ITERATIONS], iterations);
	assert_int_equal(count_events(&f, EV_RUN_CONTINUED), 1);
	next_run(&f);
	assert_false(as->run->resumed);
	/* Nothing was to be resumed: then it is a failure as any other. */
	failed(&f, as, "session_lost");
	harvested(&f);
	assert_int_equal(as->node->work.failures[CAUSE_RUN], 2);
	assert_int_equal(count_events(&f, EV_RUN_CONTINUED), 1);
	fixture_done(&f);
}

TEST(a_session_in_which_nothing_was_said_is_not_resumed)
{
	for (int resumed = 0; resumed < 2; resumed++) {
		struct fixture f;
		struct assignment *as = running(&f, "a");

		ready(&f, as, "s-1");
		if (resumed) {
			failed(&f, as, "unfinished");
			harvested(&f);
			next_run(&f);
			ready(&f, as, "s-1");
		}
		end_with(&f, as, 1,
				", 'verdict': 'failed', 'trouble': 'network', 'session_empty': "
				"true");
		harvested(&f);
		next_run(&f);
		assert_int_equal(as->run->resumed, resumed);
		fixture_done(&f);
	}
}

/* Once without the session; the same again will not do. */
TEST(a_request_that_was_refused_is_tried_once_without_the_session)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");

	f.policy.retry_max_attempts = 5;
	ready(&f, as, "s-1");
	failed(&f, as, "unfinished");
	harvested(&f);
	next_run(&f);
	assert_true(as->run->resumed);
	failed(&f, as, "refused");
	harvested(&f);
	next_run(&f);
	assert_false(as->run->resumed);
	failed(&f, as, "refused");
	harvested(&f);
	/* There is no other one for it: from here on the ladder decides. */
	assert_int_equal(as->attempt, 3);
	assert_int_equal(as->status, AS_CANCELLED);
	assert_int_equal(as->node->stall.rungs[RUNG_REASSIGN], 1);
	fixture_done(&f);
}

/* ---- asking a silent run ---- */

static void look_at(struct fixture *f)
{
	observe(f, node_of(f, "T1"))->looked_at = f->now;
}

/* The run of T1 falls silent, and stays so until the ladder has come to this rung. */
static void silence(struct fixture *f, enum rung until)
{
	const struct node *n = node_of(f, "T1");

	for (int i = 0; i < 200 && !n->stall.rungs[until]; i++) {
		f->now += OV_MINUTE;
		if (n->assignment->stage == STAGE_RUNNING)
			look_at(f);
		settle(f);
	}
	assert_true(n->stall.rungs[until]);
}

static void stopped(struct fixture *f, const struct assignment *as)
{
	effect_end(f, "T1", FX_RUN_STOP, "ok", "", "");
	end_with(f, as, 130, ", 'verdict': 'failed', 'trouble': 'interrupted'");
	harvested(f);
}

TEST(a_silent_run_without_input_is_asked_by_a_new_run_of_its_session)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");
	ov_time began = f.now;
	str first = arena_str(&f.arena, as->run_id);

	ready(&f, as, "s-1");
	silence(&f, RUNG_NUDGE);
	/* As long as asking would have taken: it is ended by that. */
	assert_true(f.now - began > f.policy.idle_after + 5 * OV_MINUTE);
	assert_int_equal(as->stage, STAGE_STOP);
	assert_true(as->stopping);
	assert_int_equal(count_events(&f, EV_DISPATCH_INTENDED), 1);
	stopped(&f, as);
	/* At once, and not as a failure. */
	assert_int_equal(effect_of(&f, "T1")->kind, FX_RUN_START);
	assert_int_equal(as->node->work.failures[CAUSE_RUN], 0);
	assert_int_equal(as->node->stall.rungs[RUNG_NUDGE], 1);
	assert_false(str_eq(first, as->run_id));
	assert_true(as->run->resumed);
	assert_true(str_is(as->run->session, "s-1"));
	assert_true(str_is(value_str_at(last_event(&f, EV_DISPATCH_INTENDED)->data, "purpose"),
			"nudge"));
	assert_true(str_find(instruction(&f), STR("Nothing has been heard of task T1")) <
			instruction(&f).n);
	fixture_done(&f);
}

/* The next silence goes on with the ladder, where it was. */
TEST(each_new_run_of_a_silent_session_is_one_nudge)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");

	ready(&f, as, "s-1");
	silence(&f, RUNG_NUDGE);
	stopped(&f, as);
	effect_end(&f, "T1", FX_RUN_START, "ok", "", "");
	ready(&f, as, "s-1");
	for (int i = 0; i < 200 && as->node->stall.rungs[RUNG_NUDGE] < 2; i++) {
		f.now += OV_MINUTE;
		look_at(&f);
		settle(&f);
	}
	assert_int_equal(as->node->stall.episode, 1);
	assert_int_equal(as->node->stall.rungs[RUNG_NUDGE], 2);
	stopped(&f, as);
	effect_end(&f, "T1", FX_RUN_START, "ok", "", "");
	ready(&f, as, "s-1");
	silence(&f, RUNG_REASSIGN);
	assert_int_equal(as->attempt, 3);
	assert_int_equal(as->status, AS_CANCELLED);
	fixture_done(&f);
}

TEST(one_signal_is_not_enough_to_end_a_run_for_a_question)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");

	ready(&f, as, "s-1");
	for (int i = 0; i < 16; i++) {
		f.now += OV_MINUTE;
		look_at(&f);
		settle(&f);
	}
	assert_int_equal(as->status, AS_STALLED);
	observe(&f, as->node)->process_unknown = observe(&f, as->node)->tree_unknown = true;
	silence(&f, RUNG_ESCALATE);
	assert_int_equal(as->stage, STAGE_RUNNING);
	assert_int_equal(as->node->stall.skipped[RUNG_NUDGE], 2);
	fixture_done(&f);
}

TEST(without_a_session_nobody_is_asked)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");

	silence(&f, RUNG_REASSIGN);
	assert_int_equal(as->node->stall.skipped[RUNG_NUDGE], 2);
	assert_int_equal(count_events(&f, EV_RUN_CREATED), 1);
	fixture_done(&f);
}

/* It only tried again and again: without quota the next run could do nothing either. */
TEST(a_silent_run_that_was_out_of_quota_waits_for_it)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");

	ready(&f, as, "s-1");
	silence(&f, RUNG_NUDGE);
	effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
	failed(&f, as, "rate_limited");
	harvested(&f);
	assert_int_equal(node_of(&f, "T1")->block.kind, BLOCK_RATE_LIMITED);
	assert_int_equal(count_events(&f, EV_RUN_CREATED), 1);
	fixture_done(&f);
}

/* ---- what people say ---- */

static void nudge(struct fixture *f, const char *more)
{
	submit(f, "work.nudge", json(f, "{'node': 'T1'%s}", more));
	settle(f);
}

static bool told(struct fixture *f, const char *text)
{
	return str_find(instruction(f), str_from(text)) < instruction(f).n;
}

static const struct dispatch *last_sent(const struct assignment *as)
{
	for (size_t i = as->dispatches.n; i-- > 0;)
		if (as->dispatches.p[i]->mode == MODE_SEND)
			return as->dispatches.p[i];
	return NULL;
}

TEST(what_an_agent_with_hooks_takes_is_not_said_again)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");

	ready(&f, as, "s-1");
	nudge(&f, ", 'message': 'mind the tests'");
	effect_end(&f, "T1", FX_SEND, "ok", "", "");
	/* It waits for the agent's next stop. */
	assert_true(as->node->told.said.n > 0);
	submit(&f, "dispatch.ack",
			json(&f, "{'dispatch': '" STR_FMT "', 'how': 'taken'}",
					STR_ARG(last_sent(as)->id)));
	assert_int_equal(as->node->told.said.n, 0);
	end_with(&f, as, 0, ", 'verdict': 'ok'");
	harvested(&f);
	assert_int_equal(as->stage, STAGE_REBASE);
	fixture_done(&f);
}

TEST(what_a_person_said_and_nobody_took_is_told_before_the_work_is_judged)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");

	ready(&f, as, "s-1");
	nudge(&f, ", 'message': 'mind the tests'");
	effect_end(&f, "T1", FX_SEND, "ok", "", "");
	end_with(&f, as, 0, ", 'verdict': 'ok'");
	harvested(&f);
	assert_true(as->run->resumed);
	assert_true(told(&f, "mind the tests"));
	assert_true(str_is(value_str_at(last_event(&f, EV_DISPATCH_INTENDED)->data, "purpose"),
			"message"));
	assert_int_equal(as->node->work.failures[CAUSE_RUN], 0);
	effect_end(&f, "T1", FX_RUN_START, "ok", "", "");
	assert_true(as->node->told.said.n > 0);
	ready(&f, as, "s-1");
	assert_int_equal(as->node->told.said.n, 0);
	end_with(&f, as, 0, ", 'verdict': 'ok'");
	harvested(&f);
	assert_int_equal(as->stage, STAGE_REBASE);
	assert_int_equal(as->attempt, 2);
	fixture_done(&f);
}

/* The run that was to be told it never became ready: the next one is told. */
TEST(what_a_person_said_survives_a_session_that_is_lost)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");

	ready(&f, as, "s-1");
	nudge(&f, ", 'message': 'mind the tests'");
	effect_end(&f, "T1", FX_SEND, "ok", "", "");
	end_with(&f, as, 0, ", 'verdict': 'ok'");
	harvested(&f);
	effect_end(&f, "T1", FX_RUN_START, "ok", "", "");
	failed(&f, as, "session_lost");
	harvested(&f);
	next_run(&f);
	assert_false(as->run->resumed);
	assert_true(told(&f, "mind the tests"));
	assert_true(told(&f, "Task T1"));
	fixture_done(&f);
}

/* Handed on before it was ready: whoever takes the work over is told, and as long as it takes. */
TEST(what_a_person_said_survives_a_run_that_was_stopped_before_it_was_ready)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");

	ready(&f, as, "s-1");
	nudge(&f, ", 'message': 'mind the tests'");
	effect_end(&f, "T1", FX_SEND, "ok", "", "");
	for (int i = 0; i < 2; i++) {
		submit(&f, "work.reassign", json(&f, "{'node': 'T1', 'reason': 'another'}"));
		settle(&f);
		effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
		/* It ended by itself, without a result. */
		end_with(&f, as, 0, ", 'verdict': 'failed', 'trouble': 'unfinished'");
		harvested(&f);
		bring_to(&f, "T1", STAGE_RUNNING);
		as = node_of(&f, "T1")->assignment;
		assert_true(as->node->told.said.n > 0);
		assert_true(told(&f, "mind the tests"));
	}
	ready(&f, as, "s-2");
	assert_int_equal(as->node->told.said.n, 0);
	fixture_done(&f);
}

/* A report says nothing about what waits for the agent's next stop. */
TEST(a_report_is_no_answer_to_what_was_not_taken)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");

	ready(&f, as, "s-1");
	nudge(&f, ", 'message': 'mind the tests'");
	effect_end(&f, "T1", FX_SEND, "ok", "", "");
	submit(&f, "run.report",
			json(&f,
					"{'run': '" STR_FMT
					"', 'identity': 'i', 'offset': 5, 'update': {'status': "
					"'in_progress', 'summary': 'x'}}",
					STR_ARG(as->run_id)));
	assert_true(as->node->told.said.n > 0);
	fixture_done(&f);
}

TEST(what_goes_into_an_input_is_with_the_agent)
{
	struct fixture f;
	struct assignment *as = running(&f, "b");

	nudge(&f, ", 'message': 'mind the tests'");
	assert_true(as->node->told.said.n > 0);
	effect_end(&f, "T1", FX_SEND, "ok", "", "");
	assert_int_equal(as->node->told.said.n, 0);
	fixture_done(&f);
}

TEST(a_person_who_cannot_wait_interrupts)
{
	struct fixture f;
	struct assignment *as = running(&f, "c");

	refused(&f, "work.nudge", json(&f, "{'node': 'T1', 'message': 'stop that'}"), OV_ESTATE);
	refused(&f, "work.nudge", json(&f, "{'node': 'T1', 'now': true}"), OV_ESTATE);
	ready(&f, as, "ses_1");
	nudge(&f, ", 'message': 'stop that', 'now': true");
	assert_true(as->stopping);
	assert_int_equal(as->stage, STAGE_STOP);
	stopped(&f, as);
	assert_true(as->run->resumed);
	assert_true(told(&f, "stop that"));
	assert_int_equal(as->node->work.failures[CAUSE_RUN], 0);
	effect_end(&f, "T1", FX_RUN_START, "ok", "", "");
	ready(&f, as, "ses_1");
	assert_int_equal(as->node->told.said.n, 0);
	assert_int_equal(last_sent(as)->result, RESULT_OK);
	fixture_done(&f);
}

TEST(more_than_fits_into_an_instruction_is_not_taken)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");
	char text[3 * 1024];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ready(&f, as, "s-1");
	for (int i = 0; i < 2; i++) {
		text[0] = (char)('a' + i);
		nudge(&f, arena_cstr(&f.arena, arena_printf(&f.arena, ", 'message': '%s'", text)));
		effect_end(&f, "T1", FX_SEND, "ok", "", "");
	}
	text[0] = 'c';
	refused(&f, "work.nudge", json(&f, "{'node': 'T1', 'message': '%s'}", text), OV_ELIMIT);
	fixture_done(&f);
}

TEST(who_says_the_same_twice_is_heard_once)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");
	str text;

	ready(&f, as, "s-1");
	for (int i = 0; i < 2; i++) {
		nudge(&f, ", 'message': 'mind the tests', 'force': true");
		effect_end(&f, "T1", FX_SEND, "ok", "", "");
	}
	end_with(&f, as, 0, ", 'verdict': 'ok'");
	harvested(&f);
	text = instruction(&f);
	text = str_sub(text, str_find(text, STR("mind the tests")) + 1, text.n);
	assert_int_equal(str_find(text, STR("mind the tests")), text.n);
	effect_end(&f, "T1", FX_RUN_START, "ok", "", "");
	ready(&f, as, "s-1");
	assert_int_equal(as->node->told.said.n, 0);
	fixture_done(&f);
}

/* ---- who waits ---- */

/* Its worker waits behind it: somebody has to know. */
TEST(a_run_that_does_not_end_for_the_next_one_is_put_before_a_person)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");

	ready(&f, as, "s-1");
	nudge(&f, ", 'now': true");
	effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
	settle(&f);
	assert_int_equal(as->stage, STAGE_RUNNING);
	assert_int_equal(f.state->escalations.n, 0);
	f.now += f.policy.idle_after;
	settle(&f);
	assert_int_equal(f.state->escalations.n, 1);
	assert_true(str_is(vec_last(&f.state->escalations)->kind, "overdue"));
	end_with(&f, as, 130, ", 'verdict': 'failed', 'trouble': 'interrupted'");
	assert_int_equal(vec_last(&f.state->escalations)->status, ESC_DISMISSED);
	fixture_done(&f);
}

TEST(a_permission_that_is_wanted_is_asked_for_by_its_name)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");
	str question;

	ready(&f, as, "s-1");
	observe(&f, as->node)->waiting_for = STR("Bash");
	silence(&f, RUNG_ESCALATE);
	question = vec_last(&f.state->escalations)->question;
	assert_true(str_contains(question, STR("agent a waits for a permission")));
	assert_true(str_contains(question, STR(": Bash. Allow that")));
	/* It is not asked for its status first: only a person can answer. */
	assert_int_equal(as->node->stall.rungs[RUNG_NUDGE], 0);
	fixture_done(&f);
}

/* What a later program writes into a log is one thing; an older log has none of it. */
TEST(an_end_without_words_is_judged_by_its_status_also_of_an_agent_that_speaks)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");

	end_with(&f, as, 0, "");
	harvested(&f);
	assert_int_equal(as->stage, STAGE_REBASE);
	fixture_done(&f);
}

/* Another assignment is another conversation. */
TEST(who_takes_over_begins_a_session_of_its_own)
{
	struct fixture f;
	struct assignment *as = running(&f, "a");
	struct node *n = as->node;

	ready(&f, as, "s-1");
	submit(&f, "work.reassign", json(&f, "{'node': 'T1', 'reason': 'another'}"));
	settle(&f);
	effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
	end_with(&f, as, 130, ", 'verdict': 'failed', 'trouble': 'interrupted'");
	harvested(&f);
	bring_to(&f, "T1", STAGE_RUNNING);
	assert_ptr_not_equal(n->assignment, as);
	assert_false(n->assignment->run->resumed);
	assert_int_equal(n->assignment->session.n, 0);
	fixture_done(&f);
}

static void ends_saying(struct fixture *f, const struct assignment *as, const char *how,
		const char *lines)
{
	end_with(f, as, 1,
			arena_cstr(&f->arena,
					arena_printf(&f->arena, ", 'last_lines': '%s'%s", lines,
							how)));
	harvested(f);
}

/* An agent that speaks no format is known by its last words, when it failed. */
TEST(a_raw_agent_that_says_that_it_is_out_of_quota)
{
	struct fixture f;
	struct assignment *as = running(&f, "b");
	const struct lane *l;

	ends_saying(&f, as, "", "working\\nRate limit exceeded, try again in 3 hours\\nbye");
	l = state_lane(f.state, STR("b"));
	assert_non_null(l);
	assert_int_equal(l->kind, BLOCK_RATE_LIMITED);
	assert_int_equal(l->known_by, SIGN_STREAM);
	assert_false(l->guessed);
	assert_int_equal(l->resets_at, f.now + 3 * OV_HOUR);
	assert_int_equal(node_of(&f, "T1")->work.failures[CAUSE_RUN], 0);
	fixture_done(&f);
	as = running(&f, "b");
	ends_saying(&f, as, "", "Invalid API key");
	assert_int_equal(state_lane(f.state, STR("b"))->kind, BLOCK_LOGIN);
	fixture_done(&f);
}

/*
 * Words of the work, of a run that went well or was killed, and of an agent that tells it better.
 */
TEST(words_that_hold_nobody_up)
{
	struct fixture f;
	struct assignment *as = running(&f, "b");

	ends_saying(&f, as, "", "FAILED test_rate_limits");
	assert_null(state_lane(f.state, STR("b")));
	assert_int_equal(node_of(&f, "T1")->work.failures[CAUSE_RUN], 1);
	fixture_done(&f);
	as = running(&f, "b");
	end_with(&f, as, 0, ", 'last_lines': 'rate limit exceeded'");
	assert_null(state_lane(f.state, STR("b")));
	fixture_done(&f);
	as = running(&f, "a");
	ready(&f, as, "s-1");
	ends_saying(&f, as, ", 'verdict': 'failed', 'trouble': 'other'", "rate limit exceeded");
	assert_null(state_lane(f.state, STR("a")));
	fixture_done(&f);
}
