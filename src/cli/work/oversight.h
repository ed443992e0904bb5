#pragma once
/* What oversight saw, on the command line: the commands that list it, and a part of others. */
#include "cli/call/command.h"

/* The newest of what was found, with a heading; nothing when there is none. */
void show_detections(struct out *o, const value *list, size_t most);
