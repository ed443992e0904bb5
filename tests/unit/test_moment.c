/* Times as people write them: every form, both sides, and what is none. */
#include "tests/test.h"

#include "base/arena.h"
#include "base/duration.h"
#include "base/moment.h"
#include "base/str.h"

TEST_MAIN

/*
 * Two hours before UTC in summer, one in winter, as in Berlin; the clocks change on 2026-10-25
 * at 01:00 UTC.
 */
static ov_time berlin(ov_time at)
{
	ov_time winter;

	assert_true(time_parse(STR("2026-10-25T01:00:00Z"), &winter));
	return at < winter ? 2 * OV_HOUR : OV_HOUR;
}

static ov_time at(const char *rfc3339)
{
	ov_time t;

	assert_true(time_parse(str_from(rfc3339), &t));
	return t;
}

TEST(every_form_has_one_meaning)
{
	static const struct {
		const char *text, *past, *future; /* future NULL: the same */
	} cases[] = {
		{ "2026-11-15T08:30:00Z", "2026-11-15T08:30:00Z", NULL },
		{ "2026-11-15T08:30:00+01:00", "2026-11-15T07:30:00Z", NULL },
		{ "2h", "2026-11-16T10:00:00Z", "2026-11-16T14:00:00Z" },
		{ "1h30m", "2026-11-16T10:30:00Z", "2026-11-16T13:30:00Z" },
		{ "7d", "2026-11-09T12:00:00Z", "2026-11-23T12:00:00Z" },
		{ "2h ago", "2026-11-16T10:00:00Z", NULL },
		{ "in 2h", "2026-11-16T14:00:00Z", NULL },
		{ "  2h  ", "2026-11-16T10:00:00Z", "2026-11-16T14:00:00Z" },
		{ "0", "2026-11-16T12:00:00Z", NULL },
		{ "now", "2026-11-16T12:00:00Z", NULL },
		/* Local days: noon UTC is 13:00. */
		{ "today", "2026-11-15T23:00:00Z", NULL },
		{ "yesterday", "2026-11-14T23:00:00Z", NULL },
		{ "tomorrow", "2026-11-16T23:00:00Z", NULL },
		{ "yesterday 22:30", "2026-11-15T21:30:00Z", NULL },
		{ "tomorrow 08:30", "2026-11-17T07:30:00Z", NULL },
		{ "08:30", "2026-11-16T07:30:00Z", "2026-11-17T07:30:00Z" },
		{ "22:30", "2026-11-15T21:30:00Z", "2026-11-16T21:30:00Z" },
		{ "13:00", "2026-11-16T12:00:00Z", "2026-11-17T12:00:00Z" },
		{ "2026-11-15", "2026-11-14T23:00:00Z", NULL },
		{ "2026-11-15 22:30", "2026-11-15T21:30:00Z", NULL },
		/* By the local time of that day, not of today. */
		{ "2026-07-01", "2026-06-30T22:00:00Z", NULL },
		{ "2026-10-25 00:30", "2026-10-24T22:30:00Z", NULL },
		{ "2026-10-25 12:00", "2026-10-25T11:00:00Z", NULL },
		{ "99999999d", "1970-01-01T00:00:00Z", NULL },
	};
	struct moment_clock clock = { at("2026-11-16T12:00:00Z"), berlin };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		ov_time past, future;

		assert_true(moment_parse(str_from(cases[i].text), MOMENT_PAST, &clock, &past));
		assert_true(moment_parse(str_from(cases[i].text), MOMENT_FUTURE, &clock, &future));
		assert_int_equal(past, at(cases[i].past));
		if (cases[i].future)
			assert_int_equal(future, at(cases[i].future));
		else if (strcmp(cases[i].text, "99999999d") != 0)
			assert_int_equal(future, at(cases[i].past));
	}
}

TEST(what_is_no_time_is_refused)
{
	static const char *const bad[] = { "", " ", "ago", "in", "in ", " ago", "2 hours", "h",
		"2x", "24:00", "12:60", "1:30", "12:3", "12:30:00", "yesterday 24:00", "yesterdays",
		"2026-13-01", "2026-02-30", "2026-11-15T08:30", "2026-11-15T08:30:00", "last week",
		"-2h", "2h from now", "in 2h ago" };
	struct moment_clock clock = { at("2026-11-16T12:00:00Z"), berlin };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		ov_time t;

		if (moment_parse(str_from(bad[i]), MOMENT_PAST, &clock, &t))
			fail_msg("\"%s\" is taken for a time", bad[i]);
	}
}

/* A day has its beginning also where the clocks change within it, and around 1970. */
TEST(days_begin_at_midnight)
{
	static const char *const nows[] = { "2026-10-25T00:30:00Z", "2026-10-25T12:00:00Z",
		"2026-10-26T12:00:00Z", "1970-01-02T00:30:00Z" };

	for (size_t i = 0; i < ARRAY_LEN(nows); i++) {
		struct moment_clock clock = { at(nows[i]), berlin };
		ov_time today, yesterday;

		assert_true(moment_parse(STR("today"), MOMENT_PAST, &clock, &today));
		assert_true(moment_parse(STR("yesterday"), MOMENT_PAST, &clock, &yesterday));
		assert_true(today <= clock.now && clock.now - today < 25 * OV_HOUR);
		assert_int_equal((today + berlin(today)) % OV_DAY, 0);
		assert_int_equal((yesterday + berlin(yesterday)) % OV_DAY, 0);
		assert_true(yesterday < today);
	}
}
