#pragma once
/*
 * The exit record that a shim leaves in its run's folder (shim/record.c writes it), read
 * and checked.
 */
#include "drive/run/run.h"

/* The message lives in the arena. OV_EINVALID when it is not the whole record of this run. */
int run_record_parse(struct arena *a, str text, const char *id, struct run_end *ret,
		struct ov_err *err);
