#include "core/report/report_rows.h"

#include "base/alloc.h"
#include "base/str.h"
#include "base/utf8.h"

enum { SHORT = 300 };

void report_rows_init(struct report_rows *r, const struct shape *shape, size_t max)
{
	*r = (struct report_rows){ .shape = shape,
		.p = mem_zalloc(max, sizeof(struct report_row *)),
		.max = max };
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
	row->is = arena_zalloc(&row->arena, r->shape->size);
	r->p[r->n++] = row;
	r->total++;
	return row;
}

str report_row_text(struct report_row *row, str s)
{
	return arena_str(&row->arena, utf8_truncate(s, SHORT));
}

void report_row_take(const struct report_rows *r, struct report_row *row, const value *record)
{
	arena_reset(&row->arena);
	row->is = shape_fill(&row->arena, r->shape, record);
	for (size_t i = 0; i < r->shape->n; i++) {
		str *s = (str *)(void *)((char *)row->is + r->shape->fields[i].offset);

		if (r->shape->fields[i].type == SHAPE_TEXT)
			*s = report_row_text(row, *s);
	}
}

struct report_row *report_rows_find(const struct report_rows *r, size_t offset, str text)
{
	for (size_t i = r->n; i-- > 0;)
		if (str_eq(*(str *)(void *)((char *)r->p[i]->is + offset), text))
			return r->p[i];
	return NULL;
}

struct report_row *report_rows_find_int(const struct report_rows *r, size_t offset, int64_t n)
{
	for (size_t i = r->n; i-- > 0;)
		if (*(int64_t *)(void *)((char *)r->p[i]->is + offset) == n)
			return r->p[i];
	return NULL;
}

void *report_rows_list(struct arena *a, const struct report_rows *r)
{
	size_t size = r->shape->size;
	char *list = arena_zalloc(a, r->n * size);

	for (size_t i = 0; i < r->n; i++)
		memcpy(list + i * size, r->p[i]->is, size);
	return list;
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
