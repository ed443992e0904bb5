/* Which finished work waits for a person before it is accepted, and what the person is told. */
#include "tests/test.h"

#include "core/capacity/accept_queue.h"
#include "core/explain/explain.h"
#include "core/inbox/inbox.h"
#include "core/tick/reconcile.h"
#include "core/view/view.h"
#include "core/work/standing.h"
#include "tests/unit/core_fixture.h"

TEST_MAIN

#define HARVESTED                                                                                \
	"'head': 'h1', 'tree': 't', 'commits': 1, 'files_changed': 2, 'files': ['a.c', 'b.c'], " \
	"'lines_added': 12, 'lines_removed': 3"

static void begin(struct fixture *f)
{
	fixture_init(f);
	f->policy.unchecked = UNCHECKED_REVIEW;
	create_goal(f, flat_plan(f, 1), NULL);
	settle(f);
}

static const struct escalation *entry(struct fixture *f)
{
	for (size_t i = f->state->escalations.n; i-- > 0;)
		if (f->state->escalations.p[i]->status == ESC_OPEN)
			return f->state->escalations.p[i];
	return NULL;
}

static void answer(struct fixture *f, const char *text)
{
	assert_non_null(entry(f));
	submit(f, "inbox.answer",
			json(f, "{'number': %lld, 'answer': '%s'}", (long long)entry(f)->number,
					text));
	settle(f);
}

static bool asks(struct fixture *f, const char *text)
{
	return str_contains(entry(f)->question, str_from(text));
}

static str checked_by(struct fixture *f)
{
	return value_str_at(last_event(f, EV_NODE_ACCEPTED)->data, "checked_by");
}

/* Finished once more, with what harvest tells of it. */
static void finish(struct fixture *f, const char *data)
{
	bring_to(f, "T1", STAGE_HARVEST);
	effect_end(f, "T1", FX_HARVEST, "ok", "", data);
	settle(f);
}

TEST(unchecked_work_waits_for_a_person)
{
	static const struct {
		const char *node_check, *check, *pre, *auto_pre, *standing;
		enum accept_unchecked unchecked;
		enum stage stage;
	} cases[] = {
		{ "", "", "", "", "", UNCHECKED_REVIEW, STAGE_REVIEW },
		{ "", "", "", "", "", UNCHECKED_ACCEPT, STAGE_REBASE },
		{ "make", "", "", "", "", UNCHECKED_REVIEW, STAGE_CHECK },
		{ "", "make", "", "", "", UNCHECKED_REVIEW, STAGE_CHECK },
		{ "", "", "make", "", "", UNCHECKED_REVIEW, STAGE_REBASE },
		{ "", "", "", "", STANDING_AUTO, UNCHECKED_REVIEW, STAGE_REVIEW },
		{ "", "", "", "", STANDING_AUTO, UNCHECKED_ACCEPT, STAGE_REBASE },
		/* What [auto] names is for its tasks only. */
		{ "", "", "", "make", STANDING_AUTO, UNCHECKED_REVIEW, STAGE_REBASE },
		{ "", "", "", "make", "", UNCHECKED_REVIEW, STAGE_REVIEW },
		{ "", "", "", "", STANDING_MANUAL, UNCHECKED_REVIEW, STAGE_REVIEW },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		struct node *n;

		begin(&f);
		n = node_of(&f, "T1");
		bring_to(&f, "T1", STAGE_HARVEST);
		f.policy.unchecked = cases[i].unchecked;
		f.policy.check_command = str_from(cases[i].check);
		f.policy.accept.pre = str_from(cases[i].pre);
		f.policy.automatic.pre = str_from(cases[i].auto_pre);
		record_set_str(&n->def.check_command, str_from(cases[i].node_check));
		record_set_str(&n->goal->standing, str_from(cases[i].standing));
		effect_end(&f, "T1", FX_HARVEST, "ok", "", HARVESTED);
		settle(&f);
		assert_int_equal(n->assignment->stage, cases[i].stage);
		assert_int_equal(entry(&f) != NULL, cases[i].stage == STAGE_REVIEW);
		fixture_done(&f);
	}
}

TEST(the_entry_says_everything)
{
	struct fixture f;
	const value *v;

	begin(&f);
	finish(&f, HARVESTED ", 'leftovers': true, 'leftover_files': ['b.c']");
	assert_true(str_is(entry(&f)->kind, "review"));
	assert_true(str_starts(entry(&f)->question, STR("nothing checked the work of a on \"")));
	assert_true(asks(&f, "It changes 2 files (+12 -3): a.c, b.c\n"));
	assert_true(asks(&f, "left these uncommitted, and they are included: b.c\n"));
	assert_true(asks(&f, "overseer worker review pool-1"));
	assert_true(asks(&f, "Answer \"accept\", or \"reject: WHY\""));
	assert_true(asks(&f, "set workspace.check_command"));
	assert_true(asks(&f, "overseer config reload"));
	assert_int_equal(state_worker(f.state, STR("pool-1"))->status, WORKER_NEEDS_REVIEW);
	assert_true(str_contains(state_worker(f.state, STR("pool-1"))->reason,
			STR("nothing checked its work")));
	assert_true(str_contains(explain_now(&f.arena, f.state, node_of(&f, "T1"), f.now),
			STR("nothing checked its work")));
	v = value_at(view_escalation(&f.arena, f.state, entry(&f), f.now), "work");
	assert_int_equal(value_int_at(v, "files_changed"), 2);
	assert_int_equal(value_int_at(v, "lines_added"), 12);
	assert_int_equal(value_int_at(v, "lines_removed"), 3);
	assert_int_equal(value_count(value_at(v, "leftover_files")), 1);
	assert_true(str_is(value_str_at(v, "checked_by"), "nothing"));
	assert_true(str_is(value_str_at(v, "worker"), "pool-1"));
	fixture_done(&f);
}

/*
 * A check that is configured afterwards judges the work as it is: no agent runs again before that.
 */
TEST(checked_afterwards)
{
	for (int passes = 0; passes < 2; passes++) {
		struct fixture f;
		struct node *n;
		int64_t number;

		begin(&f);
		n = node_of(&f, "T1");
		finish(&f, HARVESTED);
		number = entry(&f)->number;
		refused(&f, "inbox.answer",
				json(&f, "{'number': %lld, 'answer': 'check'}", (long long)number),
				OV_EINVALID);
		f.policy.check_command = STR("make test");
		submit(&f, "worker.review", json(&f, "{'worker': 'pool-1'}"));
		answer(&f, "check");
		settle(&f);
		assert_int_equal(state_escalation(f.state, number)->status, ESC_ANSWERED);
		assert_int_equal(n->assignment->stage, STAGE_CHECK);
		assert_int_equal(n->assignment->attempt, 1);
		/* We could not run it, while the person looks at the work: it is tried again. */
		submit(&f, "worker.review", json(&f, "{'worker': 'pool-1'}"));
		effect_end(&f, "T1", FX_CHECK, "error", "no memory", "");
		f.now += f.policy.retry_delay[0];
		settle(&f);
		assert_int_equal(n->assignment->stage, STAGE_CHECK);
		effect_end(&f, "T1", FX_CHECK, passes ? "ok" : "failed", "2 of 3 failed", "");
		settle(&f);
		assert_int_equal(entry(&f) == NULL, passes);
		assert_int_equal(n->assignment->stage, passes ? STAGE_REBASE : STAGE_REVIEW);
		if (passes) {
			assert_true(str_is(accept_checked_by(n->assignment), "check"));
		} else {
			assert_true(str_starts(entry(&f)->question,
					STR("the check failed on the work of a on \"")));
			assert_true(asks(&f, "\n    2 of 3 failed\n"));
			assert_true(asks(&f, "It changes 2 files"));
			answer(&f, "reject: see the check");
			bring_to(&f, "T1", STAGE_RUNNING);
			assert_int_equal(n->assignment->attempt, 2);
			/* What comes of that is the agent's again. */
			finish(&f, HARVESTED);
			effect_end(&f, "T1", FX_CHECK, "failed", "no", "");
			settle(&f);
			assert_null(entry(&f));
			assert_int_equal(n->assignment->stage, STAGE_START);
		}
		fixture_done(&f);
	}
}

/*
 * The shell did not find the check command: nobody's work is judged by that, and no agent runs
 * for it.
 */
TEST(a_check_that_cannot_be_run_is_not_the_agents_failure)
{
	static const struct {
		const char *own, *config, *data, *advice;
		enum accept_unchecked unchecked;
		enum stage stage;
	} cases[] = {
		{ "", "no-such-cmd", "'exit_code': 127", "workspace.check_command",
				UNCHECKED_REVIEW, STAGE_REVIEW },
		{ "", "no-such-cmd", "'exit_code': 126", "workspace.check_command",
				UNCHECKED_ACCEPT, STAGE_REVIEW },
		{ "no-such-cmd", "", "'exit_code': 127", "the task's own", UNCHECKED_REVIEW,
				STAGE_REVIEW },
		{ "", "make", "'exit_code': 2", "", UNCHECKED_REVIEW, STAGE_START },
		{ "", "make", "", "", UNCHECKED_REVIEW, STAGE_START },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		struct node *n;

		begin(&f);
		n = node_of(&f, "T1");
		f.policy.unchecked = cases[i].unchecked;
		f.policy.check_command = str_from(cases[i].config);
		record_set_str(&n->def.check_command, str_from(cases[i].own));
		finish(&f, HARVESTED);
		effect_end(&f, "T1", FX_CHECK, "failed", "exit status 127\\nno-such-cmd: not found",
				cases[i].data);
		settle(&f);
		assert_int_equal(n->assignment->stage, cases[i].stage);
		assert_int_equal(entry(&f) != NULL, cases[i].stage == STAGE_REVIEW);
		if (entry(&f)) {
			assert_int_equal(n->work.failures[CAUSE_CHECK], 0);
			assert_true(asks(&f,
					"the check command cannot be run, so nothing checked"));
			assert_true(asks(&f, "\n    no-such-cmd: not found\n"));
			assert_true(asks(&f, cases[i].advice));
			assert_true(str_contains(state_worker(f.state, STR("pool-1"))->reason,
					STR("cannot be run: no-such-cmd: not found")));
			answer(&f, "check");
			effect_end(&f, "T1", FX_CHECK, "failed", "no", cases[i].data);
			settle(&f);
			assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 2);
			answer(&f, i ? "accept" : "check");
			if (!i)
				effect_end(&f, "T1", FX_CHECK, "ok", "", "");
			drain(&f);
			assert_int_equal(count_events(&f, EV_RUN_CREATED), 1);
			assert_true(str_is(checked_by(&f), i ? "review" : "check"));
		}
		fixture_done(&f);
	}
}

/* Names that agents chose stay names: short, on one line, and not too many of them. */
TEST(names_in_the_entry_are_bounded)
{
	_cleanup_(buf_done) struct buf files = BUF_INIT;
	struct fixture f;

	begin(&f);
	buf_adds(&files,
			STR("'head': 'h', 'tree': 't', 'commits': 1, 'files_changed': 300, "
			    "'files': ['one\\nAnswer: accept'"));
	for (int i = 0; i < 60; i++)
		buf_addf(&files, ", 'f%0500d'", i);
	buf_adds(&files, STR("]"));
	buf_addc(&files, '\0');
	finish(&f, files.p);
	assert_true(asks(&f, "300 files (+0 -0): one?Answer: accept, "));
	assert_true(asks(&f, " and 290 more\n"));
	assert_true(asks(&f, "reject: WHY"));
	assert_true(entry(&f)->question.n < 2500);
	fixture_done(&f);
}

/* The command that was to judge it is taken out of the configuration before it does. */
TEST(a_check_that_is_taken_away_is_none)
{
	struct fixture f;

	begin(&f);
	f.policy.accept.pre = STR("make");
	finish(&f, HARVESTED);
	assert_int_equal(effect_of(&f, "T1")->kind, FX_REBASE);
	f.policy.accept.pre = STR("");
	effect_end(&f, "T1", FX_REBASE, "ok", "", "'commit': 'c0', 'base': 'b2'");
	settle(&f);
	assert_int_equal(node_of(&f, "T1")->assignment->stage, STAGE_REVIEW);
	assert_true(asks(&f, "nothing checked the work"));
	assert_true(str_is(node_of(&f, "T1")->assignment->base, "b2"));
	answer(&f, "accept");
	drain(&f);
	assert_true(str_is(checked_by(&f), "review"));
	fixture_done(&f);
}

/* It was checked, whatever the configuration says of the next one. */
TEST(checked_work_stays_checked)
{
	struct fixture f;

	begin(&f);
	f.policy.check_command = STR("make");
	finish(&f, HARVESTED);
	f.policy.check_command = STR("");
	effect_end(&f, "T1", FX_CHECK, "ok", "", "");
	drain(&f);
	assert_null(entry(&f));
	assert_true(str_is(checked_by(&f), "check"));
	fixture_done(&f);
}

TEST(accepted_by_whom_is_in_the_log)
{
	static const struct {
		const char *check, *pre;
		enum accept_unchecked unchecked;
		enum accept_review review;
		const char *by;
	} cases[] = {
		{ "", "", UNCHECKED_REVIEW, REVIEW_NEVER, "review" },
		{ "", "", UNCHECKED_ACCEPT, REVIEW_NEVER, "nothing" },
		{ "", "", UNCHECKED_ACCEPT, REVIEW_ALWAYS, "review" },
		{ "make", "", UNCHECKED_REVIEW, REVIEW_NEVER, "check" },
		{ "make", "", UNCHECKED_REVIEW, REVIEW_ALWAYS, "check" },
		{ "", "make", UNCHECKED_REVIEW, REVIEW_NEVER, "pre_accept" },
		{ "", "make", UNCHECKED_REVIEW, REVIEW_ALWAYS, "pre_accept" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;

		begin(&f);
		f.policy.unchecked = cases[i].unchecked;
		f.policy.review = cases[i].review;
		f.policy.check_command = str_from(cases[i].check);
		f.policy.accept.pre = str_from(cases[i].pre);
		drain(&f);
		if (entry(&f))
			answer(&f, "accept");
		drain(&f);
		assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
		assert_string_equal(arena_cstr(&f.arena, checked_by(&f)), cases[i].by);
		assert_true(str_is(node_of(&f, "T1")->work.checked_by, cases[i].by));
		fixture_done(&f);
	}
}

/* What a person saw is not what the agent hands in after it was sent back. */
TEST(rejected_work_is_reviewed_again)
{
	struct fixture f;

	begin(&f);
	finish(&f, HARVESTED);
	answer(&f, "reject: the other file");
	finish(&f, HARVESTED);
	assert_int_equal(node_of(&f, "T1")->assignment->stage, STAGE_REVIEW);
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 2);
	answer(&f, "accept");
	drain(&f);
	assert_true(str_is(checked_by(&f), "review"));
	fixture_done(&f);
}

/*
 * It comes back from its agent under the entry that is open, which tells of the work as it is now.
 */
TEST(an_open_entry_is_brought_up_to_date)
{
	struct fixture f;

	begin(&f);
	finish(&f, HARVESTED);
	submit(&f, "worker.rebase", json(&f, "{'worker': 'pool-1'}"));
	effect_end(&f, "T1", FX_WORKER, "conflict", "a.c", "");
	finish(&f, "'head': 'h2', 'tree': 't', 'commits': 2, 'files_changed': 1, 'files': ['z.c']");
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	assert_true(asks(&f, "It changes 1 file (+0 -0): z.c\n"));
	answer(&f, "accept");
	drain(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	fixture_done(&f);
}

TEST(leftovers_are_asked_about_where_that_is_configured)
{
	static const struct {
		enum accept_leftovers leftovers;
		const char *more;
		bool waits;
	} cases[] = {
		{ LEFTOVERS_KEEP, ", 'leftovers': true, 'leftover_files': ['b.c']", false },
		{ LEFTOVERS_ASK, ", 'leftovers': true, 'leftover_files': ['b.c']", true },
		{ LEFTOVERS_ASK, ", 'leftovers': true", true },
		{ LEFTOVERS_ASK, "", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;

		begin(&f);
		f.policy.check_command = STR("make");
		f.policy.leftovers = cases[i].leftovers;
		finish(&f, arena_printf(&f.arena, HARVESTED "%s", cases[i].more).p);
		effect_end(&f, "T1", FX_CHECK, "ok", "", "");
		settle(&f);
		assert_int_equal(node_of(&f, "T1")->assignment->stage,
				cases[i].waits ? STAGE_REVIEW : STAGE_REBASE);
		assert_int_equal(entry(&f) != NULL, cases[i].waits);
		if (cases[i].waits) {
			assert_true(str_starts(entry(&f)->question, STR("files left uncommitted")));
			assert_true(asks(&f, "uncommitted"));
			assert_false(asks(&f, "workspace.check_command"));
		}
		fixture_done(&f);
	}
}

/* A run after them may commit everything: what was swept in before is in the work all the same. */
TEST(leftovers_of_earlier_runs_are_told)
{
	struct fixture f;
	const struct node *n;

	begin(&f);
	f.policy.check_command = STR("make");
	f.policy.leftovers = LEFTOVERS_ASK;
	n = node_of(&f, "T1");
	finish(&f, HARVESTED ", 'leftovers': true, 'leftover_files': ['b.c', 'c.c']");
	effect_end(&f, "T1", FX_CHECK, "failed", "no", "");
	f.now += f.policy.retry_delay[0];
	assert_int_equal(n->work.leftover_files.n, 1); /* c.c is as it was at the beginning */
	finish(&f, HARVESTED);
	effect_end(&f, "T1", FX_CHECK, "ok", "", "");
	settle(&f);
	assert_int_equal(n->assignment->stage, STAGE_REVIEW);
	assert_true(asks(&f, "included: b.c\n"));
	answer(&f, "reject: take it out");
	/* The agent took it out. */
	finish(&f, "'head': 'h3', 'tree': 't', 'commits': 1, 'files_changed': 1, 'files': ['a.c']");
	effect_end(&f, "T1", FX_CHECK, "ok", "", "");
	settle(&f);
	assert_int_equal(n->work.leftover_files.n, 0);
	assert_int_equal(n->assignment->stage, STAGE_REBASE);
	fixture_done(&f);
}

TEST(what_waits_by_the_configuration)
{
	static const struct {
		const char *check, *pre, *auto_pre;
		enum accept_unchecked unchecked;
		enum accept_review review;
		bool plain, automatic;
	} cases[] = {
		{ "", "", "", UNCHECKED_REVIEW, REVIEW_NEVER, true, true },
		{ "", "", "", UNCHECKED_REVIEW, REVIEW_HIGH_RISK, true, true },
		{ "", "", "", UNCHECKED_REVIEW, REVIEW_ALWAYS, false, false },
		{ "", "", "", UNCHECKED_ACCEPT, REVIEW_NEVER, false, false },
		{ "make", "", "", UNCHECKED_REVIEW, REVIEW_NEVER, false, false },
		{ "", "make", "", UNCHECKED_REVIEW, REVIEW_NEVER, false, false },
		{ "", "", "make", UNCHECKED_REVIEW, REVIEW_NEVER, true, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct policy p = { .check_command = str_from(cases[i].check),
			.accept.pre = str_from(cases[i].pre),
			.automatic.pre = str_from(cases[i].auto_pre),
			.unchecked = cases[i].unchecked,
			.review = cases[i].review };

		assert_int_equal(policy_waits_unchecked(&p, false), cases[i].plain);
		assert_int_equal(policy_waits_unchecked(&p, true), cases[i].automatic);
	}
}
