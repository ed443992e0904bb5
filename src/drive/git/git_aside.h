#pragma once
/*
 * Inside the rooms of git only: putting aside. Nothing is removed, and c->res.detail says where
 * it is.
 */
#include "drive/git/git_call.h"

/* Renames `what` to a free name beside c->path. */
int git_move_aside(struct git_call *c, const char *what, struct ov_err *err);
/* Moves one entry of a folder of the worktree into a folder beside it; "WHAT moved to ...". */
int git_aside_one(struct git_call *c, int dir, const char *folder, const char *name,
		const char *what, struct ov_err *err);
/* The same for "a/b" or "a/b/", which git ignored. */
int git_aside_path(struct git_call *c, str name, struct ov_err *err);
int git_aside_make(struct git_call *c, const char **ret, struct ov_err *err); /* PATH.aside-N */
int git_aside_put(struct git_call *c, const char *to, str name, struct ov_err *err);
void git_say(struct git_call *c, str words); /* added to c->res.detail */
