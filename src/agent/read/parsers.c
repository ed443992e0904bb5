#include "agent/read/parsers.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "data/id/sha256.h"
#include "data/value/json.h"

int word_find(const struct word *words, size_t n, str name, int otherwise)
{
	for (size_t i = 0; i < n; i++)
		if (str_is(name, words[i].name))
			return words[i].is;
	return otherwise;
}

str call_text(struct arena *a, const value *input)
{
	static const char *const telling[] = { "command", "cmd", "file_path", "filePath", "path",
		"absolute_path", "pattern", "query", "url", "prompt", "description" };

	for (size_t i = 0; i < ARRAY_LEN(telling); i++) {
		str s = value_str_at(input, telling[i]);

		if (s.n)
			return s;
	}
	return value_count(input) ? json_text(a, input) : (str){ 0 };
}

/* Beside a command stands what it is good for, in other words each time. */
static const value *what_counts(struct arena *a, const value *input)
{
	value *v;

	if (!value_str_at(input, "command").n || !value_at(input, "description"))
		return input;
	v = value_object(a);
	for (size_t i = 0; i < input->object.n; i++)
		if (!str_is(input->object.members[i].key, "description"))
			value_append_member(a, v, input->object.members[i].key,
					input->object.members[i].value);
	return v;
}

str call_digest(struct arena *a, str name, const value *input)
{
	struct buf b = BUF_INIT;
	str digest;

	buf_adds(&b, name);
	buf_addc(&b, '\0');
	if (input)
		json_write_canonical(&b, what_counts(a, input));
	digest = sha256_hex(a, buf_str(&b));
	buf_done(&b);
	return digest;
}

str content_text(struct arena *a, const value *content)
{
	struct buf out = BUF_INIT;
	str text = value_str_or(content, (str){ 0 });

	if (text.n)
		return text;
	for (size_t i = 0; i < value_count(content); i++) {
		str part = value_str_at(value_item(content, i), "text");

		if (part.n && out.n)
			buf_addc(&out, '\n');
		buf_adds(&out, part);
	}
	text = arena_str(a, buf_str(&out));
	buf_done(&out);
	return text;
}

int64_t dollars(const value *v)
{
	double d = value_real_or(v, -1);

	if (!v || v->kind == V_NULL)
		return COST_UNKNOWN;
	/* Nobody pays a billion; what is beyond is no number to be reckoned with. */
	return d >= 0 && d < 1e9 ? (int64_t)(d * 1e6 + 0.5) : COST_UNTRUE;
}

int64_t tokens_at(struct usage *u, const value *object, const char *key)
{
	const value *v = value_at(object, key);
	double d = value_real_or(v, -1);

	if (!v || v->kind == V_NULL)
		return 0;
	if (d >= 0 && d < 1e12)
		return (int64_t)d;
	u->untrue = true;
	return 0;
}

int64_t count_at(const value *object, const char *key)
{
	double d = value_real_or(value_at(object, key), 0);

	return d > 0 && d < 1e12 ? (int64_t)d : 0;
}

struct fact trouble_fact(enum fact_kind kind, str text, int status)
{
	struct fact f = { .kind = kind, .failed = true, .text = text, .status = status };
	int said;

	f.trouble = trouble_of_text(text, &said);
	if (status && f.trouble == TROUBLE_OTHER)
		f.trouble = trouble_of_status(status);
	if (!status)
		f.status = said;
	trouble_when(text, &f.resets_at, &f.wait_ms);
	return f;
}

bool error_trouble(str line, struct fact *ret)
{
	static const char *const starts[] = { "Error", "error:", "ERROR" };
	struct fact f = trouble_fact(FACT_TROUBLE, line, 0);

	for (size_t i = 0; f.trouble == TROUBLE_OTHER && i < ARRAY_LEN(starts); i++)
		if (str_starts(line, str_from(starts[i]))) {
			*ret = f;
			return true;
		}
	if (f.trouble == TROUBLE_OTHER)
		return false;
	*ret = f;
	return true;
}
