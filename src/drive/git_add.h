#pragma once
/* Inside drive/git*.c only: how the files of a worktree are added to our index, few or many. */
#include "drive/git_call.h"

/* Begins the command: all that status found goes into our index. Options and paths follow. */
int git_add_command(struct git_call *c);
/* After it: what cannot be added as it should be is added as it can, or left out. */
int git_add_judge(struct git_call *c, const struct git_out *o, struct ov_err *err);
