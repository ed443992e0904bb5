#pragma once
/*
 * The history of a loop as a document, for `overseer detect`: {"history": [...]} or JSON Lines, in
 * the seed's names. Everything is checked: what is unknown or mistyped is an error that names its
 * path, never a silent zero; only `number` and `analysis` must be there. Pure. The caller gives
 * what was read to loop_done; texts live in the arena.
 */
#include "base/ov.h"
#include "core/oversight/detect.h"

enum { HISTORY_MAX_BYTES = 64 * 1024 * 1024, HISTORY_MAX = 10000 };

struct history_loop {
	size_t n; /* iterations in all */
	str objective;
	struct history history; /* of the newest of them */
	struct iteration newest[LIMIT_ITERATIONS];
	const struct iteration *iterations[LIMIT_ITERATIONS];
	const struct sample *samples[LIMIT_ITERATIONS];
};

int loop_read(struct arena *a, str text, struct history_loop *ret, struct ov_err *err);
void loop_done(struct history_loop *l);
/* {"status", "detections": [...], "interventions": [...]} */
value *loop_judge(struct arena *a, const struct history_loop *l, const struct oversight *o);
