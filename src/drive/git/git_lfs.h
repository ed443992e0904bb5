#pragma once
/*
 * Inside the rooms of git only: the storages of large files (git-lfs); drive/git/git_lfs.c says why
 * there are three.
 */
#include "base/buf.h"
#include "drive/git/git_call.h"

enum { GIT_LFS_NAME = 64 };

/* git_lfs.c */
const char *git_lfs_objects(struct git_call *c); /* our own */
const char *git_lfs_storage(struct git_call *c); /* the repository's */
const char *git_lfs_path(struct git_call *c, const char *storage, const char *name);
bool git_lfs_name_valid(const char *s, size_t n); /* n lower-case hexadecimal digits */
bool git_lfs_used(struct git_call *c);            /* the repository has its filter */
bool git_lfs_ruled(struct git_call *c);           /* and files that it is for */
/* It has, and this storage (empty: the usual): our own, and the configuration that goes with it. */
int git_lfs_record(struct git_call *c, str storage, struct buf *config, struct ov_err *err);
void git_lfs_unused(struct git_call *c);
int git_lfs_own(struct git_call *c, struct ov_err *err); /* our git finds the repository's */
/* So does the git whose folder is `dir`, with these alternates in it. */
int git_lfs_refer(struct git_call *c, const char *dir, struct ov_err *err);
str git_lfs_alternates(struct git_call *c, const char *dir);
