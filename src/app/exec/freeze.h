#pragma once
/*
 * Runs of goals that oversight paused are held: their processes are frozen where they have a
 * control group, and go on when a person lets the goal go on. What shall be is read off the state
 * each time, so that a crash in between changes nothing; what became so is reported (run.frozen). A
 * run without a group is left to finish.
 */
#include "base/ov.h"

struct event;
struct executor;
struct live_run;

/* All live runs: at the start, when whatever was asked for last is not known. */
void freeze_look(struct executor *x);
/* What was committed may have changed what shall be. */
void freeze_published(struct executor *x, const struct event *e);
