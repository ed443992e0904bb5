#include "data/value/toml_impl.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/utf8.h"

int toml_fail(const struct toml_scan *s, size_t at, int code, const char *fmt, ...)
{
	size_t line = 1, column = 1;
	char what[512];
	va_list ap;

	/* Counted only now, so that reading well-formed text costs nothing. */
	for (size_t i = 0; i < at && i < s->text.n; i++) {
		if (s->text.p[i] == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)s->text.p[i] & 0xc0) != 0x80) {
			column++;
		}
	}
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return ov_fail(s->err, code, "line %zu, column %zu: %s", line, column, what);
}

int toml_peek(const struct toml_scan *s, size_t ahead)
{
	return ahead < s->text.n - s->at ? (unsigned char)s->text.p[s->at + ahead] : -1;
}

static bool newline_at(const struct toml_scan *s)
{
	return toml_peek(s, 0) == '\n' || (toml_peek(s, 0) == '\r' && toml_peek(s, 1) == '\n');
}

int toml_expected(const struct toml_scan *s, const char *what)
{
	int c = toml_peek(s, 0);
	str rest = { s->text.p + s->at, s->text.n - s->at };
	size_t n;

	if (c < 0)
		return toml_fail(s, s->at, OV_EINVALID, "expected %s, got the end of the text",
				what);
	if (newline_at(s))
		return toml_fail(s, s->at, OV_EINVALID, "expected %s, got the end of the line",
				what);
	if (c == '\r')
		return toml_fail(s, s->at, OV_EINVALID,
				"expected %s, got a carriage return without a newline", what);
	if (c < ' ' || c == 0x7f)
		return toml_fail(s, s->at, OV_EINVALID,
				"expected %s, got the control character U+%04X", what, (unsigned)c);
	utf8_next(&rest);
	n = (size_t)(rest.p - s->text.p) - s->at;
	return toml_fail(s, s->at, OV_EINVALID, "expected %s, got '%.*s'", what, (int)n,
			s->text.p + s->at);
}

bool toml_take(struct toml_scan *s, char c)
{
	if (toml_peek(s, 0) != (unsigned char)c)
		return false;
	s->at++;
	return true;
}

bool toml_take_newline(struct toml_scan *s)
{
	if (!newline_at(s))
		return false;
	s->at += s->text.p[s->at] == '\r' ? 2 : 1;
	return true;
}

void toml_skip_blanks(struct toml_scan *s)
{
	while (toml_peek(s, 0) == ' ' || toml_peek(s, 0) == '\t')
		s->at++;
}

/* A tab is the only control character that strings and comments may hold. */
static bool is_control(int c)
{
	return (c < ' ' && c != '\t') || c == 0x7f;
}

static int fail_control(const struct toml_scan *s, const char *where)
{
	int c = toml_peek(s, 0);

	if (c == '\r')
		return toml_fail(s, s->at, OV_EINVALID,
				"a carriage return without a newline is not allowed in %s", where);
	return toml_fail(s, s->at, OV_EINVALID, "the control character U+%04X is not allowed in %s",
			(unsigned)c, where);
}

int toml_skip_rest(struct toml_scan *s)
{
	toml_skip_blanks(s);
	if (!toml_take(s, '#'))
		return 0;
	while (toml_peek(s, 0) >= 0 && !newline_at(s)) {
		if (is_control(toml_peek(s, 0)))
			return fail_control(s, "a comment");
		s->at++;
	}
	return 0;
}

int toml_skip_lines(struct toml_scan *s)
{
	int r;

	do {
		r = toml_skip_rest(s);
		if (r < 0)
			return r;
	} while (toml_take_newline(s));
	return 0;
}

static int hex_digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* \uXXXX or \UXXXXXXXX; the cursor is behind the letter, `start` at the backslash. */
static int unicode_escape(struct toml_scan *s, size_t start, int digits)
{
	uint32_t c = 0;
	char bytes[4];
	size_t n;

	for (int i = 0; i < digits; i++, s->at++) {
		int d = toml_peek(s, 0) < 0 ? -1 : hex_digit(toml_peek(s, 0));

		if (d < 0)
			return toml_fail(s, start, OV_EINVALID, "\\%c needs %d hexadecimal digits",
					digits == 4 ? 'u' : 'U', digits);
		c = c << 4 | (uint32_t)d;
	}
	n = utf8_encode(c, bytes);
	if (n == 0)
		return toml_fail(s, start, OV_EINVALID, "U+%04X is no Unicode character", c);
	buf_add(&s->scratch, bytes, n);
	return 0;
}

/* A backslash at the end of a line of a multi-line string takes all white space up to text. */
static int line_escape(struct toml_scan *s, size_t start)
{
	toml_skip_blanks(s);
	if (!newline_at(s))
		return toml_fail(s, start, OV_EINVALID,
				"a backslash before white space must end its line");
	while (toml_take_newline(s))
		toml_skip_blanks(s);
	return 0;
}

/* The cursor is at the backslash. */
static int escape(struct toml_scan *s, bool multi)
{
	static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
	size_t start = s->at++;
	int c = toml_peek(s, 0);
	const char *f;

	if (multi && (c == ' ' || c == '\t' || newline_at(s)))
		return line_escape(s, start);
	if (c < 0)
		return toml_fail(s, start, OV_EINVALID, "the text ends inside an escape");
	f = c ? strchr(from, c) : NULL;
	if (!f && c != 'u' && c != 'U')
		return toml_fail(s, start, OV_EINVALID,
				"unknown escape; \\\\ is a backslash, and '...' takes text as it "
				"is");
	s->at++;
	if (!f)
		return unicode_escape(s, start, c == 'u' ? 4 : 8);
	buf_addc(&s->scratch, to[f - from]);
	return 0;
}

/* At a quote inside a multi-line string: the end is the last three of up to five quotes. */
static bool multi_end(struct toml_scan *s, char quote)
{
	size_t n = 0;

	while (n < 5 && toml_peek(s, n) == quote)
		n++;
	s->at += n;
	for (size_t i = n >= 3 ? 3 : 0; i < n; i++)
		buf_addc(&s->scratch, quote);
	return n >= 3;
}

/* One step inside a string: 1 at its end, 0 to go on. */
static int string_step(struct toml_scan *s, char quote, bool multi)
{
	int c = toml_peek(s, 0);

	if (c == quote) {
		if (multi)
			return multi_end(s, quote);
		s->at++;
		return 1;
	}
	if (c == '\\' && quote == '"')
		return escape(s, multi);
	if (newline_at(s) && !multi)
		return toml_fail(s, s->at, OV_EINVALID,
				"a one-line string ends before the line does; use %c%c%c for "
				"several lines",
				quote, quote, quote);
	if (toml_take_newline(s)) {
		buf_addc(&s->scratch, '\n');
		return 0;
	}
	if (is_control(c))
		return fail_control(s, "a string");
	buf_addc(&s->scratch, (char)c);
	s->at++;
	return 0;
}

int toml_string(struct toml_scan *s, bool key, str *ret)
{
	size_t start = s->at;
	char quote = s->text.p[start];
	bool multi = !key && toml_peek(s, 1) == quote && toml_peek(s, 2) == quote;
	int r = 0;

	buf_clear(&s->scratch);
	s->at += multi ? 3 : 1;
	if (multi)
		toml_take_newline(s);
	while (r == 0) {
		if (toml_peek(s, 0) < 0)
			return toml_fail(s, start, OV_EINVALID, "this string is never closed");
		r = string_step(s, quote, multi);
	}
	if (r < 0)
		return r;
	*ret = arena_str(s->arena, buf_str(&s->scratch));
	return 0;
}
