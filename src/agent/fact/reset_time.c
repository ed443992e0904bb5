#include "agent/fact/reset_time.h"

#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"

enum { LOOK = 4096 }; /* a message says it at its start */
/* Minutes are cut, and what is said is read a little later: that long ago is not tomorrow. */
#define JUST_NOW (10 * OV_MINUTE)

struct clock {
	int64_t year, month, day; /* 0: none is named */
	int64_t minute;           /* of the day */
	bool utc;
};

static str lowered(str text, char room[static LOOK])
{
	text = str_sub(text, 0, LOOK);
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		room[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
	return (str){ room, text.n };
}

static void skip(str *s, const char *any)
{
	while (s->n && s->p[0] && strchr(any, s->p[0]))
		s->p++, s->n--;
}

static bool reset_time_take(str *s, const char *word)
{
	str w = str_from(word);

	if (!str_starts(*s, w))
		return false;
	*s = str_sub(*s, w.n, s->n);
	return true;
}

/* A number of at most `most` digits, which no further one follows. */
static bool take_number(str *s, size_t most, int64_t *ret)
{
	size_t n = 0;

	while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
		n++;
	if (!n || n > most || !str_to_i64(str_sub(*s, 0, n), ret))
		return false;
	*s = str_sub(*s, n, s->n);
	return true;
}

/* "nov 18th, 2026", "november 18": the year may be missing. */
static bool take_named_date(str *s, struct clock *c)
{
	static const char *const months[] = { "jan", "feb", "mar", "apr", "may", "jun", "jul",
		"aug", "sep", "oct", "nov", "dec" };
	static const char *const ends[] = { "st", "nd", "rd", "th" };
	str rest = *s, year;
	int64_t n;

	for (size_t i = 0; i < ARRAY_LEN(months); i++)
		if (reset_time_take(&rest, months[i]))
			c->month = (int64_t)i + 1;
	if (!c->month)
		return true;
	skip(&rest, "abcdefghijklmnopqrstuvwxyz.");
	skip(&rest, " ");
	if (!take_number(&rest, 2, &c->day))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (reset_time_take(&rest, ends[i]))
			break;
	skip(&rest, " ,");
	year = rest;
	if (take_number(&year, 4, &n) && n >= 1000) {
		c->year = n;
		rest = year;
	}
	*s = rest;
	return true;
}

/* "2026-11-18". */
static bool take_numeric_date(str *s, struct clock *c)
{
	str rest = *s;
	struct clock d = *c;

	if (!take_number(&rest, 4, &d.year) || d.year < 1000 || !reset_time_take(&rest, "-") ||
			!take_number(&rest, 2, &d.month) || !reset_time_take(&rest, "-") ||
			!take_number(&rest, 2, &d.day))
		return false;
	*c = d;
	*s = rest;
	return true;
}

/*
 * "2:33 am", "3pm", "14:05", "02:33:10": minutes or a half of the day are named, else it is
 * no time.
 */
static bool take_time(str *s, struct clock *c)
{
	int64_t hour, minute = 0, second;
	bool exact = false;

	if (!take_number(s, 2, &hour))
		return false;
	if (reset_time_take(s, ":")) {
		exact = take_number(s, 2, &minute);
		if (!exact)
			return false;
		if (reset_time_take(s, ":") && !take_number(s, 2, &second))
			return false;
	}
	skip(s, " ");
	if (reset_time_take(s, "am") || reset_time_take(s, "a.m.")) {
		if (hour < 1 || hour > 12)
			return false;
		hour %= 12;
	} else if (reset_time_take(s, "pm") || reset_time_take(s, "p.m.")) {
		if (hour < 1 || hour > 12)
			return false;
		hour = hour % 12 + 12;
	} else if (!exact) {
		return false;
	}
	c->minute = hour * 60 + minute;
	return hour < 24 && minute < 60;
}

static bool read_clock(str s, struct clock *ret)
{
	*ret = (struct clock){ 0 };
	skip(&s, " ");
	if (!take_numeric_date(&s, ret) && !take_named_date(&s, ret))
		return false;
	skip(&s, " ,t");
	(void)reset_time_take(&s, "at ");
	if (!take_time(&s, ret))
		return false;
	skip(&s, " (");
	ret->utc = str_starts(s, STR("utc")) || str_starts(s, STR("gmt")) ||
			str_starts(s, STR("z"));
	return true;
}

/* Midnight of a day, as if local time were UTC; false: there is no such day. */
static bool midnight(int64_t year, int64_t month, int64_t day, ov_time *ret)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	return time_parse(arena_printf(&a, "%04lld-%02lld-%02lldT00:00:00Z", (long long)year,
					  (long long)month, (long long)day),
			ret);
}

static int64_t year_of(ov_time local)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	int64_t year = 0;

	(void)str_to_i64(str_sub(time_format(&a, local), 0, 4), &year);
	return year;
}

/* The moment that is meant; it may have passed. */
static ov_time moment_of(const struct clock *c, ov_time now, ov_time utc_offset)
{
	ov_time offset = c->utc ? 0 : utc_offset, local = now + offset, day, at;
	int64_t year = c->year ? c->year : year_of(local);

	if (!c->month) {
		day = local - local % OV_DAY;
		at = day + c->minute * OV_MINUTE - offset;
		return at + JUST_NOW < now ? at + OV_DAY : at;
	}
	if (!midnight(year, c->month, c->day, &day))
		return 0;
	/* In December an agent speaks of a day in January. */
	if (!c->year && day + 180 * OV_DAY < local && !midnight(year + 1, c->month, c->day, &day))
		return 0;
	return day + c->minute * OV_MINUTE - offset;
}

ov_time reset_time(str text, ov_time now, ov_time utc_offset)
{
	static const char *const before[] = { "again at ", "resets at ", "reset at ", "resets on ",
		"reset on ", "resets " };
	char room[LOOK];

	text = lowered(text, room);
	for (size_t i = 0; i < ARRAY_LEN(before); i++) {
		size_t at = str_find(text, str_from(before[i]));
		struct clock c;
		ov_time t;

		if (at >= text.n || !read_clock(str_sub(text, at + strlen(before[i]), text.n), &c))
			continue;
		t = moment_of(&c, now, utc_offset);
		return t > now ? t : 0;
	}
	return 0;
}
