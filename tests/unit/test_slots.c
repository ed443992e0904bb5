/*
 * Work that waits has no slot: others begin meanwhile, up to a bound, and what waited comes
 * first again.
 */
#include "tests/test.h"

#include "core/capacity/accept_queue.h"
#include "core/capacity/slots.h"
#include "core/explain/explain_state.h"
#include "core/inbox/inbox.h"
#include "core/tick/reconcile.h"
#include "core/view/view.h"
#include "tests/unit/core_fixture.h"

static void begin(struct fixture *f, size_t tasks, int64_t workers)
{
	fixture_init(f);
	oversight_off(f);
	f->policy.workers_max = workers;
	create_goal(f, flat_plan(f, tasks), "normal");
	settle(f);
}

static enum waiting waits(struct fixture *f, const char *node)
{
	struct slots sl = slots_init(f->state, &f->policy, f->now);
	const struct assignment *as = node_of(f, node)->assignment;

	return as ? assignment_waiting(&sl, as) : WAITING_NONE;
}

static struct slots counted(struct fixture *f)
{
	struct slots sl = slots_init(f->state, &f->policy, f->now);

	slots_count(&sl);
	return sl;
}

static const struct escalation *told(struct fixture *f)
{
	for (size_t i = 0; i < f->state->escalations.n; i++)
		if (f->state->escalations.p[i]->status == ESC_OPEN &&
				str_is(f->state->escalations.p[i]->kind, "checkout"))
			return f->state->escalations.p[i];
	return NULL;
}

static void overlap(struct fixture *f, const char *node)
{
	effect_end(f, node, FX_REBASE, "dirty", "", "'files': ['README.md'], 'files_changed': 1");
	settle(f);
}

TEST(files_that_overlap_leave_the_slot_to_others)
{
	struct fixture f;

	begin(&f, 2, 1);
	bring_to(&f, "T1", STAGE_REBASE);
	assert_null(effect_of(&f, "T2"));
	overlap(&f, "T1");
	assert_int_equal(waits(&f, "T1"), WAITING_FILES);
	assert_int_equal(counted(&f).of[WORKER_POOL].waiting, 1);
	assert_string_equal(node_of(&f, "T1")->assignment->reason.p,
			"your README.md has uncommitted changes in the same file");
	/* In another worker; the first keeps its own. */
	assert_int_equal(effect_of(&f, "T2")->kind, FX_WORKSPACE);
	assert_true(str_is(node_of(&f, "T2")->assignment->worker, "pool-2"));
	assert_true(str_is(f.state->workers.p[0]->assignment_id,
			node_of(&f, "T1")->assignment->id.p));
	/* It is accepted beside it, without a slot. */
	bring_to(&f, "T2", STAGE_RUNNING);
	submit(&f, "checkout.report", json(&f, "{}"));
	settle(&f);
	effect_end(&f, "T1", FX_REBASE, "ok", "", "'commit': 'c1'");
	settle(&f);
	accept_node(&f, "T1");
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	fixture_done(&f);
}

TEST(names_of_files_are_bounded)
{
	static const struct {
		const char *data, *want;
	} cases[] = {
		{ "'files': ['a', 'b'], 'files_changed': 2",
				"your a and b have uncommitted changes in the same files" },
		{ "'files': ['a', 'b', 'c', 'd', 'e', 'f', 'g'], 'files_changed': 300",
				"your a, b, c, d, e and 295 more have uncommitted changes in the "
				"same files" },
		{ "'files': [], 'files_changed': 0", "a git merge is not finished in /r" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;

		begin(&f, 1, 1);
		bring_to(&f, "T1", STAGE_REBASE);
		effect_end(&f, "T1", FX_REBASE, "dirty", "a git merge is not finished in /r",
				cases[i].data);
		assert_string_equal(node_of(&f, "T1")->assignment->reason.p, cases[i].want);
		assert_int_equal(waits(&f, "T1"), i == 2 ? WAITING_CHECKOUT : WAITING_FILES);
		fixture_done(&f);
	}
}

/* It is never given up, and one entry names the files after a minute; it closes itself. */
TEST(a_person_is_told_once_per_wait)
{
	struct fixture f;
	const struct node *n;

	begin(&f, 1, 1);
	f.policy.dirty_wait = 20 * OV_SECOND;
	bring_to(&f, "T1", STAGE_REBASE);
	n = node_of(&f, "T1");
	overlap(&f, "T1");
	assert_int_equal(f.wake_at, f.now + 20 * OV_SECOND);
	for (int i = 0; i < 200; i++) {
		f.now = f.wake_at;
		settle(&f);
		overlap(&f, "T1");
		assert_int_equal(told(&f) != NULL, i >= 2);
		assert_int_equal(n->status, NODE_IN_PROGRESS);
	}
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	assert_true(str_contains(told(&f)->question, STR("README.md")));
	assert_int_equal(n->work.failures[CAUSE_DIRTY], 0);
	f.now = f.wake_at;
	settle(&f);
	effect_end(&f, "T1", FX_REBASE, "ok", "", "'commit': 'c1'");
	assert_null(told(&f));
	settle(&f);
	accept_node(&f, "T1");
	assert_int_equal(n->status, NODE_DONE);
	fixture_done(&f);
}

TEST(a_person_may_have_it_tried_and_is_told_again)
{
	struct fixture f;
	int64_t number;

	begin(&f, 1, 1);
	f.policy.dirty_wait = OV_HOUR;
	bring_to(&f, "T1", STAGE_REBASE);
	overlap(&f, "T1");
	f.now = f.wake_at;
	settle(&f);
	number = told(&f)->number;
	refused(&f, "inbox.answer", json(&f, "{'number': %lld, 'answer': 'no'}", (long long)number),
			OV_EINVALID);
	submit(&f, "inbox.answer",
			json(&f, "{'number': %lld, 'answer': 'try again'}", (long long)number));
	settle(&f);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_REBASE);
	overlap(&f, "T1");
	assert_null(told(&f));
	f.now += OV_MINUTE;
	settle(&f);
	assert_non_null(told(&f));
	fixture_done(&f);
}

/* The checkout changed, or nobody knows whether it did. */
TEST(what_waits_for_the_checkout_is_tried_again_at_once)
{
	struct fixture f;
	ov_time since;
	size_t events;

	begin(&f, 1, 1);
	f.policy.dirty_wait = OV_HOUR;
	bring_to(&f, "T1", STAGE_REBASE);
	overlap(&f, "T1");
	since = f.now;
	f.now += 5 * OV_SECOND;
	assert_null(effect_of(&f, "T1"));
	submit(&f, "checkout.report", json(&f, "{}"));
	settle(&f);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_REBASE);
	assert_int_equal(node_of(&f, "T1")->assignment->waiting_since, since);
	/* A step is under way: nothing is to be done. */
	events = f.log.n;
	submit(&f, "checkout.report", json(&f, "{}"));
	assert_int_equal(f.log.n, events);
	fixture_done(&f);
}

/*
 * One turn of work that only its accept finds something in the way of: a lock that was left there.
 */
static void accept_in_vain(struct fixture *f, const char *node)
{
	bring_to(f, node, STAGE_ACCEPT);
	effect_end(f, node, FX_ACCEPT, "dirty", "there is an index.lock", "");
	settle(f);
}

/* The rebase before it says nothing about that: a person is told once, as long as it lasts. */
TEST(what_only_the_accept_finds_is_told_once)
{
	struct fixture f;

	begin(&f, 1, 1);
	f.policy.dirty_wait = 5 * OV_MINUTE;
	for (int i = 0; i < 10; i++) {
		accept_in_vain(&f, "T1");
		f.now += OV_MINUTE;
		settle(&f);
		assert_non_null(told(&f));
		f.now += 5 * OV_MINUTE;
		settle(&f);
	}
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	bring_to(&f, "T1", STAGE_ACCEPT);
	accept_node(&f, "T1");
	assert_null(told(&f));
	assert_int_equal(count_events(&f, EV_ESCALATION_CLOSED), 1);
	fixture_done(&f);
}

/* However soon it is tried again: the wait is as long as it lasts. */
TEST(what_only_the_accept_finds_is_told_though_it_is_tried_often)
{
	struct fixture f;

	begin(&f, 1, 1);
	f.policy.dirty_wait = 10 * OV_SECOND;
	for (int i = 0; i < 7; i++) {
		accept_in_vain(&f, "T1");
		f.now += 10 * OV_SECOND;
		settle(&f);
	}
	accept_in_vain(&f, "T1");
	assert_non_null(told(&f));
	fixture_done(&f);
}

/* One lock is one matter, whatever waits for it; when it is gone all of it is tried at once. */
TEST(what_is_in_everybodys_way_is_told_once)
{
	struct fixture f;

	begin(&f, 3, 3);
	f.policy.dirty_wait = OV_HOUR;
	accept_in_vain(&f, "T1");
	f.now += OV_SECOND;
	accept_in_vain(&f, "T2");
	f.now += OV_SECOND;
	accept_in_vain(&f, "T3");
	f.now += 2 * OV_MINUTE;
	settle(&f);
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	/* The answer to it is about all of them. */
	submit(&f, "inbox.answer",
			json(&f, "{'number': %lld, 'answer': 'try again'}",
					(long long)told(&f)->number));
	accept_in_vain(&f, "T1");
	accept_in_vain(&f, "T2");
	accept_in_vain(&f, "T3");
	f.now += 2 * OV_MINUTE;
	settle(&f);
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 2);
	submit(&f, "queue.retry", json(&f, "{'node': 'T1'}"));
	bring_to(&f, "T1", STAGE_ACCEPT);
	accept_node(&f, "T1");
	assert_null(told(&f));
	bring_to(&f, "T2", STAGE_ACCEPT);
	accept_node(&f, "T2");
	bring_to(&f, "T3", STAGE_ACCEPT);
	accept_node(&f, "T3");
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 2);
	fixture_done(&f);
}

/*
 * When it is gone, the queue may take its time: who only waits for its turn is not in
 * anybody's way.
 */
TEST(whose_turn_comes_later_tells_nobody)
{
	struct fixture f;

	begin(&f, 3, 3);
	f.policy.dirty_wait = OV_HOUR;
	accept_in_vain(&f, "T1");
	accept_in_vain(&f, "T2");
	accept_in_vain(&f, "T3");
	f.now += 2 * OV_MINUTE;
	settle(&f);
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	submit(&f, "checkout.report", json(&f, "{}"));
	bring_to(&f, "T1", STAGE_ACCEPT);
	f.now += 5 * OV_MINUTE;
	settle(&f);
	accept_node(&f, "T1");
	settle(&f);
	assert_null(told(&f));
	f.now += 5 * OV_MINUTE;
	settle(&f);
	assert_int_equal(effect_of(&f, "T2")->kind, FX_REBASE);
	assert_null(told(&f));
	bring_to(&f, "T2", STAGE_ACCEPT);
	accept_node(&f, "T2");
	bring_to(&f, "T3", STAGE_ACCEPT);
	accept_node(&f, "T3");
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	fixture_done(&f);
}

/* What a person was told is over; of what it waits for now he is told after its own minute. */
TEST(another_thing_in_the_way_is_told_anew)
{
	struct fixture f;

	begin(&f, 1, 1);
	f.policy.dirty_wait = 5 * OV_MINUTE;
	accept_in_vain(&f, "T1");
	f.now += OV_MINUTE;
	settle(&f);
	assert_non_null(told(&f));
	f.now += 4 * OV_MINUTE;
	settle(&f);
	overlap(&f, "T1");
	assert_null(told(&f));
	assert_int_equal(node_of(&f, "T1")->assignment->waiting_since, f.now);
	f.now += OV_MINUTE;
	settle(&f);
	assert_true(str_contains(told(&f)->question, STR("README.md")));
	fixture_done(&f);
}

static void assert_queued_for(struct fixture *f, const char *node, const char *why)
{
	const value *list = value_at(view_queue(&f->arena, f->state, &f->policy, STR(""), f->now),
			"dispatch");

	for (size_t i = 0; i < value_count(list); i++)
		if (str_is(value_str_at(value_item(list, i), "node"), node)) {
			assert_string_equal(value_str_at(value_item(list, i), "why").p, why);
			return;
		}
	fail_msg("%s is not in the queue", node);
}

/* Whose wait is over, but who has no slot, is not "about to begin". */
TEST(the_queue_says_that_there_is_no_slot)
{
	struct fixture f;

	begin(&f, 2, 1);
	bring_to(&f, "T1", STAGE_RUNNING);
	run_end(&f, "T1", 1);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 0, 'files_changed': 0");
	settle(&f);
	bring_to(&f, "T2", STAGE_RUNNING);
	f.now = node_of(&f, "T1")->assignment->not_before;
	settle(&f);
	assert_queued_for(&f, "T1", "waits for a free worker (1 of 1 at work; workers.max)");
	f.policy.workers_max = 2;
	assert_queued_for(&f, "T1", "start: about to begin");
	fixture_done(&f);
}

/* A worker that is free is of no use where others have all slots. */
TEST(the_queue_says_it_of_a_task_for_one_worker)
{
	struct fixture f;

	begin(&f, 2, 2);
	for (int i = 1; i <= 2; i++) {
		const char *node = i == 1 ? "T1" : "T2";

		bring_to(&f, node, STAGE_ACCEPT);
		accept_node(&f, node);
	}
	f.policy.workers_max = 1;
	submit(&f, "worker.start", json(&f, "{'worker': 'pool-1', 'task': 'one'}"));
	settle(&f);
	submit(&f, "worker.start", json(&f, "{'worker': 'pool-2', 'task': 'two'}"));
	settle(&f);
	assert_queued_for(&f, "t2", "waits for a free worker (1 of 1 at work; workers.max)");
	fixture_done(&f);
}

static value *row_for(const value *list, const char *node)
{
	for (size_t i = 0; i < value_count(list); i++)
		if (str_is(value_str_at(value_item(list, i), "node"), node))
			return (value *)value_item(list, i);
	return NULL;
}

/* status, queue list and explain give the same reason: they have it from one place. */
TEST(one_reason_everywhere)
{
	struct fixture f;
	struct explain x;
	struct world w;
	const value *status, *group;
	str why = STR("waits for a free worker (1 of 1 at work; workers.max)");
	value *v;

	begin(&f, 4, 1);
	bring_to(&f, "T1", STAGE_RUNNING);
	settle(&f);
	w = (struct world){ f.state, &f.policy };
	x = (struct explain){ &f.arena, f.state, &f.policy, &f.observations, f.now, STR("") };
	status = view_status(&f.arena, &w, STR(""), f.now);
	assert_int_equal(value_count(value_at(status, "queued")), 1);
	group = value_item(value_at(status, "queued"), 0);
	assert_int_equal(value_int_at(group, "count"), 3);
	assert_true(str_eq(value_str_at(group, "why"), why));
	assert_true(str_is(value_str_at(value_item(value_at(group, "nodes"), 0), "node"), "T2"));
	assert_queued_for(&f, "T2", why.p);
	v = explain_node(&x, node_of(&f, "T2"));
	assert_true(str_ends(value_str_at(value_at(v, "conclusion"), "why"), why));
	/* The machine has no room. */
	status = view_status(&f.arena, &w, STR("no memory"), f.now);
	group = value_item(value_at(status, "queued"), 0);
	assert_true(str_is(value_str_at(group, "why"), "no memory"));
	x.no_capacity = STR("no memory");
	v = explain_node(&x, node_of(&f, "T2"));
	assert_true(str_is(value_str_at(value_at(v, "conclusion"), "why"), "ready; no memory"));
	fixture_done(&f);
}

/* It waits for the user's files, not for a time, and not for a review. */
TEST(work_that_waits_for_files_says_so)
{
	struct fixture f;
	struct explain x;
	struct world w;
	const value *c, *row;

	begin(&f, 1, 1);
	f.policy.dirty_wait = 5 * OV_MINUTE;
	bring_to(&f, "T1", STAGE_REBASE);
	overlap(&f, "T1");
	w = (struct world){ f.state, &f.policy };
	x = (struct explain){ &f.arena, f.state, &f.policy, &f.observations, f.now, STR("") };
	c = value_at(explain_node(&x, node_of(&f, "T1")), "conclusion");
	row = row_for(value_at(view_status(&f.arena, &w, STR(""), f.now), "running"), "T1");
	assert_true(str_eq(value_str_at(c, "why"), value_str_at(row, "waiting_for")));
	assert_true(str_is(value_str_at(c, "next"),
			"it is tried again by itself when that changes, and in 5m"));
	row = value_item(value_at(view_status(&f.arena, &w, STR(""), f.now), "workers"), 0);
	assert_true(str_eq(value_str_at(c, "why"), value_str_at(row, "waiting_for")));
	fixture_done(&f);
}

/* A wait that is over needs a slot again, and comes before what is new. */
TEST(whose_wait_is_over_comes_first)
{
	struct fixture f;

	begin(&f, 3, 1);
	bring_to(&f, "T1", STAGE_RUNNING);
	run_end(&f, "T1", 1);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 0, 'files_changed': 0");
	settle(&f);
	assert_int_equal(waits(&f, "T1"), WAITING_BACKOFF);
	bring_to(&f, "T2", STAGE_RUNNING);
	f.now = node_of(&f, "T1")->assignment->not_before;
	settle(&f);
	/* The only slot is T2's. */
	assert_int_equal(waits(&f, "T1"), WAITING_NONE);
	assert_null(effect_of(&f, "T1"));
	bring_to(&f, "T2", STAGE_ACCEPT);
	accept_node(&f, "T2");
	settle(&f);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_RUN_START);
	assert_null(node_of(&f, "T3")->assignment);
	fixture_done(&f);
}

/* Also of its agent, who may have found something else to do. */
TEST(an_agent_has_places_for_runs_only)
{
	struct fixture f;

	fixture_init(&f);
	oversight_off(&f);
	f.policy.workers_max = 4;
	f.policy.default_agent = STR("b");
	create_goal(&f, flat_plan(&f, 2), "normal");
	settle(&f);
	bring_to(&f, "T1", STAGE_RUNNING);
	assert_null(node_of(&f, "T2")->assignment);
	run_end(&f, "T1", 1);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 0, 'files_changed': 0");
	settle(&f);
	bring_to(&f, "T2", STAGE_RUNNING);
	f.now = node_of(&f, "T1")->assignment->not_before;
	settle(&f);
	assert_null(effect_of(&f, "T1"));
	run_end(&f, "T2", 0);
	settle(&f);
	fixture_done(&f);
}

TEST(so_many_may_wait_and_status_says_why_nothing_begins)
{
	struct fixture f;
	struct slots sl;
	struct world w = { 0 };
	const value *status;

	begin(&f, 5, 1);
	f.policy.workers_max_waiting = 3;
	f.policy.dirty_wait = OV_HOUR;
	f.policy.review = REVIEW_ALWAYS;
	bring_to(&f, "T1", STAGE_REVIEW);
	settle(&f);
	bring_to(&f, "T2", STAGE_REVIEW);
	settle(&f);
	f.policy.review = REVIEW_NEVER;
	bring_to(&f, "T3", STAGE_REBASE);
	sl = counted(&f);
	assert_false(slots_held(&sl, WORKER_POOL));
	assert_int_equal(slots_text(&f.arena, &sl, WORKER_POOL).n, 0);
	overlap(&f, "T3");
	sl = counted(&f);
	assert_true(slots_held(&sl, WORKER_POOL));
	assert_false(slots_held(&sl, WORKER_AUTO));
	assert_null(node_of(&f, "T4")->assignment);
	assert_string_equal(slots_text(&f.arena, &sl, WORKER_POOL).p,
			"3 tasks wait (1 for your uncommitted files, 2 for review); nothing new is "
			"started: workers.max_waiting");
	w = (struct world){ f.state, &f.policy };
	status = view_status(&f.arena, &w, STR(""), f.now);
	assert_int_equal(value_count(value_at(status, "held")), 1);
	assert_int_equal(value_int_at(status, "workers_busy"), 0);
	assert_int_equal(value_int_at(status, "workers_waiting"), 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(value_str_at(value_item(value_at(status, "running"), i), "waiting_for")
						.n > 0);
	/* One is settled: the next begins. */
	submit(&f, "checkout.report", json(&f, "{}"));
	settle(&f);
	effect_end(&f, "T3", FX_REBASE, "ok", "", "'commit': 'c1'");
	settle(&f);
	accept_node(&f, "T3");
	settle(&f);
	assert_non_null(node_of(&f, "T4")->assignment);
	fixture_done(&f);
}

/* Behind a question nothing is accepted: those wait, too. */
TEST(who_is_behind_a_question_waits)
{
	struct fixture f;

	begin(&f, 3, 2);
	f.policy.accept = (struct accept_commands){ .pre = STR("pre"), .pre_on_failure = PRE_FAIL };
	bring_to(&f, "T1", STAGE_GATE);
	bring_to(&f, "T2", STAGE_RUNNING);
	effect_end(&f, "T1", FX_GATE, "failed", "no", "");
	settle(&f);
	assert_int_equal(waits(&f, "T1"), WAITING_QUESTION);
	bring_to(&f, "T3", STAGE_RUNNING);
	run_end(&f, "T2", 0);
	settle(&f);
	effect_end(&f, "T2", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 1, 'files_changed': 1");
	settle(&f);
	assert_int_equal(node_of(&f, "T2")->assignment->stage, STAGE_REBASE);
	assert_int_equal(waits(&f, "T2"), WAITING_TURN);
	fixture_done(&f);
}

/* A change that is to be taken back waits for the checkout as well, for as long as it takes. */
TEST(a_revert_waits_for_the_checkout)
{
	struct fixture f;

	begin(&f, 1, 1);
	f.policy.accept = (struct accept_commands){ .post = STR("post"),
		.post_on_failure = POST_REVERT };
	bring_to(&f, "T1", STAGE_POST);
	effect_end(&f, "T1", FX_POST, "failed", "no", "");
	settle(&f);
	for (int i = 0; i < 20; i++) {
		effect_end(&f, "T1", FX_REVERT, "dirty", "", "'files': ['a']");
		settle(&f);
		assert_int_equal(waits(&f, "T1"), WAITING_FILES);
		f.now += f.policy.dirty_wait;
		settle(&f);
	}
	assert_non_null(told(&f));
	effect_end(&f, "T1", FX_REVERT, "ok", "", "'commit': 'c2'");
	assert_null(told(&f));
	fixture_done(&f);
}

TEST_MAIN
