#pragma once
/* Files that people name on the command line; "-" is standard input. Everything is bounded. */
#include "base/moment.h"
#include "cli/call/command.h"
#include "core/model/limits.h"

int input_read(struct cli *c, str path, size_t max, str *ret, struct ov_err *err);
/* TEXT, or the content of FILE for "@FILE". */
int input_text(struct cli *c, str arg, size_t max, str *ret, struct ov_err *err);
/* args.c: a point in time as people write it; `what` is what it was given as. */
int cli_moment(struct cli *c, str what, str text, enum moment_side side, ov_time *ret,
		struct ov_err *err);
