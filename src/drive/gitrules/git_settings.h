#pragma once
/*
 * Inside the rooms of git only: the configuration and the rules that our git goes by. What is named
 * *_steps is a table for STEP_SUB; what it finds out is in the call (drive/git/git_call.h).
 */
#include "drive/git/git_call.h"

/* git_settings.c: of a whole `git config --list -z --show-scope`, for the agent's configuration */
int git_settings_record(struct git_call *c, str list, struct ov_err *err);
void git_settings_add(struct git_call *c, struct buf *b);

/* git_own.c */
void git_config_add(struct buf *b, str name,
		str value);                         /* "filter.x.clean" is [filter "x"] clean */
extern const struct git_step git_own_steps[];       /* the folder of ours, and its configuration */
extern const struct git_step git_own_index_steps[]; /* our index stands for c->head */
int git_own_attributes(struct git_call *c, bool raw, struct ov_err *err);
void git_own_index_is(struct git_call *c, str commit); /* it holds this one's tree; empty: none */

/* git_programs.c: which files have filters or merge drivers, by what is on the target */
extern const struct git_step git_programs_steps[];
extern const struct git_step git_rules_steps[]; /* for git-lfs: by what is in the worktree */
#define GIT_FILTERS "filters"                   /* a note: the user's, without git-lfs */
#define GIT_ATTRIBUTES "attributes"             /* a note: what info/attributes begins with */
#define GIT_ATTRIBUTES_LFS "attributes-lfs"     /* and ends with */
#define GIT_SPARSE "sparse" /* a note: our index says so; it is for one call, and then rebuilt */

/* git_lfs_check.c: pointers to what is not there */
extern const struct git_step git_lfs_harvest_steps[]; /* c->res.refused */
extern const struct git_step git_lfs_move_steps[];    /* or the call ends with GIT_REFUSED */
