#include "data/value/value.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"

static value *new_value(struct arena *a, enum value_kind kind)
{
	value *v = arena_new(a, value);

	v->kind = kind;
	return v;
}

value *value_null(struct arena *a)
{
	return new_value(a, V_NULL);
}

value *value_bool(struct arena *a, bool b)
{
	value *v = new_value(a, V_BOOL);

	v->b = b;
	return v;
}

value *value_int(struct arena *a, int64_t i)
{
	value *v = new_value(a, V_INT);

	v->i = i;
	return v;
}

value *value_real(struct arena *a, double r)
{
	value *v = new_value(a, V_REAL);

	v->r = r;
	return v;
}

value *value_str(struct arena *a, str s)
{
	value *v = new_value(a, V_STR);

	v->s = s.p ? s : STR("");
	return v;
}

value *value_cstr(struct arena *a, const char *s)
{
	return value_str(a, str_from(s));
}

value *value_strf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	str s;

	va_start(ap, fmt);
	s = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return value_str(a, s);
}

value *value_time(struct arena *a, ov_time t)
{
	return t ? value_str(a, time_format(a, t)) : value_null(a);
}

value *value_array(struct arena *a)
{
	return new_value(a, V_ARRAY);
}

value *value_object(struct arena *a)
{
	return new_value(a, V_OBJECT);
}

/* A bigger copy of an array of n elements; the old one stays in the arena, at most as big again. */
static void *grow(struct arena *a, const void *old, size_t n, uint32_t *cap, size_t size)
{
	size_t more = *cap ? (size_t)*cap * 2 : 4;
	void *p;

	assert(more <= UINT32_MAX);
	p = arena_alloc(a, arena_size_mul(more, size));
	if (n)
		memcpy(p, old, n * size);
	*cap = (uint32_t)more;
	return p;
}

void value_push(struct arena *a, value *array, value *item)
{
	assert(array->kind == V_ARRAY);
	if (array->array.n == array->cap)
		array->array.items = grow(a, array->array.items, array->array.n, &array->cap,
				sizeof(item));
	array->array.items[array->array.n++] = item;
}

void value_append_member(struct arena *a, value *object, str key, value *v)
{
	assert(object->kind == V_OBJECT);
	if (object->object.n == object->cap)
		object->object.members = grow(a, object->object.members, object->object.n,
				&object->cap, sizeof(struct member));
	object->object.members[object->object.n++] = (struct member){ key, v };
}

static struct member *find_member(const value *object, str key)
{
	for (size_t i = 0; i < object->object.n; i++)
		if (str_eq(object->object.members[i].key, key))
			return &object->object.members[i];
	return NULL;
}

void value_set(struct arena *a, value *object, str key, value *v)
{
	struct member *m;

	assert(object->kind == V_OBJECT);
	m = find_member(object, key);
	if (m)
		m->value = v;
	else
		value_append_member(a, object, key, v);
}

void value_put(struct arena *a, value *object, const char *key, value *v)
{
	value_set(a, object, str_from(key), v);
}

value *value_copy(struct arena *a, const value *v)
{
	value *c = new_value(a, v->kind);

	switch (v->kind) {
	case V_NULL: break;
	case V_BOOL: c->b = v->b; break;
	case V_INT: c->i = v->i; break;
	case V_REAL: c->r = v->r; break;
	case V_STR:
	case V_DATETIME: c->s = arena_str(a, v->s); break;
	case V_ARRAY:
		for (size_t i = 0; i < v->array.n; i++)
			value_push(a, c, value_copy(a, v->array.items[i]));
		break;
	case V_OBJECT:
		for (size_t i = 0; i < v->object.n; i++) {
			const struct member *m = &v->object.members[i];

			value_append_member(a, c, arena_str(a, m->key), value_copy(a, m->value));
		}
		break;
	}
	return c;
}

static int by_key(const void *a, const void *b)
{
	return str_cmp((*(const struct member *const *)a)->key,
			(*(const struct member *const *)b)->key);
}

const struct member **value_sorted_members(const value *object)
{
	enum { SMALL = 16 };
	size_t n = object->object.n;
	const struct member **sorted = mem_alloc(arena_size_mul(n, sizeof(*sorted)));

	for (size_t i = 0; i < n; i++) {
		const struct member *m = &object->object.members[i];
		size_t at = i;

		/* By insertion while there are few: most objects are small or nearly in order. */
		for (; i < SMALL && at > 0 && str_cmp(sorted[at - 1]->key, m->key) > 0; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = m;
	}
	if (n > SMALL)
		qsort(sorted, n, sizeof(*sorted), by_key);
	return sorted;
}

/* Exact: no integer is rounded to a double on the way. */
static bool int_equals_real(int64_t i, double r)
{
	return r >= -0x1p63 && r < 0x1p63 && r == floor(r) && (int64_t)r == i;
}

static bool objects_equal(const value *a, const value *b)
{
	size_t n = a->object.n, i = 0;
	const struct member **sa, **sb;
	bool equal = true;

	if (n != b->object.n)
		return false;
	/* As long as both have the same order, nothing needs to be sorted. */
	while (i < n && str_eq(a->object.members[i].key, b->object.members[i].key)) {
		if (!value_equal(a->object.members[i].value, b->object.members[i].value))
			return false;
		i++;
	}
	if (i == n)
		return true;
	sa = value_sorted_members(a);
	sb = value_sorted_members(b);
	for (i = 0; i < n && equal; i++)
		equal = str_eq(sa[i]->key, sb[i]->key) && value_equal(sa[i]->value, sb[i]->value);
	mem_free(sa);
	mem_free(sb);
	return equal;
}

bool value_equal(const value *a, const value *b)
{
	if (a->kind == V_INT && b->kind == V_REAL)
		return int_equals_real(a->i, b->r);
	if (a->kind == V_REAL && b->kind == V_INT)
		return int_equals_real(b->i, a->r);
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case V_NULL: return true;
	case V_BOOL: return a->b == b->b;
	case V_INT: return a->i == b->i;
	case V_REAL: return a->r == b->r || (isnan(a->r) && isnan(b->r));
	case V_STR:
	case V_DATETIME: return str_eq(a->s, b->s);
	case V_ARRAY:
		if (a->array.n != b->array.n)
			return false;
		for (size_t i = 0; i < a->array.n; i++)
			if (!value_equal(a->array.items[i], b->array.items[i]))
				return false;
		return true;
	case V_OBJECT: return objects_equal(a, b);
	}
	return false;
}

static value *member_of(const value *object, str key)
{
	const struct member *m = object && object->kind == V_OBJECT ? find_member(object, key)
								    : NULL;

	return m ? m->value : NULL;
}

static value *item_of(const value *array, size_t i)
{
	return array && array->kind == V_ARRAY && i < array->array.n ? array->array.items[i] : NULL;
}

const value *value_get(const value *object, str key)
{
	return member_of(object, key);
}

value *value_edit_get(value *object, str key)
{
	return member_of(object, key);
}

value *value_edit_at(value *object, const char *key)
{
	return member_of(object, str_from(key));
}

value *value_edit_item(value *array, size_t i)
{
	return item_of(array, i);
}

value *value_share(const value *v)
{
	return (value *)v;
}

const value *value_at(const value *object, const char *key)
{
	return member_of(object, str_from(key));
}

size_t value_count(const value *v)
{
	if (v && v->kind == V_ARRAY)
		return v->array.n;
	return v && v->kind == V_OBJECT ? v->object.n : 0;
}

const value *value_item(const value *array, size_t i)
{
	return item_of(array, i);
}

str value_str_or(const value *v, str otherwise)
{
	return v && v->kind == V_STR ? v->s : otherwise;
}

int64_t value_int_or(const value *v, int64_t otherwise)
{
	return v && v->kind == V_INT ? v->i : otherwise;
}

bool value_bool_or(const value *v, bool otherwise)
{
	return v && v->kind == V_BOOL ? v->b : otherwise;
}

double value_real_or(const value *v, double otherwise)
{
	if (v && v->kind == V_INT)
		return (double)v->i;
	return v && v->kind == V_REAL ? v->r : otherwise;
}

str value_str_at(const value *object, const char *key)
{
	return value_str_or(value_at(object, key), STR(""));
}

int64_t value_int_at(const value *object, const char *key)
{
	return value_int_or(value_at(object, key), 0);
}

bool value_bool_at(const value *object, const char *key)
{
	return value_bool_or(value_at(object, key), false);
}

const char *value_kind_name(enum value_kind kind)
{
	static const char *const names[] = {
		[V_NULL] = "null",
		[V_BOOL] = "boolean",
		[V_INT] = "integer",
		[V_REAL] = "number",
		[V_STR] = "string",
		[V_DATETIME] = "date-time",
		[V_ARRAY] = "array",
		[V_OBJECT] = "object",
	};

	return names[kind];
}

/* The path of a member, for the front of a message: "phases[1].name". */
#define PATH_FMT STR_FMT "%s%s"
#define PATH_ARG(path, key) STR_ARG(path), (path).n ? "." : "", (key)

static const value *need(const value *object, str path, const char *key, enum value_kind kind,
		struct ov_err *err)
{
	const value *v = value_at(object, key);

	if (!v)
		ov_fail(err, OV_EINVALID, PATH_FMT ": missing (%s expected)", PATH_ARG(path, key),
				value_kind_name(kind));
	else if (v->kind != kind)
		ov_fail(err, OV_EINVALID, PATH_FMT ": expected %s, got %s", PATH_ARG(path, key),
				value_kind_name(kind), value_kind_name(v->kind));
	else
		return v;
	return NULL;
}

int value_need_str(const value *object, str path, const char *key, str *ret, struct ov_err *err)
{
	const value *v = need(object, path, key, V_STR, err);

	if (!v)
		return OV_EINVALID;
	*ret = v->s;
	return 0;
}

int value_need_int(const value *object, str path, const char *key, int64_t *ret, struct ov_err *err)
{
	const value *v = need(object, path, key, V_INT, err);

	if (!v)
		return OV_EINVALID;
	*ret = v->i;
	return 0;
}

int value_need_bool(const value *object, str path, const char *key, bool *ret, struct ov_err *err)
{
	const value *v = need(object, path, key, V_BOOL, err);

	if (!v)
		return OV_EINVALID;
	*ret = v->b;
	return 0;
}

int value_need_array(const value *object, str path, const char *key, const value **ret,
		struct ov_err *err)
{
	const value *v = need(object, path, key, V_ARRAY, err);

	if (!v)
		return OV_EINVALID;
	*ret = v;
	return 0;
}

int value_need_object(const value *object, str path, const char *key, const value **ret,
		struct ov_err *err)
{
	const value *v = need(object, path, key, V_OBJECT, err);

	if (!v)
		return OV_EINVALID;
	*ret = v;
	return 0;
}

static bool is_known(str key, const char *const *known, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_is(key, known[i]))
			return true;
	return false;
}

int value_only_keys(const value *object, str path, const char *const *known, size_t n,
		struct ov_err *err)
{
	for (size_t i = 0; object && object->kind == V_OBJECT && i < object->object.n; i++) {
		_cleanup_(arena_done) struct arena scratch = ARENA_INIT;
		str key = object->object.members[i].key, shown;
		const char *nearest;

		if (is_known(key, known, n))
			continue;
		shown = utf8_clean(&scratch, utf8_truncate(key, 64));
		nearest = str_nearest(key, known, n);
		return ov_fail(err, OV_EINVALID, STR_FMT "%sunknown key \"" STR_FMT "\"%s%s%s",
				STR_ARG(path), path.n ? ": " : "", STR_ARG(shown),
				nearest ? " (did you mean \"" : "", nearest ? nearest : "",
				nearest ? "\"?)" : "");
	}
	return 0;
}
