#pragma once
/* What a run's agent wrote last, read from the run's folder before that is cleared. */
#include "agent/account.h"
#include "base/ov.h"

/*
 * The last lines of a run that failed (core/last_lines.h), without secrets. account: NULL where its
 * output is text; else what it said counts, and its error output. Empty: it wrote nothing.
 */
str run_words(struct arena *a, const char *dir, const struct account *account);
