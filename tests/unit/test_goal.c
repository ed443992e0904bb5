/* The life of goals: what they say, who may change them when, and what that does to their work. */
#include "tests/test.h"

#include "base/vec.h"
#include "core/explain/explain.h"
#include "core/model/limits.h"
#include "core/view/view.h"
#include "data/value/json.h"
#include "tests/unit/core_fixture.h"

static struct goal *newest(struct fixture *f)
{
	return vec_last(&f->state->goals);
}

/* A command about the newest goal, with further members. */
static value *about(struct fixture *f, const char *members)
{
	return json(f, "{'goal': '" STR_FMT "'%s%s}", STR_ARG(newest(f)->id),
			members[0] ? ", " : "", members);
}

static const char every_field[] =
		"{'title': 'T', 'problem_statement': 'p', 'success_criteria': ['s'], "
		"'non_goals': ['n'], 'constraints': ['c'], 'assumptions': ['a1', 'a2'], "
		"'stakeholders': ['ops'], 'risks': [{'risk': 'r', 'impact': 'i', 'mitigation': "
		"'m'}, {'risk': 'only'}], 'tags': ['t'], 'owner': 'team', 'repo_context': 'main is "
		"green', 'priority': 'low', 'origin_session': 'agent:main', 'origin_context': "
		"{'channel': 'chat', 'thread': 7}, 'estimate': {'iterations': 30, 'tokens': 5}, "
		"'budget': {'wall_ms': 'unlimited', 'cost_microusd': 2500000}}";

TEST(every_field_is_kept)
{
	struct fixture f;
	const struct goal *g;
	str all;

	fixture_init(&f);
	submit(&f, "goal.create", json(&f, "%s", every_field));
	g = newest(&f);
	assert_true(str_is(g->owner, "team"));
	assert_int_equal(g->priority, 4);
	assert_int_equal(g->assumptions.n, 2);
	assert_int_equal(g->estimate[RES_ITERATIONS], 30);
	assert_int_equal(g->estimate[RES_WALL_MS], 0);
	assert_int_equal(g->budget[RES_WALL_MS], -1);
	assert_int_equal(g->budget[RES_COST_MICROUSD], 2500000);
	assert_true(str_is(g->origin_session, "agent:main"));
	all = json_text(&f.arena, view_goal(&f.arena, f.state, g));
	assert_true(str_contains(all, STR("\"thread\":7")));
	assert_true(str_contains(all, STR("\"mitigation\":\"m\"")));
	assert_true(str_contains(all, STR("\"repo_context\":\"main is green\"")));
	assert_true(str_contains(all, STR("\"stakeholders\":[\"ops\"]")));
	check_invariants(f.state, &f.policy);
	fixture_done(&f);
}

TEST(definitions_are_checked)
{
	static const struct {
		const char *members;
		const char *says;
	} cases[] = {
		{ "'title': ' '", "needs a title" },
		{ "'priority': 'asap'", "priority \"asap\" is not one of" },
		{ "'risks': ['r']", "risks[0] must be an object" },
		{ "'risks': [{'impact': 'i'}]", "risks[0].risk" },
		{ "'risks': [{'risk': 'r', 'impct': 'i'}]", "impct" },
		{ "'risks': [{'risk': 1}]", "risks[0].risk" },
		{ "'budget': {'iterations': 0}",
				"budget.iterations: 0 is not a budget; write "
				"\"unlimited\"" },
		{ "'budget': {'iteration': 1}", "iteration" },
		{ "'budget': {'wall_ms': -5}", "budget.wall_ms must be a number from 1" },
		{ "'budget': {'wall_ms': 'much'}", "budget.wall_ms must be a number from 1" },
		{ "'budget': {'tokens': 1.5}", "budget.tokens must be a number from 1" },
		{ "'estimate': {'tokens': 'unlimited'}", "estimate.tokens must be a number" },
		{ "'estimate': {'tokens': 0}", "estimate.tokens must be a number" },
		{ "'tags': ['a\\u0000b']", "tags contains a NUL byte" },
	};
	struct fixture f;

	fixture_init(&f);
	create_goal(&f, NULL, NULL);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *said;
		bool titled = strstr(cases[i].members, "'title'");

		said = refused(&f, "goal.create",
				json(&f, "{%s%s}", titled ? "" : "'title': 't', ",
						cases[i].members),
				OV_EINVALID);
		if (!strstr(said, cases[i].says))
			fail_msg("%s says: %s", cases[i].members, said);
		said = refused(&f, "goal.update", about(&f, cases[i].members), OV_EINVALID);
		if (!strstr(said, cases[i].says))
			fail_msg("update: %s says: %s", cases[i].members, said);
	}
	refused(&f, "goal.update", about(&f, "'reason': 'why'"), OV_EINVALID);
	fixture_done(&f);
}

TEST(update)
{
	struct fixture f;
	const struct goal *g;
	value *result;

	fixture_init(&f);
	submit(&f, "goal.create", json(&f, "%s", every_field));
	g = newest(&f);
	f.now += OV_MINUTE;
	result = submit(&f, "goal.update",
			about(&f,
					"'title': ' New ', 'tags': [], 'priority': 'urgent', "
					"'budget': {'wall_ms': 'default', 'tokens': 9}, "
					"'problem_statement': '', 'reason': 'more is known'"));
	assert_int_equal(value_count(value_at(result, "changed")), 5);
	assert_true(str_is(g->title, "New"));
	assert_int_equal(g->tags.n, 0);
	assert_int_equal(g->problem_statement.n, 0);
	assert_int_equal(g->priority, 1);
	assert_int_equal(g->budget[RES_WALL_MS], 0);
	assert_int_equal(g->budget[RES_TOKENS], 9);
	assert_int_equal(g->budget[RES_COST_MICROUSD], 2500000); /* what is not named stays */
	assert_int_equal(g->assumptions.n, 2);
	assert_int_equal(g->updated_at, f.now);
	assert_true(str_is(value_str_at(last_event(&f, EV_GOAL_UPDATED)->data, "reason"),
			"more is known"));
	fixture_done(&f);
}

/* Where a goal can be: brought there by commands and events alone. */
enum place { ACTIVE, PAUSED, ABORTED, COMPLETED, CANCELLED, ARCHIVED, PLACES };

static void goal_event(struct fixture *f, const char *from, const char *to, const char *health)
{
	struct event *e = arena_new(&f->arena, struct event);
	struct ov_err err = { 0 };

	*e = (struct event){ .kind = EV_GOAL_STATUS,
		.at = f->now,
		.actor = STR("overseer"),
		.goal = newest(f)->id,
		.data = json(f, "{'from': '%s', 'to': '%s', 'reason': 'test'}", from, to) };
	if (health)
		value_put(&f->arena, e->data, "health", value_cstr(&f->arena, health));
	if (append(f, e, &err) < 0)
		fail_msg("%s", err.msg);
}

static void bring_goal(struct fixture *f, enum place place)
{
	create_goal(f, flat_plan(f, 2), NULL);
	switch (place) {
	case PAUSED: submit(f, "goal.pause", about(f, "")); break;
	case ABORTED: goal_event(f, "active", "paused", "aborted"); break;
	case COMPLETED: drain(f); break;
	case CANCELLED: submit(f, "goal.cancel", about(f, "'reason': 'r'")); break;
	case ARCHIVED:
		drain(f);
		submit(f, "goal.archive", about(f, ""));
		break;
	default: break;
	}
}

/* Every command in every place: the status that follows, or -1 for a refusal. */
TEST(every_command_everywhere)
{
	static const struct {
		const char *command;
		int to[PLACES];
	} table[] = {
		{ "goal.update",
				{ GOAL_ACTIVE, GOAL_PAUSED, GOAL_PAUSED, GOAL_COMPLETED,
						GOAL_CANCELLED, -1 } },
		{ "goal.pause", { GOAL_PAUSED, -1, -1, -1, -1, -1 } },
		{ "goal.resume", { -1, GOAL_ACTIVE, -1, -1, -1, -1 } },
		{ "goal.cancel", { GOAL_CANCELLED, GOAL_CANCELLED, GOAL_CANCELLED, -1, -1, -1 } },
		{ "goal.reopen", { -1, -1, GOAL_ACTIVE, GOAL_ACTIVE, -1, -1 } },
		{ "goal.archive", { -1, -1, -1, GOAL_ARCHIVED, GOAL_ARCHIVED, -1 } },
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		for (int place = 0; place < PLACES; place++) {
			struct fixture f;
			value *params;

			fixture_init(&f);
			bring_goal(&f, (enum place)place);
			params = about(&f,
					str_is(str_from(table[i].command), "goal.update")
							? "'reason': 'r', 'tags': ['x']"
							: "'reason': 'r'");
			if (table[i].to[place] < 0) {
				const char *said = refused(&f, table[i].command, params, OV_ESTATE);

				/* It says how the goal stands. */
				assert_true(strstr(said,
							    status_name(&goal_statuses,
									    (int)newest(&f)->status)) ||
						place == ABORTED);
			} else {
				submit(&f, table[i].command, params);
				assert_int_equal(newest(&f)->status, table[i].to[place]);
				if (!str_is(str_from(table[i].command), "goal.update"))
					assert_true(str_is(newest(&f)->status_reason, "r"));
			}
			settle(&f);
			fixture_done(&f);
		}
}

TEST(refusals_name_what_is_legal)
{
	struct fixture f;
	struct ov_err err = { 0 };

	fixture_init(&f);
	bring_goal(&f, ACTIVE);
	assert_true(strstr(refused(&f, "goal.archive", about(&f, ""), OV_ESTATE), "paused"));
	assert_true(strstr(refused(&f, "goal.reopen", about(&f, ""), OV_EINVALID), "a reason"));
	goal_event(&f, "active", "paused", "aborted");
	assert_int_equal(try_submit(&f, "goal.resume", about(&f, ""), &err), OV_ESTATE);
	assert_true(strstr(err.next, "overseer goal reopen goal_"));
	refused(&f, "goal.pause", json(&f, "{'goal': 'goal_nope'}"), OV_ENOTFOUND);
	fixture_done(&f);
}

/* Paused: what runs goes on to a safe end and is not accepted; nothing new starts. */
TEST(pause_holds_what_is_new)
{
	struct fixture f;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 3), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	submit(&f, "goal.pause", about(&f, "'reason': 'lunch'"));
	assert_int_equal(newest(&f)->health, HEALTH_PAUSED);
	settle(&f);
	assert_int_equal(node_of(&f, "T1")->assignment->stage, STAGE_RUNNING);
	bring_to(&f, "T1", STAGE_REBASE);
	settle(&f);
	assert_null(effect_of(&f, "T1"));
	assert_null(node_of(&f, "T3")->assignment);
	submit(&f, "goal.resume", about(&f, ""));
	assert_int_equal(newest(&f)->health, HEALTH_HEALTHY);
	settle(&f);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_REBASE);
	drain(&f);
	assert_int_equal(newest(&f)->status, GOAL_COMPLETED);
	fixture_done(&f);
}

TEST(pause_now_stops_runs)
{
	struct fixture f;
	const struct assignment *as;
	value *result;
	str id;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	as = node_of(&f, "T1")->assignment;
	id = arena_str(&f.arena, as->id);
	result = submit(&f, "goal.pause", about(&f, "'now': true"));
	assert_int_equal(value_int_at(result, "stopping_runs"), 1);
	assert_int_equal(node_of(&f, "T1")->status, NODE_QUEUED);
	settle(&f);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_RUN_STOP);
	drain(&f);
	/*
	 * Its work was kept, its worker is free, and nobody takes it up while the goal is paused.
	 */
	assert_int_equal(count_events(&f, EV_RUN_HARVESTED), 1);
	assert_null(node_of(&f, "T1")->assignment);
	assert_int_equal(state_worker(f.state, STR("pool-1"))->status, WORKER_IDLE);
	submit(&f, "goal.resume", about(&f, ""));
	settle(&f);
	assert_false(str_eq(node_of(&f, "T1")->assignment->id, id));
	assert_int_equal(node_of(&f, "T1")->work.epoch, 2);
	drain(&f);
	assert_int_equal(newest(&f)->status, GOAL_COMPLETED);
	fixture_done(&f);
}

TEST(cancel_ends_everything)
{
	struct fixture f;
	value *result;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 4), NULL);
	bring_to(&f, "T1", STAGE_ACCEPT);
	assert_true(strstr(refused(&f, "goal.cancel", about(&f, "'reason': 'r'"), OV_ESTATE),
			"T1 is being accepted right now"));
	accept_node(&f, "T1");
	bring_to(&f, "T2", STAGE_RUNNING);
	submit(&f, "work.update", json(&f, "{'node': 'T4', 'status': 'blocked', 'reason': 'x'}"));
	result = submit(&f, "goal.cancel", about(&f, "'reason': 'not needed'"));
	assert_int_equal(value_int_at(result, "cancelled_nodes"), 3);
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	for (int i = 2; i <= 4; i++)
		assert_int_equal(node_of(&f, arena_cstr(&f.arena, arena_printf(&f.arena, "T%d", i)))
						 ->status,
				NODE_CANCELLED);
	assert_true(str_contains(node_of(&f, "T3")->status_reason, STR("not needed")));
	refused(&f, "goal.archive", about(&f, ""), OV_ESTATE); /* T2's run is not over */
	drain(&f);
	assert_int_equal(newest(&f)->status, GOAL_CANCELLED);
	for (size_t i = 0; i < f.state->escalations.n; i++)
		assert_int_not_equal(f.state->escalations.p[i]->status, ESC_OPEN);
	for (size_t i = 0; i < f.state->workers.n; i++)
		assert_int_equal(f.state->workers.p[i]->status, WORKER_IDLE);
	submit(&f, "goal.archive", about(&f, ""));
	fixture_done(&f);
}

TEST(cancel_closes_questions)
{
	struct fixture f;

	fixture_init(&f);
	f.policy.retry_max_attempts = 1;
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_WORKSPACE);
	effect_end(&f, "T1", FX_WORKSPACE, "error", "no disk", "");
	settle(&f);
	assert_int_equal(vec_last(&f.state->escalations)->status, ESC_OPEN);
	/* Who needs no reason to be given is named. */
	submit(&f, "goal.cancel", about(&f, ""));
	assert_true(str_is(value_str_at(last_event(&f, EV_GOAL_STATUS)->data, "reason"),
			"asked by human:tester"));
	assert_int_equal(vec_last(&f.state->escalations)->status, ESC_DISMISSED);
	fixture_done(&f);
}

/* A reopened goal is not completed again before something was added or reopened in it. */
TEST(reopen)
{
	struct fixture f;
	const struct escalation *x;

	fixture_init(&f);
	bring_goal(&f, COMPLETED);
	submit(&f, "goal.reopen", about(&f, "'reason': 'one more thing'"));
	assert_true(newest(&f)->reopened);
	assert_true(value_bool_at(last_event(&f, EV_GOAL_STATUS)->data, "override"));
	assert_true(str_is(last_event(&f, EV_GOAL_STATUS)->actor, "human:tester"));
	x = vec_last(&f.state->escalations);
	assert_true(str_is(x->kind, "reopened"));
	assert_int_equal(x->status, ESC_OPEN);
	assert_int_equal(x->node_id.n, 0);
	drain(&f);
	assert_int_equal(newest(&f)->status, GOAL_ACTIVE);
	fixture_done(&f);
}

/*
 * Whether there is budget for more was settled with the goal: of the work that comes now it
 * is asked anew.
 */
TEST(reopen_without_budget)
{
	struct fixture f;
	const struct escalation *x;

	fixture_init(&f);
	f.policy.budget[RES_ITERATIONS] = 1;
	bring_goal(&f, COMPLETED);
	drain(&f);
	submit(&f, "work.reopen", json(&f, "{'node': 'T1', 'reason': 'not good enough'}"));
	settle(&f);
	assert_int_equal(newest(&f)->status, GOAL_ACTIVE);
	assert_int_equal(node_of(&f, "T1")->status, NODE_QUEUED);
	x = vec_last(&f.state->escalations);
	assert_true(str_is(x->kind, "budget"));
	assert_int_equal(x->status, ESC_OPEN);
	fixture_done(&f);
}

/* An aborted goal has open work: it goes on, and nobody is asked for a plan. */
TEST(reopen_after_abort)
{
	struct fixture f;

	fixture_init(&f);
	bring_goal(&f, ABORTED);
	drain(&f);
	assert_int_equal(newest(&f)->status, GOAL_PAUSED);
	submit(&f, "goal.reopen", about(&f, "'reason': 'looked at it'"));
	assert_int_equal(newest(&f)->health, HEALTH_HEALTHY);
	assert_int_equal(f.state->escalations.n, 0);
	drain(&f);
	assert_int_equal(newest(&f)->status, GOAL_COMPLETED);
	fixture_done(&f);
}

/* A run counts once, however its end is told. */
TEST(runs_are_counted)
{
	struct fixture f;
	const int64_t *spent;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	spent = newest(&f)->spent;
	bring_to(&f, "T1", STAGE_RUNNING);
	f.now += 90 * OV_SECOND;
	submit(&f, "run.end",
			json(&f,
					"{'run': '" STR_FMT
					"', 'exit_code': 1, 'signal': 0, 'ended_at_ms': %lld, "
					"'tokens': 7, 'cost_microusd': 9}",
					STR_ARG(node_of(&f, "T1")->assignment->run_id),
					(long long)f.now - 30000));
	assert_int_equal(spent[RES_ITERATIONS], 1);
	assert_int_equal(spent[RES_WALL_MS], 60 * OV_SECOND);
	assert_int_equal(spent[RES_TOKENS], 7);
	assert_int_equal(spent[RES_COST_MICROUSD], 9);
	run_end(&f, "T1", 1); /* told twice */
	assert_int_equal(spent[RES_ITERATIONS], 1);
	/* One that could not be started counts, too; it took no time. */
	bring_to(&f, "T1", STAGE_START);
	f.now += OV_MINUTE;
	settle(&f);
	effect_end(&f, "T1", FX_RUN_START, "error", "no such program", "");
	assert_int_equal(spent[RES_ITERATIONS], 2);
	assert_int_equal(spent[RES_WALL_MS], 60 * OV_SECOND);
	/* One that ends before its start was told. */
	f.now += OV_MINUTE;
	settle(&f);
	run_end(&f, "T1", 0);
	assert_int_equal(spent[RES_ITERATIONS], 3);
	assert_int_equal(count_events(&f, EV_GOAL_SPENT), 3);
	fixture_done(&f);
}

/* Nobody knows when a lost run ended: the time that we were away is not its goal's. */
TEST(lost_runs_take_no_time)
{
	struct fixture f;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	f.now += 3 * OV_DAY;
	submit(&f, "run.end",
			json(&f, "{'run': '" STR_FMT "', 'exit_code': -1, 'lost': true}",
					STR_ARG(node_of(&f, "T1")->assignment->run_id)));
	assert_int_equal(newest(&f)->spent[RES_ITERATIONS], 1);
	assert_int_equal(newest(&f)->spent[RES_WALL_MS], 0);
	fixture_done(&f);
}

static size_t open_questions(const struct fixture *f, const char *kind)
{
	size_t n = 0;

	for (size_t i = 0; i < f->state->escalations.n; i++)
		n += f->state->escalations.p[i]->status == ESC_OPEN &&
				str_is(f->state->escalations.p[i]->kind, kind);
	return n;
}

/* Warned at 80 %, stopped at 100 %, asked once, and on again when there is more. */
TEST(budget)
{
	static const char *const first[] = { "T1", "T2", "T3" };
	struct fixture f;
	const struct goal *g;

	fixture_init(&f);
	f.policy.workers_max = 1;
	create_goal(&f, flat_plan(&f, 7), NULL);
	g = newest(&f);
	submit(&f, "goal.update", about(&f, "'budget': {'iterations': 5}"));
	for (size_t i = 0; i < ARRAY_LEN(first); i++) {
		bring_to(&f, first[i], STAGE_ACCEPT);
		accept_node(&f, first[i]);
	}
	assert_int_equal(g->budget_level, BUDGET_FINE);
	bring_to(&f, "T4", STAGE_ACCEPT);
	assert_int_equal(g->budget_level, BUDGET_WARNED);
	assert_int_equal(g->health, HEALTH_WARNING);
	assert_int_equal(open_questions(&f, "budget"), 0);
	accept_node(&f, "T4");
	/* The last one that it may have goes through to its end. */
	bring_to(&f, "T5", STAGE_ACCEPT);
	assert_int_equal(g->budget_level, BUDGET_SPENT);
	assert_int_equal(g->health, HEALTH_CRITICAL);
	assert_int_equal(open_questions(&f, "budget"), 1);
	assert_true(str_contains(vec_last(&f.state->escalations)->question,
			STR("5 of 5 runs): nothing new is started; to go on: overseer goal update "
			    "goal_")));
	assert_true(str_contains(vec_last(&f.state->escalations)->question,
			STR(" --budget iterations=10")));
	accept_node(&f, "T5");
	drain(&f);
	assert_int_equal(node_of(&f, "T5")->status, NODE_DONE);
	assert_int_equal(node_of(&f, "T6")->status, NODE_QUEUED);
	assert_null(node_of(&f, "T6")->assignment);
	assert_int_equal(g->spent[RES_ITERATIONS], 5);
	assert_int_equal(count_events(&f, EV_GOAL_BUDGET), 2);
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	assert_true(str_contains(explain_now(&f.arena, f.state, node_of(&f, "T6"), f.now),
			STR("budget is spent")));
	submit(&f, "goal.update", about(&f, "'budget': {'iterations': 6}, 'reason': 'more'"));
	settle(&f);
	assert_int_equal(g->budget_level, BUDGET_WARNED);
	assert_int_equal(open_questions(&f, "budget"), 0);
	drain(&f);
	assert_int_equal(open_questions(&f, "budget"), 1); /* another crossing, another question */
	submit(&f, "goal.update", about(&f, "'budget': {'iterations': 'unlimited'}"));
	drain(&f);
	assert_int_equal(g->status, GOAL_COMPLETED);
	assert_int_equal(g->health, HEALTH_HEALTHY);
	assert_int_equal(open_questions(&f, "budget"), 0);
	fixture_done(&f);
}

/* Who cannot begin gives its worker back: other goals go on. */
TEST(held_goals_hold_no_worker)
{
	struct fixture f;
	str first, second;

	fixture_init(&f);
	f.policy.workers_max = 1;
	first = create_goal(&f, flat_plan(&f, 2), "high");
	second = create_goal(&f, flat_plan(&f, 1), NULL);
	settle(&f);
	submit(&f, "goal.pause", json(&f, "{'goal': '" STR_FMT "'}", STR_ARG(first)));
	/* The worktree is being made: that ends by itself, then the worker is free. */
	drain(&f);
	assert_int_equal(state_goal(f.state, second)->status, GOAL_COMPLETED);
	assert_int_equal(node_in(&f, first, "T1")->status, NODE_QUEUED);
	assert_null(node_in(&f, first, "T1")->assignment);
	submit(&f, "goal.resume", json(&f, "{'goal': '" STR_FMT "'}", STR_ARG(first)));
	drain(&f);
	assert_int_equal(state_goal(f.state, first)->status, GOAL_COMPLETED);
	fixture_done(&f);
}

/* The same for a budget that is spent while a run waits for its next attempt. */
TEST(spent_goals_hold_no_worker)
{
	struct fixture f;
	str first, second;

	fixture_init(&f);
	f.policy.workers_max = 1;
	second = create_goal(&f, flat_plan(&f, 1), "low");
	first = create_goal(&f, flat_plan(&f, 1), NULL);
	submit(&f, "goal.update", about(&f, "'budget': {'iterations': 1}"));
	bring_to(&f, "T1", STAGE_RUNNING);
	run_end(&f, "T1", 1);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 1, 'files_changed': 2");
	drain(&f);
	assert_int_equal(state_goal(f.state, second)->status, GOAL_COMPLETED);
	assert_int_equal(node_in(&f, first, "T1")->status, NODE_QUEUED);
	assert_true(str_is(node_in(&f, first, "T1")->next.handover, "h"));
	fixture_done(&f);
}

TEST(agents_that_are_not_allowed)
{
	static const str only_b[] = { STR("b") };
	struct fixture f;

	fixture_init(&f);
	f.policy.allow_agents = only_b;
	create_goal(&f, flat_plan(&f, 1), NULL);
	settle(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	assert_true(str_contains(node_of(&f, "T1")->status_reason,
			STR("agent \"a\" is not allowed (policy.allow_agents)")));
	fixture_done(&f);
}

/* The question of a reopened goal is settled by a plan. */
TEST(reopened_question_is_settled)
{
	struct fixture f;
	value *params;

	fixture_init(&f);
	bring_goal(&f, COMPLETED);
	submit(&f, "goal.reopen", about(&f, "'reason': 'r'"));
	settle(&f);
	assert_int_equal(open_questions(&f, "reopened"), 1);
	assert_int_equal(try_submit(&f, "inbox.dismiss",
					 json(&f, "{'number': %lld}",
							 (long long)vec_last(&f.state->escalations)
									 ->number),
					 NULL),
			OV_ESTATE);
	params = about(&f, "'reason': 'more'");
	value_put(&f.arena, params, "plan",
			json(&f,
					"{'phases': [{'id': 'P2', 'name': 'two', 'tasks': [{'id': "
					"'T9', "
					"'name': 'n', 'acceptance': ['x']}]}]}"));
	submit(&f, "plan.apply", params);
	drain(&f);
	assert_int_equal(open_questions(&f, "reopened"), 0);
	assert_int_equal(newest(&f)->status, GOAL_COMPLETED);
	fixture_done(&f);
}

TEST_MAIN
