#pragma once
/* Inside the rooms of git only: how the files of a worktree are added to our index, few or many. */
#include "drive/git/git_call.h"

struct stat;

/* Begins the command: all that status found goes into our index. Options and paths follow. */
int git_add_command(struct git_call *c);
/* After it: what cannot be added as it should be is added as it can, or left out. */
int git_add_judge(struct git_call *c, const struct git_out *o, struct ov_err *err);
/* A step after it, where what was added becomes work: fails if filters were passed over. */
int git_filtered(struct git_call *c, struct ov_err *err);

/* Would git be at it for minutes, mostly for nothing? */
bool git_is_oversize(const struct stat *st) _pure_;
extern const struct git_step git_oversize_steps[]; /* c->oversize is moved aside, and refused */
