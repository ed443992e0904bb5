/* Runs become iterations, and what detectors find in them is answered. */
#include "tests/test.h"

#include <stdio.h>

#include "core/oversight/iteration.h"
#include "core/state/snapshot.h"
#include "tests/unit/core_fixture.h"

static void begin(struct fixture *f)
{
	fixture_init(f);
	f->policy.check_command = STR("make check");
	f->policy.retry_max_attempts = 100;
	create_goal(f, flat_plan(f, 1), NULL);
	settle(f);
}

/* One run of T1 whose work the check does not let pass. */
static void fail_check(struct fixture *f, const char *output)
{
	f->now += 3 * OV_MINUTE;
	bring_to(f, "T1", STAGE_CHECK);
	settle(f);
	effect_end(f, "T1", FX_CHECK, "failed", output, "");
}

static const struct iteration *newest(struct fixture *f, const char *node)
{
	const struct node *n = node_of(f, node);

	if (!n->iterations.n)
		fail_msg("%s has no iteration", node);
	return vec_last(&n->iterations);
}

/* A state from its snapshot, and one from the log, are the state. */
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
	check_invariants(f->state, &f->policy);
	state_free(read);
	state_free(folded);
}

TEST(a_failed_check_is_an_iteration_before_the_next_run_begins)
{
	struct fixture f;
	const struct iteration *it;

	begin(&f);
	fail_check(&f, "error: no such function parse()");
	/* the wait before the next attempt is over, but the review comes first */
	f.now += OV_MINUTE;
	assert_int_equal(tick(&f), 1);
	assert_int_equal(last_event(&f, EV_ITERATION_RECORDED)->seq, f.state->seq);
	it = newest(&f, "T1");
	assert_int_equal(it->number, 1);
	assert_true(it->failed);
	assert_true(str_is(it->failure_class, "check"));
	assert_true(str_contains(it->error, STR("no such function parse()")));
	assert_true(str_is(it->agent, "a") && str_is(it->tree, "t"));
	assert_true(it->sample.error != 0 && it->sample.tree != 0);
	assert_int_equal(node_of(&f, "T1")->watch.iterations_n, 1);
	assert_true(list_empty(&f.state->judged));
	settle(&f);
	assert_int_equal(count_events(&f, EV_ITERATION_RECORDED), 1);
	assert_int_equal(node_of(&f, "T1")->assignment->stage, STAGE_START);
	check_restart(&f);
	fixture_done(&f);
}

TEST(each_run_is_one_iteration_and_a_later_verdict_replaces_it)
{
	struct fixture f;

	begin(&f);
	f.policy.accept.pre = STR("make gate");
	for (int i = 0; i < 3; i++)
		fail_check(&f, "error: still red");
	f.now += 3 * OV_MINUTE;
	bring_to(&f, "T1", STAGE_GATE);
	settle(&f);
	assert_int_equal(newest(&f, "T1")->number, 4);
	assert_false(newest(&f, "T1")->failed);
	assert_int_equal(count_events(&f, EV_ITERATION_RECORDED), 4);
	effect_end(&f, "T1", FX_GATE, "failed", "the gate is shut", "");
	settle(&f);
	assert_int_equal(newest(&f, "T1")->number, 4);
	assert_true(newest(&f, "T1")->failed);
	assert_true(str_is(newest(&f, "T1")->failure_class, "gate"));
	assert_int_equal(count_events(&f, EV_ITERATION_RECORDED), 5);
	assert_int_equal(node_of(&f, "T1")->iterations.n, 4);
	check_restart(&f);
	fixture_done(&f);
}

TEST(what_is_not_the_works_fault_is_no_iteration)
{
	struct fixture f;

	begin(&f);
	bring_to(&f, "T1", STAGE_CHECK);
	settle(&f);
	effect_end(&f, "T1", FX_CHECK, "error", "sh: cannot fork", "");
	settle(&f);
	assert_int_equal(count_events(&f, EV_ITERATION_RECORDED), 0);
	fixture_done(&f);
}

TEST(the_newest_iterations_are_kept)
{
	struct fixture f;

	begin(&f);
	oversight_off(&f);
	f.policy.estimate[RES_ITERATIONS] = 1000;
	for (int i = 0; i < LIMIT_ITERATIONS + 5; i++)
		fail_check(&f, "error: red");
	settle(&f);
	assert_int_equal(node_of(&f, "T1")->iterations.n, LIMIT_ITERATIONS);
	assert_int_equal(newest(&f, "T1")->number, LIMIT_ITERATIONS + 5);
	check_restart(&f);
	fixture_done(&f);
}

/* ---- what is found is answered ---- */

static const struct detection *last_detection(struct fixture *f)
{
	const struct goal *g = f->state->goals.p[0];

	return g->detections.n ? vec_last(&g->detections) : NULL;
}

static str dispatched(struct fixture *f)
{
	return value_str_at(last_event(f, EV_DISPATCH_INTENDED)->data, "instruction");
}

TEST(three_equal_errors_redirect_the_next_instruction_and_five_pause_the_goal)
{
	struct fixture f;
	const struct node *n;
	const struct goal *g;

	begin(&f);
	n = node_of(&f, "T1");
	g = n->goal;
	for (int i = 0; i < 2; i++)
		fail_check(&f, "error: no such function parse()");
	settle(&f);
	assert_int_equal(g->detections.n, 0);
	assert_int_equal(g->health, HEALTH_HEALTHY);
	fail_check(&f, "error: no such function parse()");
	settle(&f);
	assert_int_equal(g->detections.n, 1);
	assert_int_equal(last_detection(&f)->type, DETECT_STUCK);
	assert_int_equal(last_detection(&f)->severity, SEVERITY_HIGH);
	assert_int_equal(last_detection(&f)->level, LEVEL_REDIRECT);
	assert_int_equal(g->health, HEALTH_WARNING);
	assert_true(n->watch.guidance.n > 0);
	check_restart(&f);
	/* The fourth run is told so before anything else. */
	f.now += 3 * OV_MINUTE;
	settle(&f);
	assert_true(str_starts(dispatched(&f), STR("From the overseer of this task")));
	assert_true(str_contains(dispatched(&f), n->watch.guidance));
	assert_true(str_contains(dispatched(&f), STR("Task T1")));
	/* The same once more is nothing new, but no better either. */
	fail_check(&f, "error: no such function parse()");
	settle(&f);
	assert_int_equal(g->detections.n, 1);
	assert_int_equal(g->health, HEALTH_WARNING);
	assert_int_equal(n->watch.guidance.n, 0);
	fail_check(&f, "error: no such function parse()");
	settle(&f);
	assert_int_equal(g->detections.n, 2);
	assert_int_equal(last_detection(&f)->severity, SEVERITY_CRITICAL);
	assert_int_equal(last_detection(&f)->level, LEVEL_PAUSE);
	assert_int_equal(g->status, GOAL_PAUSED);
	assert_int_equal(g->health, HEALTH_PAUSED);
	assert_true(g->freezes);
	assert_int_equal(f.state->escalations.n, 1);
	assert_true(str_is(f.state->escalations.p[0]->kind, "paused"));
	assert_int_equal(last_detection(&f)->escalation, f.state->escalations.p[0]->number);
	check_restart(&f);
	/* Nothing is begun, whatever time it is. */
	f.now += OV_DAY;
	settle(&f);
	assert_int_equal(g->status, GOAL_PAUSED);
	assert_true(n->assignment == NULL || n->assignment->stage == STAGE_NONE);
	fixture_done(&f);
}

static void resume(struct fixture *f, const char *verb)
{
	submit(f, verb,
			json(f, "{'goal': '" STR_FMT "', 'reason': 'I saw it'}",
					STR_ARG(f->state->goals.p[0]->id)));
	settle(f);
}

TEST(a_person_who_resumes_begins_another_round)
{
	struct fixture f;
	const struct goal *g;
	size_t before;

	begin(&f);
	g = f.state->goals.p[0];
	for (int i = 0; i < 5; i++)
		fail_check(&f, "error: the same");
	settle(&f);
	assert_int_equal(g->status, GOAL_PAUSED);
	before = g->detections.n;
	resume(&f, "goal.resume");
	assert_int_equal(g->status, GOAL_ACTIVE);
	assert_int_equal(g->health, HEALTH_HEALTHY);
	assert_false(g->freezes);
	assert_int_equal(f.state->escalations.p[0]->status, ESC_ANSWERED);
	assert_int_equal(node_of(&f, "T1")->watch.round, 1);
	/* What was seen before counts no more: two are nothing, three are. */
	for (int i = 0; i < 2; i++)
		fail_check(&f, "error: the same");
	settle(&f);
	assert_int_equal(g->detections.n, before);
	fail_check(&f, "error: the same");
	settle(&f);
	assert_int_equal(g->detections.n, before + 1);
	assert_int_equal(last_detection(&f)->round, 1);
	check_restart(&f);
	fixture_done(&f);
}

/* Its old iterations are gone, and so must what was answered of them be. */
TEST(a_task_that_is_opened_again_begins_another_round)
{
	struct fixture f;
	const struct goal *g;

	begin(&f);
	g = f.state->goals.p[0];
	for (int i = 0; i < 3; i++)
		fail_check(&f, "error: the same");
	settle(&f);
	assert_int_equal(g->detections.n, 1);
	submit(&f, "work.update", json(&f, "{'node':'T1','status':'done','reason':'it is'}"));
	submit(&f, "work.reopen", json(&f, "{'node':'T1','reason':'it is not'}"));
	assert_int_equal(node_of(&f, "T1")->watch.round, 1);
	for (int i = 0; i < 3; i++)
		fail_check(&f, "error: the same");
	settle(&f);
	assert_int_equal(g->detections.n, 2);
	assert_int_equal(last_detection(&f)->round, 1);
	check_restart(&f);
	fixture_done(&f);
}

/* Burns more than twice and a half of what was expected, with another error each time. */
static void burn(struct fixture *f, int64_t times)
{
	for (int64_t i = 0; i < times; i++) {
		char text[64];

		snprintf(text, sizeof(text), "error: %c%c is not there", (char)('a' + i % 26),
				(char)('k' + i / 2 % 11));
		fail_check(f, text);
	}
	settle(f);
}

TEST(an_abort_stops_the_runs_and_lasts_until_somebody_reopens_the_goal)
{
	struct fixture f;
	const struct goal *g;
	const struct node *other;

	fixture_init(&f);
	f.policy.check_command = STR("make check");
	f.policy.retry_max_attempts = 100;
	create_goal(&f, flat_plan(&f, 2), NULL);
	settle(&f);
	g = f.state->goals.p[0];
	other = node_of(&f, "T2");
	bring_to(&f, "T2", STAGE_RUNNING);
	burn(&f, 9);
	assert_int_equal(g->status, GOAL_ACTIVE);
	burn(&f, 1);
	assert_int_equal(last_detection(&f)->type, DETECT_BURN);
	assert_int_equal(last_detection(&f)->level, LEVEL_ABORT);
	assert_int_equal(g->status, GOAL_PAUSED);
	assert_int_equal(g->health, HEALTH_ABORTED);
	assert_int_equal(other->status, NODE_QUEUED);
	assert_int_equal(f.state->escalations.n, 1);
	assert_true(str_is(f.state->escalations.p[0]->kind, "aborted"));
	check_restart(&f);
	/* What the other run did is kept. */
	effect_end(&f, "T2", FX_RUN_STOP, "ok", "", "");
	run_end(&f, "T2", 143);
	settle(&f);
	effect_end(&f, "T2", FX_HARVEST, "ok", "",
			"'head': 'kept', 'tree': 't', 'commits': 1, 'files_changed': 1");
	settle(&f);
	assert_true(str_is(other->next.handover, "kept"));
	assert_int_equal(g->health, HEALTH_ABORTED);
	refused(&f, "goal.resume", json(&f, "{'goal': '" STR_FMT "'}", STR_ARG(g->id)), OV_ESTATE);
	resume(&f, "goal.reopen");
	assert_int_equal(g->status, GOAL_ACTIVE);
	assert_int_equal(g->health, HEALTH_HEALTHY);
	assert_int_equal(f.state->escalations.p[0]->status, ESC_ANSWERED);
	assert_true(other->assignment && other->assignment->stage != STAGE_NONE);
	check_restart(&f);
	fixture_done(&f);
}

TEST(a_node_can_be_paused_alone)
{
	struct fixture f;
	const struct node *n, *other;

	fixture_init(&f);
	f.policy.check_command = STR("make check");
	f.policy.retry_max_attempts = 100;
	f.policy.oversight.pause = PAUSE_NODE;
	create_goal(&f, flat_plan(&f, 2), NULL);
	settle(&f);
	n = node_of(&f, "T1");
	other = node_of(&f, "T2");
	bring_to(&f, "T2", STAGE_RUNNING);
	for (int i = 0; i < 5; i++)
		fail_check(&f, "error: the same");
	settle(&f);
	assert_int_equal(n->status, NODE_BLOCKED);
	assert_int_equal(n->block.kind, BLOCK_PAUSED);
	assert_int_equal(n->goal->status, GOAL_ACTIVE);
	assert_int_equal(other->status, NODE_IN_PROGRESS);
	assert_true(str_is(f.state->escalations.p[0]->kind, "paused"));
	assert_true(str_is(f.state->escalations.p[0]->node_id, "T1"));
	check_restart(&f);
	submit(&f, "work.update",
			json(&f, "{'node': 'T1', 'status': 'queued', 'reason': 'go on'}"));
	settle(&f);
	assert_int_equal(n->watch.round, 1);
	assert_int_equal(other->watch.round, 0);
	assert_int_equal(f.state->escalations.p[0]->status, ESC_ANSWERED);
	assert_int_equal(n->goal->health, HEALTH_HEALTHY);
	fixture_done(&f);
}

/* What was found of a task that was split is over with the last of its parts. */
TEST(a_split_task_that_is_done_worries_nobody)
{
	struct fixture f;
	const struct node *n;

	fixture_init(&f);
	f.policy.check_command = STR("make check");
	f.policy.retry_max_attempts = 100;
	create_goal(&f, flat_plan(&f, 2), NULL);
	settle(&f);
	n = node_of(&f, "T1");
	for (int i = 0; i < 3; i++)
		fail_check(&f, "error: the same");
	settle(&f);
	assert_int_equal(n->goal->health, HEALTH_WARNING);
	split_t1(&f, 2);
	assert_int_equal(n->goal->health, HEALTH_WARNING);
	bring_to(&f, "S1", STAGE_ACCEPT);
	accept_node(&f, "S1");
	settle(&f);
	assert_int_equal(n->status, NODE_DONE);
	assert_int_equal(n->goal->status, GOAL_ACTIVE);
	assert_int_equal(n->goal->health, HEALTH_HEALTHY);
	check_restart(&f);
	fixture_done(&f);
}

/* Each level does what it does, for the same finding; the table is the configuration's. */
TEST(every_level)
{
	static const struct {
		enum level level;
		enum goal_status status;
		enum goal_health health;
		bool guidance;
		size_t asked, detections;
	} rows[] = {
		{ LEVEL_NONE, GOAL_ACTIVE, HEALTH_HEALTHY, false, 0, 0 },
		{ LEVEL_LOG, GOAL_ACTIVE, HEALTH_WARNING, false, 0, 1 },
		{ LEVEL_WARN, GOAL_ACTIVE, HEALTH_WARNING, true, 0, 1 },
		{ LEVEL_REDIRECT, GOAL_ACTIVE, HEALTH_WARNING, true, 0, 1 },
		{ LEVEL_PAUSE, GOAL_PAUSED, HEALTH_PAUSED, false, 1, 1 },
		{ LEVEL_ABORT, GOAL_PAUSED, HEALTH_ABORTED, false, 1, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture f;
		const struct goal *g;

		begin(&f);
		f.policy.oversight.levels[DETECT_STUCK][SEVERITY_HIGH] = rows[i].level;
		g = f.state->goals.p[0];
		for (int k = 0; k < 3; k++)
			fail_check(&f, "error: the same");
		settle(&f);
		assert_int_equal(g->status, rows[i].status);
		assert_int_equal(g->health, rows[i].health);
		assert_int_equal(node_of(&f, "T1")->watch.guidance.n > 0, rows[i].guidance);
		assert_int_equal(f.state->escalations.n, rows[i].asked);
		assert_int_equal(g->detections.n, rows[i].detections);
		assert_int_equal(count_events(&f, EV_INTERVENTION_APPLIED), rows[i].detections);
		if (rows[i].detections)
			assert_true(last_detection(&f)->did.n > 0);
		check_restart(&f);
		fixture_done(&f);
	}
}

TEST(work_that_is_good_at_last_is_not_stopped)
{
	struct fixture f;
	const struct goal *g;

	begin(&f);
	g = f.state->goals.p[0];
	burn(&f, 9);
	f.now += 3 * OV_MINUTE;
	bring_to(&f, "T1", STAGE_ACCEPT);
	assert_int_equal(g->status, GOAL_ACTIVE);
	assert_int_equal(node_of(&f, "T1")->watch.iterations_n, 10);
	accept_node(&f, "T1");
	assert_int_equal(g->status, GOAL_COMPLETED);
	check_restart(&f);
	fixture_done(&f);
}

TEST(money_is_the_goals_and_is_counted_anew_after_a_persons_word)
{
	struct fixture f;
	const struct goal *g;

	begin(&f);
	g = f.state->goals.p[0];
	f.policy.estimate[RES_COST_MICROUSD] = 1000000;
	f.policy.budget[RES_COST_MICROUSD] = -1;
	bring_to(&f, "T1", STAGE_RUNNING);
	submit(&f, "run.end",
			json(&f, "{'run': '" STR_FMT "', 'exit_code': 0, 'cost_microusd': 2600000}",
					STR_ARG(node_of(&f, "T1")->assignment->run_id)));
	fail_check(&f, "error: too dear");
	settle(&f);
	assert_int_equal(last_detection(&f)->type, DETECT_BURN);
	assert_int_equal(last_detection(&f)->node_id.n, 0);
	assert_int_equal(g->health, HEALTH_ABORTED);
	resume(&f, "goal.reopen");
	fail_check(&f, "error: still dear");
	settle(&f);
	assert_int_equal(g->status, GOAL_ACTIVE);
	assert_int_equal(g->detections.n, 1);
	check_restart(&f);
	fixture_done(&f);
}

static void freeze(struct fixture *f, const char *node, bool frozen)
{
	submit(f, "run.frozen",
			json(f, "{'run': '" STR_FMT "', 'frozen': %s}",
					STR_ARG(node_of(f, node)->assignment->run_id),
					frozen ? "true" : "false"));
	settle(f);
}

TEST(a_run_that_is_held_is_neither_silent_nor_late_and_uses_no_time)
{
	struct fixture f;
	const struct assignment *as;

	begin(&f);
	bring_to(&f, "T1", STAGE_RUNNING);
	as = node_of(&f, "T1")->assignment;
	observe(&f, as->node)->output_at = f.now;
	f.now += OV_MINUTE;
	freeze(&f, "T1", true);
	assert_true(as->run->frozen);
	check_restart(&f);
	f.now += 30 * OV_DAY;
	observe(&f, as->node)->looked_at = f.now;
	settle(&f);
	assert_int_equal(as->status, AS_ACTIVE);
	assert_int_equal(f.state->escalations.n, 0);
	assert_int_equal(as->node->goal->budget_level, BUDGET_FINE);
	/* Its time goes on when it does. */
	freeze(&f, "T1", false);
	settle(&f);
	assert_int_equal(as->status, AS_ACTIVE);
	assert_int_equal(f.state->escalations.n, 0);
	f.now += OV_MINUTE;
	run_end(&f, "T1", 0);
	assert_int_equal(as->node->goal->spent[RES_WALL_MS], 2 * OV_MINUTE);
	check_restart(&f);
	fixture_done(&f);
}

TEST(after_it_was_held_a_run_can_be_silent_again)
{
	struct fixture f;
	const struct assignment *as;

	begin(&f);
	bring_to(&f, "T1", STAGE_RUNNING);
	as = node_of(&f, "T1")->assignment;
	observe(&f, as->node)->output_at = f.now;
	freeze(&f, "T1", true);
	f.now += OV_DAY;
	freeze(&f, "T1", false);
	f.now += f.policy.idle_after + OV_MINUTE;
	observe(&f, as->node)->looked_at = f.now;
	settle(&f);
	assert_int_equal(as->status, AS_STALLED);
	fixture_done(&f);
}

TEST(a_path_is_in_scope_by_whole_names)
{
	static const struct {
		const char *scope, *file;
		bool in;
	} rows[] = {
		{ "src", "src/a.c", true },
		{ "src/", "src/a.c", true },
		{ "./src", "src/a.c", true },
		{ "src", "src2/a.c", false },
		{ "src/a.c", "src/a.c", true },
		{ "src/a.c", "src/a.cc", false },
		{ ".", "README", true },
		{ "docs", "src/docs/x", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		str path = str_from(rows[i].scope);
		struct strs scope = { &path, 1 };

		assert_int_equal(path_in_scope(&scope, str_from(rows[i].file)), rows[i].in);
	}
}

TEST_MAIN
