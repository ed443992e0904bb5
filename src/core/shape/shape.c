#include "core/shape/shape.h"

#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/model/limits.h"
#include "core/model/transition.h"
#include "core/text/redact.h"

enum value_kind shape_value_kind(enum shape_type type)
{
	static const enum value_kind of[] = { [SHAPE_TEXT] = V_STR,
		[SHAPE_NOTE] = V_STR,
		[SHAPE_NUM] = V_INT,
		[SHAPE_FLAG] = V_BOOL,
		[SHAPE_ENUM] = V_STR,
		[SHAPE_TIME] = V_STR,
		[SHAPE_LIST] = V_ARRAY,
		[SHAPE_NUMS] = V_ARRAY,
		[SHAPE_TALLY] = V_OBJECT,
		[SHAPE_OBJECT] = V_OBJECT,
		[SHAPE_OBJECTS] = V_ARRAY,
		[SHAPE_PART] = V_OBJECT,
		[SHAPE_PARTS] = V_ARRAY };

	return of[type];
}

const struct shape_field *shape_find(const struct shape *s, str name)
{
	for (size_t i = 0; i < s->n; i++)
		if (str_is(name, s->fields[i].name))
			return &s->fields[i];
	return NULL;
}

static int check_items(const struct shape *s, const struct shape_field *f, const value *list,
		struct ov_err *err)
{
	enum value_kind wanted = f->type == SHAPE_LIST ? V_STR
			: f->type == SHAPE_NUMS        ? V_INT
						       : V_OBJECT;

	for (size_t i = 0; i < value_count(list); i++)
		if (value_item(list, i)->kind != wanted)
			return ov_fail(err, OV_EINVALID, "%s.%s: expected %ss only", s->name,
					f->name,
					wanted == V_STR ? "text" : value_kind_name(wanted));
	return 0;
}

static int check_field(const struct shape *s, const struct shape_field *f, const value *v,
		struct ov_err *err)
{
	if (v->kind == V_NULL && (f->type == SHAPE_TIME || f->need == NIL))
		return 0;
	if (shape_value_kind(f->type) != v->kind)
		return ov_fail(err, OV_EINVALID, "%s.%s: expected %s, found %s", s->name, f->name,
				value_kind_name(shape_value_kind(f->type)),
				value_kind_name(v->kind));
	if (f->type == SHAPE_ENUM && status_parse(f->words, v->s) < 0)
		return ov_fail(err, OV_EINVALID, "%s.%s: there is no %s \"" STR_FMT "\"", s->name,
				f->name, f->words->noun, STR_ARG(str_sub(v->s, 0, 100)));
	return v->kind == V_ARRAY ? check_items(s, f, v, err) : 0;
}

int shape_check(const struct shape *s, const value *data, struct ov_err *err)
{
	for (size_t i = 0; i < value_count(data); i++) {
		const struct member *m = &data->object.members[i];
		const struct shape_field *f = shape_find(s, m->key);
		int r = f ? check_field(s, f, m->value, err)
			  : ov_fail(err, OV_EINVALID, "%s: unknown field \"" STR_FMT "\"", s->name,
					    STR_ARG(m->key));

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < s->n; i++)
		if (s->fields[i].need == REQ && !value_at(data, s->fields[i].name))
			return ov_fail(err, OV_EINVALID, "%s.%s is missing", s->name,
					s->fields[i].name);
	return 0;
}

struct texts texts_from(struct arena *a, const value *list)
{
	struct texts t = { arena_array(a, str, value_count(list)), value_count(list) };

	for (size_t i = 0; i < t.n; i++)
		t.p[i] = value_str_or(value_item(list, i), STR(""));
	return t;
}

static struct nums nums_from(struct arena *a, const value *list)
{
	struct nums t = { arena_array(a, int64_t, value_count(list)), value_count(list) };

	for (size_t i = 0; i < t.n; i++)
		t.p[i] = value_int_or(value_item(list, i), 0);
	return t;
}

static void fill_tally(const struct shape_field *f, int64_t *counts, const value *v)
{
	for (int i = f->from; i < f->words->n; i++)
		counts[i] = value_int_at(v, f->words->names[i]);
}

static void fill_struct(struct arena *a, const struct shape *s, char *is, const value *data);

/* STRUCTS, whichever they are. */
struct parts {
	char *p;
	size_t n;
};

static struct parts parts_from(struct arena *a, const struct shape *s, const value *list)
{
	struct parts t = { arena_zalloc(a, value_count(list) * s->size), value_count(list) };

	for (size_t i = 0; i < t.n; i++)
		fill_struct(a, s, t.p + i * s->size, value_item(list, i));
	return t;
}

static void fill_field(struct arena *a, const struct shape_field *f, char *is, const value *v)
{
	void *at = is + f->offset;
	struct parts parts;

	if (f->has != SIZE_MAX)
		*(bool *)(is + f->has) = true;
	switch (f->type) {
	case SHAPE_TEXT:
	case SHAPE_NOTE: *(str *)at = v->s; break;
	case SHAPE_NUM: *(int64_t *)at = v->i; break;
	case SHAPE_FLAG: *(bool *)at = v->b; break;
	case SHAPE_ENUM: *(int *)at = MAX(status_parse(f->words, v->s), 0); break;
	case SHAPE_TIME: (void)time_parse(v->s, at); break;
	case SHAPE_LIST: *(struct texts *)at = texts_from(a, v); break;
	case SHAPE_NUMS: *(struct nums *)at = nums_from(a, v); break;
	case SHAPE_TALLY: fill_tally(f, at, v); break;
	case SHAPE_OBJECT:
	case SHAPE_OBJECTS: *(const value **)at = v; break;
	case SHAPE_PART: fill_struct(a, f->part(), at, v); break;
	case SHAPE_PARTS:
		parts = parts_from(a, f->part(), v);
		memcpy(at, &parts, sizeof(parts));
		break;
	}
}

static void fill_struct(struct arena *a, const struct shape *s, char *is, const value *data)
{
	if (!data || data->kind != V_OBJECT)
		return;
	for (size_t i = 0; i < value_count(data); i++) {
		const struct member *m = &data->object.members[i];
		const struct shape_field *f = shape_find(s, m->key);

		if (f && m->value->kind == shape_value_kind(f->type))
			fill_field(a, f, is, m->value);
	}
}

void *shape_fill(struct arena *a, const struct shape *s, const value *data)
{
	void *is = arena_zalloc(a, s->size);

	fill_struct(a, s, is, data);
	return is;
}

/*
 * Outcomes quote the output of programs: what is not text would not come back from the log as
 * it was.
 */
static value *text_value(struct arena *a, str s)
{
	return value_str(a, utf8_valid(s) ? arena_str(a, s) : utf8_clean(a, s));
}

static value *list_value(struct arena *a, const struct texts *t)
{
	value *list = value_array(a);

	for (size_t i = 0; i < t->n; i++)
		value_push(a, list, text_value(a, t->p[i]));
	return list;
}

static value *nums_value(struct arena *a, const struct nums *t)
{
	value *list = value_array(a);

	for (size_t i = 0; i < t->n; i++)
		value_push(a, list, value_int(a, t->p[i]));
	return list;
}

static value *tally_value(struct arena *a, const struct shape_field *f, const int64_t *counts)
{
	value *v = value_object(a);

	for (int i = f->from; i < f->words->n; i++)
		value_append_member(a, v, str_from(f->words->names[i]), value_int(a, counts[i]));
	return v;
}

static value *parts_value(struct arena *a, const struct shape *s, const void *at)
{
	value *list = value_array(a);
	struct parts parts;

	memcpy(&parts, at, sizeof(parts));
	for (size_t i = 0; i < parts.n; i++)
		value_push(a, list, shape_data(a, s, parts.p + i * s->size));
	return list;
}

/* False where it is zero, empty or absent, and need not be there. */
static bool field_given(const struct shape_field *f, const char *is)
{
	const void *at = is + f->offset;

	if (f->type == SHAPE_OBJECT || f->type == SHAPE_OBJECTS)
		return *(const value *const *)at;
	if (f->need == REQ || (f->has != SIZE_MAX && *(const bool *)(is + f->has)))
		return true;
	switch (f->type) {
	case SHAPE_NUM: return *(const int64_t *)at;
	case SHAPE_FLAG: return *(const bool *)at;
	case SHAPE_ENUM: return *(const int *)at;
	case SHAPE_TIME: return *(const ov_time *)at;
	case SHAPE_LIST: return ((const struct texts *)at)->n;
	case SHAPE_NUMS: return ((const struct nums *)at)->n;
	default: return ((const str *)at)->n;
	}
}

static value *field_value(struct arena *a, const struct shape_field *f, const char *is)
{
	const void *at = is + f->offset;
	str s;

	if (!field_given(f, is))
		return NULL;
	switch (f->type) {
	case SHAPE_TEXT:
	case SHAPE_NOTE:
		s = *(const str *)at;
		/* Secrets go before a text is cut: half of one is not recognised any more. */
		if (f->type == SHAPE_NOTE)
			s = utf8_truncate(redact(a, s), LIMIT_NOTE);
		return text_value(a, s);
	case SHAPE_NUM: return value_int(a, *(const int64_t *)at);
	case SHAPE_FLAG: return value_bool(a, *(const bool *)at);
	case SHAPE_ENUM: return value_cstr(a, status_name(f->words, *(const int *)at));
	case SHAPE_TIME: return value_time(a, *(const ov_time *)at);
	case SHAPE_LIST: return list_value(a, at);
	case SHAPE_NUMS: return nums_value(a, at);
	case SHAPE_TALLY: return tally_value(a, f, at);
	case SHAPE_PART: return shape_data(a, f->part(), at);
	case SHAPE_PARTS: return parts_value(a, f->part(), at);
	case SHAPE_OBJECT:
	case SHAPE_OBJECTS: break;
	}
	return value_copy(a, *(const value *const *)at);
}

value *shape_data(struct arena *a, const struct shape *s, const void *is)
{
	value *data = value_object(a);

	for (size_t i = 0; i < s->n; i++) {
		value *v = field_value(a, &s->fields[i], is);

		if (!v && s->fields[i].need == NIL)
			v = value_null(a);
		if (v)
			value_append_member(a, data, str_from(s->fields[i].name), v);
	}
	return data;
}

value *shape_given(struct arena *a, const struct shape *s, const void *is)
{
	value *names = value_array(a);

	for (size_t i = 0; i < s->n; i++)
		if (s->fields[i].need != REQ && field_given(&s->fields[i], is))
			value_push(a, names, value_cstr(a, s->fields[i].name));
	return names;
}

void shape_copy(const struct shape *from, const void *is, const struct shape *to, void *ret)
{
	static const size_t sizes[SHAPE_PARTS + 1] = { [SHAPE_TEXT] = sizeof(str),
		[SHAPE_NOTE] = sizeof(str),
		[SHAPE_NUM] = sizeof(int64_t),
		[SHAPE_FLAG] = sizeof(bool),
		[SHAPE_ENUM] = sizeof(int),
		[SHAPE_TIME] = sizeof(ov_time),
		[SHAPE_LIST] = sizeof(struct texts),
		[SHAPE_NUMS] = sizeof(struct nums),
		[SHAPE_OBJECT] = sizeof(value *),
		[SHAPE_OBJECTS] = sizeof(value *) };

	for (size_t i = 0; i < to->n; i++) {
		const struct shape_field *t = &to->fields[i];
		const struct shape_field *f = shape_find(from, str_from(t->name));

		if (!f || f->type != t->type || !field_given(f, is))
			continue;
		assert(sizes[t->type]); /* parts have members of their own */
		memcpy((char *)ret + t->offset, (const char *)is + f->offset, sizes[t->type]);
		if (t->has != SIZE_MAX)
			*(bool *)((char *)ret + t->has) = true;
	}
}

/* As the record keeps it. */
static bool to_field(const void *at, const struct field *to, void *ret)
{
	switch (to->type) {
	case F_TEXT: record_set_str(ret, *(const str *)at); break;
	case F_NUM: *(int64_t *)ret = *(const int64_t *)at; break;
	case F_LIST:
		record_set_strs(ret, ((const struct texts *)at)->p, ((const struct texts *)at)->n);
		break;
	case F_JSON: record_set_json(ret, *(const value *const *)at); break;
	case F_AMOUNTS: return record_read_amounts(to->table, ret, *(const value *const *)at);
	default: assert(!"no event says this of a record as a whole");
	}
	return true;
}

bool shape_to_record(const struct shape *s, const void *is, const struct record_type *t, void *ret)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct shape_field *f = &s->fields[i];
		const struct field *to = field_given(f, is) ? record_field(t, f->name) : NULL;

		if (to && !to_field((const char *)is + f->offset, to, (char *)ret + to->offset))
			return false;
	}
	return true;
}
