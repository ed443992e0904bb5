#include "base/moment.h"

#include "base/duration.h"
#include "base/str.h"

static int digit_pair(str s, size_t at)
{
	if (at + 2 > s.n || s.p[at] < '0' || s.p[at] > '9' || s.p[at + 1] < '0' ||
			s.p[at + 1] > '9')
		return -1;
	return (s.p[at] - '0') * 10 + (s.p[at + 1] - '0');
}

/* "22:30" as the time since the day began. */
static bool parse_clock(str s, ov_time *ret)
{
	int h = digit_pair(s, 0), m = digit_pair(s, 3);

	if (s.n != 5 || s.p[2] != ':' || h < 0 || h > 23 || m < 0 || m > 59)
		return false;
	*ret = h * OV_HOUR + m * OV_MINUTE;
	return true;
}

/* What local time calls `local` ms since 1970; around a change of the clocks, as the day began. */
static ov_time from_local(const struct moment_clock *c, ov_time local)
{
	ov_time at = local - c->utc_offset(local);

	return local - c->utc_offset(at);
}

/* The number of the local day, counted from 1970. */
static int64_t day_of(const struct moment_clock *c, ov_time at)
{
	ov_time local = at + c->utc_offset(at);

	return (local - (local < 0 ? OV_DAY - 1 : 0)) / OV_DAY;
}

/* "today" ..., or "2026-11-15". */
static bool parse_day(str s, const struct moment_clock *c, int64_t *ret)
{
	static const struct {
		const char *word;
		int days;
	} words[] = { { "yesterday", -1 }, { "today", 0 }, { "tomorrow", 1 } };
	char text[] = "0000-00-00T00:00:00Z";
	ov_time midnight;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (str_is(s, words[i].word)) {
			*ret = day_of(c, c->now) + words[i].days;
			return true;
		}
	if (s.n != 10)
		return false;
	memcpy(text, s.p, s.n);
	if (!time_parse(str_from(text), &midnight))
		return false;
	*ret = (midnight - (midnight < 0 ? OV_DAY - 1 : 0)) / OV_DAY;
	return true;
}

/* "yesterday 22:30", or the day alone. */
static bool parse_local(str s, const struct moment_clock *c, ov_time *ret)
{
	size_t space = str_find_byte(s, ' ');
	ov_time of_day = 0;
	int64_t day;

	if (!parse_day(str_sub(s, 0, space), c, &day) ||
			(space < s.n && !parse_clock(str_sub(s, space + 1, s.n), &of_day)))
		return false;
	*ret = from_local(c, day * OV_DAY + of_day);
	return true;
}

/* The last such time of a day that was, or the next one. */
static ov_time nearest_clock(ov_time of_day, enum moment_side side, const struct moment_clock *c)
{
	int64_t today = day_of(c, c->now);
	ov_time at = from_local(c, today * OV_DAY + of_day);

	if (side == MOMENT_PAST && at > c->now)
		return from_local(c, (today - 1) * OV_DAY + of_day);
	if (side == MOMENT_FUTURE && at <= c->now)
		return from_local(c, (today + 1) * OV_DAY + of_day);
	return at;
}

/* "2h ago", "in 2h", "2h". */
static bool parse_distance(str s, enum moment_side side, ov_time now, ov_time *ret)
{
	str ago = STR(" ago"), in = STR("in ");
	bool past = s.n > ago.n && str_eq(str_sub(s, s.n - ago.n, s.n), ago),
	     future = !past && str_starts(s, in);
	ov_time d;

	if (past)
		s = str_sub(s, 0, s.n - ago.n);
	else if (future)
		s = str_sub(s, in.n, s.n);
	else
		past = side == MOMENT_PAST;
	if (!duration_parse(str_trim(s), &d))
		return false;
	/* Before all time, and after it, are as good as its ends. */
	*ret = past ? MAX(now - MIN(d, now), (ov_time)0) : now + MIN(d, OV_TIME_MAX - now);
	return true;
}

bool moment_parse(str s, enum moment_side side, const struct moment_clock *clock, ov_time *ret)
{
	ov_time of_day;

	s = str_trim(s);
	if (time_parse(s, ret) || parse_local(s, clock, ret) ||
			parse_distance(s, side, clock->now, ret))
		return true;
	if (str_is(s, "now")) {
		*ret = clock->now;
		return true;
	}
	if (!parse_clock(s, &of_day))
		return false;
	*ret = nearest_clock(of_day, side, clock);
	return true;
}
