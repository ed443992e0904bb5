#pragma once
/*
 * The driver of agents that people can attach to: interactive, each run in a terminal of tmux
 * (drive/tmux/tmux.h).
 */
#include "app/agents/driver.h"

extern const struct driver driver_tmux;
