/* When a limit ends, as agents say it: Codex in a time of the day, others in all sorts of ways. */
#include "tests/test.h"

#include "agent/fact/account.h"
#include "agent/fact/reset_time.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"

TEST_MAIN

static ov_time at(const char *rfc3339)
{
	ov_time t;

	assert_true(time_parse(str_from(rfc3339), &t));
	return t;
}

static void check(const char *text, const char *now, ov_time offset, const char *want)
{
	ov_time found = reset_time(str_from(text), at(now), offset), wanted = want ? at(want) : 0;

	if (found != wanted)
		fail_msg("\"%s\": %lld instead of %lld", text, (long long)found, (long long)wanted);
}

#define CODEX                                                                                  \
	"You\xe2\x80\x99ve hit your usage limit. Upgrade to Pro (https://example.com/explore/" \
	"pro), visit https://example.com/settings/usage to purchase more credits or try again at "

TEST(a_time_of_the_day_is_the_next_one)
{
	check(CODEX "11:51 AM.", "2026-11-17T08:51:40Z", 0, "2026-11-17T11:51:00Z");
	check(CODEX "2:33 AM.", "2026-11-17T22:00:00Z", 0, "2026-11-18T02:33:00Z");
	check(CODEX "12:05 AM.", "2026-11-17T22:00:00Z", 0, "2026-11-18T00:05:00Z");
	check(CODEX "12:05 PM.", "2026-11-17T11:00:00Z", 0, "2026-11-17T12:05:00Z");
	check("resets 3pm", "2026-11-17T11:00:00Z", 0, "2026-11-17T15:00:00Z");
	check("5-hour limit reached \xe2\x88\x99 resets at 15:30", "2026-11-17T11:00:00Z", 0,
			"2026-11-17T15:30:00Z");
}

TEST(it_is_meant_in_the_zone_of_the_agent)
{
	check(CODEX "2:33 AM.", "2026-11-17T23:00:00Z", OV_HOUR, "2026-11-18T01:33:00Z");
	check(CODEX "2:33 AM.", "2026-11-18T01:00:00Z", OV_HOUR, "2026-11-18T01:33:00Z");
	check(CODEX "11:30 PM.", "2026-11-18T01:00:00Z", -5 * OV_HOUR, "2026-11-18T04:30:00Z");
	check("resets 3pm (UTC)", "2026-11-17T11:00:00Z", 9 * OV_HOUR, "2026-11-17T15:00:00Z");
}

TEST(dates_in_the_ways_that_they_are_printed)
{
	check(CODEX "Nov 18th, 2026 2:51 PM.", "2026-11-17T08:51:40Z", 0, "2026-11-18T14:51:00Z");
	check(CODEX "Dec 1st, 2026 9:00 AM.", "2026-11-28T08:00:00Z", OV_HOUR,
			"2026-12-01T08:00:00Z");
	check("Limit reached; resets Nov 19, 9am", "2026-11-17T08:00:00Z", OV_HOUR,
			"2026-11-19T08:00:00Z");
	check("resets Jan 2, 10am", "2026-12-30T08:00:00Z", 0, "2027-01-02T10:00:00Z");
	check("limit resets on 2026-11-19 04:00", "2026-11-17T08:00:00Z", 0,
			"2026-11-19T04:00:00Z");
	check("try again at 2026-11-19T04:00:00Z.", "2026-11-17T08:00:00Z", 9 * OV_HOUR,
			"2026-11-19T04:00:00Z");
}

TEST(what_has_passed_or_is_no_time_is_none)
{
	/* Minutes are cut: 8:51 was said twenty seconds before it was over. */
	check(CODEX "8:51 AM.", "2026-11-17T08:51:40Z", 0, NULL);
	check(CODEX "Nov 16th, 2026 2:51 PM.", "2026-11-17T08:51:40Z", 0, NULL);
	check(CODEX "Feb 30th, 2027 2:51 PM.", "2026-11-17T08:51:40Z", 0, NULL);
	check("Try again at 13:00 PM", "2026-11-17T08:51:40Z", 0, NULL);
	check("Try again at 25:00", "2026-11-17T08:51:40Z", 0, NULL);
	check("Try again at 12:75", "2026-11-17T08:51:40Z", 0, NULL);
	check("Try again at 7", "2026-11-17T08:51:40Z", 0, NULL);
	check("Try again at 99999999999999999999 AM", "2026-11-17T08:51:40Z", 0, NULL);
	check("Try again at Nov", "2026-11-17T08:51:40Z", 0, NULL);
	check("Try again later.", "2026-11-17T08:51:40Z", 0, NULL);
	check("resets in 5 hours", "2026-11-17T08:51:40Z", 0, NULL);
	check("", "2026-11-17T08:51:40Z", 0, NULL);
}

TEST(the_account_knows_it_from_the_message)
{
	struct account c;
	struct fact f = { .kind = FACT_TURN_ENDED,
		.offset = 1,
		.failed = true,
		.trouble = TROUBLE_RATE_LIMITED,
		.text = STR(CODEX "2:33 AM.") };

	account_init(&c, NULL, 0);
	c.utc_offset = OV_HOUR;
	account_fact(&c, &f, at("2026-11-17T23:00:00Z"));
	assert_int_equal(c.resets_at, at("2026-11-18T01:33:00Z"));
	/* What keeps trying has not met the end of anything. */
	f.kind = FACT_RETRYING;
	account_init(&c, NULL, 0);
	account_fact(&c, &f, at("2026-11-17T23:00:00Z"));
	assert_int_equal(c.resets_at, 0);
}
