/*
 * Work whose agent has to wait, or asked a person something, keeps its worker without a slot, and
 * continues there by itself. Where another task could use the worker, it is given back instead.
 */
#include "tests/test.h"

#include "agent/table/formats.h"
#include "core/capacity/slots.h"
#include "core/view/view.h"
#include "tests/unit/core_fixture.h"

/*
 * Agents "a" (whose sessions can be resumed) and "b"; all tasks are a's until they are handed over.
 */
static void begin(struct fixture *f, size_t tasks, int64_t workers, int64_t waiting)
{
	struct policy_agent *agents;

	fixture_init(f);
	oversight_off(f);
	agents = arena_array(&f->arena, struct policy_agent, 2);
	agents[0] = f->policy.agents[0];
	agents[0].format = format_find(STR("claude"));
	agents[1] = f->policy.agents[1];
	agents[1].concurrency = 8;
	f->policy.agents = agents;
	f->policy.workers_max = workers;
	f->policy.workers_max_waiting = waiting;
	create_goal(f, flat_plan(f, tasks), NULL);
}

static void give_to_b(struct fixture *f, const char *node)
{
	submit(f, "work.reassign",
			json(f, "{'node': '%s', 'agent': 'b', 'reason': 'its turn'}", node));
}

static const struct assignment *run(struct fixture *f, const char *node)
{
	const struct assignment *as;

	bring_to(f, node, STAGE_RUNNING);
	as = node_of(f, node)->assignment;
	submit(f, "run.session",
			json(f, "{'run': '" STR_FMT "', 'session': 's-%s', 'model': 'm'}",
					STR_ARG(as->run_id), node));
	return as;
}

static void end(struct fixture *f, const char *node, const char *members)
{
	f->now += OV_SECOND;
	submit(f, "run.end",
			json(f, "{'run': '" STR_FMT "', 'signal': 0, %s}",
					STR_ARG(node_of(f, node)->assignment->run_id), members));
	settle(f);
	effect_end(f, node, FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 1, 'files_changed': 1");
	settle(f);
}

static void limit(struct fixture *f, const char *node, ov_time until)
{
	end(f, node,
			arena_printf(&f->arena, "'exit_code': 75, 'resets_at_ms': %lld",
					(long long)until)
					.p);
}

static enum waiting waits(struct fixture *f, const char *node)
{
	struct slots sl = slots_init(f->state, &f->policy, f->now);

	return assignment_waiting(&sl, node_of(f, node)->assignment);
}

static struct slots counted(struct fixture *f)
{
	struct slots sl = slots_init(f->state, &f->policy, f->now);

	slots_count(&sl);
	return sl;
}

/* The same assignment starts a run in its worktree as it is, in the same session. */
static void assert_resumed(struct fixture *f, const char *node, const struct assignment *as)
{
	assert_ptr_equal(node_of(f, node)->assignment, as);
	assert_int_equal(effect_of(f, node)->kind, FX_RUN_START);
	assert_true(as->run->resumed && str_starts(as->run->session, STR("s-T")));
	assert_int_equal(as->attempt, 2);
	assert_int_equal(as->epoch, 1);
	assert_true(str_eq(state_worker(f->state, as->worker)->assignment_id, as->id));
	check_invariants(f->state, &f->policy);
}

TEST(who_is_limited_keeps_worktree_and_session_without_a_slot)
{
	struct fixture f;
	const struct assignment *as;
	ov_time until;
	str held;

	begin(&f, 3, 1, 8);
	as = run(&f, "T1");
	until = f.now + OV_HOUR;
	limit(&f, "T1", until);
	assert_int_equal(waits(&f, "T1"), WAITING_AGENT);
	assert_int_equal(as->stage, STAGE_WAITING);
	assert_int_equal(node_of(&f, "T1")->block.kind, BLOCK_RATE_LIMITED);
	assert_int_equal(counted(&f).of[WORKER_POOL].busy, 0);
	/* What has not begun takes no worker; somebody else's work does, but another one. */
	assert_null(node_of(&f, "T2")->assignment);
	give_to_b(&f, "T3");
	settle(&f);
	assert_true(str_is(node_of(&f, "T3")->assignment->worker, "pool-2"));
	held = snapshot_of(&f, f.state);
	assert_true(str_contains(held, STR("\"waiting\"")));
	bring_to(&f, "T3", STAGE_ACCEPT);
	accept_node(&f, "T3");
	f.now = until;
	settle(&f);
	assert_resumed(&f, "T1", as);
	/* There is one slot, and it comes first. */
	assert_null(node_of(&f, "T2")->assignment);
	fixture_done(&f);
}

TEST(who_is_logged_out_does_until_a_person_answers)
{
	struct fixture f;
	const struct assignment *as;

	begin(&f, 1, 1, 8);
	as = run(&f, "T1");
	end(&f, "T1", "'exit_code': 77");
	f.now += OV_DAY;
	settle(&f);
	assert_int_equal(waits(&f, "T1"), WAITING_AGENT);
	submit(&f, "inbox.answer", json(&f, "{'number': 1, 'answer': 'done'}"));
	settle(&f);
	assert_resumed(&f, "T1", as);
	fixture_done(&f);
}

static void ask(struct fixture *f, const char *node)
{
	submit(f, "run.report",
			json(f,
					"{'run': '" STR_FMT
					"', 'identity': 'i', 'offset': 5, 'update': {'status': "
					"'blocked', 'summary': 'x', 'blockers': ['Which port?']}}",
					STR_ARG(node_of(f, node)->assignment->run_id)));
	settle(f);
	effect_end(f, node, FX_RUN_STOP, "ok", "", "");
	end(f, node, "'exit_code': 0");
}

TEST(who_asked_something_does_until_it_is_answered)
{
	struct fixture f;
	const struct assignment *as;

	begin(&f, 2, 1, 8);
	as = run(&f, "T1");
	ask(&f, "T1");
	assert_int_equal(waits(&f, "T1"), WAITING_QUESTION);
	bring_to(&f, "T2", STAGE_RUNNING);
	bring_to(&f, "T2", STAGE_ACCEPT);
	accept_node(&f, "T2");
	submit(&f, "inbox.answer", json(&f, "{'number': 1, 'answer': 'port 8080'}"));
	settle(&f);
	assert_resumed(&f, "T1", as);
	assert_true(str_contains(value_str_at(last_event(&f, EV_DISPATCH_INTENDED)->data,
						 "instruction"),
			STR("port 8080")));
	fixture_done(&f);
}

/* It failed, and when its next attempt is due its agent is limited by another task. */
TEST(a_next_attempt_waits_in_its_worktree)
{
	struct fixture f;
	const struct assignment *as;
	ov_time until;

	begin(&f, 2, 2, 8);
	as = run(&f, "T1");
	run(&f, "T2");
	end(&f, "T1", "'exit_code': 1");
	until = f.now + OV_HOUR;
	limit(&f, "T2", until);
	f.now += OV_MINUTE;
	settle(&f);
	assert_int_equal(waits(&f, "T1"), WAITING_AGENT);
	assert_int_equal(as->stage, STAGE_START);
	assert_int_equal(f.wake_at, until);
	f.now = until;
	settle(&f);
	assert_resumed(&f, "T1", as);
	fixture_done(&f);
}

/*
 * Work of another agent is not held up: the newest that waits gives its worker back, with its
 * work kept.
 */
TEST(a_worker_is_given_back_where_another_task_needs_it)
{
	struct fixture f;
	const struct assignment *first, *second;
	struct slots sl;
	ov_time until;

	begin(&f, 4, 2, 2);
	first = run(&f, "T1");
	second = run(&f, "T2");
	until = f.now + OV_HOUR;
	limit(&f, "T1", until);
	limit(&f, "T2", until);
	/* Nobody else could begin. */
	assert_int_equal(second->stage, STAGE_WAITING);
	give_to_b(&f, "T3");
	settle(&f);
	assert_int_equal(first->stage, STAGE_WAITING);
	assert_int_equal(second->stage, STAGE_NONE);
	assert_int_equal(node_of(&f, "T2")->block.kind, BLOCK_RATE_LIMITED);
	assert_true(str_contains(second->reason, STR("workers.max_waiting")));
	assert_true(str_is(node_of(&f, "T3")->assignment->worker, "pool-2"));
	sl = counted(&f);
	assert_false(slots_held(&sl, WORKER_POOL));
	give_to_b(&f, "T4");
	settle(&f);
	assert_int_equal(first->stage, STAGE_NONE);
	assert_true(str_is(node_of(&f, "T4")->assignment->worker, "pool-1"));
	check_invariants(f.state, &f.policy);
	/* Both continue later, from what they left. */
	f.now = until;
	settle(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_QUEUED);
	assert_true(node_of(&f, "T1")->next.handover.n && node_of(&f, "T2")->next.handover.n);
	fixture_done(&f);
}

/* What waits for a person's review gives nothing back: then nothing begins, and status says why. */
TEST(who_waits_for_review_keeps_the_place)
{
	struct fixture f;
	struct slots sl;
	const struct assignment *as;

	begin(&f, 4, 1, 2);
	f.policy.review = REVIEW_ALWAYS;
	bring_to(&f, "T1", STAGE_REVIEW);
	as = run(&f, "T2");
	ask(&f, "T2");
	assert_int_equal(as->stage, STAGE_NONE);
	bring_to(&f, "T3", STAGE_REVIEW);
	settle(&f);
	sl = counted(&f);
	assert_true(slots_held(&sl, WORKER_POOL));
	assert_string_equal(slots_text(&f.arena, &sl, WORKER_POOL).p,
			"2 tasks wait (2 for review); nothing new is started: workers.max_waiting");
	assert_null(node_of(&f, "T4")->assignment);
	fixture_done(&f);
}

/* What is under way may come to wait, too: there are never more than that. */
TEST(no_more_wait_than_may)
{
	struct fixture f;
	struct slots sl;

	begin(&f, 6, 2, 3);
	f.policy.review = REVIEW_ALWAYS;
	bring_to(&f, "T1", STAGE_REVIEW);
	bring_to(&f, "T2", STAGE_REVIEW);
	bring_to(&f, "T3", STAGE_RUNNING);
	assert_null(node_of(&f, "T4")->assignment);
	sl = counted(&f);
	assert_true(slots_held(&sl, WORKER_POOL));
	assert_string_equal(slots_text(&f.arena, &sl, WORKER_POOL).p,
			"2 tasks wait (2 for review), 1 is under way; nothing new is started: "
			"workers.max_waiting");
	bring_to(&f, "T3", STAGE_REVIEW);
	sl = counted(&f);
	assert_int_equal(sl.of[WORKER_POOL].waiting, 3);
	assert_int_equal(f.state->workers.n, 3);
	fixture_done(&f);
}

/* All slots can be used where fewer may wait. */
TEST(fewer_may_wait_than_there_are_slots)
{
	struct fixture f;

	begin(&f, 4, 3, 1);
	bring_to(&f, "T1", STAGE_RUNNING);
	bring_to(&f, "T2", STAGE_RUNNING);
	bring_to(&f, "T3", STAGE_RUNNING);
	assert_null(node_of(&f, "T4")->assignment);
	fixture_done(&f);
}

TEST(a_worker_can_be_reset_meanwhile)
{
	struct fixture f;
	const struct assignment *as;
	ov_time until;

	begin(&f, 1, 1, 8);
	as = run(&f, "T1");
	until = f.now + OV_HOUR;
	limit(&f, "T1", until);
	submit(&f, "worker.reset", json(&f, "{'worker': 'pool-1', 'reason': 'r'}"));
	assert_int_equal(as->stage, STAGE_NONE);
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	settle(&f);
	assert_int_equal(last_event(&f, EV_EFFECT_INTENDED)->kind, EV_EFFECT_INTENDED);
	assert_true(state_worker(f.state, STR("pool-1"))->effect != NULL);
	check_invariants(f.state, &f.policy);
	fixture_done(&f);
}

TEST(a_worktree_that_is_gone_is_made_again_later)
{
	struct fixture f;
	const struct assignment *as;
	ov_time until;

	begin(&f, 1, 1, 8);
	as = run(&f, "T1");
	until = f.now + OV_HOUR;
	limit(&f, "T1", until);
	submit(&f, "patrol.report",
			json(&f,
					"{'facts': [{'finding': 'no_worktree', 'worker': 'pool-1', "
					"'detail': 'gone'}]}"));
	assert_int_equal(as->stage, STAGE_NONE);
	f.now = until;
	settle(&f);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_WORKSPACE);
	fixture_done(&f);
}

/* Settled while it waits: its worker is free at once. */
TEST(what_is_cancelled_meanwhile_frees_its_worker)
{
	struct fixture f;

	begin(&f, 1, 1, 8);
	run(&f, "T1");
	limit(&f, "T1", f.now + OV_HOUR);
	submit(&f, "work.cancel", json(&f, "{'node': 'T1', 'reason': 'r'}"));
	settle(&f);
	assert_int_equal(f.state->workers.p[0]->status, WORKER_IDLE);
	check_invariants(f.state, &f.policy);
	fixture_done(&f);
}

TEST_MAIN
