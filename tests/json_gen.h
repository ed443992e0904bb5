/*
 * Random JSON for property and differential tests: value trees that reach the corners (empty
 * containers, long strings, every escape, extreme numbers), and texts damaged in the ways that
 * tell strict readers from lax ones.
 */
#pragma once

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "data/value/value.h"
#include "tests/rng.h"

static inline str gen_string(struct arena *a, struct rng *r)
{
	size_t length = rng_below(r, 8) ? rng_below(r, 12) : rng_below(r, 80), n = 0;
	char *p = arena_alloc(a, length * 4 + 1);

	for (size_t i = 0; i < length; i++) {
		uint32_t c = (uint32_t)(' ' + rng_below(r, 95));

		switch (rng_below(r, 12)) {
		case 0: c = (uint32_t)(1 + rng_below(r, 31)); break;
		case 1: c = (uint32_t)rng_below(r, 0xd800); break;
		case 2: c = (uint32_t)(0xe000 + rng_below(r, 0x102000)); break;
		default: break;
		}
		n += utf8_encode(c ? c : 1, p + n); /* NUL is not part of jansson's keys */
	}
	return (str){ p, n };
}

static inline double gen_real(struct rng *r)
{
	static const double corners[] = { 0.0, -0.0, 1.0, 0.1, 1e21, 1e22, 1e23, 5e-324,
		2.2250738585072014e-308, 2.225073858507201e-308, 1.7976931348623157e308,
		9007199254740993.0, 0.30000000000000004, 123456.789, 1e-7, 4.35, 0.000001, 1e15,
		1e16, 1e17, 9.5367431640625e-7, 9223372036854775808.0, -9223372036854775808.0,
		1e18 };
	uint64_t bits = rng_next(r);
	double d;

	switch (rng_below(r, 4)) {
	case 0: return corners[rng_below(r, ARRAY_LEN(corners))];
	case 1: return (double)(int64_t)rng_below(r, 1000000) / 1000.0;
	case 2: return ldexp((double)(int64_t)bits, (int)rng_below(r, 100) - 80);
	default: break;
	}
	memcpy(&d, &bits, sizeof(d));
	return isfinite(d) ? d : 1.5;
}

static inline int64_t gen_int(struct rng *r)
{
	static const int64_t corners[] = { 0, -1, INT64_MAX, INT64_MIN, INT64_MAX - 1,
		9007199254740993 };

	if (rng_below(r, 8) == 0)
		return corners[rng_below(r, ARRAY_LEN(corners))];
	return (int64_t)rng_next(r) >> rng_below(r, 64);
}

static inline value *gen_value(struct arena *a, struct rng *r, size_t depth)
{
	size_t n = rng_below(r, 8) ? rng_below(r, 5) : rng_below(r, 50);
	value *v;

	switch (rng_below(r, depth ? 9 : 5)) {
	case 0: return rng_below(r, 2) ? value_null(a) : value_bool(a, rng_below(r, 2));
	case 1: return value_real(a, gen_real(r));
	case 2: return value_int(a, gen_int(r));
	case 3:
	case 4: return value_str(a, gen_string(a, r));
	case 5:
	case 6:
		v = value_array(a);
		while (n--)
			value_push(a, v, gen_value(a, r, depth - 1));
		return v;
	default:
		v = value_object(a);
		while (n--)
			value_set(a, v, gen_string(a, r), gen_value(a, r, depth - 1));
		return v;
	}
}

/* Damages a text in up to three places: bytes, pieces that matter to JSON, copies, cuts. */
static inline void gen_mutate(struct buf *b, struct rng *r)
{
	static const char *const pieces[] = { "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u",
		"\\ud83d", "\\ude00", "\\u0041", "\\/", "\\b", "\\x", "0", "00", "-", "+", ".", "e",
		"E", "1e400", "1e-400", "-0", "0.0", "1.", ".5", "1e5", "1E+2",
		"9223372036854775807", "9223372036854775808", "-9223372036854775809",
		"123456789012345678901234567890", "0.1234567890123456789012345678901234567890e10",
		"true", "false", "null", "nul", "True", "NaN", "Infinity", " ", "\n", "\t", "\r",
		"\v", "\f", "\x7f", "\x1f", "\x80", "\xc3\xa9", "\xc0\x80", "\xed\xa0\x80",
		"\xf4\x90\x80\x80", "\xef\xbb\xbf", "\"a\":1", ",\"a\":1", "\"\":[]", "//", "/**/",
		"'", "[]", "{}" };

	for (size_t times = rng_below(r, 3) + 1; times; times--) {
		size_t at = rng_below(r, b->n + 1), k, len;
		const char *piece;

		switch (rng_below(r, 5)) {
		case 0:
			if (at < b->n)
				b->p[at] = (char)(1 + rng_below(r, 255));
			break;
		case 1:
			len = rng_up_to(r, 6, b->n - at);
			memmove(b->p + at, b->p + at + len, b->n - at - len);
			b->n -= len;
			break;
		case 2: b->n = rng_below(r, 4) ? b->n : at; break;
		case 3:
			if (b->n == 0)
				break;
			k = rng_below(r, b->n);
			len = rng_up_to(r, 30, b->n - k);
			buf_reserve(b, len);
			piece = mem_dup(b->p + k, len);
			memmove(b->p + at + len, b->p + at, b->n - at);
			memcpy(b->p + at, piece, len);
			b->n += len;
			mem_free((void *)(uintptr_t)piece);
			break;
		default:
			piece = pieces[rng_below(r, ARRAY_LEN(pieces))];
			len = strlen(piece);
			buf_reserve(b, len);
			memmove(b->p + at + len, b->p + at, b->n - at);
			memcpy(b->p + at, piece, len);
			b->n += len;
			break;
		}
	}
}
