#pragma once
/* What a run's agent wrote last, read from the run's folder before that is cleared. */
#include "agent/fact/account.h"
#include "agent/format/format.h"
#include "base/ov.h"

/*
 * The last lines of a run that failed (core/text/last_lines.h), without secrets. account: NULL
 * where its output is text; else what it said counts, and its error output. Empty: it
 * wrote nothing.
 */
str run_words(struct arena *a, const char *dir, const struct account *account);
/*
 * The same of a run that ended well, long after: the last message in its output, or its text where
 * that is not parsed (f: NULL).
 */
str run_words_said(struct arena *a, const char *dir, const struct agent_format *f);
