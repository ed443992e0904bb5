#pragma once
/*
 * What an error is, apart from where and when it happened: numbers, paths, addresses, times and ids
 * are folded, so that the same error has the same signature in every iteration. And the telling
 * part of a long output: the lines that say what went wrong. Pure; results live in the
 * arena, bounded.
 */
#include "base/ov.h"

enum { SIGNATURE_MAX = 256, ERROR_MAX = 1024 };

str error_signature(struct arena *a, str error);
/*
 * The lines of an output that tell what failed, at most ERROR_MAX bytes; empty when it
 * says nothing.
 */
str error_pick(struct arena *a, str output);
/*
 * How many words the objective and the texts share, of those of whichever has fewer: thousandths.
 * Case-folded, without punctuation, endings and stop-words. False when either has none.
 */
bool words_similarity(str objective, const str *texts, size_t n, int64_t *ret_milli);
