#include "tests/test.h"

#include "base/str.h"
#include "tests/unit/core_fixture.h"

TEST_MAIN

#define GOOD                                                                                \
	"{'phases':[{'id':'P1','name':'All','tasks':[{'id':'T1.1','name':'It','acceptance'" \
	":['x']}]}]}"

/* A goal for which the planner is asked; its effect is open. */
static struct goal *asked(struct fixture *f)
{
	value *r;

	f->policy.planner = true;
	f->policy.fallback = true;
	r = submit(f, "goal.create", json(f, "{'title':'G','success_criteria':['it works']}"));
	assert_true(value_bool_at(r, "planning"));
	assert_int_equal(value_int_at(r, "plan_version"), 0);
	return state_goal(f->state, value_str_at(r, "goal"));
}

static void end(struct fixture *f, const struct goal *g, const char *outcome, const char *more)
{
	assert_non_null(g->effect);
	submit(f, "effect.end",
			json(f,
					"{'effect':'" STR_FMT "','outcome':'%s','detail':'why',"
					"'data':{'purpose':'create','model_ref':'openai/m',"
					"'template_id':'plan.v1','template_hash':'abc','inputs':{'"
					"a':'b'},"
					"'attempts':[{'errors':['e'],'tokens_in':3,'tokens_out':4}]"
					","
					"'tokens_in':3,'tokens_out':4%s}}",
					STR_ARG(g->effect->id), outcome, more));
	assert_null(g->effect);
}

TEST(a_planner_is_asked_and_its_plan_is_kept_with_its_origin)
{
	struct fixture f;
	struct goal *g;

	fixture_init(&f);
	g = asked(&f);
	assert_int_equal(g->effect->kind, FX_PLAN);
	assert_true(str_is(g->effect->purpose, "create"));
	end(&f, g, "ok", ",'plan_version':0,'raw':'{}','plan':" GOOD);
	assert_int_equal(g->plan_version, 1);
	assert_true(str_is(g->plan_source, "planner"));
	assert_int_equal(g->planned_seq, last_event(&f, EV_PLAN_GENERATED)->seq);
	assert_true(str_is(value_str_at(last_event(&f, EV_PLAN_GENERATED)->data, "raw"), "{}"));
	assert_int_equal(g->spent[RES_TOKENS], 7);
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 0);
	check_invariants(f.state, &f.policy);
	fixture_done(&f);
}

TEST(whatever_goes_wrong_the_goal_gets_one_task_and_a_person_is_told)
{
	static const struct {
		const char *outcome, *more;
	} cases[] = { { "invalid", "" }, { "error", "" }, { "none", "" },
		{ "ok", ",'plan':{'phases':[]}" }, { "ok", "" } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		struct goal *g;

		fixture_init(&f);
		g = asked(&f);
		end(&f, g, cases[i].outcome, cases[i].more);
		assert_int_equal(g->plan_version, 1);
		assert_true(str_is(g->plan_source, "fallback"));
		assert_true(str_is(node_in(&f, g->id, "T1.1")->def.name, "G"));
		assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
		assert_true(str_contains(f.state->escalations.p[0]->question,
				STR("a plan with one task is used")));
		assert_int_equal(count_events(&f, EV_PLAN_GENERATED), 1);
		check_invariants(f.state, &f.policy);
		fixture_done(&f);
	}
}

TEST(without_the_fallback_a_person_is_asked_for_a_plan)
{
	struct fixture f;
	struct goal *g;

	fixture_init(&f);
	g = asked(&f);
	f.policy.fallback = false;
	end(&f, g, "error", "");
	assert_int_equal(g->plan_version, 0);
	assert_true(str_contains(f.state->escalations.p[0]->question, STR("has no plan")));
	/* Nobody would ever hear of it again: it is not closed by mere words. */
	assert_int_equal(try_submit(&f, "inbox.answer", json(&f, "{'number':1,'answer':'so?'}"),
					 NULL),
			OV_ESTATE);
	assert_int_equal(try_submit(&f, "inbox.dismiss", json(&f, "{'number':1}"), NULL),
			OV_ESTATE);
	settle(&f);
	assert_int_equal(f.state->escalations.p[0]->status, ESC_OPEN);
	submit(&f, "plan.apply",
			json(&f, "{'goal':'" STR_FMT "','plan':" GOOD "}", STR_ARG(g->id)));
	settle(&f);
	assert_int_equal(f.state->escalations.p[0]->status, ESC_ANSWERED);
	fixture_done(&f);
}

TEST(a_goal_without_a_plan_is_given_up_by_its_question)
{
	struct fixture f;
	struct goal *g;

	fixture_init(&f);
	g = asked(&f);
	f.policy.fallback = false;
	end(&f, g, "error", "");
	submit(&f, "inbox.answer", json(&f, "{'number':1,'answer':'cancel'}"));
	settle(&f);
	assert_int_equal(g->status, GOAL_CANCELLED);
	assert_int_equal(f.state->escalations.p[0]->status, ESC_ANSWERED);
	fixture_done(&f);
}

TEST(without_a_planner_a_goal_is_one_task_at_once)
{
	struct fixture f;
	struct goal *g;
	value *r;

	fixture_init(&f);
	f.policy.fallback = true;
	r = submit(&f, "goal.create", json(&f, "{'title':'G','success_criteria':['it works']}"));
	g = state_goal(f.state, value_str_at(r, "goal"));
	assert_int_equal(value_int_at(r, "plan_version"), 1);
	assert_false(value_bool_at(r, "planning"));
	assert_true(str_is(g->plan_source, "fallback"));
	assert_true(str_is(node_in(&f, g->id, "T1.1")->def.acceptance.p[0], "it works"));
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 0);
	/* Unless it shall wait. */
	r = submit(&f, "goal.create", json(&f, "{'title':'H','no_plan':true}"));
	assert_int_equal(value_int_at(r, "plan_version"), 0);
	assert_int_equal(state_goal(f.state, value_str_at(r, "goal"))->plan_version, 0);
	check_invariants(f.state, &f.policy);
	fixture_done(&f);
}

TEST(a_person_may_be_faster_and_a_goal_may_be_over)
{
	struct fixture f;
	struct goal *g;

	fixture_init(&f);
	g = asked(&f);
	submit(&f, "plan.apply",
			json(&f, "{'goal':'" STR_FMT "','plan':" GOOD "}", STR_ARG(g->id)));
	end(&f, g, "invalid", "");
	assert_int_equal(g->plan_version, 1);
	assert_true(str_is(g->plan_source, "file"));
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 0);
	g = asked(&f);
	submit(&f, "goal.cancel", json(&f, "{'goal':'" STR_FMT "','reason':'no'}", STR_ARG(g->id)));
	if (g->effect)
		end(&f, g, "ok", ",'plan':" GOOD);
	assert_int_equal(g->plan_version, 0);
	check_invariants(f.state, &f.policy);
	fixture_done(&f);
}

TEST(what_keeps_the_planner_from_working_is_told_once_until_it_is_over)
{
	struct fixture f;

	fixture_init(&f);
	submit(&f, "planner.health", json(&f, "{'trouble':''}"));
	assert_int_equal(f.state->escalations.n, 0);
	for (int i = 0; i < 3; i++)
		submit(&f, "planner.health", json(&f, "{'trouble':'no key'}"));
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	assert_int_equal(f.state->escalations.p[0]->status, ESC_OPEN);
	submit(&f, "planner.health", json(&f, "{'trouble':'another key is missing'}"));
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 2);
	submit(&f, "planner.health", json(&f, "{'trouble':''}"));
	for (size_t i = 0; i < f.state->escalations.n; i++)
		assert_int_not_equal(f.state->escalations.p[i]->status, ESC_OPEN);
	check_invariants(f.state, &f.policy);
	fixture_done(&f);
}

/* A goal whose only node failed as often as it may, so that the ladder decides about it. */
static struct goal *stalled(struct fixture *f)
{
	fixture_init(f);
	f->policy.planner = f->policy.diagnose = true;
	f->policy.retry_max_attempts = 1;
	create_goal(f, flat_plan(f, 1), NULL);
	settle(f);
	bring_to(f, "T1", STAGE_RUNNING);
	run_end(f, "T1", 1);
	settle(f);
	effect_end(f, "T1", FX_HARVEST, "ok", "", "'head': 'h', 'files_changed': 1");
	settle(f);
	return f->state->goals.p[0];
}

static void advise(struct fixture *f, const struct goal *g, const char *outcome,
		const char *actions)
{
	submit(f, "effect.end",
			json(f,
					"{'effect':'" STR_FMT
					"','outcome':'%s','detail':'','data':{"
					"'model_ref':'m','template_id':'diagnose.v1','template_"
					"hash':'h',"
					"'actions':%s}}",
					STR_ARG(g->effect->id), outcome, actions));
}

TEST(a_model_is_asked_about_a_stall_once_and_its_advice_shortens_the_ladder)
{
	struct fixture f;
	struct goal *g = stalled(&f);
	const struct node *n = node_of(&f, "T1");

	assert_true(n->stall.open);
	assert_non_null(g->effect);
	assert_true(str_is(g->effect->purpose, "diagnose"));
	assert_true(n->stall.diagnosed.n > 0);
	/* Its answer is waited for, however long. */
	f.now += OV_DAY;
	settle(&f);
	assert_int_equal(n->stall.rungs[RUNG_REPLAN], 0);
	/* A nudge is not possible any more; the next advice is. */
	advise(&f, g, "ok",
			"[{'type':'nudge','message':'hello?'},{'type':'escalate','question':'A or "
			"B?'}]");
	settle(&f);
	assert_int_equal(n->stall.rungs[RUNG_REPLAN], 0);
	assert_int_equal(n->stall.rungs[RUNG_REASSIGN], 0);
	assert_int_equal(n->stall.rungs[RUNG_ESCALATE], 1);
	assert_int_equal(f.state->escalations.n, 1);
	assert_true(str_is(f.state->escalations.p[0]->question, "A or B?"));
	/* The ladder does not go down again. */
	f.now += OV_DAY;
	settle(&f);
	assert_int_equal(n->stall.rungs[RUNG_REASSIGN], 0);
	assert_null(g->effect);
	check_invariants(f.state, &f.policy);
	fixture_done(&f);
}

TEST(without_advice_the_ladder_goes_on_and_nobody_is_asked_again)
{
	static const char *const answers[][2] = { { "error", "[]" }, { "ok", "[]" },
		{ "ok", "[{'type':'nudge','message':'x'}]" } };

	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		struct fixture f;
		struct goal *g = stalled(&f);

		advise(&f, g, answers[i][0], answers[i][1]);
		f.now += OV_DAY;
		settle(&f);
		assert_non_null(g->effect);
		assert_true(str_is(g->effect->purpose, "split"));
		check_invariants(f.state, &f.policy);
		fixture_done(&f);
	}
}

/* A secret may be shorter than what stands for it: what was within its bound is beyond it then. */
TEST(the_last_resort_holds_for_texts_that_grew)
{
	struct fixture f;
	struct goal *g;
	char text[8193];
	value *r;

	fixture_init(&f);
	f.policy.planner = f.policy.fallback = true;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "https://u:p4ssw0rd@h.example/ ", 30);
	r = submit(&f, "goal.create",
			json(&f,
					"{'title': 'G', 'problem_statement': '%s', "
					"'success_criteria': ['%.4096s']}",
					text, text));
	g = state_goal(f.state, value_str_at(r, "goal"));
	assert_true(g->problem_statement.n > 8192);
	end(&f, g, "error", "");
	assert_int_equal(g->plan_version, 1);
	assert_true(str_is(g->plan_source, "fallback"));
	fixture_done(&f);
}
