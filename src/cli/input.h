#pragma once
/* Files that people name on the command line; "-" is standard input. Everything is bounded. */
#include "cli/command.h"

int input_read(struct cli *c, str path, size_t max, str *ret, struct ov_err *err);
/* TEXT, or the content of FILE for "@FILE". */
int input_text(struct cli *c, str arg, size_t max, str *ret, struct ov_err *err);
/*
 * Reads and checks a plan. *ret is NULL when it has problems, which are then printed; the result is
 * the exit status, 0 for a good plan, or a negative code when it could not be read at all.
 */
int plan_load(struct cli *c, str path, const value **ret, struct ov_err *err);
