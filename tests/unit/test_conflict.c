/* What the radar reports: recorded once, told to those who hear, taken back. */
#include "tests/test.h"

#include "core/state/snapshot.h"
#include "core/tick/conflict.h"
#include "tests/unit/core_fixture.h"

TEST_MAIN

/* Two runs under way. */
static void two_running(struct fixture *f, bool input)
{
	static struct policy_agent agents[2];

	fixture_init(f);
	memcpy(agents, f->policy.agents, sizeof(agents));
	agents[0].input = input;
	f->policy.agents = agents;
	create_goal(f, flat_plan(f, 2), "normal");
	settle(f);
	bring_to(f, "T1", STAGE_RUNNING);
	bring_to(f, "T2", STAGE_RUNNING);
}

static str as_of(struct fixture *f, const char *node)
{
	return node_of(f, node)->assignment->id;
}

static void report(struct fixture *f, str a, str b, const char *files)
{
	submit(f, "radar.report",
			json(f,
					"{'pairs': [{'a': '" STR_FMT "', 'b': '" STR_FMT
					"', 'files': [%s]}]}",
					STR_ARG(a), STR_ARG(b), files));
	check_invariants(f->state, &f->policy);
}

static size_t sends(struct fixture *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->log.n; i++)
		n += f->log.p[i]->kind == EV_DISPATCH_INTENDED &&
				str_is(value_str_at(f->log.p[i]->data, "purpose"), "conflict");
	return n;
}

TEST(both_are_told_once)
{
	struct fixture f;
	struct conflict *c;

	two_running(&f, true);
	report(&f, as_of(&f, "T2"), as_of(&f, "T1"), "'x.c', 'y.c'");
	assert_int_equal(f.state->conflicts.n, 1);
	c = f.state->conflicts.p[0];
	assert_true(str_cmp(c->a, c->b) < 0);
	assert_int_equal(c->files.n, 2);
	assert_int_equal(sends(&f), 2);
	/* The same again is no news; other files are, but nobody is told again. */
	report(&f, as_of(&f, "T1"), as_of(&f, "T2"), "'x.c', 'y.c'");
	assert_int_equal(count_events(&f, EV_CONFLICT_PREDICTED), 1);
	report(&f, as_of(&f, "T1"), as_of(&f, "T2"), "'x.c'");
	assert_int_equal(count_events(&f, EV_CONFLICT_PREDICTED), 2);
	assert_int_equal(f.state->conflicts.p[0]->files.n, 1);
	assert_int_equal(sends(&f), 2);
	/* Gone, and back as it was first told. */
	effect_end(&f, "T1", FX_SEND, "ok", "", "");
	effect_end(&f, "T2", FX_SEND, "ok", "", "");
	report(&f, as_of(&f, "T1"), as_of(&f, "T2"), "");
	assert_int_equal(f.state->conflicts.n, 0);
	report(&f, as_of(&f, "T1"), as_of(&f, "T2"), "'x.c', 'y.c'");
	assert_int_equal(f.state->conflicts.n, 1);
	assert_int_equal(sends(&f), 2);
	fixture_done(&f);
}

TEST(who_does_not_hear_is_told_by_its_next_instruction)
{
	struct fixture f;
	str text;

	two_running(&f, false);
	report(&f, as_of(&f, "T1"), STR(""), "'x.c'");
	assert_int_equal(sends(&f), 0);
	assert_int_equal(count_events(&f, EV_CONFLICT_PREDICTED), 1);
	run_end(&f, "T1", 1);
	bring_to(&f, "T1", STAGE_START);
	f.now += OV_HOUR;
	settle(&f);
	text = value_str_at(last_event(&f, EV_DISPATCH_INTENDED)->data, "instruction");
	assert_true(str_contains(text, STR("would conflict")));
	assert_true(str_contains(text, STR("- x.c")));
	/* The other one has nothing to do with it. */
	assert_int_equal(conflict_notes(&f.arena, f.state, node_of(&f, "T2")->assignment,
					 STR("main"))
					 .n,
			0);
	fixture_done(&f);
}

TEST(what_is_over_is_taken_back)
{
	struct fixture f;
	str a, b;

	two_running(&f, false);
	a = arena_str(&f.arena, as_of(&f, "T1"));
	b = arena_str(&f.arena, as_of(&f, "T2"));
	report(&f, a, b, "'x.c'");
	report(&f, a, STR(""), "'z.c'");
	assert_int_equal(f.state->conflicts.n, 2);
	assert_int_equal(value_count(view_conflicts(&f.arena, f.state)), 2);
	submit(&f, "work.cancel", json(&f, "{'node': 'T2', 'reason': 'test'}"));
	submit(&f, "radar.report", json(&f, "{'pairs': []}"));
	assert_int_equal(f.state->conflicts.n, 1);
	assert_true(str_eq(f.state->conflicts.p[0]->b, STR("")));
	/* What is reported of somebody who is no more, or of nobody, is nothing. */
	report(&f, a, b, "'x.c'");
	report(&f, a, a, "'x.c'");
	report(&f, STR("A_NOBODY"), STR(""), "'x.c'");
	assert_int_equal(f.state->conflicts.n, 1);
	fixture_done(&f);
}

/* The look may name a pair twice, each time in another order. */
TEST(a_pair_that_is_named_twice_is_cleared_once)
{
	struct fixture f;
	str a, b;

	two_running(&f, false);
	a = arena_str(&f.arena, as_of(&f, "T1"));
	b = arena_str(&f.arena, as_of(&f, "T2"));
	report(&f, a, b, "'x.c'");
	submit(&f, "radar.report",
			json(&f,
					"{'pairs': [{'a': '" STR_FMT "', 'b': '" STR_FMT
					"', 'files': []}, {'a': '" STR_FMT "', 'b': '" STR_FMT
					"', 'files': []}]}",
					STR_ARG(a), STR_ARG(b), STR_ARG(b), STR_ARG(a)));
	assert_int_equal(f.state->conflicts.n, 0);
	assert_int_equal(count_events(&f, EV_CONFLICT_CLEARED), 1);
	fixture_done(&f);
}

TEST(long_lists_are_cut)
{
	struct fixture f;
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	two_running(&f, true);
	for (int i = 0; i < 3 * RADAR_FILES; i++)
		buf_addf(&b, "%s'f%d.c'", i ? ", " : "", i);
	report(&f, as_of(&f, "T1"), as_of(&f, "T2"), buf_cstr(&b));
	assert_int_equal(f.state->conflicts.p[0]->files.n, RADAR_FILES);
	report(&f, as_of(&f, "T1"), as_of(&f, "T2"), buf_cstr(&b));
	assert_int_equal(count_events(&f, EV_CONFLICT_PREDICTED), 1);
	fixture_done(&f);
}
