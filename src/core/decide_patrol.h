#pragma once
/* What is found amiss at workers: counted per worker, repaired within a cap. Private to core. */
#include "core/decide_impl.h"

/*
 * The assignment's run was lost. True: that happened to its worker too often, which is in error now,
 * and its node waits for a person. Otherwise the run is to be begun again.
 */
bool patrol_lost(struct decide_ctx *cx, const struct assignment *as, str detail);

decide_fn decide_patrol_report;
