#include "tests/test.h"

#include "base/vec.h"
#include "core/life/ladder.h"
#include "data/value/json.h"
#include "tests/unit/core_fixture.h"

/* T1 runs, and falls silent for so long that it is stalled; somebody looked. */
static struct node *stall_node(struct fixture *f)
{
	struct node *n;

	fixture_init(f);
	f->policy.workers_max = 1;
	create_goal(f, flat_plan(f, 1), NULL);
	bring_to(f, "T1", STAGE_RUNNING);
	n = node_of(f, "T1");
	f->now += f->policy.idle_after / 2;
	observe(f, n)->looked_at = f->now;
	settle(f);
	f->now += f->policy.idle_after / 2;
	observe(f, n)->looked_at = f->now;
	settle(f);
	assert_int_equal(n->assignment->status, AS_STALLED);
	return n;
}

/* The wait before the next rung is over, and the run was looked at. */
static void wait_on(struct fixture *f, const struct node *n)
{
	f->now = MAX(n->stall.backoff_until, n->stall.sent_at + f->policy.min_resend_interval);
	if (n->assignment && n->assignment->run)
		observe(f, n)->looked_at = f->now;
	settle(f);
}

static void end_send(struct fixture *f)
{
	effect_end(f, "T1", FX_SEND, "ok", "", "");
	settle(f);
}

TEST(backoff)
{
	struct policy p = { .backoff_base = 2 * OV_MINUTE, .backoff_max = 30 * OV_MINUTE };

	assert_int_equal(recovery_backoff(&p, 1), 2 * OV_MINUTE);
	assert_int_equal(recovery_backoff(&p, 2), 4 * OV_MINUTE);
	assert_int_equal(recovery_backoff(&p, 4), 16 * OV_MINUTE);
	assert_int_equal(recovery_backoff(&p, 5), 30 * OV_MINUTE);
	assert_int_equal(recovery_backoff(&p, INT64_MAX), 30 * OV_MINUTE);
}

/* Nudge, nudge, reassign, a person; a rung that was skipped is not counted as taken. */
TEST(the_ladder)
{
	struct fixture f;
	struct node *n = stall_node(&f);

	assert_int_equal(n->stall.rungs[RUNG_NUDGE], 1);
	assert_int_equal(n->stall.skipped[RUNG_NUDGE], 0);
	end_send(&f);
	wait_on(&f, n);
	assert_int_equal(n->stall.rungs[RUNG_NUDGE], 2);
	end_send(&f);
	submit(&f, "dispatch.ack",
			json(&f, "{'dispatch': '" STR_FMT "', 'how': 'nonce'}",
					STR_ARG(vec_last(&n->assignment->dispatches)->id)));
	wait_on(&f, n);
	/*
	 * It arrived, so it is not sent again; nobody plans; two signals are quiet: somebody else.
	 */
	assert_int_equal(n->stall.skipped[RUNG_RESEND], 1);
	assert_int_equal(n->stall.skipped[RUNG_REPLAN], 1);
	assert_int_equal(n->stall.rungs[RUNG_REASSIGN], 1);
	assert_int_equal(n->stall.skipped[RUNG_REASSIGN], 0);
	assert_int_equal(n->stall.recoveries, 3);
	fixture_done(&f);
}

/*
 * A new daemon could not take the run over yet: no rung is taken, none given up, nobody is asked.
 */
TEST(what_is_not_in_our_hands_is_not_judged)
{
	struct fixture f;
	struct node *n = stall_node(&f);

	end_send(&f);
	map_remove(&f.observations, n->assignment->run_id);
	f.now += 3 * OV_HOUR;
	settle(&f);
	assert_int_equal(n->stall.rungs[RUNG_NUDGE], 1);
	assert_int_equal(n->stall.rungs[RUNG_RESEND] + n->stall.rungs[RUNG_REASSIGN] +
					n->stall.rungs[RUNG_ESCALATE],
			0);
	assert_int_equal(n->assignment->status, AS_STALLED);
	/* Once it is, the ladder goes on. */
	observe(&f, n)->looked_at = f.now;
	settle(&f);
	assert_int_equal(n->stall.rungs[RUNG_NUDGE], 2);
	fixture_done(&f);
}

static struct effect *plan_effect(struct fixture *f)
{
	list_each (it, &f->state->effects)
		if (list_entry(it, struct effect, link)->kind == FX_PLAN)
			return list_entry(it, struct effect, link);
	return NULL;
}

static void planner_says(struct fixture *f, const char *actions)
{
	struct effect *fx = plan_effect(f);

	assert_non_null(fx);
	submit(f, "effect.end",
			json(f,
					"{'effect': '" STR_FMT "', 'outcome': 'ok', 'detail': '', "
					"'data': {'model_ref': 'm', "
					"'template_id': 'diagnose.v1', 'template_hash': 'h', "
					"'actions': [%s]}}",
					STR_ARG(fx->id), actions));
	settle(f);
}

/* With the nudges used up and a model configured, it is asked once. */
static struct node *diagnosed(struct fixture *f)
{
	struct node *n = stall_node(f);

	f->policy.planner = f->policy.diagnose = true;
	end_send(f);
	wait_on(f, n);
	end_send(f);
	submit(f, "dispatch.ack",
			json(f, "{'dispatch': '" STR_FMT "', 'how': 'nonce'}",
					STR_ARG(vec_last(&n->assignment->dispatches)->id)));
	wait_on(f, n);
	assert_true(str_is(plan_effect(f)->purpose, "diagnose"));
	/* While it thinks, nothing else is done about the stall. */
	f->now += OV_HOUR;
	observe(f, n)->looked_at = f->now;
	settle(f);
	assert_int_equal(n->stall.recoveries, 2);
	return n;
}

TEST(a_model_may_choose_the_rung)
{
	struct fixture f;
	struct node *n = diagnosed(&f);

	planner_says(&f, "{'type': 'reassign'}, {'type': 'replan'}");
	assert_int_equal(n->stall.rungs[RUNG_REASSIGN], 1);
	assert_int_equal(n->stall.rungs[RUNG_REPLAN], 0);
	assert_int_equal(n->stall.advice.n, 0);
	fixture_done(&f);
}

TEST(a_model_asks_in_its_own_words)
{
	struct fixture f;
	struct node *n = diagnosed(&f);
	const struct escalation *x;

	planner_says(&f, "{'type': 'escalate', 'question': 'A or B?', 'options': ['done', 'B']}");
	assert_int_equal(f.state->escalations.n, 1);
	x = f.state->escalations.p[0];
	assert_true(str_is(x->question, "A or B?"));
	assert_int_equal(x->options.n, 2);
	/* Its options are words for the agent: "done" does not declare anything done. */
	submit(&f, "inbox.answer", json(&f, "{'number': 1, 'answer': 'done'}"));
	assert_int_not_equal(n->status, NODE_DONE);
	fixture_done(&f);
}

TEST(a_model_cannot_exceed_the_caps)
{
	struct fixture f;
	struct node *n = diagnosed(&f);

	/* Both nudges were used: the ladder goes on as if nothing had been advised. */
	planner_says(&f, "{'type': 'nudge', 'message': 'again'}");
	assert_int_equal(n->stall.rungs[RUNG_NUDGE], 2);
	assert_true(str_is(plan_effect(&f)->purpose, "split"));
	fixture_done(&f);
}

TEST(a_model_is_asked_once_per_episode)
{
	struct fixture f;
	struct node *n = diagnosed(&f);
	size_t asked = 0;

	planner_says(&f, "{'type': 'nonsense'}");
	for (size_t i = 0; i < f.log.n; i++)
		asked += f.log.p[i]->kind == EV_EFFECT_INTENDED &&
				str_is(value_str_at(f.log.p[i]->data, "purpose"), "diagnose");
	assert_int_equal(asked, 1);
	assert_true(str_is(plan_effect(&f)->purpose, "split"));
	assert_true(n->stall.open);
	fixture_done(&f);
}

/*
 * What the agent itself says of its limit counts before its exit status, and so does when it ends.
 */
TEST(a_limit_that_says_when_it_ends)
{
	struct fixture f;
	ov_time resets_at;
	struct node *n;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	n = node_of(&f, "T1");
	resets_at = f.now + 3 * OV_HOUR;
	submit(&f, "run.end",
			json(&f,
					"{'run': '" STR_FMT "', 'exit_code': 1, 'limit': "
					"'rate_limited', 'resets_at_ms': %lld}",
					STR_ARG(n->assignment->run_id), (long long)resets_at));
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 0, 'files_changed': 0");
	settle(&f);
	assert_int_equal(n->block.kind, BLOCK_RATE_LIMITED);
	assert_int_equal(n->block.until, resets_at);
	assert_int_equal(f.wake_at, resets_at);
	assert_int_equal(n->work.failures[CAUSE_RUN], 0);
	/* It keeps its worker, and the same assignment continues there. */
	assert_int_equal(f.state->workers.p[0]->status, WORKER_WORKING);
	assert_int_equal(n->assignment->stage, STAGE_WAITING);
	f.now = resets_at;
	settle(&f);
	assert_int_equal(n->status, NODE_IN_PROGRESS);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_RUN_START);
	assert_int_equal(n->work.epoch, 1);
	fixture_done(&f);
}

/* It holds others up: only an answer that does something closes it. */
TEST(a_login_takes_no_other_answer)
{
	struct fixture f;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	run_end(&f, "T1", 77);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 0, 'files_changed': 0");
	settle(&f);
	refused(&f, "inbox.answer", json(&f, "{'number': 1, 'answer': 'later'}"), OV_EINVALID);
	submit(&f, "inbox.answer", json(&f, "{'number': 1, 'answer': 'done'}"));
	settle(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_IN_PROGRESS);
	assert_int_equal(node_of(&f, "T1")->assignment->attempt, 2);
	assert_int_equal(f.state->lanes.n, 0);
	fixture_done(&f);
}

TEST_MAIN
