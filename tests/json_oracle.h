/*
 * jansson as the judge of our JSON reader: both must accept or both refuse a text, and what they
 * read must be the same, order of members and bits of reals included. Where the two differ by
 * intent, there is no verdict: texts with a NUL byte (jansson stops at some), depth beyond our
 * limit, and keys with an escaped NUL (jansson cannot hold them).
 */
#pragma once

#include <jansson.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "data/value/json.h"

static inline uint64_t oracle_bits(double r)
{
	uint64_t bits;

	memcpy(&bits, &r, sizeof(bits));
	return bits;
}

static inline bool oracle_same(const value *v, json_t *j)
{
	const char *key;
	json_t *item;
	size_t i = 0;

	switch (v->kind) {
	case V_NULL: return json_is_null(j);
	case V_BOOL: return v->b ? json_is_true(j) : json_is_false(j);
	case V_INT: return json_is_integer(j) && json_integer_value(j) == v->i;
	case V_REAL: return json_is_real(j) && oracle_bits(json_real_value(j)) == oracle_bits(v->r);
	case V_STR:
		return json_is_string(j) && json_string_length(j) == v->s.n &&
				memcmp(json_string_value(j), v->s.p, v->s.n + 1) == 0;
	case V_ARRAY:
		if (!json_is_array(j) || json_array_size(j) != v->array.n)
			return false;
		for (; i < v->array.n; i++)
			if (!oracle_same(v->array.items[i], json_array_get(j, i)))
				return false;
		return true;
	case V_OBJECT:
		if (!json_is_object(j) || json_object_size(j) != v->object.n)
			return false;
		json_object_foreach(j, key, item)
		{
			const struct member *m = &v->object.members[i++];

			if (strcmp(m->key.p, key) != 0 || !oracle_same(m->value, item))
				return false;
		}
		return true;
	default: return false;
	}
}

static inline bool oracle_has_nul_key(const value *v)
{
	if (v->kind == V_ARRAY)
		for (size_t i = 0; i < v->array.n; i++)
			if (oracle_has_nul_key(v->array.items[i]))
				return true;
	for (size_t i = 0; v->kind == V_OBJECT && i < v->object.n; i++) {
		const struct member *m = &v->object.members[i];

		if (memchr(m->key.p, 0, m->key.n) || oracle_has_nul_key(m->value))
			return true;
	}
	return false;
}

/* NULL when the readers agree, else what they disagree about. *ret_accepted is ours. */
static inline const char *oracle_compare(struct arena *a, str text, bool *ret_accepted)
{
	const char *verdict = NULL;
	struct ov_err e = { 0 };
	value *v = NULL;
	json_error_t je;
	json_t *j;
	int code = json_parse(a, text, NULL, &v, &e);

	*ret_accepted = code == 0;
	if (code == OV_ELIMIT || (text.n && memchr(text.p, 0, text.n)))
		return NULL;
	j = json_loadb(text.n ? text.p : "", text.n,
			JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &je);
	if (!j && code == 0)
		verdict = oracle_has_nul_key(v) ? NULL : "only we accept";
	else if (j && code < 0)
		verdict = "only jansson accepts";
	else if (j && !oracle_same(v, j))
		verdict = "read differently";
	json_decref(j);
	return verdict;
}
