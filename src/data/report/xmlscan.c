#include "data/report/xmlscan.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip(str *s, size_t n)
{
	*s = str_sub(*s, n, s->n);
}

/* Behind the needle, or behind everything. */
static void skip_past(str *s, str needle)
{
	size_t at = str_find(*s, needle);

	skip(s, MIN(at + needle.n, s->n));
}

/* The '>' that ends it: not one in quotes, nor one in brackets (of a document type). */
static size_t tag_end(str s)
{
	size_t i = 0, open = 0;
	char quote = 0;

	for (; i < s.n; i++) {
		char c = s.p[i];

		if (quote)
			quote = c == quote ? 0 : quote;
		else if (c == '"' || c == '\'')
			quote = c;
		else if (c == '[')
			open++;
		else if (c == ']' && open)
			open--;
		else if (c == '>' && !open)
			break;
	}
	return i;
}

/* What stands at the '<' that is no tag; true when it was passed over. */
static bool passed_over(str *s)
{
	if (str_starts(*s, STR("<!--")))
		skip_past(s, STR("-->"));
	else if (str_starts(*s, STR("<![CDATA[")))
		skip_past(s, STR("]]>"));
	else if (str_starts(*s, STR("<?")))
		skip_past(s, STR("?>"));
	else if (str_starts(*s, STR("<!")))
		skip(s, MIN(tag_end(*s) + 1, s->n));
	else
		return false;
	return true;
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			c == '_' || c == '-' || c == ':' || c == '.';
}

static str name_at(str s)
{
	size_t n = 0;

	while (n < s.n && is_name(s.p[n]))
		n++;
	return str_sub(s, 0, n);
}

bool xml_next(struct xml_scan *s, struct xml_tag *ret)
{
	struct xml_tag t = { 0 };
	size_t n;

	for (;;) {
		skip(&s->rest, str_find_byte(s->rest, '<'));
		if (!s->rest.n)
			return false;
		if (passed_over(&s->rest))
			continue;
		t.end = s->rest.n > 1 && s->rest.p[1] == '/';
		skip(&s->rest, t.end ? 2 : 1);
		t.name = name_at(s->rest);
		if (!t.name.n)
			continue;
		n = tag_end(s->rest);
		if (n == s->rest.n) { /* it is cut off */
			s->rest = (str){ 0 };
			return false;
		}
		t.attributes = str_sub(s->rest, t.name.n, n - t.name.n);
		t.empty = !t.end && n && s->rest.p[n - 1] == '/';
		skip(&s->rest, n + 1);
		*ret = t;
		return true;
	}
}

bool xml_attribute(const struct xml_tag *t, const char *name, str *ret)
{
	str s = t->attributes, found, value;

	while (s.n) {
		size_t n = 0;

		while (n < s.n && !is_name(s.p[n]))
			n++;
		skip(&s, n);
		found = name_at(s);
		skip(&s, found.n);
		while (s.n && is_space(s.p[0]))
			skip(&s, 1);
		if (!s.n || s.p[0] != '=')
			continue;
		skip(&s, 1);
		while (s.n && is_space(s.p[0]))
			skip(&s, 1);
		if (!s.n || (s.p[0] != '"' && s.p[0] != '\''))
			continue;
		value = str_sub(s, 1, str_find_byte(str_sub(s, 1, s.n), s.p[0]));
		skip(&s, MIN(value.n + 2, s.n));
		if (str_is(found, name)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

/* "#65;" or "#x41;" behind the '&'; 0 when it names no character. */
static uint32_t character(str s, size_t *ret_n)
{
	size_t n = str_find_byte(str_sub(s, 0, 12), ';'), i = 1;
	bool hex = n > 2 && (s.p[1] == 'x' || s.p[1] == 'X');
	uint32_t c = 0;

	if (n < 2 || n >= MIN(s.n, (size_t)12) || s.p[0] != '#')
		return 0;
	for (i += hex; i < n; i++) {
		char d = s.p[i];
		uint32_t digit = d >= '0' && d <= '9'         ? (uint32_t)(d - '0')
				: hex && d >= 'a' && d <= 'f' ? (uint32_t)(d - 'a' + 10)
				: hex && d >= 'A' && d <= 'F' ? (uint32_t)(d - 'A' + 10)
							      : 99;
		c = c * (hex ? 16 : 10) + digit;
		if (digit == 99 || c > 0x10ffff)
			return 0;
	}
	*ret_n = n + 1;
	return c >= 0xd800 && c < 0xe000 ? 0 : c;
}

static uint32_t entity(str s, size_t *ret_n)
{
	static const struct {
		const char *name;
		char is;
	} known[] = { { "lt;", '<' }, { "gt;", '>' }, { "amp;", '&' }, { "quot;", '"' },
		{ "apos;", '\'' } };

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (str_starts(s, str_from(known[i].name))) {
			*ret_n = strlen(known[i].name);
			return (uint32_t)known[i].is;
		}
	return character(s, ret_n);
}

str xml_text(struct arena *a, str raw)
{
	char *p = arena_alloc(a,
			raw.n + 1); /* no character is longer than what it is written with */
	size_t n = 0, used = 0;

	for (size_t i = 0; i < raw.n; i++) {
		uint32_t c = raw.p[i] == '&' ? entity(str_sub(raw, i + 1, raw.n), &used) : 0;

		char utf8[4];
		size_t len = c ? utf8_encode(c, utf8) : 0;

		if (len) {
			memcpy(p + n, utf8, len);
			n += len;
			i += used;
		} else {
			p[n++] = raw.p[i];
		}
	}
	p[n] = '\0';
	return utf8_clean(a, (str){ p, n });
}
