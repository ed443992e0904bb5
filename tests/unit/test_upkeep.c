/*
 * What patrols find: each finding has its repair and its cap, and counts until the worker gets on.
 */
#include "tests/test.h"

#include "core/state/snapshot.h"
#include "tests/unit/core_fixture.h"

TEST_MAIN

#define HARVESTED "'head': 'h', 'tree': 't', 'commits': 0, 'files_changed': 0"

static void begin(struct fixture *f)
{
	fixture_init(f);
	create_goal(f, flat_plan(f, 1), "normal");
	settle(f);
	bring_to(f, "T1", STAGE_RUNNING);
}

static struct worker *worker(struct fixture *f)
{
	return f->state->workers.p[0];
}

static struct assignment *as_of(struct fixture *f)
{
	return node_of(f, "T1")->assignment;
}

static void report(struct fixture *f, enum patrol_fact fact, const char *at, const char *detail)
{
	submit(f, "patrol.report",
			json(f, "{'facts': [{'finding': '%s', 'worker': '%s', 'detail': '%s'}]}",
					status_name(&patrol_facts, (int)fact), at, detail));
	check_invariants(f->state, &f->policy);
}

static size_t asked(const struct fixture *f, const char *kind)
{
	size_t n = 0;

	for (size_t i = 0; i < f->state->escalations.n; i++)
		n += str_is(f->state->escalations.p[i]->kind, kind);
	return n;
}

static void lose(struct fixture *f)
{
	bring_to(f, "T1", STAGE_RUNNING);
	submit(f, "run.end",
			json(f, "{'run': '" STR_FMT "', 'exit_code': -1, 'lost': true}",
					STR_ARG(as_of(f)->run_id)));
	settle(f);
	effect_end(f, "T1", FX_HARVEST, "ok", "", HARVESTED);
	check_invariants(f->state, &f->policy);
}

static void lost_runs(bool terminal, enum patrol_fact fact)
{
	static struct policy_agent agents[2];
	struct fixture f;

	begin(&f);
	memcpy(agents, f.policy.agents, sizeof(agents));
	agents[0].terminal = agents[1].terminal = terminal;
	f.policy.agents = agents;
	for (int i = 1; i <= f.policy.patrol_restarts; i++) {
		lose(&f);
		assert_int_equal(worker(&f)->repairs[fact], i);
		assert_int_equal(count_events(&f, EV_PATROL_FOUND), i);
		assert_int_equal(worker(&f)->status, WORKER_WORKING);
		/* After a wait. */
		assert_true(as_of(&f)->not_before > f.now);
		f.now += OV_DAY;
		settle(&f);
	}
	lose(&f);
	assert_int_equal(worker(&f)->status, WORKER_ERROR);
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	assert_int_equal(asked(&f, status_name(&patrol_facts, (int)fact)), 1);
	assert_true(str_is(value_str_at(last_event(&f, EV_PATROL_FOUND)->data, "repair"), "none"));
	/* Whoever resets it gives it a new beginning. */
	submit(&f, "worker.reset", json(&f, "{'worker': 'pool-1'}"));
	settle(&f);
	submit(&f, "effect.end",
			json(&f, "{'effect': '" STR_FMT "', 'outcome': 'ok', 'data': {}}",
					STR_ARG(worker(&f)->effect->id)));
	assert_int_equal(worker(&f)->status, WORKER_IDLE);
	assert_int_equal(worker(&f)->repairs[fact], 0);
	fixture_done(&f);
}

/*
 * A worker in error is what one wants to be rid of: its task waits for a person, and is not lost.
 */
TEST(one_in_error_can_be_removed)
{
	struct fixture f;

	begin(&f);
	f.policy.patrol_restarts = 0;
	lose(&f);
	assert_int_equal(worker(&f)->status, WORKER_ERROR);
	submit(&f, "worker.nuke", json(&f, "{'worker': 'pool-1'}"));
	settle(&f);
	submit(&f, "effect.end",
			json(&f, "{'effect': '" STR_FMT "', 'outcome': 'ok', 'data': {}}",
					STR_ARG(worker(&f)->effect->id)));
	assert_int_equal(count_events(&f, EV_WORKER_REMOVED), 1);
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	check_invariants(f.state, &f.policy);
	submit(&f, "work.update",
			json(&f, "{'node': 'T1', 'status': 'queued', 'reason': 'again'}"));
	drain(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	fixture_done(&f);
}

TEST(lost_runs_are_begun_again_within_a_cap)
{
	lost_runs(false, PATROL_PROCESS_GONE);
	lost_runs(true, PATROL_SESSION_GONE);
}

TEST(a_run_that_ends_well_clears_the_count)
{
	struct fixture f;

	begin(&f);
	lose(&f);
	assert_int_equal(worker(&f)->repairs[PATROL_PROCESS_GONE], 1);
	f.now += OV_DAY;
	settle(&f);
	bring_to(&f, "T1", STAGE_RUNNING);
	run_end(&f, "T1", 1);
	assert_int_equal(worker(&f)->repairs[PATROL_PROCESS_GONE], 1);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "", HARVESTED);
	f.now += OV_DAY;
	settle(&f);
	bring_to(&f, "T1", STAGE_RUNNING);
	run_end(&f, "T1", 0);
	assert_int_equal(worker(&f)->repairs[PATROL_PROCESS_GONE], 0);
	fixture_done(&f);
}

/*
 * The run is stopped; its harvest fails; then the worktree is made again, and after that too often.
 */
TEST(a_busy_worker_gets_its_worktree_back)
{
	struct fixture f;

	begin(&f);
	f.policy.retry_max_attempts = 10;
	for (int i = 1; i <= f.policy.patrol_restarts + 1; i++) {
		bring_to(&f, "T1", STAGE_RUNNING);
		report(&f, PATROL_NO_WORKTREE, "pool-1", "gone");
		assert_int_equal(as_of(&f)->stage, STAGE_STOP);
		assert_int_equal(worker(&f)->repairs[PATROL_NO_WORKTREE], i);
		/* Once is enough while it ends. */
		report(&f, PATROL_NO_WORKTREE, "pool-1", "gone");
		assert_int_equal(worker(&f)->repairs[PATROL_NO_WORKTREE], i);
		settle(&f);
		effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
		run_end(&f, "T1", 143);
		settle(&f);
		effect_end(&f, "T1", FX_HARVEST, "error", "no worktree", "");
		assert_int_equal(as_of(&f)->stage, STAGE_HARVEST);
		report(&f, PATROL_NO_WORKTREE, "pool-1", "gone");
		if (i > f.policy.patrol_restarts)
			break;
		assert_int_equal(worker(&f)->repairs[PATROL_NO_WORKTREE], i);
		assert_int_equal(as_of(&f)->stage, STAGE_WORKSPACE);
		f.now += OV_DAY;
		settle(&f);
	}
	assert_int_equal(worker(&f)->status, WORKER_ERROR);
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	fixture_done(&f);
}

/* A stopped run is harvested; after the last one that may be stopped so a person is asked. */
TEST(work_is_kept_before_a_person_is_asked)
{
	struct fixture f;

	begin(&f);
	f.policy.retry_max_attempts = 10;
	for (int i = 1; i <= f.policy.patrol_restarts + 1; i++) {
		bring_to(&f, "T1", STAGE_RUNNING);
		report(&f, PATROL_NO_WORKTREE, "pool-1", "gone");
		settle(&f);
		effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
		/* It ends well when it is told to: that does not show that its worktree stays. */
		run_end(&f, "T1", 0);
		assert_int_equal(worker(&f)->repairs[PATROL_NO_WORKTREE], i);
		settle(&f);
		effect_end(&f, "T1", FX_HARVEST, "ok", "",
				"'head': 'h', 'tree': 't', 'commits': 1, 'files_changed': 1");
		f.now += OV_DAY;
		settle(&f);
	}
	assert_int_equal(count_events(&f, EV_RUN_CREATED), f.policy.patrol_restarts + 1);
	assert_int_equal(count_events(&f, EV_RUN_HARVESTED), f.policy.patrol_restarts + 1);
	assert_int_equal(worker(&f)->status, WORKER_ERROR);
	assert_int_equal(node_of(&f, "T1")->status, NODE_BLOCKED);
	assert_int_equal(asked(&f, "no_worktree"), 1);
	fixture_done(&f);
}

/* The folder is gone when the run has ended, well: the same again, so often and no more. */
TEST(runs_that_end_well_without_a_worktree)
{
	struct fixture f;

	begin(&f);
	f.policy.retry_max_attempts = 10;
	for (int i = 1; i <= f.policy.patrol_restarts + 1; i++) {
		bring_to(&f, "T1", STAGE_RUNNING);
		run_end(&f, "T1", 0);
		report(&f, PATROL_NO_WORKTREE, "pool-1", "gone");
		assert_int_equal(worker(&f)->repairs[PATROL_NO_WORKTREE], i);
		f.now += OV_DAY;
		settle(&f);
	}
	assert_int_equal(count_events(&f, EV_RUN_CREATED), f.policy.patrol_restarts + 1);
	assert_int_equal(worker(&f)->status, WORKER_ERROR);
	fixture_done(&f);
}

TEST(accepted_work_clears_the_count)
{
	struct fixture f;

	begin(&f);
	report(&f, PATROL_NO_WORKTREE, "pool-1", "gone");
	settle(&f);
	effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
	run_end(&f, "T1", 143);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "", HARVESTED);
	settle(&f);
	assert_int_equal(worker(&f)->repairs[PATROL_NO_WORKTREE], 1);
	bring_to(&f, "T1", STAGE_ACCEPT);
	assert_int_equal(worker(&f)->repairs[PATROL_NO_WORKTREE], 1);
	accept_node(&f, "T1");
	assert_int_equal(worker(&f)->repairs[PATROL_NO_WORKTREE], 0);
	fixture_done(&f);
}

/* What is repaired by the next use is recorded once; what is nobody's is asked once, ever. */
TEST(what_is_only_told)
{
	static const struct {
		enum patrol_fact fact;
		const char *worker;
		size_t questions;
	} cases[] = {
		{ PATROL_STALE_REBASE, "pool-1", 0 },
		{ PATROL_NO_WORKTREE, "pool-1", 0 },
		{ PATROL_STRAY_WORKTREE, "", 1 },
		{ PATROL_ORPHANED_CLAIM, "", 1 },
		{ PATROL_MISSING_WORKER, "", 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;

		begin(&f);
		bring_to(&f, "T1", STAGE_ACCEPT);
		accept_node(&f, "T1");
		settle(&f);
		assert_int_equal(worker(&f)->status, WORKER_IDLE);
		for (int k = 0; k < 2; k++)
			report(&f, cases[i].fact, cases[i].worker, "seen");
		assert_int_equal(count_events(&f, EV_PATROL_FOUND), 1);
		assert_int_equal(asked(&f, "patrol"), cases[i].questions);
		if (cases[i].questions) {
			submit(&f, "inbox.dismiss",
					json(&f, "{'number': %lld, 'reason': 'r'}",
							(long long)f.state->escalations.p[0]
									->number));
			report(&f, cases[i].fact, cases[i].worker, "seen");
			assert_int_equal(asked(&f, "patrol"), 1);
			report(&f, cases[i].fact, cases[i].worker, "another one");
			assert_int_equal(asked(&f, "patrol"), 2);
		}
		assert_int_equal(worker(&f)->status, WORKER_IDLE);
		fixture_done(&f);
	}
}

/* Nothing that a report says of others, or wrongly, changes anything. */
TEST(reports_that_say_nothing)
{
	struct fixture f;
	size_t before;

	begin(&f);
	before = f.log.n;
	report(&f, PATROL_PROCESS_GONE, "pool-1", "only its end tells that");
	report(&f, PATROL_NO_WORKTREE, "nobody", "gone");
	report(&f, PATROL_STALE_REBASE, "", "gone");
	submit(&f, "patrol.report", json(&f, "{'facts': [{'finding': 'what'}, 3]}"));
	submit(&f, "patrol.report", json(&f, "{}"));
	assert_int_equal(f.log.n, before);
	report(&f, PATROL_UNDELIVERED, "pool-1", "typed 4 times");
	assert_int_equal(worker(&f)->repairs[PATROL_UNDELIVERED], 1);
	fixture_done(&f);
}
