#pragma once
/* The watchdog in the picture of everything: a word in its first line, and more when that matters. */
#include "cli/out.h"
#include "data/value.h"

/* "   watchdog running"; nothing when there is none that anybody would miss. */
void watch_word(struct out *o, const value *status);
/* A section while it is not simply running, or the daemon is down. */
void show_watch(struct out *o, const value *status);
