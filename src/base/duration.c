#include "base/duration.h"

#include "base/arena.h"
#include "base/str.h"

static const struct unit {
	const char *name;
	int64_t ms;
} units[] = {
	{ "d", OV_DAY },
	{ "h", OV_HOUR },
	{ "m", OV_MINUTE },
	{ "s", OV_SECOND },
	{ "ms", 1 },
};

/* Takes the run of digits, or of anything else, off the front. */
static str take_run(str *s, bool digit)
{
	str run = { s->p, 0 };

	while (s->n && (s->p[0] >= '0' && s->p[0] <= '9') == digit)
		s->p++, s->n--, run.n++;
	return run;
}

bool duration_parse(str s, int64_t *ret_ms)
{
	int64_t total = 0;
	size_t next = 0; /* units before this one were used or passed over */

	if (str_is(s, "0")) {
		*ret_ms = 0;
		return true;
	}
	if (s.n == 0)
		return false;
	while (s.n) {
		str number = take_run(&s, true), name = take_run(&s, false);
		int64_t n;

		if (!str_to_i64(number, &n))
			return false;
		while (next < ARRAY_LEN(units) && !str_is(name, units[next].name))
			next++;
		if (next == ARRAY_LEN(units) || __builtin_mul_overflow(n, units[next].ms, &n) ||
				__builtin_add_overflow(total, n, &total))
			return false;
		next++;
	}
	*ret_ms = total;
	return true;
}

/* Writes `most` neighbouring units at most, from the largest that is not zero. */
static str format_units(struct arena *a, int64_t ms, size_t most)
{
	uint64_t rest = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
	str out = { ms < 0 ? "-" : "", ms < 0 };
	size_t first = 0;

	if (rest == 0)
		return STR("0s");
	while (rest < (uint64_t)units[first].ms)
		first++;
	for (size_t i = first; i < ARRAY_LEN(units) && i - first < most; i++) {
		uint64_t n = rest / (uint64_t)units[i].ms;

		rest %= (uint64_t)units[i].ms;
		if (n)
			out = arena_printf(a, STR_FMT "%llu%s", STR_ARG(out), (unsigned long long)n,
					units[i].name);
	}
	return out;
}

str duration_format(struct arena *a, int64_t ms)
{
	return format_units(a, ms, ARRAY_LEN(units));
}

str duration_format_short(struct arena *a, int64_t ms)
{
	/* Milliseconds beside seconds are noise to a person. */
	return format_units(a,
			ms >= OV_SECOND || ms <= -OV_SECOND ? ms / OV_SECOND * OV_SECOND : ms, 2);
}

/*
 * Civil dates in the proleptic Gregorian calendar. Years are counted from March, so that the leap
 * day is the last of its year and the lengths of months follow one linear formula.
 */
static int64_t days_from_civil(int64_t y, int64_t m, int64_t d)
{
	int64_t era, yoe, doy;

	y -= m <= 2;
	era = (y >= 0 ? y : y - 399) / 400;
	yoe = y - era * 400;
	doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static void civil_from_days(int64_t days, int64_t *ret_y, int64_t *ret_m, int64_t *ret_d)
{
	int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;

	*ret_d = doy - (153 * mp + 2) / 5 + 1;
	*ret_m = mp < 10 ? mp + 3 : mp - 9;
	*ret_y = yoe + era * 400 + (*ret_m <= 2);
}

static const ov_time time_first = -62135596800000; /* 0001-01-01T00:00:00.000Z */
static const ov_time time_last = 253402300799999;  /* 9999-12-31T23:59:59.999Z */

/* By hand: every event and most answers carry times, and printf took a tenth of an operation. */
static void put_digits(char *at, size_t n, int64_t v)
{
	while (n-- > 0) {
		at[n] = (char)('0' + v % 10);
		v /= 10;
	}
}

str time_format(struct arena *a, ov_time t)
{
	int64_t days, ms, y, m, d;
	char *text;

	t = MIN(MAX(t, time_first), time_last);
	days = t / OV_DAY;
	ms = t % OV_DAY;
	if (ms < 0) {
		ms += OV_DAY;
		days--;
	}
	civil_from_days(days, &y, &m, &d);
	text = arena_cstr(a, STR("0000-00-00T00:00:00.000Z"));
	put_digits(text, 4, y);
	put_digits(text + 5, 2, m);
	put_digits(text + 8, 2, d);
	put_digits(text + 11, 2, ms / OV_HOUR);
	put_digits(text + 14, 2, ms / OV_MINUTE % 60);
	put_digits(text + 17, 2, ms / OV_SECOND % 60);
	put_digits(text + 20, 3, ms % 1000);
	return (str){ text, 24 };
}

str time_format_near(struct arena *a, ov_time t, ov_time now, ov_time utc_offset)
{
	str then = time_format(a, MIN(MAX(t, time_first), time_last) + utc_offset),
	    today = time_format(a, now + utc_offset),
	    tomorrow = time_format(a, now + utc_offset + OV_DAY), clock = str_sub(then, 11, 5);

	if (str_eq(str_sub(then, 0, 10), str_sub(today, 0, 10)))
		return clock;
	if (str_eq(str_sub(then, 0, 10), str_sub(tomorrow, 0, 10)))
		return arena_printf(a, "tomorrow " STR_FMT, STR_ARG(clock));
	return arena_printf(a, STR_FMT " " STR_FMT, STR_ARG(str_sub(then, 0, 10)), STR_ARG(clock));
}

/* Exactly n digits at offset `at`, as a number; -1 when they are not there. */
static int digits_at(str s, size_t at, size_t n)
{
	int v = 0;

	if (at + n > s.n)
		return -1;
	for (size_t i = at; i < at + n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return -1;
		v = v * 10 + (s.p[i] - '0');
	}
	return v;
}

static bool byte_at(str s, size_t at, const char *any)
{
	return at < s.n && s.p[at] && strchr(any, s.p[at]);
}

static int month_days(int y, int m)
{
	bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;

	return m == 2 ? 28 + leap : 30 + ((m + (m > 7)) & 1);
}

/* ".123456789" at the front, cut to milliseconds; false when malformed. */
static bool take_fraction(str *s, int64_t *ret_ms)
{
	int64_t ms = 0, weight = 100;
	str digits;

	*ret_ms = 0;
	if (!byte_at(*s, 0, "."))
		return true;
	s->p++, s->n--;
	digits = take_run(s, true);
	if (digits.n < 1 || digits.n > 9)
		return false;
	for (size_t i = 0; i < digits.n; i++, weight /= 10)
		ms += (digits.p[i] - '0') * weight;
	*ret_ms = ms;
	return true;
}

/* "Z" or "+02:00" as the whole of s. */
static bool parse_offset(str s, int64_t *ret_ms)
{
	int h = digits_at(s, 1, 2), m = digits_at(s, 4, 2);

	if (s.n == 1 && byte_at(s, 0, "Zz")) {
		*ret_ms = 0;
		return true;
	}
	if (s.n != 6 || !byte_at(s, 0, "+-") || s.p[3] != ':' || h < 0 || h > 23 || m < 0 || m > 59)
		return false;
	*ret_ms = (h * OV_HOUR + m * OV_MINUTE) * (s.p[0] == '-' ? -1 : 1);
	return true;
}

bool time_parse(str s, ov_time *ret)
{
	int y = digits_at(s, 0, 4), mon = digits_at(s, 5, 2), d = digits_at(s, 8, 2);
	int h = digits_at(s, 11, 2), min = digits_at(s, 14, 2), sec = digits_at(s, 17, 2);
	int64_t ms, offset;
	ov_time t;
	str rest;

	if (y < 1 || mon < 1 || mon > 12 || d < 1 || d > month_days(y, mon) || h < 0 || h > 23 ||
			min < 0 || min > 59 || sec < 0 || sec > 60)
		return false;
	if (s.p[4] != '-' || s.p[7] != '-' || !byte_at(s, 10, "Tt ") || s.p[13] != ':' ||
			s.p[16] != ':')
		return false;
	rest = (str){ s.p + 19, s.n - 19 };
	if (!take_fraction(&rest, &ms) || !parse_offset(rest, &offset))
		return false;
	t = days_from_civil(y, mon, d) * OV_DAY + h * OV_HOUR + min * OV_MINUTE - offset;
	/* A leap second stands only at the end of a UTC day; it is taken as the second after. */
	if (sec == 60 && ((t + OV_MINUTE) % OV_DAY != 0))
		return false;
	t += sec * OV_SECOND + ms;
	if (t < time_first || t > time_last)
		return false;
	*ret = t;
	return true;
}
