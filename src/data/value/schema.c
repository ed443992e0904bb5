#include "data/value/schema.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "data/value/json.h"
#include "data/value/schema_impl.h"

enum {
	MAX_STEPS = 20 * 1000 * 1000, /* small pieces of work in one check */
	MAX_DEPTH = 4096,             /* of schemas being applied inside each other */
};

struct checker {
	size_t steps, depth;
	/* Above 0 while alternatives are tried: failures are only noted, not put into words. */
	unsigned quiet;
	size_t fail_depth; /* how deep in the value the last failure was */
	struct ov_err *err;
};

static int check(struct checker *c, const struct schema *s, const value *v,
		const struct schema_path *at);

static size_t path_depth(const struct schema_path *at)
{
	size_t n = 0;

	for (; at->up; at = at->up)
		n++;
	return n;
}

static int _printf_(3, 4)
		fail(struct checker *c, const struct schema_path *at, const char *fmt, ...)
{
	_cleanup_(buf_done)
	struct buf path = BUF_INIT;
	char what[600];
	va_list ap;

	c->fail_depth = path_depth(at);
	if (c->quiet || !c->err)
		return OV_EINVALID;
	path = schema_path_text(at);
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return ov_fail(c->err, OV_EINVALID, "%s%s", buf_cstr(&path), what);
}

static int spend(struct checker *c, size_t steps)
{
	if (steps < c->steps) {
		c->steps -= steps;
		return 0;
	}
	return ov_fail(c->err, OV_ELIMIT, "too much work: the value is too big for its schema");
}

/* A date-time is a string here: JSON knows no other way to write one. */
static unsigned types_of(const value *v)
{
	switch (v->kind) {
	case V_NULL: return ST_NULL;
	case V_BOOL: return ST_BOOLEAN;
	case V_INT: return ST_INTEGER | ST_NUMBER;
	case V_REAL: return ST_NUMBER | (isfinite(v->r) && v->r == trunc(v->r) ? ST_INTEGER : 0);
	case V_STR:
	case V_DATETIME: return ST_STRING;
	case V_ARRAY: return ST_ARRAY;
	case V_OBJECT: return ST_OBJECT;
	}
	return 0;
}

/* A value for a message: scalars as JSON, cut when long; containers by their kind. */
static void show(struct buf *out, const value *v)
{
	if (v->kind == V_ARRAY || v->kind == V_OBJECT)
		buf_addf(out, "an %s", value_kind_name(v->kind));
	else if (schema_is_string(v) && v->s.n > 48)
		json_write_string(out, utf8_truncate(v->s, 45)), buf_adds(out, STR("..."));
	else
		json_write(out, v);
}

static int check_type(struct checker *c, const struct schema *s, const value *v,
		const struct schema_path *at)
{
	_cleanup_(buf_done)
	struct buf want = BUF_INIT;

	if (!s->types || (s->types & types_of(v)))
		return 0;
	if (!c->quiet)
		want = schema_types_text(s->types);
	return fail(c, at, "expected %s, got %s", buf_cstr(&want), value_kind_name(v->kind));
}

/* The string among the choices that v was probably meant to be. */
static const char *nearest_choice(const struct schema *s, const value *v, struct buf *hold)
{
	const char *best = NULL;
	size_t limit;

	if (!schema_is_string(v))
		return NULL;
	limit = MAX(v->s.n / 3, (size_t)1);
	for (size_t i = 0; i < s->choices->array.n; i++) {
		const value *choice = s->choices->array.items[i];
		size_t d = choice->kind == V_STR ? str_distance(v->s, choice->s, limit) : SIZE_MAX;

		if (d > limit)
			continue;
		limit = d - (d > 0);
		buf_clear(hold);
		buf_adds(hold, choice->s);
		best = buf_cstr(hold);
	}
	return best;
}

static int fail_enum(struct checker *c, const struct schema *s, const value *v,
		const struct schema_path *at)
{
	_cleanup_(buf_done)
	struct buf list = BUF_INIT, got = BUF_INIT, hold = BUF_INIT;
	const char *near;
	size_t n = s->choices->array.n;

	if (c->quiet)
		return fail(c, at, "not in enum");
	for (size_t i = 0; i < n && list.n < 300; i++) {
		buf_adds(&list, i ? STR(", ") : STR(""));
		show(&list, s->choices->array.items[i]);
		if (list.n >= 300 && i + 1 < n)
			buf_adds(&list, STR(", ..."));
	}
	show(&got, v);
	near = nearest_choice(s, v, &hold);
	return fail(c, at, "expected one of %s; got %s%s%s%s", buf_cstr(&list), buf_cstr(&got),
			near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
}

static int check_equal(struct checker *c, const struct schema *s, const value *v,
		const struct schema_path *at)
{
	_cleanup_(buf_done)
	struct buf want = BUF_INIT, got = BUF_INIT;
	int r;

	for (size_t i = 0; s->choices; i++) {
		if (i == s->choices->array.n)
			return fail_enum(c, s, v, at);
		r = spend(c, 1);
		if (r < 0)
			return r;
		if (value_equal(s->choices->array.items[i], v))
			break;
	}
	if (!s->constant || value_equal(s->constant, v))
		return 0;
	if (!c->quiet) {
		show(&want, s->constant);
		show(&got, v);
	}
	return fail(c, at, "expected %s, got %s", buf_cstr(&want), buf_cstr(&got));
}

static int check_number(struct checker *c, const struct schema *s, const value *v,
		const struct schema_path *at)
{
	_cleanup_(buf_done)
	struct buf got = BUF_INIT, bound = BUF_INIT;
	const value *broken = NULL;
	const char *what = NULL;
	int r;

	if (s->minimum && (r = schema_compare(v, s->minimum), r != 0 && r != 1))
		broken = s->minimum, what = "must be at least";
	else if (s->maximum && (r = schema_compare(v, s->maximum), r != 0 && r != -1))
		broken = s->maximum, what = "must be at most";
	else if (s->above && schema_compare(v, s->above) != 1)
		broken = s->above, what = "must be above";
	else if (s->below && schema_compare(v, s->below) != -1)
		broken = s->below, what = "must be below";
	else if (s->multiple_of && !schema_is_multiple(v, s->multiple_of))
		broken = s->multiple_of, what = "must be a multiple of";
	if (!broken)
		return 0;
	if (!c->quiet) {
		show(&got, v);
		show(&bound, broken);
	}
	return fail(c, at, "%s %s %s", buf_cstr(&got), what, buf_cstr(&bound));
}

static int check_size(struct checker *c, size_t n, size_t min, size_t max, const char *what,
		const struct schema_path *at)
{
	if (n < min)
		return fail(c, at, "%zu %s%s, at least %zu needed", n, what, n == 1 ? "" : "s",
				min);
	if (n > max)
		return fail(c, at, "%zu %s%s, at most %zu allowed", n, what, n == 1 ? "" : "s",
				max);
	return 0;
}

static int check_string(struct checker *c, const struct schema *s, const value *v,
		const struct schema_path *at)
{
	size_t n = 0;

	if (s->min_length == 0 && s->max_length == SIZE_MAX)
		return 0;
	for (size_t i = 0; i < v->s.n; i++)
		n += ((unsigned char)v->s.p[i] & 0xc0) != 0x80;
	return check_size(c, n, s->min_length, s->max_length, "character", at);
}

struct hashed {
	uint64_t hash;
	size_t index;
};

static int by_hash(const void *a, const void *b)
{
	const struct hashed *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static int check_unique(struct checker *c, const value *v, const struct schema_path *at)
{
	size_t n = v->array.n;
	_cleanup_(mem_freep)
	struct hashed *h = mem_zalloc(n + 1, sizeof(*h));
	int r = 0;

	for (size_t i = 0; i < n; i++)
		h[i] = (struct hashed){ schema_hash(v->array.items[i], &c->steps), i };
	qsort(h, n, sizeof(*h), by_hash);
	for (size_t i = 0; i < n && r == 0; i++) {
		for (size_t j = i + 1; j < n && h[j].hash == h[i].hash && r == 0; j++) {
			r = spend(c, 1);
			if (r == 0 &&
					value_equal(v->array.items[h[i].index],
							v->array.items[h[j].index]))
				r = fail(c, at, "items %zu and %zu are equal", h[i].index,
						h[j].index);
		}
	}
	return r;
}

/* Whether the schema holds, without words; only OV_ELIMIT is an error. */
static int holds(struct checker *c, const struct schema *s, const value *v,
		const struct schema_path *at, bool *ret)
{
	int r;

	c->quiet++;
	r = check(c, s, v, at);
	c->quiet--;
	*ret = r == 0;
	return r == OV_ELIMIT ? r : 0;
}

static int check_contains(struct checker *c, const struct schema *s, const value *v,
		const struct schema_path *at)
{
	bool found = false;
	int r = 0;

	for (size_t i = 0; i < v->array.n && r == 0 && !found; i++) {
		struct schema_path item = { .up = at, .index = i };

		r = holds(c, s->contains, v->array.items[i], &item, &found);
	}
	if (r == 0 && !found)
		r = fail(c, at, "no item has the form that at least one must have");
	return r;
}

static int check_array(struct checker *c, const struct schema *s, const value *v,
		const struct schema_path *at)
{
	int r = check_size(c, v->array.n, s->min_items, s->max_items, "item", at);

	for (size_t i = 0; i < v->array.n && r == 0; i++) {
		struct schema_path item = { .up = at, .index = i };
		const struct schema *of = s->items;

		if (s->has_item_list)
			of = i < s->item_list.n ? s->item_list.p[i] : s->additional_items;
		if (of && of->never && s->has_item_list && i >= s->item_list.n)
			r = fail(c, at, "at most %zu items allowed", s->item_list.n);
		else if (of)
			r = check(c, of, v->array.items[i], &item);
	}
	if (r == 0 && s->unique_items)
		r = check_unique(c, v, at);
	if (r == 0 && s->contains)
		r = check_contains(c, s, v, at);
	return r;
}

static const struct schema *find_property(const struct schema *s, str key)
{
	size_t low = 0, high = s->n_properties;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int r = str_cmp(key, s->properties[mid].key);

		if (r == 0)
			return s->properties[mid].schema;
		if (r < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

static int fail_unknown_key(struct checker *c, const struct schema *s, str key,
		const struct schema_path *at)
{
	_cleanup_(buf_done)
	struct buf name = BUF_INIT;
	const char *near = NULL;

	if (!c->quiet) {
		json_write_string(&name, utf8_truncate(key, 64));
		near = str_nearest(key, s->property_cstr, s->n_properties);
	}
	return fail(c, at, "unknown key %s%s%s%s", buf_cstr(&name), near ? " (did you mean \"" : "",
			near ? near : "", near ? "\"?)" : "");
}

static int check_member(struct checker *c, const struct schema *s, const struct member *m,
		const struct schema_path *at)
{
	struct schema_path here = { .up = at, .key = m->key };
	const struct schema *of = find_property(s, m->key);
	int r;

	if (s->property_names) {
		value name = { .kind = V_STR, .s = m->key };

		r = check(c, s->property_names, &name, &here);
		if (r == OV_EINVALID && !c->quiet)
			return ov_wrap(c->err, r, "the name of a key");
		if (r < 0)
			return r;
	}
	if (!of)
		of = s->additional_properties;
	if (!of)
		return spend(c, 1);
	if (of->never && of == s->additional_properties)
		return fail_unknown_key(c, s, m->key, at);
	return check(c, of, m->value, &here);
}

static int check_names(struct checker *c, const struct schema_names *names, const value *v,
		const struct schema_path *at, const str *because)
{
	for (size_t i = 0; i < names->n; i++) {
		struct schema_path here = { .up = at, .key = names->p[i] };
		int r = spend(c, 1 + v->object.n / 8);

		if (r < 0)
			return r;
		if (value_get(v, names->p[i]))
			continue;
		if (!because)
			return fail(c, &here, "missing");
		return fail(c, &here, "missing (needed beside \"" STR_FMT "\")",
				STR_ARG(utf8_truncate(*because, 64)));
	}
	return 0;
}

static int check_object(struct checker *c, const struct schema *s, const value *v,
		const struct schema_path *at)
{
	int r = check_size(c, v->object.n, s->min_properties, s->max_properties, "key", at);

	/* Members first: a misspelt key says more than the key that is missing for it. */
	for (size_t i = 0; i < v->object.n && r == 0; i++)
		r = check_member(c, s, &v->object.members[i], at);
	if (r == 0)
		r = check_names(c, &s->required, v, at, NULL);
	for (size_t i = 0; i < s->n_dependencies && r == 0; i++) {
		const struct schema_dependency *d = &s->dependencies[i];

		r = spend(c, 1 + v->object.n / 8);
		if (r < 0 || !value_get(v, d->key))
			continue;
		r = check_names(c, &d->names, v, at, &d->key);
		if (r == 0 && d->schema)
			r = check(c, d->schema, v, at);
	}
	return r;
}

/* None fits: says so, and why the one that got furthest does not. */
static int fail_forms(struct checker *c, const struct schema_list *list, const value *v,
		const struct schema_path *at, size_t nearest)
{
	_cleanup_(buf_done)
	struct buf path = BUF_INIT;
	int r;

	if (c->quiet)
		return OV_EINVALID;
	r = check(c, list->p[nearest], v, at);
	if (r != OV_EINVALID || list->n == 1)
		return r;
	path = schema_path_text(at);
	return ov_wrap(c->err, r, "%snone of the %zu allowed forms fits; the nearest",
			buf_cstr(&path), list->n);
}

static int check_forms(struct checker *c, const struct schema_list *list, bool only_one,
		const value *v, const struct schema_path *at)
{
	size_t n = 0, first = 0, nearest = 0, deepest = 0;

	for (size_t i = 0; i < list->n; i++) {
		bool fits;
		int r = holds(c, list->p[i], v, at, &fits);

		if (r < 0)
			return r;
		if (!fits && c->fail_depth > deepest)
			nearest = i, deepest = c->fail_depth;
		if (!fits)
			continue;
		if (!only_one)
			return 0;
		if (n++)
			return fail(c, at, "fits forms %zu and %zu, but exactly one may fit",
					first + 1, i + 1);
		first = i;
	}
	if (n)
		return 0;
	c->fail_depth = deepest;
	return fail_forms(c, list, v, at, nearest);
}

static int check_combined(struct checker *c, const struct schema *s, const value *v,
		const struct schema_path *at)
{
	bool fits;
	int r = 0;

	for (size_t i = 0; i < s->all_of.n && r == 0; i++)
		r = check(c, s->all_of.p[i], v, at);
	if (r == 0 && s->any_of.n)
		r = check_forms(c, &s->any_of, false, v, at);
	if (r == 0 && s->one_of.n)
		r = check_forms(c, &s->one_of, true, v, at);
	if (r < 0 || !s->not_)
		return r;
	r = holds(c, s->not_, v, at, &fits);
	if (r == 0 && fits)
		r = fail(c, at, "has a form that is not allowed");
	return r;
}

static int check_here(struct checker *c, const struct schema *s, const value *v,
		const struct schema_path *at)
{
	int r;

	if (s->never)
		return fail(c, at, "not allowed");
	r = check_type(c, s, v, at);
	if (r == 0)
		r = check_equal(c, s, v, at);
	if (r < 0)
		return r;
	if (schema_is_number(v))
		r = check_number(c, s, v, at);
	else if (schema_is_string(v))
		r = check_string(c, s, v, at);
	else if (v->kind == V_ARRAY)
		r = check_array(c, s, v, at);
	else if (v->kind == V_OBJECT)
		r = check_object(c, s, v, at);
	return r < 0 ? r : check_combined(c, s, v, at);
}

static int check(struct checker *c, const struct schema *s, const value *v,
		const struct schema_path *at)
{
	int r = spend(c, 1);

	if (r < 0)
		return r;
	if (c->depth >= MAX_DEPTH)
		return ov_fail(c->err, OV_ELIMIT, "nested too deep for its schema");
	c->depth++;
	r = s->ref ? check(c, s->ref, v, at) : check_here(c, s, v, at);
	c->depth--;
	return r;
}

int schema_check(const struct schema *s, const value *v, struct ov_err *err)
{
	struct checker c = { .steps = MAX_STEPS, .err = err };
	struct schema_path top = { 0 };

	return check(&c, s, v, &top);
}
