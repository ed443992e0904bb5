#pragma once
/* What the commands about workers, and the picture of everything, share. */
#include "cli/call/command.h"

void auto_was_on(struct out *o, const value *mode);
/* Of the picture of everything: workers of people, and those of auto mode apart. */
void show_workers(struct out *o, const value *status);
