#pragma once
/* The driver of agents that are a process per run, kept by the shim (drive/run/run.h). */
#include "app/agents/driver.h"

extern const struct driver driver_exec;
