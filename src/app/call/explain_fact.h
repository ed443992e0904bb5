#pragma once
/* A line of an explanation. */
#include "data/value/value.h"

/* One fact: {"seq", "at", "type", "text", "minor"}; seq is 0 when it is not in the log. */
value *explain_fact(struct arena *a, int64_t seq, ov_time at, const char *type, str text,
		bool minor);
