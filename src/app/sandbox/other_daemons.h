#pragma once
/*
 * Other daemons of the same user, each with a store of its own, and their runs: what a sandbox
 * hides of them, and what tells a process of such a run from a person. They are found by the names
 * of their programs; what runs in a sandbox or a container itself is not asked, whatever it
 * is called.
 */
#include "base/ov.h"

/* Real paths of the stores of other daemons that are up; a store around `own` is left out. */
size_t others_stores(struct arena *a, const char *own, const char *const **ret);
/*
 * The processes that start sandboxes: other daemons, and what holds their runs. Not those in `but`.
 */
size_t others_roots(struct arena *a, const int *but, size_t but_n, int **ret);
/* Is there a process in a sandbox of theirs? */
bool others_live(struct arena *a);
