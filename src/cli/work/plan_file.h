#pragma once
/* Plans as files that people write, and as trees that they are shown. */
#include "cli/call/command.h"

/*
 * Reads and checks a plan. When it has problems they are printed; the result is the exit status, 0
 * for a good plan, or a negative code when it could not be read at all.
 */
int plan_load(struct cli *c, str path, const value **ret, struct ov_err *err);
/* Reads a plan, whatever it says. */
int plan_read(struct cli *c, str path, const value **ret, struct ov_err *err);
/* One line for each, and what to type. */
void plan_print_warnings(struct cli *c, const value *warnings);
/* [{"path", "problem"}] of the file, for people. */
void plan_print_problems(struct cli *c, str path, const value *problems);
/* The nodes of a plan as rows of a table, below each other; lead and depth: "" and 0. */
void plan_tree_rows(struct cli *c, const value *nodes, str lead, int depth);
