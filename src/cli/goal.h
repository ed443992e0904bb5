#pragma once
/* What the commands about goals share. */
#include "cli/command.h"

/* The options of `goal create` and `goal update` as parameters. */
int goal_definition(struct cli *c, value *params, struct ov_err *err);
/* --estimate or --budget NAME=AMOUNT, as the parameter of that name. */
int amount_params(struct cli *c, value *params, const char *flag, struct ov_err *err);
/* The record of a goal, for people. */
void goal_show_record(struct out *o, const value *g);
