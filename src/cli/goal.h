#pragma once
/* What the commands about goals share. */
#include "cli/command.h"

/* The options of `goal create` and `goal update` as parameters. */
int goal_definition(struct cli *c, value *params, struct ov_err *err);
/* --estimate or --budget NAME=AMOUNT, as the parameter of that name. */
int amount_params(struct cli *c, value *params, const char *flag, struct ov_err *err);
/* Its status for people, who need one word: an aborted goal is paused, but called aborted. */
str goal_status_word(const value *g);
/* The record of a goal, for people. */
void goal_show_record(struct out *o, const value *g);
