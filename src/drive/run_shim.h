#pragma once
/* The command line of a run's shim (shim/main.c reads it). */
#include "drive/run.h"

/* In the arena; texts of the spec are borrowed. */
const char *const *run_shim_argv(struct arena *a, const struct run_spec *spec);
