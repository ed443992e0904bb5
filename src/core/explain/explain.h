#pragma once
/* One line about an event, and about what a task does now: the words of log, watch and explain. */
#include "core/event/event.h"
#include "core/state/state.h"
/* One fact of the log in plain words. */
str explain_event(struct arena *a, const struct event *e);
/* What a node waits for now, and what happens next. */
str explain_now(struct arena *a, const struct state *s, const struct node *n, ov_time now);
