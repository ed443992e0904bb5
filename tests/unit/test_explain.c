#include "tests/test.h"

#include "base/vec.h"
#include "core/explain/explain.h"
#include "core/explain/explain_state.h"
#include "core/model/limits.h"
#include "core/prompt/prompt.h"
#include "core/view/view.h"
#include "data/value/json.h"
#include "tests/unit/core_fixture.h"

static void check_plain(str text)
{
	if (!text.n || strpbrk(text.p, "{}[]"))
		fail_msg("\"%s\"", text.p);
}

static struct event sample(struct arena *a, enum event_kind kind, bool all)
{
	struct shape info = event_shape(kind);
	struct event e = { .seq = 1,
		.at = 1,
		.kind = kind,
		.actor = STR("human:x"),
		.goal = STR("goal_1"),
		.node = STR("T1"),
		.assignment = STR("A_1"),
		.run = STR("R_1"),
		.data = value_object(a) };

	for (size_t i = 0; i < info.n; i++) {
		const struct shape_field *f = &info.fields[i];

		if (!all && f->need != REQ)
			continue;
		value_put(a, e.data, f->name,
				f->type == SHAPE_NUM                    ? value_int(a, 42)
						: f->type == SHAPE_FLAG ? value_bool(a, true)
						: f->type == SHAPE_TEXT || f->type == SHAPE_NOTE ||
								f->type == SHAPE_ENUM
						? value_strf(a, "<%s>", f->name)
						: value_object(a));
	}
	return e;
}

TEST(every_kind_of_event)
{
	for (int kind = 0; kind < EVENT_KIND_COUNT; kind++)
		for (int all = 0; all < 2; all++) {
			struct arena a = ARENA_INIT;
			struct event e = sample(&a, (enum event_kind)kind, all);

			check_plain(explain_event(&a, &e));
			arena_done(&a);
		}
}

/* A part that has nothing to say is left out; what is said is said in full. */
TEST(words)
{
	static const struct {
		enum event_kind kind;
		bool all;
		const char *text;
	} cases[] = {
		{ EV_GOAL_CREATED, true, "human:x created the goal \"<title>\"" },
		{ EV_NODE_STATUS, false, "<from> -> <to>: <reason>" },
		{ EV_NODE_STATUS, true,
				"<from> -> <to>, by human:x past the ordinary rules: <reason>; "
				"unblocked when: <unblock_when>" },
		{ EV_NODE_FAILED, true, "failed (<cause>, 42x): <detail>" },
		{ EV_RUN_STARTED, true, "run R_1 started" },
		{ EV_RUN_ENDED, false, "run R_1 ended: signal 42" },
		{ EV_RUN_ENDED, true,
				"run R_1 was lost, <verdict> (<trouble>), <message>, denied: "
				"<denied>; its session "
				"is "
				"not gone on with" },
		{ EV_EFFECT_ENDED, false, "<kind>: <outcome>" },
		{ EV_EFFECT_ENDED, true, "<kind>: <outcome>, <detail>" },
		{ EV_ESCALATION_OPENED, true, "#42 a person is needed (<kind>): <question>" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a = ARENA_INIT;
		struct event e = sample(&a, cases[i].kind, cases[i].all);

		assert_string_equal(explain_event(&a, &e).p, cases[i].text);
		arena_done(&a);
	}
}

/* Text from outside is shown as it is: it cannot name members. */
TEST(text_stays_text)
{
	struct arena a = ARENA_INIT;
	struct event e = sample(&a, EV_GOAL_CREATED, false);

	value_put(&a, e.data, "title", value_cstr(&a, "{actor} [x] {priority}"));
	assert_string_equal(explain_event(&a, &e).p,
			"human:x created the goal \"{actor} [x] {priority}\"");
	arena_done(&a);
}

TEST(what_happens_now)
{
	struct fixture f;
	value *plan;

	fixture_init(&f);
	f.policy.workers_max = 1;
	plan = flat_plan(&f, 3);
	value_put(&f.arena,
			(value *)value_item(value_at(value_item(value_at(plan, "phases"), 0),
							    "tasks"),
					1),
			"deps", json(&f, "['T1']"));
	create_goal(&f, plan, NULL);
#define NOW(id) explain_now(&f.arena, f.state, node_of(&f, id), f.now).p
	settle(&f);
	assert_string_equal(NOW("T1"), "next step: workspace, under way");
	assert_string_equal(NOW("T2"), "waits for T1 (queued)");
	assert_string_equal(NOW("T3"), "ready; waits for a free worker");
	assert_string_equal(NOW("P1"), "3 parts; its status follows from theirs");
	bring_to(&f, "T1", STAGE_RUNNING);
	assert_non_null(strstr(NOW("T1"), "a works on it in pool-1 (run R_"));
	run_end(&f, "T1", 1);
	assert_string_equal(NOW("T1"), "next step: harvest, about to begin");
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "", "'head': 'h', 'files_changed': 1");
	assert_string_equal(NOW("T1"),
			"waits 5s before the next step (start): the agent ended with "
			"exit status 1");
	submit(&f, "work.update",
			json(&f,
					"{'node': 'T3', 'status': 'blocked', 'reason': 'why', "
					"'unblock_when': 'monday'}"));
	assert_string_equal(NOW("T3"), "blocked by human:tester: why; unblocked when: monday");
	submit(&f, "work.update",
			json(&f, "{'node': 'T3', 'status': 'done', 'reason': 'by hand'}"));
	assert_string_equal(NOW("T3"), "finished: by hand");
	f.now += OV_MINUTE;
	bring_to(&f, "T1", STAGE_ACCEPT);
	accept_node(&f, "T1");
	assert_string_equal(NOW("T1"), "finished; its change is commit c0ffee");
	fixture_done(&f);
}

/* Views of whatever state: they hold the figures that the state holds, and are valid JSON. */
TEST(views)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct rng rng = { seed };
		struct fixture f;
		size_t archived = 0;
		value *v;

		fixture_init(&f);
		create_goal(&f, flat_plan(&f, 4), NULL);
		for (int i = 0; i < 200; i++)
			random_step(&f, &rng);
		for (size_t g = 0; g < f.state->goals.n; g++)
			archived += f.state->goals.p[g]->status == GOAL_ARCHIVED;
		v = view_status(&f.arena, &(struct world){ f.state, &f.policy }, STR(""), f.now);
		assert_int_equal(value_int_at(v, "seq"), f.state->seq);
		assert_int_equal(value_count(value_at(v, "goals")), f.state->goals.n - archived);
		assert_int_equal(value_count(value_at(v, "workers")), f.state->workers.n);
		for (size_t g = 0; g < f.state->goals.n; g++) {
			const struct goal *goal = f.state->goals.p[g];
			value *tree = view_plan(&f.arena, f.state, goal);
			str text = json_text(&f.arena, view_goal(&f.arena, f.state, goal));
			value *back;

			assert_true(value_count(value_at(tree, "phases")) > 0);
			assert_int_equal(json_parse(&f.arena, text, NULL, &back, NULL), 0);
			assert_true(str_eq(value_str_at(back, "id"), goal->id));
			for (size_t i = 0; i < goal->nodes.n; i++) {
				v = view_node(&f.arena, f.state, goal->nodes.p[i]);
				assert_true(str_eq(value_str_at(v, "goal"), goal->id));
				assert_true(explain_now(&f.arena, f.state, goal->nodes.p[i], f.now)
								.n > 0);
			}
		}
		list_each (it, &f.state->runs) {
			v = view_run(&f.arena, list_entry(it, struct run, link), f.now);
			assert_true(value_int_at(v, "duration_ms") >= 0);
		}
		for (size_t i = 0; i < f.log.n; i++)
			check_plain(explain_event(&f.arena, f.log.p[i]));
		fixture_done(&f);
	}
}

TEST(prompt)
{
	struct fixture f;
	value *plan, *task;
	str text;

	fixture_init(&f);
	plan = flat_plan(&f, 1);
	task = (value *)value_item(value_at(value_item(value_at(plan, "phases"), 0), "tasks"), 0);
	value_put(&f.arena, task, "objective", value_cstr(&f.arena, "make it so"));
	value_put(&f.arena, task, "scopePaths", json(&f, "['src/x']"));
	value_put(&f.arena, task, "outcome", value_cstr(&f.arena, "it is so"));
	create_goal(&f, plan, NULL);
	settle(&f);
	text = prompt_build(&f.arena, node_of(&f, "T1")->assignment);
	assert_true(str_starts(text, STR("Task T1: task 1\nGoal: a goal\n")));
	assert_true(str_contains(text, STR("- src/x\n")));
	assert_true(str_contains(text, STR("make it so")));
	assert_true(str_contains(text, STR("on branch overseer/pool-1/")));
	assert_string_equal(prompt_commit_message(&f.arena, node_of(&f, "T1")).p,
			"task 1\n\nit is so\n\nTask T1 of \"a goal\".\n");
	fixture_done(&f);
}

/* However long the parts, the instruction fits, and what must be said is in it. */
TEST(prompt_is_bounded)
{
	struct fixture f;
	value *plan, *task;
	struct buf euros = BUF_INIT;
	struct assignment *as;
	str text;

	fixture_init(&f);
	while (euros.n + 3 <= LIMIT_TEXT)
		buf_adds(&euros, STR("\xe2\x82\xac"));
	plan = flat_plan(&f, 1);
	task = (value *)value_item(value_at(value_item(value_at(plan, "phases"), 0), "tasks"), 0);
	value_put(&f.arena, task, "objective", value_str(&f.arena, buf_str(&euros)));
	value_put(&f.arena, task, "outcome", value_str(&f.arena, buf_str(&euros)));
	create_goal(&f, plan, NULL);
	f.policy.check_command = STR("make");
	bring_to(&f, "T1", STAGE_CHECK);
	effect_end(&f, "T1", FX_CHECK, "failed", "the reason", "");
	as = node_of(&f, "T1")->assignment;
	text = prompt_build(&f.arena, as);
	assert_true(text.n <= LIMIT_INSTRUCTION);
	assert_true(str_contains(text, STR("[This instruction is cut here")));
	assert_true(str_contains(text, STR("the reason")));
	assert_true(str_contains(text, STR("do not merge or push")));
	buf_done(&euros);
	fixture_done(&f);
}

/* Whatever happened: an answer that says what comes next, in plain words. */
static void check_answer(const value *v)
{
	static const char *const texts[] = { "id", "noun", "title", "status", "state", "now" };
	static const char *const lists[] = { "evidence", "next" };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (!value_str_at(v, texts[i]).n)
			fail_msg("no %s of " STR_FMT, texts[i], STR_ARG(value_str_at(v, "id")));
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		const value *list = value_at(v, lists[i]);

		assert_true(list && list->kind == V_ARRAY);
		for (size_t k = 0; k < value_count(list); k++)
			assert_true(value_str_or(value_item(list, k), STR("")).n ||
					value_str_at(value_item(list, k), "text").n);
	}
	assert_true(value_count(value_at(v, "next")) > 0);
}

static void check_assignment(const struct explain *x, const struct list *head, size_t *seen)
{
	list_each (it, head) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		check_answer(explain_assignment(x, as));
		for (size_t i = 0; i < as->dispatches.n; i++)
			check_answer(explain_dispatch(x, as->dispatches.p[i]));
		*seen += as->dispatches.n;
	}
}

TEST(anything_is_answered)
{
	size_t seen = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct rng rng = { seed };
		struct fixture f;
		struct explain x;

		fixture_init(&f);
		create_goal(&f, flat_plan(&f, 3), NULL);
		for (int i = 0; i < 200; i++)
			random_step(&f, &rng);
		x = (struct explain){ &f.arena, f.state, &f.policy, &f.observations, f.now,
			STR("") };
		for (size_t i = 0; i < f.state->goals.n; i++) {
			const struct goal *g = f.state->goals.p[i];

			check_answer(explain_goal(&x, g));
			for (size_t k = 0; k < g->nodes.n; k++)
				check_answer(explain_node(&x, g->nodes.p[k]));
		}
		check_assignment(&x, &f.state->live, &seen);
		check_assignment(&x, &f.state->finished, &seen);
		list_each (it, &f.state->runs)
			check_answer(explain_run(&x, list_entry(it, struct run, link)));
		list_each (it, &f.state->retired_runs)
			check_answer(explain_run(&x, list_entry(it, struct run, link)));
		fixture_done(&f);
	}
	assert_true(seen > 100);
}

/* Stalled: since when, which backoff, what comes then. */
TEST(a_stall_is_answered)
{
	struct fixture f;
	struct explain x;
	struct node *n;
	value *v;

	fixture_init(&f);
	f.policy.idle_after = 15 * OV_MINUTE;
	create_goal(&f, flat_plan(&f, 2), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	n = node_of(&f, "T1");
	x = (struct explain){ &f.arena, f.state, &f.policy, &f.observations, f.now, STR("") };
	v = explain_node(&x, n);
	assert_true(str_is(value_str_at(v, "state"), "in_progress"));
	for (int i = 0; i < 4 && !n->stall.open; i++) {
		struct observation *o = observe(&f, n);

		f.now += 8 * OV_MINUTE;
		o->looked_at = f.now;
		settle(&f);
	}
	assert_true(n->stall.open);
	x.now = f.now;
	v = explain_node(&x, n);
	assert_true(str_is(value_str_at(v, "state"), "stalled"));
	assert_true(value_str_at(v, "next_rung").n > 0);
	assert_true(str_contains(value_str_at(explain_goal(&x, n->goal), "now"),
			STR("stalled: T1")));
	fixture_done(&f);
}

TEST_MAIN
