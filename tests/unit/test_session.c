/* Sessions: which run goes on with which, and what follows from what a run says about its end. */
#include "tests/test.h"

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
	assert_int_equal(as->stage, STAGE_ACCEPT);
	fixture_done(&f);

	as = running(&f, "a");
	end_with(&f, as, 0, ", 'verdict': 'failed', 'trouble': 'other', 'message': 'no'");
	harvested(&f);
	assert_int_equal(as->stage, STAGE_START);
	assert_int_equal(as->node->failures[CAUSE_RUN], 1);
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
