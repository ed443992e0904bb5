#pragma once
/*
 * A store that passes every call on to another one and tells an observer about it, one line of
 * text per call (an append gives two: when it starts, and when it is done). For debugging and for
 * tests of who calls what. Bodies are not shown.
 */
#include "store/store.h"

/* text is a line without its end, valid during the call. */
typedef void store_trace_fn(void *user, const char *text);

/* The wrapper owns inner from now on: closing it closes both. */
struct store *store_trace_wrap(struct store *inner, store_trace_fn *fn, void *user);
