/* Goals to which tasks are added one by one. */
#include "tests/test.h"

#include "core/capacity/budget.h"
#include "core/capacity/free_worker.h"
#include "core/decide/emit.h"
#include "core/model/limits.h"
#include "core/work/standing.h"
#include "tests/unit/core_fixture.h"

/* As a command does that adds a task: decided, stored, applied. */
static str add(struct fixture *f, const char *kind, struct standing_task task)
{
	struct events out = { 0 };
	struct decide_ctx cx = { .arena = &f->arena,
		.state = f->state,
		.policy = &f->policy,
		.now = f->now,
		.actor = STR("human:test"),
		.out = &out };
	str key;

	cx.entropy[0] = (uint8_t)++f->entropy;
	key = standing_add(&cx, kind, &task);
	events_seal(&cx, 0);
	for (size_t i = 0; i < out.n; i++)
		assert_int_equal(append(f, out.p[i], NULL), 0);
	vec_done(&out);
	check_invariants(f->state, &f->policy);
	return key;
}

static str add_text(struct fixture *f, const char *kind, const char *text)
{
	return add(f, kind,
			(struct standing_task){ .text = str_from(text), .reason = STR("asked") });
}

TEST(a_task_begins_a_goal_and_the_next_joins_it)
{
	struct fixture f;
	str first, second;
	struct node *n;

	fixture_init(&f);
	first = add(&f, STANDING_MANUAL,
			(struct standing_task){ .text = STR("\n  Mend the fence \nby Friday\n"),
					.agent = STR("b"),
					.worker = STR("ann"),
					.claim = STR("X_1"),
					.reason = STR("asked") });
	second = add_text(&f, STANDING_MANUAL, "Paint it");
	assert_int_equal(f.state->goals.n, 1);
	assert_true(str_ends(first, STR("/t1")) && str_ends(second, STR("/t2")));
	n = node_of(&f, "t1");
	assert_true(str_is(n->def.name, "Mend the fence"));
	assert_true(str_is(n->def.objective, "Mend the fence \nby Friday"));
	assert_true(str_is(n->next.worker, "ann") && str_is(n->def.suggested_agent, "b"));
	assert_true(str_is(n->claim, "X_1") && str_is(n->parent_id, "tasks"));
	assert_int_equal(node_of(&f, "t2")->status, NODE_TODO);
	add_text(&f, STANDING_AUTO, "Another kind");
	assert_int_equal(f.state->goals.n, 2);
	assert_true(str_is(f.state->goals.p[1]->standing, "auto"));
	fixture_done(&f);
}

TEST(a_secret_in_the_first_line_is_not_cut_in_half)
{
	struct fixture f;
	char text[400];

	fixture_init(&f);
	memset(text, 'x', sizeof(text));
	memcpy(text + LIMIT_TITLE - 20, " ghp_0123456789abcdefghijklmnopqrstuvwxyz ", 42);
	text[300] = '\0';
	add_text(&f, STANDING_AUTO, text);
	assert_false(str_contains(node_of(&f, "t1")->def.name, STR("ghp_")));
	assert_true(node_of(&f, "t1")->def.name.n <= LIMIT_TITLE);
	fixture_done(&f);
}

TEST(it_does_not_end_while_it_stands_and_makes_room_when_full)
{
	struct fixture f;
	struct goal *full;

	fixture_init(&f);
	add_text(&f, STANDING_MANUAL, "first");
	full = f.state->goals.p[0];
	submit(&f, "work.cancel", json(&f, "{'node':'t1','reason':'not now'}"));
	settle(&f);
	assert_int_equal(full->status, GOAL_ACTIVE);
	for (size_t i = 1; i < LIMIT_STANDING; i++)
		add_text(&f, STANDING_MANUAL, "more");
	assert_int_equal(f.state->goals.n, 1);
	assert_ptr_equal(state_standing(f.state, STANDING_MANUAL), NULL);
	assert_true(str_ends(add_text(&f, STANDING_MANUAL, "one too many"), STR("/t1")));
	assert_int_equal(f.state->goals.n, 2);
	assert_ptr_equal(state_standing(f.state, STANDING_MANUAL), f.state->goals.p[1]);
	drain(&f);
	/* The full one ended as a goal does; the new one stands with all of its tasks done. */
	assert_int_equal(full->status, GOAL_COMPLETED);
	assert_int_equal(full->leaves_done, LIMIT_STANDING - 1);
	assert_int_equal(f.state->goals.p[1]->status, GOAL_ACTIVE);
	assert_int_equal(f.state->goals.p[1]->leaves_done, 1);
	fixture_done(&f);
}

TEST(an_ended_one_is_followed_by_a_new_one_and_a_paused_one_is_not)
{
	struct fixture f;
	str goal;

	fixture_init(&f);
	add_text(&f, STANDING_AUTO, "first");
	goal = f.state->goals.p[0]->id;
	submit(&f, "goal.pause",
			json(&f, "{'goal':'" STR_FMT "','reason':'lunch'}", STR_ARG(goal)));
	add_text(&f, STANDING_AUTO, "second");
	assert_int_equal(f.state->goals.n, 1);
	submit(&f, "goal.cancel",
			json(&f, "{'goal':'" STR_FMT "','reason':'enough'}", STR_ARG(goal)));
	add_text(&f, STANDING_AUTO, "third");
	assert_int_equal(f.state->goals.n, 2);
	fixture_done(&f);
}

TEST(it_has_no_plan_and_gets_none)
{
	struct fixture f;

	fixture_init(&f);
	add_text(&f, STANDING_AUTO, "first");
	assert_true(strstr(refused(&f, "plan.apply",
					   json(&f, "{'goal':'" STR_FMT "','plan':{'phases':[]}}",
							   STR_ARG(f.state->goals.p[0]->id)),
					   OV_ESTATE),
			"one by one"));
	fixture_done(&f);
}

TEST(what_people_are_given_grows_and_what_the_pool_gives_does_not)
{
	struct fixture f;
	struct goal *g;

	fixture_init(&f);
	f.policy.estimate[RES_WALL_MS] = 1000;
	f.policy.budget[RES_WALL_MS] = 0;
	f.policy.auto_budget[RES_WALL_MS] = 5000;
	add_text(&f, STANDING_MANUAL, "first");
	g = f.state->goals.p[0];
	assert_int_equal(budget_limit(&f.policy, g, RES_WALL_MS), 3000);
	add_text(&f, STANDING_MANUAL, "second");
	assert_int_equal(budget_limit(&f.policy, g, RES_WALL_MS), 6000);
	f.policy.budget[RES_WALL_MS] = 500;
	assert_int_equal(budget_limit(&f.policy, g, RES_WALL_MS), 500);
	add_text(&f, STANDING_AUTO, "first");
	add_text(&f, STANDING_AUTO, "second");
	assert_int_equal(budget_limit(&f.policy, f.state->goals.p[1], RES_WALL_MS), 5000);
	fixture_done(&f);
}

TEST(what_a_person_allowed_holds_for_the_next_goal)
{
	struct fixture f;

	fixture_init(&f);
	add_text(&f, STANDING_AUTO, "first");
	submit(&f, "goal.update",
			json(&f, "{'goal':'" STR_FMT "','budget':{'tokens':77},'reason':'more'}",
					STR_ARG(f.state->goals.p[0]->id)));
	submit(&f, "goal.cancel",
			json(&f, "{'goal':'" STR_FMT "','reason':'enough'}",
					STR_ARG(f.state->goals.p[0]->id)));
	add_text(&f, STANDING_AUTO, "second");
	assert_int_equal(f.state->goals.p[1]->budget[RES_TOKENS], 77);
	fixture_done(&f);
}

TEST(who_serves_whom)
{
	struct goal ordinary = { 0 }, automatic = { .standing = STR("auto") },
		    manual = { .standing = STR("manual") };
	const struct {
		struct node n;
		struct worker w;
		bool serves;
	} cases[] = {
		{ { .goal = &ordinary }, { .kind = WORKER_POOL }, true },
		{ { .goal = &ordinary }, { .kind = WORKER_MANUAL }, true },
		{ { .goal = &ordinary }, { .kind = WORKER_MANUAL, .excluded = true }, false },
		{ { .goal = &ordinary }, { .kind = WORKER_AUTO }, false },
		{ { .goal = &automatic }, { .kind = WORKER_AUTO }, true },
		{ { .goal = &automatic }, { .kind = WORKER_POOL }, false },
		{ { .goal = &automatic }, { .kind = WORKER_MANUAL }, false },
		{ { .goal = &manual, .next.worker = STR("ann") },
				{ .kind = WORKER_MANUAL, .name = STR("ann"), .excluded = true },
				true },
		{ { .goal = &manual, .next.worker = STR("ann") },
				{ .kind = WORKER_POOL, .name = STR("pool-1") }, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(worker_serves(&cases[i].w, &cases[i].n), cases[i].serves);
}

TEST_MAIN
