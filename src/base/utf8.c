#include "base/utf8.h"

#include "base/arena.h"

static bool is_tail(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

size_t utf8_len(str s)
{
	const unsigned char *p = (const unsigned char *)s.p;

	if (s.n == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2) /* a tail, or an overlong form of ASCII */
		return 0;
	if (p[0] < 0xe0)
		return s.n >= 2 && is_tail(p[1]) ? 2 : 0;
	if (p[0] < 0xf0) {
		if (s.n < 3 || !is_tail(p[1]) || !is_tail(p[2]))
			return 0;
		/* no overlong forms, no surrogates */
		return (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) ? 0 : 3;
	}
	if (p[0] > 0xf4 || s.n < 4 || !is_tail(p[1]) || !is_tail(p[2]) || !is_tail(p[3]))
		return 0;
	/* no overlong forms, nothing past U+10FFFF */
	return (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90) ? 0 : 4;
}

/* How many bytes at the front are ASCII, eight at a time: most text is nothing else. */
static size_t ascii_prefix(str s)
{
	size_t i = 0;

	for (; i + 8 <= s.n; i += 8) {
		uint64_t w;

		memcpy(&w, s.p + i, 8);
		if (w & 0x8080808080808080u)
			break;
	}
	while (i < s.n && (unsigned char)s.p[i] < 0x80)
		i++;
	return i;
}

bool utf8_valid(str s)
{
	while (s.n) {
		size_t n = ascii_prefix(s);

		if (n == 0)
			n = utf8_len(s);
		if (n == 0)
			return false;
		s.p += n;
		s.n -= n;
	}
	return true;
}

str utf8_truncate(str s, size_t max)
{
	size_t n = max;

	if (s.n <= max)
		return s;
	/* At most three tails stand before the cut; more is invalid text, cut anywhere. */
	for (int back = 0; back < 3 && n > 0 && is_tail((unsigned char)s.p[n]); back++)
		n--;
	if (n < max && utf8_len((str){ s.p + n, s.n - n }) <= max - n)
		n = max;
	return (str){ s.p, n };
}

int32_t utf8_next(str *s)
{
	const unsigned char *p = (const unsigned char *)s->p;
	size_t n = utf8_len(*s);
	int32_t c = -1;

	assert(s->n > 0);
	switch (n) {
	case 1: c = p[0]; break;
	case 2: c = (p[0] & 0x1f) << 6 | (p[1] & 0x3f); break;
	case 3: c = (p[0] & 0x0f) << 12 | (p[1] & 0x3f) << 6 | (p[2] & 0x3f); break;
	case 4:
		c = (p[0] & 0x07) << 18 | (p[1] & 0x3f) << 12 | (p[2] & 0x3f) << 6 | (p[3] & 0x3f);
		break;
	default: n = 1; break;
	}
	s->p += n;
	s->n -= n;
	return c;
}

size_t utf8_encode(uint32_t c, char ret[static 4])
{
	if (c < 0x80) {
		ret[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		ret[0] = (char)(0xc0 | c >> 6);
		ret[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		if (c >= 0xd800 && c < 0xe000)
			return 0;
		ret[0] = (char)(0xe0 | c >> 12);
		ret[1] = (char)(0x80 | (c >> 6 & 0x3f));
		ret[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	if (c > 0x10ffff)
		return 0;
	ret[0] = (char)(0xf0 | c >> 18);
	ret[1] = (char)(0x80 | (c >> 12 & 0x3f));
	ret[2] = (char)(0x80 | (c >> 6 & 0x3f));
	ret[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Not the joiners U+200C and U+200D: words and pictures need them. */
bool utf8_is_hidden(int32_t c)
{
	static const struct {
		int32_t from, to;
	} hidden[] = {
		{ 0x061c, 0x061c }, /* Arabic letter mark */
		{ 0x180e, 0x180e }, /* Mongolian vowel separator */
		{ 0x200b, 0x200b }, /* zero width space */
		{ 0x200e, 0x200f }, /* left-to-right and right-to-left mark */
		{ 0x2028, 0x202e }, /* line and paragraph separator; embeddings and overrides */
		/* word joiner, invisible operators, isolates, deprecated ones */
		{ 0x2060, 0x206f }, { 0xfeff, 0xfeff }, /* byte order mark */
		{ 0xfff9, 0xfffb },                     /* interlinear annotation */
		{ 0xe0000, 0xe007f },                   /* tags */
	};

	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		if (c >= hidden[i].from && c <= hidden[i].to)
			return true;
	return false;
}

str utf8_clean(struct arena *a, str s)
{
	/*
	 * Every byte can become the three bytes of U+FFFD, no character more than three
	 * times itself.
	 */
	char *out = arena_alloc(a, arena_size_mul(s.n, 3) + 1);
	size_t n = 0;

	while (s.n) {
		str at = s;
		int32_t c = utf8_next(&s);

		if (c < 0 || (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0)) {
			memcpy(out + n, "\xef\xbf\xbd", 3);
			n += 3;
		} else {
			memcpy(out + n, at.p, (size_t)(s.p - at.p));
			n += (size_t)(s.p - at.p);
		}
	}
	out[n] = '\0';
	return (str){ out, n };
}
