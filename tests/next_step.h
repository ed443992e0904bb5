#pragma once
/*
 * Every open item has a next step or an inbox entry: the promise, judged on the state alone, for
 * all tests that let things happen and then look whether anything lies about.
 */
#include "core/state/state.h"

/*
 * Why somebody or something goes on with a leaf of an active goal; NULL: it would lie there
 * for ever.
 */
const char *next_step(const struct state *s, const struct node *n);
/* The first leaf that nobody goes on with, or NULL. */
const struct node *next_step_lacking(const struct state *s);
