/* Who calls, by what is known of its process, and what follows from the column of the table. */
#include "base/arena.h"
#include "base/str.h"
#include "core/policy/caller.h"
#include "tests/test.h"

TEST_MAIN

/* What is known of a connection, and what becomes of it. */
static const struct {
	const char *what;
	struct caller_facts facts;
	enum caller caller;
	enum caller_why why;
} cases[] = {
	{ "nothing is known, nothing runs", { .place = PLACE_UNSEEN }, CALLER_PERSON, WHY_NOTHING },
	{ "outside, nothing runs", { .place = PLACE_OUTSIDE }, CALLER_PERSON, WHY_NOTHING },
	{ "gone, nothing runs", { .place = PLACE_GONE }, CALLER_PERSON, WHY_NOTHING },
	{ "hidden, nothing runs", { .place = PLACE_OUTSIDE, .hidden = true }, CALLER_PERSON,
			WHY_NOTHING },
	{ "of a run that is over", { .place = PLACE_RUN }, CALLER_AGENT, WHY_RUN },
	{ "outside", { .place = PLACE_OUTSIDE, .runs_live = true }, CALLER_PERSON, WHY_NOTHING },
	{ "of a run", { .place = PLACE_RUN, .runs_live = true }, CALLER_AGENT, WHY_RUN },
	{ "of a run that hides", { .place = PLACE_RUN, .runs_live = true, .hidden = true },
			CALLER_AGENT, WHY_RUN },
	{ "gone", { .place = PLACE_GONE, .runs_live = true }, CALLER_AGENT, WHY_GONE },
	{ "gone, and another hides", { .place = PLACE_GONE, .runs_live = true, .hidden = true },
			CALLER_AGENT, WHY_GONE },
	{ "not seen", { .place = PLACE_UNSEEN, .runs_live = true }, CALLER_READER, WHY_UNSEEN },
	{ "outside, as far as can be seen",
			{ .place = PLACE_OUTSIDE, .runs_live = true, .hidden = true },
			CALLER_READER, WHY_HIDDEN },
	{ "the daemon", { .own = true }, CALLER_OVERSEER, WHY_NOTHING },
	{ "the daemon, with runs", { .own = true, .runs_live = true, .hidden = true },
			CALLER_OVERSEER, WHY_NOTHING },
};

TEST(facts_make_a_caller)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct caller_verdict v = caller_judge(&cases[i].facts);

		if (v.caller != cases[i].caller || v.why != cases[i].why)
			fail_msg("%s: %s, %d", cases[i].what, caller_name(v.caller), (int)v.why);
	}
}

/* Whatever is known, while runs are live: a person is only who was seen outside of them. */
TEST(a_person_was_seen_outside)
{
	for (int place = 0; place < PLACE_COUNT; place++)
		for (int hidden = 0; hidden < 2; hidden++) {
			struct caller_facts f = { .place = (enum caller_place)place,
				.runs_live = true,
				.hidden = hidden };

			assert_int_equal(caller_judge(&f).caller == CALLER_PERSON,
					place == PLACE_OUTSIDE && !hidden);
		}
}

/* A connection that nobody judged, and facts that nobody filled in. */
TEST(without_a_judgement_nobody_decides)
{
	struct caller_verdict nothing = { 0 };
	struct caller_facts f = { .runs_live = true };
	struct ov_err err;

	assert_int_equal(nothing.caller, CALLER_READER);
	assert_int_equal(caller_judge(&f).caller, CALLER_READER);
	assert_int_equal(caller_check(PEOPLE, "x.y", nothing, STR(""), &err), OV_EUNAUTHORIZED);
}

TEST(the_column_decides)
{
	static const struct {
		unsigned column;
		bool may[CALLER_COUNT];
	} rows[] = {
		{ PEOPLE, { [CALLER_PERSON] = true } },
		{ PEOPLE_AND_OVERSEER, { [CALLER_PERSON] = true, [CALLER_OVERSEER] = true } },
		{ NO_AGENTS,
				{ [CALLER_PERSON] = true,
						[CALLER_OVERSEER] = true,
						[CALLER_READER] = true } },
		{ ANYBODY,
				{ [CALLER_PERSON] = true,
						[CALLER_OVERSEER] = true,
						[CALLER_READER] = true,
						[CALLER_AGENT] = true } },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (int c = 0; c < CALLER_COUNT; c++) {
			struct caller_verdict v = { (enum caller)c, WHY_NOTHING };
			struct ov_err err;

			assert_int_equal(caller_check(rows[i].column, "x.y", v, STR(""), &err),
					rows[i].may[c] ? 0 : OV_EUNAUTHORIZED);
		}
}

static struct ov_err refusal(unsigned column, enum caller c, enum caller_why why, const char *run)
{
	struct ov_err err = { 0 };
	struct caller_verdict v = { c, why };

	assert_int_equal(caller_check(column, "work.update", v, str_from(run), &err),
			OV_EUNAUTHORIZED);
	return err;
}

/* What happened, why, and what to do. */
TEST(a_refusal_is_explained)
{
	struct ov_err err = refusal(PEOPLE, CALLER_AGENT, WHY_RUN, "run R_1");

	assert_string_equal(err.msg,
			"work.update is for people: this call came from run R_1, and an agent can "
			"read and report, but not decide");
	assert_string_equal(err.next, "a person runs the command outside of the run");
	err = refusal(PEOPLE, CALLER_AGENT, WHY_GONE, "");
	assert_string_equal(err.msg,
			"work.update is for people: the process that called has ended, so it may "
			"have belonged to a run");
	err = refusal(PEOPLE, CALLER_READER, WHY_HIDDEN, "run R_2");
	assert_string_equal(err.msg,
			"work.update is for people: this HTTP call may come from run R_2, "
			"which has processes that cannot be looked at");
	assert_non_null(strstr(err.next, "overseer"));
	err = refusal(NO_AGENTS, CALLER_AGENT, WHY_RUN, "run R_1");
	assert_non_null(strstr(err.msg, "work.update is not for agents: "));
	for (int why = WHY_RUN; why < WHY_COUNT; why++)
		assert_true(refusal(PEOPLE, CALLER_READER, (enum caller_why)why, "").next[0]);
}

TEST(columns_as_text)
{
	struct arena a = ARENA_INIT;

	assert_string_equal(callers_text(&a, PEOPLE).p, "person");
	assert_string_equal(callers_text(&a, ANYBODY).p, "reader, person, agent, overseer");
	arena_done(&a);
}
