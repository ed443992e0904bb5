#pragma once
/*
 * How much of the lines a report of coverage says were run: lcov (LF and LH over all records) or
 * Cobertura XML (what the outermost element says). Whole numbers: hundredths of a percent. A report
 * that knows no lines says nothing.
 */
#include "base/ov.h"

struct coverage {
	const char *format;     /* "lcov", "cobertura"; a literal */
	int64_t covered, lines; /* both 0: only the rate is known */
	int64_t centi;
};

bool coverage_parse(str text, struct coverage *ret);
/*
 * Adds another report of the same format, line by line; one without lines, or of another: nothing.
 */
void coverage_add(struct coverage *sum, const struct coverage *more);
