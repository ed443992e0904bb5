#include "agent/format/tools.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum { ENTRIES_MAX = 256, ENTRY_MAX = 128 };

#define NAME(sym, name) [sym] = name,
static const char *const class_names[] = { TOOL_CLASSES(NAME) };
#undef NAME

static char tools_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same(str a, str b)
{
	for (size_t i = 0; a.n == b.n && i < a.n; i++)
		if (tools_lower(a.p[i]) != tools_lower(b.p[i]))
			return false;
	return a.n == b.n;
}

int tool_class_parse(str name)
{
	for (int i = 0; i < TOOL_CLASS_COUNT; i++)
		if (str_is(name, class_names[i]))
			return i;
	return -1;
}

/* A name, or a prefix of names when it ends with '*'. */
static bool fits(str pattern, str tool)
{
	if (pattern.n && pattern.p[pattern.n - 1] == '*')
		return tool.n + 1 >= pattern.n &&
				same(str_sub(pattern, 0, pattern.n - 1),
						str_sub(tool, 0, pattern.n - 1));
	return same(pattern, tool);
}

/* Of the first row that the tool fits, or -1. */
static int class_of(const struct agent_format *f, str tool)
{
	for (const struct tool_name *t = f->tools; t && t->name; t++)
		if (fits(str_from(t->name), tool))
			return (int)t->class;
	return -1;
}

bool tool_matches(const struct agent_format *f, str entry, str tool)
{
	int class = tool_class_parse(entry);

	return fits(entry, tool) || (class >= 0 && class == class_of(f, tool));
}

static bool matches_any(const struct agent_format *f, const str *entries, size_t n, str tool)
{
	for (size_t i = 0; i < n; i++)
		if (tool_matches(f, entries[i], tool))
			return true;
	return false;
}

bool tool_permitted(const struct agent_format *f, const struct tool_scope *s, str tool)
{
	if (!s)
		return true;
	return (!s->allow || matches_any(f, s->allow, s->allow_n, tool)) &&
			!matches_any(f, s->deny, s->deny_n, tool);
}

/* Is the entry about tools of the table? */
static bool known(const struct agent_format *f, str entry)
{
	if (tool_class_parse(entry) >= 0)
		return true;
	for (const struct tool_name *t = f->tools; t && t->name; t++)
		if (fits(entry, str_from(t->name)))
			return true;
	return false;
}

size_t tools_list(struct arena *a, const struct agent_format *f, const struct tool_scope *s,
		bool permitted, const str **ret)
{
	const str *own = !s ? NULL : permitted ? s->allow : s->deny;
	size_t own_n = !s ? 0 : permitted ? s->allow_n : s->deny_n, n = 0, rows = 0;
	str *list;

	for (const struct tool_name *t = f->tools; t && t->name; t++)
		rows++;
	list = arena_array(a, str, rows + own_n + 1);
	for (size_t i = 0; i < rows; i++)
		if (tool_permitted(f, s, str_from(f->tools[i].name)) == permitted)
			list[n++] = str_from(f->tools[i].name);
	for (size_t i = 0; i < own_n; i++)
		if (!known(f, own[i]) && tool_permitted(f, s, own[i]) == permitted)
			list[n++] = own[i];
	*ret = list;
	return n;
}

static value *entries_value(struct arena *a, const str *entries, size_t n)
{
	value *v = value_array(a);

	for (size_t i = 0; i < n; i++)
		value_push(a, v, value_str(a, entries[i]));
	return v;
}

value *tool_scope_value(struct arena *a, const struct tool_scope *s)
{
	value *v = value_object(a);

	if (s->allow)
		value_put(a, v, "allow", entries_value(a, s->allow, s->allow_n));
	value_put(a, v, "deny", entries_value(a, s->deny, s->deny_n));
	return v;
}

static int read_entries(struct arena *a, const value *v, const char *key, const str **ret,
		size_t *ret_n, struct ov_err *err)
{
	const value *list = value_at(v, key);
	str *entries;

	if (!list)
		return 0;
	if (list->kind != V_ARRAY || list->array.n > ENTRIES_MAX)
		return ov_fail(err, OV_EINVALID, "%s: expected a list of at most %d names of tools",
				key, ENTRIES_MAX);
	entries = arena_array(a, str, list->array.n + 1);
	for (size_t i = 0; i < list->array.n; i++) {
		str s = value_str_or(list->array.items[i], STR(""));

		if (s.n == 0 || s.n > ENTRY_MAX)
			return ov_fail(err, OV_EINVALID,
					"%s[%zu]: expected a name of 1 to %d bytes", key, i,
					ENTRY_MAX);
		entries[i] = s;
	}
	*ret = entries;
	*ret_n = list->array.n;
	return 0;
}

int tool_scope_read(struct arena *a, const value *v, struct tool_scope *ret, struct ov_err *err)
{
	struct tool_scope s = { 0 };
	int r = read_entries(a, v, "allow", &s.allow, &s.allow_n, err);

	if (r == 0)
		r = read_entries(a, v, "deny", &s.deny, &s.deny_n, err);
	if (r == 0 && s.allow && s.allow_n == 0)
		r = ov_fail(err, OV_EINVALID, "allow: is empty; leave it out to allow every tool");
	if (r < 0)
		return r;
	*ret = s;
	return 0;
}
