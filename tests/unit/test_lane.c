/*
 * Agents that are given no work for a while: how long, how that is known, and what waits for them.
 */
#include "tests/test.h"

#include "core/capacity/lane.h"
#include "core/explain/explain_state.h"
#include "core/model/limits.h"
#include "core/state/snapshot.h"
#include "core/text/last_lines.h"
#include "core/view/view.h"
#include "tests/unit/core_fixture.h"

static void begin(struct fixture *f, size_t tasks)
{
	fixture_init(f);
	f->policy.check_command = STR("make check");
	f->policy.retry_max_attempts = 100;
	create_goal(f, flat_plan(f, tasks), NULL);
	settle(f);
}

/* Its run ends so, and what follows from that is decided. */
static void ends(struct fixture *f, const char *node, const char *members)
{
	submit(f, "run.end",
			json(f, "{'run': '" STR_FMT "', 'signal': 0, %s}",
					STR_ARG(node_of(f, node)->assignment->run_id), members));
	settle(f);
	effect_end(f, node, FX_HARVEST, "ok", "", "'head': 'h', 'files_changed': 0");
	settle(f);
}

static void fail_check(struct fixture *f, const char *output)
{
	f->now += 3 * OV_SECOND;
	bring_to(f, "T1", STAGE_CHECK);
	settle(f);
	effect_end(f, "T1", FX_CHECK, "failed", output, "");
	f->now += 3 * OV_MINUTE;
	settle(f);
}

static void check_restart(struct fixture *f)
{
	str shot = snapshot_of(f, f->state);
	struct state *read = NULL, *folded = state_new(7);
	struct ov_err err = { 0 };

	if (snapshot_read(shot, 3, &read, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(str_eq(shot, snapshot_of(f, read)));
	for (size_t i = 0; i < f->log.n; i++)
		if (apply(folded, f->log.p[i], &err) < 0)
			fail_msg("%s", err.msg);
	assert_true(str_eq(shot, snapshot_of(f, folded)));
	state_free(read);
	state_free(folded);
}

static value *lane_view(struct fixture *f)
{
	struct world w = { f->state, &f->policy };

	return view_lane(&f->arena, &w, state_lane(f->state, STR("a")), f->now);
}

TEST(every_reason_has_its_words)
{
	for (int i = 0; i < BLOCK_KIND_COUNT; i++) {
		const struct lane_rule *r = &lane_rules[i];

		assert_int_equal(block_is_lane((enum block_kind)i), r->state != NULL);
		assert_true(!r->state == !r->ends);
		assert_true(!r->person || r->ask);
	}
	assert_true(block_is_lane(BLOCK_RATE_LIMITED) && block_is_lane(BLOCK_LOGIN));
	assert_false(block_is_lane(BLOCK_PAUSED) || block_is_lane(BLOCK_NONE));
}

/* Runs that were under way together are limited once, and what one of them knows holds for all. */
TEST(one_limit_for_all_that_were_under_way)
{
	struct fixture f;
	const struct lane *l;
	ov_time until;

	begin(&f, 2);
	bring_to(&f, "T1", STAGE_RUNNING);
	bring_to(&f, "T2", STAGE_RUNNING);
	f.now += OV_MINUTE;
	until = f.now + OV_HOUR;
	ends(&f, "T1",
			arena_printf(&f.arena, "'exit_code': 75, 'resets_at_ms': %lld",
					(long long)until)
					.p);
	l = state_lane(f.state, STR("a"));
	assert_int_equal(l->times, 1);
	assert_int_equal(l->resets_at, until);
	assert_false(l->guessed);
	f.now += OV_SECOND;
	ends(&f, "T2", "'exit_code': 75");
	assert_int_equal(l->times, 1);
	assert_int_equal(l->resets_at, until);
	assert_false(l->guessed);
	assert_int_equal(node_of(&f, "T2")->block.until, until);
	assert_int_equal(value_int_at(lane_view(&f), "waiting"), 2);
	check_restart(&f);
	/* At that moment both start by themselves, and nobody looks before it. */
	settle(&f);
	assert_int_equal(f.wake_at, until);
	f.now = until;
	settle(&f);
	bring_to(&f, "T1", STAGE_RUNNING);
	bring_to(&f, "T2", STAGE_RUNNING);
	fixture_done(&f);
}

TEST(tried_again_later_each_time)
{
	struct fixture f;
	const struct lane *l;

	begin(&f, 1);
	bring_to(&f, "T1", STAGE_RUNNING);
	ends(&f, "T1", "'exit_code': 75, 'last_lines': 'one\\ntwo'");
	l = state_lane(f.state, STR("a"));
	assert_true(l->guessed);
	assert_int_equal(l->resets_at, f.now + 2 * OV_MINUTE);
	assert_int_equal(l->known_by, SIGN_EXIT);
	assert_true(str_is(l->words, "two"));
	assert_true(value_at(lane_view(&f), "until")->kind == V_NULL);
	assert_true(value_str_at(lane_view(&f), "tried_again_at").n > 0);
	assert_true(str_ends(lane_how(&f.arena, l), STR("): \"two\"")));
	f.now = l->resets_at;
	assert_false(value_bool_at(lane_view(&f), "waits"));
	settle(&f);
	bring_to(&f, "T1", STAGE_RUNNING);
	f.now += OV_SECOND;
	ends(&f, "T1", "'exit_code': 75");
	assert_int_equal(l->times, 2);
	assert_int_equal(l->resets_at, f.now + 4 * OV_MINUTE);
	check_restart(&f);
	fixture_done(&f);
}

static bool runs(struct fixture *f, const char *node)
{
	const struct assignment *as = node_of(f, node)->assignment;

	return as && (as->stage == STAGE_RUNNING || as->effect) && as->stage != STAGE_WAITING;
}

static void limit_again(struct fixture *f)
{
	bring_to(f, "T1", STAGE_RUNNING);
	f->now += OV_SECOND;
	ends(f, "T1", "'exit_code': 75");
}

/* When the limit is over, nobody has to find that out: who said it keeps its place. */
TEST(who_says_it_again_continues_when_it_is_over)
{
	static const struct {
		int64_t workers, concurrency;
		bool runs[3]; /* T1, T2, T3, after the second wait */
	} cases[] = {
		{ 1, 256, { true, false, false } },
		{ 4, 1, { true, false, false } },
		{ 2, 256, { true, true, false } },
		{ 4, 256, { true, true, true } },
	};
	static const char *const names[] = { "T1", "T2", "T3" };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct policy_agent agents[2];
		struct fixture f;

		fixture_init(&f);
		memcpy(agents, f.policy.agents, sizeof(agents));
		agents[0].concurrency = 1;
		f.policy.agents = agents;
		f.policy.workers_max = cases[i].workers;
		create_goal(&f, flat_plan(&f, 3), NULL);
		settle(&f);
		limit_again(&f);
		assert_false(runs(&f, "T2"));
		f.now = state_lane(f.state, STR("a"))->resets_at;
		settle(&f);
		assert_true(runs(&f, "T1") && !runs(&f, "T2"));
		limit_again(&f);
		agents[0].concurrency = cases[i].concurrency;
		f.now = state_lane(f.state, STR("a"))->resets_at;
		settle(&f);
		for (size_t k = 0; k < ARRAY_LEN(names); k++)
			if (runs(&f, names[k]) != cases[i].runs[k])
				fail_msg("case %zu: %s", i, names[k]);
		check_restart(&f);
		fixture_done(&f);
	}
}

/* An agent can say anything: it does not wait for years. */
TEST(a_reset_in_the_far_future_is_not_believed)
{
	struct fixture f;
	const struct lane *l;

	begin(&f, 1);
	bring_to(&f, "T1", STAGE_RUNNING);
	ends(&f, "T1",
			arena_printf(&f.arena, "'exit_code': 75, 'resets_at_ms': %lld",
					(long long)(f.now + 365 * OV_DAY))
					.p);
	l = state_lane(f.state, STR("a"));
	assert_true(l->guessed);
	assert_int_equal(l->resets_at, f.now + 2 * OV_MINUTE);
	fixture_done(&f);
}

/* A run that began before a person logged the agent in says nothing about how it is now. */
TEST(what_began_before_the_login_asks_nobody_again)
{
	struct fixture f;

	begin(&f, 2);
	bring_to(&f, "T1", STAGE_RUNNING);
	bring_to(&f, "T2", STAGE_RUNNING);
	f.now += OV_MINUTE;
	ends(&f, "T1", "'exit_code': 77");
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	f.now += OV_MINUTE;
	submit(&f, "inbox.answer", json(&f, "{'number': 1, 'answer': 'done'}"));
	settle(&f);
	assert_null(state_lane(f.state, STR("a")));
	f.now += OV_MINUTE;
	ends(&f, "T2", "'exit_code': 77");
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	assert_null(state_lane(f.state, STR("a")));
	bring_to(&f, "T2", STAGE_RUNNING);
	check_restart(&f);
	/* One that began after it does. */
	f.now += OV_MINUTE;
	ends(&f, "T2", "'exit_code': 77");
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 2);
	assert_non_null(state_lane(f.state, STR("a")));
	fixture_done(&f);
}

/*
 * What one run says of its agent is its word; one that was under way and ends well since is proof.
 */
TEST(a_run_that_ends_well_disproves_a_login)
{
	static const struct {
		ov_time ends_after; /* the claim; below 0: before it */
		const char *members;
		bool lifted;
	} cases[] = {
		{ OV_MINUTE, "'exit_code': 0", true },
		{ OV_MINUTE, "'exit_code': 1", false },
		{ -OV_MINUTE, "'exit_code': 0", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		ov_time claimed;
		struct fixture f;
		const struct escalation *x;

		begin(&f, 3);
		bring_to(&f, "T1", STAGE_RUNNING);
		bring_to(&f, "T2", STAGE_RUNNING);
		claimed = f.now + 10 * OV_MINUTE;
		f.now = claimed + MIN(cases[i].ends_after, (ov_time)0);
		if (cases[i].ends_after < 0)
			submit(&f, "run.end",
					json(&f, "{'run': '" STR_FMT "', 'signal': 0, %s}",
							STR_ARG(node_of(&f, "T2")->assignment
											->run_id),
							cases[i].members));
		f.now = claimed;
		ends(&f, "T1", "'exit_code': 77, 'last_lines': 'expected please log in'");
		x = f.state->escalations.p[0];
		assert_true(str_starts(x->question, STR("agent a may be logged out: run R_")));
		assert_true(str_contains(x->question,
				STR(" of task T1 said so by its exit status 77: \"expected please "
				    "log "
				    "in\". ")));
		f.now += OV_MINUTE;
		if (cases[i].ends_after > 0)
			submit(&f, "run.end",
					json(&f, "{'run': '" STR_FMT "', 'signal': 0, %s}",
							STR_ARG(node_of(&f, "T2")->assignment
											->run_id),
							cases[i].members));
		settle(&f);
		effect_end(&f, "T2", FX_HARVEST, "ok", "", "'head': 'h', 'files_changed': 1");
		settle(&f);
		assert_int_equal(state_lane(f.state, STR("a")) == NULL, cases[i].lifted);
		assert_int_equal(x->status, cases[i].lifted ? ESC_DISMISSED : ESC_OPEN);
		assert_int_equal(node_of(&f, "T1")->status == NODE_BLOCKED, !cases[i].lifted);
		check_restart(&f);
		fixture_done(&f);
	}
}

TEST(how_it_is_known)
{
	static const struct {
		const char *members, *how;
	} cases[] = {
		{ "'exit_code': 75", "its exit status 75 (run " },
		{ "'exit_code': 1, 'verdict': 'failed', 'trouble': 'rate_limited', 'known_by': "
		  "'hook', 'last_lines': 'over'",
				"its hook (run " },
		{ "'exit_code': 1, 'verdict': 'failed', 'trouble': 'login', 'known_by': 'errors'",
				"its error output (run " },
		{ "'exit_code': 1, 'verdict': 'failed', 'trouble': 'overloaded'",
				"its output (run " },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;

		begin(&f, 1);
		bring_to(&f, "T1", STAGE_RUNNING);
		ends(&f, "T1", cases[i].members);
		assert_true(str_starts(lane_how(&f.arena, state_lane(f.state, STR("a"))),
				str_from(cases[i].how)));
		check_restart(&f);
		fixture_done(&f);
	}
}

/*
 * What only waits for its agent can continue without the stuck one; what waits for a person cannot.
 */
TEST(a_stuck_task_beside_tasks_that_wait_for_their_agent)
{
	static const struct {
		int exit_code;
		bool alone; /* only the task is paused */
	} cases[] = { { 75, true }, { 77, true }, { 0, false } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		const struct node *n;

		begin(&f, 2);
		f.policy.oversight.pause = PAUSE_AUTO;
		n = node_of(&f, "T1");
		bring_to(&f, "T2", STAGE_RUNNING);
		if (cases[i].exit_code) {
			ends(&f, "T2",
					arena_printf(&f.arena,
							"'exit_code': %d, 'resets_at_ms': %lld",
							cases[i].exit_code,
							(long long)(f.now + OV_DAY))
							.p);
			/* T1 is done by somebody else meanwhile. */
			submit(&f, "work.reassign",
					json(&f, "{'node': 'T1', 'agent': 'b', 'reason': 'x'}"));
			settle(&f);
		} else {
			submit(&f, "work.update",
					json(&f,
							"{'node': 'T2', 'status': 'blocked', "
							"'reason': "
							"'x'}"));
		}
		for (int k = 0; k < 5; k++)
			fail_check(&f, "error: no such function parse()");
		assert_int_equal(n->goal->status, cases[i].alone ? GOAL_ACTIVE : GOAL_PAUSED);
		if (cases[i].alone)
			assert_int_equal(n->block.kind, BLOCK_PAUSED);
		check_restart(&f);
		fixture_done(&f);
	}
}

TEST(lines_are_clean_and_bounded)
{
	static const struct {
		const char *text, *lines;
	} cases[] = {
		{ "", "" },
		{ "one\n", "one" },
		{ "one\n\n  two  \n\n", "one\ntwo" },
		{ "\033[31mred\033[0m \a\033]0;title\adone", "red done" },
		{ "10%\r50%\r100%\r\nnext\r\n", "100%\nnext" },
		{ "1\n2\n3\n4\n5\n6\n7\n8\n9\n10", "3\n4\n5\n6\n7\n8\n9\n10" },
		{ "bad \xff byte", "bad \xef\xbf\xbd byte" },
		/* U+202E turns the rest of a line round; U+009B begins an order as ESC [ does */
		{ "ok \xe2\x80\xae"
		  "dessap\xe2\x81\xa9 \xc2\x9b"
		  "31m \xd7\xa9",
				"ok dessap 31m \xd7\xa9" },
	};
	struct arena a = ARENA_INIT;
	char many[8192];
	str lines;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		lines = last_lines(&a, str_from(cases[i].text));
		assert_true(str_is(lines, cases[i].lines));
		assert_true(str_eq(last_lines(&a, lines), lines));
	}
	memset(many, 'x', sizeof(many));
	for (size_t i = 500; i < sizeof(many); i += 500)
		many[i] = '\n';
	lines = last_lines(&a, (str){ many, sizeof(many) });
	assert_true(lines.n <= LIMIT_LAST_LINES && lines.n > LAST_LINE_BYTES);
	assert_true(str_contains(lines, STR("...\n")));
	assert_true(str_is(last_line(STR("a\nb")), "b"));
	assert_true(str_is(last_line(STR("")), ""));
	arena_done(&a);
}

/* Only a run that failed has them; they are kept with it, without secrets. */
TEST(last_lines_of_a_run)
{
	struct fixture f;
	const struct run *r;

	begin(&f, 1);
	bring_to(&f, "T1", STAGE_RUNNING);
	r = node_of(&f, "T1")->assignment->run;
	ends(&f, "T1",
			"'exit_code': 1, 'last_lines': 'a\\n\\u001b[1mtoken "
			"ghp_abcdef1234567890XYZW16chars0Zq8Wm3Pt'");
	assert_true(str_starts(r->last_lines, STR("a\ntoken [redacted")));
	assert_true(str_eq(node_last_lines(f.state, node_of(&f, "T1")), r->last_lines));
	check_restart(&f);
	f.now += OV_HOUR;
	settle(&f);
	bring_to(&f, "T1", STAGE_RUNNING);
	r = node_of(&f, "T1")->assignment->run;
	submit(&f, "run.end",
			json(&f,
					"{'run': '" STR_FMT "', 'exit_code': 0, 'signal': 0, "
					"'last_lines': 'fine'}",
					STR_ARG(r->id)));
	assert_int_equal(r->last_lines.n, 0);
	fixture_done(&f);
}

static const value *conclusion(struct fixture *f, value *v)
{
	const value *c = value_at(v, "conclusion");

	(void)f;
	assert_true(value_str_at(c, "state").n && value_str_at(c, "why").n &&
			value_str_at(c, "next").n);
	return c;
}

/* Whatever it is about: a state, a reason, and something that comes next. */
TEST(conclusions)
{
	struct fixture f;
	struct explain x;
	const value *c;

	begin(&f, 3);
	x = (struct explain){ &f.arena, f.state, &f.policy, &f.observations, f.now, STR("") };
	bring_to(&f, "T1", STAGE_RUNNING);
	c = conclusion(&f, explain_node(&x, node_of(&f, "T1")));
	assert_true(str_starts(value_str_at(c, "next"),
			STR("its work is checked when the run ends")));
	ends(&f, "T1", "'exit_code': 75, 'last_lines': 'over quota'");
	x.now = f.now;
	c = conclusion(&f, explain_node(&x, node_of(&f, "T1")));
	assert_true(str_ends(value_str_at(c, "why"), STR("the agent wrote last: over quota")));
	assert_true(str_starts(value_str_at(c, "why"),
			STR("agent a is rate limited, until unknown, tried again at ")));
	assert_true(str_starts(value_str_at(c, "next"), STR("it continues by itself at ")));
	assert_true(str_ends(value_str_at(c, "next"), STR(", in 2m")));
	/* Not said to wait for a worker when it is the agent that it waits for. */
	c = conclusion(&f, explain_node(&x, node_of(&f, "T3")));
	assert_true(str_starts(value_str_at(c, "why"),
			STR("ready; agent a is rate limited, until unknown, tried again at ")));
	c = conclusion(&f, explain_agent(&x, policy_agent(&f.policy, STR("a"))));
	assert_true(str_is(value_str_at(c, "state"), "rate limited"));
	assert_true(str_contains(value_str_at(c, "next"), STR("it is tried again at ")));
	assert_true(str_contains(value_str_at(c, "next"), STR(", in 2m, and work")));
	c = conclusion(&f, explain_agent(&x, policy_agent(&f.policy, STR("b"))));
	assert_true(str_is(value_str_at(c, "state"), "ready"));
	conclusion(&f, explain_goal(&x, node_of(&f, "T1")->goal));
	conclusion(&f, explain_worker(&x, state_worker(f.state, STR("pool-1"))));
	fixture_done(&f);
}

TEST_MAIN
