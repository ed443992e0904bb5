#pragma once
/*
 * Conflicts that are seen coming, between work under way and the target branch or other work. Who
 * looks is app/watch/conflict_scan; here is what is told of it, from the state alone. What it finds
 * comes as the command radar.report (core/worker/conflict_report).
 */
#include "base/ov.h"
#include "core/state/state.h"
#include "data/value/value.h"

enum { RADAR_FILES = 20 }; /* named of one conflict */

/* What its agent is told of one conflict; as is one of the two. */
str conflict_words(struct arena *a, const struct state *s, const struct conflict *c,
		const struct assignment *as, str target);
/* The same of all that are foreseen for it, for its next instruction; empty: none. */
str conflict_notes(struct arena *a, const struct state *s, const struct assignment *as, str target);
/* For status: [{a: {...}, b: {...}, files, at}]; b null: the target branch. */
value *view_conflicts(struct arena *a, const struct state *s);
/* For explain: "would conflict with GOAL/NODE in x, y". */
str conflict_line(struct arena *a, const struct state *s, const struct conflict *c,
		const struct assignment *as);
