/*
 * Which files of the base have a filter or a merge driver: the rules for that, out of all the files
 * of attributes that the base has, as one text. Put where it counts more than those
 * (info/attributes), it holds whatever an agent writes into them.
 */
#include "drive/gitrules/git_attributes.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

enum { MACROS_MAX = 128, NESTED_MAX = 32 };

struct macro {
	str name, words, token;
};

struct macros {
	struct macro list[MACROS_MAX];
	size_t n;
	bool cut; /* there are more than can be looked at */
};

static bool attributes_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool attributes_next_word(str *rest, str *ret)
{
	size_t at = 0, end;

	while (at < rest->n && attributes_is_space(rest->p[at]))
		at++;
	for (end = at; end < rest->n && !attributes_is_space(rest->p[end]);)
		end++;
	*ret = str_sub(*rest, at, end - at);
	*rest = str_sub(*rest, end, rest->n);
	return ret->n > 0;
}

/*
 * The pattern of a line, which may be in quotes; `quoted`: without them, its escapes as they are.
 */
static bool next_pattern(str *line, str *ret, bool *quoted)
{
	size_t end = 1;

	*line = str_trim(*line);
	*quoted = line->n && line->p[0] == '"';
	if (!*quoted)
		return attributes_next_word(line, ret);
	while (end < line->n && line->p[end] != '"')
		end += line->p[end] == '\\' ? 2 : 1;
	if (end >= line->n)
		return false;
	*ret = str_sub(*line, 1, end - 1);
	*line = str_sub(*line, end + 1, line->n);
	return ret->n > 0;
}

/* Is it about this attribute: "filter", "filter=x", "-filter", "!filter"? */
static bool is_about(str word, str attr)
{
	str name = word;

	if (name.n && (name.p[0] == '-' || name.p[0] == '!'))
		name = str_sub(name, 1, name.n);
	return str_eq(str_sub(name, 0, str_find_byte(name, '=')), attr);
}

/* What a line says of the attribute, itself or by a macro; the last word counts. */
static str token_of(str words, str attr, const struct macros *m)
{
	str word, found = { 0 };

	while (attributes_next_word(&words, &word)) {
		if (is_about(word, attr))
			found = word;
		for (size_t i = 0; i < m->n; i++)
			if (m->list[i].token.n && str_eq(word, m->list[i].name))
				found = m->list[i].token;
	}
	return found;
}

/* As a part of a quoted pattern; `literal`: it is a name, and nothing in it a wildcard. */
static void add_escaped(struct buf *b, str s, bool literal)
{
	for (size_t i = 0; i < s.n; i++) {
		if (literal && (s.p[i] == '*' || s.p[i] == '?' || s.p[i] == '[' || s.p[i] == '\\'))
			buf_adds(b, STR("\\\\"));
		if (s.p[i] == '"' || s.p[i] == '\\')
			buf_addc(b, '\\');
		buf_addc(b, s.p[i]);
	}
}

/* The pattern as seen from the root: one without a slash counts for all folders below its own. */
static void add_rule(struct buf *b, str dir, str pattern, bool quoted, str token)
{
	size_t slash = str_find_byte(pattern, '/');
	bool deep = slash >= pattern.n - 1;

	buf_addc(b, '"');
	if (dir.n) {
		add_escaped(b, dir, true);
		buf_adds(b, deep ? STR("/**/") : STR("/"));
		if (!deep && pattern.p[0] == '/')
			pattern = str_sub(pattern, 1, pattern.n);
	}
	if (quoted)
		buf_adds(b, pattern);
	else
		add_escaped(b, pattern, false);
	buf_addf(b, "\" " STR_FMT "\n", STR_ARG(token));
}

static const str macro_mark = STR("[attr]");

static void add_macro(struct macros *m, str line)
{
	str words = str_sub(line, macro_mark.n, line.n), name;
	size_t i = 0;

	if (!attributes_next_word(&words, &name))
		return;
	while (i < m->n && !str_eq(m->list[i].name, name))
		i++;
	m->cut |= i == MACROS_MAX;
	if (i == MACROS_MAX)
		return;
	m->n = MAX(m->n, i + 1);
	m->list[i] = (struct macro){ .name = name, .words = words };
}

/* The last definition counts, for all lines, and may name macros that are defined after it. */
static void find_macros(struct macros *m, const struct git_attributes *files, size_t n, str attr)
{
	bool more = true;

	for (size_t i = 0; i < n; i++) {
		str rest = files[i].text, line;

		/* Only at the root they are macros; elsewhere git does not take them. */
		while (!files[i].dir.n && str_split(&rest, '\n', &line))
			if (str_starts(str_trim(line), macro_mark))
				add_macro(m, str_trim(line));
	}
	for (int pass = 0; more; pass++) {
		more = false;
		m->cut |= pass == NESTED_MAX;
		for (size_t i = 0; pass < NESTED_MAX && i < m->n; i++) {
			str token = token_of(m->list[i].words, attr, m);

			more |= !str_eq(token, m->list[i].token);
			m->list[i].token = token;
		}
	}
}

static void add_line(struct buf *b, str dir, str line, str attr, const struct macros *m)
{
	str pattern, token;
	bool quoted;

	line = str_trim(line);
	if (!line.n || line.p[0] == '#' || str_starts(line, macro_mark))
		return;
	if (!next_pattern(&line, &pattern, &quoted) || pattern.p[0] == '!')
		return;
	token = token_of(line, attr, m);
	if (token.n)
		add_rule(b, dir, pattern, quoted, token);
}

str git_attributes_rules(struct arena *a, const struct git_attributes *files, size_t n,
		const char *attr, bool *ret_cut)
{
	struct macros *m = arena_new(a, struct macros);
	struct buf b = BUF_INIT;
	str ret;

	find_macros(m, files, n, str_from(attr));
	for (size_t i = 0; i < n; i++) {
		str rest = files[i].text, line;

		while (str_split(&rest, '\n', &line))
			add_line(&b, files[i].dir, line, str_from(attr), m);
	}
	if (ret_cut)
		*ret_cut = m->cut;
	ret = arena_str(a, buf_str(&b));
	buf_done(&b);
	return ret;
}

bool git_attributes_next(str *rules, str *ret_pattern, str *ret_token)
{
	size_t at;
	str line;

	if (!str_split(rules, '\n', &line))
		return false;
	for (at = line.n; at > 0 && line.p[at - 1] != ' ';)
		at--;
	*ret_pattern = str_sub(line, 0, at ? at - 1 : 0);
	*ret_token = str_sub(line, at, line.n);
	return true;
}

str git_attributes_rule(struct arena *a, str path, const char *token)
{
	struct buf b = BUF_INIT;
	str ret;

	buf_adds(&b, STR("\"/"));
	add_escaped(&b, path, true);
	buf_addf(&b, "\" %s\n", token);
	ret = arena_str(a, buf_str(&b));
	buf_done(&b);
	return ret;
}

static str unquoted(str pattern)
{
	return str_sub(pattern, 1, pattern.n - MIN(pattern.n, 2u));
}

static bool is_special(char c)
{
	return c == '*' || c == '?' || c == '[' || c == ']' || c == '\\';
}

/* What every path that the pattern matches begins with, or ends with. */
static str fixed_start(str pattern)
{
	size_t slash = str_find_byte(pattern, '/'), end = 0;

	/* One without a slash counts in all folders. */
	if (slash + 1 >= pattern.n)
		return STR("");
	if (slash == 0)
		pattern = str_sub(pattern, 1, pattern.n);
	while (end < pattern.n && !is_special(pattern.p[end]))
		end++;
	return str_sub(pattern, 0, end);
}

static str fixed_end(str pattern)
{
	size_t at = pattern.n;

	if (pattern.n && pattern.p[0] == '/')
		return fixed_end(str_sub(pattern, 1, pattern.n));
	while (at > 0 && !is_special(pattern.p[at - 1]))
		at--;
	return str_sub(pattern, at, pattern.n);
}

/* Where core.ignoreCase is set, git does not look at the case. */
static bool alike(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((a[i] | 0x20) != (b[i] | 0x20))
			return false;
	return true;
}

bool git_attributes_meet(str pattern, str other)
{
	str a = unquoted(pattern), b = unquoted(other), start_a = fixed_start(a),
	    start_b = fixed_start(b), end_a = fixed_end(a), end_b = fixed_end(b);
	size_t start = MIN(start_a.n, start_b.n), end = MIN(end_a.n, end_b.n);

	return alike(start_a.p, start_b.p, start) &&
			alike(end_a.p + end_a.n - end, end_b.p + end_b.n - end, end);
}

bool git_attributes_cover(str pattern, str other)
{
	str a = unquoted(pattern), b = unquoted(other), start = fixed_start(a), end = fixed_end(a),
	    rest;

	if (str_eq(a, b) || str_is(a, "*") || str_is(a, "**"))
		return true;
	/* "*.c" */
	if (a.p[0] == '*' && end.n + 1 == a.n && str_find_byte(a, '/') == a.n)
		return str_ends(b, end);
	/* "a/b/" and whatever is below it */
	rest = str_sub(a, start.n + (a.p[0] == '/'), a.n);
	return str_ends(start, STR("/")) && str_starts(fixed_start(b), start) &&
			(str_is(rest, "**") || str_is(rest, "**/*"));
}
