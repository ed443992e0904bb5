#include "tests/test.h"

#include <stdlib.h>
#include <time.h>

#include "base/duration.h"
#include "base/str.h"
#include "sys/host/clock.h"

/* Local time as the zone has it at that moment: summer time comes and goes. */
TEST(utc_offset)
{
	static const struct {
		const char *zone, *at;
		int minutes;
	} cases[] = {
		{ "UTC0", "2026-07-01T12:00:00Z", 0 },
		{ "CET-1CEST,M3.5.0,M10.5.0/3", "2026-01-01T12:00:00Z", 60 },
		{ "CET-1CEST,M3.5.0,M10.5.0/3", "2026-07-01T12:00:00Z", 120 },
		{ "CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T00:59:59.999Z", 120 },
		{ "CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T01:00:00Z", 60 },
		{ "XXX5:30", "2026-07-01T12:00:00Z", -330 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		ov_time at;

		setenv("TZ", cases[i].zone, 1);
		tzset();
		assert_true(time_parse(str_from(cases[i].at), &at));
		assert_int_equal(clock_utc_offset(at), cases[i].minutes * OV_MINUTE);
	}
}

TEST_MAIN
