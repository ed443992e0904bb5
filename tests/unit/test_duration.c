#include "tests/test.h"

#include <stdio.h>
#include <time.h>

#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "tests/rng.h"

TEST(parsing_durations)
{
	static const struct {
		const char *text;
		int64_t ms; /* -1: refused */
	} cases[] = {
		{ "0", 0 },
		{ "0s", 0 },
		{ "250ms", 250 },
		{ "3s", 3000 },
		{ "15m", 900000 },
		{ "1h30m", 5400000 },
		{ "2d", 172800000 },
		{ "1d2h3m4s5ms", 93784005 },
		{ "90m", 5400000 },
		{ "106751991167d", 9223372036828800000 },
		{ "", -1 },
		{ "5", -1 },
		{ "m", -1 },
		{ "1m1h", -1 },
		{ "1m1m", -1 },
		{ "1.5h", -1 },
		{ "-1s", -1 },
		{ "+1s", -1 },
		{ "1 s", -1 },
		{ " 1s", -1 },
		{ "1s ", -1 },
		{ "1w", -1 },
		{ "1H", -1 },
		{ "106751991168d", -1 },
		{ "99999999999999999999s", -1 },
		{ "00", -1 },
		{ "106751991167d8h", -1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int64_t ms = -1;
		bool ok = duration_parse(str_from(cases[i].text), &ms);

		if (ok != (cases[i].ms >= 0) || ms != cases[i].ms)
			fail_msg("%s: %lld", cases[i].text, (long long)ms);
	}
}

TEST(formatting_durations)
{
	static const struct {
		int64_t ms;
		const char *exact, *brief;
	} cases[] = {
		{ 0, "0s", "0s" },
		{ 1, "1ms", "1ms" },
		{ 5400000, "1h30m", "1h30m" },
		{ 8045123, "2h14m5s123ms", "2h14m" },
		{ 1020000, "17m", "17m" },
		{ 3999, "3s999ms", "3s" },
		{ 172800000 + 300000, "2d5m", "2d" },
		{ -5000, "-5s", "-5s" },
		{ INT64_MAX, "106751991167d7h12m55s807ms", "106751991167d7h" },
	};
	struct arena a = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_string_equal(arena_cstr(&a, duration_format(&a, cases[i].ms)),
				cases[i].exact);
		assert_string_equal(arena_cstr(&a, duration_format_short(&a, cases[i].ms)),
				cases[i].brief);
	}
	assert_true(duration_format(&a, INT64_MIN).n > 0);
	arena_done(&a);
}

TEST(durations_round_trip)
{
	struct arena a = ARENA_INIT;
	struct rng r = { 11 };

	for (int i = 0; i < 20000; i++) {
		int64_t ms = (int64_t)(rng_next(&r) >> (1 + rng_below(&r, 62))), back = -1;

		assert_true(duration_parse(duration_format(&a, ms), &back));
		assert_int_equal(back, ms);
		if (i % 100 == 0)
			arena_reset(&a);
	}
	arena_done(&a);
}

/* The C library's calendar is the oracle. */
TEST(times_agree_with_the_c_library)
{
	struct arena a = ARENA_INIT;
	struct rng r = { 12 };

	for (int i = 0; i < 50000; i++) {
		ov_time t = (int64_t)rng_below(&r, 315537897600000) - 62135596800000, back;
		time_t seconds = (t - ((t % 1000) + 1000) % 1000) / 1000;
		char expected[64];
		struct tm tm;
		str s;

		gmtime_r(&seconds, &tm);
		snprintf(expected, sizeof(expected), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
				tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
				tm.tm_sec, (int)(t - (int64_t)seconds * 1000));
		s = time_format(&a, t);
		assert_string_equal(s.p, expected);
		assert_true(time_parse(s, &back));
		assert_int_equal(back, t);
		if (i % 100 == 0)
			arena_reset(&a);
	}
	arena_done(&a);
}

TEST(parsing_times)
{
	static const struct {
		const char *text;
		ov_time t;
	} good[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "2026-11-15T01:42:35.123Z", 1794706955123 },
		{ "2026-11-15t01:42:35.123456789z", 1794706955123 },
		{ "2026-11-15 03:42:35.1+02:00", 1794706955100 },
		{ "2026-11-14T20:12:35-05:30", 1794706955000 },
		{ "2016-12-31T23:59:60Z", 1483228800000 },
		{ "2017-01-01T00:59:60+01:00", 1483228800000 },
		{ "2024-02-29T00:00:00Z", 1709164800000 },
		{ "2000-02-29T00:00:00Z", 951782400000 },
		{ "0001-01-01T00:00:00Z", -62135596800000 },
		{ "9999-12-31T23:59:59.999Z", 253402300799999 },
	};
	static const char *const bad[] = { "", "2026-11-15", "2026-11-15T01:42:35",
		"2026-11-15T01:42Z", "2026-13-15T01:42:35Z", "2026-00-15T01:42:35Z",
		"2026-11-31T01:42:35Z", "2026-02-29T01:42:35Z", "1900-02-29T01:42:35Z",
		"2026-11-00T01:42:35Z", "2026-11-15T24:00:00Z", "2026-11-15T01:60:00Z",
		"2026-11-15T01:42:61Z", "2026-11-15T01:42:60Z", "2026-11-15T01:42:35.Z",
		"2026-11-15T01:42:35.1234567890Z", "2026-11-15T01:42:35+2:00",
		"2026-11-15T01:42:35+0200", "2026-11-15T01:42:35+24:00",
		"2026-11-15T01:42:35+02:60", "2026-11-15T01:42:35Zx", "0000-01-01T00:00:00Z",
		"2026/11/15T01:42:35Z", "2026-11-15T01-42-35Z", "0001-01-01T00:00:00+01:00",
		"9999-12-31T23:59:59-01:00", " 2026-11-15T01:42:35Z", "+026-11-15T01:42:35Z" };

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		ov_time t = -1;

		assert_true(time_parse(str_from(good[i].text), &t));
		assert_int_equal(t, good[i].t);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		ov_time t = 77;

		if (time_parse(str_from(bad[i]), &t))
			fail_msg("accepted: %s", bad[i]);
		assert_int_equal(t, 77);
	}
}

TEST(times_beyond_the_calendar_are_clamped)
{
	struct arena a = ARENA_INIT;

	assert_string_equal(time_format(&a, INT64_MAX).p, "9999-12-31T23:59:59.999Z");
	assert_string_equal(time_format(&a, INT64_MIN).p, "0001-01-01T00:00:00.000Z");
	arena_done(&a);
}

TEST(times_near_now)
{
	static const struct {
		const char *at, *now;
		ov_time offset;
		const char *text;
	} cases[] = {
		{ "2026-11-16T08:00:00Z", "2026-11-16T07:25:00Z", 0, "08:00" },
		{ "2026-11-16T06:59:59Z", "2026-11-16T07:25:00Z", 0, "06:59" },
		{ "2026-11-17T08:00:00Z", "2026-11-16T07:25:00Z", 0, "tomorrow 08:00" },
		{ "2026-11-18T00:00:00Z", "2026-11-16T23:05:00Z", 0, "2026-11-18 00:00" },
		{ "2026-11-15T08:00:00Z", "2026-11-16T07:25:00Z", 0, "2026-11-15 08:00" },
		/* The day is the one of the people's clock. */
		{ "2026-11-16T23:30:00Z", "2026-11-16T22:30:00Z", OV_HOUR, "tomorrow 00:30" },
		{ "2026-11-17T00:30:00Z", "2026-11-16T23:30:00Z", OV_HOUR, "01:30" },
		{ "2026-11-17T04:00:00Z", "2026-11-16T23:30:00Z", -5 * OV_HOUR, "23:00" },
	};
	struct arena a = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		ov_time at, now;

		assert_true(time_parse(str_from(cases[i].at), &at));
		assert_true(time_parse(str_from(cases[i].now), &now));
		if (!str_is(time_format_near(&a, at, now, cases[i].offset), cases[i].text))
			fail_msg("%s at %s: not %s", cases[i].at, cases[i].now, cases[i].text);
	}
	assert_true(str_is(time_format_near(&a, INT64_MAX, 0, OV_HOUR), "9999-12-31 23:59"));
	arena_done(&a);
}

TEST_MAIN
