#include "core/report/report_rows.h"

#include "base/alloc.h"
#include "base/str.h"

void report_rows_init(struct report_rows *r, size_t max)
{
	*r = (struct report_rows){ .p = mem_zalloc(max, sizeof(struct report_row *)), .max = max };
}

static void row_free(struct report_row *row)
{
	arena_done(&row->arena);
	mem_free(row);
}

void report_rows_done(struct report_rows *r)
{
	for (size_t i = 0; i < r->n; i++)
		row_free(r->p[i]);
	mem_free(r->p);
	*r = (struct report_rows){ 0 };
}

struct report_row *report_rows_add(struct report_rows *r)
{
	struct report_row *row = mem_zalloc(1, sizeof(*row));

	if (r->n == r->max) {
		row_free(r->p[0]);
		memmove(r->p, r->p + 1, (r->n - 1) * sizeof(*r->p));
		r->n--;
	}
	row->v = value_object(&row->arena);
	r->p[r->n++] = row;
	r->total++;
	return row;
}

struct report_row *report_rows_find(const struct report_rows *r, const char *key, str text)
{
	for (size_t i = r->n; i-- > 0;)
		if (str_eq(value_str_at(r->p[i]->v, key), text))
			return r->p[i];
	return NULL;
}

struct report_row *report_rows_find_int(const struct report_rows *r, const char *key, int64_t n)
{
	for (size_t i = r->n; i-- > 0;)
		if (value_int_at(r->p[i]->v, key) == n)
			return r->p[i];
	return NULL;
}

value *report_rows_view(struct arena *a, const struct report_rows *r)
{
	value *v = value_object(a), *rows = value_array(a);

	for (size_t i = 0; i < r->n; i++)
		value_push(a, rows, value_copy(a, r->p[i]->v));
	value_put(a, v, "total", value_int(a, r->total));
	value_put(a, v, "rows", rows);
	return v;
}

static void thin_out(struct report_curve *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i += 2)
		c->p[n++] = c->p[i];
	c->n = n;
	c->stride *= 2;
}

/* The last point is always where the curve is now: it moves on until it is worth a new one. */
void report_curve_add(struct report_curve *c, ov_time at, int64_t v0, int64_t v1)
{
	struct report_point point = { at, { v0, v1 } };

	/* A value holds until the next one. */
	if (c->n && c->p[c->n - 1].v[0] == v0 && c->p[c->n - 1].v[1] == v1)
		return;
	/* Nor does it go back in time when the clock does. */
	if (c->n)
		point.at = MAX(at, c->p[c->n - 1].at);
	if (!c->stride)
		c->stride = 1;
	if (c->n && c->skipped + 1 < c->stride) {
		c->skipped++;
		c->p[c->n - 1] = point;
		return;
	}
	c->skipped = 0;
	if (c->n == REPORT_POINTS)
		thin_out(c);
	c->p[c->n++] = point;
}

value *report_curve_view(struct arena *a, const struct report_curve *c, const char *key0,
		const char *key1)
{
	value *list = value_array(a);

	for (size_t i = 0; i < c->n; i++) {
		value *v = value_object(a);

		value_put(a, v, "at", value_time(a, c->p[i].at));
		value_put(a, v, key0, value_int(a, c->p[i].v[0]));
		if (key1)
			value_put(a, v, key1, value_int(a, c->p[i].v[1]));
		value_push(a, list, v);
	}
	return list;
}
