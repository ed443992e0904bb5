#pragma once
/*
 * What the folds of reports are made of: the newest rows of a list, and a curve in few points however
 * long it gets. Private to core/report/report*.
 */
#include "base/arena.h"
#include "base/ov.h"
#include "data/value/value.h"

/* Each row has an arena of its own, so that a dropped one is gone. */
struct report_row {
	struct arena arena;
	value *v;
};

struct report_rows {
	struct report_row **p;
	size_t n, max;
	int64_t total; /* that there were, dropped ones included */
};

void report_rows_init(struct report_rows *r, size_t max);
void report_rows_done(struct report_rows *r);
/* A new, empty object at the end. */
struct report_row *report_rows_add(struct report_rows *r);
/* The newest one whose member has this text or number; NULL: there is none, or it was dropped. */
struct report_row *report_rows_find(const struct report_rows *r, const char *key, str text);
struct report_row *report_rows_find_int(const struct report_rows *r, const char *key, int64_t n);
/* {"total", "rows"} */
value *report_rows_view(struct arena *a, const struct report_rows *r);

enum { REPORT_POINTS = 400, REPORT_VALUES = 2 };

/* Points in time with their values; when there are too many, every other one goes. */
struct report_curve {
	struct report_point {
		ov_time at;
		int64_t v[REPORT_VALUES];
	} p[REPORT_POINTS];
	size_t n;
	size_t stride, skipped;
};

void report_curve_add(struct report_curve *c, ov_time at, int64_t v0, int64_t v1);
/* An array of objects {"at", key0, key1}; key1 may be NULL. */
value *report_curve_view(struct arena *a, const struct report_curve *c, const char *key0,
		const char *key1);
