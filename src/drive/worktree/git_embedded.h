#pragma once
/* Inside the rooms of git only: what is in a worktree and no part of the work. */
#include "drive/git/git_call.h"

/* git_embedded.c: repositories that the base does not have, c->embedded */
void git_embedded_add(struct git_call *c, const char *name);   /* unless its folder is empty */
extern const struct git_step git_embedded_find_steps[];        /* those that c->head links to */
int git_embedded_list(struct git_call *c, struct ov_err *err); /* a step: their files, c->inner */
extern const struct git_step git_embedded_keep_steps[]; /* c->rescue.whole: the tree, with them */
int git_embedded_aside(struct git_call *c, struct ov_err *err); /* a step: moves all aside */
str git_embedded_names(struct git_call *c);
#define GIT_BASE "base" /* a note: the commit that the work in the worktree began with */
/* Of files that are no part of the work: more is moved aside. */
enum { GIT_RESCUED_MAX = 64 << 20 };

/* What is rescued already (c->tree), and the files c->changes with it. */
extern const struct git_step git_add_ignored_steps[];
/* git_hidden.c: before the worktree goes, keeps what is ignored by other rules than the base's */
extern const struct git_step git_hidden_steps[];
