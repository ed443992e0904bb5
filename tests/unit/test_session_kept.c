/* Sessions of assignments that had to wait: the next one of the node goes on with them. */
#include "tests/test.h"

#include "agent/table/formats.h"
#include "base/str.h"
#include "tests/unit/core_fixture.h"

TEST_MAIN

static const struct policy_agent claude = { .name = STR("a"), .concurrency = 8 };

static void ready(struct fixture *f, const struct assignment *as, const char *session)
{
	submit(f, "run.session",
			json(f, "{'run': '" STR_FMT "', 'session': '%s', 'model': 'm-1'}",
					STR_ARG(as->run_id), session));
}

static void end_with(struct fixture *f, const struct assignment *as, int code, const char *more)
{
	submit(f, "run.end",
			json(f, "{'run': '" STR_FMT "', 'exit_code': %d, 'signal': 0%s}",
					STR_ARG(as->run_id), code, more));
	settle(f);
}

static void with_agents(struct fixture *f)
{
	struct policy_agent *agents;

	fixture_init(f);
	agents = arena_array(&f->arena, struct policy_agent, 1);
	agents[0] = claude;
	agents[0].format = format_find(STR("claude"));
	f->policy.agents = agents;
	f->policy.agents_n = 1;
}

/* The tokens of both runs are used up: they are stopped, and wait without a worker. */
static void spend_all(struct fixture *f)
{
	static const char *const nodes[] = { "T1", "T2" };

	with_agents(f);
	f->policy.default_agent = STR("a");
	f->policy.budget[RES_TOKENS] = 100;
	create_goal(f, flat_plan(f, 2), NULL);
	for (size_t i = 0; i < 2; i++)
		bring_to(f, nodes[i], STAGE_RUNNING);
	for (size_t i = 0; i < 2; i++) {
		ready(f, node_of(f, nodes[i])->assignment, nodes[i]);
		observe(f, node_of(f, nodes[i]))->tokens = 60;
	}
	settle(f);
	for (size_t i = 0; i < 2; i++) {
		const struct assignment *as = node_of(f, nodes[i])->assignment;

		assert_true(as->stopping);
		assert_int_equal(effect_of(f, nodes[i])->kind, FX_RUN_STOP);
		effect_end(f, nodes[i], FX_RUN_STOP, "ok", "", "");
		end_with(f, as, 0,
				", 'verdict': 'failed', 'trouble': 'interrupted', 'tokens': 60, "
				"'session_usage': {'input': 60}");
		effect_end(f, nodes[i], FX_HARVEST, "ok", "",
				"'head': 'h', 'tree': 't', 'commits': 1, 'files_changed': 2");
		settle(f);
		assert_null(node_of(f, nodes[i])->assignment);
		assert_int_equal(node_of(f, nodes[i])->status, NODE_QUEUED);
		assert_int_equal(node_of(f, nodes[i])->work.failures[CAUSE_RUN], 0);
	}
	assert_int_equal(f->state->goals.p[0]->spent[RES_TOKENS], 120);
}

static void more_budget(struct fixture *f)
{
	submit(f, "goal.update",
			json(f, "{'goal': '" STR_FMT "', 'budget': {'tokens': 1000}}",
					STR_ARG(f->state->goals.p[0]->id)));
	settle(f);
}

TEST(a_session_outlives_a_spent_budget)
{
	struct fixture f;
	const struct assignment *as;
	str first;

	spend_all(&f);
	first = arena_str(&f.arena, node_of(&f, "T2")->session.home);
	assert_true(state_assignment(f.state, first) != NULL);
	/* The first worker comes last: each node goes on where its conversation took place. */
	submit(&f, "work.update", json(&f, "{'node': 'T1', 'status': 'blocked', 'reason': 'r'}"));
	more_budget(&f);
	as = node_of(&f, "T2")->assignment;
	assert_true(str_is(as->worker, "pool-2"));
	assert_true(str_is(as->session, "T2"));
	assert_true(str_contains(as->session_usage, STR("60")));
	assert_int_equal(node_of(&f, "T2")->session.id.n, 0);
	/* In the home where it began, however often it had to wait. */
	assert_true(str_eq(as->home, first) && !str_eq(as->id, first));
	assert_int_equal(node_of(&f, "T2")->session.home.n, 0);
	submit(&f, "work.update", json(&f, "{'node': 'T1', 'status': 'queued', 'reason': 'r'}"));
	settle(&f);
	as = node_of(&f, "T1")->assignment;
	assert_true(str_is(as->worker, "pool-1"));
	assert_true(str_is(as->session, "T1"));
	effect_end(&f, "T1", FX_WORKSPACE, "ok", "", "'base': 'b'");
	settle(&f);
	assert_true(node_of(&f, "T1")->assignment->run->resumed);
	fixture_done(&f);
}

TEST(another_worker_begins_a_new_session)
{
	struct fixture f;
	const struct assignment *as;

	spend_all(&f);
	f.policy.workers_max = 1;
	submit(&f, "work.update", json(&f, "{'node': 'T2', 'status': 'blocked', 'reason': 'r'}"));
	node_of(&f, "T1")->session.worker.n--; /* as if that worker were gone */
	more_budget(&f);
	as = node_of(&f, "T1")->assignment;
	assert_int_equal(as->session.n, 0);
	assert_int_equal(as->session_usage.n, 0);
	assert_int_equal(as->home.n, 0);
	assert_int_equal(node_of(&f, "T1")->session.id.n, 0);
	assert_int_equal(node_of(&f, "T1")->session.home.n, 0);
	fixture_done(&f);
}
