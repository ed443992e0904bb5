#include "core/text/template.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

const struct template *template_find(str id)
{
	for (size_t i = 0; i < templates_n; i++)
		if (str_is(id, templates[i].id))
			return &templates[i];
	return NULL;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The name in "{name}" at the front of s; empty when that is no placeholder. */
static str placeholder(str s)
{
	size_t n = 1;

	if (s.n < 3 || s.p[0] != '{' || !is_letter(s.p[1]))
		return STR("");
	while (n < s.n && (is_letter(s.p[n]) || (s.p[n] >= '0' && s.p[n] <= '9')))
		n++;
	return n < s.n && s.p[n] == '}' ? str_sub(s, 1, n - 1) : STR("");
}

static int unknown(struct arena *a, const struct template *t, const struct template_var *vars,
		size_t n, str name, struct ov_err *err)
{
	const char **names = arena_array(a, const char *, n + 1), *near;

	for (size_t i = 0; i < n; i++)
		names[i] = vars[i].name;
	near = str_nearest(name, names, n);
	return ov_fail(err, OV_EINVALID, "template %s: unknown placeholder {" STR_FMT "}%s%s%s",
			t->id, STR_ARG(name), near ? " (did you mean {" : "", near ? near : "",
			near ? "}?)" : "");
}

int template_fill(struct arena *a, const struct template *t, const struct template_var *vars,
		size_t n, str *ret, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	str rest = t->text;

	while (rest.n) {
		str name = placeholder(rest);
		size_t i;

		if (name.n == 0) {
			/* As far as the next brace, which may begin one. */
			size_t plain = 1 + str_find_byte(str_sub(rest, 1, SIZE_MAX), '{');

			buf_add(&out, rest.p, plain);
			rest = str_sub(rest, plain, SIZE_MAX);
			continue;
		}
		for (i = 0; i < n && !str_is(name, vars[i].name); i++) {
		}
		if (i == n)
			return unknown(a, t, vars, n, name, err);
		buf_adds(&out, vars[i].value);
		rest = str_sub(rest, name.n + 2, SIZE_MAX);
	}
	*ret = arena_str(a, buf_str(&out));
	return 0;
}
