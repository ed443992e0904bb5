#pragma once
/* What the commands about work, and those that show everything, share. */
#include "cli/call/command.h"

/* What follows from a word about a task: who can begin now, what stays unmerged. */
void show_consequences(struct out *o, const value *res);
/* The last lines of what a run wrote. */
int run_log_last(struct cli *c, str run, int64_t lines, struct ov_err *err);
/*
 * Tells how the planner gets on with a goal, until it is through; at once when nobody plans it. 130
 * when the person would not wait.
 */
int planner_await(struct cli *c, str goal, bool *ret_planned, struct ov_err *err);
