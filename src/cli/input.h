#pragma once
/* Files that people name on the command line; "-" is standard input. Everything is bounded. */
#include "base/moment.h"
#include "cli/command.h"
#include "core/model/limits.h"

int input_read(struct cli *c, str path, size_t max, str *ret, struct ov_err *err);
/* TEXT, or the content of FILE for "@FILE". */
int input_text(struct cli *c, str arg, size_t max, str *ret, struct ov_err *err);
/*
 * Reads and checks a plan. When it has problems they are printed; the result is the exit status, 0
 * for a good plan, or a negative code when it could not be read at all.
 */
int plan_load(struct cli *c, str path, const value **ret, struct ov_err *err);
/* Reads a plan, whatever it says. */
int plan_read(struct cli *c, str path, const value **ret, struct ov_err *err);
/* [{"path", "problem"}] of the file, for people. */
/* One line for each, and what to type. */
void plan_print_warnings(struct cli *c, const value *warnings);
void plan_print_problems(struct cli *c, str path, const value *problems);
/* The nodes of a plan as rows of a table, below each other; lead and depth: "" and 0. */
void plan_tree_rows(struct cli *c, const value *nodes, str lead, int depth);
/* args.c: a point in time as people write it; `what` is what it was given as. */
int cli_moment(struct cli *c, str what, str text, enum moment_side side, ov_time *ret,
		struct ov_err *err);
