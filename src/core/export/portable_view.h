#pragma once
/*
 * One object of the portable document: a record under the document's names, and what follows from
 * it and from the log. Values live in the arena.
 */
#include "core/export/portable.h"

value *portable_goal(struct arena *a, const struct portable_source *src, const struct goal *g);
value *portable_assignment(struct arena *a, const struct portable_source *src,
		const struct assignment *as);
value *portable_dispatch(struct arena *a, const struct dispatch *d);
value *portable_handoff(struct arena *a, const struct crystallization *c);
