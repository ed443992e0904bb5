/* Presets, and what is said of oversight by configurations, goals, nodes and command lines. */
#include "core/policy/thresholds.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/model/model.h"
#include "core/policy/policy.h"
#include "data/value/json.h"

#define NAME(sym, name) name,
static const char *const preset_names[] = { PRESETS(NAME) };
#undef NAME
const struct status_table presets = { "preset", preset_names, PRESET_COUNT, NULL, NULL };

static const char *const pause_names[] = { "auto", "goal", "node" }; /* enum pause_scope */

enum type { COUNT, MILLI, CENTI, BOOL, LEVEL };

struct threshold {
	const char *group, *key;
	enum type type;
	size_t offset;
	int64_t min, max;
	int64_t values[PRESET_COUNT];
	const char *help;
};

#define ROW(...) ROW_OF(__VA_ARGS__)
#define ROW_OF(group, key, type, member, min, max, a, b, c, d, help) \
	{ group, key, type, offsetof(struct oversight, member), min, max, { a, b, c, d }, help },
static const struct threshold table[] = { THRESHOLDS(ROW) };
#undef ROW

static int64_t scale_of(enum type type)
{
	return type == MILLI ? 1000 : type == CENTI ? 100 : 1;
}

static void put(struct oversight *o, const struct threshold *row, int64_t n)
{
	void *at = (char *)o + row->offset;

	if (row->type == BOOL)
		*(bool *)at = n;
	else if (row->type == LEVEL)
		*(enum level *)at = (enum level)n;
	else
		*(int64_t *)at = n;
}

static int64_t get(const struct oversight *o, const struct threshold *row)
{
	const void *at = (const char *)o + row->offset;

	return row->type == BOOL             ? *(const bool *)at
			: row->type == LEVEL ? (int64_t) * (const enum level *)at
					     : *(const int64_t *)at;
}

void oversight_preset(struct oversight *ret, enum preset preset)
{
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		put(ret, &table[i], table[i].values[preset]);
}

/* "same_error_count" is also written "sameErrorCount". */
static bool is_named(str s, const char *name)
{
	size_t i = 0;

	if (str_is(s, name))
		return true;
	for (; *name; name++, i++) {
		char c = *name == '_' ? (char)(*++name - 'a' + 'A') : *name;

		if (i >= s.n || s.p[i] != c)
			return false;
	}
	return i == s.n;
}

static int unknown(str path, str key, const char *const *known, size_t n, struct ov_err *err)
{
	const char *near = str_nearest(key, known, n);

	return ov_fail(err, OV_EINVALID, STR_FMT "%s" STR_FMT ": unknown%s%s%s", STR_ARG(path),
			path.n ? "." : "", STR_ARG(key), near ? " (did you mean \"" : "",
			near ? near : "", near ? "\"?)" : "");
}

static int one_of(str path, const value *v, const char *const *names, size_t n, int64_t *ret,
		struct ov_err *err)
{
	_cleanup_(buf_done) struct buf all = BUF_INIT;

	if (v->kind != V_STR)
		return ov_fail(err, OV_EINVALID, STR_FMT ": expected string, found %s",
				STR_ARG(path), value_kind_name(v->kind));
	for (size_t i = 0; i < n; i++) {
		if (str_is(v->s, names[i])) {
			*ret = (int64_t)i;
			return 0;
		}
		buf_addf(&all, "%s%s", i ? ", " : "", names[i]);
	}
	return ov_fail(err, OV_EINVALID, STR_FMT ": \"" STR_FMT "\" is not one of: %s",
			STR_ARG(path), STR_ARG(v->s), buf_cstr(&all));
}

static int read_number(const struct threshold *row, const value *v, int64_t *ret,
		struct ov_err *err)
{
	int64_t scale = scale_of(row->type);
	double n = value_real_or(v, 0) * (double)scale;

	if (v->kind != V_INT && (v->kind != V_REAL || scale == 1))
		return ov_fail(err, OV_EINVALID, "%s.%s: expected %s, found %s", row->group,
				row->key, scale == 1 ? "integer" : "number",
				value_kind_name(v->kind));
	if (!(n >= (double)row->min && n <= (double)row->max)) /* nor nan */
		return ov_fail(err, OV_EINVALID, "%s.%s: %g is out of range: %g to %g", row->group,
				row->key, value_real_or(v, 0), (double)row->min / (double)scale,
				(double)row->max / (double)scale);
	*ret = (int64_t)(n + 0.5);
	return 0;
}

static int read_row(struct oversight *o, const struct threshold *row, const value *v,
		struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	int64_t n = 0;
	int r = 0;

	if (v->kind == V_NULL)
		return 0;
	if (row->type == LEVEL)
		r = one_of(arena_printf(&a, "%s.%s", row->group, row->key), v, levels.names,
				(size_t)levels.n, &n, err);
	else if (row->type != BOOL)
		r = read_number(row, v, &n, err);
	else if (v->kind != V_BOOL)
		return ov_fail(err, OV_EINVALID, "%s.%s: expected boolean, found %s", row->group,
				row->key, value_kind_name(v->kind));
	else
		n = v->b;
	if (r == 0)
		put(o, row, n);
	return r;
}

static int merge_group(struct oversight *o, str group, const value *doc, struct ov_err *err)
{
	const char *known[ARRAY_LEN(table)];
	size_t n = 0;

	if (doc->kind != V_OBJECT)
		return ov_fail(err, OV_EINVALID, STR_FMT ": expected object, found %s",
				STR_ARG(group), value_kind_name(doc->kind));
	for (size_t i = 0; i < doc->object.n; i++) {
		const struct member *m = &doc->object.members[i];
		const struct threshold *row = NULL;
		int r;

		n = 0;
		for (size_t k = 0; k < ARRAY_LEN(table); k++) {
			if (!str_is(group, table[k].group))
				continue;
			known[n++] = table[k].key;
			if (is_named(m->key, table[k].key))
				row = &table[k];
		}
		r = row ? read_row(o, row, m->value, err) : unknown(group, m->key, known, n, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_group(str name)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (str_is(name, table[i].group))
			return true;
	return false;
}

static int merge_member(struct oversight *o, const struct member *m, struct ov_err *err)
{
	static const char *const known[] = { "preset", "pause", "stuck", "oscillation", "deviation",
		"resource", "regression", "levels" };
	int64_t pause;
	int r;

	if (is_group(m->key))
		return merge_group(o, m->key, m->value, err);
	if (str_is(m->key, "preset") || (str_is(m->key, "pause") && m->value->kind == V_NULL))
		return 0;
	if (!str_is(m->key, "pause"))
		return unknown(STR(""), m->key, known, ARRAY_LEN(known), err);
	r = one_of(m->key, m->value, pause_names, ARRAY_LEN(pause_names), &pause, err);
	if (r == 0)
		o->pause = (enum pause_scope)pause;
	return r;
}

int oversight_merge(struct oversight *o, const value *doc, struct ov_err *err)
{
	const value *preset = value_at(doc, "preset");
	struct oversight merged = *o;
	int64_t which;
	int r = 0;

	if (!doc || doc->kind != V_OBJECT)
		return ov_fail(err, OV_EINVALID, "expected object, found %s",
				value_kind_name(doc ? doc->kind : V_NULL));
	if (preset && preset->kind != V_NULL) {
		r = one_of(STR("preset"), preset, preset_names, PRESET_COUNT, &which, err);
		if (r < 0)
			return r;
		oversight_preset(&merged, (enum preset)which);
		merged.pause = o->pause;
	}
	for (size_t i = 0; r == 0 && i < doc->object.n; i++)
		r = merge_member(&merged, &doc->object.members[i], err);
	if (r == 0)
		*o = merged;
	return r;
}

/* Words need no quotes; nothing takes back what was said. */
static value *read_text(struct arena *a, str text)
{
	static const struct json_limits small = { .max_bytes = 64, .max_depth = 1 };
	value *v;

	if (!text.n)
		return value_null(a);

	return json_parse(a, text, &small, &v, NULL) == 0 ? v : value_str(a, text);
}

int oversight_assign(struct arena *a, value *doc, str assignment, struct ov_err *err)
{
	size_t at = str_find_byte(assignment, '=');
	str key = str_sub(assignment, 0, at), group = str_sub(key, 0, str_find_byte(key, '.'));
	value *inner = doc, *v;
	struct oversight o;

	if (at == assignment.n)
		return ov_fail(err, OV_EINVALID,
				STR_FMT ": write KEY=VALUE, for example "
					"stuck.same_error_count=2",
				STR_ARG(assignment));
	v = read_text(a, str_trim(str_sub(assignment, at + 1, assignment.n)));
	if (group.n < key.n) {
		inner = value_edit_get(doc, group);
		if (!inner || inner->kind != V_OBJECT)
			inner = value_object(a);
		value_set(a, doc, group, inner);
		key = str_sub(key, group.n + 1, key.n);
	}
	value_set(a, inner, key, v);
	oversight_preset(&o, PRESET_DEFAULT);
	return oversight_merge(&o, doc, err);
}

int oversight_set(struct oversight *o, str assignment, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *doc = value_object(&a);
	int r = oversight_assign(&a, doc, assignment, err);

	return r < 0 ? r : oversight_merge(o, doc, err);
}

static const struct threshold *find_row(str group, str key)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (str_is(group, table[i].group) && is_named(key, table[i].key))
			return &table[i];
	return NULL;
}

/* The members of an object that say something, with names as the configuration has them. */
static void copy_said(struct arena *a, value *to, str group, const value *from)
{
	for (size_t i = 0; i < value_count(from); i++) {
		const struct member *m = &from->object.members[i];
		const struct threshold *row = find_row(group, m->key);
		str key = row ? str_from(row->key) : arena_str(a, m->key);

		value_set(a, to, key, value_copy(a, m->value));
	}
}

/* Without what was taken back. */
static value *drop_nulls(struct arena *a, const value *v)
{
	value *out = value_object(a);

	for (size_t i = 0; i < value_count(v); i++) {
		const struct member *m = &v->object.members[i];
		value *kept = m->value->kind == V_OBJECT ? drop_nulls(a, m->value) : m->value;

		if (kept->kind != V_NULL && (kept->kind != V_OBJECT || kept->object.n))
			value_set(a, out, m->key, kept);
	}
	return out;
}

int oversight_join(struct arena *a, str json, const value *patch, value **ret, struct ov_err *err)
{
	value *old, *all = value_object(a);
	struct oversight o;
	int r;

	oversight_preset(&o, PRESET_DEFAULT);
	r = oversight_merge(&o, patch, err);
	if (r < 0)
		return r;
	if (!json.n || json_parse(a, json, NULL, &old, NULL) < 0)
		old = value_object(a);
	copy_said(a, all, STR(""), old);
	for (size_t i = 0; i < patch->object.n; i++) {
		const struct member *m = &patch->object.members[i];
		value *group = value_edit_get(all, m->key);

		if (m->value->kind != V_OBJECT) {
			value_set(a, all, arena_str(a, m->key), value_copy(a, m->value));
			continue;
		}
		if (!group || group->kind != V_OBJECT)
			group = value_object(a);
		copy_said(a, group, m->key, m->value);
		value_set(a, all, arena_str(a, m->key), group);
	}
	*ret = drop_nulls(a, all);
	return 0;
}

/* What was checked when it was taken in; should it no longer be known, the rest stays. */
static void merge_text(struct oversight *o, str json)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *doc;

	if (json.n && json_parse(&a, json, NULL, &doc, NULL) == 0 && doc->kind == V_OBJECT)
		oversight_merge(o, doc, NULL);
}

void oversight_for(const struct policy *p, const struct goal *g, const struct node *n,
		struct oversight *ret)
{
	*ret = p->oversight;
	if (g)
		merge_text(ret, g->oversight);
	if (n)
		merge_text(ret, n->watch.settings);
}

static value *row_value(struct arena *a, const struct oversight *o, const struct threshold *row)
{
	int64_t n = get(o, row), scale = scale_of(row->type);

	if (row->type == BOOL)
		return value_bool(a, n);
	if (row->type == LEVEL)
		return value_cstr(a, status_name(&levels, (int)n));
	return n % scale ? value_real(a, (double)n / (double)scale) : value_int(a, n / scale);
}

value *oversight_view(struct arena *a, const struct oversight *o)
{
	value *out = value_object(a), *group = NULL;

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		if (i == 0 || strcmp(table[i].group, table[i - 1].group) != 0) {
			group = value_object(a);
			value_put(a, out, table[i].group, group);
		}
		value_put(a, group, table[i].key, row_value(a, o, &table[i]));
	}
	value_put(a, out, "pause", value_cstr(a, pause_names[o->pause]));
	return out;
}

static void doc_row(struct buf *out, struct arena *a, const struct threshold *row)
{
	struct oversight o;

	buf_addf(out, "| `%s.%s` |", row->group, row->key);
	for (int i = 0; i < PRESET_COUNT; i++) {
		oversight_preset(&o, (enum preset)i);
		buf_addf(out, " " STR_FMT " |",
				STR_ARG(row->type == LEVEL ? str_from(status_name(&levels,
									     (int)get(&o, row)))
							   : json_text(a, row_value(a, &o, row))));
	}
	buf_addf(out, " %s |\n", row->help);
}

void oversight_docs(struct buf *out)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	buf_adds(out,
			STR("# Thresholds of oversight\n\nMade from the table of thresholds; do "
			    "not "
			    "edit. [Oversight](oversight.md) says what they are for,\n[the "
			    "configuration](configuration.md) has their ranges.\n\n"
			    "| `[oversight]` | default | strict | relaxed | ci | meaning |\n"
			    "|---|---|---|---|---|---|\n"));
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		doc_row(out, &a, &table[i]);
}
