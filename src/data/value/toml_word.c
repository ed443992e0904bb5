#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "data/value/json_number_impl.h"
#include "data/value/toml_impl.h"

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static bool is_word_byte(int c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
			c == '+' || c == '-' || c == '.' || c == ':';
}

/* The value of exactly n digits at *s, taken off; -1 when they are not there. */
static int take_digits(str *s, size_t n)
{
	int v = 0;

	if (s->n < n)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (!is_digit(s->p[i]))
			return -1;
		v = v * 10 + (s->p[i] - '0');
	}
	*s = str_sub(*s, n, s->n);
	return v;
}

static bool take_byte(str *s, char c)
{
	if (s->n == 0 || s->p[0] != c)
		return false;
	*s = str_sub(*s, 1, s->n);
	return true;
}

static int month_days(int year, int month)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

/* "1979-05-27", taken off; false when it is no date of the calendar. */
static bool take_date(str *s, struct buf *out)
{
	int y, m, d;

	y = take_digits(s, 4);
	if (y < 1 || !take_byte(s, '-'))
		return false;
	m = take_digits(s, 2);
	if (m < 1 || m > 12 || !take_byte(s, '-'))
		return false;
	d = take_digits(s, 2);
	if (d < 1 || d > month_days(y, m))
		return false;
	buf_addf(out, "%04d-%02d-%02d", y, m, d);
	return true;
}

/* "07:32:00.25", taken off; the fraction is cut to microseconds, without zeros at its end. */
static bool take_time(str *s, struct buf *out)
{
	int h, m, sec;
	str fraction;
	size_t n = 0;

	h = take_digits(s, 2);
	if (h < 0 || h > 23 || !take_byte(s, ':'))
		return false;
	m = take_digits(s, 2);
	if (m < 0 || m > 59 || !take_byte(s, ':'))
		return false;
	sec = take_digits(s, 2);
	if (sec < 0 || sec > 59)
		return false;
	buf_addf(out, "%02d:%02d:%02d", h, m, sec);
	if (!take_byte(s, '.'))
		return true;
	while (n < s->n && is_digit(s->p[n]))
		n++;
	if (n == 0)
		return false;
	fraction = str_sub(*s, 0, MIN(n, (size_t)6));
	*s = str_sub(*s, n, s->n);
	while (fraction.n && fraction.p[fraction.n - 1] == '0')
		fraction.n--;
	if (fraction.n)
		buf_addf(out, "." STR_FMT, STR_ARG(fraction));
	return true;
}

/* "Z" or "+02:00" to the end of s; every spelling of no offset becomes Z. */
static bool take_offset(str s, struct buf *out)
{
	char sign;
	int h, m;

	if (s.n == 1 && (s.p[0] == 'Z' || s.p[0] == 'z')) {
		buf_addc(out, 'Z');
		return true;
	}
	if (s.n != 6 || (s.p[0] != '+' && s.p[0] != '-'))
		return false;
	sign = s.p[0];
	s = str_sub(s, 1, s.n);
	h = take_digits(&s, 2);
	if (h < 0 || h > 23 || !take_byte(&s, ':'))
		return false;
	m = take_digits(&s, 2);
	if (m < 0 || m > 59)
		return false;
	if (h == 0 && m == 0)
		buf_addc(out, 'Z');
	else
		buf_addf(out, "%c%02d:%02d", sign, h, m);
	return true;
}

static bool datetime(str w, struct buf *out)
{
	buf_clear(out);
	if (w.n > 2 && w.p[2] == ':')
		return take_time(&w, out) && w.n == 0;
	if (!take_date(&w, out))
		return false;
	if (w.n == 0)
		return true;
	if (!take_byte(&w, 'T') && !take_byte(&w, 't') && !take_byte(&w, ' '))
		return false;
	buf_addc(out, 'T');
	if (!take_time(&w, out))
		return false;
	return w.n == 0 || take_offset(w, out);
}

/* Digits with single underscores between them, taken off into out; false when there are none. */
static bool take_number_digits(str *s, unsigned base, struct buf *out)
{
	size_t i = 0;

	for (;;) {
		int c = i < s->n ? (unsigned char)s->p[i] : -1;
		unsigned d = 99;

		if (is_digit(c))
			d = (unsigned)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			d = (unsigned)((c | 0x20) - 'a') + 10;
		if (d >= base)
			return false;
		buf_addc(out, (char)c);
		i++;
		if (i < s->n && s->p[i] == '_') {
			i++;
			continue;
		}
		if (i == s->n || !(is_digit(s->p[i]) || base == 16))
			break;
	}
	*s = str_sub(*s, i, s->n);
	return true;
}

/* 1 when w is an integer, 0 when it is not one, OV_ELIMIT when it does not fit 64 bits. */
static int integer(str w, struct buf *digits, int64_t *ret)
{
	bool negative = w.n && w.p[0] == '-';
	unsigned base = 10;
	uint64_t v = 0;

	buf_clear(digits);
	if (w.n > 2 && w.p[0] == '0' && (w.p[1] == 'x' || w.p[1] == 'o' || w.p[1] == 'b'))
		base = w.p[1] == 'x' ? 16 : w.p[1] == 'o' ? 8 : 2;
	if (base != 10)
		w = str_sub(w, 2, w.n);
	else if (w.n && (negative || w.p[0] == '+'))
		w = str_sub(w, 1, w.n);
	if (!take_number_digits(&w, base, digits) || w.n)
		return 0;
	if (base == 10 && digits->n > 1 && digits->p[0] == '0')
		return 0;
	for (size_t i = 0; i < digits->n; i++) {
		int c = digits->p[i];
		unsigned d = (unsigned)(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);

		if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, d, &v))
			return OV_ELIMIT;
	}
	if (v > (uint64_t)INT64_MAX + negative)
		return OV_ELIMIT;
	*ret = negative ? (int64_t)(0 - v) : (int64_t)v;
	return 1;
}

/* As integer(). A number too small for a double becomes zero, as everywhere. */
static int real(str w, struct buf *out, double *ret)
{
	bool negative = w.n && w.p[0] == '-', point = false, exponent = false;
	struct json_number number;
	const char *end;
	double v;

	buf_clear(out);
	if (negative || (w.n && w.p[0] == '+'))
		w = str_sub(w, 1, w.n);
	if (str_is(w, "inf") || str_is(w, "nan")) {
		v = w.p[0] == 'i' ? __builtin_inf() : __builtin_nan("");
		*ret = negative ? -v : v;
		return 1;
	}
	if (!take_number_digits(&w, 10, out) || (out->n > 1 && out->p[0] == '0'))
		return 0;
	if (take_byte(&w, '.')) {
		point = true;
		buf_addc(out, '.');
		if (!take_number_digits(&w, 10, out))
			return 0;
	}
	if (take_byte(&w, 'e') || take_byte(&w, 'E')) {
		exponent = true;
		buf_addc(out, 'e');
		if (w.n && (w.p[0] == '+' || w.p[0] == '-')) {
			buf_addc(out, w.p[0]);
			w = str_sub(w, 1, w.n);
		}
		if (!take_number_digits(&w, 10, out))
			return 0;
	}
	if (w.n || !(point || exponent))
		return 0;
	/* Without sign and underscores it is a number of JSON, whose reader no locale disturbs. */
	if (json_read_number(out->p, &number, &end))
		return OV_ELIMIT;
	*ret = negative ? -number.r : number.r;
	return 1;
}

/* A date and a time may be two words with one space between them. */
static str take_word(struct toml_scan *s)
{
	size_t start = s->at;

	while (is_word_byte(toml_peek(s, 0)))
		s->at++;
	if (s->at - start == 10 && s->text.p[start + 4] == '-' && toml_peek(s, 0) == ' ' &&
			is_digit(toml_peek(s, 1)) && is_digit(toml_peek(s, 2)) &&
			toml_peek(s, 3) == ':') {
		s->at++;
		while (is_word_byte(toml_peek(s, 0)))
			s->at++;
	}
	return (str){ s->text.p + start, s->at - start };
}

static int unknown_word(const struct toml_scan *s, size_t start, str w)
{
	str shown = utf8_truncate(w, 40);

	if (str_is(w, "True") || str_is(w, "False") || str_is(w, "TRUE") || str_is(w, "FALSE"))
		return toml_fail(s, start, OV_EINVALID, "booleans are written true and false");
	if ((w.n > 2 && w.p[2] == ':') || (w.n > 7 && is_digit(w.p[0]) && w.p[4] == '-'))
		return toml_fail(s, start, OV_EINVALID,
				"'" STR_FMT "' is no date or time that exists", STR_ARG(shown));
	if (is_digit(w.p[0]) || w.p[0] == '+' || w.p[0] == '-' || w.p[0] == '.')
		return toml_fail(s, start, OV_EINVALID, "'" STR_FMT "' is not a number",
				STR_ARG(shown));
	return toml_fail(s, start, OV_EINVALID,
			"'" STR_FMT "' is not a value; text needs quotes: \"" STR_FMT "\"",
			STR_ARG(shown), STR_ARG(shown));
}

int toml_word(struct toml_scan *s, value **ret)
{
	size_t start = s->at;
	str w = take_word(s);
	int64_t i = 0;
	double f = 0;
	int r;

	if (w.n == 0)
		return toml_expected(s, "a value");
	if (str_is(w, "true") || str_is(w, "false")) {
		*ret = value_bool(s->arena, w.p[0] == 't');
		return 0;
	}
	r = integer(w, &s->scratch, &i);
	if (r == OV_ELIMIT)
		return toml_fail(s, start, OV_EINVALID, "this integer does not fit 64 bits");
	if (r > 0) {
		*ret = value_int(s->arena, i);
		return 0;
	}
	r = real(w, &s->scratch, &f);
	if (r == OV_ELIMIT)
		return toml_fail(s, start, OV_EINVALID, "this number is out of range");
	if (r > 0) {
		*ret = value_real(s->arena, f);
		return 0;
	}
	if (!datetime(w, &s->scratch))
		return unknown_word(s, start, w);
	*ret = value_str(s->arena, arena_str(s->arena, buf_str(&s->scratch)));
	(*ret)->kind = V_DATETIME;
	return 0;
}
