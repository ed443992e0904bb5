#pragma once
/* The watchdog in the picture of everything: a word in its first line, and a section. */
#include "cli/out/out.h"
#include "data/value/value.h"

/* "   watchdog running"; nothing when there is none that anybody would miss. */
void watch_word(struct out *o, const value *status);
/* All is well: the section is no news, and comes last. */
bool watch_is_calm(const value *status);
/* Its section: what it does, for how long, the daemon, the last acts. */
void show_watch(struct out *o, const value *status);

/* cmd_status.c: what there is to do, in a line or two with what to type next. */
void status_outlook(struct out *o, const value *status);
/* cmd_status.c: that agents with sandbox = "auto" have none, and why. */
void show_unfenced(struct out *o, const value *s);
