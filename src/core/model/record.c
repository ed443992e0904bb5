#include "core/model/record.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/model/transition.h"
#include "data/value/json.h"

#define AT(record, f, type) ((type *)(void *)((char *)(record) + (f)->offset))
#define CAT(record, f, type) ((const type *)(const void *)((const char *)(record) + (f)->offset))

void record_set_str(str *field, str s)
{
	char *copy = s.n ? mem_dup(s.p, s.n) : NULL;

	mem_free((char *)field->p);
	*field = (str){ copy, s.n };
}

void record_set_json(str *field, const value *v)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;

	if (v)
		json_write_canonical(&out, v);
	record_set_str(field, buf_str(&out));
}

static void strs_clear(struct strs *s)
{
	for (size_t i = 0; i < s->n; i++)
		mem_free((char *)s->p[i].p);
	mem_free(s->p);
	*s = (struct strs){ 0 };
}

void record_set_strs(struct strs *field, const str *texts, size_t n)
{
	struct strs fresh = { .n = n };

	if (n)
		fresh.p = mem_zalloc(n, sizeof(*fresh.p));
	for (size_t i = 0; i < n; i++)
		record_set_str(&fresh.p[i], texts[i]);
	strs_clear(field);
	*field = fresh;
}

void record_set_array(struct strs *field, const value *array)
{
	struct strs fresh = { .n = value_count(array) };

	if (fresh.n)
		fresh.p = mem_zalloc(fresh.n, sizeof(*fresh.p));
	for (size_t i = 0; i < fresh.n; i++)
		record_set_str(&fresh.p[i], value_str_or(value_item(array, i), STR("")));
	strs_clear(field);
	*field = fresh;
}

value *strs_to_value(struct arena *a, const struct strs *s)
{
	value *v = value_array(a);

	for (size_t i = 0; i < s->n; i++)
		value_push(a, v, value_str(a, s->p[i]));
	return v;
}

static value *counts_to_value(struct arena *a, const struct status_table *t, const int32_t *counts)
{
	value *v = value_object(a);

	for (int i = 0; i < t->n; i++)
		if (counts[i])
			value_put(a, v, t->names[i], value_int(a, counts[i]));
	return v;
}

static value *amounts_to_value(struct arena *a, const struct status_table *t,
		const int64_t *amounts)
{
	value *v = value_object(a);

	for (int i = 0; i < t->n; i++)
		if (amounts[i])
			value_put(a, v, t->names[i], value_int(a, amounts[i]));
	return v;
}

static value *json_to_value(struct arena *a, str text)
{
	value *v;

	/* Stored texts were written by us; one that does not parse is shown as it is. */
	if (text.n == 0)
		return value_null(a);
	if (json_parse(a, text, NULL, &v, NULL) < 0)
		return value_str(a, text);
	return v;
}

static value *seqs_to_value(struct arena *a, const struct seqs *s)
{
	value *v = value_array(a);

	for (size_t i = 0; i < s->n; i++)
		value_push(a, v, value_int(a, (int64_t)s->p[i]));
	return v;
}

static value *field_to_value(struct arena *a, const struct field *f, const void *record)
{
	switch (f->type) {
	case F_TEXT: return value_str(a, *CAT(record, f, str));
	case F_NUM: return value_int(a, *CAT(record, f, int64_t));
	case F_FLAG: return value_bool(a, *CAT(record, f, bool));
	case F_TIME:
	case F_CALENDAR:
	case F_STAMP: return value_time(a, *CAT(record, f, ov_time));
	case F_STATUS: return value_cstr(a, status_name(f->table, *CAT(record, f, int)));
	case F_LIST: return strs_to_value(a, CAT(record, f, struct strs));
	case F_COUNTS: return counts_to_value(a, f->table, CAT(record, f, int32_t));
	case F_AMOUNTS: return amounts_to_value(a, f->table, CAT(record, f, int64_t));
	case F_JSON: return json_to_value(a, *CAT(record, f, str));
	case F_SEQS: return seqs_to_value(a, CAT(record, f, struct seqs));
	}
	return value_null(a);
}

value *record_to_value(struct arena *a, const struct record_type *t, const void *record)
{
	value *v = value_object(a);

	for (size_t i = 0; i < t->n; i++)
		value_append_member(a, v, str_from(t->fields[i].name),
				field_to_value(a, &t->fields[i], record));
	return v;
}

static bool field_is_zero(const struct field *f, const void *record)
{
	switch (f->type) {
	case F_TEXT:
	case F_JSON: return CAT(record, f, str)->n == 0;
	case F_NUM: return *CAT(record, f, int64_t) == 0;
	case F_FLAG: return !*CAT(record, f, bool);
	case F_TIME:
	case F_CALENDAR:
	case F_STAMP: return *CAT(record, f, ov_time) == 0;
	case F_LIST: return CAT(record, f, struct strs)->n == 0;
	case F_SEQS: return CAT(record, f, struct seqs)->n == 0;
	case F_STATUS: /* what comes first in a table is not nothing */ return false;
	case F_COUNTS:
		for (int i = 0; i < f->table->n; i++)
			if (CAT(record, f, int32_t)[i])
				return false;
		return true;
	case F_AMOUNTS:
		for (int i = 0; i < f->table->n; i++)
			if (CAT(record, f, int64_t)[i])
				return false;
		return true;
	}
	return false;
}

value *record_pack(struct arena *a, const struct record_type *t, const void *record)
{
	value *v = value_object(a);

	for (size_t i = 0; i < t->n; i++)
		if (!field_is_zero(&t->fields[i], record))
			value_append_member(a, v, str_from(t->fields[i].name),
					field_to_value(a, &t->fields[i], record));
	return v;
}

static bool counts_from_value(const struct status_table *t, int32_t *counts, const value *v)
{
	if (v->kind != V_OBJECT)
		return false;
	for (size_t i = 0; i < v->object.n; i++) {
		int at = status_parse(t, v->object.members[i].key);
		int64_t n = value_int_or(v->object.members[i].value, -1);

		if (at < 0 || n < 0 || n > INT32_MAX)
			return false;
		counts[at] = (int32_t)n;
	}
	return true;
}

bool record_read_amounts(const struct status_table *t, int64_t *amounts, const value *v)
{
	if (v->kind != V_OBJECT)
		return false;
	for (size_t i = 0; i < v->object.n; i++) {
		int at = status_parse(t, v->object.members[i].key);

		if (at < 0 || v->object.members[i].value->kind != V_INT)
			return false;
		amounts[at] = v->object.members[i].value->i;
	}
	return true;
}

static bool strs_from_value(struct strs *s, const value *v)
{
	if (v->kind != V_ARRAY)
		return false;
	for (size_t i = 0; i < v->array.n; i++)
		if (v->array.items[i]->kind != V_STR)
			return false;
	record_set_array(s, v);
	return true;
}

static bool json_from_value(str *field, const value *v)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	json_write_canonical(&text, v);
	record_set_str(field, v->kind == V_NULL ? (str){ 0 } : buf_str(&text));
	return true;
}

static bool time_from_value(ov_time *ret, const value *v)
{
	*ret = 0;
	return v->kind == V_NULL || (v->kind == V_STR && time_parse(v->s, ret));
}

static bool status_from_value(const struct status_table *t, int *ret, const value *v)
{
	int status = v->kind == V_STR ? status_parse(t, v->s) : -1;

	if (status < 0)
		return false;
	*ret = status;
	return true;
}

static bool seqs_from_value(struct seqs *s, const value *v)
{
	if (v->kind != V_ARRAY)
		return false;
	for (size_t i = 0; i < v->array.n; i++) {
		if (v->array.items[i]->kind != V_INT)
			return false;
		vec_push(s, (uint64_t)v->array.items[i]->i);
	}
	return true;
}

static bool field_from_value(const struct field *f, void *record, const value *v)
{
	switch (f->type) {
	case F_TEXT:
		if (v->kind == V_STR)
			record_set_str(AT(record, f, str), v->s);
		return v->kind == V_STR;
	case F_NUM: *AT(record, f, int64_t) = value_int_or(v, 0); return v->kind == V_INT;
	case F_FLAG: *AT(record, f, bool) = value_bool_or(v, false); return v->kind == V_BOOL;
	case F_TIME:
	case F_CALENDAR:
	case F_STAMP: return time_from_value(AT(record, f, ov_time), v);
	case F_STATUS: return status_from_value(f->table, AT(record, f, int), v);
	case F_LIST: return strs_from_value(AT(record, f, struct strs), v);
	case F_COUNTS: return counts_from_value(f->table, AT(record, f, int32_t), v);
	case F_AMOUNTS: return record_read_amounts(f->table, AT(record, f, int64_t), v);
	case F_JSON: return json_from_value(AT(record, f, str), v);
	case F_SEQS: return seqs_from_value(AT(record, f, struct seqs), v);
	}
	return false;
}

/*
 * Members that we wrote come in the order of the fields, so the search begins where the last
 * one ended.
 */
static const struct field *field_find(const struct record_type *t, str name, size_t *next)
{
	for (size_t i = 0; i < t->n; i++) {
		size_t at = (*next + i) % t->n;

		if (str_is(name, t->fields[at].name)) {
			*next = at + 1;
			return &t->fields[at];
		}
	}
	return NULL;
}

const struct field *record_field(const struct record_type *t, const char *name)
{
	size_t next = 0;

	return field_find(t, str_from(name), &next);
}

static int read_members(const struct record_type *t, void *record, const value *v, bool others,
		struct ov_err *err)
{
	size_t next = 0;

	if (!v || v->kind != V_OBJECT)
		return ov_fail(err, OV_EINVALID, "%s: expected an object", t->noun);
	for (size_t i = 0; i < v->object.n; i++) {
		const struct member *m = &v->object.members[i];
		const struct field *f = field_find(t, m->key, &next);

		if (!f && others)
			continue;
		if (!f)
			return ov_fail(err, OV_EINVALID, "%s: unknown field \"" STR_FMT "\"",
					t->noun, STR_ARG(m->key));
		if (!field_from_value(f, record, m->value))
			return ov_fail(err, OV_EINVALID, "%s.%s: wrong type or value", t->noun,
					f->name);
	}
	return 0;
}

int record_from_value(const struct record_type *t, void *record, const value *v, struct ov_err *err)
{
	return read_members(t, record, v, false, err);
}

int record_from_part(const struct record_type *t, void *record, const value *v, struct ov_err *err)
{
	return read_members(t, record, v, true, err);
}

void record_done(const struct record_type *t, void *record)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct field *f = &t->fields[i];

		if (f->type == F_TEXT || f->type == F_JSON)
			record_set_str(AT(record, f, str), (str){ 0 });
		else if (f->type == F_LIST)
			strs_clear(AT(record, f, struct strs));
		else if (f->type == F_SEQS)
			vec_done(AT(record, f, struct seqs));
	}
}
