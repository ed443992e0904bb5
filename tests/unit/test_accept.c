/* From good work to the target branch: every step, every outcome, and whose turn it is. */
#include "tests/test.h"

#include "base/vec.h"
#include "core/capacity/accept_queue.h"
#include "core/explain/explain.h"
#include "core/inbox/inbox.h"
#include "core/prompt/prompt.h"
#include "core/tick/reconcile.h"
#include "core/view/view.h"
#include "tests/unit/core_fixture.h"

TEST_MAIN

#define HARVESTED "'head': 'h1', 'tree': 't', 'commits': 1, 'files_changed': 2"
#define REBASED "'commit': 'c0ffee', 'base': 'b2', 'rescue_ref': 'r'"
#define ACCEPTED "'commit': 'c0ffee', 'target': 'main'"

static void begin(struct fixture *f, size_t tasks)
{
	fixture_init(f);
	f->policy.workers_max = 4;
	create_goal(f, flat_plan(f, tasks), NULL);
	settle(f);
}

static const struct assignment *as_of(struct fixture *f, const char *node)
{
	return node_of(f, node)->assignment;
}

static enum worker_status worker_status(struct fixture *f, const char *name)
{
	return state_worker(f->state, str_from(name))->status;
}

static const struct escalation *open_question(struct fixture *f, const char *kind)
{
	for (size_t i = f->state->escalations.n; i-- > 0;) {
		const struct escalation *x = f->state->escalations.p[i];

		if (x->status == ESC_OPEN && str_is(x->kind, kind))
			return x;
	}
	return NULL;
}

static void answer(struct fixture *f, const char *kind, const char *text)
{
	const struct escalation *x = open_question(f, kind);

	assert_non_null(x);
	submit(f, "inbox.answer",
			json(f, "{'number': %lld, 'answer': '%s'}", (long long)x->number, text));
	settle(f);
}

/* The state is what its log folds to, and decides the same. */
static void folds(struct fixture *f)
{
	struct state *s = state_new(1);
	struct world a = { f->state, &f->policy }, b = { s, &f->policy };
	struct decisions x, y;

	for (size_t i = 0; i < f->log.n; i++)
		assert_int_equal(apply(s, f->log.p[i], NULL), 0);
	assert_true(str_eq(snapshot_of(f, s), snapshot_of(f, f->state)));
	x = reconcile(&f->arena, &a, &f->telemetry, f->now);
	y = reconcile(&f->arena, &b, &f->telemetry, f->now);
	assert_int_equal(x.n, y.n);
	assert_int_equal(x.wake_at, y.wake_at);
	state_free(s);
}

/* ---- order ---- */

static int order(struct fixture *f, ov_time a_good, int64_t a_priority, ov_time b_good,
		int64_t b_priority)
{
	struct goal g = { .priority = 3 };
	struct node m = { .goal = &g, .def.priority = a_priority },
		    n = { .goal = &g, .def.priority = b_priority };
	struct assignment a = { .id = STR("A_1"), .node = &m, .good_at = a_good },
			  b = { .id = STR("A_2"), .node = &n, .good_at = b_good };

	assert_int_equal(accept_order(&f->policy, &a, &b), -accept_order(&f->policy, &b, &a));
	return accept_order(&f->policy, &a, &b);
}

TEST(order_is_priority_with_ageing_then_age_then_id)
{
	struct fixture f;
	ov_time at = 1800000000000, step;

	fixture_init(&f);
	step = f.policy.ageing;
	assert_int_equal(order(&f, at, 3, at, 3), -1);
	assert_int_equal(order(&f, at + 1, 3, at, 3), 1);
	assert_int_equal(order(&f, at + 1, 2, at, 3), -1);
	/* One step of ageing makes up for one of priority, and the older one goes first then. */
	assert_int_equal(order(&f, at + step - 1, 2, at, 3), -1);
	assert_int_equal(order(&f, at + step, 2, at, 3), 1);
	assert_int_equal(order(&f, at + 4 * step - 1, 1, at, 5), -1);
	assert_int_equal(order(&f, at + 4 * step, 1, at, 5), 1);
	/* The goal's own priority where the node has none. */
	assert_int_equal(order(&f, at, 0, at + 1, 3), -1);
	fixture_done(&f);
}

/*
 * Nobody starves: one in the background that has waited long enough is before those that
 * are urgent.
 */
TEST(who_has_waited_long_goes_first)
{
	struct fixture f;
	value *plan;

	fixture_init(&f);
	f.policy.workers_max = 3;
	plan = json(&f,
			"{'phases': [{'id': 'P1', 'name': 'n', 'tasks': ["
			"{'id': 'T1', 'name': 'n', 'acceptance': ['x'], 'priority': 5},"
			"{'id': 'T2', 'name': 'n', 'acceptance': ['x'], 'priority': 1},"
			"{'id': 'T3', 'name': 'n', 'acceptance': ['x'], 'priority': 1}]}]}");
	create_goal(&f, plan, NULL);
	bring_to(&f, "T1", STAGE_HARVEST);
	bring_to(&f, "T2", STAGE_HARVEST);
	bring_to(&f, "T3", STAGE_ACCEPT);
	effect_end(&f, "T1", FX_HARVEST, "ok", "", HARVESTED);
	f.now += 4 * f.policy.ageing + 1;
	effect_end(&f, "T2", FX_HARVEST, "ok", "", HARVESTED);
	settle(&f);
	assert_null(effect_of(&f, "T1"));
	accept_node(&f, "T3");
	assert_int_equal(effect_of(&f, "T1")->kind, FX_REBASE);
	assert_null(effect_of(&f, "T2"));
	drain(&f);
	fixture_done(&f);
}

/* ---- the steps ---- */

TEST(every_step_once_and_the_worker_is_what_it_does)
{
	struct fixture f;
	const struct node *n;

	begin(&f, 1);
	f.policy.accept = (struct accept_commands){ .pre = STR("pre"), .post = STR("post") };
	n = node_of(&f, "T1");
	bring_to(&f, "T1", STAGE_HARVEST);
	assert_int_equal(worker_status(&f, "pool-1"), WORKER_WORKING);
	effect_end(&f, "T1", FX_HARVEST, "ok", "", HARVESTED);
	assert_int_equal(worker_status(&f, "pool-1"), WORKER_NEEDS_REVIEW);
	assert_int_equal(n->assignment->good_at, f.now);
	folds(&f);
	settle(&f);
	assert_int_equal(worker_status(&f, "pool-1"), WORKER_REBASING);
	folds(&f);
	effect_end(&f, "T1", FX_REBASE, "ok", "", REBASED);
	assert_true(str_is(n->assignment->candidate, "c0ffee"));
	assert_true(str_is(n->assignment->base, "b2"));
	folds(&f);
	bring_to(&f, "T1", STAGE_GATE);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_GATE);
	folds(&f);
	bring_to(&f, "T1", STAGE_ACCEPT);
	folds(&f);
	effect_end(&f, "T1", FX_ACCEPT, "ok", "", ACCEPTED);
	/* Others wait for it until the command that comes after has passed. */
	assert_int_equal(n->status, NODE_IN_PROGRESS);
	assert_true(str_is(n->work.commit, "c0ffee"));
	folds(&f);
	settle(&f);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_POST);
	folds(&f);
	effect_end(&f, "T1", FX_POST, "ok", "", "");
	assert_int_equal(n->status, NODE_DONE);
	assert_int_equal(worker_status(&f, "pool-1"), WORKER_IDLE);
	assert_int_equal(count_events(&f, EV_NODE_ACCEPTED), 1);
	folds(&f);
	fixture_done(&f);
}

/* An accept whose outcome nobody heard of, before a crash. */
TEST(rebase_finds_that_it_is_there_already)
{
	struct fixture f;

	begin(&f, 1);
	bring_to(&f, "T1", STAGE_REBASE);
	effect_end(&f, "T1", FX_REBASE, "already", "", ACCEPTED);
	settle(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	assert_int_equal(count_events(&f, EV_NODE_ACCEPTED), 1);
	fixture_done(&f);
}

TEST(outcomes_that_let_go_of_the_turn)
{
	static const struct {
		enum stage stage;
		const char *outcome;
		enum cause cause;
		enum stage next;
		enum worker_status worker;
	} cases[] = {
		{ STAGE_REBASE, "conflict", CAUSE_CONFLICT, STAGE_START, WORKER_REBASING },
		{ STAGE_REBASE, "dirty", CAUSE_DIRTY, STAGE_REBASE, WORKER_NEEDS_REVIEW },
		{ STAGE_REBASE, "no_changes", CAUSE_NO_CHANGES, STAGE_START, WORKER_NO_CHANGES },
		{ STAGE_REBASE, "error", CAUSE_ACCEPT, STAGE_REBASE, WORKER_NEEDS_REVIEW },
		{ STAGE_GATE, "failed", CAUSE_GATE, STAGE_START, WORKER_WORKING },
		{ STAGE_GATE, "error", CAUSE_ACCEPT, STAGE_REBASE, WORKER_NEEDS_REVIEW },
		{ STAGE_ACCEPT, "moved", CAUSE_MOVED, STAGE_REBASE, WORKER_NEEDS_REVIEW },
		{ STAGE_ACCEPT, "dirty", CAUSE_DIRTY, STAGE_REBASE, WORKER_NEEDS_REVIEW },
		{ STAGE_ACCEPT, "error", CAUSE_ACCEPT, STAGE_REBASE, WORKER_NEEDS_REVIEW },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		const struct node *n;

		begin(&f, 2);
		f.policy.accept.pre = STR("pre");
		bring_to(&f, "T2", STAGE_HARVEST);
		bring_to(&f, "T1", cases[i].stage);
		n = node_of(&f, "T1");
		effect_end(&f, "T2", FX_HARVEST, "ok", "", HARVESTED);
		settle(&f);
		assert_null(effect_of(&f, "T2"));
		effect_end(&f, "T1", effect_of(&f, "T1")->kind, cases[i].outcome, "why", "");
		/* A checkout that is in the way is waited for, not counted. */
		for (int c = 0; c < CAUSE_COUNT; c++)
			assert_int_equal(n->work.failures[c],
					c == (int)cases[i].cause && c != CAUSE_DIRTY);
		assert_int_equal(n->assignment->stage, cases[i].next);
		assert_int_equal(n->assignment->candidate.n, 0);
		assert_int_equal(worker_status(&f, "pool-1"), cases[i].worker);
		folds(&f);
		/* The next one's turn, at once. */
		settle(&f);
		assert_int_equal(effect_of(&f, "T2")->kind, FX_REBASE);
		drain(&f);
		assert_int_equal(f.state->goals.p[0]->status, GOAL_COMPLETED);
		fixture_done(&f);
	}
}

TEST(a_target_that_moved_is_told_in_a_whole_sentence)
{
	struct fixture f;

	begin(&f, 1);
	bring_to(&f, "T1", STAGE_ACCEPT);
	effect_end(&f, "T1", FX_ACCEPT, "moved", "", "");
	assert_true(str_is(as_of(&f, "T1")->reason, "the target branch moved meanwhile"));
	fixture_done(&f);
}

TEST(what_an_agent_is_told)
{
	static const struct {
		enum stage stage;
		const char *outcome, *says;
	} cases[] = {
		{ STAGE_REBASE, "conflict", "conflicts with what others have merged to main" },
		{ STAGE_REBASE, "no_changes", "your work changes nothing" },
		{ STAGE_GATE, "failed", "has to pass before it is accepted" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		str prompt;

		begin(&f, 1);
		f.policy.accept.pre = STR("pre");
		bring_to(&f, "T1", cases[i].stage);
		effect_end(&f, "T1", effect_of(&f, "T1")->kind, cases[i].outcome, "src/a.c", "");
		prompt = prompt_build(&f.arena, as_of(&f, "T1"));
		assert_true(str_contains(prompt, str_from(cases[i].says)));
		assert_true(str_contains(prompt, STR("T1")));
		if (i != 1)
			assert_true(str_contains(prompt, STR("src/a.c")));
		fixture_done(&f);
	}
}

/* Whoever resolves a conflict is rebasing until its run is over, and working when that failed. */
TEST(worker_is_rebasing_while_it_resolves_a_conflict)
{
	struct fixture f;

	begin(&f, 1);
	bring_to(&f, "T1", STAGE_REBASE);
	effect_end(&f, "T1", FX_REBASE, "conflict", "a.c", "");
	bring_to(&f, "T1", STAGE_RUNNING);
	assert_int_equal(worker_status(&f, "pool-1"), WORKER_REBASING);
	run_end(&f, "T1", 1);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "", HARVESTED);
	assert_int_equal(worker_status(&f, "pool-1"), WORKER_WORKING);
	drain(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	fixture_done(&f);
}

/* A gate that keeps failing goes the way of a check that does: the ladder, then a person. */
TEST(gate_is_capped)
{
	struct fixture f;
	const struct node *n;

	begin(&f, 1);
	f.policy.accept.pre = STR("pre");
	n = node_of(&f, "T1");
	for (int i = 1; i <= 3; i++) {
		bring_to(&f, "T1", STAGE_GATE);
		effect_end(&f, "T1", FX_GATE, "failed", "red", "");
		assert_int_equal(n->work.failures[CAUSE_GATE], i);
		f.now += OV_HOUR;
	}
	assert_true(n->stall.open);
	assert_int_equal(worker_status(&f, "pool-1"), WORKER_IDLE);
	folds(&f);
	fixture_done(&f);
}

/* ---- a person is asked ---- */

TEST(failed_gate_holds_the_queue_until_a_person_answers)
{
	struct fixture f;

	begin(&f, 2);
	f.policy.accept = (struct accept_commands){ .pre = STR("pre"), .pre_on_failure = PRE_FAIL };
	bring_to(&f, "T2", STAGE_HARVEST);
	bring_to(&f, "T1", STAGE_GATE);
	effect_end(&f, "T2", FX_HARVEST, "ok", "", HARVESTED);
	effect_end(&f, "T1", FX_GATE, "failed", "red", "");
	settle(&f);
	assert_int_equal(f.state->effects_by_id.n, 0);
	folds(&f);
	/* Not by dismissing it, not by anything else that is said. */
	refused(&f, "inbox.dismiss",
			json(&f, "{'number': %lld}",
					(long long)open_question(&f, "pre_accept")->number),
			OV_EINVALID);
	refused(&f, "inbox.answer",
			json(&f, "{'number': %lld, 'answer': 'hm'}",
					(long long)open_question(&f, "pre_accept")->number),
			OV_EINVALID);
	/* Nor by a goal that is paused and resumed. */
	submit(&f, "goal.pause",
			json(&f, "{'goal': '" STR_FMT "', 'reason': 'r'}",
					STR_ARG(f.state->goals.p[0]->id)));
	settle(&f);
	assert_int_equal(f.state->effects_by_id.n, 0);
	submit(&f, "goal.resume",
			json(&f, "{'goal': '" STR_FMT "'}", STR_ARG(f.state->goals.p[0]->id)));
	settle(&f);
	assert_int_equal(f.state->effects_by_id.n, 0);
	answer(&f, "pre_accept", "try again");
	assert_int_equal(effect_of(&f, "T1")->kind, FX_REBASE);
	bring_to(&f, "T1", STAGE_GATE);
	effect_end(&f, "T1", FX_GATE, "failed", "red", "");
	settle(&f);
	answer(&f, "pre_accept", "back to its agent");
	assert_int_equal(as_of(&f, "T1")->stage, STAGE_START);
	assert_true(str_contains(as_of(&f, "T1")->feedback, STR("red")));
	assert_int_equal(effect_of(&f, "T2")->kind, FX_REBASE);
	drain(&f);
	assert_int_equal(f.state->goals.p[0]->status, GOAL_COMPLETED);
	fixture_done(&f);
}

/* Whoever takes the work away that holds up the queue has answered, too. */
TEST(cancelling_what_holds_the_queue_lets_it_go_on)
{
	struct fixture f;

	begin(&f, 2);
	f.policy.accept = (struct accept_commands){ .pre = STR("pre"), .pre_on_failure = PRE_FAIL };
	bring_to(&f, "T2", STAGE_HARVEST);
	bring_to(&f, "T1", STAGE_GATE);
	effect_end(&f, "T1", FX_GATE, "failed", "red", "");
	effect_end(&f, "T2", FX_HARVEST, "ok", "", HARVESTED);
	settle(&f);
	submit(&f, "work.cancel", json(&f, "{'node': 'T1', 'reason': 'r'}"));
	settle(&f);
	assert_null(open_question(&f, "pre_accept"));
	assert_int_equal(effect_of(&f, "T2")->kind, FX_REBASE);
	fixture_done(&f);
}

/* T1's post_accept command has failed, T2 waits for its turn and T3 for T1. */
static void post_fails(struct fixture *f, enum post_failure then)
{
	fixture_init(f);
	f->policy.workers_max = 4;
	f->policy.accept = (struct accept_commands){ .post = STR("post"), .post_on_failure = then };
	create_goal(f,
			json(f,
					"{'phases': [{'id': 'P1', 'name': 'n', 'tasks': ["
					"{'id': 'T1', 'name': 'n', 'acceptance': ['x']},"
					"{'id': 'T2', 'name': 'n', 'acceptance': ['x']},"
					"{'id': 'T3', 'name': 'n', 'acceptance': ['x'], "
					"'deps': ['T1']}]}]}"),
			NULL);
	bring_to(f, "T2", STAGE_HARVEST);
	bring_to(f, "T1", STAGE_POST);
	effect_end(f, "T2", FX_HARVEST, "ok", "", HARVESTED);
	assert_null(as_of(f, "T3"));
	effect_end(f, "T1", FX_POST, "failed", "exit status 1, no deploy", "");
	settle(f);
	folds(f);
}

TEST(post_fails_and_a_person_is_told)
{
	struct fixture f;

	post_fails(&f, POST_WARN);
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	assert_int_equal(effect_of(&f, "T2")->kind, FX_REBASE);
	assert_non_null(as_of(&f, "T3"));
	assert_true(str_contains(open_question(&f, "post_accept_warning")->question,
			STR("no deploy")));
	submit(&f, "inbox.dismiss",
			json(&f, "{'number': %lld}",
					(long long)open_question(&f, "post_accept_warning")
							->number));
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	fixture_done(&f);
}

TEST(post_fails_and_a_person_says_go_on)
{
	struct fixture f;

	post_fails(&f, POST_FAIL);
	assert_int_equal(f.state->effects_by_id.n, 0);
	assert_int_equal(node_of(&f, "T1")->status, NODE_IN_PROGRESS);
	/* It cannot be called back by other words. */
	refused(&f, "work.cancel", json(&f, "{'node': 'T1', 'reason': 'r'}"), OV_ESTATE);
	answer(&f, "post_accept", "run again");
	assert_int_equal(effect_of(&f, "T1")->kind, FX_POST);
	effect_end(&f, "T1", FX_POST, "failed", "again", "");
	settle(&f);
	answer(&f, "post_accept", "go on");
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	assert_int_equal(effect_of(&f, "T2")->kind, FX_REBASE);
	assert_non_null(as_of(&f, "T3"));
	folds(&f);
	fixture_done(&f);
}

/* The change is taken back, its node begins anew with its own commits and what went wrong. */
static void taken_back(struct fixture *f)
{
	const struct node *n = node_of(f, "T1");

	assert_int_equal(effect_of(f, "T1")->kind, FX_REVERT);
	assert_null(effect_of(f, "T2"));
	refused(f, "work.update", json(f, "{'node': 'T1', 'status': 'done', 'reason': 'r'}"),
			OV_ESTATE);
	effect_end(f, "T1", FX_REVERT, "dirty", "a.c", "");
	settle(f);
	/* Nobody else's turn comes in between. */
	assert_int_equal(f->state->effects_by_id.n, 0);
	f->now = f->wake_at;
	settle(f);
	effect_end(f, "T1", FX_REVERT, "ok", "", "'commit': 'feed'");
	assert_int_equal(n->status, NODE_QUEUED);
	assert_int_equal(n->work.reverts, 1);
	assert_int_equal(n->work.commit.n, 0);
	assert_true(str_is(n->next.handover, "h"));
	folds(f);
	settle(f);
	assert_int_equal(n->work.epoch, 2);
	assert_int_equal(effect_of(f, "T2")->kind, FX_REBASE);
	assert_true(str_contains(prompt_build(&f->arena, n->assignment), STR("no deploy")));
	assert_int_equal(n->next.feedback.n, 0);
	assert_true(str_contains(accept_key(&f->arena, n->assignment), STR(".1")));
	folds(f);
	drain(f);
	assert_int_equal(f->state->goals.p[0]->status, GOAL_COMPLETED);
	assert_int_equal(count_events(f, EV_NODE_ACCEPTED), 4);
}

TEST(post_fails_and_the_change_is_taken_back)
{
	struct fixture f;

	post_fails(&f, POST_REVERT);
	taken_back(&f);
	fixture_done(&f);
}

TEST(post_fails_and_a_person_takes_the_change_back)
{
	struct fixture f;

	post_fails(&f, POST_FAIL);
	answer(&f, "post_accept", "take back");
	taken_back(&f);
	fixture_done(&f);
}

TEST(reverts_are_capped)
{
	struct fixture f;
	const struct node *n;

	begin(&f, 1);
	f.policy.accept = (struct accept_commands){ .post = STR("post"),
		.post_on_failure = POST_REVERT };
	n = node_of(&f, "T1");
	for (int i = 1; i <= 3; i++) {
		bring_to(&f, "T1", STAGE_REVERT);
		effect_end(&f, "T1", FX_REVERT, "ok", "", "'commit': 'feed'");
		settle(&f);
		assert_int_equal(n->work.reverts, i);
	}
	assert_int_equal(n->status, NODE_BLOCKED);
	assert_non_null(open_question(&f, "reverted"));
	assert_int_equal(worker_status(&f, "pool-1"), WORKER_IDLE);
	fixture_done(&f);
}

TEST(what_cannot_be_taken_back_is_a_persons_to_decide)
{
	struct fixture f;

	post_fails(&f, POST_REVERT);
	effect_end(&f, "T1", FX_REVERT, "conflict", "a.c", "");
	settle(&f);
	assert_int_equal(f.state->effects_by_id.n, 0);
	answer(&f, "post_accept", "take back");
	effect_end(&f, "T1", FX_REVERT, "conflict", "a.c", "");
	settle(&f);
	answer(&f, "post_accept", "go on");
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	assert_int_equal(effect_of(&f, "T2")->kind, FX_REBASE);
	fixture_done(&f);
}

/* That it could not be run says nothing about the change. */
TEST(post_that_cannot_be_run_is_tried_again_then_asked_about)
{
	struct fixture f;

	begin(&f, 1);
	f.policy.accept = (struct accept_commands){ .post = STR("post"),
		.post_on_failure = POST_REVERT };
	bring_to(&f, "T1", STAGE_POST);
	for (int i = 1; i < 3; i++) {
		effect_end(&f, "T1", FX_POST, "error", "no fork", "");
		assert_int_equal(tick(&f), 0);
		assert_int_equal(f.wake_at, f.now + f.policy.retry_delay[i - 1]);
		f.now = f.wake_at;
		settle(&f);
	}
	effect_end(&f, "T1", FX_POST, "error", "no fork", "");
	settle(&f);
	assert_non_null(open_question(&f, "post_accept"));
	assert_int_equal(node_of(&f, "T1")->work.reverts, 0);
	fixture_done(&f);
}

/*
 * What fails for one task of the pool will fail for all that follow: no further one is asked for.
 * The next daemon of auto mode tries it again where it was, since it may have been mended.
 */
TEST(commands_that_fail_end_auto_mode)
{
	static const struct {
		enum stage stage;
		const char *outcome;
		enum effect_kind again;
	} cases[] = { { STAGE_GATE, "failed", FX_REBASE }, { STAGE_POST, "failed", FX_POST },
		{ STAGE_REBASE, "dirty", 0 }, { STAGE_REBASE, "conflict", 0 } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;

		begin(&f, 1);
		f.policy.accept = (struct accept_commands){ .pre = STR("pre"),
			.post = STR("post"),
			.pre_on_failure = PRE_FAIL };
		f.policy.automatic = (struct accept_commands){ .pre_on_failure = PRE_FAIL,
			.post_on_failure = POST_FAIL };
		bring_to(&f, "T1", cases[i].stage);
		record_set_str(&node_of(&f, "T1")->goal->standing, STR("auto"));
		submit(&f, "auto.start", json(&f, "{'instance': 'I_1'}"));
		effect_end(&f, "T1", effect_of(&f, "T1")->kind, cases[i].outcome, "d", "");
		assert_int_equal(count_events(&f, EV_AUTO_STOPPED), cases[i].again != 0);
		if (!cases[i].again) {
			fixture_done(&f);
			continue;
		}
		settle(&f);
		assert_null(effect_of(&f, "T1"));
		submit(&f, "daemon.start", json(&f, "{'instance': 'I_2', 'version': '1'}"));
		submit(&f, "auto.start", json(&f, "{'instance': 'I_2'}"));
		settle(&f);
		assert_int_equal(effect_of(&f, "T1")->kind, cases[i].again);
		for (size_t k = 0; k < f.state->escalations.n; k++)
			assert_int_not_equal(f.state->escalations.p[k]->status, ESC_OPEN);
		/* It was not mended: the same again. */
		if (cases[i].again == FX_REBASE) {
			effect_end(&f, "T1", FX_REBASE, "ok", "", "'commit': 'c'");
			settle(&f);
		}
		effect_end(&f, "T1", effect_of(&f, "T1")->kind, "failed", "d", "");
		assert_int_equal(count_events(&f, EV_AUTO_STOPPED), 2);
		submit(&f, "daemon.start", json(&f, "{'instance': 'I_3', 'version': '1'}"));
		submit(&f, "auto.start", json(&f, "{'instance': 'I_3'}"));
		settle(&f);
		assert_int_equal(open_question(&f, "post_accept") != NULL,
				cases[i].again == FX_POST);
		assert_int_equal(open_question(&f, "pre_accept") != NULL,
				cases[i].again == FX_REBASE);
		assert_null(effect_of(&f, "T1"));
		fixture_done(&f);
	}
}

/* Unless it is to end, auto mode waits for the answer to the very entry about the command. */
TEST(commands_that_fail_pause_auto_mode)
{
	static const struct {
		enum stage stage;
		const char *ask, *answer;
	} cases[] = { { STAGE_GATE, "pre_accept", "try again" },
		{ STAGE_POST, "post_accept", "go on" } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		const struct escalation *x;

		begin(&f, 1);
		f.policy.accept = (struct accept_commands){ .pre = STR("pre"),
			.post = STR("post"),
			.pre_on_failure = PRE_FAIL };
		f.policy.automatic = (struct accept_commands){ .pre_on_failure = PRE_AS_ACCEPT,
			.post_on_failure = POST_AS_ACCEPT };
		bring_to(&f, "T1", cases[i].stage);
		record_set_str(&node_of(&f, "T1")->goal->standing, STR("auto"));
		submit(&f, "auto.start", json(&f, "{'instance': 'I_1'}"));
		effect_end(&f, "T1", effect_of(&f, "T1")->kind, "failed", "d", "");
		settle(&f);
		assert_true(f.state->automatic.on);
		assert_int_equal(count_events(&f, EV_DAEMON_FAILED), 0);
		assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
		x = open_question(&f, cases[i].ask);
		assert_true(str_is(f.state->automatic.pause_cause, "accept"));
		assert_int_equal(f.state->automatic.pause_entry, x->number);
		submit(&f, "inbox.answer",
				json(&f, "{'number': %lld, 'answer': '%s'}", (long long)x->number,
						cases[i].answer));
		settle(&f);
		assert_int_equal(f.state->automatic.pause_cause.n, 0);
		fixture_done(&f);
	}
}

/* ---- review ---- */

TEST(who_is_reviewed)
{
	static const struct {
		enum accept_review review;
		const char *risk, *standing;
		bool waits;
	} cases[] = {
		{ REVIEW_NEVER, "high", "", false },
		{ REVIEW_HIGH_RISK, "high", "", true },
		{ REVIEW_HIGH_RISK, "med", "", false },
		{ REVIEW_HIGH_RISK, "high", "auto", false },
		{ REVIEW_ALWAYS, "low", "", true },
		{ REVIEW_ALWAYS, "low", "auto", true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		struct node *n;

		begin(&f, 1);
		f.policy.review = cases[i].review;
		n = node_of(&f, "T1");
		bring_to(&f, "T1", STAGE_HARVEST);
		record_set_str(&n->def.risk, str_from(cases[i].risk));
		record_set_str(&n->goal->standing, str_from(cases[i].standing));
		effect_end(&f, "T1", FX_HARVEST, "ok", "", HARVESTED);
		settle(&f);
		assert_int_equal(n->assignment->stage,
				cases[i].waits ? STAGE_REVIEW : STAGE_REBASE);
		assert_int_equal(open_question(&f, "review") != NULL, cases[i].waits);
		fixture_done(&f);
	}
}

TEST(review_accepts_and_rejects)
{
	struct fixture f;
	const struct node *n;

	begin(&f, 2);
	f.policy.review = REVIEW_ALWAYS;
	n = node_of(&f, "T1");
	bring_to(&f, "T1", STAGE_REVIEW);
	assert_int_equal(worker_status(&f, "pool-1"), WORKER_NEEDS_REVIEW);
	folds(&f);
	refused(&f, "inbox.answer",
			json(&f, "{'number': %lld, 'answer': 'reject:'}",
					(long long)open_question(&f, "review")->number),
			OV_EINVALID);
	/*
	 * However often: that is no failure of anybody's, and no wait comes before the
	 * next attempt.
	 */
	for (int i = 1; i <= 5; i++) {
		answer(&f, "review", "reject: use the other file");
		assert_int_equal(n->work.failures[CAUSE_REVIEW], i);
		assert_int_equal(n->assignment->stage, STAGE_START);
		assert_int_equal(worker_status(&f, "pool-1"), WORKER_WORKING);
		assert_true(str_contains(n->assignment->feedback, STR("use the other file")));
		folds(&f);
		bring_to(&f, "T1", STAGE_REVIEW);
	}
	answer(&f, "review", "accept");
	assert_null(open_question(&f, "review"));
	assert_int_equal(effect_of(&f, "T1")->kind, FX_REBASE);
	bring_to(&f, "T1", STAGE_ACCEPT);
	accept_node(&f, "T1");
	assert_int_equal(n->status, NODE_DONE);
	fixture_done(&f);
}

/* A conflict that a rebase finds while it waits: resolved by its agent, and asked about once. */
TEST(review_is_asked_for_once)
{
	struct fixture f;

	begin(&f, 1);
	f.policy.review = REVIEW_ALWAYS;
	bring_to(&f, "T1", STAGE_REVIEW);
	submit(&f, "worker.rebase", json(&f, "{'worker': 'pool-1'}"));
	effect_end(&f, "T1", FX_WORKER, "conflict", "a.c", "");
	assert_int_equal(as_of(&f, "T1")->stage, STAGE_START);
	refused(&f, "inbox.answer",
			json(&f, "{'number': %lld, 'answer': 'accept'}",
					(long long)open_question(&f, "review")->number),
			OV_ESTATE);
	bring_to(&f, "T1", STAGE_REVIEW);
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	folds(&f);
	answer(&f, "review", "accept");
	drain(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	fixture_done(&f);
}

/* ---- the rest ---- */

TEST(leftovers_are_refused_where_that_is_configured)
{
	struct fixture f;
	const struct node *n;

	begin(&f, 1);
	f.policy.leftovers = LEFTOVERS_REFUSE;
	n = node_of(&f, "T1");
	bring_to(&f, "T1", STAGE_HARVEST);
	effect_end(&f, "T1", FX_HARVEST, "ok", "", HARVESTED ", 'leftovers': true");
	assert_int_equal(n->assignment->stage, STAGE_START);
	assert_int_equal(n->work.failures[CAUSE_CHECK], 1);
	assert_true(str_contains(n->assignment->feedback, STR("uncommitted")));
	drain(&f);
	assert_int_equal(n->status, NODE_DONE);
	fixture_done(&f);
}

/* One whose goal is paused before its change is on the target lets others pass, and comes again. */
TEST(paused_goal_lets_others_pass)
{
	struct fixture f;
	str first;

	begin(&f, 1);
	f.policy.accept.pre = STR("pre");
	first = f.state->goals.p[0]->id;
	bring_to(&f, "T1", STAGE_GATE);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_HARVEST);
	effect_end(&f, "T1", FX_HARVEST, "ok", "", HARVESTED);
	submit(&f, "goal.pause",
			json(&f, "{'goal': '" STR_FMT "', 'reason': 'r'}", STR_ARG(first)));
	settle(&f);
	assert_null(effect_of(&f, "T1"));
	submit(&f, "effect.end",
			json(&f, "{'effect': '" STR_FMT "', 'outcome': 'ok', 'data': {}}",
					STR_ARG(node_in(&f, first, "T1")->assignment->effect->id)));
	settle(&f);
	assert_int_equal(node_in(&f, first, "T1")->assignment->stage, STAGE_ACCEPT);
	assert_null(node_in(&f, first, "T1")->assignment->effect);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_REBASE);
	/* Resumed, it waits until the other one is through. */
	submit(&f, "goal.resume", json(&f, "{'goal': '" STR_FMT "'}", STR_ARG(first)));
	settle(&f);
	assert_null(node_in(&f, first, "T1")->assignment->effect);
	drain(&f);
	assert_int_equal(f.state->goals.p[0]->status, GOAL_COMPLETED);
	assert_int_equal(f.state->goals.p[1]->status, GOAL_COMPLETED);
	fixture_done(&f);
}

static const value *queue_row(struct fixture *f, size_t i)
{
	return value_item(value_at(view_queue(&f->arena, f->state, &f->policy, STR(""), f->now),
					  "accept"),
			i);
}

TEST(queue_shows_step_place_and_reason)
{
	struct fixture f;

	begin(&f, 3);
	f.policy.accept = (struct accept_commands){ .post = STR("post") };
	bring_to(&f, "T2", STAGE_HARVEST);
	bring_to(&f, "T3", STAGE_HARVEST);
	bring_to(&f, "T1", STAGE_POST);
	effect_end(&f, "T2", FX_HARVEST, "ok", "", HARVESTED);
	f.policy.review = REVIEW_ALWAYS;
	effect_end(&f, "T3", FX_HARVEST, "ok", "", HARVESTED);
	settle(&f);
	assert_true(str_is(value_str_at(queue_row(&f, 0), "node"), "T1"));
	assert_true(str_is(value_str_at(queue_row(&f, 0), "step"), "post_accept"));
	assert_true(str_is(value_str_at(queue_row(&f, 0), "state"), "accepting"));
	assert_int_equal(value_int_at(queue_row(&f, 1), "position"), 2);
	assert_true(str_is(value_str_at(queue_row(&f, 1), "step"), "rebase"));
	assert_true(str_contains(value_str_at(queue_row(&f, 1), "why"), STR("/T1 has its turn")));
	assert_true(str_is(value_str_at(queue_row(&f, 2), "state"), "review"));
	effect_end(&f, "T1", FX_POST, "failed", "x", "");
	settle(&f);
	assert_true(str_is(value_str_at(queue_row(&f, 0), "state"), "held"));
	assert_true(str_contains(value_str_at(queue_row(&f, 1), "why"), STR("is answered")));
	assert_true(str_contains(explain_now(&f.arena, f.state, node_of(&f, "T1"), f.now),
			STR("answer #")));
	fixture_done(&f);
}

/* What waits can be dropped; what is on the target cannot. */
/* Names that may not be committed: like a failed check, whoever finds them. */
TEST(refused_work_goes_back_with_the_reason)
{
	struct fixture f;
	const struct node *n;

	for (int late = 0; late < 2; late++) {
		fixture_init(&f);
		create_goal(&f, flat_plan(&f, 1), "normal");
		settle(&f);
		n = node_of(&f, "T1");
		bring_to(&f, "T1", late ? STAGE_ACCEPT : STAGE_HARVEST);
		if (late)
			effect_end(&f, "T1", FX_ACCEPT, "refused", "the work has .git", "");
		else
			effect_end(&f, "T1", FX_HARVEST, "ok", "",
					"'head': 'h', 'tree': 't', 'commits': 1, 'files_changed': "
					"1, "
					"'refused': 'the work has .git'");
		assert_int_equal(n->work.failures[CAUSE_CHECK], 1);
		assert_int_equal(n->assignment->stage, STAGE_START);
		assert_true(str_contains(n->assignment->feedback, STR("cannot be accepted: ")));
		assert_true(str_contains(n->assignment->feedback, STR("has .git")));
		/* It is kept: the next attempt continues from it. */
		assert_true(n->next.handover.n > 0);
		check_invariants(f.state, &f.policy);
		fixture_done(&f);
	}
}

TEST(drop_from_every_step)
{
	static const struct {
		enum stage stage;
		bool refused;
	} cases[] = { { STAGE_REVIEW, false }, { STAGE_REBASE, false }, { STAGE_GATE, false },
		{ STAGE_ACCEPT, true }, { STAGE_POST, true } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		struct ov_err err = { 0 };
		int r;

		begin(&f, 1);
		f.policy.accept = (struct accept_commands){ .pre = STR("pre"),
			.post = STR("post") };
		if (cases[i].stage == STAGE_REVIEW)
			f.policy.review = REVIEW_ALWAYS;
		bring_to(&f, "T1", cases[i].stage);
		r = try_submit(&f, "queue.drop", json(&f, "{'node': 'T1', 'reason': 'r'}"), &err);
		assert_int_equal(r, cases[i].refused ? OV_ESTATE : 0);
		drain(&f);
		assert_int_equal(node_of(&f, "T1")->status,
				cases[i].refused ? NODE_DONE : NODE_BLOCKED);
		assert_int_equal(worker_status(&f, "pool-1"), WORKER_IDLE);
		fixture_done(&f);
	}
}
