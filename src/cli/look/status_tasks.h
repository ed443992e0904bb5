#pragma once
/*
 * Tasks in the picture of everything: what runs, waits, is stalled or blocked, each with
 * its reason.
 */
#include "cli/out/out.h"
#include "data/value/value.h"

/* Of the whole status. */
void show_running(struct out *o, const value *status);
void show_waiting(struct out *o, const value *status);
/* Blocked tasks that no entry of the inbox asks about. */
void show_blocked(struct out *o, const value *status);
/* Of its list of stalls. */
void show_stalled(struct out *o, const value *list);
void show_loops(struct out *o, const value *list);
