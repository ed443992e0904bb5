#pragma once
/* What the files about explaining share. Private to app. */
#include "app/ops.h"

/* One fact: {"seq", "at", "type", "text", "minor"}; seq is 0 when it is not in the log. */
value *explain_fact(struct arena *a, int64_t seq, ov_time at, const char *type, str text,
		bool minor);
/* `explain daemon`: how the daemon is, and its story. */
value *explain_daemon(struct op_ctx *cx);
