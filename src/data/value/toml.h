#pragma once
/*
 * TOML 1.0 into the value tree; nothing of ours is written as TOML. Tables are objects, dates and
 * times are V_DATETIME with normalised text. Errors carry line, column and what was expected.
 * Bounds: 8 MiB, 128 tables and arrays inside each other, integers of 64 bits, finite doubles
 * (unless written inf or nan). The result borrows nothing of the text.
 */
#include "base/ov.h"
#include "data/value/value.h"

int toml_parse(struct arena *a, str text, value **ret, struct ov_err *err);
/*
 * The same, and more than TOML allows: a table may be written in several parts ([a] twice, or a.b =
 * 1 and then [a]), so that text can be pasted into a file that has the table already. A key that is
 * set twice is still an error.
 */
int toml_parse_parts(struct arena *a, str text, value **ret, struct ov_err *err);
