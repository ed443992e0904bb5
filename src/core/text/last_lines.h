#pragma once
/*
 * The last lines that an agent wrote before it failed, as people want to see them: without what
 * steers a terminal, without blank lines, at most LAST_LINES of them in LIMIT_LAST_LINES bytes.
 * Pure. The caller redacts first: what is left of a secret that was cut is not recognised any more.
 */
#include "base/ov.h"

enum { LAST_LINES = 8, LAST_LINE_BYTES = 300 };

/* The end of a text; doing it twice changes nothing. */
str last_lines(struct arena *a, str text);
/* The last of these lines; empty: there is none. */
str last_line(str lines);
