#pragma once
/* The agents that we know, as a table: one row per value of `agents.NAME.format`. */
#include "agent/format/format.h"

extern const struct agent_format agent_formats[];
extern const size_t agent_formats_n;
extern const char *const agent_format_names[]; /* the same, as choices; ends with NULL */

/* NULL when there is none of this name. */
const struct agent_format *format_find(str name);
