#pragma once
/* What the world of a seed is like: drawn once, from its own stream. Private to the simulator. */
#include "tests/sim/sim.h"

/* Fills in setup and config. */
void setup_draw(struct sim *s);
void setup_done(struct sim *s);

/* setup_night.c: its size, and its configuration as TOML. */
void night_size(struct sim *s);
void night_config(struct sim *s, struct buf *b);
