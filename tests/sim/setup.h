#pragma once
/* What the world of a seed is like: drawn once, from its own stream. Private to the simulator. */
#include "tests/sim/sim.h"

/* Fills in setup and config. */
void setup_draw(struct sim *s);
void setup_done(struct sim *s);
