#pragma once
/* What is found amiss at workers: counted per worker, repaired within a cap. Private to core. */
#include "core/decide/emit.h"

/*
 * The assignment's run was lost. True: that happened to its worker too often, which is in error
 * now, and its node waits for a person. Otherwise the run is to be begun again.
 */
bool upkeep_lost(struct decide_ctx *cx, const struct assignment *as, str detail);

/*
 * The assignment's run was stopped since its worktree was gone, and that happened to its worker too
 * often. True: its work is kept, its worker in error now, and its node waits for a person.
 */
bool upkeep_worn_out(struct decide_ctx *cx, const struct assignment *as);
/*
 * Its worktree was made again for this assignment: a run that ends well has not shown that
 * it stays.
 */
bool upkeep_counts_on(const struct decide_ctx *cx, const struct assignment *as);

DECIDES_MESSAGE(upkeep_report);
