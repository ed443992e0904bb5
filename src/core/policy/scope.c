#include "core/policy/scope.h"

#include "agent/table/formats.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"

/* Why this can be no entry of a list: for people, or NULL. */
static const char *scope_entry_problem(str entry)
{
	if (entry.n == 0 || entry.n > SCOPE_ENTRY)
		return "a tool has a name of 1 to 64 characters";
	if (str_is(entry, "*"))
		return "\"*\" is every tool: leave the list out instead";
	for (size_t i = 0; i < entry.n; i++) {
		char c = entry.p[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				(c >= '0' && c <= '9');

		if (!letter && c != '_' && c != '-' && c != '.' && c != ':' &&
				!(c == '*' && i == entry.n - 1))
			return "a tool's name has letters, digits, \"_\", \"-\", \".\", \":\", and "
			       "may end with \"*\"";
	}
	return NULL;
}

int scope_names_check(const str *names, size_t n, struct ov_err *err)
{
	if (n == 0)
		return ov_fail(err, OV_EINVALID,
				"is empty, which would be no tool at all; leave it out to narrow "
				"nothing");
	if (n > SCOPE_LIST)
		return ov_fail(err, OV_ELIMIT, "%zu tools, at most %d are allowed", n, SCOPE_LIST);
	for (size_t i = 0; i < n; i++) {
		const char *problem = scope_entry_problem(names[i]);

		if (problem)
			return ov_fail(err, OV_EINVALID, "entry %zu: %s", i + 1, problem);
	}
	return 0;
}

int scope_list_check(const value *list, struct ov_err *err)
{
	str names[SCOPE_LIST];

	if (list->kind != V_ARRAY)
		return ov_fail(err, OV_EINVALID, "expected a list of tools, found %s",
				value_kind_name(list->kind));
	for (size_t i = 0; i < MIN(list->array.n, ARRAY_LEN(names)); i++)
		names[i] = value_str_or(list->array.items[i], STR(""));
	return scope_names_check(names, list->array.n, err);
}

bool scope_is_all(const struct tool_scope *s)
{
	return !s->allow && s->deny_n == 0;
}

static bool names(const struct agent_format *f, const str *list, size_t n, str tool)
{
	for (size_t i = 0; i < n; i++)
		if (tool_matches(f, list[i], tool))
			return true;
	return false;
}

/* Is the class in the list, or each of its tools? A tool may have the name of a class. */
static bool covers_class(const struct agent_format *f, const str *list, size_t n, int class)
{
	size_t rows = 0;

	for (size_t i = 0; i < n; i++)
		if (tool_class_parse(list[i]) == class)
			return true;
	for (const struct tool_name *t = f->tools; t && t->name; t++) {
		if ((int)t->class != class)
			continue;
		if (!names(f, list, n, str_from(t->name)))
			return false;
		rows++;
	}
	return rows > 0;
}

/* Is all that the entry means in the list? */
static bool covers(const struct agent_format *f, const str *list, size_t n, str entry)
{
	int class = tool_class_parse(entry);

	return class >= 0 ? covers_class(f, list, n, class) : names(f, list, n, entry);
}

struct entries {
	str *p;
	size_t n;
};

static void add(struct entries *e, str entry)
{
	for (size_t i = 0; i < e->n; i++)
		if (str_eq(e->p[i], entry))
			return;
	e->p[e->n++] = entry;
}

static size_t table_size(const struct agent_format *f)
{
	size_t n = 0;

	while (f->tools && f->tools[n].name)
		n++;
	return n;
}

/*
 * What both lists allow: entries of one that lie within the other, and tools that each names
 * its own way.
 */
static void meet_allow(struct arena *a, const struct agent_format *f, const struct tool_scope *x,
		const struct tool_scope *y, struct tool_scope *ret)
{
	struct entries e = { arena_array(a, str, x->allow_n + y->allow_n + table_size(f) + 1), 0 };

	for (size_t i = 0; i < x->allow_n; i++)
		if (covers(f, y->allow, y->allow_n, x->allow[i]))
			add(&e, x->allow[i]);
	for (size_t i = 0; i < y->allow_n; i++)
		if (covers(f, x->allow, x->allow_n, y->allow[i]) &&
				!covers(f, e.p, e.n, y->allow[i]))
			add(&e, y->allow[i]);
	for (size_t i = 0; i < table_size(f); i++) {
		str tool = str_from(f->tools[i].name);

		if (names(f, x->allow, x->allow_n, tool) && names(f, y->allow, y->allow_n, tool) &&
				!names(f, e.p, e.n, tool))
			add(&e, tool);
	}
	ret->allow = e.p;
	ret->allow_n = e.n;
}

static bool nothing_left(const struct agent_format *f, const struct tool_scope *s)
{
	size_t n = table_size(f);

	if (s->allow) {
		for (size_t i = 0; i < s->allow_n; i++)
			if (!covers(f, s->deny, s->deny_n, s->allow[i]))
				return false;
		return true;
	}
	for (size_t i = 0; i < n; i++)
		if (!names(f, s->deny, s->deny_n, str_from(f->tools[i].name)))
			return false;
	return n > 0;
}

int scope_meet(struct arena *a, const struct agent_format *f, const struct tool_scope *x,
		const struct tool_scope *y, struct tool_scope *ret, struct ov_err *err)
{
	struct entries deny = { arena_array(a, str, x->deny_n + y->deny_n + 1), 0 };
	struct tool_scope s = *x;

	if (!x->allow) {
		s.allow = y->allow;
		s.allow_n = y->allow_n;
	} else if (y->allow) {
		meet_allow(a, f, x, y, &s);
	}
	for (size_t i = 0; i < x->deny_n; i++)
		add(&deny, x->deny[i]);
	for (size_t i = 0; i < y->deny_n; i++)
		add(&deny, y->deny[i]);
	s.deny = deny.p;
	s.deny_n = deny.n;
	if (s.allow_n > SCOPE_TOTAL || s.deny_n > SCOPE_TOTAL)
		return ov_fail(err, OV_ELIMIT, "a tool scope has at most %d entries", SCOPE_TOTAL);
	if (nothing_left(f, &s))
		return ov_fail(err, OV_ESTATE, "no tool would be left to work with");
	*ret = s;
	return 0;
}

static str joined(struct arena *a, const str *p, size_t n)
{
	str s = STR("");

	for (size_t i = 0; i < n; i++)
		s = arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(s), i ? ", " : "", STR_ARG(p[i]));
	return s;
}

int scope_narrow(struct arena *a, const struct agent_format *f, const struct tool_scope *base,
		const struct tool_scope *more, struct tool_scope *ret, struct ov_err *err)
{
	for (size_t i = 0; i < more->allow_n; i++) {
		str entry = more->allow[i];

		if (base->allow && !covers(f, base->allow, base->allow_n, entry))
			return ov_fail(err, OV_EUNAUTHORIZED,
					"\"" STR_FMT
					"\" is not among the tools that may be used (" STR_FMT
					"): a scope can be narrowed, never widened",
					STR_ARG(entry),
					STR_ARG(joined(a, base->allow, base->allow_n)));
		if (covers(f, base->deny, base->deny_n, entry))
			return ov_fail(err, OV_EUNAUTHORIZED,
					"\"" STR_FMT "\" is denied already (" STR_FMT
					"): a scope can be narrowed, never widened",
					STR_ARG(entry),
					STR_ARG(joined(a, base->deny, base->deny_n)));
	}
	return scope_meet(a, f, base, more, ret, err);
}

int scope_parse(struct arena *a, str json, struct tool_scope *ret, struct ov_err *err)
{
	value *v;
	int r;

	if (json.n == 0) {
		*ret = (struct tool_scope){ 0 };
		return 0;
	}
	r = json_parse(a, json, NULL, &v, err);
	return r < 0 ? r : tool_scope_read(a, v, ret, err);
}

value *scope_value(struct arena *a, const struct tool_scope *s)
{
	return scope_is_all(s) ? NULL : tool_scope_value(a, s);
}

/* The agent's own, then what holds for the node, outermost part first. */
static int scope_of_chain(struct arena *a, const struct agent_format *f, const struct node *n,
		bool refuse, struct tool_scope *s, struct ov_err *err)
{
	struct tool_scope plan = { n->def.tools_allow.n ? n->def.tools_allow.p : NULL,
		n->def.tools_allow.n, n->def.tools_deny.p, n->def.tools_deny.n },
			  person;
	int r = n->parent ? scope_of_chain(a, f, n->parent, refuse, s, err) : 0;

	if (r == 0)
		r = refuse ? scope_narrow(a, f, s, &plan, s, err)
			   : scope_meet(a, f, s, &plan, s, err);
	if (r < 0)
		return ov_wrap(err, r, "tools of node " STR_FMT, STR_ARG(n->id));
	r = scope_parse(a, n->def.tools_narrowed, &person, err);
	if (r == 0)
		r = scope_meet(a, f, s, &person, s, err);
	return r < 0 ? ov_wrap(err, r, "tools of node " STR_FMT, STR_ARG(n->id)) : 0;
}

static int scope_of(struct arena *a, const struct policy_agent *agent, const struct node *n,
		str before, bool refuse, struct tool_scope *ret, struct ov_err *err)
{
	const struct agent_format *f = agent->format ? agent->format : format_find(STR("raw"));
	struct tool_scope s = agent->scope, kept;
	int r = n ? scope_of_chain(a, f, n, refuse, &s, err) : 0;

	if (r == 0)
		r = scope_parse(a, before, &kept, err);
	if (r == 0)
		r = scope_meet(a, f, &s, &kept, &s, err);
	if (r < 0)
		return r;
	/* Better no run than one that has tools which were taken from it. */
	if (!scope_is_all(&s) && !f->scoped) {
		ov_fail(err, OV_ESTATE,
				"the tools of agent \"" STR_FMT
				"\" cannot be narrowed: its format is \"%s\"",
				STR_ARG(agent->name), f->name);
		return OV_ESTATE;
	}
	*ret = s;
	return 0;
}

int scope_for_node(struct arena *a, const struct policy_agent *agent, const struct node *n,
		struct tool_scope *ret, struct ov_err *err)
{
	return scope_of(a, agent, n, STR(""), true, ret, err);
}

int scope_for_run(struct arena *a, const struct policy_agent *agent, const struct assignment *as,
		struct tool_scope *ret, struct ov_err *err)
{
	return scope_of(a, agent, as->node, as->tools, false, ret, err);
}
