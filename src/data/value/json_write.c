#include "data/value/json.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/utf8.h"

/*
 * Texts are written in small pieces, so adding one is inlined and ends without the NUL that buf
 * promises; finish() puts it there.
 */
static inline void json_write_put(struct buf *out, str s)
{
	if (out->cap - out->n <= s.n)
		buf_reserve(out, s.n);
	if (s.n)
		memcpy(out->p + out->n, s.p, s.n);
	out->n += s.n;
}

static inline void put_char(struct buf *out, char c)
{
	json_write_put(out, (str){ &c, 1 });
}

static void json_write_finish(struct buf *out)
{
	out->p[out->n] = '\0';
}

/* ---- strings ---- */

/* What stands behind the backslash for each byte that needs one; 'u' for the long form. */
static const char escapes[256] = {
	['"'] = '"',
	['\\'] = '\\',
	['\b'] = 'b',
	['\f'] = 'f',
	['\n'] = 'n',
	['\r'] = 'r',
	['\t'] = 't',
	[0x00 ... 0x07] = 'u',
	[0x0b] = 'u',
	[0x0e ... 0x1f] = 'u',
};

/* The length of the run at the front of s that is ASCII and needs no escape. */
static size_t plain_run(str s)
{
	const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
	size_t i = 0;

	for (; i + 8 <= s.n; i += 8) {
		uint64_t w, quote, slash;

		memcpy(&w, s.p + i, 8);
		quote = w ^ ones * '"';
		slash = w ^ ones * '\\';
		if ((((w - ones * 0x20) | (quote - ones) | (slash - ones)) & ~w & tops) |
				(w & tops))
			break;
	}
	while (i < s.n && (unsigned char)s.p[i] < 0x80 && !escapes[(unsigned char)s.p[i]])
		i++;
	return i;
}

/* One character that is not plain, off the front of *s. */
static void write_special(struct buf *out, str *s)
{
	unsigned char c = (unsigned char)s->p[0];
	size_t n = utf8_len(*s);

	if (escapes[c] == 'u')
		buf_addf(out, "\\u%04x", c);
	else if (escapes[c])
		json_write_put(out, (str){ (char[]){ '\\', escapes[c] }, 2 });
	else if (n == 0) /* whoever built this broke the rule, but what we send is valid */
		json_write_put(out, STR("\xef\xbf\xbd"));
	else
		json_write_put(out, (str){ s->p, n });
	n = MAX(n, (size_t)1);
	s->p += n;
	s->n -= n;
}

static void write_string(struct buf *out, str s)
{
	put_char(out, '"');
	while (s.n) {
		size_t n = plain_run(s);

		json_write_put(out, (str){ s.p, n });
		s.p += n;
		s.n -= n;
		if (s.n)
			write_special(out, &s);
	}
	put_char(out, '"');
}

void json_write_string(struct buf *out, str s)
{
	write_string(out, s);
	json_write_finish(out);
}

/* ---- numbers ---- */

static void write_int(struct buf *out, int64_t i)
{
	uint64_t u = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
	char text[20], *p = text + sizeof(text);

	do
		*--p = (char)('0' + u % 10);
	while (u /= 10);
	if (i < 0)
		put_char(out, '-');
	json_write_put(out, (str){ p, (size_t)(text + sizeof(text) - p) });
}

/* The decimal digits of a positive real: 0.d1d2d3... times ten to the power of point. */
struct decimal {
	char digits[20];
	int n, point;
};

/*
 * The fewest digits that read back as the same number. 15 always survive, 17 always suffice; only
 * subnormal numbers have fewer than 15 to begin with. Only digits are taken from what the C
 * library prints, so that the locale's decimal point does not matter.
 */
static void shortest_digits(double r, struct decimal *d)
{
	char text[64], *e;

	for (int precision = r < DBL_MIN ? 1 : 15; precision <= 17; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision - 1, r);
		if (strtod(text, NULL) == r)
			break;
	}
	e = strchr(text, 'e');
	d->point = (int)strtol(e + 1, NULL, 10) + 1;
	d->n = 0;
	for (const char *p = text; p < e && d->n < (int)sizeof(d->digits); p++)
		if (*p >= '0' && *p <= '9')
			d->digits[d->n++] = *p;
	while (d->n > 1 && d->digits[d->n - 1] == '0')
		d->n--;
}

/* Plain notation where it is short, else with an exponent. Always with a point or an exponent. */
static void write_decimal(struct buf *out, const struct decimal *d)
{
	if (d->point > 17 || d->point < -4) {
		put_char(out, d->digits[0]);
		if (d->n > 1) {
			put_char(out, '.');
			json_write_put(out, (str){ d->digits + 1, (size_t)d->n - 1 });
		}
		buf_addf(out, "e%d", d->point - 1);
		return;
	}
	if (d->point <= 0)
		put_char(out, '0');
	for (int i = 0; i < d->point; i++)
		put_char(out, i < d->n ? d->digits[i] : '0');
	put_char(out, '.');
	for (int i = d->point; i < 0; i++)
		put_char(out, '0');
	if (d->point < d->n)
		json_write_put(out,
				(str){ d->digits + MAX(d->point, 0),
						(size_t)(d->n - MAX(d->point, 0)) });
	else
		put_char(out, '0');
}

/*
 * Most reals in practice have a few decimals (0.25, 12.75): the quotient of two exact integers is
 * rounded correctly, so if it gives r back, these are its digits.
 */
static bool write_short_decimal(struct buf *out, double r)
{
	static const int64_t tens[] = { 1, 10, 100, 1000, 10000, 100000, 1000000 };

	if (r < 1e-3 || r >= 1e9)
		return false;
	for (size_t k = 0; k < ARRAY_LEN(tens); k++) {
		int64_t m = llround(r * (double)tens[k]);

		if ((double)m / (double)tens[k] != r)
			continue;
		write_int(out, m / tens[k]);
		buf_addf(out, ".%0*d", (int)MAX(k, (size_t)1), (int)(m % tens[k]));
		return true;
	}
	return false;
}

static void write_real(struct buf *out, double r, bool canonical)
{
	struct decimal d;

	if (!isfinite(r)) {
		json_write_put(out, STR("null"));
		return;
	}
	/* 1.0 equals 1 and -0.0 equals 0, so their canonical texts are the integers'. */
	if (canonical && r >= -0x1p63 && r < 0x1p63 && r == floor(r)) {
		write_int(out, (int64_t)r);
		return;
	}
	if (signbit(r))
		put_char(out, '-');
	r = fabs(r);
	if (r == 0) {
		json_write_put(out, STR("0.0"));
		return;
	}
	if (write_short_decimal(out, r))
		return;
	shortest_digits(r, &d);
	write_decimal(out, &d);
}

/* ---- trees ---- */

enum { COMPACT = -1 };

struct writer {
	struct buf *out;
	int indent; /* levels, or COMPACT */
	bool canonical;
};

static void write_value(struct writer *w, const value *v);

static void new_line(struct writer *w)
{
	if (w->indent == COMPACT)
		return;
	put_char(w->out, '\n');
	for (int i = 0; i < w->indent; i++)
		json_write_put(w->out, STR("  "));
}

static void enter(struct writer *w, char bracket)
{
	put_char(w->out, bracket);
	if (w->indent != COMPACT)
		w->indent++;
}

static void leave(struct writer *w, char bracket)
{
	if (w->indent != COMPACT)
		w->indent--;
	new_line(w);
	put_char(w->out, bracket);
}

static void write_member(struct writer *w, const struct member *m, bool first)
{
	if (!first)
		put_char(w->out, ',');
	new_line(w);
	write_string(w->out, m->key);
	put_char(w->out, ':');
	if (w->indent != COMPACT)
		put_char(w->out, ' ');
	write_value(w, m->value);
}

static void write_object(struct writer *w, const value *v)
{
	const struct member **sorted;

	if (v->object.n == 0) {
		json_write_put(w->out, STR("{}"));
		return;
	}
	enter(w, '{');
	if (w->canonical && v->object.n > 1) {
		sorted = value_sorted_members(v);
		for (size_t i = 0; i < v->object.n; i++)
			write_member(w, sorted[i], i == 0);
		mem_free(sorted);
	} else {
		for (size_t i = 0; i < v->object.n; i++)
			write_member(w, &v->object.members[i], i == 0);
	}
	leave(w, '}');
}

static void write_array(struct writer *w, const value *v)
{
	if (v->array.n == 0) {
		json_write_put(w->out, STR("[]"));
		return;
	}
	enter(w, '[');
	for (size_t i = 0; i < v->array.n; i++) {
		if (i)
			put_char(w->out, ',');
		new_line(w);
		write_value(w, v->array.items[i]);
	}
	leave(w, ']');
}

static void write_value(struct writer *w, const value *v)
{
	switch (v->kind) {
	case V_NULL: json_write_put(w->out, STR("null")); break;
	case V_BOOL: json_write_put(w->out, v->b ? STR("true") : STR("false")); break;
	case V_INT: write_int(w->out, v->i); break;
	case V_REAL: write_real(w->out, v->r, w->canonical); break;
	case V_STR:
	case V_DATETIME: write_string(w->out, v->s); break;
	case V_ARRAY: write_array(w, v); break;
	case V_OBJECT: write_object(w, v); break;
	}
}

void json_write(struct buf *out, const value *v)
{
	write_value(&(struct writer){ .out = out, .indent = COMPACT }, v);
	json_write_finish(out);
}

void json_write_pretty(struct buf *out, const value *v)
{
	write_value(&(struct writer){ .out = out }, v);
	json_write_finish(out);
}

void json_write_canonical(struct buf *out, const value *v)
{
	write_value(&(struct writer){ .out = out, .indent = COMPACT, .canonical = true }, v);
	json_write_finish(out);
}

str json_text(struct arena *a, const value *v)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	json_write(&b, v);
	return arena_str(a, buf_str(&b));
}
