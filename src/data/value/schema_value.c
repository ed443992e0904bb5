#include <math.h>

#include "base/str.h"
#include "data/value/schema_impl.h"

int schema_compare(const value *a, const value *b)
{
	if (a->kind == V_INT && b->kind == V_INT)
		return (a->i > b->i) - (a->i < b->i);
	if (a->kind == V_REAL && b->kind == V_INT) {
		int r = schema_compare(b, a);

		return r == 2 ? 2 : -r;
	}
	if (a->kind == V_REAL)
		return isnan(a->r) || isnan(b->r) ? 2 : (a->r > b->r) - (a->r < b->r);
	if (isnan(b->r))
		return 2;
	if (b->r >= 0x1p63 || b->r < -0x1p63)
		return b->r > 0 ? -1 : 1;
	if (a->i != (int64_t)b->r)
		return a->i > (int64_t)b->r ? 1 : -1;
	return (trunc(b->r) > b->r) - (trunc(b->r) < b->r);
}

/* Decimal fractions have no exact doubles, so a quotient a few roundings off an integer counts. */
bool schema_is_multiple(const value *v, const value *of)
{
	double x = value_real_or(v, 0), m = value_real_or(of, 1), q;

	if (v->kind == V_INT && of->kind == V_INT)
		return v->i % of->i == 0;
	if (!isfinite(x))
		return false;
	if (fmod(x, m) == 0)
		return true;
	q = x / m;
	return fabs(q) < 0x1p52 && fabs(q - round(q)) <= 4 * __DBL_EPSILON__ * fabs(q);
}

static uint64_t mix(uint64_t h, uint64_t x)
{
	return str_hash((str){ (const char *)&x, sizeof(x) }, h);
}

uint64_t schema_hash(const value *v, size_t *steps)
{
	enum { SEED_NUMBER = 1, SEED_STRING, SEED_ARRAY, SEED_OBJECT, SEED_OTHER };
	uint64_t h;
	double r;

	*steps -= *steps > 1;
	if (schema_is_number(v)) {
		r = value_real_or(v, 0) + 0.0; /* no minus zero */
		memcpy(&h, &r, sizeof(h));
		return isnan(r) ? SEED_NUMBER : mix(SEED_NUMBER, h);
	}
	if (schema_is_string(v))
		return str_hash(v->s, SEED_STRING);
	if (v->kind == V_ARRAY) {
		h = SEED_ARRAY;
		for (size_t i = 0; i < v->array.n; i++)
			h = mix(h, schema_hash(v->array.items[i], steps));
		return h;
	}
	if (v->kind != V_OBJECT)
		return mix(SEED_OTHER, (uint64_t)v->kind * 2 + (v->kind == V_BOOL && v->b));
	h = SEED_OBJECT;
	for (size_t i = 0; i < v->object.n; i++)
		h += mix(str_hash(v->object.members[i].key, SEED_OBJECT),
				schema_hash(v->object.members[i].value, steps));
	return h;
}
