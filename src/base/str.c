#include "base/str.h"

#include <limits.h>

str str_from(const char *cstr)
{
	return cstr ? (str){ cstr, strlen(cstr) } : (str){ 0 };
}

bool str_eq(str a, str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool str_is(str a, const char *cstr)
{
	return str_eq(a, str_from(cstr));
}

int str_cmp(str a, str b)
{
	size_t n = MIN(a.n, b.n);
	int r = n ? memcmp(a.p, b.p, n) : 0;

	return r ? r : (a.n > b.n) - (a.n < b.n);
}

bool str_starts(str s, str prefix)
{
	return s.n >= prefix.n && str_eq((str){ s.p, prefix.n }, prefix);
}

bool str_ends(str s, str suffix)
{
	return s.n >= suffix.n &&
			(suffix.n == 0 || str_eq((str){ s.p + s.n - suffix.n, suffix.n }, suffix));
}

size_t str_find_byte(str s, char c)
{
	const char *p = s.n ? memchr(s.p, c, s.n) : NULL;

	return p ? (size_t)(p - s.p) : s.n;
}

size_t str_find(str s, str needle)
{
	const char *p;

	if (needle.n == 0)
		return 0;
	p = s.n ? memmem(s.p, s.n, needle.p, needle.n) : NULL;
	return p ? (size_t)(p - s.p) : s.n;
}

bool str_contains(str s, str needle)
{
	return needle.n == 0 || str_find(s, needle) < s.n;
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

str str_trim(str s)
{
	while (s.n && is_space(s.p[0]))
		s.p++, s.n--;
	while (s.n && is_space(s.p[s.n - 1]))
		s.n--;
	return s;
}

str str_sub(str s, size_t from, size_t n)
{
	if (from >= s.n)
		return (str){ "", 0 };
	return (str){ s.p + from, MIN(n, s.n - from) };
}

bool str_split(str *rest, char sep, str *ret_part)
{
	size_t at;

	if (!rest->p)
		return false;
	at = str_find_byte(*rest, sep);
	*ret_part = (str){ rest->p, at };
	if (at == rest->n)
		*rest = (str){ 0 };
	else
		*rest = (str){ rest->p + at + 1, rest->n - at - 1 };
	return true;
}

bool str_to_u64(str s, uint64_t *ret)
{
	uint64_t v = 0;

	if (s.n == 0)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		if (__builtin_mul_overflow(v, 10u, &v) ||
				__builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v))
			return false;
	}
	*ret = v;
	return true;
}

bool str_to_i64(str s, int64_t *ret)
{
	bool negative = s.n && s.p[0] == '-';
	uint64_t v;

	if (negative)
		s.p++, s.n--;
	if (!str_to_u64(s, &v) || v > (uint64_t)INT64_MAX + negative)
		return false;
	*ret = negative ? (int64_t)(0 - v) : (int64_t)v;
	return true;
}

size_t str_distance(str a, str b, size_t limit)
{
	enum { LONGEST = 64 };
	size_t rows[3][LONGEST + 1];
	size_t *two_back = rows[0], *back = rows[1], *row = rows[2];

	if (a.n > LONGEST || b.n > LONGEST)
		return str_eq(a, b) ? 0 : limit + 1;
	for (size_t j = 0; j <= b.n; j++)
		two_back[j] = back[j] = j;
	for (size_t i = 1; i <= a.n; i++) {
		size_t *spare = two_back;

		row[0] = i;
		for (size_t j = 1; j <= b.n; j++) {
			bool same = a.p[i - 1] == b.p[j - 1];

			row[j] = MIN(MIN(back[j] + 1, row[j - 1] + 1), back[j - 1] + !same);
			if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1])
				row[j] = MIN(row[j], two_back[j - 2] + 1);
		}
		two_back = back;
		back = row;
		row = spare;
	}
	return MIN(back[b.n], limit + 1);
}

const char *str_nearest(str s, const char *const *candidates, size_t n)
{
	size_t limit = MAX(s.n / 3, (size_t)1), best = limit + 1;
	const char *found = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t d = str_distance(s, str_from(candidates[i]), limit);

		if (d < best) {
			best = d;
			found = candidates[i];
		}
	}
	return found;
}

uint64_t str_hash(str s, uint64_t seed)
{
	/* FNV-1a over the bytes, then a finaliser, so that low bits are well mixed for masks. */
	uint64_t h = 0xcbf29ce484222325u ^ seed;

	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3u;
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdu;
	h ^= h >> 33;
	return h;
}
