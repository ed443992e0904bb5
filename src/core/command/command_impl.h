#pragma once
/* What comes after every decision, and the ends of effects. Private to the room. */
#include "core/decide/emit.h"
/*
 * The step before it: adds the handoffs of whatever came to an end by the events from `from` on.
 * Every decision passes here, so nothing ends without one.
 */
void handoffs_write(struct decide_ctx *cx, size_t from);
DECIDES_MESSAGE(effect_end);
