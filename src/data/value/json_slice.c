#include "data/value/json_slice.h"

#include "base/err.h"
#include "base/str.h"

static bool is_json_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool ends_word(char c)
{
	return c == ',' || c == ']' || c == '}' || is_json_space(c);
}

static void skip_space(struct json_slice *s)
{
	while (s->at < s->text.n && is_json_space(s->text.p[s->at]))
		s->at++;
}

static char peek(const struct json_slice *s)
{
	return s->at < s->text.n ? s->text.p[s->at] : '\0';
}

static int bad(const struct json_slice *s, const char *want, struct ov_err *err)
{
	return ov_fail(err, OV_EINVALID, "JSON: expected %s at byte %zu", want, s->at);
}

/* From the opening quote to behind the closing one. */
static bool skip_string(struct json_slice *s)
{
	for (s->at++; s->at < s->text.n; s->at++) {
		if (s->text.p[s->at] == '\\')
			s->at++;
		else if (s->text.p[s->at] == '"')
			return s->at++, true;
	}
	s->at = s->text.n;
	return false;
}

/* Brackets of both kinds are counted alike: a piece where they do not match does not parse. */
static bool skip_nested(struct json_slice *s)
{
	size_t depth = 0;

	while (s->at < s->text.n) {
		char c = s->text.p[s->at];

		if (c == '"') {
			if (!skip_string(s))
				return false;
			continue;
		}
		s->at++;
		if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && --depth == 0)
			return true;
	}
	return false;
}

static bool skip_value(struct json_slice *s)
{
	size_t from = s->at;

	switch (peek(s)) {
	case '"': return skip_string(s);
	case '{':
	case '[': return skip_nested(s);
	default: break;
	}
	while (s->at < s->text.n && !ends_word(s->text.p[s->at]))
		s->at++;
	return s->at > from;
}

int json_slice_begin(struct json_slice *s, str text, char open, struct ov_err *err)
{
	*s = (struct json_slice){ .text = text, .first = true, .close = open == '{' ? '}' : ']' };
	skip_space(s);
	if (peek(s) != open)
		return bad(s, open == '{' ? "an object" : "an array", err);
	s->at++;
	return 0;
}

static int read_key(struct json_slice *s, str *ret, struct ov_err *err)
{
	size_t from = s->at + 1;

	if (peek(s) != '"' || !skip_string(s))
		return bad(s, "a key", err);
	*ret = str_sub(s->text, from, s->at - 1 - from);
	if (str_find_byte(*ret, '\\') < ret->n)
		return bad(s, "a key without escapes", err);
	skip_space(s);
	if (peek(s) != ':')
		return bad(s, "a colon", err);
	s->at++;
	skip_space(s);
	return 0;
}

int json_slice_next(struct json_slice *s, str *ret_key, str *ret_value, struct ov_err *err)
{
	str key = STR("");
	size_t from;
	int r;

	skip_space(s);
	if (peek(s) == s->close) {
		s->at++;
		skip_space(s);
		return s->at == s->text.n ? 0 : bad(s, "the end", err);
	}
	if (!s->first) {
		if (peek(s) != ',')
			return bad(s, "a comma or the end of the list", err);
		s->at++;
		skip_space(s);
	}
	s->first = false;
	if (s->close == '}') {
		r = read_key(s, &key, err);
		if (r < 0)
			return r;
	}
	from = s->at;
	if (!skip_value(s))
		return bad(s, "a whole value", err);
	*ret_key = key;
	*ret_value = str_sub(s->text, from, s->at - from);
	return 1;
}
