#include "tests/test.h"

#include "base/vec.h"
#include "core/model/limits.h"
#include "data/value/json.h"
#include "tests/unit/core_fixture.h"

static str repeat(struct fixture *f, char c, size_t n)
{
	struct buf b = BUF_INIT;
	str s;

	while (b.n < n)
		buf_addc(&b, c);
	s = arena_str(&f->arena, buf_str(&b));
	buf_done(&b);
	return s;
}

TEST(goal_create)
{
	struct fixture f;
	const struct goal *g;
	str id;

	fixture_init(&f);
	id = value_str_at(submit(&f, "goal.create",
					  json(&f,
							  "{'title': '  Rate limits ', "
							  "'problem_statement': 'p', "
							  "'priority': 'urgent', "
							  "'success_criteria': ['a', 'b'], "
							  "'non_goals': ['c'], 'constraints': [], "
							  "'tags': ['t']}")),
			"goal");
	g = state_goal(f.state, id);
	assert_true(str_starts(id, STR("goal_")));
	assert_true(str_is(g->title, "Rate limits"));
	assert_true(str_is(g->owner, "human:tester"));
	assert_int_equal(g->priority, 1);
	assert_int_equal(g->success_criteria.n, 2);
	assert_int_equal(g->constraints.n, 0);
	assert_int_equal(g->plan_version, 0);
	assert_int_equal(g->created_at, f.now);
	id = create_goal(&f, flat_plan(&f, 2), NULL);
	assert_int_equal(state_goal(f.state, id)->plan_version, 1);
	assert_int_equal(state_goal(f.state, id)->leaves, 2);
	assert_int_equal(state_goal(f.state, id)->priority, 3);
	fixture_done(&f);
}

TEST(goal_create_is_checked)
{
	static const struct {
		const char *params;
		int code;
		const char *says;
	} cases[] = {
		{ "{}", OV_EINVALID, "needs a title" },
		{ "{'title': '   '}", OV_EINVALID, "needs a title" },
		{ "{'title': 'a\\u0000b'}", OV_EINVALID, "NUL" },
		{ "{'title': 't', 'priority': 'asap'}", OV_EINVALID, "urgent, high, normal" },
		{ "{'title': 't', 'priority': ''}", OV_EINVALID, "urgent, high, normal" },
		{ "{'title': 't', 'plan': {}}", OV_EINVALID_PLAN, "\"phases\" is missing" },
		{ "{'title': 't', 'tags': ['a\\u0000']}", OV_EINVALID, "tags contains a NUL" },
	};
	struct fixture f;

	fixture_init(&f);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *msg = refused(&f, "goal.create", json(&f, "%s", cases[i].params),
				cases[i].code);

		if (!strstr(msg, cases[i].says))
			fail_msg("%s: %s", cases[i].params, msg);
	}
	assert_int_equal(f.state->seq, 0);
	fixture_done(&f);
}

/* Exactly at the bound it is taken, one above it is refused. */
TEST(goal_create_is_bounded)
{
	static const struct {
		const char *key;
		size_t max;
	} cases[] = { { "title", LIMIT_TITLE }, { "problem_statement", LIMIT_TEXT } };
	static const char *const lists[] = { "success_criteria", "non_goals", "constraints",
		"tags" };
	struct fixture f;

	fixture_init(&f);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		value *p = json(&f, "{'title': 't'}");

		value_put(&f.arena, p, cases[i].key,
				value_str(&f.arena, repeat(&f, 'x', cases[i].max)));
		submit(&f, "goal.create", p);
		value_put(&f.arena, p, cases[i].key,
				value_str(&f.arena, repeat(&f, 'x', cases[i].max + 1)));
		assert_non_null(strstr(refused(&f, "goal.create", p, OV_ELIMIT), cases[i].key));
	}
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		value *p = json(&f, "{'title': 't'}"), *list = value_array(&f.arena);

		value_put(&f.arena, p, lists[i], list);
		for (int k = 0; k < LIMIT_LIST; k++)
			value_push(&f.arena, list,
					value_str(&f.arena, repeat(&f, 'x', LIMIT_NOTE)));
		submit(&f, "goal.create", p);
		value_push(&f.arena, list, value_cstr(&f.arena, "x"));
		refused(&f, "goal.create", p, OV_ELIMIT);
		list = value_array(&f.arena);
		value_push(&f.arena, list, value_str(&f.arena, repeat(&f, 'x', LIMIT_NOTE + 1)));
		value_put(&f.arena, p, lists[i], list);
		refused(&f, "goal.create", p, OV_ELIMIT);
	}
	fixture_done(&f);
}

static value *with_plan(struct fixture *f, str goal, value *plan)
{
	value *p = json(f, "{'goal': '" STR_FMT "'}", STR_ARG(goal));

	if (plan)
		value_put(&f->arena, p, "plan", plan);
	return p;
}

TEST(plan_apply)
{
	struct fixture f;
	value *result;
	str goal;

	fixture_init(&f);
	goal = create_goal(&f, NULL, NULL);
	refused(&f, "plan.apply", with_plan(&f, STR("nope"), flat_plan(&f, 1)), OV_ENOTFOUND);
	refused(&f, "plan.apply", with_plan(&f, goal, NULL), OV_EINVALID_PLAN);
	refused(&f, "plan.apply", with_plan(&f, goal, flat_plan(&f, 0)), OV_EINVALID_PLAN);
	/* A unique prefix of the id does. */
	result = submit(&f, "plan.apply", with_plan(&f, str_sub(goal, 0, 8), flat_plan(&f, 2)));
	assert_true(str_eq(value_str_at(result, "goal"), goal));
	assert_int_equal(value_int_at(result, "version"), 1);
	assert_int_equal(state_goal(f.state, goal)->nodes.n, 3);
	drain(&f);
	assert_int_equal(state_goal(f.state, goal)->status, GOAL_COMPLETED);
	refused(&f, "plan.apply", with_plan(&f, goal, flat_plan(&f, 1)), OV_ESTATE);
	create_goal(&f, NULL, NULL);
	refused(&f, "plan.apply", with_plan(&f, STR("goal_"), flat_plan(&f, 1)), OV_ECONFLICT);
	fixture_done(&f);
}

static value *update(struct fixture *f, const char *node, const char *status)
{
	return json(f, "{'node': '%s', 'status': '%s', 'reason': 'because'}", node, status);
}

TEST(work_update_is_checked)
{
	struct fixture f;
	value *p;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	refused(&f, "work.update", update(&f, "T9", "done"), OV_ENOTFOUND);
	refused(&f, "work.update", update(&f, "nogoal/T1", "done"), OV_ENOTFOUND);
	assert_non_null(strstr(refused(&f, "work.update", update(&f, "P1", "done"), OV_ESTATE),
			"children"));
	assert_non_null(strstr(refused(&f, "work.update", update(&f, "T1", "cancelled"),
					       OV_EINVALID),
			"done, blocked, queued"));
	assert_non_null(strstr(
			refused(&f, "work.update",
					json(&f, "{'node': 'T1', 'status': 'done', 'reason': ' '}"),
					OV_EINVALID),
			"reason"));
	p = update(&f, "T1", "done");
	value_put(&f.arena, p, "reason", value_str(&f.arena, repeat(&f, 'x', LIMIT_NOTE + 1)));
	refused(&f, "work.update", p, OV_ELIMIT);
	p = update(&f, "T1", "blocked");
	value_put(&f.arena, p, "unblock_when",
			value_str(&f.arena, repeat(&f, 'x', LIMIT_NOTE + 1)));
	refused(&f, "work.update", p, OV_ELIMIT);
	/* The same node id in two open goals. */
	create_goal(&f, flat_plan(&f, 1), NULL);
	refused(&f, "work.update", update(&f, "T1", "done"), OV_ECONFLICT);
	fixture_done(&f);
}

/* Status by status, for a node that nobody works on. */
TEST(work_update_without_assignment)
{
	static const struct {
		enum node_status from;
		const char *to;
		int code;
	} cases[] = {
		{ NODE_TODO, "done", 0 },
		{ NODE_TODO, "blocked", 0 },
		{ NODE_TODO, "queued", OV_ESTATE },
		{ NODE_QUEUED, "done", 0 },
		{ NODE_QUEUED, "blocked", 0 },
		{ NODE_QUEUED, "queued", OV_ESTATE },
		{ NODE_BLOCKED, "done", 0 },
		{ NODE_BLOCKED, "blocked", OV_ESTATE },
		{ NODE_BLOCKED, "queued", 0 },
		{ NODE_DONE, "done", OV_ESTATE },
		{ NODE_DONE, "blocked", OV_ESTATE },
		{ NODE_DONE, "queued", OV_ESTATE },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		const struct node *n;

		fixture_init(&f);
		create_goal(&f, flat_plan(&f, 2), NULL); /* T2 keeps the goal open */
		n = node_of(&f, "T1");
		if (cases[i].from == NODE_QUEUED)
			tick(&f);
		else if (cases[i].from != NODE_TODO)
			submit(&f, "work.update",
					update(&f, "T1",
							cases[i].from == NODE_DONE ? "done"
										   : "blocked"));
		assert_int_equal(n->status, cases[i].from);
		if (cases[i].code) {
			refused(&f, "work.update", update(&f, "T1", cases[i].to), cases[i].code);
			assert_int_equal(n->status, cases[i].from);
		} else {
			submit(&f, "work.update", update(&f, "T1", cases[i].to));
			assert_string_equal(status_name(&node_statuses, (int)n->status),
					cases[i].to);
			assert_true(str_is(n->status_reason, "because"));
		}
		assert_int_equal(n->status == NODE_BLOCKED, n->block.by.n > 0);
		fixture_done(&f);
	}
}

TEST(unblocking_waits_for_dependencies)
{
	struct fixture f;
	value *plan;

	fixture_init(&f);
	plan = flat_plan(&f, 2);
	value_put(&f.arena,
			(value *)value_item(value_at(value_item(value_at(plan, "phases"), 0),
							    "tasks"),
					1),
			"deps", json(&f, "['T1']"));
	create_goal(&f, plan, NULL);
	submit(&f, "work.update", update(&f, "T2", "blocked"));
	submit(&f, "work.update", update(&f, "T2", "queued"));
	assert_int_equal(node_of(&f, "T2")->status, NODE_TODO);
	fixture_done(&f);
}

/* Every place of the pipeline at which a person may step in. */
struct place {
	enum stage stage;
	bool begun; /* its effect is open */
};

static const struct place places[] = {
	{ STAGE_WORKSPACE, false },
	{ STAGE_WORKSPACE, true },
	{ STAGE_START, false },
	{ STAGE_START, true },
	{ STAGE_RUNNING, false },
	{ STAGE_HARVEST, false },
	{ STAGE_HARVEST, true },
	{ STAGE_CHECK, false },
	{ STAGE_CHECK, true },
	{ STAGE_REBASE, false },
	{ STAGE_REBASE, true },
	{ STAGE_GATE, false },
	{ STAGE_GATE, true },
	{ STAGE_ACCEPT, false },
	{ STAGE_ACCEPT, true },
};

/* Leaves the node at the place, with the tick's next decision for it not yet taken unless begun. */
static void go_to(struct fixture *f, const struct place *p)
{
	fixture_init(f);
	f->policy.check_command = STR("make test");
	f->policy.accept.pre = STR("make check");
	create_goal(f, flat_plan(f, 2), NULL);
	submit(f, "work.update", update(f, "T2", "blocked")); /* it keeps the goal open */
	if (p->stage == STAGE_WORKSPACE && !p->begun) {
		tick(f);
		tick(f);
		return;
	}
	if (p->begun || p->stage == STAGE_RUNNING) {
		bring_to(f, "T1", p->stage);
		return;
	}
	switch (p->stage) {
	case STAGE_START:
		bring_to(f, "T1", STAGE_WORKSPACE);
		effect_end(f, "T1", FX_WORKSPACE, "ok", "", "'base': 'b'");
		break;
	case STAGE_HARVEST:
		bring_to(f, "T1", STAGE_RUNNING);
		run_end(f, "T1", 0);
		break;
	case STAGE_CHECK:
		bring_to(f, "T1", STAGE_HARVEST);
		effect_end(f, "T1", FX_HARVEST, "ok", "", "'head': 'h', 'files_changed': 1");
		break;
	case STAGE_GATE:
		bring_to(f, "T1", STAGE_REBASE);
		effect_end(f, "T1", FX_REBASE, "ok", "", "'commit': 'c0ffee'");
		break;
	case STAGE_ACCEPT:
		bring_to(f, "T1", STAGE_GATE);
		effect_end(f, "T1", FX_GATE, "ok", "", "");
		break;
	default:
		bring_to(f, "T1", STAGE_CHECK);
		effect_end(f, "T1", FX_CHECK, "ok", "", "");
		break;
	}
}

TEST(done_at_every_place)
{
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		struct fixture f;
		const struct node *n;
		bool accepting;

		go_to(&f, &places[i]);
		n = node_of(&f, "T1");
		assert_int_equal(n->assignment->stage, places[i].stage);
		assert_int_equal(n->assignment->effect != NULL, places[i].begun);
		accepting = places[i].stage == STAGE_ACCEPT && places[i].begun;
		submit(&f, "work.update", update(&f, "T1", "done"));
		assert_int_equal(n->status, NODE_DONE);
		assert_true(value_bool_at(last_event(&f, EV_NODE_STATUS)->data, "override"));
		/* A run is never left alone: it is stopped and what it made is kept. */
		drain(&f);
		assert_int_equal(n->status, NODE_DONE);
		assert_null(n->assignment);
		assert_int_equal(f.state->workers.p[0]->status, WORKER_IDLE);
		assert_true(list_empty(&f.state->effects));
		assert_int_equal(count_events(&f, EV_NODE_ACCEPTED), accepting);
		if (places[i].stage >= STAGE_START && count_events(&f, EV_RUN_STARTED))
			assert_int_equal(count_events(&f, EV_RUN_HARVESTED), 1);
		fixture_done(&f);
	}
}

TEST(blocked_at_every_place_then_unblocked)
{
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		for (int late = 0; late < 2; late++) {
			struct fixture f;
			const struct node *n;
			int64_t epoch;

			go_to(&f, &places[i]);
			n = node_of(&f, "T1");
			if (places[i].stage == STAGE_ACCEPT && places[i].begun) {
				refused(&f, "work.update", update(&f, "T1", "blocked"), OV_ESTATE);
				fixture_done(&f);
				continue;
			}
			epoch = n->work.epoch;
			submit(&f, "work.update", update(&f, "T1", "blocked"));
			assert_int_equal(n->status, NODE_BLOCKED);
			assert_true(str_is(n->block.by, "human:tester"));
			assert_true(str_is(n->block.when, "a person says so"));
			if (late) {
				/*
				 * What was under way came to its end meanwhile, and held nothing.
				 */
				drain(&f);
				assert_int_equal(n->status, NODE_BLOCKED);
				assert_int_equal(f.state->workers.p[0]->status, WORKER_IDLE);
			}
			submit(&f, "work.update", update(&f, "T1", "queued"));
			assert_int_equal(n->status, NODE_QUEUED);
			drain(&f);
			assert_int_equal(n->status, NODE_DONE);
			assert_int_equal(n->work.epoch, epoch + 1);
			assert_int_equal(count_events(&f, EV_NODE_ACCEPTED), 1);
			fixture_done(&f);
		}
}

/* Back and forth while the old assignment is still on its way out. */
TEST(change_of_mind_while_winding_down)
{
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		struct fixture f;

		if (places[i].stage == STAGE_ACCEPT && places[i].begun)
			continue;
		go_to(&f, &places[i]);
		for (int k = 0; k < 3; k++) {
			submit(&f, "work.update", update(&f, "T1", "blocked"));
			submit(&f, "work.update", update(&f, "T1", "queued"));
		}
		submit(&f, "work.update", update(&f, "T1", "done"));
		drain(&f);
		assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
		assert_int_equal(f.state->workers.p[0]->status, WORKER_IDLE);
		assert_int_equal(count_events(&f, EV_NODE_ACCEPTED), 0);
		fixture_done(&f);
	}
}

/* The stop may find the run over, the agent may end before it is told, the start may fail late. */
TEST(stopping)
{
	static const struct place running = { STAGE_RUNNING, false },
				  starting = { STAGE_START, true };
	struct fixture f;

	go_to(&f, &running);
	submit(&f, "work.update", update(&f, "T1", "done"));
	settle(&f);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_RUN_STOP);
	run_end(&f, "T1", 143); /* while the stop is under way */
	assert_int_equal(node_of(&f, "T1")->assignment->stage, STAGE_STOP);
	effect_end(&f, "T1", FX_RUN_STOP, "error", "no such process", "");
	assert_int_equal(node_of(&f, "T1")->assignment->stage, STAGE_HARVEST);
	drain(&f);
	assert_null(node_of(&f, "T1")->assignment);
	fixture_done(&f);

	/* Once it is on its way out, nobody is told again. */
	go_to(&f, &running);
	submit(&f, "work.update", update(&f, "T1", "blocked"));
	submit(&f, "work.update", update(&f, "T1", "queued"));
	settle(&f);
	effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
	submit(&f, "work.update", update(&f, "T1", "done"));
	settle(&f);
	assert_null(effect_of(&f, "T1"));
	drain(&f);
	assert_null(node_of(&f, "T1")->assignment);
	fixture_done(&f);

	go_to(&f, &running);
	submit(&f, "work.update", update(&f, "T1", "done"));
	run_end(&f, "T1", 0); /* before anyone was told to stop */
	assert_int_equal(node_of(&f, "T1")->assignment->stage, STAGE_HARVEST);
	drain(&f);
	assert_int_equal(count_events(&f, EV_RUN_HARVESTED), 1);
	fixture_done(&f);

	go_to(&f, &starting);
	submit(&f, "work.update", update(&f, "T1", "done"));
	run_end(&f, "T1", 0); /* before its start was told */
	assert_int_equal(node_of(&f, "T1")->assignment->stage, STAGE_HARVEST);
	drain(&f);
	assert_null(node_of(&f, "T1")->assignment);
	assert_int_equal(count_events(&f, EV_RUN_HARVESTED), 1);
	fixture_done(&f);

	go_to(&f, &starting);
	submit(&f, "work.update", update(&f, "T1", "done"));
	settle(&f);
	effect_end(&f, "T1", FX_RUN_START, "error", "no such program", "");
	settle(&f);
	assert_null(node_of(&f, "T1")->assignment);
	assert_int_equal(f.state->workers.p[0]->status, WORKER_IDLE);
	fixture_done(&f);
}

/* A stop that could not be delivered is sent again: the agent must not work on unseen. */
TEST(a_stop_that_fails_is_repeated)
{
	static const struct place running = { STAGE_RUNNING, false };
	struct fixture f;

	go_to(&f, &running);
	submit(&f, "work.update", update(&f, "T1", "blocked"));
	settle(&f);
	for (int i = 0; i < 10; i++) {
		effect_end(&f, "T1", FX_RUN_STOP, "error", "its shim was not found yet", "");
		settle(&f);
		assert_null(effect_of(&f, "T1"));
		assert_true(f.wake_at >= f.now + OV_SECOND && f.wake_at <= f.now + OV_MINUTE);
		f.now = f.wake_at;
		settle(&f);
		assert_int_equal(effect_of(&f, "T1")->kind, FX_RUN_STOP);
	}
	effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
	assert_int_equal(node_of(&f, "T1")->assignment->stage, STAGE_RUNNING);
	run_end(&f, "T1", 143);
	drain(&f);
	assert_int_equal(f.state->workers.p[0]->status, WORKER_IDLE);
	fixture_done(&f);
}

/* What is reported twice, late, or about nothing that is known changes nothing. */
TEST(reports_are_idempotent)
{
	static const struct place place = { STAGE_RUNNING, false };
	struct fixture f;
	value *start, *end;
	str effect;
	uint64_t seq;

	go_to(&f, &(struct place){ STAGE_START, true });
	effect = arena_str(&f.arena, effect_of(&f, "T1")->id);
	start = json(&f, "{'effect': '" STR_FMT "', 'outcome': 'ok'}", STR_ARG(effect));
	end = json(&f, "{'run': '" STR_FMT "', 'exit_code': 0}",
			STR_ARG(node_of(&f, "T1")->assignment->run_id));
	submit(&f, "effect.end", start);
	seq = f.state->seq;
	submit(&f, "effect.end", start);
	assert_int_equal(f.state->seq, seq);
	submit(&f, "run.end", end);
	seq = f.state->seq;
	submit(&f, "run.end", end);
	submit(&f, "effect.end", start);
	submit(&f, "effect.end", json(&f, "{'effect': 'X_none', 'outcome': 'ok'}"));
	submit(&f, "effect.end", json(&f, "{}"));
	submit(&f, "run.end", json(&f, "{'run': 'R_none', 'exit_code': 0}"));
	submit(&f, "run.end", json(&f, "{}"));
	assert_int_equal(f.state->seq, seq);
	fixture_done(&f);

	/* A short run can end before its start is told; that it had started is then known. */
	go_to(&f, &(struct place){ STAGE_START, true });
	start = json(&f, "{'effect': '" STR_FMT "', 'outcome': 'ok'}",
			STR_ARG(effect_of(&f, "T1")->id));
	run_end(&f, "T1", 0);
	assert_null(effect_of(&f, "T1"));
	assert_int_equal(node_of(&f, "T1")->assignment->stage, STAGE_HARVEST);
	assert_int_equal(count_events(&f, EV_RUN_STARTED), 1);
	seq = f.state->seq;
	submit(&f, "effect.end", start);
	run_end(&f, "T1", 0);
	assert_int_equal(f.state->seq, seq);
	drain(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	fixture_done(&f);

	/* Also long after, when another run of the node is under way. */
	go_to(&f, &place);
	end = json(&f, "{'run': '" STR_FMT "', 'exit_code': 1}",
			STR_ARG(node_of(&f, "T1")->assignment->run_id));
	submit(&f, "run.end", end);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "", "'head': 'h', 'files_changed': 1");
	f.now += OV_HOUR;
	bring_to(&f, "T1", STAGE_RUNNING);
	seq = f.state->seq;
	submit(&f, "run.end", end);
	assert_int_equal(f.state->seq, seq);
	assert_int_equal(node_of(&f, "T1")->assignment->run->status, RUN_RUNNING);
	fixture_done(&f);
}

/*
 * Output of programs is cut at a character and made text, so that the log gives back what it got.
 */
TEST(outcomes_are_any_bytes)
{
	struct fixture f;
	struct buf detail = BUF_INIT;
	const struct event *e;
	value *p;

	go_to(&f, &(struct place){ STAGE_CHECK, true });
	for (int i = 0; i < LIMIT_NOTE; i++)
		buf_adds(&detail, STR("\xe2\x82\xac\xff"));
	p = json(&f, "{'effect': '" STR_FMT "', 'outcome': 'failed'}",
			STR_ARG(effect_of(&f, "T1")->id));
	value_put(&f.arena, p, "detail", value_str(&f.arena, buf_str(&detail)));
	submit(&f, "effect.end", p);
	e = last_event(&f, EV_RUN_VERIFIED);
	assert_true(str_is(value_str_at(e->data, "verdict"), "failed"));
	assert_true(str_starts(value_str_at(e->data, "detail"),
			STR("\xe2\x82\xac\xef\xbf\xbd\xe2")));
	buf_clear(&detail);
	f.now += OV_HOUR;
	bring_to(&f, "T1", STAGE_CHECK);
	buf_adds(&detail, STR("xx")); /* so that the bound falls into a character */
	for (int i = 0; i < LIMIT_NOTE; i++)
		buf_adds(&detail, STR("\xe2\x82\xac"));
	p = json(&f, "{'effect': '" STR_FMT "', 'outcome': 'failed'}",
			STR_ARG(effect_of(&f, "T1")->id));
	value_put(&f.arena, p, "detail", value_str(&f.arena, buf_str(&detail)));
	submit(&f, "effect.end", p);
	e = last_event(&f, EV_RUN_VERIFIED);
	assert_int_equal(value_str_at(e->data, "detail").n, LIMIT_NOTE - 2);
	assert_false(str_contains(value_str_at(e->data, "detail"), STR("\xef\xbf\xbd")));
	buf_done(&detail);
	fixture_done(&f);
}

TEST(daemon_comes_and_goes)
{
	struct fixture f;

	fixture_init(&f);
	submit(&f, "daemon.start", json(&f, "{'instance': 'i', 'version': '1'}"));
	submit(&f, "daemon.stop", json(&f, "{'instance': 'i', 'reason': 'asked'}"));
	assert_int_equal(f.state->seq, 2);
	assert_null(command_find(STR("daemon")));
	assert_non_null(command_find(STR("work.update")));
	fixture_done(&f);
}

/* The same inputs give the same events, byte for byte, whatever the hash tables are seeded with. */
TEST(deterministic)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct buf texts[2] = { BUF_INIT, BUF_INIT };

		for (int k = 0; k < 2; k++) {
			struct rng rng = { seed };
			struct fixture f;

			fixture_init(&f);
			f.state = (state_free(f.state), state_new(seed * 7919 * (unsigned)k));
			for (int i = 0; i < 400; i++)
				random_step(&f, &rng);
			for (size_t i = 0; i < f.log.n; i++)
				json_write_canonical(&texts[k], event_view(&f.arena, f.log.p[i]));
			fixture_done(&f);
		}
		assert_true(texts[0].n > 10000);
		assert_true(str_eq(buf_str(&texts[0]), buf_str(&texts[1])));
		buf_done(&texts[0]);
		buf_done(&texts[1]);
	}
}

/* A short run can end before the outcome of its start is told: the end tells both. */
TEST(a_run_may_end_before_its_start_is_told)
{
	struct fixture f;
	struct assignment *as;
	size_t seq;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_START);
	settle(&f);
	as = node_of(&f, "T1")->assignment;
	assert_int_equal(as->run->status, RUN_STARTING);
	run_end(&f, "T1", 0);
	assert_int_equal(as->run->status, RUN_ENDED);
	assert_int_equal(as->status, AS_ACTIVE);
	assert_int_equal(as->stage, STAGE_HARVEST);
	assert_null(as->effect);
	/* It is told once. */
	seq = f.state->seq;
	run_end(&f, "T1", 1);
	assert_int_equal(f.state->seq, seq);
	assert_int_equal(as->run->exit_code, 0);
	fixture_done(&f);
}

TEST_MAIN
