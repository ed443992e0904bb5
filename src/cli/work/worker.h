#pragma once
/* What the commands about workers, and the picture of everything, share. */
#include "cli/call/command.h"

/* One row of a table: name, state, time in it, agent, task. */
void worker_row(struct out *o, const value *w);
/* "Auto Mode: N workers, M tasks completed, L errors" */
void auto_summary(struct out *o, const value *mode);
bool auto_was_used(const value *mode);
void auto_was_on(struct out *o, const value *mode);
/* Of the picture of everything: workers of people, and those of auto mode apart. */
void show_workers(struct out *o, const value *status);
