#pragma once
/* Agents that are given no work for a while, and what failed ones wrote, as people see them. */
#include "cli/out/out.h"
#include "data/value/value.h"

/*
 * "rate limited until 03:10 (in 12m)", "logged out until you log it in"; empty: it is given work.
 */
str lane_words(struct out *o, const value *lane);
/* The section of `status` about all of them. */
void show_lanes(struct out *o, const value *lanes);
/*
 * The last `most` of the lines that a failed agent wrote, as rows of a table beneath the one
 * about it.
 */
void last_line_rows(struct out *o, str lines, size_t most);
/* The same as lines after a prefix. */
void show_last_lines(struct out *o, const char *prefix, str lines, size_t most);
