#include "tests/test.h"

#include "base/vec.h"
#include "core/explain/explain_state.h"
#include "core/view/view.h"
#include "data/value/json.h"
#include "tests/unit/core_fixture.h"

static const struct policy_agent listening[] = {
	{ .name = STR("a"), .concurrency = 256, .input = true },
	{ .name = STR("b"), .concurrency = 1 },
};

/* A goal with one node T1 in each status, at rest. */
static void bring_node(struct fixture *f, enum node_status status)
{
	create_goal(f, flat_plan(f, 1), NULL);
	switch (status) {
	case NODE_TODO: break;
	case NODE_QUEUED:
		f->policy.workers_max = 0;
		settle(f);
		break;
	case NODE_IN_PROGRESS: bring_to(f, "T1", STAGE_RUNNING); break;
	case NODE_BLOCKED:
		bring_to(f, "T1", STAGE_RUNNING);
		submit(f, "work.update",
				json(f, "{'node': 'T1', 'status': 'blocked', 'reason': 'r'}"));
		drain(f);
		break;
	case NODE_DONE:
		bring_to(f, "T1", STAGE_ACCEPT);
		accept_node(f, "T1");
		break;
	case NODE_CANCELLED:
		submit(f, "work.cancel", json(f, "{'node': 'T1', 'reason': 'r'}"));
		break;
	case NODE_STATUS_COUNT: break;
	}
	assert_int_equal(node_of(f, "T1")->status, status);
}

#define TO(s) (1 + (int)(s))
#define NO 0
/* Every command in every status: what the node becomes, or that it is refused. */
static const struct {
	const char *command, *params;
	int to[NODE_STATUS_COUNT]; /* todo, queued, in_progress, blocked, done, cancelled */
} product[] = {
	{ "work.update", "'status': 'done'",
			{ TO(NODE_DONE), TO(NODE_DONE), TO(NODE_DONE), TO(NODE_DONE), NO, NO } },
	{ "work.update", "'status': 'blocked'",
			{ TO(NODE_BLOCKED), TO(NODE_BLOCKED), TO(NODE_BLOCKED), NO, NO, NO } },
	{ "work.update", "'status': 'queued'", { NO, NO, NO, TO(NODE_QUEUED), NO, NO } },
	{ "work.cancel", "'goal': ''",
			{ TO(NODE_CANCELLED), TO(NODE_CANCELLED), TO(NODE_CANCELLED),
					TO(NODE_CANCELLED), NO, NO } },
	{ "work.reopen", "'goal': ''", { NO, NO, NO, NO, TO(NODE_QUEUED), NO } },
	{ "work.reassign", "'agent': 'b'",
			{ TO(NODE_TODO), TO(NODE_QUEUED), TO(NODE_QUEUED), TO(NODE_QUEUED), NO,
					NO } },
	{ "work.rerun", "'goal': ''", { NO, NO, TO(NODE_QUEUED), NO, NO, NO } },
	{ "work.nudge", "'goal': ''", { NO, NO, TO(NODE_IN_PROGRESS), NO, NO, NO } },
	{ "queue.retry", "'goal': ''", { NO, NO, NO, NO, NO, NO } },
	{ "queue.drop", "'goal': ''", { NO, TO(NODE_BLOCKED), NO, NO, NO, NO } },
};

TEST(every_command_in_every_status)
{
	for (size_t i = 0; i < ARRAY_LEN(product); i++)
		for (int s = 0; s < NODE_STATUS_COUNT; s++) {
			struct fixture f;
			struct ov_err err = { 0 };
			int want = product[i].to[s], r;
			value *p;

			fixture_init(&f);
			f.policy.agents = listening;
			bring_node(&f, (enum node_status)s);
			p = json(&f, "{'node': 'T1', 'reason': 'because', %s}", product[i].params);
			r = try_submit(&f, product[i].command, p, &err);
			if ((r == 0) != (want != NO))
				fail_msg("%s %s while %s: %d %s", product[i].command,
						product[i].params, status_name(&node_statuses, s),
						r, err.msg);
			if (r < 0) {
				assert_int_equal(r, OV_ESTATE);
				assert_int_equal(node_of(&f, "T1")->status, s);
				/* It says how things stand, and what to type instead. */
				assert_non_null(strstr(err.msg, status_name(&node_statuses, s)));
				assert_non_null(strstr(err.next, "overseer "));
			} else {
				assert_int_equal(node_of(&f, "T1")->status, want - 1);
			}
			f.policy.workers_max = 2;
			drain(&f);
			/* Nothing is left hanging: finished, or in a person's hands. */
			assert_true(node_is_final(node_of(&f, "T1")) ||
					node_of(&f, "T1")->status == NODE_BLOCKED);
			fixture_done(&f);
		}
}

TEST(every_command_wants_its_reason_and_a_leaf)
{
	static const char *const commands[] = { "work.cancel", "work.reopen", "work.reassign",
		"work.rerun" };
	struct fixture f;

	fixture_init(&f);
	bring_node(&f, NODE_IN_PROGRESS);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		refused(&f, commands[i], json(&f, "{'node': 'T1', 'reason': '  '}"), OV_EINVALID);
		refused(&f, commands[i], json(&f, "{'node': 'P1', 'reason': 'r'}"), OV_ESTATE);
		refused(&f, commands[i], json(&f, "{'node': 'T9', 'reason': 'r'}"), OV_ENOTFOUND);
	}
	refused(&f, "queue.drop", json(&f, "{'node': 'T1', 'reason': ''}"), OV_EINVALID);
	refused(&f, "queue.drop", json(&f, "{'node': 'P1', 'reason': 'r'}"), OV_ESTATE);
	refused(&f, "queue.retry", json(&f, "{'node': 'P1'}"), OV_ESTATE);
	refused(&f, "run.stop", json(&f, "{'run': 'X', 'reason': 'r'}"), OV_ENOTFOUND);
	fixture_done(&f);
}

/* The run is stopped and harvested before the worker is free again. */
TEST(cancel_keeps_the_work)
{
	struct fixture f;
	const struct event *e;

	fixture_init(&f);
	bring_node(&f, NODE_IN_PROGRESS);
	submit(&f, "work.cancel", json(&f, "{'node': 'T1', 'reason': 'not wanted'}"));
	assert_int_equal(node_of(&f, "T1")->assignment->stage, STAGE_STOP);
	drain(&f);
	assert_int_equal(count_events(&f, EV_RUN_HARVESTED), 1);
	assert_null(node_of(&f, "T1")->assignment);
	e = last_event(&f, EV_GOAL_STATUS);
	assert_true(str_is(value_str_at(e->data, "to"), "cancelled"));
	fixture_done(&f);
}

TEST(cancel_frees_whoever_waits_for_it)
{
	struct fixture f;
	struct explain x;
	const value *said;

	fixture_init(&f);
	create_goal(&f,
			json(&f,
					"{'phases': [{'id': 'P1', 'name': 'n', 'tasks': ["
					"{'id': 'T1', 'name': 'n', 'acceptance': ['x']}, "
					"{'id': 'T2', 'name': 'n', 'acceptance': ['x'], "
					"'deps': ['T1']}]}]}"),
			NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	assert_int_equal(node_of(&f, "T2")->status, NODE_TODO);
	said = submit(&f, "work.cancel", json(&f, "{'node': 'T1', 'reason': 'r'}"));
	/* Whoever cancels is told what begins because of it. */
	assert_int_equal(value_int_at(said, "released_count"), 1);
	assert_true(str_is(value_item(value_at(said, "released"), 0)->s, "T2"));
	x = (struct explain){ &f.arena, f.state, &f.policy, &f.observations, f.now, STR("") };
	assert_true(str_contains(json_text(&f.arena, explain_node(&x, node_of(&f, "T2"))),
			STR("T2 depends on T1, which was cancelled: it does not wait for it")));
	drain(&f);
	assert_int_equal(node_of(&f, "T2")->status, NODE_DONE);
	assert_int_equal(vec_last(&f.state->goals)->status, GOAL_COMPLETED);
	fixture_done(&f);
}

/* Also where it was the last of a phase; not where something else is waited for, too. */
TEST(cancel_tells_who_can_begin)
{
	struct fixture f;
	const value *said;

	fixture_init(&f);
	create_goal(&f,
			json(&f,
					"{'sequential': true, 'phases': [{'id': 'P1', 'name': 'n', "
					"'tasks': ["
					"{'id': 'T1', 'name': 'n', 'acceptance': ['x']}, "
					"{'id': 'T2', 'name': 'n', 'acceptance': ['x']}]}, "
					"{'id': 'P2', 'name': 'n', 'tasks': ["
					"{'id': 'T3', 'name': 'n', 'acceptance': ['x']}, "
					"{'id': 'T4', 'name': 'n', 'acceptance': ['x'], "
					"'deps': ['T3']}]}]}"),
			NULL);
	said = submit(&f, "work.cancel", json(&f, "{'node': 'T1', 'reason': 'r'}"));
	assert_int_equal(value_int_at(said, "released_count"), 0);
	said = submit(&f, "work.cancel", json(&f, "{'node': 'T2', 'reason': 'r'}"));
	assert_int_equal(value_int_at(said, "released_count"), 1);
	assert_true(str_is(value_item(value_at(said, "released"), 0)->s, "T3"));
	fixture_done(&f);
}

/* Declared done, its commits are where they are: that is said. */
TEST(done_tells_what_was_not_merged)
{
	struct fixture f;
	const value *said;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 3), NULL);
	bring_to(&f, "T1", STAGE_REBASE);
	said = submit(&f, "work.update",
			json(&f, "{'node': 'T1', 'status': 'done', 'reason': 'r'}"));
	assert_true(str_starts(value_str_at(value_at(said, "unmerged"), "branch"),
			STR("overseer/")));
	assert_false(value_bool_at(value_at(said, "unmerged"), "run_stops"));
	bring_to(&f, "T2", STAGE_RUNNING);
	said = submit(&f, "work.update",
			json(&f, "{'node': 'T2', 'status': 'done', 'reason': 'r'}"));
	assert_true(value_bool_at(value_at(said, "unmerged"), "run_stops"));
	said = submit(&f, "work.update",
			json(&f, "{'node': 'T3', 'status': 'done', 'reason': 'r'}"));
	assert_null(value_at(said, "unmerged"));
	fixture_done(&f);
}

TEST(reopen_brings_parents_and_the_goal_back)
{
	struct fixture f;
	const struct event *e;

	fixture_init(&f);
	bring_node(&f, NODE_DONE);
	settle(&f);
	assert_int_equal(vec_last(&f.state->goals)->status, GOAL_COMPLETED);
	submit(&f, "work.reopen", json(&f, "{'node': 'T1', 'reason': 'it is wrong'}"));
	assert_int_equal(vec_last(&f.state->goals)->status, GOAL_ACTIVE);
	assert_int_equal(node_of(&f, "P1")->status, NODE_QUEUED);
	e = last_event(&f, EV_NODE_STATUS);
	assert_true(value_bool_at(e->data, "override"));
	assert_true(str_is(e->actor, "human:tester"));
	assert_true(str_is(value_str_at(e->data, "reason"), "it is wrong"));
	e = last_event(&f, EV_GOAL_STATUS);
	assert_true(value_bool_at(e->data, "override"));
	drain(&f);
	assert_int_equal(vec_last(&f.state->goals)->status, GOAL_COMPLETED);
	assert_int_equal(node_of(&f, "T1")->work.epoch, 2);
	fixture_done(&f);
}

TEST(reopen_in_a_cancelled_goal_is_refused)
{
	struct event e = { .kind = EV_GOAL_STATUS };
	struct fixture f;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 2), NULL);
	bring_to(&f, "T1", STAGE_ACCEPT);
	accept_node(&f, "T1");
	e.goal = arena_str(&f.arena, vec_last(&f.state->goals)->id);
	e.data = json(&f, "{'from': 'active', 'to': 'cancelled', 'reason': 'x'}");
	assert_int_equal(append(&f, &e, NULL), 0);
	assert_non_null(strstr(refused(&f, "work.reopen", json(&f, "{'node': 'T1', 'reason': 'r'}"),
					       OV_ESTATE),
			"archived"));
	fixture_done(&f);
}

TEST(reassign_changes_agent_and_epoch)
{
	struct fixture f;

	fixture_init(&f);
	bring_node(&f, NODE_IN_PROGRESS);
	assert_true(str_is(node_of(&f, "T1")->assignment->agent, "a"));
	submit(&f, "work.reassign",
			json(&f, "{'node': 'T1', 'agent': 'b', 'reason': 'b knows it'}"));
	assert_true(str_is(node_of(&f, "T1")->next.agent, "b"));
	/* Nobody else begins before what is there was kept. */
	settle(&f);
	assert_int_equal(node_of(&f, "T1")->work.epoch, 1);
	effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
	run_end(&f, "T1", 143);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 1, 'files_changed': 2");
	settle(&f);
	assert_true(str_is(node_of(&f, "T1")->assignment->agent, "b"));
	assert_int_equal(node_of(&f, "T1")->work.epoch, 2);
	assert_int_equal(node_of(&f, "T1")->next.agent.n, 0);
	assert_int_equal(count_events(&f, EV_NODE_FAILED), 0);
	fixture_done(&f);
}

/* Whoever takes it up by a person's word has all attempts before him, as after the ladder's. */
TEST(reassign_forgives_the_failures_of_the_one_before)
{
	struct fixture f;

	fixture_init(&f);
	bring_node(&f, NODE_IN_PROGRESS);
	run_end(&f, "T1", 1);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 0, 'files_changed': 0");
	assert_int_equal(node_of(&f, "T1")->work.failures[CAUSE_RUN], 1);
	submit(&f, "work.reassign", json(&f, "{'node': 'T1', 'reason': 'b knows it'}"));
	assert_int_equal(node_of(&f, "T1")->work.failures[CAUSE_RUN], 0);
	fixture_done(&f);
}

TEST(reassign_to_nobody_is_refused)
{
	static const str only_a[] = { STR("a") };
	struct fixture f;

	fixture_init(&f);
	bring_node(&f, NODE_IN_PROGRESS);
	assert_non_null(strstr(refused(&f, "work.reassign",
					       json(&f,
							       "{'node': 'T1', 'agent': 'c', "
							       "'reason': 'r'}"),
					       OV_EINVALID),
			"a, b"));
	f.policy.allow_agents = only_a;
	refused(&f, "work.reassign", json(&f, "{'node': 'T1', 'agent': 'b', 'reason': 'r'}"),
			OV_EUNAUTHORIZED);
	submit(&f, "work.reassign", json(&f, "{'node': 'T1', 'reason': 'r'}"));
	fixture_done(&f);
}

/* The same assignment, a new run with a new dispatch; the end of the old one is no failure. */
static void rerun(bool while_starting)
{
	struct fixture f;
	const struct assignment *as;
	str run, dispatch, assignment;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_START);
	if (!while_starting)
		bring_to(&f, "T1", STAGE_RUNNING);
	as = node_of(&f, "T1")->assignment;
	run = arena_str(&f.arena, as->run_id);
	dispatch = arena_str(&f.arena, as->run->dispatch_id);
	assignment = arena_str(&f.arena, as->id);
	submit(&f, "work.rerun", json(&f, "{'node': 'T1', 'reason': 'start over'}"));
	refused(&f, "work.rerun", json(&f, "{'node': 'T1', 'reason': 'again'}"), OV_ESTATE);
	if (while_starting)
		effect_end(&f, "T1", FX_RUN_START, "ok", "", "");
	settle(&f);
	effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
	run_end(&f, "T1", 143);
	bring_to(&f, "T1", STAGE_RUNNING);
	as = node_of(&f, "T1")->assignment;
	assert_true(str_eq(as->id, assignment));
	assert_false(str_eq(as->run_id, run));
	assert_false(str_eq(as->run->dispatch_id, dispatch));
	assert_int_equal(as->attempt, 2);
	assert_false(as->stopping);
	assert_true(str_contains(as->feedback, STR("start over")));
	assert_int_equal(node_of(&f, "T1")->status, NODE_IN_PROGRESS);
	assert_int_equal(count_events(&f, EV_NODE_FAILED), 0);
	drain(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	fixture_done(&f);
}

TEST(rerun_is_a_new_run)
{
	rerun(false);
	rerun(true);
}

TEST(run_stop_pauses_the_node)
{
	struct fixture f;
	const struct node *n;
	str run;

	fixture_init(&f);
	bring_node(&f, NODE_IN_PROGRESS);
	run = arena_str(&f.arena, node_of(&f, "T1")->assignment->run_id);
	submit(&f, "run.stop", json(&f, "{'run': '" STR_FMT "', 'reason': 'lunch'}", STR_ARG(run)));
	n = node_of(&f, "T1");
	assert_int_equal(n->status, NODE_BLOCKED);
	assert_int_equal(n->block.kind, BLOCK_PAUSED);
	assert_true(str_is(n->block.by, "human:tester"));
	assert_true(str_contains(n->block.when, STR("overseer work unblock")));
	/* Twice is no better, neither while it is being stopped nor after. */
	refused(&f, "run.stop", json(&f, "{'run': '" STR_FMT "', 'reason': 'r'}", STR_ARG(run)),
			OV_ESTATE);
	settle(&f);
	effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
	refused(&f, "run.stop", json(&f, "{'run': '" STR_FMT "', 'reason': 'r'}", STR_ARG(run)),
			OV_ESTATE);
	drain(&f);
	assert_int_equal(count_events(&f, EV_RUN_HARVESTED), 1);
	assert_non_null(strstr(refused(&f, "run.stop",
					       json(&f, "{'run': '" STR_FMT "', 'reason': 'r'}",
							       STR_ARG(run)),
					       OV_ESTATE),
			"ended"));
	submit(&f, "work.update", json(&f, "{'node': 'T1', 'status': 'queued', 'reason': 'r'}"));
	drain(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	fixture_done(&f);
}

TEST(nudge_is_sent_once_at_a_time)
{
	struct fixture f;
	const struct event *e;
	str run;

	fixture_init(&f);
	f.policy.agents = listening;
	bring_node(&f, NODE_IN_PROGRESS);
	run = arena_str(&f.arena, node_of(&f, "T1")->assignment->run_id);
	submit(&f, "work.nudge", json(&f, "{'node': 'T1', 'message': 'is it the cache?'}"));
	e = last_event(&f, EV_DISPATCH_INTENDED);
	assert_true(str_is(value_str_at(e->data, "purpose"), "nudge"));
	assert_true(str_contains(value_str_at(e->data, "instruction"), STR("is it the cache?")));
	assert_true(str_contains(value_str_at(e->data, "instruction"),
			value_str_at(e->data, "nonce")));
	/* One thing at a time. */
	refused(&f, "work.nudge", json(&f, "{'node': 'T1', 'message': 'else'}"), OV_ESTATE);
	effect_end(&f, "T1", FX_SEND, "ok", "", "");
	assert_non_null(strstr(refused(&f, "work.nudge",
					       json(&f,
							       "{'node': 'T1', 'message': 'is it "
							       "the cache?'}"),
					       OV_ESTATE),
			"min_resend_interval"));
	submit(&f, "work.nudge",
			json(&f, "{'node': 'T1', 'message': 'is it the cache?', 'force': true}"));
	effect_end(&f, "T1", FX_SEND, "ok", "", "");
	f.now += f.policy.min_resend_interval;
	submit(&f, "work.nudge",
			json(&f, "{'node': '" STR_FMT "', 'message': 'is it the cache?'}",
					STR_ARG(run)));
	effect_end(&f, "T1", FX_SEND, "ok", "", "");
	fixture_done(&f);
}

static const struct policy_agent deaf[] = { { .name = STR("a"), .concurrency = 256 } };

TEST(nudge_of_one_who_cannot_hear)
{
	struct fixture f;

	fixture_init(&f);
	f.policy.agents = deaf;
	f.policy.agents_n = ARRAY_LEN(deaf);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	assert_non_null(strstr(refused(&f, "work.nudge", json(&f, "{'node': 'T1'}"), OV_ESTATE),
			"takes no input"));
	run_end(&f, "T1", 0);
	assert_non_null(strstr(refused(&f, "work.nudge", json(&f, "{'node': 'T1'}"), OV_ESTATE),
			"no run"));
	fixture_done(&f);
}

/* Whoever speaks of a run that is not the newest is out of date. */
/* Nobody would hear it before the work is accepted. */
TEST(a_worker_whose_work_is_judged_is_told_nothing)
{
	struct fixture f;

	fixture_init(&f);
	f.policy.agents = listening;
	f.policy.agents_n = ARRAY_LEN(listening);
	f.policy.check_command = STR("make");
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	submit(&f, "worker.message", json(&f, "{'worker': 'pool-1', 'text': 'and the cache'}"));
	effect_end(&f, "T1", FX_SEND, "ok", "", "");
	bring_to(&f, "T1", STAGE_CHECK);
	assert_non_null(strstr(refused(&f, "worker.message",
					       json(&f, "{'worker': 'pool-1', 'text': 'wait'}"),
					       OV_ESTATE),
			"checked or accepted"));
	fixture_done(&f);
}

/* It would be queued for ever, and nobody would know why. */
TEST(a_task_whose_worker_is_gone_is_with_a_person)
{
	struct fixture f;

	fixture_init(&f);
	submit(&f, "worker.add", json(&f, "{'worker': 'mine'}"));
	submit(&f, "worker.start", json(&f, "{'worker': 'mine', 'task': 'sweep'}"));
	submit(&f, "worker.nuke", json(&f, "{'worker': 'mine'}"));
	tick(&f);
	submit(&f, "effect.end",
			json(&f, "{'effect': '" STR_FMT "', 'outcome': 'ok', 'data': {}}",
					STR_ARG(state_worker(f.state, STR("mine"))->effect->id)));
	assert_null(state_worker(f.state, STR("mine")));
	assert_int_equal(node_of(&f, "t1")->status, NODE_BLOCKED);
	submit(&f, "work.update", json(&f, "{'node': 't1', 'status': 'queued', 'reason': 'r'}"));
	settle(&f);
	assert_int_equal(node_of(&f, "t1")->status, NODE_BLOCKED);
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	fixture_done(&f);
}

TEST(an_old_run_is_fenced)
{
	struct fixture f;
	str run;

	fixture_init(&f);
	f.policy.agents = listening;
	bring_node(&f, NODE_IN_PROGRESS);
	run = arena_str(&f.arena, node_of(&f, "T1")->assignment->run_id);
	submit(&f, "work.rerun", json(&f, "{'node': 'T1', 'reason': 'r'}"));
	settle(&f);
	effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
	run_end(&f, "T1", 143);
	bring_to(&f, "T1", STAGE_RUNNING);
	refused(&f, "run.stop", json(&f, "{'run': '" STR_FMT "', 'reason': 'r'}", STR_ARG(run)),
			OV_EFENCED);
	refused(&f, "work.nudge", json(&f, "{'node': '" STR_FMT "'}", STR_ARG(run)), OV_EFENCED);
	submit(&f, "work.reassign", json(&f, "{'node': 'T1', 'reason': 'r'}"));
	settle(&f);
	effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
	run_end(&f, "T1", 143);
	bring_to(&f, "T1", STAGE_HARVEST);
	effect_end(&f, "T1", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 0, 'files_changed': 0");
	bring_to(&f, "T1", STAGE_RUNNING);
	refused(&f, "run.stop", json(&f, "{'run': '" STR_FMT "', 'reason': 'r'}", STR_ARG(run)),
			OV_EFENCED);
	fixture_done(&f);
}

TEST(block_for_a_credential_says_what_and_where)
{
	static const char *const bad[] = { "'kind': 'credential'",
		"'kind': 'credential', 'needs': 'x'", "'needs': 'x', 'configure': 'y'",
		"'kind': 'paused', 'needs': 'x', 'configure': 'y'", "'kind': 'rate_limited'" };
	const struct node *n;
	struct fixture f;

	fixture_init(&f);
	bring_node(&f, NODE_IN_PROGRESS);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		refused(&f, "work.update",
				json(&f, "{'node': 'T1', 'status': 'blocked', 'reason': 'r', %s}",
						bad[i]),
				OV_EINVALID);
	submit(&f, "work.update",
			json(&f,
					"{'node': 'T1', 'status': 'blocked', 'reason': 'it cannot "
					"push', "
					"'kind': 'credential', 'needs': 'a deploy key', "
					"'configure': 'agents.script.env_pass'}"));
	n = node_of(&f, "T1");
	assert_int_equal(n->block.kind, BLOCK_CREDENTIAL);
	assert_true(str_contains(n->status_reason, STR("a deploy key")));
	assert_true(str_contains(n->status_reason, STR("agents.script.env_pass")));
	assert_true(str_contains(n->block.when, STR("agents.script.env_pass")));
	fixture_done(&f);
}

TEST(queue_retry_ends_a_wait)
{
	struct fixture f;
	const struct assignment *as;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_ACCEPT);
	/* Under way. */
	assert_non_null(strstr(refused(&f, "queue.retry", json(&f, "{'node': 'T1'}"), OV_ESTATE),
			"right now"));
	effect_end(&f, "T1", FX_ACCEPT, "dirty", "a.c", "");
	settle(&f);
	as = node_of(&f, "T1")->assignment;
	assert_true(as->not_before > f.now && !as->effect);
	submit(&f, "queue.retry", json(&f, "{'node': 'T1'}"));
	assert_int_equal(as->not_before, 0);
	refused(&f, "queue.retry", json(&f, "{'node': 'T1'}"), OV_ESTATE);
	bring_to(&f, "T1", STAGE_ACCEPT);
	accept_node(&f, "T1");
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	fixture_done(&f);
}

TEST(queue_drop_keeps_the_branch)
{
	struct fixture f;
	value *res;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_ACCEPT);
	refused(&f, "queue.drop", json(&f, "{'node': 'T1', 'reason': 'r'}"), OV_ESTATE);
	effect_end(&f, "T1", FX_ACCEPT, "dirty", "a.c", "");
	settle(&f);
	res = submit(&f, "queue.drop", json(&f, "{'node': 'T1', 'reason': 'not yet'}"));
	assert_true(str_starts(value_str_at(res, "branch"), STR("overseer/pool-1/")));
	assert_int_equal(node_of(&f, "T1")->block.kind, BLOCK_PERSON);
	assert_true(str_is(node_of(&f, "T1")->block.by, "human:tester"));
	assert_int_equal(state_worker(f.state, STR("pool-1"))->status, WORKER_IDLE);
	settle(&f);
	fixture_done(&f);
}

static str why_waits(struct fixture *f, const char *node)
{
	const value *list = value_at(view_queue(&f->arena, f->state, &f->policy,
						     f->telemetry.no_capacity, f->now),
			"dispatch");

	for (size_t i = 0; i < value_count(list); i++)
		if (str_is(value_str_at(value_item(list, i), "node"), node))
			return value_str_at(value_item(list, i), "state");
	return STR("not there");
}

TEST(the_queue_says_why)
{
	struct event e = { .kind = EV_AGENT_LIMITED }, b = { .kind = EV_GOAL_BUDGET };
	struct fixture f;

	fixture_init(&f);
	create_goal(&f,
			json(&f,
					"{'phases': [{'id': 'P1', 'name': 'n', 'tasks': ["
					"{'id': 'T1', 'name': 'n', 'acceptance': ['x'], 'role': "
					"'single'}, "
					"{'id': 'T2', 'name': 'n', 'acceptance': ['x'], 'role': "
					"'single'}, "
					"{'id': 'T3', 'name': 'n', 'acceptance': ['x']}, "
					"{'id': 'T4', 'name': 'n', 'acceptance': ['x']}]}]}"),
			NULL);
	f.policy.workers_max = 0;
	settle(&f);
	assert_true(str_is(why_waits(&f, "T4"), "worker"));
	f.policy.workers_max = 3;
	assert_true(str_is(why_waits(&f, "T4"), "next"));
	f.policy.workers_max = 2;
	settle(&f);
	/* T1 with b, T3 with a: T2 waits for b itself, T4 for a worker. */
	assert_true(str_is(why_waits(&f, "T2"), "concurrency"));
	assert_true(str_is(why_waits(&f, "T4"), "worker"));
	f.telemetry.no_capacity = STR("memory");
	assert_true(str_is(why_waits(&f, "T4"), "capacity"));
	e.data = json(&f, "{'agent': 'a', 'kind': 'rate_limited', 'detail': 'd', 'times': 1}");
	assert_int_equal(append(&f, &e, NULL), 0);
	assert_true(str_is(why_waits(&f, "T4"), "lane"));
	b.goal = arena_str(&f.arena, vec_last(&f.state->goals)->id);
	b.data = json(&f, "{'level': 'spent', 'resource': 'tokens', 'used': 2, 'limit': 1}");
	assert_int_equal(append(&f, &b, NULL), 0);
	assert_true(str_is(why_waits(&f, "T4"), "budget"));
	submit(&f, "goal.pause", json(&f, "{'goal': '" STR_FMT "'}", STR_ARG(b.goal)));
	assert_true(str_is(why_waits(&f, "T4"), "goal"));
	fixture_done(&f);
}

TEST_MAIN
