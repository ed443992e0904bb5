/*
 * Two things that happen at once, or late, or in the wrong order; each left something lying once.
 */
#include "tests/test.h"

#include "base/str.h"
#include "base/vec.h"
#include "tests/unit/core_fixture.h"

TEST_MAIN

static void run_all(struct fixture *f, size_t n)
{
	fixture_init(f);
	f->policy.workers_max = (int64_t)n;
	f->policy.max_run = 0;
	create_goal(f, flat_plan(f, n), NULL);
	for (size_t i = 1; i <= n; i++)
		bring_to(f, arena_cstr(&f->arena, arena_printf(&f->arena, "T%zu", i)),
				STAGE_RUNNING);
}

static void look_at(struct fixture *f, const char *node)
{
	observe(f, node_of(f, node))->looked_at = f->now;
}

/* All tasks T1..Tn run and fall silent until they are stalled. */
static void stall_all(struct fixture *f, size_t n)
{
	run_all(f, n);
	for (int half = 0; half < 2; half++) {
		f->now += f->policy.idle_after / 2;
		for (size_t i = 1; i <= n; i++)
			look_at(f, arena_cstr(&f->arena, arena_printf(&f->arena, "T%zu", i)));
		settle(f);
	}
	assert_int_equal(node_of(f, "T1")->assignment->status, AS_STALLED);
}

/* T1 is stalled, runs on, and a person was asked: no two signals say that it is dead. */
static struct node *escalated(struct fixture *f)
{
	struct node *n;

	stall_all(f, 1);
	n = node_of(f, "T1");
	observe(f, n)->process_unknown = observe(f, n)->tree_unknown = true;
	for (int i = 0; i < 50 && !n->stall.rungs[RUNG_ESCALATE]; i++) {
		if (n->assignment->effect)
			effect_end(f, "T1", FX_SEND, "ok", "", "");
		f->now += OV_MINUTE;
		look_at(f, "T1");
		settle(f);
	}
	assert_int_equal(n->stall.rungs[RUNG_ESCALATE], 1);
	assert_int_equal(n->assignment->stage, STAGE_RUNNING);
	assert_int_equal(vec_last(&f->state->escalations)->status, ESC_OPEN);
	return n;
}

static value *entry(struct fixture *f, const char *more)
{
	return json(f, "{'number': %lld%s}", (long long)vec_last(&f->state->escalations)->number,
			more);
}

static void report(struct fixture *f, const struct node *n, const char *update)
{
	f->entropy++;
	submit(f, "run.report",
			json(f,
					"{'run': '" STR_FMT
					"', 'identity': 'i', 'offset': %llu, 'update': %s}",
					STR_ARG(n->assignment->run_id),
					(unsigned long long)f->entropy, update));
}

/* A run that had begun before says nothing about the login; one that begins after it does. */
TEST(a_login_is_back_when_a_run_that_began_later_works)
{
	struct fixture f;

	run_all(&f, 3);
	run_end(&f, "T1", 77);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 0, 'files_changed': 0");
	settle(&f);
	assert_int_equal(node_of(&f, "T1")->block.kind, BLOCK_LOGIN);
	run_end(&f, "T2", 77);
	settle(&f);
	effect_end(&f, "T2", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 0, 'files_changed': 0");
	settle(&f);
	assert_int_equal(node_of(&f, "T2")->block.kind, BLOCK_LOGIN);
	bring_to(&f, "T3", STAGE_ACCEPT);
	assert_int_equal(f.state->lanes.n, 1);
	assert_int_equal(node_of(&f, "T1")->block.kind, BLOCK_LOGIN);
	/* Somebody who logged it in unblocks one of them; that it works tells the rest. */
	f.now += OV_MINUTE;
	submit(&f, "work.update", json(&f, "{'node': 'T1', 'status': 'queued', 'reason': 'r'}"));
	assert_int_equal(f.state->lanes.n, 0);
	assert_int_equal(node_of(&f, "T2")->block.kind, BLOCK_LOGIN);
	bring_to(&f, "T1", STAGE_REBASE);
	assert_int_equal(node_of(&f, "T2")->status, NODE_IN_PROGRESS);
	assert_int_not_equal(vec_last(&f.state->escalations)->status, ESC_OPEN);
	fixture_done(&f);
}

/* It holds a worker, and nobody else would notice. */
TEST(a_run_that_does_not_end_when_told_to_is_put_before_a_person)
{
	struct fixture f;

	run_all(&f, 1);
	f.policy.budget[RES_WALL_MS] = -1;
	submit(&f, "work.update", json(&f, "{'node': 'T1', 'status': 'blocked', 'reason': 'r'}"));
	settle(&f);
	effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
	settle(&f);
	assert_int_equal(f.wake_at, f.now + f.policy.idle_after);
	f.now = f.wake_at;
	settle(&f);
	assert_int_equal(f.state->escalations.n, 1);
	assert_true(str_contains(f.state->escalations.p[0]->question, STR("does not end")));
	f.now += OV_DAY;
	settle(&f);
	assert_int_equal(f.state->escalations.n, 1);
	run_end(&f, "T1", 0);
	settle(&f);
	assert_int_not_equal(f.state->escalations.p[0]->status, ESC_OPEN);
	fixture_done(&f);
}

TEST(the_planner_does_one_thing_at_a_time_for_a_goal)
{
	struct fixture f;
	size_t plans = 0;

	stall_all(&f, 2);
	f.policy.planner = true;
	f.policy.max_nudges = 0;
	for (int i = 0; i < 30; i++) {
		for (size_t k = 1; k <= 2; k++) {
			const char *id = k == 1 ? "T1" : "T2";

			if (effect_of(&f, id))
				effect_end(&f, id, FX_SEND, "error", "", "");
			look_at(&f, id);
		}
		f.now += OV_MINUTE;
		settle(&f);
	}
	list_each (it, &f.state->effects)
		plans += list_entry(it, struct effect, link)->kind == FX_PLAN;
	assert_int_equal(plans, 1);
	fixture_done(&f);
}

TEST(a_reminder_is_due_when_the_question_settles_itself)
{
	struct fixture f;
	struct node *n = escalated(&f);

	f.now = vec_last(&f.state->escalations)->opened_at + f.policy.remind_after;
	look_at(&f, "T1");
	observe(&f, n)->tree_at = f.now;
	settle(&f);
	assert_int_equal(vec_last(&f.state->escalations)->status, ESC_DISMISSED);
	assert_int_equal(vec_last(&f.state->escalations)->reminders, 0);
	fixture_done(&f);
}

TEST(a_reminder_is_due_when_an_outage_ends)
{
	struct fixture f;

	run_all(&f, 6);
	f.policy.budget[RES_WALL_MS] = -1;
	for (int half = 0; half < 2; half++) {
		f.now += f.policy.idle_after / 2;
		for (int i = 1; i <= 6; i++)
			look_at(&f, (char[]){ 'T', (char)('0' + i), 0 });
		settle(&f);
	}
	assert_true(f.state->outage_since);
	f.now += f.policy.remind_after;
	for (int i = 1; i <= 6; i++)
		observe(&f, node_of(&f, (char[]){ 'T', (char)('0' + i), 0 }))->output_at = f.now;
	settle(&f);
	assert_false(f.state->outage_since);
	assert_int_equal(vec_last(&f.state->escalations)->status, ESC_DISMISSED);
	fixture_done(&f);
}

/* It said that it is done, was silent for longer than a run may be, and the next rung is due. */
TEST(a_stalled_run_is_ended_because_it_was_done)
{
	struct fixture f;
	struct node *n;

	run_all(&f, 1);
	n = node_of(&f, "T1");
	f.policy.done_grace = f.policy.idle_after + f.policy.min_resend_interval;
	report(&f, n, "{'status': 'done'}");
	for (int i = 0; i < 60 && n->assignment->stage == STAGE_RUNNING; i++) {
		if (effect_of(&f, "T1"))
			effect_end(&f, "T1", FX_SEND, "ok", "", "");
		f.now += OV_MINUTE / 2;
		look_at(&f, "T1");
		settle(&f);
	}
	assert_int_equal(n->assignment->stage, STAGE_STOP);
	assert_true(n->assignment->stopping);
	assert_int_equal(n->stall.rungs[RUNG_NUDGE], 1);
	fixture_done(&f);
}

TEST(what_a_former_run_reported_does_not_end_the_next_one)
{
	struct fixture f;
	struct node *n;

	run_all(&f, 1);
	n = node_of(&f, "T1");
	report(&f, n, "{'status': 'done', 'summary': 'all of it'}");
	run_end(&f, "T1", 1);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 1, 'files_changed': 1");
	f.now += OV_MINUTE;
	bring_to(&f, "T1", STAGE_RUNNING);
	report(&f, n, "{'summary': 'begun again'}");
	f.now += 2 * f.policy.done_grace;
	settle(&f);
	assert_int_equal(n->assignment->stage, STAGE_RUNNING);
	assert_false(n->assignment->stopping);
	report(&f, n, "{'status': 'done'}");
	f.now += f.policy.done_grace;
	settle(&f);
	assert_int_equal(n->assignment->stage, STAGE_STOP);
	fixture_done(&f);
}

/* Nobody wants to be asked; if it still says nothing then, the next one who looks is asked anew. */
TEST(a_stall_that_was_dismissed_is_asked_about_again)
{
	struct fixture f;
	struct node *n = escalated(&f);
	int64_t number = vec_last(&f.state->escalations)->number;

	submit(&f, "inbox.dismiss", entry(&f, ""));
	settle(&f);
	assert_int_equal(n->assignment->status, AS_ACTIVE);
	assert_false(n->stall.open);
	for (int i = 0; i < 200 && vec_last(&f.state->escalations)->number == number; i++) {
		if (effect_of(&f, "T1") && effect_of(&f, "T1")->kind == FX_SEND)
			effect_end(&f, "T1", FX_SEND, "ok", "", "");
		observe(&f, n)->process_unknown = n->stall.open;
		f.now += OV_MINUTE;
		look_at(&f, "T1");
		settle(&f);
	}
	assert_int_equal(n->stall.episode, 2);
	assert_int_not_equal(vec_last(&f.state->escalations)->number, number);
	fixture_done(&f);
}

/*
 * The run that was asked about ended; the answer is for the next one, whose failures count as
 * its own.
 */
TEST(an_answer_between_two_runs_ends_the_stall)
{
	struct fixture f;
	struct node *n = escalated(&f);

	run_end(&f, "T1", 1);
	settle(&f);
	submit(&f, "inbox.answer", entry(&f, ", 'answer': 'use the other one'"));
	assert_false(n->stall.open);
	assert_true(str_is(n->told.answer, "use the other one"));
	fixture_done(&f);
}

/* All rungs were taken for the silence of a run; then its successors fail. */
TEST(failures_after_the_last_rung_are_put_before_a_person)
{
	struct fixture f;
	struct node *n = escalated(&f);

	f.policy.retry_max_attempts = 1;
	run_end(&f, "T1", 1);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 0, 'files_changed': 0");
	settle(&f);
	assert_int_equal(n->status, NODE_BLOCKED);
	assert_int_equal(n->block.kind, BLOCK_FAILED);
	assert_int_equal(f.state->escalations.p[0]->status, ESC_DISMISSED);
	assert_int_equal(vec_last(&f.state->escalations)->status, ESC_OPEN);
	submit(&f, "inbox.answer", entry(&f, ", 'answer': 'retry'"));
	assert_int_equal(n->status, NODE_QUEUED);
	assert_false(n->stall.open);
	fixture_done(&f);
}

/* What the last run said is heard only when its failures are with the ladder: that goes on. */
TEST(a_late_report_does_not_stop_the_ladder)
{
	struct fixture f;
	struct node *n;

	run_all(&f, 1);
	n = node_of(&f, "T1");
	f.policy.retry_max_attempts = 1;
	f.policy.planner = true;
	run_end(&f, "T1", 1);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "",
			"'head': 'h', 'tree': 't', 'commits': 0, 'files_changed': 0");
	settle(&f);
	assert_int_equal(n->assignment->status, AS_STALLED);
	assert_int_equal(n->assignment->stage, STAGE_NONE);
	report(&f, n, "{'status': 'in_progress', 'summary': 'almost'}");
	assert_true(n->stall.open);
	fixture_done(&f);
}

TEST(a_late_report_does_not_block_what_is_being_accepted)
{
	struct fixture f;
	struct node *n;

	run_all(&f, 1);
	n = node_of(&f, "T1");
	bring_to(&f, "T1", STAGE_ACCEPT);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_ACCEPT);
	report(&f, n, "{'status': 'blocked', 'blockers': ['no idea']}");
	accept_node(&f, "T1");
	assert_int_equal(n->status, NODE_DONE);
	fixture_done(&f);
}

/* Between the look and the rung lay a pause of hours: that look says nothing any more. */
TEST(nobody_acts_on_an_old_look)
{
	struct fixture f;
	struct node *n;

	stall_all(&f, 1);
	n = node_of(&f, "T1");
	f.policy.max_nudges = 1;
	effect_end(&f, "T1", FX_SEND, "ok", "", "");
	submit(&f, "dispatch.ack",
			json(&f, "{'dispatch': '" STR_FMT "', 'how': 'nonce'}",
					STR_ARG(vec_last(&n->assignment->dispatches)->id)));
	submit(&f, "goal.pause", json(&f, "{'goal': '" STR_FMT "'}", STR_ARG(n->goal->id)));
	f.now = n->stall.backoff_until;
	look_at(&f, "T1");
	settle(&f);
	f.now += 6 * OV_HOUR;
	submit(&f, "goal.resume", json(&f, "{'goal': '" STR_FMT "'}", STR_ARG(n->goal->id)));
	settle(&f);
	assert_int_equal(n->stall.rungs[RUNG_REASSIGN], 0);
	look_at(&f, "T1");
	settle(&f);
	assert_int_equal(n->stall.rungs[RUNG_REASSIGN], 1);
	fixture_done(&f);
}

/* Our network is gone: one after the other falls silent, each at its own moment. */
TEST(an_outage_is_one_even_when_they_fall_silent_one_by_one)
{
	struct fixture f;
	size_t stalled = 0;

	run_all(&f, 6);
	for (int i = 1; i <= 6; i++) {
		f.now += 10 * OV_SECOND;
		observe(&f, node_of(&f, (char[]){ 'T', (char)('0' + i), 0 }))->output_at = f.now;
	}
	for (int i = 0; i < 60 * 6; i++) {
		f.now += 10 * OV_SECOND;
		for (int k = 1; k <= 6; k++) {
			const char *id = (char[]){ 'T', (char)('0' + k), 0 };

			if (!node_of(&f, id)->assignment || !node_of(&f, id)->assignment->run)
				continue;
			if (effect_of(&f, id) && effect_of(&f, id)->kind == FX_SEND)
				effect_end(&f, id, FX_SEND, "ok", "", "");
			look_at(&f, id);
		}
		settle(&f);
	}
	for (int k = 1; k <= 6; k++) {
		const struct node *n = node_of(&f, (char[]){ 'T', (char)('0' + k), 0 });

		stalled += n->stall.open;
		assert_int_equal(n->stall.rungs[RUNG_REASSIGN], 0);
	}
	assert_true(f.state->outage_since);
	assert_in_range(stalled, 0, 4);
	/* A person says that they really hang: then each is a stall, and nobody is asked again. */
	submit(&f, "inbox.answer", entry(&f, ", 'answer': 'hang'"));
	settle(&f);
	assert_int_equal(f.state->outage_since, 0);
	assert_int_equal(node_of(&f, "T6")->assignment->status, AS_STALLED);
	f.now += f.policy.idle_after;
	settle(&f);
	assert_int_equal(f.state->outage_since, 0);
	fixture_done(&f);
}

/* Its run was told to stop and has not ended yet; whoever types its id stops nothing else. */
TEST(the_run_of_a_node_that_was_split)
{
	struct fixture f;
	struct node *n;

	run_all(&f, 1);
	n = node_of(&f, "T1");
	split_t1(&f, 1);
	effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
	assert_int_equal(n->assignment->stage, STAGE_RUNNING);
	refused(&f, "run.stop",
			json(&f, "{'run': '" STR_FMT "', 'reason': 'r'}",
					STR_ARG(n->assignment->run_id)),
			OV_ESTATE);
	run_end(&f, "T1", 0);
	drain(&f);
	assert_int_equal(n->status, NODE_DONE);
	fixture_done(&f);
}

/* What takes too long is over: nobody has to decide about it, and the next run is not meant. */
TEST(an_overdue_run_that_ended_needs_nobody)
{
	struct fixture f;
	struct node *n;

	run_all(&f, 1);
	n = node_of(&f, "T1");
	f.policy.max_run = OV_HOUR;
	f.now += OV_HOUR;
	observe(&f, n)->output_at = f.now;
	settle(&f);
	assert_true(str_is(vec_last(&f.state->escalations)->kind, "overdue"));
	run_end(&f, "T1", 1);
	assert_int_equal(vec_last(&f.state->escalations)->status, ESC_DISMISSED);
	fixture_done(&f);
}

/* Words may come before the news of the start: the silence is counted from the younger of them. */
TEST(what_was_said_before_the_start_was_known_sets_no_due_date)
{
	struct fixture f;
	struct node *n;

	fixture_init(&f);
	f.policy.max_run = 0;
	create_goal(&f, flat_plan(&f, 1), NULL);
	settle(&f);
	effect_end(&f, "T1", FX_WORKSPACE, "ok", "", "'base': 'b'");
	settle(&f);
	n = node_of(&f, "T1");
	submit(&f, "run.report",
			json(&f,
					"{'run': '" STR_FMT "', 'identity': 'i', 'offset': 9, "
					"'update': {'summary': 's'}}",
					STR_ARG(n->assignment->run_id)));
	f.now += f.policy.idle_after / 2;
	effect_end(&f, "T1", FX_RUN_START, "ok", "", "");
	settle(&f);
	f.now += f.policy.idle_after * 3 / 4;
	observe(&f, n)->looked_at = f.now;
	settle(&f);
	assert_int_equal(n->assignment->status, AS_ACTIVE);
	fixture_done(&f);
}

/* A sign of life that is heard of only after the stall, and is younger than a stall takes. */
TEST(life_that_was_heard_of_late_ends_the_stall)
{
	struct fixture f;
	struct node *n;

	stall_all(&f, 1);
	n = node_of(&f, "T1");
	if (n->assignment->effect)
		effect_end(&f, "T1", FX_SEND, "ok", "", "");
	observe(&f, n)->output_at = f.now - f.policy.idle_after / 4;
	settle(&f);
	assert_int_equal(n->assignment->status, AS_ACTIVE);
	fixture_done(&f);
}

/* What was sent again was sent then, also for the ladder of the next stall. */
TEST(a_resend_counts_as_the_last_time)
{
	struct fixture f;
	const struct dispatch *d;
	struct node *n;

	stall_all(&f, 1);
	n = node_of(&f, "T1");
	for (int i = 0; i < 60 && n->stall.rungs[RUNG_RESEND] == n->stall.skipped[RUNG_RESEND];
			i++) {
		if (n->assignment->effect)
			effect_end(&f, "T1", FX_SEND, "error", "nobody answered", "");
		f.now += OV_MINUTE;
		look_at(&f, "T1");
		settle(&f);
	}
	assert_int_equal(n->stall.rungs[RUNG_RESEND], 1);
	d = vec_last(&n->assignment->dispatches);
	assert_int_equal(d->sends, 2);
	assert_int_equal(d->at, f.now);
	fixture_done(&f);
}

/* A person who lets it go on is not the last one who hears of it. */
/* What a person told it is the last that was sent, and the ladder would send that again. */
TEST(what_a_person_told_it_counts_as_the_last_time)
{
	struct fixture f;
	struct node *n;
	ov_time told;

	stall_all(&f, 1);
	n = node_of(&f, "T1");
	effect_end(&f, "T1", FX_SEND, "ok", "", "");
	f.now += f.policy.min_resend_interval - OV_SECOND;
	submit(&f, "worker.message", json(&f, "{'worker': 'pool-1', 'text': 'well?'}"));
	effect_end(&f, "T1", FX_SEND, "ok", "", "");
	told = f.now;
	while (f.now < told + f.policy.min_resend_interval - 10 * OV_SECOND) {
		int32_t before = n->stall.rungs[RUNG_NUDGE] + n->stall.rungs[RUNG_RESEND];

		f.now += 10 * OV_SECOND;
		look_at(&f, "T1");
		settle(&f);
		assert_int_equal(n->stall.rungs[RUNG_NUDGE] + n->stall.rungs[RUNG_RESEND], before);
	}
	fixture_done(&f);
}

TEST(an_overdue_run_that_goes_on_is_asked_about_again)
{
	struct fixture f;
	struct node *n;
	size_t asked;

	run_all(&f, 1);
	n = node_of(&f, "T1");
	f.policy.max_run = OV_HOUR;
	f.now += OV_HOUR;
	observe(&f, n)->output_at = f.now;
	settle(&f);
	asked = f.state->escalations.n;
	submit(&f, "inbox.dismiss",
			json(&f, "{'number': %lld}",
					(long long)vec_last(&f.state->escalations)->number));
	f.now += OV_HOUR - 1;
	observe(&f, n)->output_at = f.now;
	settle(&f);
	assert_int_equal(f.state->escalations.n, asked);
	assert_true(f.wake_at <= f.now + 1);
	f.now += 1;
	settle(&f);
	assert_int_equal(f.state->escalations.n, asked + 1);
	assert_true(str_is(vec_last(&f.state->escalations)->kind, "overdue"));
	/* And as long as that is open, there is no third one. */
	f.now += 3 * OV_HOUR;
	observe(&f, n)->output_at = f.now;
	settle(&f);
	assert_int_equal(f.state->escalations.n, asked + 1);
	fixture_done(&f);
}

/* A tick that has decided enough has not looked at the runs: it cannot say that they live. */
TEST(an_outage_does_not_end_because_there_is_much_to_do)
{
	struct fixture f;

	run_all(&f, 6);
	for (int half = 0; half < 2; half++) {
		f.now += f.policy.idle_after / 2;
		for (int i = 1; i <= 6; i++)
			look_at(&f, (char[]){ 'T', (char)('0' + i), 0 });
		settle(&f);
	}
	assert_true(f.state->outage_since);
	f.policy.plan.max_tasks = 3000;
	create_goal(&f, flat_plan(&f, 2100), NULL);
	tick(&f);
	assert_true(f.state->outage_since);
	assert_int_equal(count_events(&f, EV_OUTAGE_OVER), 0);
	fixture_done(&f);
}

/* Nothing new is begun, and a model is something new. */
TEST(no_model_is_asked_when_the_budget_is_spent)
{
	struct fixture f;
	struct node *n;

	stall_all(&f, 1);
	n = node_of(&f, "T1");
	f.policy.planner = f.policy.diagnose = true;
	submit(&f, "goal.update",
			json(&f, "{'goal': '" STR_FMT "', 'budget': {'iterations': 1}}",
					STR_ARG(n->goal->id)));
	n->goal->spent[RES_ITERATIONS] = 2;
	for (int i = 0; i < 30; i++) {
		if (effect_of(&f, "T1") && effect_of(&f, "T1")->kind == FX_SEND)
			effect_end(&f, "T1", FX_SEND, "ok", "", "");
		f.now += OV_MINUTE;
		if (n->assignment && n->assignment->run)
			look_at(&f, "T1");
		settle(&f);
		assert_null(n->goal->effect);
	}
	assert_int_equal(n->stall.skipped[RUNG_REPLAN], 1);
	fixture_done(&f);
}

/* "Done" is no progress when our own check has said otherwise: who only says so is given up. */
TEST(words_do_not_make_up_for_a_check_that_fails)
{
	struct fixture f;
	struct node *n;

	run_all(&f, 1);
	f.policy.check_command = STR("make");
	n = node_of(&f, "T1");
	for (int i = 1; i <= 3; i++) {
		bring_to(&f, "T1", STAGE_RUNNING);
		report(&f, n,
				arena_cstr(&f.arena,
						arena_printf(&f.arena,
								"{'status': 'done', 'summary': "
								"'now really %d'}",
								i)));
		bring_to(&f, "T1", STAGE_CHECK);
		effect_end(&f, "T1", FX_CHECK, "failed", "2 tests failed", "");
		assert_int_equal(n->work.failures[CAUSE_CHECK], i);
		f.now += OV_MINUTE;
	}
	assert_int_equal(n->assignment->status, AS_STALLED);
	assert_true(n->stall.open);
	fixture_done(&f);
}
