#pragma once
/* What the commands that start a daemon share. */
#include "cli/call/command.h"

/* What of the command line is the daemon's: --auto, and --set for each option. */
int daemon_options(struct cli *c, const char *const **ret, size_t *ret_n, struct ov_err *err);
