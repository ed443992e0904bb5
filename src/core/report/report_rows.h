#pragma once
/*
 * What the folds of reports are made of: the newest rows of a list, and a curve in few points
 * however long it gets. Private to core/report/report*.
 */
#include "base/arena.h"
#include "base/ov.h"
#include "core/shape/shape.h"

/* Each row has an arena of its own, so that a dropped one is gone. */
struct report_row {
	struct arena arena;
	void *is; /* the struct of the list's shape */
};

struct report_rows {
	const struct shape *shape;
	struct report_row **p;
	size_t n, max;
	int64_t total; /* that there were, dropped ones included */
};

void report_rows_init(struct report_rows *r, const struct shape *shape, size_t max);
void report_rows_done(struct report_rows *r);
/* A new, zeroed struct at the end. */
struct report_row *report_rows_add(struct report_rows *r);
/* A text that is kept with the row; of a long one the beginning. */
str report_row_text(struct report_row *row, str s);
/* The struct anew, from the members of a record that it has too. */
void report_row_take(const struct report_rows *r, struct report_row *row, const value *record);
/*
 * The newest one whose member at offset has this text or number; NULL: there is none, or it
 * was dropped.
 */
struct report_row *report_rows_find(const struct report_rows *r, size_t offset, str text);
struct report_row *report_rows_find_int(const struct report_rows *r, size_t offset, int64_t n);
/* The structs, one after another; their texts stay where they are. */
void *report_rows_list(struct arena *a, const struct report_rows *r);

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
