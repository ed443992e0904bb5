#pragma once
/* What oversight saw, on the command line: the commands that list it, and a part of others. */
#include "cli/command.h"

int cmd_work_iterations(struct cli *c, struct ov_err *err);
int cmd_goal_detections(struct cli *c, struct ov_err *err);
/* The newest of what was found, with a heading; nothing when there is none. */
void show_detections(struct out *o, const value *list, size_t most);
