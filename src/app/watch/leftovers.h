#pragma once
/*
 * Runs whose shim was killed, and of which the sweep could not tell that nobody is left: it is done
 * again from the loop, later and later, until it is sure, a few times at most. What it finds is
 * said in the daemon's log; the run's record said that there may be more. Owns its timers. Nothing
 * is kept: the next daemon does not go on with it.
 */
#include "base/ov.h"

struct loop;
struct leftovers;

enum { LEFTOVERS_MAX = 16 }; /* runs at a time; of others it is only said */

struct leftovers *leftovers_new(struct loop *l);
struct leftovers *leftovers_free(struct leftovers *w); /* NULL allowed; returns NULL */
void leftovers_watch(struct leftovers *w, str run_id);
/* Runs that are still to be swept again. */
size_t leftovers_n(const struct leftovers *w);
